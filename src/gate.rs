//! What CI asks: the decision on exactly one configuration, and the tokens that may ask over the network.
//!
//! Tokens are random, kept only as their sha256, read-only, of one project, and expire. No words for people here.
//! [`serve`] answers over HTTP; the answer itself is [`crate::store::Store::gate`].

pub mod serve;

use subtle::{Choice, ConstantTimeEq as _};

use crate::digest::{random_hex, sha256_hex};
use crate::model::GateToken;

/// What every token begins with, so that one that got out can be found.
pub const PREFIX: &str = "ievt_";
/// Random bytes of a token.
pub const TOKEN_BYTES: usize = 32;

/// A new token.
///
/// # Errors
/// When the system gives no random bytes: its words.
pub fn new_token() -> Result<String, String> {
    Ok(format!("{PREFIX}{}", random_hex::<TOKEN_BYTES>()?))
}

/// The name of a token for people: short, and nothing of the token can be told from it.
///
/// # Errors
/// When the system gives no random bytes: its words.
pub fn new_token_id() -> Result<String, String> {
    random_hex::<4>()
}

/// The kept token that this is, when it counts at this time (nanoseconds since 1970 UTC): neither expired nor taken
/// back. Every kept hash is compared in constant time, so that no time tells how near a guess was.
#[must_use]
pub fn admitted<'t>(tokens: &'t [GateToken], token: &str, now_ns: i64) -> Option<&'t GateToken> {
    let sha256 = sha256_hex(token.as_bytes());
    let mut found = None;
    for kept in tokens {
        let same: Choice = kept.token_sha256.as_bytes().ct_eq(sha256.as_bytes());
        if bool::from(same) {
            found = Some(kept);
        }
    }
    found.filter(|kept| kept.revoked_at.is_none() && now_ns < kept.expires_ns)
}

/// A configuration hash in lower-case digits; none for a text that is no sha256.
#[must_use]
pub fn config_hash(text: &str) -> Option<String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}
