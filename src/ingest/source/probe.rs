//! A regular file at one moment: what it is known by when it comes again, grown or under another name.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use twox_hash::XxHash3_128;

use super::hash::{ContentHasher, HashMark};
use super::input::Input;
use super::{SourceError, is_absent};

/// How many bytes at the beginning and at the end tell a file from another.
pub const PRINT_BYTES: u64 = 4096;
/// How many bytes one read asks the system for.
const BLOCK_BYTES: usize = 1024 * 1024;

/// Hashes of both ends of a file that had `bytes` bytes: of the first and of the last [`PRINT_BYTES`], or of all when
/// there are fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Size of the file.
    pub bytes: u64,
    /// xxh3 of its beginning, hex.
    pub head: String,
    /// xxh3 of its end, hex.
    pub tail: String,
}

/// Where reading an uncompressed file goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoOn {
    /// Offset of the first byte to deliver.
    pub offset: u64,
    /// Where hashing its content goes on.
    pub mark: HashMark,
}

/// An open regular file with its size at that moment: what is appended later is not read through it.
pub struct Probe {
    path: PathBuf,
    file: File,
    size: u64,
    modified_ns: Option<i64>,
    file_id: Option<(u64, u64)>,
}

impl Probe {
    /// Opens a file; none when there is something else than a regular file at that path.
    ///
    /// # Errors
    /// `NotFound`, `NotReadable`.
    pub fn open(path: &Path) -> Result<Option<Self>, SourceError> {
        let failed = |source| failure(path, source);
        // Asked first, because opening a pipe waits for its other end.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let modified_ns = metadata
            .modified()
            .ok()
            .and_then(|time| i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok());
        let file_id = file_id(&metadata);
        Ok(Some(Self { path: path.to_owned(), file, size: metadata.len(), modified_ns, file_id }))
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Time of the last change, nanoseconds since 1970 UTC.
    #[must_use]
    pub const fn modified_ns(&self) -> Option<i64> {
        self.modified_ns
    }

    /// Device and inode, where the system has such: the same under a new name.
    #[must_use]
    pub const fn file_id(&self) -> Option<(u64, u64)> {
        self.file_id
    }

    /// The first [`PRINT_BYTES`].
    ///
    /// # Errors
    /// `NotReadable`.
    pub fn head(&self) -> Result<Vec<u8>, SourceError> {
        self.range(0, self.size.min(PRINT_BYTES))
    }

    /// What both ends come to when the file is taken to end behind `bytes`.
    ///
    /// # Errors
    /// `NotReadable`.
    pub fn fingerprint(&self, bytes: u64) -> Result<Fingerprint, SourceError> {
        let ends = bytes.min(PRINT_BYTES);
        let head = print_of(&self.range(0, ends)?);
        let tail = print_of(&self.range(bytes - ends, ends)?);
        Ok(Fingerprint { bytes, head, tail })
    }

    /// Whether the file began and ended so when it had fewer bytes.
    ///
    /// # Errors
    /// `NotReadable`.
    pub fn has_grown_from(&self, print: &Fingerprint) -> Result<bool, SourceError> {
        Ok(print.bytes <= self.size && self.fingerprint(print.bytes)? == *print)
    }

    /// The hash of the first `bytes` bytes, as [`Input::content_hash`] gives it for a file of that size.
    ///
    /// # Errors
    /// `NotReadable`.
    pub fn content_hash(&self, bytes: u64) -> Result<String, SourceError> {
        let failed = |source| failure(&self.path, source);
        let mut hasher = ContentHasher::new();
        let mut block = vec![0; BLOCK_BYTES];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut limited = file.take(bytes);
        loop {
            match limited.read(&mut block) {
                Ok(0) => return Ok(hasher.finish()),
                Ok(length) => hasher.write(&block[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The bytes of the file, uncompressed, from its beginning or from where reading goes on.
    ///
    /// # Errors
    /// `NotReadable`.
    pub fn into_input(self, go_on: Option<GoOn>) -> Result<Input, SourceError> {
        let Self { path, mut file, size, .. } = self;
        let input = match go_on {
            Some(go_on) => Input::going_on(file, size, go_on),
            None => file.seek(SeekFrom::Start(0)).and_then(|_| {
                // Files that the system makes up have no size.
                let limit = if size == 0 { u64::MAX } else { size };
                Input::new(Box::new(file.take(limit)), Some(size))
            }),
        };
        input.map_err(|source| failure(&path, source))
    }

    fn range(&self, from: u64, length: u64) -> Result<Vec<u8>, SourceError> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(from)).and_then(|_| file.take(length).read_to_end(&mut bytes));
        read.map_err(|source| failure(&self.path, source))?;
        Ok(bytes)
    }
}

/// The hash of one end of a file.
#[must_use]
pub fn print_of(end: &[u8]) -> String {
    let mut hasher = XxHash3_128::new();
    hasher.write(end);
    format!("{:032x}", hasher.finish_128())
}

fn failure(path: &Path, source: io::Error) -> SourceError {
    match is_absent(&source) {
        true => SourceError::NotFound { path: path.to_owned() },
        false => SourceError::NotReadable { path: path.to_owned(), source },
    }
}

#[cfg(unix)]
fn file_id(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_metadata: &fs::Metadata) -> Option<(u64, u64)> {
    None
}
