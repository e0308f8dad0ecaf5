//! UTF-16 to UTF-8, block by block.
//!
//! Owns what a block may cut apart (a unit, a surrogate pair) and the account of what was replaced.

use std::collections::VecDeque;

/// Characters replaced in one line.
struct Replaced {
    /// Offset of the first of them in the UTF-8 text.
    offset: u64,
    count: u64,
}

/// Decodes UTF-16; an unpaired surrogate, or half a unit at the end, becomes U+FFFD.
pub(super) struct Utf16 {
    big_endian: bool,
    /// The first byte of a unit that the block before ended with.
    half: Option<u8>,
    /// The first unit of a surrogate pair that the block before ended with.
    high: Option<u16>,
    /// One entry a line, so that a file of nothing but surrogates takes no more than its lines do.
    replaced: VecDeque<Replaced>,
    /// Whether the line at hand has its entry.
    noted: bool,
}

impl Utf16 {
    pub(super) const fn new(big_endian: bool) -> Self {
        Self { big_endian, half: None, high: None, replaced: VecDeque::new(), noted: false }
    }

    /// The UTF-8 text of the next bytes, which stands at `offset`. With `ended`, what is left over is replaced.
    pub(super) fn decode(&mut self, bytes: &[u8], offset: u64, ended: bool) -> Vec<u8> {
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes;
        if let (Some(first), Some((second, after))) = (self.half, rest.split_first()) {
            self.half = None;
            self.unit([first, *second], offset, &mut text);
            rest = after;
        }
        let (units, odd) = rest.as_chunks::<2>();
        for unit in units {
            self.unit(*unit, offset, &mut text);
        }
        self.half = odd.first().copied().or(self.half);
        if ended {
            let left_over = usize::from(self.high.take().is_some()) + usize::from(self.half.take().is_some());
            (0..left_over).for_each(|_| self.replace(offset, &mut text));
        }
        text.into_bytes()
    }

    fn unit(&mut self, bytes: [u8; 2], offset: u64, text: &mut String) {
        let unit = if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
        if let Some(high) = self.high.take() {
            if let Some(Ok(letter)) = char::decode_utf16([high, unit]).next() {
                text.push(letter);
                return;
            }
            self.replace(offset, text);
        }
        match char::from_u32(u32::from(unit)) {
            Some(letter) => {
                self.noted &= letter != '\n';
                text.push(letter);
            }
            None if unit < 0xdc00 => self.high = Some(unit),
            None => self.replace(offset, text),
        }
    }

    fn replace(&mut self, offset: u64, text: &mut String) {
        match self.replaced.back_mut().filter(|_| self.noted) {
            Some(line) => line.count += 1,
            None => self.replaced.push_back(Replaced { offset: offset + text.len() as u64, count: 1 }),
        }
        self.noted = true;
        text.push(char::REPLACEMENT_CHARACTER);
    }

    /// How many were replaced in lines that begin to have such before offset `end`; forgets them.
    pub(super) fn take_replaced(&mut self, end: u64) -> u64 {
        let mut count = 0;
        while let Some(line) = self.replaced.pop_front_if(|line| line.offset < end) {
            count += line.count;
        }
        if count > 0 && self.replaced.is_empty() {
            self.noted = false;
        }
        count
    }
}
