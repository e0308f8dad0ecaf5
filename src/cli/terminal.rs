//! Where output goes and how it may look: standard output or a file, width, colour.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;

use super::failure::Failure;
use crate::render::layout::Style;

/// Width when nothing tells it.
const DEFAULT_WIDTH: usize = 80;
/// A narrower terminal is not written for.
const MIN_WIDTH: usize = 40;
/// Lines get no longer than this, however wide the terminal is: they stay readable.
const MAX_WIDTH: usize = 120;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// 단말에서만 색을 씁니다(NO_COLOR 를 따릅니다)
    Auto,
    /// 언제나 색을 씁니다
    Always,
    /// 색을 쓰지 않습니다
    Never,
}

/// Width and colour for a report on standard output.
pub(crate) fn style(choice: ColorChoice, to_file: bool) -> Style {
    let on_terminal = io::stdout().is_terminal() && !to_file;
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let color = match choice {
        ColorChoice::Auto => on_terminal && !forbidden,
        ColorChoice::Always => true,
        ColorChoice::Never => false,
    };
    Style { width: width(on_terminal), color }
}

fn width(on_terminal: bool) -> usize {
    measured_width(on_terminal).clamp(MIN_WIDTH, MAX_WIDTH)
}

/// Width for a table, which uses all that there is.
pub(crate) fn table_width(to_file: bool) -> usize {
    measured_width(io::stdout().is_terminal() && !to_file).max(MIN_WIDTH)
}

fn measured_width(on_terminal: bool) -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let measured =
        if on_terminal { terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) } else { None };
    measured.or(columns).unwrap_or(DEFAULT_WIDTH)
}

/// Writes the result to standard output, or to `output`: there whole or not at all.
pub(crate) fn write_result(text: &str, output: Option<&Path>) -> anyhow::Result<()> {
    match output {
        None => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("standard output")
        }
        Some(path) => write_file(path, text).map_err(|error| {
            Failure::unreadable("output_not_writable").with("path", path.display()).with("message", error).into()
        }),
    }
}

/// The name under which a file is written before it takes its own.
pub(crate) fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    // A device or a pipe cannot be replaced by renaming.
    if path.exists() && !path.is_file() {
        return fs::write(path, text);
    }
    let partial = partial_path(path);
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        fs::remove_file(&partial).ok();
    }
    written
}

/// Where a result goes that is written piece by piece: standard output, or a file that is there whole or not at all.
pub(crate) struct ResultWriter {
    output: io::BufWriter<Box<dyn Write>>,
    /// The file as it is written, and what it is called once it is whole.
    partial: Option<(PathBuf, PathBuf)>,
}

impl ResultWriter {
    /// Begins a result.
    pub(crate) fn open(output: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = output else {
            return Ok(Self { output: io::BufWriter::new(Box::new(io::stdout())), partial: None });
        };
        // A device or a pipe cannot be replaced by renaming.
        let is_replaced = !path.exists() || path.is_file();
        let partial = is_replaced.then(|| (partial_path(path), path.to_owned()));
        let file = match &partial {
            Some((partial, _)) => fs::File::create(partial),
            None => fs::OpenOptions::new().write(true).open(path),
        };
        let file = file.map_err(|error| Self::failure(output, error))?;
        Ok(Self { output: io::BufWriter::new(Box::new(file)), partial })
    }

    /// What a failure to write becomes.
    pub(crate) fn failure(output: Option<&Path>, error: io::Error) -> anyhow::Error {
        match output {
            None => anyhow::Error::new(error).context("standard output"),
            Some(path) => {
                Failure::unreadable("output_not_writable").with("path", path.display()).with("message", error).into()
            }
        }
    }

    /// Ends it: a file gets its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let partial = self.partial.clone();
        let path = partial.as_ref().map(|(_, path)| path.as_path());
        self.output.flush().map_err(|error| Self::failure(path, error))?;
        if let Some((partial, path)) = &partial {
            fs::rename(partial, path).map_err(|error| Self::failure(Some(path), error))?;
            self.partial = None;
        }
        Ok(())
    }
}

impl Write for ResultWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl Drop for ResultWriter {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.partial {
            fs::remove_file(partial).ok();
        }
    }
}

/// Writes to standard error. Nothing can be told of a failure there.
pub(crate) fn tell(text: &str) {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok();
}
