//! `--mask`: where the key of the pseudonyms comes from.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use super::failure::Failure;
use crate::ingest::Batch;
use crate::ingest::mask::{MaskCounts, Masker};
use crate::store::{MaskKey, Store};

/// Names the key when no file does.
const KEY_VARIABLE: &str = "TACO_TRACE_MASK_KEY";
/// A shorter key could be guessed, and with it every phone number.
const LEAST_KEY_BYTES: usize = 16;

/// 개인정보를 가리는 인자
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct MaskArgs {
    /// 주민등록번호·전화·카드·전자우편·사번을 가명으로 바꾸어 넣습니다(같은 값은 같은 가명)
    #[arg(long)]
    mask: bool,
    /// 가명을 만드는 열쇠 파일. 없으면 TACO_TRACE_MASK_KEY, 그것도 없으면 저장소에 하나 만들어 둡니다
    #[arg(long, value_name = "파일", requires = "mask")]
    mask_key_file: Option<PathBuf>,
    /// 값을 사번으로 보고 통째로 가릴 JSON 키(쉼표로 여럿)
    #[arg(long, value_name = "키", value_delimiter = ',', requires = "mask")]
    mask_field: Vec<String>,
}

impl MaskArgs {
    /// Whether values are to be masked.
    pub(crate) const fn is_on(&self) -> bool {
        self.mask
    }
}

/// Masks rows, or lets them pass.
#[derive(Default)]
pub(crate) struct Masking(Option<Masker>);

// A key must not get into a log.
impl std::fmt::Debug for Masking {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "Masking(on)" } else { "Masking(off)" })
    }
}

impl Masking {
    /// Takes the key from file or environment, which must then be the store's, else the store's own, made if need be.
    pub(crate) fn begin(store: &Store, args: &MaskArgs) -> Result<Self, Failure> {
        if !args.mask {
            return Ok(Self(None));
        }
        let stored = store.mask_key()?;
        let masker = match (given_key(args)?, &stored) {
            (Some((name, secret)), stored) => {
                let masker = Masker::new(&secret);
                match stored {
                    Some(known) if known.fingerprint != masker.fingerprint() => {
                        return Err(Failure::usage("mask_key_differs").with("name", name));
                    }
                    Some(_) => {}
                    None => store.set_mask_key(&MaskKey { key: None, fingerprint: masker.fingerprint() })?,
                }
                masker
            }
            (None, Some(MaskKey { key: Some(key), .. })) => Masker::new(key.as_bytes()),
            (None, Some(MaskKey { key: None, .. })) => return Err(Failure::usage("mask_key_missing")),
            (None, None) => {
                let key =
                    random_key().map_err(|error| Failure::unreadable("mask_key_not_made").with("message", error))?;
                let masker = Masker::new(key.as_bytes());
                store.set_mask_key(&MaskKey { key: Some(key), fingerprint: masker.fingerprint() })?;
                masker
            }
        };
        Ok(Self(Some(masker.with_fields(&args.mask_field))))
    }

    /// What masks rows; none when they may pass.
    pub(crate) fn into_masker(self) -> Option<Masker> {
        self.0
    }

    /// The rows as they may be stored.
    pub(crate) fn apply(&self, mut batch: Batch, counts: &mut MaskCounts) -> Batch {
        if let Some(masker) = &self.0 {
            counts.add(&masker.mask_batch(&mut batch));
        }
        batch
    }
}

/// The key from outside of the store, and what names it; line ends behind it do not count.
fn given_key(args: &MaskArgs) -> Result<Option<(String, Vec<u8>)>, Failure> {
    let (name, mut secret) = match (&args.mask_key_file, std::env::var_os(KEY_VARIABLE)) {
        (Some(path), _) => {
            let secret = std::fs::read(path).map_err(|error| super::load::unreadable(path, &error))?;
            (path.display().to_string(), secret)
        }
        (None, Some(value)) => (KEY_VARIABLE.to_owned(), value.into_encoded_bytes()),
        (None, None) => return Ok(None),
    };
    while secret.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        secret.pop();
    }
    if secret.len() < LEAST_KEY_BYTES {
        return Err(Failure::usage("mask_key_short").with("name", name).with("least", LEAST_KEY_BYTES));
    }
    Ok(Some((name, secret)))
}

/// 32 bytes that no one can guess, in hex.
fn random_key() -> std::io::Result<String> {
    let mut bytes = [0_u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
