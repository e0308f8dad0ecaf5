//! The project file `taco-eval.toml`: what is evaluated, on which targets, at which prices. Read strictly: an unknown
//! key, a value of another type or out of its range is refused with its line. Pure: paths in it are not opened here.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::str::FromStr as _;

use serde::Deserialize;
use toml::Spanned;

use crate::chat::budget::{Price, Usd};
use crate::eval::judge::TargetKind;
use crate::reference::{MAX_TOKENS, Policies};

/// Name of the file unless the command says otherwise.
pub const FILE: &str = "taco-eval.toml";
/// Most trials of a case, and most trials at a time.
pub const TRIALS: u64 = 1_000;
/// See [`TRIALS`].
pub const CONCURRENCY: u64 = 64;
/// What names of files of scripts end in, unless the project says otherwise.
const SCRIPTS_END: &str = ".json";

/// A project.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// Names it in a store.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Folder of its cases, as written: relative to the file.
    pub cases: String,
    /// Share of trials that must pass, 0 to 1.
    pub threshold: f64,
    /// Trials of each case.
    pub trials: u64,
    /// Trials at a time.
    pub concurrency: u64,
    /// Where the sandbox listens for `http` targets.
    pub sandbox_listen: SocketAddr,
    /// Where targets find the sandbox, when that is another address.
    pub sandbox_url: Option<String>,
    /// Targets by name.
    pub targets: BTreeMap<String, TargetSetup>,
    /// Prices by model, dollars per million tokens.
    pub prices: BTreeMap<String, Price>,
}

/// A target.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetSetup {
    /// A model under our runner.
    Reference(ReferenceSetup),
    /// An agent of the user's own; with `answer_only`, one that only answers.
    Http(HttpSetup),
    /// Fixed sequences.
    Script(ScriptSetup),
}

impl TargetSetup {
    /// What runs.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        match self {
            Self::Reference(_) => TargetKind::Reference,
            Self::Http(http) if http.answer_only => TargetKind::AnswerOnly,
            Self::Http(_) => TargetKind::Http,
            Self::Script(_) => TargetKind::Script,
        }
    }

    /// Whether the rules on addresses are lifted for it.
    #[must_use]
    pub fn allows_private(&self) -> bool {
        matches!(self, Self::Http(http) if http.allow_private_target)
    }
}

/// A model under our runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceSetup {
    /// Who serves it.
    pub provider: Provider,
    /// Where, when that is not the provider's own address.
    pub base_url: Option<String>,
    /// Its name.
    pub model: String,
    /// Tokens of one reply.
    pub max_tokens: u32,
    /// What it is told first.
    pub prompt: Prompt,
    /// What the runner looks after.
    pub policies: Policies,
}

/// Who serves a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// The Messages API.
    Anthropic,
    /// Chat Completions, of OpenAI or of a compatible server.
    Openai,
}

impl Provider {
    /// As written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }
}

/// What a model is told first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// That of the runner.
    Default,
    /// This text.
    Text(String),
    /// The text of this file, relative to the project file.
    File(String),
}

/// An agent of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSetup {
    /// Where it is.
    pub address: String,
    /// Whether it only answers: it is offered neither tools nor a sandbox.
    pub answer_only: bool,
    /// Whether the rules on addresses are lifted.
    pub allow_private_target: bool,
    /// A header of each request, when there is one.
    pub auth: Option<AuthSetup>,
}

/// A header of each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSetup {
    /// Its name.
    pub header: String,
    /// Where its value is.
    pub value: AuthValue,
}

/// Where the value of a header is; the value itself stands in no project file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthValue {
    /// In this variable of the environment.
    Env(String),
    /// In this file, relative to the project file.
    File(String),
}

/// Fixed sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSetup {
    /// Their folder, relative to the project file. Several scripts of a case are taken in turn, by name.
    pub scripts: String,
    /// What the names of their files end in.
    pub scripts_end: String,
}

/// Why a project file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ProjectError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: Wrong,
}

/// What is wrong with a project file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// No TOML, from this column (counted in characters, from 1) on: what the parser says, in one line.
    #[error("column {0}: {1}")]
    Syntax(usize, String),
    /// A key that is not known here; these are.
    #[error("{0} is not known")]
    Unknown(String, Vec<String>),
    /// A value of another type than the one that is named: `text`, `number`, `whole`, `flag`, `table`, `list`, `other`.
    #[error("{0} must be a value of the type {1}")]
    Type(String, &'static str),
    /// A key with a word that is none of these.
    #[error("{0} must not be {1}")]
    Word(String, String, Vec<String>),
    /// A key or a table that is there twice.
    #[error("{0} is there twice")]
    Repeated(String),
    /// A key that is needed, in all files or by this kind of target.
    #[error("{0} is missing")]
    Missing(String),
    /// A key that this kind of target does not have.
    #[error("{0} does not belong here")]
    Foreign(&'static str),
    /// Two keys of which only one may be there.
    #[error("{0} and {1} exclude one another")]
    Both(&'static str, &'static str),
    /// A value out of its range.
    #[error("{0} must be {1}")]
    Range(&'static str, &'static str),
    /// No amount of dollars.
    #[error("{0} is no amount in dollars, such as 0.25")]
    Amount(&'static str),
    /// There is no target.
    #[error("there is no target")]
    NoTarget,
}

impl Wrong {
    /// Its code, as templates name it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(..) => "syntax",
            Self::Unknown(..) => "unknown",
            Self::Type(..) => "type",
            Self::Word(..) => "word",
            Self::Repeated(_) => "repeated",
            Self::Missing(_) => "missing",
            Self::Foreign(_) => "foreign",
            Self::Both(..) => "both",
            Self::Range(..) => "range",
            Self::Amount(_) => "amount",
            Self::NoTarget => "no_target",
        }
    }

    /// What it names: the key, and what else there is to say.
    #[must_use]
    pub fn names(&self) -> (&str, &str) {
        match self {
            Self::Syntax(_, message) => ("", message),
            Self::Missing(key) | Self::Repeated(key) | Self::Unknown(key, _) => (key, ""),
            Self::Type(key, wanted) => (key, wanted),
            Self::Word(key, value, _) => (key, value),
            Self::Foreign(key) | Self::Amount(key) => (key, ""),
            Self::Both(one, other) | Self::Range(one, other) => (one, other),
            Self::NoTarget => ("", ""),
        }
    }

    /// What could have been written instead.
    #[must_use]
    pub fn known(&self) -> &[String] {
        match self {
            Self::Unknown(_, known) | Self::Word(_, _, known) => known,
            _ => &[],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    project: RawProject,
    #[serde(default)]
    sandbox: RawSandbox,
    #[serde(default)]
    targets: BTreeMap<String, Spanned<RawTarget>>,
    #[serde(default)]
    prices: BTreeMap<String, RawPrice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProject {
    id: Spanned<String>,
    name: Option<String>,
    cases: Spanned<String>,
    threshold: Option<Spanned<f64>>,
    trials: Option<Spanned<i64>>,
    concurrency: Option<Spanned<i64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSandbox {
    listen: Option<Spanned<String>>,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    input: Spanned<toml::Value>,
    output: Spanned<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTarget {
    kind: TargetKind,
    address: Option<Spanned<String>>,
    allow_private_target: Option<Spanned<bool>>,
    auth_header: Option<Spanned<String>>,
    auth_env: Option<Spanned<String>>,
    auth_file: Option<Spanned<String>>,
    provider: Option<Spanned<Provider>>,
    base_url: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    max_tokens: Option<Spanned<i64>>,
    prompt: Option<Spanned<String>>,
    prompt_file: Option<Spanned<String>>,
    policies: Option<Spanned<Policies>>,
    scripts: Option<Spanned<String>>,
    scripts_end: Option<Spanned<String>>,
}

/// Where something stands in the text.
type Span = Range<usize>;
/// What is wrong, and where.
type Found = (Span, Wrong);

/// Reads a project file.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn parse(text: &str) -> Result<Project, ProjectError> {
    let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        ProjectError { line: line(at), reason: refused(text, at, error.message()) }
    })?;
    project(raw).map_err(|(span, reason)| ProjectError { line: line(span.start), reason })
}

/// What the parser refused at this place, taken out of its sentence; what cannot be taken apart stays a quotation.
fn refused(text: &str, at: usize, message: &str) -> Wrong {
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let first = |quoted: &mut dyn Iterator<Item = String>| quoted.next().unwrap_or_default();
    if message.starts_with("unknown field ") {
        return Wrong::Unknown(first(&mut quoted), quoted.collect());
    }
    if message.starts_with("missing field ") {
        return Wrong::Missing(first(&mut quoted));
    }
    if message.starts_with("unknown variant ") {
        return Wrong::Word(key_before(text, at), first(&mut quoted), quoted.collect());
    }
    if message.starts_with("duplicate key") {
        return Wrong::Repeated(key_before(text, at));
    }
    // A word out of a list, which is no text.
    if message.starts_with("wanted string or table") {
        return Wrong::Type(key_before(text, at), "text");
    }
    if message.starts_with("invalid type: ") || message.starts_with("invalid value: ") {
        let expected = message.rsplit_once(", expected ").map_or("", |(_, expected)| expected);
        let types = [
            ("text", &["string"][..]),
            ("number", &["f64", "float"]),
            ("whole", &["i64", "u64", "integer"]),
            ("flag", &["bool"]),
            ("table", &["struct", "map", "table"]),
            ("list", &["sequence", "array"]),
        ];
        let wanted = types.into_iter().find(|(_, words)| words.iter().any(|word| expected.contains(word)));
        return Wrong::Type(key_before(text, at), wanted.map_or("other", |(wanted, _)| wanted));
    }
    let begin = line_begin(text, at);
    let column = text.get(begin..at).map_or(0, |before| before.chars().count()) + 1;
    Wrong::Syntax(column, message.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where the line of this place begins.
fn line_begin(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// The key whose value stands at this place, or the table that is headed there.
fn key_before(text: &str, at: usize) -> String {
    let begin = line_begin(text, at);
    let whole = text.get(begin..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let before = text.get(begin..at).unwrap_or_default().trim_end().trim_end_matches('=');
    let key = if before.trim().is_empty() { whole.split('=').next().unwrap_or_default() } else { before };
    let key = key.rsplit(['{', ',']).next().unwrap_or_default();
    key.trim().trim_matches(['[', ']', '"', '\'']).trim().to_owned()
}

fn project(raw: RawFile) -> Result<Project, Found> {
    let RawProject { id, name, cases, threshold, trials, concurrency } = raw.project;
    let is_id = |id: &str| {
        let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !id.is_empty() && id.len() <= 64 && id.chars().all(is_sign)
    };
    if !is_id(id.get_ref()) {
        return Err((id.span(), Wrong::Range("id", "a-z, A-Z, 0-9, '-', '_', '.' (1..64)")));
    }
    filled(&cases, "cases")?;
    let threshold = match threshold {
        None => 1.0,
        Some(share) if (0.0..=1.0).contains(share.get_ref()) => share.into_inner(),
        Some(share) => return Err((share.span(), Wrong::Range("threshold", "0..1"))),
    };
    let counted = |value: Option<Spanned<i64>>, key: &'static str, most: u64, range: &'static str| match value {
        None => Ok(1),
        Some(value) => match u64::try_from(*value.get_ref()) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err((value.span(), Wrong::Range(key, range))),
        },
    };
    let sandbox_listen = match raw.sandbox.listen {
        None => SocketAddr::from(([127, 0, 0, 1], 0)),
        Some(text) => {
            SocketAddr::from_str(text.get_ref()).map_err(|_| (text.span(), Wrong::Range("listen", "IP:PORT")))?
        }
    };
    if raw.targets.is_empty() {
        return Err((id.span(), Wrong::NoTarget));
    }
    let mut targets = BTreeMap::new();
    for (name, target) in raw.targets {
        let span = target.span();
        targets.insert(name, self::target(span, target.into_inner())?);
    }
    let mut prices = BTreeMap::new();
    for (model, price) in raw.prices {
        prices.insert(model, Price { input: amount(&price.input, "input")?, output: amount(&price.output, "output")? });
    }
    Ok(Project {
        name: name.unwrap_or_else(|| id.get_ref().clone()),
        id: id.into_inner(),
        cases: cases.into_inner(),
        threshold,
        trials: counted(trials, "trials", TRIALS, "1..1000")?,
        concurrency: counted(concurrency, "concurrency", CONCURRENCY, "1..64")?,
        sandbox_listen,
        sandbox_url: raw.sandbox.url,
        targets,
        prices,
    })
}

fn filled(text: &Spanned<String>, key: &'static str) -> Result<(), Found> {
    if text.get_ref().trim().is_empty() { Err((text.span(), Wrong::Missing(key.to_owned()))) } else { Ok(()) }
}

/// Dollars, as a text or as a number.
fn amount(value: &Spanned<toml::Value>, key: &'static str) -> Result<Usd, Found> {
    let text = match value.get_ref() {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        _ => String::new(),
    };
    text.parse().map_err(|_| (value.span(), Wrong::Amount(key)))
}

fn target(span: Span, raw: RawTarget) -> Result<TargetSetup, Found> {
    foreign(&raw)?;
    let needed = |value: Option<Spanned<String>>, key: &'static str| {
        let value = value.ok_or((span.clone(), Wrong::Missing(key.to_owned())))?;
        filled(&value, key)?;
        Ok(value.into_inner())
    };
    match raw.kind {
        TargetKind::Script => Ok(TargetSetup::Script(ScriptSetup {
            scripts: needed(raw.scripts, "scripts")?,
            scripts_end: raw.scripts_end.map_or_else(|| SCRIPTS_END.to_owned(), Spanned::into_inner),
        })),
        TargetKind::Reference => {
            let prompt = match (raw.prompt, raw.prompt_file) {
                (None, None) => Prompt::Default,
                (Some(text), None) => Prompt::Text(text.into_inner()),
                (None, Some(file)) => Prompt::File(file.into_inner()),
                (Some(_), Some(file)) => return Err((file.span(), Wrong::Both("prompt", "prompt_file"))),
            };
            let max_tokens = match raw.max_tokens {
                None => MAX_TOKENS,
                Some(tokens) => match u32::try_from(*tokens.get_ref()) {
                    Ok(count @ 1..) => count,
                    _ => return Err((tokens.span(), Wrong::Range("max_tokens", "1..4294967295"))),
                },
            };
            let provider = raw.provider.ok_or((span.clone(), Wrong::Missing("provider".to_owned())))?;
            Ok(TargetSetup::Reference(ReferenceSetup {
                provider: provider.into_inner(),
                base_url: raw.base_url.map(Spanned::into_inner),
                model: needed(raw.model, "model")?,
                max_tokens,
                prompt,
                policies: raw.policies.map(Spanned::into_inner).unwrap_or_default(),
            }))
        }
        TargetKind::Http | TargetKind::AnswerOnly => {
            let auth = match (raw.auth_header, raw.auth_env, raw.auth_file) {
                (None, None, None) => None,
                (Some(header), Some(env), None) => {
                    Some(AuthSetup { header: header.into_inner(), value: AuthValue::Env(env.into_inner()) })
                }
                (Some(header), None, Some(file)) => {
                    Some(AuthSetup { header: header.into_inner(), value: AuthValue::File(file.into_inner()) })
                }
                (_, Some(_), Some(file)) => return Err((file.span(), Wrong::Both("auth_env", "auth_file"))),
                (Some(header), None, None) => return Err((header.span(), Wrong::Missing("auth_env".to_owned()))),
                (None, Some(value), None) | (None, None, Some(value)) => {
                    return Err((value.span(), Wrong::Missing("auth_header".to_owned())));
                }
            };
            Ok(TargetSetup::Http(HttpSetup {
                address: needed(raw.address, "address")?,
                answer_only: raw.kind == TargetKind::AnswerOnly,
                allow_private_target: raw.allow_private_target.is_some_and(Spanned::into_inner),
                auth,
            }))
        }
    }
}

/// Refuses keys of other kinds of targets.
fn foreign(raw: &RawTarget) -> Result<(), Found> {
    fn at<T>(value: Option<&Spanned<T>>) -> Option<Span> {
        value.map(Spanned::span)
    }
    let http = [
        ("address", at(raw.address.as_ref())),
        ("allow_private_target", at(raw.allow_private_target.as_ref())),
        ("auth_header", at(raw.auth_header.as_ref())),
        ("auth_env", at(raw.auth_env.as_ref())),
        ("auth_file", at(raw.auth_file.as_ref())),
    ];
    let reference = [
        ("provider", at(raw.provider.as_ref())),
        ("base_url", at(raw.base_url.as_ref())),
        ("model", at(raw.model.as_ref())),
        ("max_tokens", at(raw.max_tokens.as_ref())),
        ("prompt", at(raw.prompt.as_ref())),
        ("prompt_file", at(raw.prompt_file.as_ref())),
        ("policies", at(raw.policies.as_ref())),
    ];
    let script = [("scripts", at(raw.scripts.as_ref())), ("scripts_end", at(raw.scripts_end.as_ref()))];
    let is_http = matches!(raw.kind, TargetKind::Http | TargetKind::AnswerOnly);
    let groups = [
        (is_http, &http[..]),
        (raw.kind == TargetKind::Reference, &reference[..]),
        (raw.kind == TargetKind::Script, &script[..]),
    ];
    let others = groups.into_iter().filter(|(own, _)| !own).flat_map(|(_, keys)| keys);
    let first =
        others.filter_map(|(key, span)| span.clone().map(|span| (span, *key))).min_by_key(|(span, _)| span.start);
    first.map_or(Ok(()), |(span, key)| Err((span, Wrong::Foreign(key))))
}
