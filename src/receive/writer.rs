//! The one thread that owns the store: takes what waits, commits it together, answers.
//!
//! While a commit runs further requests come in; they are the next group. So the busier the receiver, the larger the
//! groups, and no timer is needed. A group is one source of the store, each request one line of it.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::answer::{Answer, Refusal};
use super::queue::Job;
use super::{Counts, Event, add, decode};
use crate::ingest::body::{BodyReader, BodyReport};
use crate::ingest::mask::{MaskCounts, Masker};
use crate::ingest::{Options, Report};
use crate::model::Issue;
use crate::render::Texts;
use crate::render::issues::reason;
use crate::store::{SourceIdentity, SourceTotals, SourceWriter, Store, StoreError};

/// The name under which what was received stands among the sources of a store.
const SOURCE: &str = "otlp-http";
/// A group is closed when its requests came to so many bytes of JSON: it bounds memory and the wait for the answer.
const GROUP_BYTES: usize = 64 << 20;
/// Requests of a group at most.
const GROUP_REQUESTS: usize = 1_024;
/// Rows are handed to the store when those that wait came from so many bytes.
const FLUSH_BYTES: usize = 8 << 20;

/// Everything that writing needs; see [`super::Setup`].
pub(super) struct Writer {
    pub(super) body_bytes: usize,
    pub(super) options: Options,
    pub(super) masker: Option<Masker>,
    pub(super) texts: Arc<Texts>,
    pub(super) open: Box<dyn FnMut() -> Result<Store, StoreError> + Send>,
    pub(super) now: Box<dyn Fn() -> String + Send>,
    pub(super) tell: Box<dyn FnMut(Event) + Send>,
    pub(super) told_issues: usize,
    pub(super) counts: Arc<Counts>,
}

/// An open store, with the run of ingest that the requests belong to.
struct Opened {
    store: Store,
    batch_id: Option<i64>,
}

/// A request that was read and waits for the commit.
struct Waiting {
    reply: oneshot::Sender<Answer>,
    read: BodyReport,
}

/// How the next groups are made.
#[derive(Default)]
struct Health {
    /// The store failed last time.
    failed: bool,
    /// So many groups hold one request only: after a failure, so that a request that the store cannot take keeps no
    /// other one back when they all come again.
    singly: usize,
}

impl Writer {
    /// Writes until nobody can send any more and nothing waits; then closes the store.
    ///
    /// When a group fails its replies are dropped, which their handlers take as the store's failure.
    pub(super) fn run(mut self, store: Store, mut jobs: mpsc::Receiver<Job>) {
        let mut opened = Some(Opened { store, batch_id: None });
        let mut health = Health::default();
        while let Some(first) = jobs.blocking_recv() {
            let now = (self.now)();
            let mut waiting = Vec::new();
            let most = if health.singly > 0 { 1 } else { GROUP_REQUESTS };
            health.singly = health.singly.saturating_sub(1);
            let written = self
                .reopened(&mut opened, &now)
                .and_then(|(store, batch_id)| self.write(store, batch_id, first, &mut jobs, most, &mut waiting));
            match written {
                Ok(committed) => self.accept(waiting, committed, &mut health),
                Err(error) => {
                    // A failed commit may have left the database unusable until it is opened again.
                    opened = None;
                    health.singly = health.singly.max(waiting.len().saturating_mul(2));
                    if !std::mem::replace(&mut health.failed, true) {
                        (self.tell)(Event::StoreFailed(error));
                    }
                }
            }
        }
    }

    /// The store, opened again after a failure, and the run of ingest.
    fn reopened<'o>(&mut self, opened: &'o mut Option<Opened>, now: &str) -> Result<(&'o Store, i64), StoreError> {
        let opened = match opened {
            Some(opened) => opened,
            none => none.insert(Opened { store: (self.open)()?, batch_id: None }),
        };
        let batch_id = match opened.batch_id {
            Some(batch_id) => batch_id,
            None => *opened.batch_id.insert(opened.store.begin_batch(now)?),
        };
        Ok((&opened.store, batch_id))
    }

    /// Reads and commits a group: `first` and what else waits. A request that cannot be read is answered at once,
    /// the others are put into `waiting`. None when there was nothing to write.
    fn write(
        &self,
        store: &Store,
        batch_id: i64,
        first: Job,
        jobs: &mut mpsc::Receiver<Job>,
        most: usize,
        waiting: &mut Vec<Waiting>,
    ) -> Result<Option<Committed>, StoreError> {
        let mut group = Group::new(self, store, batch_id);
        let (mut taken, mut bytes) = (0, 0);
        let mut next = Some(first);
        while let Some(job) = next {
            taken += 1;
            if let Some((request, length)) = self.read(&mut group.reader, taken as u64, job) {
                group.add(&request.read.report);
                waiting.push(request);
                bytes += length;
                group.unflushed += length;
                if group.reader.is_full() || group.unflushed >= FLUSH_BYTES {
                    group.flush()?;
                }
            }
            next = if taken < most && bytes < GROUP_BYTES { jobs.try_recv().ok() } else { None };
        }
        group.finish()
    }

    /// Reads one request into rows, with the length of its text; none when it was refused.
    fn read(&self, reader: &mut BodyReader<'_>, number: u64, job: Job) -> Option<(Waiting, usize)> {
        let Job { body, coding, form, reply } = job;
        let read = decode::text(body.bytes(), coding, form, self.body_bytes).and_then(|text| {
            let read = reader.read(number, &text);
            let read = read.map_err(|error| Refusal::NotTraces(reason(&self.texts, error.code, &error.detail)))?;
            Ok((read, text.len()))
        });
        match read {
            Ok((read, length)) => Some((Waiting { reply, read }, length)),
            Err(refusal) => {
                // The sender may have gone.
                reply.send(Answer::Refused(refusal)).ok();
                None
            }
        }
    }

    /// Counts what was committed and lets the answers go.
    fn accept(&mut self, waiting: Vec<Waiting>, committed: Option<Committed>, health: &mut Health) {
        let counts = &self.counts;
        add(&counts.requests, waiting.len() as u64);
        for Waiting { reply, read } in waiting {
            reply.send(Answer::Accepted { rejected: read.report.skipped, lost: read.lost }).ok();
        }
        let Some(Committed { totals, issues, told }) = committed else { return };
        add(&counts.commits, 1);
        add(&counts.kept, totals.spans_kept);
        add(&counts.dropped, totals.dropped.values().sum());
        add(&counts.redelivered, totals.spans_redelivered);
        add(&counts.skipped, totals.spans_skipped);
        add(&counts.issues, issues);
        if std::mem::take(&mut health.failed) {
            (self.tell)(Event::StoreBack);
        }
        let totals = self.counts.totals();
        (self.tell)(Event::Committed { totals, issues: told });
    }
}

/// What a commit came to.
struct Committed {
    totals: SourceTotals,
    /// Number of issues.
    issues: u64,
    /// The first of them.
    told: Vec<Issue>,
}

/// The requests of one commit. Dropped before [`Group::finish`], it leaves no trace.
struct Group<'a> {
    writer: &'a Writer,
    store: &'a Store,
    batch_id: i64,
    reader: BodyReader<'a>,
    /// Begun with the first rows: a group without any leaves no source.
    source: Option<SourceWriter<'a>>,
    masked: MaskCounts,
    unflushed: usize,
    committed: Committed,
}

impl<'a> Group<'a> {
    fn new(writer: &'a Writer, store: &'a Store, batch_id: i64) -> Self {
        let committed = Committed { totals: SourceTotals::default(), issues: 0, told: Vec::new() };
        let reader = BodyReader::new(&writer.options);
        Self { writer, store, batch_id, reader, source: None, masked: MaskCounts::default(), unflushed: 0, committed }
    }

    fn add(&mut self, report: &Report) {
        let totals = &mut self.committed.totals;
        totals.lines += report.lines;
        totals.lines_skipped += report.lines_skipped;
        totals.spans_seen += report.seen;
        totals.spans_kept += report.kept;
        totals.spans_redelivered += report.redelivered;
        totals.spans_skipped += report.skipped;
        for (operation, spans) in &report.dropped {
            *totals.dropped.entry(operation.clone()).or_default() += spans;
        }
    }

    fn note(&mut self, issues: &[Issue]) {
        self.committed.issues += issues.len() as u64;
        let room = self.writer.told_issues.saturating_sub(self.committed.told.len());
        self.committed.told.extend(issues.iter().take(room).cloned());
    }

    /// Hands the rows that wait to the store.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.unflushed = 0;
        let mut rows = self.reader.take_rows();
        if let Some(masker) = &self.writer.masker {
            self.masked.add(&masker.mask_batch(&mut rows));
        }
        if rows.spans.is_empty() && rows.links.is_empty() && rows.issues.is_empty() {
            return Ok(());
        }
        self.note(&rows.issues);
        let source = match &mut self.source {
            Some(source) => source,
            none => {
                let identity = SourceIdentity { path: SOURCE.to_owned(), size_bytes: 0, modified_ns: None };
                none.insert(self.store.begin_source(self.batch_id, identity)?)
            }
        };
        let texts = &self.writer.texts;
        source.append(&rows.spans, &rows.links, &rows.issues, &|code, detail| reason(texts, code, detail))?;
        source.append_messages(&rows.chat_calls, &rows.chat_failures)
    }

    /// Commits. None when no request held anything.
    fn finish(mut self) -> Result<Option<Committed>, StoreError> {
        self.flush()?;
        let Some(source) = self.source.take() else { return Ok(None) };
        source.record_masked(self.masked.iter().map(|(kind, count)| (kind.as_str(), count)))?;
        let texts = &self.writer.texts;
        let (totals, found) =
            source.finish(std::mem::take(&mut self.committed.totals), &|code, detail| reason(texts, code, detail))?;
        self.note(&found);
        self.committed.totals = totals;
        Ok(Some(self.committed))
    }
}
