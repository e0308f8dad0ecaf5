//! What counts as a personal value in what leaves the site: more than is masked on the way into the store.
//!
//! There, a value taken for a person's by mistake changes what the rules judge. Here it costs a reader one value,
//! while a value that is missed gives a person away: so the form, the word in front of it or the key is enough, and
//! no check digit is asked for.

use super::scan::{self, Match, dash, digits, is_local, own_token};
use super::{MaskKind, Masker};

/// What personal values are called.
#[derive(Clone)]
pub(super) struct Names {
    /// Small letters, longest first.
    names: Vec<(&'static str, MaskKind)>,
    /// What may stand behind a name in text.
    endings: Vec<&'static str>,
    /// Signs, besides a blank, that may stand between a name and a value in text.
    between: &'static str,
}

/// Keys and values longer than this many bytes are neither.
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 128;

impl Names {
    pub(super) fn builtin() -> Self {
        let (mut names, mut endings, mut between) = (Vec::new(), Vec::new(), "");
        let lines = include_str!("personal_words.txt").lines().filter(|line| !line.starts_with('#'));
        for (kind, name) in lines.filter_map(|line| line.split_once(' ')) {
            match MaskKind::ALL.into_iter().find(|known| known.as_str() == kind) {
                Some(kind) => names.push((name, kind)),
                None if kind == "ending" => endings.push(name),
                None => between = name,
            }
        }
        names.sort_by_key(|(name, _): &(&str, MaskKind)| std::cmp::Reverse(name.len()));
        Self { names, endings, between }
    }

    /// What the value of this key is. `parent` is the key of the object that it stands in: `employee` → `id`.
    pub(super) fn kind_of_key(&self, parent: &str, name: &str) -> Option<MaskKind> {
        if name.len() > MAX_NAME || parent.len() > MAX_NAME {
            return None;
        }
        let own = parts(name);
        self.kind_of_parts(&own).or_else(|| self.kind_of_parts(&[parts(parent), own].concat()))
    }

    fn kind_of_parts(&self, parts: &[String]) -> Option<MaskKind> {
        let (whole, small) = (parts.concat(), |part: &String| part.trim_end_matches('s').to_owned());
        self.names.iter().find_map(|(name, kind)| {
            let is_named = if name.is_ascii() {
                // Any parts that follow one another: `target_staff_id`.
                (0..parts.len()).any(|start| {
                    (start + 1..=parts.len()).any(|end| {
                        let run = &parts[start..end];
                        run.concat() == *name || run.iter().map(small).collect::<String>() == *name
                    })
                })
            } else {
                whole.contains(name)
            };
            is_named.then_some(*kind)
        })
    }

    /// A value behind a word for it; the word stays.
    fn behind_word(&self, text: &str, at: usize) -> Option<Match> {
        /// Most signs between the word and the value.
        const MAX_BETWEEN: usize = 8;
        let bytes = text.as_bytes();
        if bytes[at].is_ascii_alphanumeric() && at > 0 && bytes[at - 1].is_ascii_alphanumeric() {
            return None;
        }
        let starts = |at: usize, word: &str| {
            bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
        };
        let (name, kind) = self.names.iter().find(|(name, _)| starts(at, name))?;
        let mut start = at + name.len();
        let ending_at = start + usize::from(matches!(bytes.get(start), Some(b' ' | b'_' | b'-' | b'.')));
        if let Some(ending) = self.endings.iter().find(|ending| starts(ending_at, ending)) {
            start = ending_at + ending.len();
        }
        let is_between = |c: &char| *c == ' ' || self.between.contains(*c);
        let between: usize = text[start..].chars().take(MAX_BETWEEN).take_while(is_between).map(char::len_utf8).sum();
        // `phone1012345678` is a name.
        if between == 0 && bytes[start - 1].is_ascii() {
            return None;
        }
        // A bracket, a sign or the first digits of what is found by its form belong to it.
        let value_at = start + between;
        let is_found_by_form = |at: usize| by_form(text, at).is_some() || scan::number_at(bytes, at).is_some();
        if (value_at.saturating_sub(1)..=value_at).any(|at| text.is_char_boundary(at) && is_found_by_form(at)) {
            return None;
        }
        let (length, normal) = value_behind(*kind, &text[value_at..])?;
        Some(Match { start: value_at, end: value_at + length, kind: *kind, normal })
    }
}

/// The parts of a key in small letters: they end at separators and before capital letters.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut goes_on = false;
    let mut was_small = false;
    for letter in fold(name).map_or_else(|| name.to_owned(), |folded| folded.text).chars() {
        if !letter.is_alphanumeric() {
            (goes_on, was_small) = (false, false);
            continue;
        }
        let begins = !goes_on || (was_small && letter.is_uppercase());
        if begins {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(letter.to_lowercase());
        }
        (goes_on, was_small) = (true, letter.is_lowercase() || letter.is_ascii_digit());
    }
    parts
}

/// A sign that stands in place of a digit in what was masked by someone before.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '*' | '#' | 'x' | 'X' | '●' | '○' | '•' | '◯' | '■')
}

/// Length and normal form of the value of a kind that this text begins with.
fn value_behind(kind: MaskKind, text: &str) -> Option<(usize, String)> {
    if kind == MaskKind::Employee {
        let letters = text.bytes().take(4).take_while(u8::is_ascii_alphabetic).count();
        let dash = usize::from(letters > 0 && text.as_bytes().get(letters) == Some(&b'-'));
        let number = digits(text.as_bytes(), letters + dash).len();
        let end = letters + dash + number;
        let goes_on = text.as_bytes().get(end).is_some_and(u8::is_ascii_alphanumeric);
        return ((3..=14).contains(&number) && !goes_on).then(|| (end, scan::employee_normal(&text[..end])));
    }
    if kind == MaskKind::Email {
        return None;
    }
    let is_part = |c: &char| c.is_ascii_digit() || is_hidden(*c) || " -.()+~".contains(*c);
    let run: usize = text.chars().take(24).take_while(is_part).map(char::len_utf8).sum();
    let value = text[..run].trim_end_matches([' ', '-', '.', '(', ')', '+', '~']);
    value_of_key(kind, value).filter(|_| signs(value) >= least_signs(kind, true)).map(|normal| (value.len(), normal))
}

/// Digits, and signs in place of digits.
fn signs(value: &str) -> usize {
    value.chars().filter(|c| c.is_ascii_digit() || is_hidden(*c)).count()
}

/// How many digits such a value has at least; the end of a phone number may be a text of its own.
fn least_signs(kind: MaskKind, is_number: bool) -> usize {
    match kind {
        MaskKind::Resident => 6,
        MaskKind::Phone if is_number => 7,
        MaskKind::Phone => 4,
        MaskKind::Card | MaskKind::Email | MaskKind::Employee => 1,
    }
}

/// What equal values share, when this is a value of a key of this kind; none for what only stands under such a key.
pub(super) fn value_of_key(kind: MaskKind, value: &str) -> Option<String> {
    let folded = fold(value).map_or_else(|| value.to_owned(), |folded| folded.text);
    let value = folded.trim();
    let is_own = (0..value.len()).any(|at| own_token(value.as_bytes(), at).is_some());
    let has_digits = value.bytes().filter(u8::is_ascii_digit).count();
    if value.len() > MAX_VALUE || is_own {
        return None;
    }
    match kind {
        MaskKind::Email => {
            let is_one = value.contains(['@', '.']) && !value.contains(char::is_whitespace);
            is_one.then(|| value.to_lowercase())
        }
        MaskKind::Employee => (has_digits > 0).then(|| scan::employee_normal(&value.replace(' ', ""))),
        MaskKind::Phone => (has_digits >= least_signs(kind, false)).then(|| dialled(value)),
        MaskKind::Resident => {
            let normal = || value.chars().filter(|c| c.is_ascii_digit() || is_hidden(*c)).collect();
            (signs(value) >= least_signs(kind, false)).then(normal)
        }
        MaskKind::Card => None,
    }
}

/// A phone number as it is dialled in Korea: digits only, with its zero.
fn dialled(value: &str) -> String {
    let number: String = value.chars().filter(char::is_ascii_digit).collect();
    let is_abroad = value.starts_with('+') || number.len() > 10;
    let home = number.strip_prefix("0082").or_else(|| number.strip_prefix("82").filter(|_| is_abroad));
    match home.unwrap_or(&number) {
        home if home.starts_with('0') || home.len() < 8 => home.to_owned(),
        home => format!("0{home}"),
    }
}

/// What a number literal of JSON is; `kind` is that of its key.
pub(super) fn number(literal: &str, kind: Option<MaskKind>) -> Option<(MaskKind, String)> {
    let whole = literal.trim_start_matches('-');
    let digits = match whole.split_once('.') {
        Some((digits, rest)) if rest.bytes().all(|byte| byte == b'0') => digits.to_owned(),
        None if whole.bytes().all(|byte| byte.is_ascii_digit()) => whole.to_owned(),
        // `1.012345678e9`.
        _ if whole.contains(['e', 'E']) => {
            let value: f64 = whole.parse().ok().filter(|value: &f64| value.fract() == 0.0 && *value < 1e15)?;
            format!("{value:.0}")
        }
        _ => return None,
    };
    let of_key = kind.filter(|kind| digits.len() >= least_signs(*kind, true));
    if let Some((kind, normal)) = of_key.and_then(|kind| Some((kind, value_of_key(kind, &digits)?))) {
        return Some((kind, normal));
    }
    let found = by_form(&digits, 0).filter(|found| found.end == digits.len())?;
    Some((found.kind, found.normal))
}

/// A value that begins here and that only this reading takes for one.
pub(super) fn match_at(text: &str, at: usize, floor: usize, names: &Names) -> Option<Match> {
    if !text.is_char_boundary(at) {
        return None;
    }
    email(text, at, floor).or_else(|| by_form(text, at)).or_else(|| names.behind_word(text, at))
}

/// A registration or phone number by its form alone.
fn by_form(text: &str, at: usize) -> Option<Match> {
    let bytes = text.as_bytes();
    let is_start = bytes.get(at).is_some_and(u8::is_ascii_digit) && scan::begins_number(bytes, at);
    if is_start { resident(text, at).or_else(|| phone(bytes, at)) } else { None }
}

/// Six digits of a day and seven more, the first of them 1 to 8: at once, or with a dash or blanks between, whatever
/// the check digit. Signs may stand in place of digits behind the day.
fn resident(text: &str, at: usize) -> Option<Match> {
    let bytes = text.as_bytes();
    let first = digits(bytes, at);
    if !matches!(first.len(), 6..=13) || !is_day(&first[..6]) {
        return None;
    }
    let mut start = at + 6;
    if first.len() == 6 {
        let blanks = |at: usize| digits_of(bytes, at, |byte| byte == b' ').min(2);
        start += blanks(start);
        start += dash(bytes, start);
        start += blanks(start);
    }
    let second: String = text[start..].chars().take_while(|c| c.is_ascii_digit() || is_hidden(*c)).take(8).collect();
    let end = start + second.len();
    let hidden = second.chars().filter(|c| is_hidden(*c)).count();
    let is_one = if hidden == 0 { second.len() == 7 } else { hidden >= 3 && second.chars().count() <= 7 };
    let is_issued = !second.starts_with(['0', '9']) && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (is_one && is_issued).then(|| Match {
        start: at,
        end,
        kind: MaskKind::Resident,
        normal: format!("{}{second}", &text[at..at + 6]),
    })
}

fn digits_of(bytes: &[u8], at: usize, wanted: fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| wanted(**byte)).count()
}

/// Whether six digits are year, month and day; the century is not asked.
fn is_day(digits: &[u8]) -> bool {
    let two = |at: usize| (digits[at] - b'0') * 10 + (digits[at + 1] - b'0');
    (1..=12).contains(&two(2)) && (1..=31).contains(&two(4))
}

/// A number of Korea as it is dialled from abroad, without the plus sign: `821012345678`, `0082 2 123 4567`.
fn phone(bytes: &[u8], at: usize) -> Option<Match> {
    let start = at + if bytes[at..].starts_with(b"0082") { 2 } else { 0 };
    if !bytes[start..].starts_with(b"82") {
        return None;
    }
    let found = scan::phone_from(bytes, at, start, true)?;
    // Digits at once are a mobile phone only: an amount may begin so too.
    let is_at_once = bytes[start..found.end].iter().all(u8::is_ascii_digit);
    (!is_at_once || found.normal.starts_with("01")).then_some(found)
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || u8::try_from(letter).is_ok_and(is_local)
}

/// An address with letters of any script. One that the careful reading finds is left to it.
fn email(text: &str, at: usize, floor: usize) -> Option<Match> {
    let begins = at == floor || !text[..at].chars().next_back().is_some_and(is_letter);
    let local = if begins { text[at..].find(|c| !is_letter(c))? } else { return None };
    let sign = at + local;
    if local == 0 || !text[sign..].starts_with('@') || !text[at..sign].contains(char::is_alphanumeric) {
        return None;
    }
    let careful = text[at..sign]
        .rfind(|c: char| !c.is_ascii())
        .map_or(0, |last| last + text[at + last..].chars().next().map_or(0, char::len_utf8));
    if scan::email(text, at + careful).is_some() {
        return None;
    }
    let domain = &text[sign + 1..];
    let length = domain.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-'))).unwrap_or(domain.len());
    let domain = domain[..length].trim_end_matches(['.', '-']);
    let (_, last) = domain.rsplit_once('.')?;
    if last.chars().count() < 2 || !last.starts_with(char::is_alphabetic) || domain.starts_with('.') {
        return None;
    }
    // `corp.kr` ends before a particle behind it.
    let ascii = last.bytes().take_while(u8::is_ascii_alphabetic).count();
    let behind = if ascii >= 2 && !last[ascii..].starts_with(|c: char| c.is_ascii()) { last.len() - ascii } else { 0 };
    let end = sign + 1 + domain.len() - behind;
    Some(Match { start: at, end, kind: MaskKind::Email, normal: text[at..end].to_lowercase() })
}

/// A text with full-width signs as ASCII ones and without signs that have no width.
pub(super) struct Folded {
    pub(super) text: String,
    /// Where each byte of the text, and its end, stood.
    pub(super) places: Vec<usize>,
}

/// None when there is nothing to fold.
pub(super) fn fold(text: &str) -> Option<Folded> {
    let folded = |letter: char| match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0),
        '\u{3000}' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' => Some(' '),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}' => None,
        other => Some(other),
    };
    if text.is_ascii() || text.chars().all(|letter| folded(letter) == Some(letter)) {
        return None;
    }
    let mut out = Folded { text: String::with_capacity(text.len()), places: Vec::with_capacity(text.len() + 1) };
    for (place, letter) in text.char_indices() {
        if let Some(letter) = folded(letter) {
            out.text.push(letter);
            out.places.resize(out.text.len(), place);
        }
    }
    out.places.push(text.len());
    Some(out)
}

impl Masker {
    /// Takes for personal whatever may be: for what leaves the site. Values of JSON become texts, also in place of
    /// numbers, and are no JSON then.
    #[must_use]
    pub(super) fn for_leaving(mut self) -> Self {
        self.names = Some(Names::builtin());
        self
    }
}
