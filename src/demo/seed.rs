//! Choices that a seed makes: the same seed and the same words choose the same.

use twox_hash::XxHash3_64;

/// A number that follows from the seed and the words alone.
pub(super) fn draw(seed: u64, words: &[&str]) -> u64 {
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend_from_slice(&(word.len() as u64).to_le_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    XxHash3_64::oneshot_with_seed(seed, &bytes)
}

/// A number below `end`, which must not be 0.
pub(super) fn below(end: u64, seed: u64, words: &[&str]) -> u64 {
    draw(seed, words) % end.max(1)
}

/// Whether it happens that happens in so many of a hundred cases.
pub(super) fn chance(percent: u8, seed: u64, words: &[&str]) -> bool {
    below(100, seed, words) < u64::from(percent)
}
