//! The uncompressed bytes of one input: opening, and the decoding of gzip and zstd.
//!
//! Compression is recognised by magic bytes only, never by a file's name.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

use super::hash::{ContentHasher, HashMark};
use super::probe::GoOn;
use super::{STDIN_NAME, Source, SourceError, is_absent};

/// How many bytes one read asks the system for.
const BLOCK_BYTES: usize = 1024 * 1024;

/// The most that one zstd block decodes to (RFC 8878, 3.1.1.2.4).
const ZSTD_BLOCK_BYTES: usize = 128 * 1024;

/// How many bytes of a zstd frame tell its kind; what the decoder asks for first.
const ZSTD_START_BYTES: usize = 5;

/// Capacity of the decoded block: a whole zstd block fits as long as less than `BLOCK_BYTES` is filled.
const DECODED_BYTES: usize = BLOCK_BYTES + ZSTD_BLOCK_BYTES;

/// The longest magic number that is looked at.
const MAGIC_BYTES: usize = 4;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Last three bytes of a skippable zstd frame's magic number; the first is 0x50 to 0x5f.
const ZSTD_SKIPPABLE_MAGIC_TAIL: &[u8] = &[0x2a, 0x4d, 0x18];
const UTF8_BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or several.
    Gzip,
    /// zstd, one frame or several, skippable frames included.
    Zstd,
}

impl Compression {
    fn of(head: &[u8]) -> Self {
        if head.starts_with(GZIP_MAGIC) {
            Self::Gzip
        } else if head.starts_with(ZSTD_MAGIC)
            || (head.first().is_some_and(|first| first & 0xf0 == 0x50)
                && head.get(1..).is_some_and(|tail| tail.starts_with(ZSTD_SKIPPABLE_MAGIC_TAIL)))
        {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// Counts and hashes what was read from the system: for the progress bar, and to know the file again.
struct Counted {
    reader: Box<dyn Read + Send>,
    bytes: u64,
    hasher: ContentHasher,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.bytes += length as u64;
        self.hasher.write(&buffer[..length]);
        Ok(length)
    }
}

/// The bytes as they are stored; the head that was looked at stands in front again, so that nothing need be
/// able to seek.
type Stored = BufReader<Chain<Cursor<Vec<u8>>, Counted>>;

enum Decoder {
    Plain,
    Gzip {
        inflate: Box<Decompress>,
        /// Whether a member has begun and not ended.
        inside: bool,
    },
    Zstd {
        decoder: zstd::stream::raw::Decoder<'static>,
        /// How many bytes the decoder wants next.
        wanted: usize,
        /// Whether a frame has begun and not ended.
        inside: bool,
    },
}

/// The uncompressed bytes of one source, without a byte order mark at the start.
///
/// Everything that could be decoded before a damaged place is delivered before the error is; this is why the
/// streaming decoders of flate2 and zstd are not used: they drop what the failing call had decoded.
/// After an error the input is at its end.
pub struct Input {
    stored: Stored,
    decoder: Decoder,
    compression: Compression,
    size: Option<u64>,
    bom_bytes: u64,
    /// The decoded block; unused when nothing is compressed.
    decoded: Vec<u8>,
    taken: usize,
    filled: usize,
    /// Reported once, after the last decoded byte was taken.
    failure: Option<io::Error>,
    ended: bool,
}

/// Opens a source and looks at its first bytes.
///
/// # Errors
/// `NotFound` and `NotReadable`. Damage inside a compressed stream is no error here: reading reports it.
pub fn open(source: &Source) -> Result<Input, SourceError> {
    match source {
        Source::Stdin => Input::new(Box::new(io::stdin()), None)
            .map_err(|source| SourceError::NotReadable { path: PathBuf::from(STDIN_NAME), source }),
        Source::File(path) => {
            let failed = |source: io::Error| match is_absent(&source) {
                true => SourceError::NotFound { path: path.clone() },
                false => SourceError::NotReadable { path: path.clone(), source },
            };
            let file = File::open(path).map_err(failed)?;
            let size = file.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
            Input::new(Box::new(file), size).map_err(failed)
        }
    }
}

impl Input {
    /// Reads from anything; `size` is the number of stored bytes, when it is known.
    ///
    /// # Errors
    /// When the first bytes cannot be read.
    pub fn new(reader: Box<dyn Read + Send>, size: Option<u64>) -> io::Result<Self> {
        let mut counted = Counted { reader, bytes: 0, hasher: ContentHasher::new() };
        let mut head = Vec::with_capacity(MAGIC_BYTES);
        // `read_to_end` of a `take` goes on after the short reads that pipes give.
        counted.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut head)?;
        let compression = Compression::of(&head);
        let decoder = match compression {
            Compression::None => Decoder::Plain,
            Compression::Gzip => Decoder::Gzip { inflate: Box::new(Decompress::new_gzip(15)), inside: false },
            Compression::Zstd => {
                Decoder::Zstd { decoder: zstd::stream::raw::Decoder::new()?, wanted: ZSTD_START_BYTES, inside: false }
            }
        };
        let stored = BufReader::with_capacity(BLOCK_BYTES, Cursor::new(head).chain(counted));
        let decoded = if compression == Compression::None { Vec::new() } else { vec![0; DECODED_BYTES] };
        let mut input = Self {
            stored,
            decoder,
            compression,
            size,
            bom_bytes: 0,
            decoded,
            taken: 0,
            filled: 0,
            failure: None,
            ended: false,
        };
        input.remove_bom()?;
        Ok(input)
    }

    /// Goes on in the middle of an uncompressed file that ends, or is taken to end, at `size`.
    ///
    /// # Errors
    /// When it cannot be read up to there.
    pub(super) fn going_on(mut file: File, size: u64, go_on: GoOn) -> io::Result<Self> {
        let GoOn { offset, mark } = go_on;
        let from = offset.min(mark.bytes);
        file.seek(SeekFrom::Start(from))?;
        let reader = Box::new(file.take(size.saturating_sub(from)));
        let mut counted = Counted { reader, bytes: from, hasher: ContentHasher::going_on(mark, from) };
        // What was delivered before belongs to the hash all the same.
        io::copy(&mut counted.by_ref().take(offset - from), &mut io::sink())?;
        Ok(Self {
            stored: BufReader::with_capacity(BLOCK_BYTES, Cursor::new(Vec::new()).chain(counted)),
            decoder: Decoder::Plain,
            compression: Compression::None,
            size: Some(size),
            bom_bytes: 0,
            decoded: Vec::new(),
            taken: 0,
            filled: 0,
            failure: None,
            ended: false,
        })
    }

    fn remove_bom(&mut self) -> io::Result<()> {
        // The first block holds either the head or, decoded, three bytes unless the whole stream is shorter.
        let readable = self.compression == Compression::None || self.decode_block();
        if readable && self.fill_buf()?.starts_with(UTF8_BOM) {
            self.consume(UTF8_BOM.len());
            self.bom_bytes = UTF8_BOM.len() as u64;
        }
        Ok(())
    }

    /// How the source is compressed.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        self.compression
    }

    /// How many stored (compressed) bytes were read from the source; runs ahead of what was decoded by a block.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.stored.get_ref().get_ref().1.bytes
    }

    /// A hash of the stored bytes up to here, in hex (xxh3 of 128 bits in chunks): of the whole file once it is read to
    /// its end.
    #[must_use]
    pub fn content_hash(&self) -> String {
        self.stored.get_ref().get_ref().1.hasher.finish()
    }

    /// Where the content hash can go on when the file has grown.
    #[must_use]
    pub fn hash_mark(&self) -> HashMark {
        self.stored.get_ref().get_ref().1.hasher.mark()
    }

    /// Size of the file in stored bytes; none for a pipe.
    #[must_use]
    pub const fn size(&self) -> Option<u64> {
        self.size
    }

    /// How many bytes of a byte order mark were removed at the start (3 or 0): the uncompressed offset of the first
    /// byte that reading delivers.
    #[must_use]
    pub const fn bom_bytes(&self) -> u64 {
        self.bom_bytes
    }

    /// Decodes the next block into the empty `decoded`; says whether there is anything in it.
    fn decode_block(&mut self) -> bool {
        self.taken = 0;
        self.filled = 0;
        while !self.ended && self.filled < BLOCK_BYTES {
            let spare = &mut self.decoded[self.filled..];
            let (written, outcome) = match &mut self.decoder {
                Decoder::Plain => (0, Ok(false)),
                Decoder::Gzip { inflate, inside } => inflate_step(&mut self.stored, inflate, inside, spare),
                Decoder::Zstd { decoder, wanted, inside } => {
                    zstd_step(&mut self.stored, decoder, wanted, inside, spare)
                }
            };
            self.filled += written;
            match outcome {
                Ok(more) => self.ended = !more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    self.ended = true;
                }
            }
        }
        self.filled > 0
    }
}

/// Decodes once; returns how much was written, also before an error, and whether to go on.
fn inflate_step(
    stored: &mut Stored,
    inflate: &mut Decompress,
    inside: &mut bool,
    spare: &mut [u8],
) -> (usize, io::Result<bool>) {
    let bytes = match stored.fill_buf() {
        Ok(bytes) => bytes,
        Err(error) => return (0, Err(error)),
    };
    if bytes.is_empty() {
        let early = || io::Error::new(io::ErrorKind::UnexpectedEof, "the gzip stream ends early");
        return (0, if *inside { Err(early()) } else { Ok(false) });
    }
    if !*inside {
        // Archives on block devices pad the last member with zeros; gzip passes over them as well.
        let padding = bytes.iter().take_while(|byte| **byte == 0).count();
        if padding > 0 {
            stored.consume(padding);
            return (0, Ok(true));
        }
        *inflate = Decompress::new_gzip(15);
        *inside = true;
    }
    let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
    let outcome = inflate.decompress(bytes, spare, FlushDecompress::None);
    // Both are at most the length of a block.
    let read = (inflate.total_in() - in_before) as usize;
    let written = (inflate.total_out() - out_before) as usize;
    stored.consume(read);
    let outcome = match outcome {
        Ok(Status::StreamEnd) => {
            *inside = false;
            Ok(true)
        }
        Ok(_) if read == 0 && written == 0 => Err(io::Error::other("the gzip stream makes no progress")),
        Ok(_) => Ok(true),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    };
    (written, outcome)
}

/// Decodes at most one zstd block; returns how much was written and whether to go on.
///
/// The decoder gets no more than it asks for. With more it would go on to the next block in the same call, and
/// when that one is damaged it would not say how much of the output is good.
fn zstd_step(
    stored: &mut Stored,
    decoder: &mut zstd::stream::raw::Decoder<'static>,
    wanted: &mut usize,
    inside: &mut bool,
    spare: &mut [u8],
) -> (usize, io::Result<bool>) {
    let bytes = match stored.fill_buf() {
        Ok(bytes) => bytes,
        Err(error) => return (0, Err(error)),
    };
    if bytes.is_empty() {
        let early = || io::Error::new(io::ErrorKind::UnexpectedEof, "the zstd stream ends early");
        return (0, if *inside { Err(early()) } else { Ok(false) });
    }
    if !*inside {
        if let Err(error) = decoder.reinit() {
            return (0, Err(error));
        }
        *wanted = ZSTD_START_BYTES;
        *inside = true;
    }
    let mut from = InBuffer::around(&bytes[..bytes.len().min(*wanted)]);
    let mut into = OutBuffer::around(spare);
    let outcome = decoder.run(&mut from, &mut into);
    let (read, written) = (from.pos(), into.pos());
    stored.consume(read);
    let outcome = outcome.and_then(|hint| {
        if hint == 0 {
            *inside = false;
        } else if read == 0 && written == 0 {
            return Err(io::Error::other("the zstd stream makes no progress"));
        }
        *wanted = hint.max(1);
        Ok(true)
    });
    (written, outcome)
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.compression == Compression::None {
            return self.stored.fill_buf();
        }
        if self.taken == self.filled
            && !self.decode_block()
            && let Some(failure) = self.failure.take()
        {
            return Err(failure);
        }
        Ok(&self.decoded[self.taken..self.filled])
    }

    fn consume(&mut self, amount: usize) {
        if self.compression == Compression::None {
            self.stored.consume(amount);
        } else {
            self.taken = (self.taken + amount).min(self.filled);
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.compression == Compression::None {
            // Large reads pass by the buffer of `stored`.
            return self.stored.read(buffer);
        }
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}
