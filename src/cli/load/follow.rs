//! Which part of a file is new. What was read before is known by its path, its inode or its content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::Failure;
use crate::ingest::source::{self, Compression, Fingerprint, GoOn, HashMark, Input, PRINT_BYTES, Probe, Source};
use crate::ingest::{Report, Rest, Start};
use crate::store::{KnownPosition, SourceIdentity, SourcePosition, Store};

/// What there is to do about a file.
pub(super) enum Plan {
    /// These very bytes were read before.
    Unchanged,
    /// To be read.
    Read(Box<Reading>),
}

/// How what is read now stands to what was read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Never seen under this path, nor its content under another.
    New,
    /// Has grown: only what was appended is read.
    Grown,
    /// Has grown, but can be read as a whole only.
    GrownAnew,
    /// Other content than before under the same path.
    Rewritten,
}

impl Kind {
    /// The key of its words.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Grown => "grown",
            Self::GrownAnew => "grown_anew",
            Self::Rewritten => "rewritten",
        }
    }
}

/// A file that was opened to be read.
pub(super) struct Reading {
    pub(super) identity: SourceIdentity,
    pub(super) input: Input,
    pub(super) start: Start,
    pub(super) kind: Kind,
    /// The state that it goes on from.
    pub(super) from: Option<KnownPosition>,
    /// Offset in the stored bytes from which it is read.
    pub(super) offset: u64,
    /// What a regular file is known by later.
    print: Option<Print>,
}

struct Print {
    fingerprint: Fingerprint,
    file_id: Option<(i64, i64)>,
    is_text: bool,
}

impl Reading {
    /// Where the file can be read on later, once it was read; none when it was not read to the end that it had.
    pub(super) fn position(&self, report: &Report) -> Option<SourcePosition> {
        let Print { fingerprint, file_id, is_text } = self.print.as_ref()?;
        if fingerprint.bytes == 0 || self.input.bytes_read() != fingerprint.bytes {
            return None;
        }
        let may_go_on = *is_text && self.input.compression() == Compression::None;
        let goes_on = report.rest.filter(|_| may_go_on);
        let whole = Rest { start: Start::default(), lines: report.lines, lines_skipped: report.lines_skipped };
        let rest = goes_on.unwrap_or(whole);
        let HashMark { bytes, chain } = self.input.hash_mark();
        Some(SourcePosition {
            identity: self.identity.clone(),
            file_id: *file_id,
            head_hash: fingerprint.head.clone(),
            tail_hash: fingerprint.tail.clone(),
            hashed_bytes: signed(bytes),
            hash_chain: format!("{chain:032x}"),
            next_byte: goes_on.map(|rest| signed(rest.start.byte_offset)),
            next_line: signed(rest.start.line),
            lines_again: signed(rest.lines),
            lines_skipped_again: signed(rest.lines_skipped),
        })
    }
}

/// The states in which files were read, for looking them up.
#[derive(Default)]
pub(super) struct Known {
    /// Removed ones are none; the others keep their place.
    rows: Vec<Option<KnownPosition>>,
    by_path: BTreeMap<String, BTreeSet<usize>>,
    by_file: BTreeMap<(i64, i64), BTreeSet<usize>>,
    /// By the length of the beginning that was hashed, and its hash.
    by_head: BTreeMap<i64, BTreeMap<String, BTreeSet<usize>>>,
}

impl Known {
    pub(super) fn load(store: &Store) -> Result<Self, Failure> {
        let mut known = Self::default();
        for row in store.positions()? {
            known.add(row);
        }
        Ok(known)
    }

    pub(super) fn add(&mut self, row: KnownPosition) {
        let index = self.rows.len();
        let position = &row.position;
        self.by_path.entry(position.identity.path.clone()).or_default().insert(index);
        if let Some(file_id) = position.file_id {
            self.by_file.entry(file_id).or_default().insert(index);
        }
        let head_bytes = position.identity.size_bytes.min(signed(PRINT_BYTES));
        self.by_head.entry(head_bytes).or_default().entry(position.head_hash.clone()).or_default().insert(index);
        self.rows.push(Some(row));
    }

    /// Forgets a state under its path.
    pub(super) fn remove(&mut self, gone: &KnownPosition) {
        let identity = &gone.position.identity;
        let same = |row: &KnownPosition| row.source_id == gone.source_id && row.position.identity.path == identity.path;
        let Some(indexes) = self.by_path.get_mut(&identity.path) else { return };
        indexes.retain(|index| {
            let is_gone = self.rows[*index].as_ref().is_none_or(same);
            if is_gone {
                self.rows[*index] = None;
            }
            !is_gone
        });
    }

    fn at<'k>(&'k self, indexes: Option<&'k BTreeSet<usize>>) -> impl Iterator<Item = &'k KnownPosition> {
        indexes.into_iter().flatten().filter_map(|index| self.rows[*index].as_ref())
    }

    fn has_path(&self, path: &str) -> bool {
        self.at(self.by_path.get(path)).next().is_some()
    }

    /// Whether a file was read in this state under this path.
    fn has(&self, identity: &SourceIdentity) -> bool {
        identity.modified_ns.is_some()
            && self.at(self.by_path.get(&identity.path)).any(|row| row.position.identity == *identity)
    }

    /// The same file, unchanged, under another path: it was renamed.
    fn renamed(&self, identity: &SourceIdentity, file_id: Option<(i64, i64)>) -> Option<&KnownPosition> {
        self.at(self.by_file.get(&file_id?)).find(|row| {
            let SourceIdentity { size_bytes, modified_ns, .. } = row.position.identity;
            modified_ns.is_some() && (size_bytes, modified_ns) == (identity.size_bytes, identity.modified_ns)
        })
    }

    fn of_content(&self, size_bytes: i64, content_hash: &str) -> Option<&KnownPosition> {
        let is_same =
            |row: &&KnownPosition| row.position.identity.size_bytes == size_bytes && row.content_hash == content_hash;
        self.rows.iter().flatten().find(is_same)
    }

    /// The state that the file has grown from.
    ///
    /// Under the same path, or with the same inode, both ends of the old content tell. A file of another name is held
    /// against the whole content, and only when the old name is gone or has other content now: else it is a copy.
    fn grown_from(&self, path: &str, probe: &Probe) -> Result<Option<&KnownPosition>, Failure> {
        let file_id = signed_id(probe);
        let mut near: Vec<&KnownPosition> =
            self.at(self.by_path.get(path)).chain(self.at(file_id.and_then(|id| self.by_file.get(&id)))).collect();
        near.sort_by_key(|row| std::cmp::Reverse(row.position.identity.size_bytes));
        for row in near {
            if has_grown(probe, row)? {
                return Ok(Some(row));
            }
        }
        let head = probe.head()?;
        for (length, heads) in &self.by_head {
            let Some(head) = usize::try_from(*length).ok().and_then(|length| head.get(..length)) else { break };
            for row in self.at(heads.get(&source::print_of(head))) {
                let bytes = row.position.identity.size_bytes.unsigned_abs();
                if has_grown(probe, row)?
                    && has_gone(&row.position.identity)
                    && probe.content_hash(bytes)? == row.content_hash
                {
                    return Ok(Some(row));
                }
            }
        }
        Ok(None)
    }
}

/// Whether the old content, by both its ends, is the beginning of a longer one.
fn has_grown(probe: &Probe, row: &KnownPosition) -> Result<bool, Failure> {
    let SourcePosition { identity, head_hash, tail_hash, .. } = &row.position;
    let bytes = identity.size_bytes.unsigned_abs();
    if bytes >= probe.size() {
        return Ok(false);
    }
    let old = Fingerprint { bytes, head: head_hash.clone(), tail: tail_hash.clone() };
    Ok(probe.has_grown_from(&old)?)
}

/// Whether the file is no longer as it was read.
fn has_gone(identity: &SourceIdentity) -> bool {
    let now = std::fs::metadata(&identity.path).ok().map(|metadata| (signed(metadata.len()), modified_ns(&metadata)));
    now != Some((identity.size_bytes, identity.modified_ns))
}

/// Looks a source up and opens it unless it is unchanged.
pub(super) fn plan(store: &Store, known: &mut Known, source: &Source) -> anyhow::Result<Plan> {
    let path = match source {
        Source::File(path) => path,
        Source::Stdin => return stream(source),
    };
    let Some(probe) = Probe::open(path).map_err(Failure::from)? else { return stream(source) };
    let identity = identity_of(path, &probe);
    if known.has(&identity) || store.has_read(&identity).map_err(Failure::from)? {
        return Ok(Plan::Unchanged);
    }
    let file_id = signed_id(&probe);
    if let Some(same) = known.renamed(&identity, file_id) {
        let same = same.clone();
        remember(store, known, same, identity, file_id)?;
        return Ok(Plan::Unchanged);
    }
    let hashes = store.hashes_of_size(identity.size_bytes).map_err(Failure::from)?;
    if !hashes.is_empty() && identity.modified_ns.is_some() {
        let hash = probe.content_hash(probe.size()).map_err(Failure::from)?;
        if hashes.contains(&hash) {
            if let Some(same) = known.of_content(identity.size_bytes, &hash) {
                let same = same.clone();
                remember(store, known, same, identity, file_id)?;
            }
            return Ok(Plan::Unchanged);
        }
    }
    let from = known.grown_from(&identity.path, &probe)?.cloned();
    let kind = match &from {
        Some(from) if from.position.next_byte.is_some() => Kind::Grown,
        Some(_) => Kind::GrownAnew,
        None if known.has_path(&identity.path) => Kind::Rewritten,
        None => Kind::New,
    };
    read_from(probe, identity, kind, from).map(|reading| Plan::Read(Box::new(reading)))
}

fn read_from(
    probe: Probe,
    identity: SourceIdentity,
    kind: Kind,
    from: Option<KnownPosition>,
) -> anyhow::Result<Reading> {
    let fingerprint = probe.fingerprint(probe.size()).map_err(Failure::from)?;
    let is_text = probe.head().map_err(Failure::from)?.iter().all(|byte| !is_binary(*byte));
    let print = Some(Print { fingerprint, file_id: signed_id(&probe), is_text });
    let go_on = from.as_ref().and_then(go_on);
    let input = probe.into_input(go_on.map(|(go_on, _)| go_on)).map_err(Failure::from)?;
    let (offset, start) = match go_on {
        Some((GoOn { offset, .. }, start)) => (offset, start),
        None => (0, Start { line: 1, byte_offset: input.bom_bytes() }),
    };
    Ok(Reading { identity, input, start, kind, from, offset, print })
}

/// Where a state can be read on, as bytes and as a place in the text.
fn go_on(known: &KnownPosition) -> Option<(GoOn, Start)> {
    let position = &known.position;
    let offset = position.next_byte?.unsigned_abs();
    let mark = HashMark {
        bytes: position.hashed_bytes.unsigned_abs(),
        chain: u128::from_str_radix(&position.hash_chain, 16).ok()?,
    };
    Some((GoOn { offset, mark }, Start { line: position.next_line.unsigned_abs(), byte_offset: offset }))
}

/// Standard input, a pipe or a device: read from its beginning, never known again.
fn stream(source: &Source) -> anyhow::Result<Plan> {
    let input = source::open(source).map_err(Failure::from)?;
    let start = Start { line: 1, byte_offset: input.bom_bytes() };
    let identity = super::identity(source);
    let reading = Reading { identity, input, start, kind: Kind::New, from: None, offset: 0, print: None };
    Ok(Plan::Read(Box::new(reading)))
}

/// Remembers a state under one more path, or with another time of change.
fn remember(
    store: &Store,
    known: &mut Known,
    mut row: KnownPosition,
    identity: SourceIdentity,
    file_id: Option<(i64, i64)>,
) -> anyhow::Result<()> {
    row.position.identity = identity;
    row.position.file_id = file_id;
    store.remember(&row).map_err(Failure::from)?;
    known.remove(&row);
    known.add(row);
    Ok(())
}

fn identity_of(path: &Path, probe: &Probe) -> SourceIdentity {
    let path = super::canonical(path);
    SourceIdentity { path, size_bytes: signed(probe.size()), modified_ns: probe.modified_ns() }
}

/// Time of the last change, nanoseconds since 1970 UTC.
pub(super) fn modified_ns(metadata: &std::fs::Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// Control characters that no JSON text holds: UTF-16, protobuf and the like cannot be read from the middle on.
const fn is_binary(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')
}

fn signed_id(probe: &Probe) -> Option<(i64, i64)> {
    probe.file_id().map(|(device, inode)| (device.cast_signed(), inode.cast_signed()))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
