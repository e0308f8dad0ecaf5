//! The part of a stream that is held in memory, by offsets of the stream.
//!
//! Owns the buffer and its growth, and turns UTF-16 into UTF-8 on the way in when told to. Does not know lines or
//! records.

use std::io::{self, Read};

use super::utf16::Utf16;

/// How many bytes are asked for at a time.
pub(super) const BLOCK_BYTES: usize = 1024 * 1024;

/// What is held of a stream.
pub(super) struct Window<R> {
    input: R,
    /// The first `filled` bytes are read; the rest is room for the next block.
    buffer: Vec<u8>,
    filled: usize,
    /// Offset of the first byte in `buffer`.
    base: u64,
    ended: bool,
    failure: Option<io::Error>,
    utf16: Option<Utf16>,
}

impl<R: Read> Window<R> {
    /// Holds nothing yet.
    pub(super) const fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), filled: 0, base: 0, ended: false, failure: None, utf16: None }
    }

    /// Says that the first byte of the input stands at `offset`. To be called before anything is read.
    pub(super) const fn start_at(&mut self, offset: u64) {
        self.base = offset;
    }

    /// The input, for its counters.
    pub(super) const fn get_ref(&self) -> &R {
        &self.input
    }

    /// Offset behind the last byte that was read.
    pub(super) const fn read_end(&self) -> u64 {
        self.base + self.filled as u64
    }

    /// The bytes between two offsets; only what is held.
    pub(super) fn slice(&self, start: u64, end: u64) -> &[u8] {
        let index = |offset: u64| (offset.saturating_sub(self.base) as usize).min(self.filled);
        self.buffer.get(index(start)..index(end)).unwrap_or_default()
    }

    /// Why the stream could not be read on; told once.
    pub(super) const fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Reads until the bytes between two offsets are held, or the stream ends; what of them there is. What stands
    /// before `start` may be forgotten.
    pub(super) fn hold(&mut self, start: u64, end: u64) -> &[u8] {
        while self.read_end() < end && self.fill(start) {}
        self.slice(start, end)
    }

    /// Reads to the end without keeping anything: the rest of the input still counts for its hash and for progress.
    pub(super) fn drain(&mut self) {
        while self.fill(self.read_end()) {}
    }

    /// Takes what is held and all that follows for UTF-16, of which `bom` bytes at the start are the byte order mark.
    /// Offsets are those of the UTF-8 text from here on. To be called while everything read is held.
    pub(super) fn decode_utf16(&mut self, big_endian: bool, bom: usize) {
        let mut utf16 = Utf16::new(big_endian);
        let held = std::mem::take(&mut self.buffer);
        let text = utf16.decode(held.get(bom..self.filled).unwrap_or_default(), self.base, self.ended);
        self.filled = text.len();
        self.buffer = text;
        self.utf16 = Some(utf16);
    }

    /// How many characters before offset `end` were no valid UTF-16 and were replaced, since the last call.
    pub(super) fn take_replaced(&mut self, end: u64) -> u64 {
        self.utf16.as_mut().map_or(0, |utf16| utf16.take_replaced(end))
    }

    /// Reads one more block behind what is held from `keep` on; false at the end of the stream.
    pub(super) fn fill(&mut self, keep: u64) -> bool {
        if self.ended {
            return false;
        }
        // UTF-16 becomes up to half as long again.
        let room = if self.utf16.is_some() { BLOCK_BYTES * 2 } else { BLOCK_BYTES };
        self.make_room(keep, room);
        loop {
            match self.input.read(&mut self.buffer[self.filled..self.filled + BLOCK_BYTES]) {
                Ok(0) => break,
                Ok(length) => {
                    // A reader that claims more than it was given room for must not make this one panic.
                    self.keep_read(length.min(BLOCK_BYTES), false);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
        }
        self.ended = true;
        let before = self.filled;
        self.keep_read(0, true);
        self.filled > before
    }

    /// Counts `length` bytes behind what is held as read, decoded where that is wanted.
    fn keep_read(&mut self, length: usize, ended: bool) {
        let Some(utf16) = &mut self.utf16 else {
            self.filled += length;
            return;
        };
        let offset = self.base + self.filled as u64;
        let text = utf16.decode(&self.buffer[self.filled..self.filled + length], offset, ended);
        let end = self.filled + text.len();
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer[self.filled..end].copy_from_slice(&text);
        self.filled = end;
    }

    /// Makes room for `room` bytes.
    ///
    /// Capacity grows by half, so that a long text is moved a few times only; but only one block of it is ever touched
    /// ahead, and memory that was not touched costs nothing. So a text of 200 MB takes 201 MB.
    fn make_room(&mut self, keep: u64, room: usize) {
        if self.buffer.len() - self.filled >= room {
            return;
        }
        let dead = (keep.saturating_sub(self.base) as usize).min(self.filled);
        // Moving what is held is paid for by the bytes passed since the last move; when there are fewer of those,
        // growing is cheaper.
        if dead >= self.filled - dead {
            self.buffer.copy_within(dead..self.filled, 0);
            self.filled -= dead;
            self.base += dead as u64;
        }
        let wanted = self.filled + room;
        if self.buffer.len() < wanted {
            if self.buffer.capacity() < wanted {
                self.buffer.reserve_exact(wanted + self.filled / 2 - self.buffer.len());
            }
            self.buffer.resize(wanted, 0);
        }
    }
}
