//! Follows JSON text to find where a value that spans several lines ends, or that it cannot end any more.
//!
//! Builds no values and reads no bytes itself; see [`super::LineReader::extend`] for its use.

/// How deep the scanner follows. Above the depth that the parser accepts, so that a document that is too deep for the
/// parser still arrives whole and is reported once; bounded, so that a file of brackets costs no memory.
const MAX_OPEN: usize = 4096;

/// The text can no longer become a sequence of JSON values.
pub(super) struct Invalid {
    /// Offset of the first byte that cannot follow.
    pub(super) at: u64,
}

/// A bracket that is not closed yet.
pub(super) struct Open {
    /// Where it stands in the uncompressed stream.
    pub(super) offset: u64,
    object: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before or between values that are in no bracket.
    #[default]
    Top,
    /// Behind `[`: a value or `]`.
    FirstValue,
    /// Behind `:` or the comma of an array.
    Value,
    /// Behind `{`: a key or `}`.
    FirstKey,
    /// Behind the comma of an object.
    Key,
    /// Behind a key.
    Colon,
    /// Behind a value in a bracket.
    AfterValue,
    /// Inside a string; whether it is a key.
    Text { key: bool },
    /// Behind a backslash.
    Escape { key: bool },
    /// Inside `\u`, with this many hex digits to come.
    Hex { key: bool, left: u8 },
    /// Inside `true`, `false` or `null`, with this to come.
    Word(&'static [u8]),
    /// Behind the minus sign.
    Minus,
    /// Behind a leading zero.
    Zero,
    /// Inside the integer part.
    Integer,
    /// Behind the decimal point.
    Point,
    /// Inside the fraction.
    Fraction,
    /// Behind `e`.
    Exponent,
    /// Behind the sign of the exponent.
    ExponentSign,
    /// Inside the exponent.
    ExponentDigits,
}

/// Follows JSON text byte by byte, without building values and without recursion.
///
/// Accepts what can still become a sequence of JSON values. What may follow depends on the state and the innermost
/// open bracket only; [`super::LineReader::extend`] relies on it. UTF-8 and surrogates are left to the parser.
#[derive(Default)]
pub(super) struct Scanner {
    state: State,
    /// What is open, outermost first.
    pub(super) open: Vec<Open>,
    /// Offset behind the bracket that first left nothing open.
    pub(super) closed_at: Option<u64>,
}

impl Scanner {
    /// Goes on with `bytes`, the first of which stands at `offset`.
    pub(super) fn feed(&mut self, bytes: &[u8], offset: u64) -> Result<(), Invalid> {
        for (index, byte) in bytes.iter().enumerate() {
            let at = offset + index as u64;
            self.state = self.step(*byte, at).ok_or(Invalid { at })?;
        }
        Ok(())
    }

    fn step(&mut self, byte: u8, at: u64) -> Option<State> {
        match (self.state, byte) {
            (State::Text { key: false }, b'"') => Some(self.after_value()),
            (State::Text { key: true }, b'"') => Some(State::Colon),
            (State::Text { key }, b'\\') => Some(State::Escape { key }),
            (State::Text { .. }, 0..0x20) => None,
            (State::Text { .. }, _) => Some(self.state),
            (State::Escape { key }, b'u') => Some(State::Hex { key, left: 4 }),
            (State::Escape { key }, _) => b"\"\\/bfnrt".contains(&byte).then_some(State::Text { key }),
            (State::Hex { key, left: 1 }, _) => byte.is_ascii_hexdigit().then_some(State::Text { key }),
            (State::Hex { key, left }, _) => byte.is_ascii_hexdigit().then_some(State::Hex { key, left: left - 1 }),
            (State::Word([last]), _) => (byte == *last).then(|| self.after_value()),
            (State::Word(word), _) => word.strip_prefix(&[byte]).map(State::Word),
            (State::Minus | State::Integer, b'1'..=b'9') | (State::Integer, b'0') => Some(State::Integer),
            (State::Minus, b'0') => Some(State::Zero),
            (State::Zero | State::Integer, b'.') => Some(State::Point),
            (State::Point | State::Fraction, b'0'..=b'9') => Some(State::Fraction),
            (State::Zero | State::Integer | State::Fraction, b'e' | b'E') => Some(State::Exponent),
            (State::Exponent, b'+' | b'-') => Some(State::ExponentSign),
            (State::Exponent | State::ExponentSign | State::ExponentDigits, b'0'..=b'9') => Some(State::ExponentDigits),
            (State::Minus | State::Point | State::Exponent | State::ExponentSign, _) => None,
            (State::Zero | State::Integer | State::Fraction | State::ExponentDigits, _) => {
                // Only what follows a number tells that it ended; that byte then counts as what follows a value.
                self.between(self.after_value(), byte, at)
            }
            (state, _) => self.between(state, byte, at),
        }
    }

    /// A byte that stands outside strings, words and numbers.
    fn between(&mut self, state: State, byte: u8, at: u64) -> Option<State> {
        match (state, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => Some(state),
            (State::FirstKey | State::Key, b'"') => Some(State::Text { key: true }),
            (State::Colon, b':') => Some(State::Value),
            (State::AfterValue, b',') => {
                Some(if self.open.last().is_some_and(|open| open.object) { State::Key } else { State::Value })
            }
            (State::AfterValue | State::FirstKey | State::FirstValue, b'}' | b']') => self.close(byte == b'}', at),
            (State::Top | State::Value | State::FirstValue, _) => self.begin(byte, at),
            _ => None,
        }
    }

    fn begin(&mut self, byte: u8, at: u64) -> Option<State> {
        match byte {
            b'{' | b'[' => {
                let object = byte == b'{';
                self.open.push(Open { offset: at, object });
                let state = if object { State::FirstKey } else { State::FirstValue };
                (self.open.len() <= MAX_OPEN).then_some(state)
            }
            b'"' => Some(State::Text { key: false }),
            b't' => Some(State::Word(b"rue")),
            b'f' => Some(State::Word(b"alse")),
            b'n' => Some(State::Word(b"ull")),
            b'-' => Some(State::Minus),
            b'0' => Some(State::Zero),
            b'1'..=b'9' => Some(State::Integer),
            _ => None,
        }
    }

    fn close(&mut self, object: bool, at: u64) -> Option<State> {
        if self.open.last()?.object != object {
            return None;
        }
        self.open.pop();
        if self.open.is_empty() {
            self.closed_at.get_or_insert(at + 1);
        }
        Some(self.after_value())
    }

    fn after_value(&self) -> State {
        if self.open.is_empty() { State::Top } else { State::AfterValue }
    }
}
