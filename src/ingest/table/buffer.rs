//! What is held of a stream: the bytes that are not taken yet, and where they stand.

use std::io::{self, Read};

use memchr::memchr_iter;

/// How many bytes are asked for at a time.
const BLOCK_BYTES: usize = 1024 * 1024;

/// Bytes of a stream from the first that is not taken on.
pub(super) struct Buffer<R> {
    input: R,
    bytes: Vec<u8>,
    start: usize,
    /// Offset of `start` in the stream.
    offset: u64,
    /// Line of `start`, from 1.
    line: u64,
    ended: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Buffer<R> {
    pub(super) const fn new(input: R, offset: u64) -> Self {
        Self { input, bytes: Vec::new(), start: 0, offset, line: 1, ended: false, failure: None }
    }

    /// What is held.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// The first `length` bytes of it.
    pub(super) fn head(&self, length: usize) -> &[u8] {
        &self.bytes()[..length]
    }

    /// Reads up to a block more; says whether there was any.
    pub(super) fn more(&mut self) -> bool {
        if self.ended {
            return false;
        }
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let held = self.bytes.len();
        self.bytes.resize(held + BLOCK_BYTES, 0);
        let read = loop {
            match self.input.read(&mut self.bytes[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let length = read.unwrap_or_else(|error| {
            self.failure = Some(error);
            0
        });
        self.bytes.truncate(held + length);
        self.ended = length == 0;
        length > 0
    }

    /// Reads until a block is held, or the stream ends: pipes give short reads.
    pub(super) fn fill_block(&mut self) {
        while self.bytes().len() < BLOCK_BYTES && self.more() {}
    }

    /// Gives the first bytes away.
    pub(super) fn take(&mut self, length: usize) {
        self.line += memchr_iter(b'\n', self.head(length)).count() as u64;
        self.start += length;
        self.offset += length as u64;
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) const fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.ended && self.start == self.bytes.len()
    }

    /// Why the stream ended early, once.
    pub(super) const fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Gives away all up to and with the next newline, or to the end, without holding it.
    pub(super) fn pass_line(&mut self) {
        loop {
            if let Some(found) = memchr::memchr(b'\n', self.bytes()) {
                self.take(found + 1);
                return;
            }
            self.take(self.bytes().len());
            if !self.more() {
                return;
            }
        }
    }
}
