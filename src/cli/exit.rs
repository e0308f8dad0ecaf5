//! Exit statuses, a contract with scripts (README.md lists them).

/// Done; issues in the input included. A pipe that the reader closed is also this.
pub(crate) const OK: u8 = 0;
/// `--fail-on` found such a run, or `--strict` met an issue.
pub(crate) const FOUND: u8 = 1;
/// Wrong use: an unknown flag, a missing argument, a value that makes no sense.
pub(crate) const USAGE: u8 = 2;
/// A file, the store or the output could not be opened, or nothing in the input was recognised.
pub(crate) const UNREADABLE: u8 = 3;
/// `eval gate`: neither a candidate nor blocked, or nothing was found.
pub(crate) const OPEN: u8 = 4;
/// Ctrl-C ended it, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;
