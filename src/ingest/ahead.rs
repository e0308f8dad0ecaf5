//! Parsing beside the reading: lines that are surely whole are parsed on threads of their own and taken in order.
//!
//! Owns the threads and the order. What a line holds, and what becomes of it, is for the one who takes it. A line that
//! may go on over the following ones is never parsed here, so nothing that was read ahead need be read again.
//! Memory: a chunk for each thread, and one that is being filled.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use super::document::{DocumentError, Parsed};
use super::frame::Line;
use super::observe::Look;
use super::{Options, parse_line};

/// How lines are parsed beside the reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallel {
    /// How many threads parse; none for parsing in turn.
    pub threads: usize,
    /// How many bytes of lines a thread gets at once. An input below that needs no thread.
    pub chunk_bytes: usize,
}

impl Parallel {
    /// In turn.
    pub const NONE: Self = Self { threads: 0, chunk_bytes: 0 };

    /// Bytes of a chunk: enough lines to be worth the way there and back.
    const CHUNK_BYTES: usize = 1 << 18;
    /// More threads than this have to wait for the one that writes.
    const MAX_THREADS: usize = 4;

    /// As the machine has cores.
    #[must_use]
    pub fn of_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if cores == 1 { 0 } else { cores.min(Self::MAX_THREADS) };
        Self { threads, chunk_bytes: Self::CHUNK_BYTES }
    }
}

/// Lines, and what they hold once they are parsed.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    lines: Vec<Place>,
    parsed: Vec<Result<Parsed, DocumentError>>,
}

/// A line, and where its bytes stand in the chunk.
struct Place {
    start: usize,
    end: usize,
    number: u64,
    byte_offset: u64,
    lines: u64,
}

impl Chunk {
    fn push(&mut self, line: &Line<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line.bytes);
        let Line { number, byte_offset, lines, .. } = *line;
        self.lines.push(Place { start, end: self.bytes.len(), number, byte_offset, lines });
    }

    fn line(&self, place: &Place) -> Line<'_> {
        let Place { start, end, number, byte_offset, lines } = *place;
        Line { bytes: self.bytes.get(start..end).unwrap_or_default(), number, byte_offset, lines, complete: true }
    }

    fn parse(&mut self, options: &Options, observed: Look) {
        let parsed = self.lines.iter().map(|place| parse_line(&self.line(place), options, observed)).collect();
        self.parsed = parsed;
    }

    /// Each line with what it holds.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (Line<'_>, Result<Parsed, DocumentError>)> {
        let parsed = std::mem::take(&mut self.parsed);
        self.lines.iter().map(|place| self.line(place)).zip(parsed)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
    }
}

/// A thread that parses one chunk after the other.
struct Worker {
    todo: SyncSender<Chunk>,
    done: Receiver<Chunk>,
}

/// Hands chunks out and takes them back in the same order.
pub(super) struct Ahead<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    parallel: Parallel,
    options: &'env Options,
    observed: Look,
    workers: Vec<Worker>,
    filling: Chunk,
    spare: Vec<Chunk>,
    /// How many chunks were handed out, and how many of them taken back.
    handed_out: usize,
    taken_back: usize,
}

impl<'scope, 'env> Ahead<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        parallel: Parallel,
        options: &'env Options,
        observed: Look,
    ) -> Self {
        Self {
            scope,
            parallel,
            options,
            observed,
            workers: Vec::new(),
            filling: Chunk::default(),
            spare: Vec::new(),
            handed_out: 0,
            taken_back: 0,
        }
    }

    /// Whether lines of this length are parsed beside the reading: a copy of a huge one would cost more memory than it
    /// saves time.
    pub(super) fn takes(&self, line: &Line<'_>) -> bool {
        const MAX_CHUNKS: usize = 8;
        self.parallel.threads > 0 && line.bytes.len() <= self.parallel.chunk_bytes.saturating_mul(MAX_CHUNKS)
    }

    /// Adds a line. Gives back a parsed chunk when it is the turn of one.
    pub(super) fn push(&mut self, line: &Line<'_>) -> Option<Chunk> {
        self.filling.push(line);
        if self.filling.bytes.len() < self.parallel.chunk_bytes {
            return None;
        }
        let ready = if self.handed_out - self.taken_back == self.parallel.threads { self.take_back() } else { None };
        self.hand_out();
        ready
    }

    /// The next parsed chunk; none when everything was taken. What was not worth a thread is parsed here.
    pub(super) fn rest(&mut self) -> Option<Chunk> {
        if self.taken_back < self.handed_out {
            return self.take_back();
        }
        if self.filling.lines.is_empty() {
            return None;
        }
        let mut last = std::mem::take(&mut self.filling);
        last.parse(self.options, self.observed);
        Some(last)
    }

    /// Takes a chunk that is of no more use, for its buffers.
    pub(super) fn give_back(&mut self, mut chunk: Chunk) {
        chunk.clear();
        self.spare.push(chunk);
    }

    fn hand_out(&mut self) {
        let place = self.handed_out % self.parallel.threads;
        if place == self.workers.len() {
            self.workers.push(self.start());
        }
        let full = std::mem::replace(&mut self.filling, self.spare.pop().unwrap_or_default());
        // A thread that is gone has panicked: leaving the scope passes that on.
        if self.workers[place].todo.send(full).is_ok() {
            self.handed_out += 1;
        }
    }

    fn take_back(&mut self) -> Option<Chunk> {
        let chunk = self.workers[self.taken_back % self.parallel.threads].done.recv().ok();
        self.taken_back += 1;
        chunk
    }

    fn start(&self) -> Worker {
        let (todo, to_parse) = sync_channel::<Chunk>(1);
        let (parsed, done) = sync_channel(1);
        let (options, observed) = (self.options, self.observed);
        self.scope.spawn(move || {
            for mut chunk in to_parse {
                chunk.parse(options, observed);
                if parsed.send(chunk).is_err() {
                    break;
                }
            }
        });
        Worker { todo, done }
    }
}
