//! What ends a command early: a kind with its values, told by the template `errors.j2`.

use std::collections::BTreeMap;
use std::fmt;

use super::exit;
use crate::ingest::convention::ConventionError;
use crate::ingest::source::SourceError;
use crate::ingest::tools::ToolsError;
use crate::store::StoreError;

/// An expected failure. `Display` is for logs; people read the template of its kind.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Key of the template's text.
    pub(crate) kind: &'static str,
    /// Values the text names.
    pub(crate) values: BTreeMap<&'static str, String>,
    /// Exit status.
    pub(crate) exit: u8,
}

impl Failure {
    /// A failure to read or write something.
    pub(crate) fn unreadable(kind: &'static str) -> Self {
        Self { kind, values: BTreeMap::new(), exit: exit::UNREADABLE }
    }

    /// A failure in how the program was called.
    pub(crate) fn usage(kind: &'static str) -> Self {
        Self { kind, values: BTreeMap::new(), exit: exit::USAGE }
    }

    /// What was being written, should the disk have been full: a key of the template. Other failures stay as they are.
    pub(crate) fn while_writing(self, what: &'static str) -> Self {
        if self.kind == "disk_full" { self.with("problem", what) } else { self }
    }

    /// Adds a value.
    pub(crate) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.values.insert(name, value.to_string());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.kind)?;
        self.values.iter().try_for_each(|(name, value)| write!(formatter, " {name}={value}"))
    }
}

impl std::error::Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { path, holder } => {
                Self::unreadable("store_locked").with("path", path.display()).with("holder", holder)
            }
            StoreError::Missing { path } => Self::unreadable("store_missing").with("path", path.display()),
            StoreError::NotOpenable { path, message } => {
                Self::unreadable("store_not_openable").with("path", path.display()).with("message", message)
            }
            StoreError::Outdated { path, reason } => {
                let message = match *reason {
                    StoreError::Locked { holder, .. } => holder,
                    StoreError::NotOpenable { message, .. } => message,
                    full @ StoreError::DiskFull { .. } => return Self::from(full),
                    other => other.to_string(),
                };
                Self::unreadable("store_outdated").with("path", path.display()).with("message", message)
            }
            StoreError::Newer { found, known } => {
                Self::unreadable("store_newer").with("found", found).with("known", known)
            }
            StoreError::MigrationChanged { name } => Self::unreadable("store_changed").with("name", name),
            StoreError::DiskFull { message } => Self::unreadable("disk_full").with("message", message),
            StoreError::Statement { what, source } => {
                Self::unreadable("other").with("message", format!("{what}: {source}"))
            }
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NotFound { path } => Self::unreadable("file_not_found").with("path", path.display()),
            SourceError::NotReadable { path, source } => {
                Self::unreadable("file_not_readable").with("path", path.display()).with("message", source)
            }
            SourceError::NoMatch { pattern } => Self::unreadable("no_match").with("pattern", pattern),
            SourceError::EmptyFolder { path, kind } => {
                Self::unreadable("empty_folder").with("path", path.display()).with("kind", kind.as_str())
            }
        }
    }
}

impl From<ConventionError> for Failure {
    fn from(error: ConventionError) -> Self {
        match error {
            ConventionError::Syntax { file, source } => {
                Self::unreadable("convention_syntax").with("path", file).with("message", source.message())
            }
            ConventionError::Invalid { file, what } => {
                Self::unreadable("convention_invalid").with("path", file).with("message", what)
            }
            ConventionError::None => Self::unreadable("convention_invalid").with("path", "").with("message", ""),
        }
    }
}

/// A tools.json that cannot be read, with its path.
pub(crate) fn tools_failure(path: &std::path::Path, error: &ToolsError) -> Failure {
    match error {
        ToolsError::NotJson { line, column, message } => Failure::unreadable("tools_not_json")
            .with("path", path.display())
            .with("line", line)
            .with("column", column)
            .with("message", message),
        ToolsError::NotAList => Failure::unreadable("tools_not_list").with("path", path.display()),
    }
}
