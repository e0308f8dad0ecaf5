//! Wrong use, told in Korean: clap's own sentences are English.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{exit, terminal};
use crate::render::{Texts, errors};

/// Prints help or version as asked, or what was wrong with the arguments.
pub(crate) fn report(texts: &Texts, error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => ExitCode::from(exit::OK),
            Err(error) => super::report(texts, &terminal::not_written(None, error)),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.print().ok();
            ExitCode::from(exit::USAGE)
        }
        kind => {
            let mut values = BTreeMap::from([("problem", problem(kind).to_owned())]);
            for (name, context) in [
                ("argument", ContextKind::InvalidArg),
                ("value", ContextKind::InvalidValue),
                ("prior", ContextKind::PriorArg),
                ("valid", ContextKind::ValidValue),
                ("subcommand", ContextKind::InvalidSubcommand),
                ("suggested_argument", ContextKind::SuggestedArg),
                ("suggested_subcommand", ContextKind::SuggestedSubcommand),
                ("suggested_value", ContextKind::SuggestedValue),
            ] {
                values.insert(name, error.get(context).map(plain).unwrap_or_default());
            }
            let message = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            if let Some((least, most)) = range(&message) {
                values.insert("least", least);
                values.insert("most", most);
            } else if kind == ErrorKind::ValueValidation && !message.is_ascii() {
                // The readers of this program speak for themselves, those of the libraries in English.
                values.insert("told", message.clone());
            }
            values.insert("message", message);
            terminal::tell(&errors::error(texts, "usage", &values));
            ExitCode::from(exit::USAGE)
        }
    }
}

/// The range in clap's sentence on a number outside of it (`0 is not in 1..=9`); the end is empty where there is none
/// that a person would name.
fn range(message: &str) -> Option<(String, String)> {
    let (least, most) = message.split_once(" is not in ")?.1.split_once("..")?;
    let most = most.trim_start_matches('=');
    let is_end = most.parse::<i64>().is_ok_and(|most| most < i64::MAX);
    Some((least.to_owned(), if is_end { most.to_owned() } else { String::new() }))
}

const fn problem(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::UnknownArgument => "unknown_argument",
        ErrorKind::InvalidValue => "invalid_value",
        ErrorKind::ValueValidation => "value_validation",
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => "missing",
        ErrorKind::InvalidSubcommand => "invalid_subcommand",
        ErrorKind::ArgumentConflict => "conflict",
        ErrorKind::TooManyValues | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues | ErrorKind::NoEquals => {
            "number_of_values"
        }
        _ => "other",
    }
}

fn plain(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::Number(number) => number.to_string(),
        ContextValue::Bool(flag) => flag.to_string(),
        _ => String::new(),
    }
}
