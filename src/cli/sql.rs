//! `taco-trace sql`: questions in SQL, from the command line, a file, standard input or a prompt.

mod output;
mod prompt;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::failure::Failure;
use super::{exit, load, terminal};
use crate::model::{Column, Example, Relation, Row};
use crate::render::{Texts, rows as words};
use crate::store::ask::split::{Statement, has_answer, statements};
use crate::store::ask::{Access, AskError, Asking, Canceller, EXAMPLES, Taker};
use output::{Look, Printer};

/// How often a statement that was cancelled and still runs is interrupted again.
const REPEAT: Duration = Duration::from_millis(100);

/// `taco-trace sql` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "\
예: taco-trace sql \"SELECT verdict, COUNT(*) FROM verdicts GROUP BY verdict\"
    taco-trace sql -f query.sql --format csv --bom -o out.csv
    taco-trace sql --examples

--write 가 없으면 아무것도 쓰지 않습니다. 저장소는 읽기로만 열고, 파일에 쓰는
문장(COPY … TO, ATTACH 등), 확장, 설정을 바꾸는 문장은 실행하지 않습니다.
SELECT 로 곁의 파일을 읽는 것(read_csv 등)은 됩니다. --write 를 붙이면
저장소와 파일에 무엇을 쓰는지는 쓰는 분의 몫입니다.

종료 상태: 0 마침 · 2 잘못된 사용이나 SQL 의 잘못 · 3 저장소·파일을 열지 못함
 · 130 Ctrl-C 로 멈춤")]
pub(crate) struct Args {
    /// 물을 SQL. 여러 문장은 ; 로 나눕니다. - 는 표준 입력입니다
    #[arg(help_heading = "인자", value_name = "SQL", allow_hyphen_values = true)]
    sql: Option<String>,
    /// SQL 을 읽을 파일. - 는 표준 입력입니다
    #[arg(short, long, value_name = "파일")]
    file: Option<PathBuf>,
    /// 저장소 파일(기본 taco.duckdb)
    #[arg(long, value_name = "파일", default_value = load::DEFAULT_STORE, hide_default_value = true)]
    db: PathBuf,
    /// 형식: table(기본), csv, json, jsonl, md, parquet
    #[arg(
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    /// 답을 쓸 파일. 다 쓰거나 아예 쓰지 않습니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    /// table 에서 처음 1,000행만이 아니라 모든 행을 보여줍니다
    #[arg(long)]
    all_rows: bool,
    /// table 에서 값을 폭에 맞추어 줄이지 않습니다
    #[arg(long)]
    wide: bool,
    /// csv 에서 NULL 자리에 쓸 글(기본은 빈 값)
    #[arg(long, value_name = "글", default_value = "", hide_default_value = true)]
    null: String,
    /// csv 앞에 BOM 을 두어 엑셀에서 한글이 깨지지 않게 합니다
    #[arg(long)]
    bom: bool,
    /// 저장소에 쓰는 문장도 실행합니다
    #[arg(long)]
    write: bool,
    /// 물을 수 있는 표와 뷰를 보여줍니다
    #[arg(long, conflicts_with_all = ["sql", "file", "schema", "examples"])]
    tables: bool,
    /// 표나 뷰 하나의 열을 보여줍니다
    #[arg(long, value_name = "이름", conflicts_with_all = ["sql", "file", "examples"])]
    schema: Option<String>,
    /// 물음의 보기와 그 SQL 을 보여줍니다. 번호를 적으면 그 하나만
    #[arg(long, value_name = "번호", num_args = 0..=1, conflicts_with_all = ["sql", "file"])]
    examples: Option<Option<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 단말에서 읽는 표
    Table,
    /// RFC 4180 의 CSV
    Csv,
    /// JSON 배열 하나
    Json,
    /// 한 줄에 JSON 객체 하나
    Jsonl,
    /// 마크다운 표
    Md,
    /// Parquet 파일
    Parquet,
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Md => "md",
            Self::Parquet => "parquet",
        }
    }
}

/// Answers, or opens the prompt.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    if let Some(number) = args.examples {
        terminal::write_result(&examples(texts, number)?, args.output.as_deref())?;
        return Ok(exit::OK);
    }
    if args.format == Format::Parquet && args.output.is_none() {
        return Err(Failure::usage("sql_parquet_output").into());
    }
    let asks_catalogue = args.tables || args.schema.is_some();
    if args.format == Format::Parquet && asks_catalogue {
        return Err(Failure::usage("sql_one_result").with("value", "parquet").with("count", 0).into());
    }
    let script = if asks_catalogue { Some(String::new()) } else { script(args)? };
    if script.is_none() && args.output.is_some() {
        return Err(Failure::usage("sql_prompt_output").with("argument", "--output").into());
    }
    let found = script.as_deref().map(statements);
    if let Some(found) = &found
        && !asks_catalogue
    {
        check(found, args.format)?;
    }
    let access = if args.write { Access::Write } else { Access::ReadOnly };
    let asking = Asking::open(&args.db, access).map_err(store_failure)?;
    cancel_on_interrupt(asking.canceller())?;
    let look = look(args);
    let Some(found) = found else {
        return prompt::run(texts, &asking, &args.db, access, look).map_err(|error| of_output(error, None, false));
    };
    let mut printer = Printer::new(texts, look, terminal::ResultWriter::open(args.output.as_deref())?);
    if args.format == Format::Parquet && printer.parquet_path().is_none() {
        // DuckDB writes the file itself: a device or a pipe would stay empty.
        return Err(Failure::usage("sql_parquet_output").into());
    }
    let answered = if asks_catalogue {
        catalogue(texts, &asking, args.schema.as_deref(), &mut printer)
    } else {
        answer(&asking, &found, args, &mut printer)
    };
    match answered.and_then(|()| printer.finish()) {
        Ok(()) => Ok(exit::OK),
        Err(error) if matches!(error.downcast_ref(), Some(AskError::Cancelled)) => {
            terminal::tell(&(words::word(texts, "cancelled") + "\n"));
            Ok(exit::INTERRUPTED)
        }
        Err(error) => Err(of_output(error, args.output.as_deref(), args.write)),
    }
}

/// What writing an answer came to, with the place that it was written to. Statements that wrote have done so.
fn of_output(error: anyhow::Error, output: Option<&Path>, is_write: bool) -> anyhow::Error {
    let error = match error.downcast::<io::Error>() {
        Ok(error) => terminal::not_written(output, error),
        Err(error) => error,
    };
    if is_write { terminal::not_told(error, "sql_not_told") } else { error }
}

fn look(args: &Args) -> Look {
    let width = terminal::table_width(args.output.is_some());
    Look {
        format: args.format,
        width: (!args.wide).then_some(width),
        all_rows: args.all_rows,
        null: args.null.clone(),
        bom: args.bom,
        at_prompt: false,
    }
}

/// The statements to run as text; none when they are to be typed at a prompt.
fn script(args: &Args) -> anyhow::Result<Option<String>> {
    // In the other commands -f is the format.
    if let Some(name) = args.file.as_deref().and_then(Path::to_str)
        && Format::from_str(name, false).is_ok()
        && !Path::new(name).exists()
    {
        return Err(Failure::usage("sql_file_is_format").with("value", name).into());
    }
    let file = match (&args.sql, &args.file) {
        (Some(_), Some(_)) => return Err(Failure::usage("sql_twice").into()),
        (Some(sql), None) if sql != "-" => return Ok(Some(sql.clone())),
        (None, Some(file)) if file.as_os_str() != "-" => Some(file),
        (None, None) if io::stdin().is_terminal() && io::stdout().is_terminal() => return Ok(None),
        _ => None,
    };
    let text = match file {
        Some(file) => std::fs::read_to_string(file).map_err(|error| load::unreadable(file, &error))?,
        None => {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| load::unreadable(Path::new("-"), &error))?;
            text
        }
    };
    Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
}

/// What clap says of an option that there is not. A statement may begin with a comment (`-- …`), so that an unknown
/// option is taken for one, and what follows it for the mistake. One word that begins so is meant as an option.
pub(super) fn unknown_option(command: fn() -> clap::Command, arguments: &[OsString]) -> Option<clap::Error> {
    let is_option = |word: &&OsString| {
        let word = word.to_string_lossy();
        word.len() > 1 && word.starts_with('-') && !word.contains(char::is_whitespace)
    };
    if arguments.get(1).is_none_or(|name| name != "sql") || !arguments.iter().skip(2).any(|word| is_option(&word)) {
        return None;
    }
    let strict = command().mut_subcommand("sql", |sql| sql.mut_arg("sql", |arg| arg.allow_hyphen_values(false)));
    let error = strict.try_get_matches_from(arguments).err()?;
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_named = |word: &&OsString| word.to_string_lossy().starts_with(named.as_str());
    let is_meant = arguments.iter().find(is_named).is_some_and(|word| is_option(&word));
    (error.kind() == ErrorKind::UnknownArgument && is_meant).then_some(error)
}

/// What can be said of the statements before the store is opened.
fn check(found: &[Statement<'_>], format: Format) -> Result<(), Failure> {
    if found.is_empty() {
        return Err(Failure::usage("sql_empty"));
    }
    let answers = found.iter().filter(|statement| has_answer(statement.text)).count();
    if matches!(format, Format::Json | Format::Parquet) && answers != 1 {
        return Err(Failure::usage("sql_one_result").with("value", format.name()).with("count", answers));
    }
    Ok(())
}

/// Runs the statements in order; the first that fails ends it.
fn answer(asking: &Asking, found: &[Statement<'_>], args: &Args, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    // Columns of which Parquet has rounded numbers.
    let mut rounded = Vec::new();
    for (number, statement) in (1..).zip(found) {
        let done = match printer.parquet_path() {
            Some(path) if has_answer(statement.text) => {
                asking.copy_to_parquet(statement.text, path).map(|columns| rounded = columns)
            }
            _ => ask(asking, statement.text, printer),
        };
        done.map_err(|error| {
            let place = (found.len() > 1).then_some(number);
            let asked = Asked { statement: *statement, number: place, is_write: args.write };
            match error {
                AskError::Writes if args.format == Format::Parquet => {
                    Failure::usage("sql_parquet_question").with("value", statement.text).into()
                }
                error => asked.failure(error),
            }
        })?;
    }
    printer.finish()?;
    if !rounded.is_empty() {
        terminal::tell(&words::rounded(printer.texts, &rounded));
    }
    Ok(())
}

/// Runs one statement and prints what it answers.
fn ask(asking: &Asking, sql: &str, printer: &mut Printer<'_>) -> Result<(), AskError> {
    printer.begin(has_answer(sql));
    asking.ask(sql, printer)?;
    printer.end().map_err(AskError::Output)
}

/// Prints a list of relations or columns, in the table with their descriptions whole.
fn print(printer: &mut Printer<'_>, (columns, rows): (Vec<Column>, Vec<Row>)) -> io::Result<()> {
    if printer.look.format == Format::Table {
        return printer.list(&columns, &rows);
    }
    printer.begin(true);
    printer.columns(&columns)?;
    if !rows.is_empty() {
        // It takes all of them unless it shows fewer.
        let _all = printer.rows(rows)?;
    }
    printer.end()
}

/// Lists relations. In the table those that nothing describes, which the program keeps for itself or a person has
/// made, stand by name in a line below.
fn list(texts: &Texts, relations: &[&Relation], printer: &mut Printer<'_>) -> io::Result<()> {
    if printer.look.format != Format::Table {
        return print(printer, words::relations(texts, relations));
    }
    let (described, others): (Vec<&Relation>, Vec<&Relation>) =
        relations.iter().partition(|relation| !relation.comment.is_empty());
    print(printer, words::relations(texts, &described))?;
    if others.is_empty() { Ok(()) } else { printer.line(&words::undescribed(texts, &others, printer.look.width)) }
}

/// `--tables` and `--schema`.
fn catalogue(texts: &Texts, asking: &Asking, schema: Option<&str>, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let relations = asking.relations().map_err(store_failure)?;
    let listed = match schema {
        None => return Ok(list(texts, &relations.iter().collect::<Vec<_>>(), printer)?),
        Some(name) => {
            let found = relations.iter().find(|relation| relation.name.eq_ignore_ascii_case(name));
            let relation = found.ok_or_else(|| Failure::usage("sql_no_relation").with("name", name))?;
            words::relation_columns(texts, relation)
        }
    };
    print(printer, listed)?;
    Ok(())
}

/// The worked questions, or one of them.
fn examples(texts: &Texts, number: Option<usize>) -> Result<String, Failure> {
    let all: Vec<(usize, &Example)> = (1..).zip(&EXAMPLES).collect();
    let wanted: Vec<_> = all.into_iter().filter(|(at, _)| number.is_none_or(|number| number == *at)).collect();
    match number {
        Some(number) if wanted.is_empty() => {
            Err(Failure::usage("sql_no_example").with("value", number).with("known", EXAMPLES.len()))
        }
        _ => Ok(words::examples(texts, &wanted)),
    }
}

fn store_failure(error: AskError) -> Failure {
    match error {
        AskError::Store(error) => Failure::from(error),
        other => Failure::unreadable("other").with("message", other),
    }
}

/// A statement that was run.
struct Asked<'t> {
    statement: Statement<'t>,
    /// Its place, when there are several.
    number: Option<usize>,
    /// Whether it may write.
    is_write: bool,
}

impl Asked<'_> {
    /// What it failed at.
    fn failure(&self, error: AskError) -> anyhow::Error {
        match error {
            AskError::Sql { message } => {
                let problem = if message.contains("does not exist") || message.contains("not found in FROM clause") {
                    "name"
                } else {
                    "other"
                };
                let mut failure = Failure::usage("sql_error")
                    .with("problem", problem)
                    .with("sql", with_lines_of_script(&message, self.statement.line - 1));
                if let Some(number) = self.number {
                    failure = failure.with("count", number).with("line", self.statement.line);
                }
                failure.into()
            }
            AskError::Writes => Failure::usage("sql_writes").with("value", self.statement.text).into(),
            AskError::Cancelled => error.into(),
            AskError::Output(error) => error.into(),
            other => store_failure(other).while_writing(if self.is_write { "statement" } else { "question" }).into(),
        }
    }
}

/// DuckDB counts the lines of a statement (`LINE 2: …`, a caret below it); here those of the script.
fn with_lines_of_script(message: &str, lines_before: usize) -> String {
    let mut out = Vec::new();
    let mut shift = 0;
    for line in message.lines() {
        let numbered = line.strip_prefix("LINE ").and_then(|rest| rest.split_once(':'));
        let number = numbered.and_then(|(digits, rest)| Some((digits.len(), digits.parse::<usize>().ok()?, rest)));
        match number {
            Some((digits, number, rest)) => {
                let number = (number + lines_before).to_string();
                shift = number.len() - digits;
                out.push(format!("LINE {number}:{rest}"));
            }
            None if line.trim_start().starts_with('^') => out.push(format!("{}{line}", " ".repeat(shift))),
            None => out.push(line.to_owned()),
        }
    }
    out.join("\n").trim_end().to_owned()
}

/// From here on Ctrl-C cancels the statement that runs; once more, before it has stopped, it ends the program.
fn cancel_on_interrupt(canceller: Canceller) -> anyhow::Result<()> {
    let (ready, begun) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let waited = runtime.and_then(|runtime| {
            runtime.block_on(async {
                let mut interrupts = Interrupts::new()?;
                ready.send(Ok(())).ok();
                loop {
                    match tokio::time::timeout(REPEAT, interrupts.next()).await {
                        Ok(()) if canceller.cancel() => std::process::exit(i32::from(exit::INTERRUPTED)),
                        Ok(()) => {}
                        Err(_) => canceller.repeat(),
                    }
                }
            })
        });
        let waited: io::Result<()> = waited;
        if waited.is_err() {
            ready.send(waited).ok();
        }
    })?;
    begun.recv()??;
    Ok(())
}

#[cfg(unix)]
struct Interrupts(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Interrupts {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::interrupt()).map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}

#[cfg(not(unix))]
struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        tokio::signal::ctrl_c().await.ok();
    }
}

/// Where the history of the prompt is kept: by the XDG rules, relative folders do not count.
fn history_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("taco-trace/history"))
}
