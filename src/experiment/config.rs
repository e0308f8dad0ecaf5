//! The configuration of a target: everything that decides how it behaves, as canonical JSON, and the hash that the gate
//! asks for. Pure. No secret is in it: of a header its name, not its value.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::project::TargetSetup;
use crate::chat::{anthropic, openai};
use crate::digest::sha256_hex;
use crate::eval::canonical;
use crate::eval::case::Case;
use crate::eval::script::Script;

use super::project::Provider;

/// The form of the document; another form would give other hashes.
pub const FORMAT: &str = "taco-eval-config/1";

/// A configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The document, canonical JSON (RFC 8785).
    pub document: String,
    /// sha256 of it, 64 lower-case hex digits.
    pub sha256: String,
}

/// What a target holds besides its setup.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// The prompt as the model is told it; of `reference` targets.
    pub prompt: String,
    /// Scripts by case, in the order in which they are taken; of `script` targets.
    pub scripts: BTreeMap<String, Vec<Script>>,
}

/// The configuration of a target with the tool contracts of these cases.
///
/// In it are the kind and address of the target, the model and its parameters, the prompt, the policies, the scripts,
/// and the contract of each tool by case and name. Not in it are names of targets, prices, numbers of trials, whether
/// rules on addresses are lifted, and the value of any header.
#[must_use]
pub fn config<'c>(setup: &TargetSetup, contents: &Contents, cases: impl IntoIterator<Item = &'c Case>) -> Config {
    let mut tools: Vec<(String, String, Value)> = Vec::new();
    for case in cases {
        for tool in &case.tools {
            // A contract always has a JSON form: it was read from one.
            let contract = serde_json::to_value(tool).unwrap_or_default();
            tools.push((case.id.clone(), tool.name.clone(), contract));
        }
    }
    tools.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    let tools: Vec<Value> =
        tools.into_iter().map(|(case, _, contract)| json!({ "case_id": case, "contract": contract })).collect();
    let document = canonical(&json!({
        "format": FORMAT,
        "kind": setup.kind().as_str(),
        "target": target(setup, contents),
        "tools": tools,
    }));
    let sha256 = sha256_hex(document.as_bytes());
    Config { document, sha256 }
}

fn target(setup: &TargetSetup, contents: &Contents) -> Value {
    match setup {
        TargetSetup::Reference(reference) => {
            let default = match reference.provider {
                Provider::Anthropic => anthropic::BASE_URL,
                Provider::Openai => openai::BASE_URL,
            };
            json!({
                "provider": reference.provider.as_str(),
                "base_url": reference.base_url.as_deref().unwrap_or(default).trim_end_matches('/'),
                "model": reference.model,
                "max_tokens": reference.max_tokens,
                "prompt": contents.prompt,
                "policies": reference.policies,
            })
        }
        TargetSetup::Http(http) => json!({
            "address": http.address,
            // Names of headers are the same in small letters.
            "auth_header": http.auth.as_ref().map(|auth| auth.header.to_ascii_lowercase()),
        }),
        TargetSetup::Script(_) => json!({ "scripts": contents.scripts }),
    }
}
