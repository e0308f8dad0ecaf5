//! Where each value of a JSON text stands: its line and its place in the order of the document, and keys that are there
//! twice. `serde_json` tells neither.

use std::collections::BTreeMap;

/// Where the values of a document stand, by JSON Pointer.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Offset in bytes; of a key that is there twice that of the last.
    offsets: BTreeMap<String, usize>,
    /// Offsets at which lines begin.
    lines: Vec<usize>,
    /// Pointers of keys that were there before, with the offset of the repetition.
    pub(super) repeated: Vec<(String, usize)>,
}

impl Places {
    /// Reads a text that is known to be one JSON value nested no deeper than `serde_json` takes it.
    pub(super) fn of(text: &str) -> Self {
        let lines = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut reader = Reader { bytes: text.as_bytes(), at: 0, places: Self { lines, ..Self::default() } };
        reader.value(&mut String::new());
        reader.places
    }

    /// Offset of the value, or of the nearest one around it.
    pub(super) fn offset(&self, pointer: &str) -> usize {
        let mut pointer = pointer;
        loop {
            match (self.offsets.get(pointer), pointer.rfind('/')) {
                (Some(offset), _) => return *offset,
                (None, Some(slash)) => pointer = &pointer[..slash],
                (None, None) => return 0,
            }
        }
    }

    /// Line of an offset, from 1.
    pub(super) fn line(&self, offset: usize) -> u64 {
        self.lines.partition_point(|start| *start <= offset) as u64
    }
}

/// A key as it stands in a JSON Pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A key as it is, of one as it stands in a JSON Pointer.
pub(super) fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    places: Places,
}

impl Reader<'_> {
    fn peek(&mut self) -> u8 {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self, pointer: &mut String) {
        let first = self.peek();
        self.places.offsets.insert(pointer.clone(), self.at);
        let length = pointer.len();
        match first {
            b'{' => {
                self.at += 1;
                let mut keys: Vec<String> = Vec::new();
                while self.peek() == b'"' {
                    let start = self.at;
                    self.string();
                    let key: String = serde_json::from_slice(&self.bytes[start..self.at]).unwrap_or_default();
                    pointer.push('/');
                    pointer.push_str(&escaped(&key));
                    if keys.contains(&key) {
                        self.places.repeated.push((pointer.clone(), start));
                    }
                    keys.push(key);
                    self.peek();
                    self.at += 1; // the colon
                    self.value(pointer);
                    pointer.truncate(length);
                    if self.peek() == b',' {
                        self.at += 1;
                    }
                }
                self.at += 1;
            }
            b'[' => {
                self.at += 1;
                let mut index = 0;
                while !matches!(self.peek(), b']' | 0) {
                    pointer.push_str(&format!("/{index}"));
                    self.value(pointer);
                    pointer.truncate(length);
                    index += 1;
                    if self.peek() == b',' {
                        self.at += 1;
                    }
                }
                self.at += 1;
            }
            b'"' => self.string(),
            _ => {
                while !matches!(self.bytes.get(self.at), None | Some(b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t'))
                {
                    self.at += 1;
                }
            }
        }
    }

    /// Goes behind the string that begins here.
    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                b'"' => {
                    self.at += 1;
                    return;
                }
                _ => 1,
            };
        }
    }
}
