//! Python literals (`{'q': None}`) to JSON: what a framework writes that prints its arguments instead of encoding them.
//!
//! Reads dict, list, tuple, str, bytes-free numbers, True, False and None, as `ast.literal_eval` does; sets, calls and
//! names are none of these. Quotes inside texts stay what they are. Start with [`to_json`].

use super::MAX_ARGS_DEPTH;
use super::text::{is_number, write_string};

/// The JSON text of a Python dict, list or tuple; none when the text is anything else.
pub(crate) fn to_json(literal: &str) -> Option<String> {
    let mut reader = Reader { rest: literal.trim(), out: String::with_capacity(literal.len()) };
    if !reader.rest.starts_with(['{', '[', '(']) {
        return None;
    }
    reader.value(0)?;
    reader.rest.trim().is_empty().then_some(reader.out)
}

struct Reader<'t> {
    rest: &'t str,
    out: String,
}

impl<'t> Reader<'t> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, sign: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_ARGS_DEPTH {
            return None;
        }
        self.skip_space();
        match self.rest.chars().next()? {
            '{' => self.dict(depth),
            '[' => self.sequence('[', ']', depth).map(|_| ()),
            '(' => self.tuple(depth),
            '\'' | '"' | 'r' | 'R' | 'u' | 'U' => {
                let text = self.strings()?;
                write_string(&text, &mut self.out);
                Some(())
            }
            _ => self.word(),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<()> {
        self.eat('{');
        self.out.push('{');
        let mut first = true;
        while !self.eat('}') {
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            self.skip_space();
            // A JSON key is a text: a Python dict whose keys are anything else is not the arguments of a call.
            let key = self.strings()?;
            write_string(&key, &mut self.out);
            if !self.eat(':') {
                return None;
            }
            self.out.push(':');
            self.value(depth + 1)?;
            if !self.eat(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
        self.out.push('}');
        Some(())
    }

    /// One value in brackets is that value; only a comma makes it a tuple.
    fn tuple(&mut self, depth: usize) -> Option<()> {
        let start = self.out.len();
        let commas = self.sequence('(', ')', depth)?;
        if commas == 0 && self.out.len() > start + "[]".len() {
            self.out.pop();
            self.out.remove(start);
        }
        Some(())
    }

    /// Tells how many commas there were.
    fn sequence(&mut self, open: char, close: char, depth: usize) -> Option<usize> {
        self.eat(open);
        self.out.push('[');
        let mut commas = 0;
        let mut first = true;
        while !self.eat(close) {
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            self.value(depth + 1)?;
            if self.eat(',') {
                commas += 1;
            } else if !self.rest.starts_with(close) {
                return None;
            }
        }
        self.out.push(']');
        Some(commas)
    }

    /// One text, or several that stand beside one another and are one.
    fn strings(&mut self) -> Option<String> {
        let mut text = String::new();
        self.string(&mut text)?;
        loop {
            self.skip_space();
            let unprefixed = self.rest.strip_prefix(['u', 'U', 'r', 'R']).unwrap_or(self.rest);
            if !unprefixed.starts_with(['\'', '"']) {
                return Some(text);
            }
            self.string(&mut text)?;
        }
    }

    fn string(&mut self, text: &mut String) -> Option<()> {
        let unprefixed = self.rest.strip_prefix(['u', 'U']).unwrap_or(self.rest);
        let (body, raw) = match unprefixed.strip_prefix(['r', 'R']) {
            Some(body) => (body, true),
            None => (unprefixed, false),
        };
        let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| body.starts_with(quote))?;
        let mut rest = &body[quote.len()..];
        loop {
            if let Some(after) = rest.strip_prefix(quote) {
                self.rest = after;
                return Some(());
            }
            let letter = rest.chars().next()?;
            rest = &rest[letter.len_utf8()..];
            if letter == '\\' && raw {
                // It stays, and so does a quote behind it.
                text.push(letter);
                let kept = rest.chars().next()?;
                text.push(kept);
                rest = &rest[kept.len_utf8()..];
            } else if letter == '\\' {
                rest = escape(rest, text)?;
            } else {
                text.push(letter);
            }
        }
    }

    fn word(&mut self) -> Option<()> {
        let end = self.rest.find(|letter: char| ",]})".contains(letter) || letter.is_whitespace());
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match word {
            "None" => self.out.push_str("null"),
            "True" => self.out.push_str("true"),
            "False" => self.out.push_str("false"),
            // JSON has no NaN and no infinity: as texts they fit no number, which is what they are not.
            "nan" | "inf" | "-inf" => write_string(word, &mut self.out),
            number => {
                let plain = without_underscores(number)?;
                let plain = plain.strip_prefix('+').unwrap_or(&plain);
                // Python leaves out the zero on either side of the point, JSON does not.
                let filled = if plain.ends_with('.') { format!("{plain}0") } else { plain.replace(".e", ".0e") };
                let filled = match filled.strip_prefix('.') {
                    Some(rest) => format!("0.{rest}"),
                    None => filled.replacen("-.", "-0.", 1),
                };
                if !is_number(&filled) {
                    return None;
                }
                self.out.push_str(&filled);
            }
        }
        Some(())
    }
}

/// A number without the underscores that Python allows between two digits.
fn without_underscores(number: &str) -> Option<String> {
    let digit = |place: usize| number.as_bytes().get(place).is_some_and(u8::is_ascii_digit);
    let allowed = |place: usize| place > 0 && digit(place - 1) && digit(place + 1);
    number.match_indices('_').all(|(place, _)| allowed(place)).then(|| number.replace('_', ""))
}

/// Reads what follows a backslash; gives what stands behind it.
fn escape<'t>(rest: &'t str, text: &mut String) -> Option<&'t str> {
    let letter = rest.chars().next()?;
    let after = &rest[letter.len_utf8()..];
    let numbered = |digits: usize| -> Option<(char, &'t str)> {
        let code = u32::from_str_radix(after.get(..digits)?, 16).ok()?;
        Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), &after[digits..]))
    };
    let (meant, after) = match letter {
        'n' => ('\n', after),
        't' => ('\t', after),
        'r' => ('\r', after),
        'b' => ('\u{8}', after),
        'f' => ('\u{c}', after),
        'a' => ('\u{7}', after),
        'v' => ('\u{b}', after),
        '\\' | '\'' | '"' => (letter, after),
        '\n' => return Some(after),
        'x' => numbered(2)?,
        'u' => numbered(4)?,
        'U' => numbered(8)?,
        '0'..='7' => {
            let digits = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let code = u32::from_str_radix(&rest[..digits], 8).ok()?;
            (char::from_u32(code)?, &rest[digits..])
        }
        other => {
            text.push('\\');
            (other, after)
        }
    };
    text.push(meant);
    Some(after)
}
