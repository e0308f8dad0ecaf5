//! Everything that is wrong with the text of a case, in the order of the document: JSON, keys that are there twice, the
//! published schema, and what the schema cannot say. Meaning is looked for also where something else is wrong.

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;
use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use regex::Regex;
use serde_json::Value;

use super::case::{FORMAT, NEW, UNPUBLISHED_FORMAT};
use super::marker::{MIN_MARKER_CHARS, normal};
use super::place::{Places, escaped, unescaped};
use super::template;
use crate::model::CaseProblem;

/// The published schema.
pub const SCHEMA: &str = include_str!("../../schemas/irumx-eval-case-1.schema.json");
/// Whole numbers beyond this are not the same in every program (RFC 8785, RFC 7493).
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Everything that is wrong, in the order of the document.
#[must_use]
pub fn lint(text: &str) -> Vec<CaseProblem> {
    let text = without_mark(text);
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return vec![unreadable(&error)],
    };
    let places = Places::of(text);
    if value.get("format").and_then(Value::as_str) == Some(UNPUBLISHED_FORMAT) {
        let offset = places.offset("/format");
        return vec![problem(&places, offset, "/format", "unpublished_format", &[("value", UNPUBLISHED_FORMAT)])];
    }
    // Of a document in another format everything would be wrong, which helps nobody.
    if let Some(other) = value.get("format").and_then(Value::as_str).filter(|format| *format != FORMAT) {
        let offset = places.offset("/format");
        let values = [("value", other), ("wanted", FORMAT)];
        return vec![problem(&places, offset, "/format", "not_allowed", &values)];
    }
    let mut found: Vec<(usize, CaseProblem)> = Vec::new();
    for (pointer, offset) in &places.repeated {
        found.push((*offset, problem(&places, *offset, pointer, "repeated_key", &[])));
    }
    let mut add = |pointer: String, code: &'static str, values: &[(&'static str, &str)]| {
        let offset = places.offset(&pointer);
        found.push((offset, problem(&places, offset, &pointer, code, values)));
    };
    match schema() {
        Some(validator) => {
            for error in validator.iter_errors(&value) {
                of_schema(&error, &mut add);
            }
        }
        None => add(String::new(), "schema", &[("message", "schema")]),
    }
    numbers(&value, &mut String::new(), &mut add);
    Meaning { case: &value, add: &mut add }.look();
    found.sort_by(|(one, first), (other, second)| {
        (one, &first.pointer, first.code, &first.values).cmp(&(other, &second.pointer, second.code, &second.values))
    });
    found.dedup();
    found.into_iter().map(|(_, problem)| problem).collect()
}

/// The text without a byte order mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A text that is not JSON.
pub(super) fn unreadable(error: &serde_json::Error) -> CaseProblem {
    let values = BTreeMap::from([("message", error.to_string())]);
    CaseProblem { line: (error.line() as u64).max(1), pointer: String::new(), code: "not_json", values }
}

fn schema() -> Option<Validator> {
    jsonschema::validator_for(&serde_json::from_str(SCHEMA).ok()?).ok()
}

fn problem(
    places: &Places,
    offset: usize,
    pointer: &str,
    code: &'static str,
    values: &[(&'static str, &str)],
) -> CaseProblem {
    let values = values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    CaseProblem { line: places.line(offset), pointer: pointer.to_owned(), code, values }
}

type Add<'a> = dyn FnMut(String, &'static str, &[(&'static str, &str)]) + 'a;

/// One error of the schema in our words.
fn of_schema(error: &ValidationError<'_>, add: &mut Add<'_>) {
    let pointer = error.instance_path().as_str().to_owned();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            add(pointer, "missing", &[("name", property.as_str().unwrap_or_default())]);
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                add(format!("{pointer}/{}", escaped(name)), "unexpected", &[("name", name)]);
            }
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", "),
            };
            add(pointer, "wrong_type", &[("wanted", &wanted)]);
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().map(shown).collect::<Vec<_>>().join(", ");
            add(pointer, "not_allowed", &[("value", &shown(error.instance())), ("wanted", &options)]);
        }
        ValidationErrorKind::Constant { expected_value } => {
            add(pointer, "not_allowed", &[("value", &shown(error.instance())), ("wanted", &shown(expected_value))]);
        }
        ValidationErrorKind::Minimum { limit } => add(pointer, "too_small", &[("limit", &limit.to_string())]),
        ValidationErrorKind::Maximum { limit } => add(pointer, "too_large", &[("limit", &limit.to_string())]),
        ValidationErrorKind::MinLength { .. } => add(pointer, "empty_text", &[]),
        ValidationErrorKind::MinItems { limit } => add(pointer, "too_few", &[("limit", &limit.to_string())]),
        ValidationErrorKind::MinProperties { limit } => add(pointer, "too_few", &[("limit", &limit.to_string())]),
        ValidationErrorKind::MaxProperties { limit } => add(pointer, "too_many", &[("limit", &limit.to_string())]),
        ValidationErrorKind::UniqueItems => add(pointer, "repeated_item", &[]),
        ValidationErrorKind::Pattern { pattern } => {
            add(pointer, "wrong_form", &[("value", &shown(error.instance())), ("wanted", pattern)]);
        }
        ValidationErrorKind::Not { .. } => add(pointer, "own_id", &[]),
        _ => add(pointer, "schema", &[("message", &error.masked().to_string())]),
    }
}

/// A value as the words name it: a text without its quotes.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn numbers(value: &Value, pointer: &mut String, add: &mut Add<'_>) {
    let length = pointer.len();
    match value {
        Value::Number(number) => {
            let is_exact = match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => number <= MAX_INTEGER,
                (None, Some(number)) => number.unsigned_abs() <= MAX_INTEGER,
                (None, None) => true,
            };
            if !is_exact {
                add(pointer.clone(), "inexact_number", &[("value", &number.to_string())]);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                numbers(item, pointer, add);
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                pointer.push('/');
                pointer.push_str(&escaped(key));
                numbers(member, pointer, add);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

/// Looks at what the schema cannot say. Whatever has another type than it should is passed over: the schema told it.
struct Meaning<'c, 'a> {
    case: &'c Value,
    add: &'a mut Add<'a>,
}

/// An array of the document, with the place of each item.
fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (String, &'v Value)> {
    let path = format!("/{key}");
    let items = value.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
    items.map(move |(index, item)| (format!("{path}/{index}"), item))
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

impl<'c> Meaning<'c, '_> {
    fn add(&mut self, pointer: impl Into<String>, code: &'static str, values: &[(&'static str, &str)]) {
        (self.add)(pointer.into(), code, values);
    }

    fn look(&mut self) {
        self.ids();
        self.times();
        self.world();
        self.tools();
        self.faults();
        self.approvals();
        for (at, check) in items(self.case, "checks") {
            self.condition(&at, check);
        }
        self.limits_and_flow();
    }

    fn tool(&self, name: &str) -> Option<&'c Value> {
        items(self.case, "tools").map(|(_, tool)| tool).find(|tool| text(tool, "name") == Some(name))
    }

    fn names_tool(&mut self, at: &str, value: &Value, key: &str) {
        if let Some(name) = text(value, key).filter(|name| self.tool(name).is_none()) {
            self.add(format!("{at}/{key}"), "unknown_tool", &[("name", name)]);
        }
    }

    /// The collection, unless the world has none of this name.
    fn has_collection(&self, name: &str) -> bool {
        self.case.pointer("/world").is_none_or(|world| world.get(name).is_some())
    }

    fn ids(&mut self) {
        for (list, key) in [("tools", "name"), ("approvals", "id"), ("checks", "id"), ("rubric", "id")] {
            let mut seen = BTreeSet::new();
            for (at, item) in items(self.case, list) {
                if let Some(id) = text(item, key).filter(|id| !seen.insert(*id)) {
                    self.add(format!("{at}/{key}"), "repeated_id", &[("name", id)]);
                }
            }
        }
        let mut seen = BTreeSet::new();
        for (at, fault) in items(self.case, "faults") {
            let place = text(fault, "tool").zip(fault.get("call").and_then(Value::as_u64));
            if let Some((tool, call)) = place.filter(|place| !seen.insert(*place)) {
                self.add(at, "repeated_fault", &[("name", tool), ("value", &call.to_string())]);
            }
        }
    }

    fn times(&mut self) {
        let case = self.case;
        let mut times = vec![("/now".to_owned(), case.get("now"))];
        times.extend(items(case, "turns").map(|(at, turn)| (format!("{at}/now"), turn.get("now"))));
        times.extend(items(case, "approvals").map(|(at, one)| (format!("{at}/expires_at"), one.get("expires_at"))));
        for (at, time) in times {
            let Some(time) = time.and_then(Value::as_str).filter(|time| !time.is_empty()) else { continue };
            if DateTime::parse_from_rfc3339(time).is_err() {
                self.add(at, "not_a_time", &[("value", time)]);
            }
        }
        let mut last = None;
        for (at, turn) in items(case, "turns") {
            let time = text(turn, "now").and_then(|time| DateTime::parse_from_rfc3339(time).ok());
            if last.zip(time).is_some_and(|(last, time)| time < last) {
                self.add(format!("{at}/now"), "time_goes_back", &[]);
            }
            last = time.or(last);
        }
    }

    fn world(&mut self) {
        let Some(world) = self.case.get("world").and_then(Value::as_object) else { return };
        for (name, records) in world {
            let mut seen = BTreeSet::new();
            for (index, record) in records.as_array().into_iter().flatten().enumerate() {
                let at = format!("/world/{}/{index}/id", escaped(name));
                let Some(id) = text(record, "id") else { continue };
                if id == NEW {
                    self.add(at.clone(), "reserved_id", &[("name", id)]);
                }
                if !seen.insert(id) {
                    self.add(at, "repeated_id", &[("name", id)]);
                }
            }
        }
    }

    fn tools(&mut self) {
        for (at, tool) in items(self.case, "tools") {
            if let Some(schema) = tool.get("parameters").filter(|schema| schema.is_object())
                && let Err(error) = jsonschema::validator_for(schema)
            {
                let message = error.masked().to_string();
                self.add(format!("{at}/parameters"), "bad_schema", &[("message", &message)]);
            }
            let Some(result) = tool.get("result") else { continue };
            let kind = text(result, "kind").unwrap_or_default();
            if let Some(name) = text(result, "collection").filter(|name| !self.has_collection(name)) {
                self.add(format!("{at}/result/collection"), "unknown_collection", &[("name", name)]);
            }
            let changes = ["insert", "update", "delete"].contains(&kind);
            if changes && text(tool, "effect") == Some("read") {
                self.add(format!("{at}/effect"), "read_changes", &[("value", kind)]);
            }
            if result.pointer("/set/id").is_some() {
                self.add(format!("{at}/result/set/id"), "own_id", &[]);
            }
            for key in ["value", "where", "record", "id", "set"] {
                for (inner, word) in result.get(key).map(template::mistakes).unwrap_or_default() {
                    self.add(format!("{at}/result/{key}{inner}"), "bad_template", &[("value", &word)]);
                }
            }
        }
    }

    fn faults(&mut self) {
        let most = self.case.pointer("/limits/tool_calls").and_then(Value::as_u64);
        for (at, fault) in items(self.case, "faults") {
            self.names_tool(&at, fault, "tool");
            let call = fault.get("call").and_then(Value::as_u64);
            if let Some((call, most)) = call.zip(most).filter(|(call, most)| call > most && *most > 0) {
                let values = [("value", call.to_string()), ("limit", most.to_string())];
                let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
                self.add(format!("{at}/call"), "fault_out_of_reach", &values);
            }
            let is_delay = text(fault, "kind") == Some("delay");
            if is_delay != fault.get("delay_ms").is_some() {
                self.add(if is_delay { at.clone() } else { format!("{at}/delay_ms") }, "delay_and_kind", &[]);
            }
            if fault.get("message").is_some() && text(fault, "kind") != Some("tool_error") {
                self.add(format!("{at}/message"), "message_and_kind", &[]);
            }
        }
    }

    fn approvals(&mut self) {
        for (at, approval) in items(self.case, "approvals") {
            self.names_tool(&at, approval, "tool");
            let tool = text(approval, "tool").and_then(|name| self.tool(name));
            let is_needed = |tool: &Value| {
                text(tool, "effect") == Some("external")
                    || tool.get("needs_approval").and_then(Value::as_bool).unwrap_or_default()
            };
            if let Some(tool) = tool.filter(|tool| !is_needed(tool)) {
                let name = text(tool, "name").unwrap_or_default();
                self.add(format!("{at}/tool"), "approval_not_needed", &[("name", name)]);
            }
        }
    }

    fn condition(&mut self, at: &str, check: &'c Value) {
        let kind = text(check, "kind").unwrap_or_default();
        if ["state_count", "event_count", "metric"].contains(&kind) {
            let bound = |key: &str| check.get(key).and_then(Value::as_u64);
            match (bound("min"), bound("max")) {
                (None, None) if check.get("min").or(check.get("max")).is_none() => self.add(at, "no_bounds", &[]),
                (Some(min), Some(max)) if min > max => {
                    self.add(format!("{at}/min"), "bounds_crossed", &[]);
                }
                (Some(0), None) => self.add(format!("{at}/min"), "always_holds", &[]),
                _ => {}
            }
        }
        match kind {
            "state_count" | "state_value" | "answer_has_state" => self.state_pointer(at, check, kind == "state_count"),
            "event_count" => self.names_tool(at, check, "tool"),
            "approval_integrity" => {
                for (inner, tool) in items(check, "tools") {
                    if let Some(name) = tool.as_str().filter(|name| self.tool(name).is_none()) {
                        self.add(format!("{at}{inner}"), "unknown_tool", &[("name", name)]);
                    }
                }
            }
            "no_marker_leak" => {
                for (inner, marker) in items(check, "markers") {
                    let Some(marker) = marker.as_str().filter(|marker| !marker.is_empty()) else { continue };
                    if normal(marker).chars().count() < MIN_MARKER_CHARS {
                        let limit = MIN_MARKER_CHARS.to_string();
                        self.add(format!("{at}{inner}"), "short_marker", &[("value", marker), ("limit", &limit)]);
                    }
                }
            }
            "answer" => {
                if ["contains", "matches", "none_of"].iter().all(|key| items(check, key).next().is_none()) {
                    self.add(at, "empty_check", &[]);
                }
                for key in ["matches", "none_of"] {
                    for (inner, pattern) in items(check, key) {
                        self.regex(format!("{at}{inner}"), pattern);
                    }
                }
            }
            "any_of" => {
                for (inner, condition) in items(check, "of") {
                    self.condition(&format!("{at}{inner}"), condition);
                }
            }
            _ => {}
        }
        if let Some(matcher) = check.get("value").filter(|_| kind == "state_value") {
            self.matcher(&format!("{at}/value"), matcher);
        }
        for (key, has_pointers) in [("where", false), ("arguments", true)] {
            for (name, matcher) in check.get(key).and_then(Value::as_object).into_iter().flatten() {
                let inner = format!("{at}/{key}/{}", escaped(name));
                if has_pointers && !template::is_pointer(name) {
                    self.add(inner.clone(), "not_a_pointer", &[("value", name)]);
                }
                self.matcher(&inner, matcher);
            }
        }
        let turns = self.case.get("turns").and_then(Value::as_array).map(Vec::len);
        let turn = check.get("turn").and_then(Value::as_u64);
        if let Some(turn) = turn.filter(|turn| turns.is_some_and(|turns| *turn > turns as u64)) {
            self.add(format!("{at}/turn"), "unknown_turn", &[("value", &turn.to_string())]);
        }
    }

    fn matcher(&mut self, at: &str, matcher: &Value) {
        if let Some(pattern) = matcher.get("matches") {
            self.regex(format!("{at}/matches"), pattern);
        }
    }

    fn regex(&mut self, at: String, pattern: &Value) {
        let Some(pattern) = pattern.as_str() else { return };
        if let Err(error) = Regex::new(pattern) {
            // Its last line says what is wrong; those before draw where.
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            self.add(at, "bad_regex", &[("message", &last)]);
        }
    }

    /// A pointer into the final world: its collection must be there, and a value needs a record.
    fn state_pointer(&mut self, at: &str, check: &Value, is_count: bool) {
        let Some(pointer) = text(check, "pointer").filter(|pointer| pointer.len() > 1) else { return };
        let at = format!("{at}/pointer");
        if !template::is_pointer(pointer) {
            return self.add(at, "not_a_pointer", &[("value", pointer)]);
        }
        let parts: Vec<&str> = pointer.split('/').skip(1).collect();
        let collection = unescaped(parts[0]);
        if !self.has_collection(&collection) {
            return self.add(at, "unknown_collection", &[("name", &collection)]);
        }
        let is_place = |part: &&str| part.parse::<usize>().is_ok();
        let is_new = parts.get(1) == Some(&NEW);
        let is_right = match (is_count, is_new, parts.len()) {
            (true, _, 1) | (true, true, 2) => true,
            (_, true, 2) | (_, _, 1) => false,
            (_, true, _) => parts.get(2).is_some_and(is_place),
            (_, false, length) => length >= if is_count { 3 } else { 2 },
        };
        if !is_right {
            self.add(at, "names_no_value", &[("value", pointer)]);
        }
    }

    fn limits_and_flow(&mut self) {
        let case = self.case;
        let turns = case.get("turns").and_then(Value::as_array).map_or(0, Vec::len) as u64;
        let mut calls = 0_u64;
        let mut last = 0;
        for (at, step) in items(case, "golden_flow") {
            self.names_tool(&at, step, "tool");
            let turn = step.get("turn").and_then(Value::as_u64).unwrap_or(last);
            if turn > turns {
                self.add(format!("{at}/turn"), "unknown_turn", &[("value", &turn.to_string())]);
            } else if turn < last {
                self.add(format!("{at}/turn"), "turn_goes_back", &[]);
            }
            last = last.max(turn);
            match (step.get("tool"), step.get("answer")) {
                (Some(_), None) => calls += 1,
                (None, Some(_)) => {}
                _ => self.add(at.clone(), "call_or_answer", &[]),
            }
            if step.get("arguments").is_some() && step.get("tool").is_none() {
                self.add(format!("{at}/arguments"), "call_or_answer", &[]);
            }
            self.golden_arguments(&at, step);
        }
        if let Some(most) = case.pointer("/limits/tool_calls").and_then(Value::as_u64)
            && calls > most
            && most > 0
        {
            let values = [("value", calls.to_string()), ("limit", most.to_string())];
            let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
            self.add("/golden_flow", "flow_over_limit", &values);
        }
    }

    fn golden_arguments(&mut self, at: &str, step: &Value) {
        let tool = text(step, "tool").and_then(|name| self.tool(name));
        let schema = tool.and_then(|tool| tool.get("parameters")).filter(|schema| schema.is_object());
        let Some((schema, arguments)) = schema.zip(step.get("arguments")) else { return };
        let Ok(validator) = jsonschema::validator_for(schema) else { return };
        let errors: Vec<(String, String)> = validator
            .iter_errors(arguments)
            .map(|error| (error.instance_path().as_str().to_owned(), error.masked().to_string()))
            .collect();
        for (inner, message) in errors {
            self.add(format!("{at}/arguments{inner}"), "bad_arguments", &[("message", &message)]);
        }
    }
}

/// Codes of all that can be wrong, in order.
pub const CODES: [&str; 44] = [
    "always_holds",
    "approval_not_needed",
    "bad_arguments",
    "bad_regex",
    "bad_schema",
    "bad_template",
    "bounds_crossed",
    "call_or_answer",
    "delay_and_kind",
    "empty_check",
    "empty_text",
    "fault_out_of_reach",
    "flow_over_limit",
    "inexact_number",
    "message_and_kind",
    "missing",
    "names_no_value",
    "no_bounds",
    "not_a_pointer",
    "not_a_time",
    "not_allowed",
    "not_json",
    "own_id",
    "read_changes",
    "repeated_fault",
    "repeated_id",
    "repeated_item",
    "repeated_key",
    "reserved_id",
    "schema",
    "short_marker",
    "time_goes_back",
    "too_few",
    "too_large",
    "too_many",
    "too_small",
    "turn_goes_back",
    "unexpected",
    "unknown_collection",
    "unknown_tool",
    "unknown_turn",
    "unpublished_format",
    "wrong_form",
    "wrong_type",
];
