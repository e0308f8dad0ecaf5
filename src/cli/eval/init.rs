//! `taco-trace eval init`: a project file with examples that run at once.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use crate::cli::failure::Failure;
use crate::cli::{exit, terminal};
use crate::experiment::project::FILE;
use crate::render::{Texts, eval_run as words};

/// The files, with the project file last: it is there when all the others are.
const FILES: [(&str, &str); 5] = [
    ("cases/01-mail-draft.json", include_str!("../../experiment/data/cases/01-mail-draft.json")),
    ("cases/08-lost-after-effect.json", include_str!("../../experiment/data/cases/08-lost-after-effect.json")),
    ("scripts/01-mail-draft.json", include_str!("../../experiment/data/scripts/01-mail-draft.json")),
    ("scripts/08-lost-after-effect.json", include_str!("../../experiment/data/scripts/08-lost-after-effect.json")),
    (FILE, include_str!("../../experiment/data/taco-eval.toml")),
];

/// `taco-trace eval init` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace eval init 평가 && cd 평가 && taco-trace eval run")]
pub(crate) struct Args {
    /// 만들 폴더(없으면 지금 폴더)
    #[arg(help_heading = "인자", value_name = "폴더", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
}

/// Writes the examples. Nothing is written when one of the files is there.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    if let Some((name, _)) = FILES.iter().find(|(name, _)| args.folder.join(name).symlink_metadata().is_ok()) {
        return Err(Failure::usage("eval_init_exists").with("path", args.folder.join(name).display()).into());
    }
    for (name, text) in FILES {
        let path = args.folder.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            // Should somebody have made it meanwhile, it stays theirs.
            OpenOptions::new().write(true).create_new(true).open(&path)?.write_all(text.as_bytes())
        });
        written.map_err(|error| terminal::not_written(Some(&path), error))?;
    }
    let made: Vec<String> = FILES.iter().map(|(name, _)| args.folder.join(name).display().to_string()).collect();
    terminal::write_result(&words::made(texts, &made), None)?;
    Ok(exit::OK)
}
