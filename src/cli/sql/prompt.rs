//! The prompt: lines are typed, completed and kept; answers follow each statement.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::output::{Look, Printer};
use super::{Asked, Format, ask, examples, history_path, list, print};
use crate::cli::exit;
use crate::cli::failure::Failure;
use crate::cli::terminal::{self, ResultWriter};
use crate::model::Relation;
use crate::render::{Texts, errors, rows as words};
use crate::store::ask::complete::complete;
use crate::store::ask::split::{has_answer, is_complete, statements};
use crate::store::ask::{Access, AskError, Asking, DOCUMENTED};

const PROMPT: &str = "taco> ";
/// Before the lines of a statement behind its first.
const GOES_ON: &str = " ...> ";
/// Entries of the history that are kept.
const HISTORY: usize = 1_000;

/// Asks for statements and answers them until the end of input or `.quit`.
pub(super) fn run(texts: &Texts, asking: &Asking, db: &Path, access: Access, look: Look) -> anyhow::Result<u8> {
    let config = Config::builder()
        .max_history_size(HISTORY)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor: Editor<PromptHelper, FileHistory> = Editor::with_config(config)?;
    let relations = asking.relations().map_err(super::store_failure)?;
    editor.set_helper(Some(PromptHelper { relations, before: String::new() }));
    let history = history_path(|name| std::env::var_os(name));
    let mut session = Session { texts, asking, access, look: Look { at_prompt: true, ..look }, history };
    session.load_history(&mut editor);
    terminal::write_result(&words::greeting(texts, &db.display().to_string(), access == Access::Write), None)?;
    // The lines of a statement that goes on.
    let mut typed = String::new();
    loop {
        match editor.readline(if typed.is_empty() { PROMPT } else { GOES_ON }) {
            Ok(line) => {
                typed.push_str(&line);
                let is_command = typed.trim_start().starts_with('.');
                if !is_command && !is_complete(&typed) {
                    typed.push('\n');
                } else {
                    let whole = std::mem::take(&mut typed);
                    if session.take(&mut editor, whole.trim())? {
                        break;
                    }
                }
            }
            // What was typed is forgotten.
            Err(ReadlineError::Interrupted) => typed.clear(),
            Err(ReadlineError::Eof) => {
                if !typed.is_empty() {
                    session.say("unfinished");
                }
                break;
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(assistant) = editor.helper_mut() {
            assistant.before.clone_from(&typed);
        }
    }
    Ok(exit::OK)
}

struct Session<'a> {
    texts: &'a Texts,
    asking: &'a Asking,
    access: Access,
    look: Look,
    history: Option<PathBuf>,
}

impl Session<'_> {
    /// A history that cannot be read or written is no reason to fail.
    fn load_history(&self, editor: &mut Editor<PromptHelper, FileHistory>) {
        if let Some(path) = &self.history {
            editor.load_history(path).ok();
        }
    }

    fn keep(&self, editor: &mut Editor<PromptHelper, FileHistory>, line: &str) {
        let is_new = editor.add_history_entry(line).unwrap_or(false);
        if let Some(path) = self.history.as_deref().filter(|_| is_new) {
            path.parent().map(|folder| fs::create_dir_all(folder).ok());
            editor.append_history(path).ok();
        }
    }

    /// Takes a command or whole statements; whether it was the last.
    fn take(&mut self, editor: &mut Editor<PromptHelper, FileHistory>, typed: &str) -> anyhow::Result<bool> {
        if typed.is_empty() {
            return Ok(false);
        }
        self.keep(editor, typed);
        if self.answer(typed)? {
            return Ok(true);
        }
        if !has_answer(typed)
            && let (Ok(relations), Some(assistant)) = (self.asking.relations(), editor.helper_mut())
        {
            // Tables may have come or gone.
            assistant.relations = relations;
        }
        Ok(false)
    }

    /// Answers a command or statements; whether it was the last.
    fn answer(&mut self, line: &str) -> anyhow::Result<bool> {
        if line.starts_with('.') {
            return self.command(line);
        }
        self.asking.begin();
        let mut printer = self.printer()?;
        let found = statements(line);
        for (number, statement) in (1..).zip(&found) {
            match ask(self.asking, statement.text, &mut printer) {
                Ok(()) => {}
                Err(AskError::Cancelled) => {
                    // What was shown so far stays.
                    printer.finish()?;
                    self.say("cancelled");
                    break;
                }
                Err(error) => {
                    printer.finish()?;
                    let place = (found.len() > 1).then_some(number);
                    let is_write = self.access == Access::Write;
                    self.tell(Asked { statement: *statement, number: place, is_write }.failure(error))?;
                    break;
                }
            }
        }
        printer.finish()?;
        Ok(false)
    }

    fn printer(&self) -> anyhow::Result<Printer<'_>> {
        let width = self.look.width.map(|_| terminal::table_width(false));
        Ok(Printer::new(self.texts, Look { width, ..self.look.clone() }, ResultWriter::open(None)?))
    }

    /// A command that begins with a point; whether it was the last.
    fn command(&mut self, line: &str) -> anyhow::Result<bool> {
        let mut parts = line.trim_end_matches(';').split_whitespace();
        let (command, value) = (parts.next().unwrap_or_default(), parts.next());
        match command {
            ".quit" | ".exit" | ".q" => return Ok(true),
            ".help" => self.write(&(words::word(self.texts, "help") + "\n"))?,
            ".tables" => self.list(|_| true)?,
            ".views" => self.list(|relation| relation.is_view)?,
            ".schema" => self.schema(value)?,
            ".examples" => match value.map(str::parse) {
                None => self.write(&examples(self.texts, None)?)?,
                Some(Ok(number)) => match examples(self.texts, Some(number)) {
                    Ok(text) => self.write(&text)?,
                    Err(failure) => self.tell(failure.into())?,
                },
                Some(Err(_)) => self.say("unknown_dot"),
            },
            ".format" => match value.and_then(|value| Format::from_str(value, true).ok()) {
                Some(format) if format != Format::Parquet => {
                    self.look.format = format;
                    self.say("format_set");
                }
                _ => self.say("format_unknown"),
            },
            ".rows" => match value {
                Some("all") => {
                    self.look.all_rows = true;
                    self.say("rows_all");
                }
                Some("first") => {
                    self.look.all_rows = false;
                    self.say("rows_first");
                }
                _ => self.say("rows_unknown"),
            },
            ".wide" => match value {
                Some("on") => {
                    self.look.width = None;
                    self.say("wide_on");
                }
                Some("off") => {
                    self.look.width = Some(terminal::table_width(false));
                    self.say("wide_off");
                }
                _ => self.say("wide_unknown"),
            },
            _ => self.say("unknown_dot"),
        }
        Ok(false)
    }

    fn relations(&self) -> anyhow::Result<Vec<Relation>> {
        self.asking.begin();
        Ok(self.asking.relations().map_err(super::store_failure)?)
    }

    fn list(&self, is_wanted: impl Fn(&Relation) -> bool) -> anyhow::Result<()> {
        let relations = self.relations()?;
        let wanted: Vec<&Relation> = relations.iter().filter(|relation| is_wanted(relation)).collect();
        let mut printer = self.printer()?;
        list(self.texts, &wanted, &mut printer)?;
        printer.finish()
    }

    fn schema(&self, name: Option<&str>) -> anyhow::Result<()> {
        let relations = self.relations()?;
        let is_wanted = |relation: &&Relation| match name {
            Some(name) => relation.name.eq_ignore_ascii_case(name),
            None => DOCUMENTED.contains(&relation.name.as_str()),
        };
        let wanted: Vec<&Relation> = relations.iter().filter(is_wanted).collect();
        if let Some(name) = name.filter(|_| wanted.is_empty()) {
            return self.tell(Failure::usage("sql_no_relation").with("name", name).into());
        }
        let mut printer = self.printer()?;
        for relation in wanted {
            if name.is_none() {
                self.write(&format!("\n{}\n", relation.name))?;
            }
            print(&mut printer, words::relation_columns(self.texts, relation))?;
        }
        printer.finish()
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        terminal::write_result(text, None)
    }

    fn say(&self, key: &str) {
        terminal::tell(&(words::word(self.texts, key) + "\n"));
    }

    /// Tells an expected failure and goes on; anything else ends the prompt.
    fn tell(&self, error: anyhow::Error) -> anyhow::Result<()> {
        let failure = error.downcast::<Failure>()?.with("place", "prompt");
        terminal::tell(&errors::error(self.texts, failure.kind, &failure.values));
        Ok(())
    }
}

/// Helps with the line that is typed.
struct PromptHelper {
    relations: Vec<Relation>,
    /// The lines of the statement before it.
    before: String,
}

impl Completer for PromptHelper {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = self.before.len();
        let (start, found) = complete(&format!("{}{line}", self.before), before + position, &self.relations);
        Ok((start.saturating_sub(before), found))
    }
}

impl Validator for PromptHelper {}

impl Hinter for PromptHelper {
    type Hint = String;
}

impl Highlighter for PromptHelper {}

impl Helper for PromptHelper {}
