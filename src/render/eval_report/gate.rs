//! What the gate answers, and what is told of its tokens and its server.

use minijinja::context;
use serde::Serialize;
use serde_json::{Value, json};

use super::json::worded;
use super::{coded, decision_reason, decision_text, phrase};
use crate::model::{EvalDecision, GateAnswer, GateToken};
use crate::render::Texts;
use crate::render::eval;
use crate::render::layout::{Style, plain_short, table_within};
use crate::render::terminal::{NAME_CHARS, minute, short_time};

/// The answer as CI reads it.
#[derive(Serialize)]
struct Answer {
    found: bool,
    decision: Option<&'static str>,
    label: Option<String>,
    reasons: Vec<Value>,
    experiment_id: Option<String>,
}

fn experiment(answer: &GateAnswer) -> Option<&str> {
    match answer {
        GateAnswer::NotFound => None,
        GateAnswer::Undecided { experiment_id } => Some(experiment_id),
        GateAnswer::Decided(kept) => Some(&kept.experiment_id),
    }
}

/// The answer as one JSON document; `schemas/eval_gate.schema.json` publishes its form.
#[must_use]
pub fn gate_json(texts: &Texts, answer: &GateAnswer) -> String {
    let reasons = match answer {
        GateAnswer::NotFound => Vec::new(),
        GateAnswer::Undecided { .. } => {
            let text = phrase(texts, "decision_reason", context! { code => "undecided" });
            vec![json!({ "code": "undecided", "text": text })]
        }
        GateAnswer::Decided(kept) => kept.decided.reasons.iter().map(|reason| worded(texts, reason)).collect(),
    };
    let decision = answer.decision();
    let answer = Answer {
        found: decision.is_some(),
        decision: decision.map(EvalDecision::as_str),
        label: decision.map(|decision| eval::decision(texts, decision)),
        reasons,
        experiment_id: experiment(answer).map(str::to_owned),
    };
    // Plain data can always be written.
    serde_json::to_string_pretty(&answer).unwrap_or_default() + "\n"
}

/// The answer in words.
#[must_use]
pub fn gate_words(texts: &Texts, answer: &GateAnswer) -> String {
    let Some(decision) = answer.decision() else {
        return phrase(texts, "gate_not_found", context! {}) + "\n";
    };
    let values = context! {
        label => eval::decision(texts, decision), text => decision_text(texts, decision.as_str()),
    };
    let mut out = phrase(texts, "gate_found", values) + "\n";
    let reasons = match answer {
        GateAnswer::Decided(kept) => kept.decided.reasons.iter().map(|reason| decision_reason(texts, reason)).collect(),
        _ => vec![phrase(texts, "decision_reason", context! { code => "undecided" })],
    };
    for reason in reasons {
        out += &format!("  - {reason}\n");
    }
    let at = match answer {
        GateAnswer::Decided(kept) => Some(short_time(&kept.decided_at)),
        _ => None,
    };
    let experiment = plain_short(experiment(answer).unwrap_or_default(), NAME_CHARS);
    out + &phrase(texts, "gate_experiment", context! { experiment, at }) + "\n"
}

/// Why a request is not answered, as JSON.
#[must_use]
pub fn gate_refusal(texts: &Texts, code: &str) -> String {
    let key = match code {
        "bad_hash" => "gate_bad_hash",
        "unauthorized" => "gate_unauthorized",
        "not_found" => "gate_not_found_path",
        "method_not_allowed" => "gate_method",
        _ => "gate_unavailable",
    };
    json!({ "error": { "code": code, "message": phrase(texts, key, context! {}) } }).to_string()
}

/// That anyone may ask who reaches this address.
#[must_use]
pub fn open_to_all(texts: &Texts, address: &str) -> String {
    phrase(texts, "serve_open_to_all", context! { address }) + "\n"
}

/// Where the gate answers.
#[must_use]
pub fn listening(texts: &Texts, url: &str, db: &str) -> String {
    phrase(texts, "serve_listening", context! { url, db => plain_short(db, NAME_CHARS) }) + "\n"
}

/// That the store could not be read for a request.
#[must_use]
pub fn store_failed(texts: &Texts, message: &str) -> String {
    phrase(texts, "serve_store", context! { message => plain_short(message, NAME_CHARS) }) + "\n"
}

/// Sums at the end of serving.
#[must_use]
pub fn served(texts: &Texts, answered: u64, refused: u64) -> String {
    phrase(texts, "served", context! { answered, refused }) + "\n"
}

/// That a token was issued; the token itself is no part of it.
#[must_use]
pub fn token_issued(texts: &Texts, token: &GateToken, expires: &str) -> String {
    let values = context! {
        id => token.token_id.as_str(), project => plain_short(&token.project_id, NAME_CHARS),
        expires => short_time(expires),
    };
    phrase(texts, "token_issued", values) + "\n"
}

/// That a token was taken back.
#[must_use]
pub fn token_revoked(texts: &Texts, token_id: &str) -> String {
    phrase(texts, "token_revoked", context! { id => plain_short(token_id, NAME_CHARS) }) + "\n"
}

/// The tokens there are, each with its state (`live`, `expired`, `revoked`) and the Korean time at which it expires.
#[must_use]
pub fn tokens(texts: &Texts, tokens: &[(GateToken, &'static str, String)], style: Style) -> String {
    if tokens.is_empty() {
        return phrase(texts, "token_none", context! {}) + "\n";
    }
    let head = phrase(texts, "token_head", context! {});
    let mut rows: Vec<Vec<String>> = vec![head.split('\t').map(str::to_owned).collect()];
    rows.extend(tokens.iter().map(|(token, state, expires)| {
        vec![
            token.token_id.clone(),
            plain_short(&token.project_id, NAME_CHARS),
            coded(texts, "token_state", state),
            minute(expires),
            minute(&token.issued_at),
            plain_short(&token.label, NAME_CHARS),
        ]
    }));
    table_within(&rows, &[1, 5], style.cells())
}
