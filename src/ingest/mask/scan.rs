//! Finds the values in text: one pass from left to right, no look behind over more than a few bytes.
//!
//! Nothing is found in the middle of a longer word or number. Hangul may stand directly around a value.

use super::{MaskKind, Masker, TOKEN_DIGITS, personal};

/// A value found; `normal` is what equal values share however they are written.
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: MaskKind,
    pub(super) normal: String,
}

/// What employee numbers are called.
#[derive(Clone)]
pub(super) struct Words {
    /// As they stand in text, longest first.
    in_text: Vec<String>,
    /// Bytes that such a word begins with, either case.
    first: [bool; 256],
    /// As JSON keys: small letters, no separators.
    keys: Vec<String>,
}

impl Words {
    pub(super) fn builtin() -> Self {
        let lines = include_str!("employee_words.txt").lines().filter(|line| !line.starts_with('#'));
        let mut in_text: Vec<String> = lines.map(str::to_lowercase).collect();
        in_text.sort_by_key(|word| std::cmp::Reverse(word.len()));
        in_text.dedup();
        let mut first = [false; 256];
        for byte in in_text.iter().filter_map(|word| word.bytes().next()) {
            first[usize::from(byte)] = true;
            first[usize::from(byte.to_ascii_uppercase())] = true;
        }
        let keys = in_text.iter().map(|word| key(word)).collect();
        Self { in_text, first, keys }
    }

    pub(super) fn add_fields(&mut self, names: &[String]) {
        self.keys.extend(names.iter().map(|name| key(name)));
    }

    pub(super) fn is_employee_key(&self, name: &str) -> bool {
        // Most keys are longer or shorter than all of these.
        name.len() <= 64 && {
            let name = key(name);
            self.keys.contains(&name)
        }
    }
}

fn key(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase).collect()
}

/// Calls `found` with each value of the text, in order; they do not overlap.
pub(super) fn each_match(text: &str, masker: &Masker, mut found: impl FnMut(Match)) {
    let bytes = text.as_bytes();
    // Where the last value ended: an address may begin right there.
    let mut floor = 0;
    let mut at = 0;
    while at < bytes.len() {
        if let Some(end) = own_token(bytes, at) {
            (at, floor) = (end, end);
            continue;
        }
        let careful = match_at(text, at, floor, &masker.words);
        let further = |names| personal::match_at(text, at, floor, names);
        match careful.or_else(|| masker.names.as_ref().and_then(further)) {
            Some(value) => {
                (at, floor) = (value.end, value.end);
                found(value);
            }
            None => at += 1,
        }
    }
}

fn match_at(text: &str, at: usize, floor: usize, words: &Words) -> Option<Match> {
    let bytes = text.as_bytes();
    let byte = bytes[at];
    if is_local(byte)
        && (at == floor || !is_local(bytes[at - 1]))
        && let Some(address) = email(text, at)
    {
        return Some(address);
    }
    if let Some(number) = number_at(bytes, at) {
        return Some(number);
    }
    if words.first[usize::from(byte)] { employee(text, at, words) } else { None }
}

/// A registration, phone or card number that begins here.
pub(super) fn number_at(bytes: &[u8], at: usize) -> Option<Match> {
    let is_start = bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'('));
    if !is_start || !begins_number(bytes, at) {
        return None;
    }
    resident(bytes, at).or_else(|| phone(bytes, at)).or_else(|| card(bytes, at))
}

/// The end of a pseudonym of ours that begins here.
pub(super) fn own_token(bytes: &[u8], at: usize) -> Option<usize> {
    if !bytes[at].is_ascii_uppercase() {
        return None;
    }
    let goes_on = at > 0 && bytes[at - 1].is_ascii_alphanumeric() && !ends_escape(&bytes[..at]);
    if goes_on {
        return None;
    }
    let kind = MaskKind::ALL.into_iter().find(|kind| bytes[at..].starts_with(kind.prefix().as_bytes()))?;
    let start = at + kind.prefix().len();
    let digits = bytes.get(start..start + TOKEN_DIGITS)?;
    let is_ours = (b'a'..=b'f').contains(&digits[0])
        && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        && !bytes.get(start + TOKEN_DIGITS).is_some_and(u8::is_ascii_alphanumeric);
    is_ours.then_some(start + TOKEN_DIGITS)
}

// numbers

/// Whether a number that begins here is not the rest of a longer one, or of a word.
pub(super) fn begins_number(bytes: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).map(|before| &bytes[before]) else { return true };
    if before.is_ascii_alphanumeric() {
        return ends_escape(&bytes[..at]);
    }
    // `1-010…` and `0.010…` go on from the digit.
    !(matches!(before, b'-' | b'.') && at >= 2 && bytes[at - 2].is_ascii_digit())
}

/// Whether the bytes end in an escape of a JSON string, as `\n` or `\uac00`: raw text has them.
fn ends_escape(bytes: &[u8]) -> bool {
    match bytes {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', first, second, third, fourth] => {
            [first, second, third, fourth].iter().all(|digit| digit.is_ascii_hexdigit())
        }
        _ => false,
    }
}

/// Whether a number that ends here does not go on.
fn ends_number(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end) {
        None => true,
        Some(b'@') => false,
        Some(b'-' | b'.') => !bytes.get(end + 1).is_some_and(u8::is_ascii_digit),
        Some(next) => !next.is_ascii_alphanumeric(),
    }
}

/// The digits that begin here.
pub(super) fn digits(bytes: &[u8], at: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    &rest[..rest.iter().take_while(|byte| byte.is_ascii_digit()).count()]
}

fn text_of(digits: &[u8]) -> String {
    digits.iter().copied().map(char::from).collect()
}

/// Length of a dash that begins here: `-`, U+2010 to U+2015, U+2212; 0 for anything else.
pub(super) fn dash(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..).unwrap_or_default() {
        [b'-', ..] => 1,
        [0xe2, 0x80, 0x90..=0x95, ..] | [0xe2, 0x88, 0x92, ..] => 3,
        _ => 0,
    }
}

/// Six digits, a dash with a blank on either side at most, seven digits; or thirteen digits with a right check digit.
fn resident(bytes: &[u8], at: usize) -> Option<Match> {
    let first = digits(bytes, at);
    let (number, end) = match first.len() {
        13 if kind_of_digits(std::str::from_utf8(first).ok()?) == Some(MaskKind::Resident) => (first.to_vec(), at + 13),
        6 => {
            let mut next = at + 6;
            next += usize::from(bytes.get(next) == Some(&b' '));
            let dash = dash(bytes, next);
            next += dash;
            next += usize::from(bytes.get(next) == Some(&b' '));
            let second = digits(bytes, next);
            if dash == 0 || second.len() != 7 {
                return None;
            }
            ([first, second].concat(), next + 7)
        }
        _ => return None,
    };
    (is_birth_date(&number) && ends_number(bytes, end)).then(|| Match {
        start: at,
        end,
        kind: MaskKind::Resident,
        normal: text_of(&number),
    })
}

/// Whether the first seven digits are a day of the century that the seventh names.
fn is_birth_date(number: &[u8]) -> bool {
    let two = |at: usize| u32::from(number[at] - b'0') * 10 + u32::from(number[at + 1] - b'0');
    let century = match number[6] {
        b'1' | b'2' | b'5' | b'6' => 1900,
        b'3' | b'4' | b'7' | b'8' => 2000,
        _ => return false,
    };
    let year = i32::try_from(century + two(0)).unwrap_or_default();
    chrono::NaiveDate::from_ymd_opt(year, two(2), two(4)).is_some()
}

/// The check digit; numbers given out since October 2020 may have any other, so only the written form tells those.
fn has_check_digit(number: &[u8]) -> bool {
    const WEIGHTS: [u32; 12] = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];
    let sum: u32 = WEIGHTS.iter().zip(number).map(|(weight, digit)| weight * u32::from(digit - b'0')).sum();
    // Aliens' numbers are two further.
    let base = if matches!(number[6], b'5'..=b'8') { 13 } else { 11 };
    (base - sum % 11) % 10 == u32::from(number[12] - b'0')
}

/// What digits without any separator are, apart from phone numbers: those need their leading zero.
///
/// Thirteen digits from 17 or 18 on are milliseconds since 1970 (2023-11 to 2030-03), not someone born then.
pub(super) fn kind_of_digits(number: &str) -> Option<MaskKind> {
    let bytes = number.as_bytes();
    let is_resident = bytes.len() == 13
        && !matches!(bytes[..2], [b'1', b'7' | b'8'])
        && is_birth_date(bytes)
        && has_check_digit(bytes);
    if is_resident {
        Some(MaskKind::Resident)
    } else if is_card(bytes) {
        Some(MaskKind::Card)
    } else {
        None
    }
}

/// Numbers of this many digits at most are cards.
const MAX_CARD_DIGITS: usize = 19;

/// Digits at once, or groups of four to seven behind a first group of four, all apart by a blank or all by a dash.
fn card(bytes: &[u8], at: usize) -> Option<Match> {
    let first = digits(bytes, at);
    let found = |number: Vec<u8>, end: usize| {
        let is_one = is_card(&number) && ends_number(bytes, end);
        is_one.then(|| Match { start: at, end, kind: MaskKind::Card, normal: text_of(&number) })
    };
    if first.len() != 4 {
        return found(first.to_vec(), at + first.len());
    }
    let separator = *bytes.get(at + 4).filter(|byte| matches!(byte, b' ' | b'-'))?;
    let mut number = first.to_vec();
    let mut end = at + 4;
    // Further numbers may follow behind a blank: the longest card counts.
    let mut longest = None;
    while bytes.get(end) == Some(&separator) && number.len() < MAX_CARD_DIGITS {
        let group = digits(bytes, end + 1);
        if group.is_empty() || group.len() > 7 {
            break;
        }
        number.extend(group);
        end += 1 + group.len();
        longest = found(number.clone(), end).or(longest);
    }
    longest
}

/// Length and first digits of the networks, those for Korea only (94) included, and the Luhn sum.
fn is_card(number: &[u8]) -> bool {
    if !(13..=MAX_CARD_DIGITS).contains(&number.len()) {
        return false;
    }
    let first = |count: usize| number[..count].iter().fold(0_u32, |value, digit| value * 10 + u32::from(digit - b'0'));
    let length = number.len();
    let is_issued = match first(2) {
        40..=49 => matches!(length, 13 | 16 | 19),
        51..=55 => length == 16,
        22..=27 => length == 16 && (2221..=2720).contains(&first(4)),
        34 | 37 => length == 15,
        30 => length == 14 && first(3) <= 305,
        36 | 38 | 39 => length == 14,
        35 => length >= 16 && (3528..=3589).contains(&first(4)),
        60 => length >= 16 && first(4) == 6011,
        64 => length >= 16 && first(3) >= 644,
        62 | 65 => length >= 16,
        94 => length == 16,
        _ => false,
    };
    is_issued && luhn_sum(number).is_multiple_of(10)
}

fn luhn_sum(number: &[u8]) -> u32 {
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    number
        .iter()
        .rev()
        .map(|digit| u32::from(digit - b'0'))
        .enumerate()
        .map(|(place, digit)| if place % 2 == 1 { doubled(digit) } else { digit })
        .sum()
}

/// Most groups that a phone number is written in: country, zero, area, exchange, number.
const MAX_PHONE_GROUPS: usize = 5;

/// A number of Korea, from its zero or from `+82` on.
fn phone(bytes: &[u8], at: usize) -> Option<Match> {
    let is_abroad = bytes[at] == b'+';
    let start = if matches!(bytes[at], b'+' | b'(') { at + 1 } else { at };
    if bytes.get(start) != Some(if is_abroad { &b'8' } else { &b'0' }) {
        return None;
    }
    phone_from(bytes, at, start, is_abroad)
}

/// The number whose first group begins at `start`: the country when it is dialled from abroad.
pub(super) fn phone_from(bytes: &[u8], at: usize, start: usize, is_abroad: bool) -> Option<Match> {
    let mut groups: Vec<(&[u8], usize)> = Vec::new();
    let mut next = start;
    while groups.len() < MAX_PHONE_GROUPS {
        let group = digits(bytes, next);
        if group.is_empty() || group.len() > 13 {
            break;
        }
        next += group.len();
        groups.push((group, next));
        next += phone_separator(bytes, next);
    }
    // The longest beginning of the groups that is a number.
    (1..=groups.len()).rev().find_map(|count| {
        let end = groups[count - 1].1;
        let parts: Vec<&[u8]> = groups[..count].iter().map(|(group, _)| *group).collect();
        let number = if is_abroad { from_abroad(&parts)? } else { parts.iter().map(|part| part.to_vec()).collect() };
        let normal = national(&number)?;
        ends_number(bytes, end).then_some(Match { start: at, end, kind: MaskKind::Phone, normal })
    })
}

/// Length of what stands between two groups: blanks, dashes, dots and brackets, three signs at most; 0 for nothing.
fn phone_separator(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    for _ in 0..3 {
        end += match bytes.get(end) {
            Some(b' ' | b'.' | b'(' | b')') => 1,
            _ => dash(bytes, end),
        };
    }
    end - at
}

/// The groups behind `+82` as they are dialled in Korea: with one zero in front.
fn from_abroad(groups: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
    let (first, rest) = groups.split_first()?;
    let mut number: Vec<Vec<u8>> = Vec::new();
    number.extend(first.strip_prefix(b"82").filter(|group| !group.is_empty()).map(<[u8]>::to_vec));
    if number.is_empty() && *first != b"82" {
        return None;
    }
    number.extend(rest.iter().map(|group| group.to_vec()));
    if number.first().is_some_and(|group| *group == b"0") {
        number.remove(0);
    }
    let area = number.first_mut()?;
    if area[0] != b'0' {
        area.insert(0, b'0');
    }
    Some(number)
}

/// The digits when the groups are a phone number: area, exchange of three or four digits, four digits.
fn national(groups: &[Vec<u8>]) -> Option<String> {
    let number = groups.concat();
    let area = match number.as_slice() {
        [b'0', b'2', ..] => 2,
        [b'0', b'1', b'0' | b'1' | b'6'..=b'9', ..] => 3,
        [b'0', b'3', b'1'..=b'3', ..] | [b'0', b'4' | b'6', b'1'..=b'4', ..] | [b'0', b'5', b'1'..=b'5', ..] => 3,
        [b'0', b'7', b'0', ..] => 3,
        [b'0', b'5', b'0', b'0'..=b'9', ..] => 4,
        _ => return None,
    };
    let exchange = number.len().checked_sub(area + 4)?;
    let is_internet = number[1] == b'7';
    let is_long = if is_internet { exchange == 4 } else { matches!(exchange, 3 | 4) };
    let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
    let is_written_so = match lengths[..] {
        // Digits at once begin like many other numbers: an exchange on land never begins with 0 or 1.
        [_] => !is_land(&number) || number[area] >= b'2',
        [first, second] => (first == area && second == exchange + 4) || (first == area + exchange && second == 4),
        [first, second, third] => first == area && second == exchange && third == 4,
        _ => false,
    };
    (is_long && is_written_so).then(|| text_of(&number))
}

/// Whether the number belongs to a place.
fn is_land(number: &[u8]) -> bool {
    !matches!(number, [b'0', b'1' | b'7', ..] | [b'0', b'5', b'0', ..])
}

// addresses

pub(super) fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-')
}

/// The address whose local part is the run of its signs that begins here.
pub(super) fn email(text: &str, at: usize) -> Option<Match> {
    let bytes = text.as_bytes();
    let run = bytes[at..].iter().take_while(|byte| is_local(**byte)).count();
    if bytes.get(at + run) != Some(&b'@') {
        return None;
    }
    let punctuation = bytes[at..at + run].iter().take_while(|byte| !byte.is_ascii_alphanumeric()).count();
    let start = at + punctuation;
    let end = domain_end(bytes, at + run + 1)?;
    if punctuation == run || bytes.get(end) == Some(&b'@') {
        return None;
    }
    Some(Match { start, end, kind: MaskKind::Email, normal: text[start..end].to_ascii_lowercase() })
}

/// The end of the longest domain that begins here: its last label is two letters or more.
fn domain_end(bytes: &[u8], start: usize) -> Option<usize> {
    let count = |at: usize, wanted: fn(&u8) -> bool| {
        bytes.get(at..).unwrap_or_default().iter().take_while(|byte| wanted(byte)).count()
    };
    let label = |at: usize| count(at, |byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let mut end = None;
    let mut at = start + label(start);
    if at == start || bytes[start] == b'-' {
        return None;
    }
    while bytes.get(at) == Some(&b'.') && at + 1 < bytes.len() && own_token(bytes, at + 1).is_none() {
        let letters = count(at + 1, u8::is_ascii_alphabetic);
        let behind = at + 1 + letters;
        if letters >= 2 && !bytes.get(behind).is_some_and(u8::is_ascii_digit) {
            end = Some(behind);
        }
        let length = label(at + 1);
        if length == 0 {
            break;
        }
        at += 1 + length;
    }
    end
}

// employee numbers

/// The number behind a word for it; the word stays.
fn employee(text: &str, at: usize, words: &Words) -> Option<Match> {
    /// Most signs between the word and the number.
    const MAX_BETWEEN: usize = 8;
    let bytes = text.as_bytes();
    let begins_word = at == 0 || !bytes[at].is_ascii_alphabetic() || !bytes[at - 1].is_ascii_alphanumeric();
    if !begins_word {
        return None;
    }
    let word = words
        .in_text
        .iter()
        .find(|word| bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes())))?;
    let mut start = at + word.len();
    let between = bytes[start..]
        .iter()
        .take(MAX_BETWEEN)
        .take_while(|byte| matches!(byte, b' ' | b':' | b'=' | b'.' | b'#' | b'(' | b'"' | b'\'' | b'\\' | b'-'))
        .count();
    start += between;
    let letters = bytes[start..].iter().take(2).take_while(|byte| byte.is_ascii_alphabetic()).count();
    // `employee_id1234` is a name, `사번A1234` is not.
    if between == 0 && word.is_ascii() {
        return None;
    }
    let dash = usize::from(letters > 0 && bytes.get(start + letters) == Some(&b'-'));
    let number = digits(bytes, start + letters + dash);
    let end = start + letters + dash + number.len();
    ((4..=10).contains(&number.len()) && ends_number(bytes, end)).then(|| Match {
        start,
        end,
        kind: MaskKind::Employee,
        normal: employee_normal(&text[start..end]),
    })
}

/// Whether the value of an employee key is a number of one: short, one word, with a digit, and no pseudonym in it.
pub(super) fn is_employee_value(value: &str) -> bool {
    let value = value.trim();
    value.len() <= 32
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && !value.contains(char::is_whitespace)
        && (0..value.len()).all(|at| own_token(value.as_bytes(), at).is_none())
}

/// Capital letters, no dash.
pub(super) fn employee_normal(value: &str) -> String {
    value.trim().chars().filter(|c| *c != '-').flat_map(char::to_uppercase).collect()
}

// cut excerpts

/// How much of an excerpt that was cut at its end can be shown: what a value may have begun with is taken off.
pub(super) fn without_cut_value(text: &str) -> usize {
    /// Bytes of the longest value.
    const MAX_VALUE: usize = 64;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-' | '@' | '(' | ')');
    // A longer run is no value; only so much of its end could be the beginning of one.
    let mut end = text.trim_end_matches(is_part).len().max(text.len().saturating_sub(MAX_VALUE));
    // Groups of digits apart by blanks are one number.
    loop {
        let before = text[..end].trim_end_matches(' ');
        let shorter = before.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | '(' | ')' | '+'));
        if before.len() == end || shorter.len() == before.len() {
            return end;
        }
        end = shorter.len();
    }
}
