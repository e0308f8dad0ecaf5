//! Masking: personal numbers and addresses replaced by stable pseudonyms before anything is stored.
//!
//! Owns what counts as a resident registration, phone, card or employee number or an e-mail address, and what stands
//! in its place. Equal values get equal pseudonyms, so that the rules see the same calls; keys, JSON types and
//! everything else stay as they are. It holds no key of its own and knows no store. Start with [`Masker`].
//!
//! A pseudonym is `PHONE_c0ffee123456` in text and a number from 9000000000000000 on where JSON has a number: the
//! first 48 bits of sha256 over key, kind and the value without its separators. Whoever has the key can try all phone
//! numbers; without the key a pseudonym says nothing but "the same again".

mod json;
mod numbered;
mod personal;
mod scan;

use std::borrow::Cow;

pub use numbered::Numbered;
use sha2::{Digest, Sha256};

use super::Batch;
use super::args::canonical;
use crate::digest::sha256_hex;
use crate::model::issue::RAW_CHARS;
use crate::model::{CallArg, ChatCall, ChatFailure, Issue, SpanRow};

/// What is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MaskKind {
    /// Resident or alien registration number.
    Resident,
    /// Phone number of Korea.
    Phone,
    /// Payment card number.
    Card,
    /// E-mail address.
    Email,
    /// Employee number: the value of a key, or a number behind a word, of `mask/employee_words.txt`.
    Employee,
}

impl MaskKind {
    /// Every kind, in the order told.
    pub const ALL: [Self; 5] = [Self::Resident, Self::Phone, Self::Card, Self::Email, Self::Employee];

    /// The text in the column `kind` of `masked_counts`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::Email => "email",
            Self::Employee => "employee",
        }
    }

    /// What a pseudonym of this kind begins with.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Resident => "RRN_",
            Self::Phone => "PHONE_",
            Self::Card => "CARD_",
            Self::Email => "EMAIL_",
            Self::Employee => "EMP_",
        }
    }
}

/// How many values of each kind were replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaskCounts([u64; MaskKind::ALL.len()]);

impl MaskCounts {
    /// Values of this kind.
    #[must_use]
    pub const fn of(&self, kind: MaskKind) -> u64 {
        self.0[kind as usize]
    }

    /// Values of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }

    /// Kinds that were met, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (MaskKind, u64)> {
        MaskKind::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    fn count(&mut self, kind: MaskKind) {
        self.0[kind as usize] += 1;
    }
}

/// First pseudonym in place of a JSON number: 16 digits that no card begins with, and exact in a double.
const NUMBER_BASE: u64 = 9_000_000_000_000_000;
/// How many such pseudonyms there are.
const NUMBER_SPAN: u64 = 7_000_000_000_000;
/// Hex digits of a pseudonym in text; the first is a letter, so that no digits begin there.
const TOKEN_DIGITS: usize = 12;

/// Replaces personal values by pseudonyms made with one key.
#[derive(Clone)]
pub struct Masker {
    key: [u8; 32],
    words: scan::Words,
    /// Names of personal values, where all that may be one is masked.
    names: Option<personal::Names>,
}

impl Masker {
    /// A masker whose key is the sha256 of `secret`.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self { key: Sha256::digest(secret).into(), words: scan::Words::builtin(), names: None }
    }

    /// Takes the values of these JSON keys as employee numbers too.
    #[must_use]
    pub fn with_fields(mut self, names: &[String]) -> Self {
        self.words.add_fields(names);
        self
    }

    /// Tells keys apart without giving them away: 16 hex digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut digest = sha256_hex(&[self.key.as_slice(), b"fingerprint"].concat());
        digest.truncate(16);
        digest
    }

    /// `text` with every value in it replaced.
    #[must_use]
    pub fn mask_text<'t>(&self, text: &'t str) -> (Cow<'t, str>, MaskCounts) {
        let mut counts = MaskCounts::default();
        let mut out = String::new();
        let mut written = 0;
        let folded = self.names.as_ref().and_then(|_| personal::fold(text));
        let place = |at: usize| folded.as_ref().map_or(at, |folded| folded.places[at]);
        scan::each_match(folded.as_ref().map_or(text, |folded| &folded.text), self, |found| {
            counts.count(found.kind);
            out.push_str(&text[written..place(found.start)]);
            out.push_str(&self.token(found.kind, &found.normal));
            written = place(found.end);
        });
        if written == 0 {
            return (Cow::Borrowed(text), counts);
        }
        out.push_str(&text[written..]);
        (Cow::Owned(out), counts)
    }

    /// The same for a text that may be JSON: then only string and number values are looked at, numbers stay numbers,
    /// and it is JSON of the same shape afterwards. JSON inside a string is masked likewise.
    #[must_use]
    pub fn mask_value<'t>(&self, text: &'t str) -> (Cow<'t, str>, MaskCounts) {
        json::mask(self, text, 0).unwrap_or_else(|| self.mask_text(text))
    }

    /// Masks the columns that hold free text; canonical arguments are made anew from the masked ones.
    pub fn mask_row(&self, row: &mut SpanRow) -> MaskCounts {
        // Every column is named: a new one must be decided on here.
        let SpanRow {
            agent_name,
            tool_args,
            tool_args_raw,
            args_key,
            args,
            tool_result,
            error_type,
            failure,
            status_message,
            args_form: _,
            trace_id: _,
            span_id: _,
            parent_span_id: _,
            operation: _,
            tool_name: _,
            status: _,
            start_ns: _,
            end_ns: _,
            call_id: _,
            service_name: _,
            scope_name: _,
            convention: _,
            line: _,
        } = row;
        let mut counts = MaskCounts::default();
        let of_args = replace(tool_args, |text| self.mask_value(text));
        if of_args.total() > 0 {
            (*args_key, *args) = canonical_args(tool_args.as_deref());
        }
        counts.add(&of_args);
        // The same values once more, so they are not counted again.
        replace(tool_args_raw, |text| self.mask_value(text));
        replace(failure, |text| self.mask_text(text));
        counts.add(&replace(tool_result, |text| self.mask_value(text)));
        for column in [agent_name, error_type, status_message] {
            counts.add(&replace(column, |text| self.mask_text(text)));
        }
        counts
    }

    /// Masks a call that stands in messages.
    pub fn mask_chat_call(&self, call: &mut ChatCall) -> MaskCounts {
        // Every column is named: a new one must be decided on here.
        let ChatCall {
            tool_args,
            tool_args_raw,
            args_key,
            args,
            trace_id: _,
            span_id: _,
            position: _,
            time_ns: _,
            tool_name: _,
            args_form: _,
            call_id: _,
            convention: _,
            line: _,
        } = call;
        let counts = replace(tool_args, |text| self.mask_value(text));
        if counts.total() > 0 {
            (*args_key, *args) = canonical_args(tool_args.as_deref());
        }
        replace(tool_args_raw, |text| self.mask_value(text));
        counts
    }

    /// Masks what an issue shows of the input. The end of a cut excerpt goes too when a value may have been cut there.
    pub fn mask_issue(&self, issue: &mut Issue) -> MaskCounts {
        let mut counts = MaskCounts::default();
        for text in [&mut issue.detail, &mut issue.raw] {
            if text.chars().count() >= RAW_CHARS {
                text.truncate(scan::without_cut_value(text));
            }
            let (masked, found) = self.mask_text(text);
            counts.add(&found);
            if let Cow::Owned(masked) = masked {
                *text = masked;
            }
        }
        counts
    }

    /// Masks rows and issues on their way to the store.
    pub fn mask_batch(&self, batch: &mut Batch) -> MaskCounts {
        let Batch { spans, links: _, chat_calls, chat_failures, issues } = batch;
        let mut counts = MaskCounts::default();
        spans.iter_mut().for_each(|row| counts.add(&self.mask_row(row)));
        chat_calls.iter_mut().for_each(|call| counts.add(&self.mask_chat_call(call)));
        for ChatFailure { failure, trace_id: _, call_id: _ } in chat_failures {
            if let (Cow::Owned(masked), found) = self.mask_text(failure) {
                counts.add(&found);
                *failure = masked;
            }
        }
        issues.iter_mut().for_each(|issue| counts.add(&self.mask_issue(issue)));
        counts
    }

    fn hash(&self, kind: MaskKind, normal: &str) -> [u8; 32] {
        let mut hasher = Sha256::new();
        // Key and prefix have a length that the value cannot change: the parts cannot run into one another.
        hasher.update(self.key);
        hasher.update(kind.prefix());
        hasher.update(normal);
        hasher.finalize().into()
    }

    /// The pseudonym in text.
    fn token(&self, kind: MaskKind, normal: &str) -> String {
        let digest = self.hash(kind, normal);
        let mut token = String::from(kind.prefix());
        token.push(char::from(b'a' + digest[0] % 6));
        for place in 2..=TOKEN_DIGITS {
            let half = if place % 2 == 0 { digest[place / 2] >> 4 } else { digest[place / 2] & 0xf };
            token.extend(char::from_digit(u32::from(half), 16));
        }
        token
    }

    /// The pseudonym in place of a JSON number.
    fn number(&self, kind: MaskKind, digits: &str) -> String {
        let digest = self.hash(kind, digits);
        let value = digest.iter().take(8).fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
        (NUMBER_BASE + value % NUMBER_SPAN).to_string()
    }
}

fn replace(column: &mut Option<String>, mask: impl for<'t> Fn(&'t str) -> (Cow<'t, str>, MaskCounts)) -> MaskCounts {
    let Some(text) = column else { return MaskCounts::default() };
    let (masked, counts) = mask(text);
    if let Cow::Owned(masked) = masked {
        *text = masked;
    }
    counts
}

/// Whether the digits are a pseudonym that stands in place of a number.
fn is_number_pseudonym(digits: &str) -> bool {
    let value = if digits.len() == 16 { digits.parse::<u64>().ok() } else { None };
    value.is_some_and(|value| (NUMBER_BASE..NUMBER_BASE + NUMBER_SPAN).contains(&value))
}

/// Canonical arguments and their keys; none when they are no JSON.
fn canonical_args(tool_args: Option<&str>) -> (Option<String>, Vec<CallArg>) {
    match tool_args.and_then(|text| canonical(text).ok()) {
        Some(read) => (Some(read.text), read.args),
        None => (None, Vec::new()),
    }
}
