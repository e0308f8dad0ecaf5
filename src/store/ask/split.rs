//! Cuts a script into its statements, as DuckDB's own lexer would.
//!
//! Quotes, comments (nested ones too) and dollar quotes may hold semicolons. Knows no grammar.

/// One statement of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'t> {
    /// Its text from the first sign on, comments before it included, without the semicolon.
    pub text: &'t str,
    /// The line of the script on which the text begins, from 1.
    pub line: usize,
}

/// A piece of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// Blanks and comments.
    Nothing,
    /// A semicolon outside of everything.
    End,
    /// A word or anything else that counts.
    Other,
    /// A quote or a comment that the script does not close.
    Open,
}

/// The statements of a script in order; those of blanks and comments alone are left out.
#[must_use]
pub fn statements(script: &str) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    let (mut begin, mut at, mut counts) = (0, 0, false);
    let mut take = |begin: usize, end: usize, counts: bool| {
        let text = script[begin..end].trim_end();
        let blank = text.len() - text.trim_start().len();
        if counts {
            let line = 1 + script[..begin + blank].matches('\n').count();
            found.push(Statement { text: text.trim_start(), line });
        }
    };
    while at < script.len() {
        let (token, length) = token(&script[at..]);
        match token {
            Token::End => {
                take(begin, at, counts);
                (begin, counts) = (at + length, false);
            }
            Token::Nothing => {}
            Token::Other | Token::Open => counts = true,
        }
        at += length;
    }
    take(begin, script.len(), counts);
    found
}

/// Whether nothing more is needed: the text ends with a semicolon that stands outside of quotes and comments, or says
/// nothing at all.
#[must_use]
pub fn is_complete(script: &str) -> bool {
    let (mut at, mut complete) = (0, true);
    while at < script.len() {
        let (token, length) = token(&script[at..]);
        match token {
            Token::End => complete = true,
            Token::Nothing => {}
            Token::Other | Token::Open => complete = false,
        }
        at += length;
    }
    complete
}

/// Whether a statement answers with rows, told by its first word; others change something.
#[must_use]
pub fn has_answer(statement: &str) -> bool {
    const WORDS: [&str; 16] = [
        "(",
        "call",
        "desc",
        "describe",
        "execute",
        "explain",
        "from",
        "pivot",
        "pragma",
        "select",
        "show",
        "summarize",
        "table",
        "unpivot",
        "values",
        "with",
    ];
    first_words(statement, 1).first().is_some_and(|word| WORDS.contains(&word.as_str()))
}

/// The first words of a statement in small letters, comments left out; up to `most`.
pub(super) fn first_words(text: &str, most: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < text.len() && words.len() < most {
        let (token, length) = token(&text[at..]);
        if token != Token::Nothing {
            words.push(text[at..at + length].to_ascii_lowercase());
        }
        at += length;
    }
    words
}

/// What follows the first word that counts.
pub(super) fn after_first_word(text: &str) -> &str {
    let mut at = 0;
    while at < text.len() {
        let (token, length) = token(&text[at..]);
        at += length;
        if token != Token::Nothing {
            break;
        }
    }
    &text[at..]
}

/// The first token of a text that is not empty, and its length in bytes.
fn token(text: &str) -> (Token, usize) {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let second = chars.next();
    match first {
        ';' => (Token::End, 1),
        '\'' => quoted(text, 0, '\'', false),
        '"' => quoted(text, 0, '"', false),
        '-' if second == Some('-') => (Token::Nothing, text.find(['\n', '\r']).unwrap_or(text.len())),
        '/' if second == Some('*') => comment(text),
        '$' => dollar_quoted(text).unwrap_or((Token::Other, 1)),
        _ if begins_word(first) => {
            let length = text.find(|c: char| !continues_word(c)).unwrap_or(text.len());
            if length == 1 && first.eq_ignore_ascii_case(&'e') && text[length..].starts_with('\'') {
                quoted(text, length, '\'', true)
            } else {
                (Token::Other, length)
            }
        }
        _ if first.is_whitespace() => (Token::Nothing, first.len_utf8()),
        _ => (Token::Other, first.len_utf8()),
    }
}

fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && !c.is_whitespace())
}

fn continues_word(c: char) -> bool {
    begins_word(c) || c.is_ascii_digit() || c == '$'
}

/// A quote that opens at `open` and ends at the next `quote` that is not doubled.
fn quoted(text: &str, open: usize, quote: char, has_escapes: bool) -> (Token, usize) {
    let mut inside = text[open + 1..].char_indices().peekable();
    while let Some((at, c)) = inside.next() {
        if has_escapes && c == '\\' {
            inside.next();
        } else if c == quote {
            if inside.peek().is_some_and(|(_, next)| *next == quote) {
                inside.next();
            } else {
                return (Token::Other, open + 1 + at + 1);
            }
        }
    }
    (Token::Open, text.len())
}

fn comment(text: &str) -> (Token, usize) {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return (Token::Nothing, at);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    (Token::Open, text.len())
}

/// `$tag$ … $tag$`; none when the sign opens no quote (`$1`, `$name`).
fn dollar_quoted(text: &str) -> Option<(Token, usize)> {
    let name = text[1..].find('$')?;
    let tag = &text[..name + 2];
    let inner = &tag[1..=name];
    let is_name = inner.chars().all(|c| continues_word(c) && c != '$') && inner.chars().next().is_none_or(begins_word);
    if !is_name {
        return None;
    }
    Some(match text[tag.len()..].find(tag) {
        Some(at) => (Token::Other, tag.len() + at + tag.len()),
        None => (Token::Open, text.len()),
    })
}
