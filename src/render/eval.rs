//! Evaluation cases in words: what lint found, what was frozen, what there is.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::layout::{Style, plain, plain_short, table_within};
use super::terminal::{NAME_CHARS, SHORT_SHA, minute};
use crate::model::{CaseProblem, EvalDecision, EvalVerdict, FrozenCase};

/// Every value that a problem may name.
const VALUES: [&str; 5] = ["value", "name", "wanted", "limit", "message"];
/// Characters of a value that a problem quotes.
const VALUE_CHARS: usize = 120;

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("eval.j2", context! { key, ..values }).trim().to_owned()
}

/// One problem in words, without its place.
#[must_use]
pub fn problem(texts: &Texts, problem: &CaseProblem) -> String {
    let mut values: BTreeMap<&str, String> = VALUES.iter().map(|name| (*name, String::new())).collect();
    values.extend(problem.values.iter().map(|(name, value)| (*name, plain_short(value, VALUE_CHARS))));
    values.insert("code", problem.code.to_owned());
    texts.render("eval_problems.j2", values).trim().to_owned()
}

/// The problems of files, a line each: file, line, pointer, words; and a line with the sums.
#[must_use]
pub fn problems(texts: &Texts, files: &[(String, Vec<CaseProblem>)]) -> String {
    let mut out = String::new();
    for (file, found) in files {
        for one in found {
            // What is no JSON has no place in it; that of the whole document is empty and would not be seen.
            let pointer = match one.pointer.as_str() {
                "" if one.code == "not_json" => String::new(),
                "" => format!(" {}", phrase(texts, "root", context! {})),
                pointer => format!(" {}", plain(pointer)),
            };
            out += &format!("{}:{}:{pointer} {}\n", plain(file), one.line, problem(texts, one));
        }
    }
    let count = files.iter().map(|(_, found)| found.len()).sum::<usize>();
    let wrong = files.iter().filter(|(_, found)| !found.is_empty()).count();
    out + &phrase(texts, "linted", context! { files => files.len(), wrong, count }) + "\n"
}

/// What was frozen: each version, and whether it is new.
#[must_use]
pub fn frozen(texts: &Texts, cases: &[(FrozenCase, bool)]) -> String {
    let mut out = String::new();
    for (case, is_new) in cases {
        let values = context! {
            sha256 => case.sha256.as_str(), id => plain_short(&case.id, NAME_CHARS), is_new => *is_new,
        };
        out += &(phrase(texts, "frozen", values) + "\n");
    }
    let new = cases.iter().filter(|(_, is_new)| *is_new).count();
    out + &phrase(texts, "frozen_sum", context! { new, known => cases.len() - new }) + "\n"
}

/// The versions that a store has.
#[must_use]
pub fn list(texts: &Texts, cases: &[FrozenCase], style: Style) -> String {
    if cases.is_empty() {
        return phrase(texts, "none", context! {}) + "\n";
    }
    let head = phrase(texts, "head", context! {});
    let mut rows: Vec<Vec<String>> = vec![head.split('\t').map(str::to_owned).collect()];
    rows.extend(cases.iter().map(|case| {
        let hash = case.sha256.chars().take(SHORT_SHA).collect();
        let id = plain_short(&case.id, NAME_CHARS);
        vec![id, hash, minute(&case.frozen_at), plain_short(&case.name, NAME_CHARS)]
    }));
    table_within(&rows, &[0, 3], style.cells())
}

/// A verdict in one word.
#[must_use]
pub fn verdict(texts: &Texts, verdict: EvalVerdict) -> String {
    phrase(texts, "verdict", context! { code => verdict.as_str() })
}

/// A decision in words.
#[must_use]
pub fn decision(texts: &Texts, decision: EvalDecision) -> String {
    phrase(texts, "decision", context! { code => decision.as_str() })
}

/// Why a verdict is as it is; `reason` is a code of the judge.
#[must_use]
pub fn reason(texts: &Texts, reason: &str) -> String {
    phrase(texts, "reason", context! { code => reason })
}
