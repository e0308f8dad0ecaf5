//! sha256 as the store writes it: versions of tool sets, migrations and rule sets.

use std::io::{self, Read};

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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
