//! A hash of the bytes of a file that can go on where it stopped: for files that grow.

use twox_hash::XxHash3_128 as Hasher;

/// How many bytes are hashed as one: hashing goes on at the beginning of one, so no more than these are read again.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A place from which hashing can go on: the beginning of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HashMark {
    /// How many bytes stand before it.
    pub bytes: u64,
    /// What the chunks before it came to.
    pub chain: u128,
}

/// Hashes a file chunk by chunk, each chunk together with what came before it.
pub(super) struct ContentHasher {
    mark: HashMark,
    /// What follows the mark.
    chunk: Hasher,
    in_chunk: usize,
    /// Bytes to come that stand before the mark.
    before_mark: u64,
}

impl ContentHasher {
    pub(super) fn new() -> Self {
        Self::going_on(HashMark::default(), 0)
    }

    /// Goes on from `mark`; the first byte that will be written stands at `offset`, which is not behind the mark.
    pub(super) fn going_on(mark: HashMark, offset: u64) -> Self {
        let before_mark = mark.bytes.saturating_sub(offset);
        Self { mark, chunk: Hasher::new(), in_chunk: 0, before_mark }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        let passed = usize::try_from(self.before_mark).unwrap_or(usize::MAX).min(bytes.len());
        self.before_mark -= passed as u64;
        let mut rest = &bytes[passed..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK_BYTES - self.in_chunk));
            self.chunk.write(now);
            self.in_chunk += now.len();
            rest = later;
            if self.in_chunk == CHUNK_BYTES {
                self.mark = HashMark { bytes: self.mark.bytes + CHUNK_BYTES as u64, chain: self.link() };
                self.chunk = Hasher::new();
                self.in_chunk = 0;
            }
        }
    }

    /// Where hashing can go on later.
    pub(super) const fn mark(&self) -> HashMark {
        self.mark
    }

    /// The hash of everything up to here, in hex.
    pub(super) fn finish(&self) -> String {
        let mut whole = Hasher::new();
        whole.write(&self.link().to_le_bytes());
        whole.write(&(self.mark.bytes + self.in_chunk as u64).to_le_bytes());
        format!("{:032x}", whole.finish_128())
    }

    /// The open chunk joined to what came before it.
    fn link(&self) -> u128 {
        let mut link = Hasher::new();
        link.write(&self.mark.chain.to_le_bytes());
        link.write(&self.chunk.finish_128().to_le_bytes());
        link.finish_128()
    }
}
