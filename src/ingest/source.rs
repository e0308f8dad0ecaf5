//! Where bytes come from: paths, folders, globs and standard input.
//!
//! Owns the list of inputs ([`expand`]) and the stream of uncompressed bytes of one input ([`open`]).
//! It does not cut lines (see `frame`) and does not know what a trace is.

mod hash;
mod input;
mod probe;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use walkdir::WalkDir;

pub use hash::HashMark;
pub use input::{Compression, Input, open};
pub use probe::{Fingerprint, GoOn, PRINT_BYTES, Probe, print_of};

/// How the names of trace files end, compressed or not. `.binpb` and `.pb` are what protobuf gives its binary files.
const TRACE_ENDINGS: [&str; 6] = [".json", ".jsonl", ".ndjson", ".pb", ".binpb", ".otlp"];
/// The same of tables of calls.
const TABLE_ENDINGS: [&str; 4] = [".json", ".jsonl", ".ndjson", ".csv"];
/// The name that stands for standard input.
const STDIN_NAME: &str = "-";

/// What is looked for in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Traces.
    Trace,
    /// Tables of calls.
    Table,
}

impl FileKind {
    /// Its stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Table => "table",
        }
    }

    /// Whether a file is one by its name, in either case, compressed (`.gz`, `.zst`) or not.
    #[must_use]
    pub fn has_name(self, path: &Path) -> bool {
        let Some(name) = path.file_name() else { return false };
        let name = name.to_string_lossy().to_ascii_lowercase();
        let stem = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        let endings: &[&str] = match self {
            Self::Trace => &TRACE_ENDINGS,
            Self::Table => &TABLE_ENDINGS,
        };
        endings.iter().any(|ending| stem.ends_with(ending))
    }
}

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A file, or anything else with a path that can be read (a pipe, a device).
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Source {
    /// The path as given (bytes that are not UTF-8 replaced), or `-`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => STDIN_NAME.to_owned(),
        }
    }
}

/// Why an argument gives nothing to read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such path, and it is no glob either.
    #[error("no such file or folder: {}", path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The path exists and cannot be read.
    #[error("cannot read {}", path.display())]
    NotReadable {
        /// The path, or the path inside the folder that was walked.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A glob that nothing matches, or that is no valid glob.
    #[error("nothing matches {pattern}")]
    NoMatch {
        /// The glob as given.
        pattern: String,
    },
    /// A folder without a single file of the kind in it.
    #[error("no {} file in folder {}", kind.as_str(), path.display())]
    EmptyFolder {
        /// The folder as given.
        path: PathBuf,
        /// What was looked for.
        kind: FileKind,
    },
}

/// Turns the arguments of the command line into the inputs to read.
///
/// A path is a file (any name), a folder (walked for files of that kind: `*.json`, `*.jsonl` and `*.ndjson`, of traces
/// also protobuf `*.pb`, `*.binpb` and `*.otlp`, of tables `*.csv`; see [`FileKind::has_name`]), a glob, or `-`.
/// Arguments keep their order, what one argument gives is sorted by path, and a file that is reached twice, under
/// whatever name, is returned once.
///
/// # Errors
/// The first argument that gives nothing to read.
pub fn expand(paths: &[PathBuf], kind: FileKind) -> Result<Vec<Source>, SourceError> {
    let mut sources = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.as_os_str() == STDIN_NAME {
            if !sources.contains(&Source::Stdin) {
                sources.push(Source::Stdin);
            }
            continue;
        }
        for file in expand_path(path, kind)? {
            // A pipe has no canonical path; its own path is as good for telling it apart.
            if seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                sources.push(Source::File(file));
            }
        }
    }
    Ok(sources)
}

fn expand_path(path: &Path, kind: FileKind) -> Result<Vec<PathBuf>, SourceError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let files = walk_folder(path, kind)?;
            if files.is_empty() {
                return Err(SourceError::EmptyFolder { path: path.to_owned(), kind });
            }
            Ok(files)
        }
        Ok(_) => Ok(vec![path.to_owned()]),
        Err(source) if is_absent(&source) => match path.to_str() {
            Some(text) if is_glob(text) => expand_glob(text, kind),
            _ => Err(SourceError::NotFound { path: path.to_owned() }),
        },
        Err(source) => Err(SourceError::NotReadable { path: path.to_owned(), source }),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The files of a kind below a folder, sorted.
///
/// Links are followed. A folder is entered once however many links lead to it, so that links in a circle end and
/// links that cross do not multiply.
fn walk_folder(folder: &Path, kind: FileKind) -> Result<Vec<PathBuf>, SourceError> {
    let mut entered = BTreeSet::new();
    let mut files = Vec::new();
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter().filter_entry(|entry| {
        !entry.file_type().is_dir()
            || fs::canonicalize(entry.path()).map_or(true, |canonical| entered.insert(canonical))
    });
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) if kind.has_name(entry.path()) => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) => report_walk_error(error, |path| kind.has_name(path))?,
        }
    }
    files.sort();
    Ok(files)
}

/// Passes over what a walk may meet without losing anything: circles of links, and links to nowhere unless the
/// link itself is `wanted`.
fn report_walk_error(error: walkdir::Error, wanted: impl Fn(&Path) -> bool) -> Result<(), SourceError> {
    if error.loop_ancestor().is_some() {
        return Ok(());
    }
    let path = error.path().map(Path::to_owned).unwrap_or_default();
    let source = error.into_io_error().unwrap_or_else(|| io::Error::other("the folder cannot be walked"));
    match is_absent(&source) {
        true if wanted(&path) => Err(SourceError::NotFound { path }),
        true => Ok(()),
        false => Err(SourceError::NotReadable { path, source }),
    }
}

/// The files that a glob matches, sorted; folders that it matches are walked.
///
/// Only the part from the first component with a wildcard on is matched: the part before it is a plain folder, and
/// the walk goes no deeper than the glob does.
fn expand_glob(pattern: &str, kind: FileKind) -> Result<Vec<PathBuf>, SourceError> {
    let no_match = || SourceError::NoMatch { pattern: pattern.to_owned() };
    let mut base = PathBuf::new();
    let mut rest: Vec<String> = Vec::new();
    for component in Path::new(pattern).components() {
        let text = component.as_os_str().to_string_lossy();
        if rest.is_empty() && !(matches!(component, Component::Normal(_)) && is_glob(&text)) {
            base.push(component);
        } else {
            // globset gives braces a meaning of their own; here they are part of a name, as documented.
            let literal =
                text.chars().map(|letter| if "{}".contains(letter) { format!("[{letter}]") } else { letter.into() });
            rest.push(literal.collect());
        }
    }
    let matcher =
        GlobBuilder::new(&rest.join("/")).literal_separator(true).build().map_err(|_| no_match())?.compile_matcher();
    let max_depth = if rest.iter().any(|part| part.contains("**")) { usize::MAX } else { rest.len() };
    let root = if base.as_os_str().is_empty() { Path::new(".") } else { base.as_path() };
    // Relative to the root, because the walk of `.` puts `./` in front.
    let matches = |path: &Path| path.strip_prefix(root).is_ok_and(|relative| matcher.is_match(relative));
    let mut files = Vec::new();
    for entry in WalkDir::new(root).follow_links(true).min_depth(1).max_depth(max_depth).sort_by_file_name() {
        match entry {
            Ok(entry) if matches(entry.path()) => {
                let path = base.join(entry.path().strip_prefix(root).unwrap_or(entry.path()));
                if entry.file_type().is_dir() { files.extend(walk_folder(&path, kind)?) } else { files.push(path) }
            }
            Ok(_) => {}
            Err(error) => report_walk_error(error, matches)?,
        }
    }
    files.sort();
    if files.is_empty() { Err(no_match()) } else { Ok(files) }
}
