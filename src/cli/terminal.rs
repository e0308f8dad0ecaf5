//! Where output goes and how it may look: standard output or a file, width, colour.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::failure::Failure;
use crate::render::layout::Style;
use crate::store::is_database;

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

/// Width for standard output, without colour.
pub(crate) fn plain_style() -> Style {
    style(ColorChoice::Never, false)
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
    let mut writer = ResultWriter::open(output)?;
    writer.write_all(text.as_bytes()).map_err(|error| not_written(output, error))?;
    writer.finish()
}

/// Tells what a command came to that has changed the store: should it not get out, the change stands all the same.
pub(crate) fn write_done(text: &str) -> anyhow::Result<()> {
    write_result(text, None).map_err(|error| not_told(error, "done_not_told"))
}

/// A failure to write a result becomes one of this kind, which says what stands in the store.
pub(crate) fn not_told(error: anyhow::Error, kind: &'static str) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) if matches!(failure.kind, "output_full" | "stdout_not_writable" | "output_not_writable") => {
            Failure { kind, ..failure }.into()
        }
        Ok(failure) => failure.into(),
        Err(error) => error,
    }
}

/// Where a result goes that is written piece by piece: standard output, or a file that is there whole or not at all.
pub(crate) struct ResultWriter {
    output: BufWriter<Box<dyn Write>>,
    path: Option<PathBuf>,
    /// The file as it is written, before it gets its name; none for a device or a pipe, which no renaming replaces.
    partial: Option<PathBuf>,
}

impl ResultWriter {
    /// Begins a result.
    pub(crate) fn open(output: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = output else {
            return Ok(Self { output: BufWriter::new(Box::new(io::stdout())), path: None, partial: None });
        };
        let is_replaced = !path.exists() || path.is_file();
        refuse_store(path)?;
        let partial = is_replaced.then(|| partial_path(path));
        let file = match &partial {
            Some(partial) => fs::File::create(partial),
            None => fs::OpenOptions::new().write(true).open(path),
        };
        let file = file.map_err(|error| not_written(Some(path), error))?;
        Ok(Self { output: BufWriter::new(Box::new(file)), path: Some(path.to_owned()), partial })
    }

    /// The file that is written, for those who write it by its name.
    pub(crate) fn partial(&self) -> Option<&Path> {
        self.partial.as_deref()
    }

    /// Ends it: a file gets its name.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        let path = self.path.as_deref();
        self.output.flush().map_err(|error| not_written(path, error))?;
        if let (Some(partial), Some(path)) = (&self.partial, path) {
            fs::rename(partial, path).map_err(|error| not_written(Some(path), error))?;
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
        if let Some(partial) = &self.partial {
            fs::remove_file(partial).ok();
        }
    }
}

/// Refuses a result that would take the place of something the command reads, under whatever name: another spelling of
/// the path, a symbolic link, a hard link.
pub(crate) fn refuse_over_inputs<'p>(
    output: Option<&Path>,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    match inputs.into_iter().find(|input| is_same_file(output, input)) {
        Some(input) => {
            let failure = Failure::usage("output_is_input").with("path", output.display());
            Err(failure.with("input", input.display()))
        }
        None => Ok(()),
    }
}

/// Whether both paths lead to one file. Pipes and devices, which may be read and written at once, are none.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(first), Ok(second)) => first.is_file() && second.is_file() && is_same(one, &first, other, &second),
        // What is not there yet may be made by the command before the result is.
        (Err(_), Err(_)) => matches!((made_at(one), made_at(other)), (Some(one), Some(other)) if one == other),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(_: &Path, first: &fs::Metadata, _: &Path, second: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (first.dev(), first.ino()) == (second.dev(), second.ino())
}

#[cfg(not(unix))]
fn is_same(one: &Path, _: &fs::Metadata, other: &Path, _: &fs::Metadata) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Where a file would be made: its folder, links followed, and its name.
fn made_at(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
}

/// A slip of the hand must not write over a store, nor behind its end.
pub(crate) fn refuse_store(path: &Path) -> Result<(), Failure> {
    if path.is_file() && is_database(path).unwrap_or(false) {
        return Err(Failure::usage("output_is_store").with("path", path.display()));
    }
    Ok(())
}

/// The name under which a file is written before it takes its own.
fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}

/// What a failure to write a result becomes; `path` is the file, when it goes to one.
pub(crate) fn not_written(path: Option<&Path>, error: io::Error) -> anyhow::Error {
    // A reader of standard output who left is no failure: the chain must show it.
    if path.is_none() && error.kind() == io::ErrorKind::BrokenPipe {
        return anyhow::Error::new(error).context("standard output");
    }
    let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let failure = match path {
        None if is_full => Failure::unreadable("output_full").with("problem", "stream"),
        None => Failure::unreadable("stdout_not_writable"),
        // A device or a pipe has taken a part.
        Some(path) if is_full && path.exists() && !path.is_file() => {
            Failure::unreadable("output_full").with("problem", "stream").with("path", path.display())
        }
        Some(path) if is_full => Failure::unreadable("output_full").with("path", path.display()),
        Some(path) => Failure::unreadable("output_not_writable").with("path", path.display()),
    };
    failure.with("message", error).into()
}

/// What a failure to add lines to a file becomes, whose lines so far stand.
pub(crate) fn not_appended(path: &Path, error: io::Error) -> anyhow::Error {
    match not_written(Some(path), error).downcast::<Failure>() {
        Ok(failure) if failure.kind == "output_full" && path.is_file() => failure.with("problem", "lines").into(),
        Ok(failure) => failure.into(),
        Err(other) => other,
    }
}

/// Writes to standard error. Nothing can be told of a failure there.
pub(crate) fn tell(text: &str) {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok();
}
