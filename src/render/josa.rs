//! How a word ends when it is read aloud in Korean, and the particle that follows it.
//!
//! Owns the sound rules for Hangul, digits and the Latin words that stand in tool and key names. The
//! particles themselves are data (`templates/ko/particles.txt`). Decides nothing about sentences.

/// The last sound of a word: all that a particle depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// No final consonant.
    Vowel,
    /// The final consonant l, after which the particle of direction takes its short form.
    Rieul,
    /// Any other final consonant.
    Consonant,
    /// A script or a sign whose reading is not known: both forms are written.
    Unknown,
}

/// Words that the sound rules below would get wrong, as Korean writers commonly say them.
const EXCEPTIONS: &[(&str, Ending)] = &[
    ("app", Ending::Consonant),
    ("bit", Ending::Vowel),
    ("blob", Ending::Consonant),
    ("check", Ending::Vowel),
    ("club", Ending::Consonant),
    ("edit", Ending::Vowel),
    ("exit", Ending::Vowel),
    ("hit", Ending::Vowel),
    ("hub", Ending::Vowel),
    ("id", Ending::Vowel),
    ("job", Ending::Consonant),
    ("json", Ending::Consonant),
    ("kit", Ending::Vowel),
    ("lab", Ending::Consonant),
    ("loop", Ending::Vowel),
    ("ok", Ending::Vowel),
    ("tab", Ending::Consonant),
    ("technique", Ending::Consonant),
    ("template", Ending::Consonant),
    ("type", Ending::Consonant),
    ("web", Ending::Consonant),
    ("yaml", Ending::Rieul),
];

/// Abbreviations with a vowel that are spelled out letter by letter all the same.
const SPELLED: &[&str] =
    &["ai", "api", "aws", "ui", "uri", "url", "io", "ip", "os", "cpu", "gpu", "uuid", "ocr", "eml"];

/// How `text` ends when it is read aloud.
///
/// Quotes, brackets and other signs at the end are passed over. Of a name such as `get_budget_status`
/// or `getStatus` only the last word counts.
#[must_use]
pub fn ending(text: &str) -> Ending {
    let spoken = text.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
    match spoken.chars().next_back() {
        None => Ending::Unknown,
        // Read as a loan word that ends in a vowel.
        Some('%') => Ending::Vowel,
        Some(last) if last.is_ascii_digit() => number_ending(spoken),
        Some(last) if last.is_ascii_alphabetic() => latin_ending(last_word(spoken)),
        Some(last) => hangul_ending(last),
    }
}

/// Whether a particle stands off with a space: after a Latin name or a sign, not after Hangul or a bare number.
#[must_use]
pub fn wants_space(text: &str) -> bool {
    let token = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    match token.chars().next_back() {
        None => false,
        Some(last) if last.is_ascii_digit() => token.chars().any(|c| c.is_ascii_alphabetic()),
        Some(last) => !is_hangul_syllable(last),
    }
}

const HANGUL_FIRST: u32 = 0xAC00;
const HANGUL_LAST: u32 = 0xD7A3;

fn is_hangul_syllable(c: char) -> bool {
    (HANGUL_FIRST..=HANGUL_LAST).contains(&u32::from(c))
}

fn hangul_ending(c: char) -> Ending {
    if !is_hangul_syllable(c) {
        return Ending::Unknown;
    }
    // Unicode lays syllables out in rows of 28 finals; the first is none, the ninth is l.
    match (u32::from(c) - HANGUL_FIRST) % 28 {
        0 => Ending::Vowel,
        8 => Ending::Rieul,
        _ => Ending::Consonant,
    }
}

/// The ending of the number that `text` ends in, read as a whole: 10, 100 and 1000 have words of their own.
fn number_ending(text: &str) -> Ending {
    let start = text.rfind(|c: char| !c.is_ascii_digit() && c != ',' && c != '.').map_or(0, |at| {
        // The found character may be longer than a byte; the number starts behind it.
        at + text[at..].chars().next().map_or(1, char::len_utf8)
    });
    let number = text[start..].trim_start_matches([',', '.']);
    let (whole, fraction) = number.rsplit_once('.').map_or((number, None), |(left, right)| (left, Some(right)));
    // Digits behind a point, and numbers that start with 0, are read one by one.
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    let one_by_one = fraction.is_some() || digits.starts_with('0');
    let zeros = digits.bytes().rev().take_while(|byte| *byte == b'0').count();
    if !one_by_one && zeros > 0 {
        return match zeros {
            // The unit of 10^12 is the only one that ends in a vowel.
            12..=15 => Ending::Vowel,
            _ => Ending::Consonant,
        };
    }
    match text.bytes().next_back() {
        Some(b'1' | b'7' | b'8') => Ending::Rieul,
        Some(b'0' | b'3' | b'6') => Ending::Consonant,
        _ => Ending::Vowel,
    }
}

/// The last word of a name: behind the last sign or digit, and behind the last change from small to capital.
fn last_word(text: &str) -> &str {
    let mut start = text.len();
    let mut next: Option<char> = None;
    for (at, c) in text.char_indices().rev() {
        if !c.is_ascii_alphabetic() || (c.is_ascii_lowercase() && next.is_some_and(|next| next.is_ascii_uppercase())) {
            break;
        }
        start = at;
        next = Some(c);
    }
    &text[start..]
}

fn latin_ending(word: &str) -> Ending {
    let lower = word.to_ascii_lowercase();
    if let Some((_, ending)) = EXCEPTIONS.iter().find(|(exception, _)| *exception == lower) {
        return *ending;
    }
    let has_vowel = lower.bytes().any(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'));
    if lower.len() == 1 || !has_vowel || SPELLED.contains(&lower.as_str()) {
        return letter_ending(lower.bytes().next_back().unwrap_or(b'a'));
    }
    spoken_ending(lower.as_bytes())
}

/// The ending of a letter's name.
const fn letter_ending(letter: u8) -> Ending {
    match letter {
        b'l' | b'r' => Ending::Rieul,
        b'm' | b'n' => Ending::Consonant,
        _ => Ending::Vowel,
    }
}

const fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Loan-word practice: l, m, n and ng stay finals; p, k and t do so after a short vowel; every other
/// consonant gets a vowel of its own.
fn spoken_ending(word: &[u8]) -> Ending {
    // The reversed word: `last`, the letter before it, and so on; 0 stands for "no such letter".
    let at = |back: usize| word.len().checked_sub(back + 1).map_or(0, |index| word[index]);
    let (last, before, third) = (at(0), at(1), at(2));
    match last {
        b'l' => Ending::Rieul,
        b'm' | b'n' => Ending::Consonant,
        b'g' if before == b'n' => Ending::Consonant,
        b'e' => match before {
            b'l' => Ending::Rieul,
            b'm' | b'n' => Ending::Consonant,
            _ => Ending::Vowel,
        },
        b'p' if is_vowel(before) => Ending::Consonant,
        b'c' if is_vowel(before) => Ending::Consonant,
        b'k' if before == b'c' || (before == b'o' && third == b'o') => Ending::Consonant,
        b'k' if is_vowel(before) && !is_vowel(third) => Ending::Consonant,
        // "out" and "foot" keep the stop; other double vowels are long.
        b't' if before == b'u' && third == b'o' => Ending::Consonant,
        b't' if is_vowel(before) && !is_vowel(third) => Ending::Consonant,
        _ => Ending::Vowel,
    }
}

/// The particles of a language: read once from a data file.
#[derive(Debug, Clone)]
pub(super) struct Particles {
    rows: Vec<[&'static str; 4]>,
}

impl Particles {
    /// Reads the lines of the data file; lines of another shape are left out (a test reads them all).
    pub(super) fn parse(text: &'static str) -> Self {
        let rows = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_whitespace().collect::<Vec<_>>().try_into().ok())
            .collect();
        Self { rows }
    }

    /// The form of `particle` (given in any of its forms) that follows `word`; none when it is not in the file.
    pub(super) fn after(&self, word: &str, particle: &str) -> Option<&'static str> {
        let row = self.rows.iter().find(|row| row.contains(&particle))?;
        Some(match ending(word) {
            Ending::Consonant => row[0],
            Ending::Vowel => row[1],
            Ending::Rieul => row[2],
            Ending::Unknown => row[3],
        })
    }
}
