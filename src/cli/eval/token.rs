//! `taco-trace eval token`: tokens that may ask the gate over the network.

use clap::Subcommand;
use serde::Serialize;

use super::super::diagnose::{DAY_NS, korean_instant};
use super::super::failure::Failure;
use super::super::load::{self, StoreArg};
use super::super::{HELP_TEMPLATE, exit, terminal};
use super::project::project_id;
use super::{Format, FormatArg};
use crate::digest::sha256_hex;
use crate::gate;
use crate::model::{GateToken, is_blank};
use crate::render::{Texts, eval_report as words};
use crate::store::{Store, korean_time};

/// The longest time that a token may be valid.
const MOST_DAYS: i64 = 366;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// 토큰을 발급합니다. 토큰은 한 번만 보여주고, 저장소에는 해시만 남깁니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Issue {
        /// 어디에 쓰는지, 사람이 알아볼 이름
        #[arg(long, value_name = "이름")]
        label: String,
        /// 며칠 동안(예: 90), 또는 어느 날까지(그날 포함, 예: 2026-12-31). 길어도 366일
        #[arg(long, value_name = "기한", allow_hyphen_values = true)]
        expires: String,
        /// 물을 수 있는 프로젝트: 저장소에 남은 이름이나 프로젝트 파일. 저장소에 하나뿐이면 적지 않아도 됩니다
        #[arg(short, long, value_name = "이름|파일")]
        project: Option<String>,
        #[command(flatten)]
        store: StoreArg,
    },
    /// 토큰을 취소합니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Revoke {
        /// 토큰의 번호(토큰이 아닙니다. list 로 봅니다)
        #[arg(help_heading = "인자", value_name = "번호")]
        id: String,
        #[command(flatten)]
        store: StoreArg,
    },
    /// 발급한 토큰을 보여줍니다(토큰 자체는 남아 있지 않습니다)
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    List {
        #[command(flatten)]
        output: FormatArg,
        #[command(flatten)]
        store: StoreArg,
    },
}

/// Does what is asked with tokens.
pub(crate) fn run(texts: &Texts, command: &TokenCommand) -> anyhow::Result<u8> {
    match command {
        TokenCommand::Issue { label, expires, project, store } => {
            issue(texts, (label, expires), project.as_deref(), store)
        }
        TokenCommand::Revoke { id, store } => {
            let store = store.open()?;
            let tokens = store.gate_tokens().map_err(Failure::from)?;
            let Some(token) = tokens.iter().find(|token| token.token_id == *id) else {
                return Err(Failure::usage("eval_token_unknown").with("value", id).into());
            };
            // Taking it back again changes nothing.
            if token.revoked_at.is_none() {
                store.revoke_gate_token(id, &load::now()).map_err(Failure::from)?;
            }
            terminal::write_done(&words::token_revoked(texts, id))?;
            Ok(exit::OK)
        }
        TokenCommand::List { output, store } => list(texts, store, output.format),
    }
}

fn issue(texts: &Texts, (label, expires): (&str, &str), project: Option<&str>, store: &StoreArg) -> anyhow::Result<u8> {
    let label = label.trim();
    if is_blank(label) {
        return Err(Failure::usage("eval_token_label").into());
    }
    let now_ns = load::now_ns();
    let expires_ns = expiry(expires, now_ns)?;
    let store = store.open()?;
    let project = project.map(project_id).transpose()?;
    let project_id = project_of(&store, project.as_deref())?;
    let no_random = |message: String| Failure::unreadable("eval_no_random").with("message", message);
    let token = gate::new_token().map_err(no_random)?;
    let kept = GateToken {
        token_id: gate::new_token_id().map_err(no_random)?,
        project_id,
        token_sha256: sha256_hex(token.as_bytes()),
        label: label.to_owned(),
        issued_at: korean_time(now_ns),
        expires_ns,
        revoked_at: None,
    };
    store.add_gate_token(&kept).map_err(Failure::from)?;
    // The token alone goes to standard output, so that a script can take it.
    if let Err(error) = terminal::write_result(&format!("{token}\n"), None) {
        return Err(taken_back(&store, &kept.token_id, &error).into());
    }
    drop(store);
    terminal::tell(&words::token_issued(texts, &kept, &korean_time(expires_ns)));
    Ok(exit::OK)
}

/// A token that nobody has seen whole is taken back; where that fails too, it is told how.
fn taken_back(store: &Store, token_id: &str, error: &anyhow::Error) -> Failure {
    let is_revoked = store.revoke_gate_token(token_id, &load::now()).is_ok();
    let message = error.downcast_ref::<Failure>().and_then(|failure| failure.values.get("message").cloned());
    Failure::unreadable("eval_token_not_told")
        .with("value", token_id)
        .with("problem", if is_revoked { "revoked" } else { "" })
        .with("message", message.unwrap_or_else(|| format!("{error:#}")))
}

/// From when on a token counts no more: a number of days, or the end of a Korean date.
fn expiry(text: &str, now_ns: i64) -> Result<i64, Failure> {
    let wrong = || Failure::usage("eval_token_expires").with("value", text);
    let days: Option<i64> = text.strip_suffix('d').unwrap_or(text).parse().ok();
    let expires_ns = match days {
        Some(days) => days.checked_mul(DAY_NS).and_then(|span| now_ns.checked_add(span)).ok_or_else(wrong)?,
        None => korean_instant(text, DAY_NS).map_err(|_| wrong())?,
    };
    let is_within = expires_ns > now_ns && expires_ns <= now_ns.saturating_add(MOST_DAYS * DAY_NS);
    is_within.then_some(expires_ns).ok_or_else(wrong)
}

fn project_of(store: &Store, project: Option<&str>) -> Result<String, Failure> {
    let known = store.eval_projects()?;
    match (project, known.as_slice()) {
        (Some(project), known) if known.iter().any(|one| one == project) => Ok(project.to_owned()),
        (Some(project), known) => {
            let failure = Failure::usage("eval_project_unknown").with("value", project);
            Err(failure.with("known", known.join(", ")))
        }
        (None, [only]) => Ok(only.clone()),
        (None, known) => Err(Failure::usage("eval_project_needed").with("known", known.join(", "))),
    }
}

/// A token as it is listed in JSON.
#[derive(Serialize)]
struct Row<'a> {
    token_id: &'a str,
    project_id: &'a str,
    label: &'a str,
    state: &'static str,
    issued_at: &'a str,
    expires_at: &'a str,
    revoked_at: Option<&'a str>,
}

fn list(texts: &Texts, store: &StoreArg, format: Format) -> anyhow::Result<u8> {
    let now_ns = load::now_ns();
    let tokens = store.open_to_read()?.gate_tokens().map_err(Failure::from)?;
    let told: Vec<(GateToken, &'static str, String)> = tokens
        .into_iter()
        .map(|token| {
            let state = match (&token.revoked_at, now_ns < token.expires_ns) {
                (Some(_), _) => "revoked",
                (None, true) => "live",
                (None, false) => "expired",
            };
            let expires_at = korean_time(token.expires_ns);
            (token, state, expires_at)
        })
        .collect();
    let text = match format {
        Format::Table => words::tokens(texts, &told, terminal::plain_style()),
        Format::Json => {
            let row = |(token, state, expires_at): &'_ (GateToken, &'static str, String)| {
                serde_json::to_value(Row {
                    token_id: &token.token_id,
                    project_id: &token.project_id,
                    label: &token.label,
                    state,
                    issued_at: &token.issued_at,
                    expires_at,
                    revoked_at: token.revoked_at.as_deref(),
                })
            };
            let rows = told.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            serde_json::to_string_pretty(&rows)? + "\n"
        }
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}
