//! sha256 as the store writes it: versions of tool sets, migrations and rule sets.

use sha2::{Digest, Sha256};

/// sha256 of the bytes in 64 lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
