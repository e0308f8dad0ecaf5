//! sha256 as the store writes it: versions of tool sets, migrations and rule sets; and random texts in the same digits.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

/// sha256 of the bytes in 64 lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The same for all that can be read, in pieces: a file need not fit into memory.
///
/// # Errors
/// Those of reading.
pub fn sha256_hex_of(mut input: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// So many random bytes in lower-case hex digits, two a byte.
///
/// # Errors
/// When the system gives no random bytes: its words.
pub fn random_hex<const BYTES: usize>() -> Result<String, String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes that are hashed as they are read.
pub struct HashedReader<R> {
    input: R,
    hasher: Arc<Mutex<Sha256>>,
}

/// What the bytes came to that were read so far.
pub struct ReadHash(Arc<Mutex<Sha256>>);

impl<R> HashedReader<R> {
    /// Reads from `input`; the second value tells the hash.
    pub fn new(input: R) -> (Self, ReadHash) {
        let hasher = Arc::new(Mutex::new(Sha256::new()));
        (Self { input, hasher: Arc::clone(&hasher) }, ReadHash(hasher))
    }
}

impl<R: Read> Read for HashedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        if let Ok(mut hasher) = self.hasher.lock() {
            hasher.update(&buffer[..length]);
        }
        Ok(length)
    }
}

impl ReadHash {
    /// sha256 of what was read, in 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.lock().map(|hasher| hex(&hasher.clone().finalize())).unwrap_or_default()
    }
}

/// The hash of texts one after the other, absent ones told from empty ones.
#[derive(Default)]
pub struct TextsHash(Sha256);

impl TextsHash {
    /// Adds one.
    pub fn add(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.0.update((text.len() as u64).to_le_bytes());
            self.0.update(text);
        } else {
            self.0.update(u64::MAX.to_le_bytes());
        }
    }

    /// sha256 of all, in 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.0.clone().finalize())
    }
}
