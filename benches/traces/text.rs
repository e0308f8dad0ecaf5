//! Sentences in Korean and English, escaped beforehand for each place in which they can stand.

use super::random::Random;

/// One sentence a line; `#` stands for a number, `\n` for a line break.
const SENTENCES: &str = include_str!("sentences.txt");

/// How a sentence is written where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a string of a JSON text.
    Once,
    /// The same with `\u` escapes instead of Korean letters, as Python writes them.
    OnceAscii,
    /// In a string of a JSON text that is itself a string of a JSON text: escaped twice.
    Twice,
    /// The same, the inner text with `\u` escapes.
    TwiceAscii,
}

impl Place {
    pub(crate) const fn once(ascii: bool) -> Self {
        if ascii { Self::OnceAscii } else { Self::Once }
    }

    pub(crate) const fn twice(ascii: bool) -> Self {
        if ascii { Self::TwiceAscii } else { Self::Twice }
    }
}

const PLACES: usize = 4;
/// How many sentences of each language are made of words in any order.
const MIXED: usize = 4_000;

/// What stands before and after the number, in each place.
struct Sentence([(String, String); PLACES]);

/// All sentences.
pub(crate) struct Sentences {
    korean: Vec<Sentence>,
    english: Vec<Sentence>,
}

/// A text that can be written in more than one place: sentences with their numbers.
pub(crate) struct Text {
    korean: bool,
    picks: Vec<(usize, u64)>,
}

impl Sentences {
    pub(crate) fn new() -> Self {
        let (korean, english) = SENTENCES.lines().partition::<Vec<_>, _>(|line| !line.is_ascii());
        Self { korean: pool(&korean), english: pool(&english) }
    }

    fn of(&self, korean: bool) -> &[Sentence] {
        if korean { &self.korean } else { &self.english }
    }

    /// A text of so many sentences.
    pub(crate) fn text(&self, random: &mut Random, korean: bool, sentences: u64) -> Text {
        let length = self.of(korean).len();
        Text { korean, picks: (0..sentences).map(|_| (random.index(length), random.below(100_000))).collect() }
    }

    /// Writes the text as the place asks for it, without quotes around it.
    pub(crate) fn write(&self, text: &Text, place: Place, out: &mut String) {
        for (index, number) in &text.picks {
            let (before, after) = &self.of(text.korean)[*index].0[place as usize];
            out.push_str(before);
            out.push_str(&number.to_string());
            out.push_str(after);
        }
    }
}

/// The sentences themselves, and many more of the same words in any order, lest the text repeats itself too soon.
fn pool(lines: &[&str]) -> Vec<Sentence> {
    let mut random = Random::new(lines.len() as u64);
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split(' ')).filter(|word| !word.is_empty()).collect();
    let mixed = (0..MIXED).map(|_| {
        let length = random.between(5, 14);
        (0..length).fold(String::new(), |text, _| text + words[random.index(words.len())] + " ")
    });
    let mixed: Vec<String> = mixed.collect();
    lines.iter().copied().chain(mixed.iter().map(String::as_str)).map(Sentence::new).collect()
}

impl Sentence {
    fn new(line: &str) -> Self {
        let line = line.replace("\\n", "\n");
        let (before, after) = line.split_once('#').unwrap_or((&line, ""));
        let place = |place| (escaped(before, place), escaped(after, place));
        Self([place(Place::Once), place(Place::OnceAscii), place(Place::Twice), place(Place::TwiceAscii)])
    }
}

fn escaped(text: &str, place: Place) -> String {
    let once = |text: &str, ascii| {
        let mut out = String::new();
        escape(text, ascii, &mut out);
        out
    };
    match place {
        Place::Once => once(text, false),
        Place::OnceAscii => once(text, true),
        Place::Twice => once(&once(text, false), false),
        Place::TwiceAscii => once(&once(text, true), false),
    }
}

/// Writes what stands between the quotes of a JSON string; with `ascii` other letters as `\u` escapes.
pub(crate) fn escape(text: &str, ascii: bool, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            _ if ascii && !letter.is_ascii() => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push(letter),
        }
    }
}
