//! `taco-trace eval case`: looks at cases, freezes them, lists them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;

use super::{Format, FormatArg};
use crate::cli::failure::Failure;
use crate::cli::load::{self, DEFAULT_STORE, StoreArg};
use crate::cli::{HELP_TEMPLATE, exit, terminal};
use crate::eval::freeze::freeze;
use crate::eval::lint::lint;
use crate::model::{CaseProblem, FrozenCase};
use crate::render::{Texts, eval as words};
use crate::store::Store;

#[derive(Debug, Subcommand)]
pub(super) enum CaseCommand {
    /// 사례의 잘못을 모두 줄과 JSON Pointer 로 보여줍니다. 잘못이 있으면 종료 상태는 1 입니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Lint {
        #[command(flatten)]
        files: Files,
    },
    /// 사례를 바뀌지 않는 버전으로 저장소에 남깁니다. 하나라도 잘못이 있으면 아무것도 남기지 않습니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Freeze {
        #[command(flatten)]
        files: Files,
        /// 저장소 파일(기본 taco.duckdb). 없으면 만듭니다
        #[arg(long, value_name = "파일", default_value = DEFAULT_STORE, hide_default_value = true)]
        db: PathBuf,
    },
    /// 고정한 사례의 버전을 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    List {
        #[command(flatten)]
        store: StoreArg,
        #[command(flatten)]
        output: FormatArg,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Files {
    /// 사례 파일이나, 사례 파일(.json)이 있는 폴더
    #[arg(help_heading = "인자", value_name = "파일", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    output: FormatArg,
}

/// Does what is asked with cases.
pub(super) fn run(texts: &Texts, command: &CaseCommand) -> anyhow::Result<u8> {
    match command {
        CaseCommand::Lint { files } => {
            let found: Vec<(String, Vec<CaseProblem>)> =
                read(&files.paths)?.into_iter().map(|(file, text)| (file, lint(&text))).collect();
            tell_problems(texts, &found, files.output.format)
        }
        CaseCommand::Freeze { files, db } => freeze_all(texts, files, db),
        CaseCommand::List { store, output } => {
            let cases = store.open_to_read()?.frozen_cases().map_err(Failure::from)?;
            let text = match output.format {
                Format::Table => words::list(texts, &cases, terminal::plain_style()),
                Format::Json => serde_json::to_string_pretty(&cases)? + "\n",
            };
            terminal::write_result(&text, None)?;
            Ok(exit::OK)
        }
    }
}

/// Cases with the names of their files; of a folder all that end in `.json`, by name.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            let walked = walkdir::WalkDir::new(path).sort_by_file_name();
            for entry in walked {
                let entry = entry.map_err(|error| {
                    let at = error.path().unwrap_or(path).to_owned();
                    Failure::unreadable("file_not_readable").with("path", at.display()).with("message", error)
                })?;
                if entry.file_type().is_file() && entry.path().extension().is_some_and(|end| end == "json") {
                    files.push(entry.into_path());
                }
            }
            if files.len() == before {
                return Err(Failure::unreadable("eval_no_cases").with("path", path.display()));
            }
        } else {
            files.push(path.clone());
        }
    }
    files.into_iter().map(|file| Ok((file.display().to_string(), read_one(&file)?))).collect()
}

pub(super) fn read_one(file: &Path) -> Result<String, Failure> {
    let bytes = fs::read(file).map_err(|error| load::unreadable(file, &error))?;
    // What is not UTF-8 is not JSON, which lint tells with its line: the sign put in stands in no valid place.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
        let good = error.utf8_error().valid_up_to();
        String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned() + "\u{0}"
    }))
}

/// Tells what is wrong with cases; the exit status is 1 when anything is.
pub(super) fn tell_problems(texts: &Texts, found: &[(String, Vec<CaseProblem>)], format: Format) -> anyhow::Result<u8> {
    #[derive(Serialize)]
    struct Row<'a> {
        file: &'a str,
        line: u64,
        pointer: &'a str,
        code: &'a str,
        message: String,
    }
    let text = match format {
        Format::Table => words::problems(texts, found),
        Format::Json => {
            let rows: Vec<Row<'_>> = found
                .iter()
                .flat_map(|(file, problems)| problems.iter().map(move |problem| (file, problem)))
                .map(|(file, problem)| Row {
                    file,
                    line: problem.line,
                    pointer: &problem.pointer,
                    code: problem.code,
                    message: words::problem(texts, problem),
                })
                .collect();
            serde_json::to_string_pretty(&rows)? + "\n"
        }
    };
    terminal::write_result(&text, None)?;
    let is_clean = found.iter().all(|(_, problems)| problems.is_empty());
    Ok(if is_clean { exit::OK } else { exit::FOUND })
}

fn freeze_all(texts: &Texts, files: &Files, db: &Path) -> anyhow::Result<u8> {
    let mut cases: Vec<FrozenCase> = Vec::new();
    let mut problems = Vec::new();
    for (file, text) in read(&files.paths)? {
        match freeze(&text) {
            Ok((case, _)) => cases.push(case),
            Err(found) => problems.push((file, found)),
        }
    }
    if !problems.is_empty() {
        return tell_problems(texts, &problems, files.output.format);
    }
    let store = Store::open(db).map_err(Failure::from)?;
    let frozen_at = crate::store::korean_time(load::now_ns());
    let mut kept = Vec::new();
    for case in cases {
        let case = FrozenCase { frozen_at: frozen_at.clone(), ..case };
        let is_new = store.freeze_case(&case).map_err(Failure::from)?;
        kept.push((case, is_new));
    }
    let text = match files.output.format {
        Format::Table => words::frozen(texts, &kept),
        Format::Json => {
            #[derive(Serialize)]
            struct Row<'a> {
                sha256: &'a str,
                id: &'a str,
                name: &'a str,
                is_new: bool,
            }
            let rows: Vec<Row<'_>> = kept
                .iter()
                .map(|(case, is_new)| Row { sha256: &case.sha256, id: &case.id, name: &case.name, is_new: *is_new })
                .collect();
            serde_json::to_string_pretty(&rows)? + "\n"
        }
    };
    terminal::write_done(&text)?;
    Ok(exit::OK)
}
