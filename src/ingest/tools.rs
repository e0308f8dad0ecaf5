//! tools.json in the forms that people have, as one set of tool definitions.
//!
//! Owns the forms, the reading of limits and of the JSON Schemas, and the hash that versions a set. Does not read
//! files, does not fetch anything (a `$schema` that is not built in is an issue), and judges no call. Start with
//! [`parse_tools`].

use std::collections::BTreeMap;
use std::fmt;

use jsonschema::Draft;
use memchr::memchr_iter;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::frame::raw_excerpt;
use crate::digest::sha256_hex;
use crate::model::span::JsonType;
use crate::model::{DeclaredParam, Issue, IssueCode, ToolDefinition, ToolSet};

/// The keys under which the forms keep the schema of the arguments: ours, OpenAI, Anthropic, MCP.
const SCHEMA_KEYS: [&str; 4] = ["json_schema", "parameters", "input_schema", "inputSchema"];

/// The schema of a function that declares no parameters; OpenAI lets it be left out.
const SCHEMA_OF_NO_PARAMETERS: &str = "{}";

/// Further keys of schemas in traces: Pydantic AI.
const RECORDED_SCHEMA_KEYS: [&str; 1] = ["parameters_json_schema"];

const BOM: char = '\u{feff}';

/// Limits for the definitions that carry none of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolDefaults {
    /// Time limit in milliseconds.
    pub timeout_ms: Option<i64>,
    /// How many equal calls may follow one another, the first included.
    pub max_retries: Option<i64>,
}

/// Why a tools.json cannot be read at all.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ToolsError {
    /// The text is not JSON.
    #[error("not JSON at line {line} column {column}: {message}")]
    NotJson {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// JSON of another shape.
    #[error("neither a list of tool definitions nor an object that holds one")]
    NotAList,
}

/// Reads a tools.json.
///
/// Accepted are a list, and an object that holds one under `tool_definitions`, `tools` or `result.tools`. Each member
/// is recognised by itself: a tool definition of ours, an OpenAI function tool (with or without `function` around it),
/// an Anthropic tool or an MCP tool. A limit beside a foreign form is read as well. `source` is kept in the set.
///
/// What is wrong with one member becomes an issue; the others are read.
///
/// # Errors
/// [`ToolsError`] when there is no list to read.
pub fn parse_tools(text: &str, source: &str, defaults: ToolDefaults) -> Result<(ToolSet, Vec<Issue>), ToolsError> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let root: &RawValue = serde_json::from_str(body).map_err(not_json)?;
    let members = find_list(root).ok_or(ToolsError::NotAList)?;
    let mut reading = Reading { text, defaults, ..Reading::default() };
    for (index, member) in members.into_iter().enumerate() {
        reading.read_member(index + 1, member);
    }
    let Reading { tools, issues, .. } = reading;
    Ok((ToolSet { sha256: hash(&tools), source: source.to_owned(), tools }, issues))
}

/// The text with other descriptions for the tools named: their strings change, every other byte stays. A tool without
/// a description gets one as its first member. Of several definitions of one name the first is changed, which is the
/// one that [`parse_tools`] reads; names that are not defined change nothing.
///
/// # Errors
/// [`ToolsError`] as in [`parse_tools`].
pub fn with_descriptions(text: &str, descriptions: &BTreeMap<&str, &str>) -> Result<String, ToolsError> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let root: &RawValue = serde_json::from_str(body).map_err(not_json)?;
    let members = find_list(root).ok_or(ToolsError::NotAList)?;
    let mut left = descriptions.clone();
    let mut copy = String::with_capacity(text.len());
    let mut copied = 0;
    for member in members {
        let Some(outer) = Members::of(member) else { continue };
        let Ok(form) = Form::of(&outer) else { continue };
        let Some(description) = left.remove(form.name.as_str()) else { continue };
        let edit = form.description_edit(member, description);
        // Parts of the text; their addresses tell where they stand.
        let at = (edit.place.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        copy.push_str(text.get(copied..at).unwrap_or_default());
        copy.push_str(&edit.text);
        copied = at + edit.place.len();
    }
    copy.push_str(text.get(copied..).unwrap_or_default());
    Ok(copy)
}

/// A part of a text and what comes in its place.
struct Edit<'a> {
    place: &'a str,
    text: String,
}

/// A JSON string; beyond ASCII escaped where the file does so.
fn json_string(text: &str, ascii: bool) -> String {
    let plain = Value::from(text).to_string();
    if !ascii {
        return plain;
    }
    let mut escaped = String::with_capacity(plain.len());
    for letter in plain.chars() {
        if letter.is_ascii() {
            escaped.push(letter);
        } else {
            let units =
                letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            escaped.push_str(&units);
        }
    }
    escaped
}

/// A tool definition as a trace carries it. It has no limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTool {
    /// Name, never empty.
    pub tool_name: String,
    /// Description; empty when none was recorded.
    pub description: String,
    /// JSON Schema of the arguments as text; none when it was left out, as instrumentations may.
    pub json_schema: Option<String>,
}

/// The definitions in a JSON text of a trace: one, or a list of them, each in any form that [`parse_tools`] reads, as
/// JSON in a string, as Amazon Bedrock writes it, or as a bare name. Unlike in a tools.json, a function without
/// parameters is one whose parameters were not recorded.
///
/// None when the text is not JSON; members that are no definitions are left out.
pub(crate) fn recorded_tools(text: &str) -> Option<Vec<RecordedTool>> {
    let root: &RawValue = serde_json::from_str(text).ok()?;
    match root.get().as_bytes().first() {
        // JSON in a string, once more.
        Some(b'"') => {
            let inner: String = serde_json::from_str(root.get()).ok()?;
            if inner.trim_start().starts_with(['[', '{']) { recorded_tools(&inner) } else { None }
        }
        _ => match find_list(root) {
            Some(members) => Some(members.into_iter().filter_map(recorded_member).collect()),
            None => Some(recorded_member(root).into_iter().collect()),
        },
    }
}

fn recorded_member(member: &RawValue) -> Option<RecordedTool> {
    if let Ok(text) = serde_json::from_str::<String>(member.get()) {
        if text.trim_start().starts_with('{') {
            return recorded_object(&text);
        }
        let named = RecordedTool { tool_name: text, description: String::new(), json_schema: None };
        return (!named.tool_name.is_empty()).then_some(named);
    }
    recorded_object(member.get())
}

fn recorded_object(text: &str) -> Option<RecordedTool> {
    let outer = Members::parse(text)?;
    let outer = outer.get("toolSpec").and_then(Members::of).unwrap_or(outer);
    let form = Form::of(&outer).ok()?;
    let mut keys = SCHEMA_KEYS.into_iter().chain(RECORDED_SCHEMA_KEYS);
    let json_schema = keys.find_map(|key| form.member(key)).map(|schema| {
        let inside = Members::of(schema).filter(|members| members.entries.len() == 1);
        text_of(inside.and_then(|members| members.get("json")).unwrap_or(schema))
    });
    Some(RecordedTool { description: form.description(), json_schema, tool_name: form.name })
}

fn not_json(error: serde_json::Error) -> ToolsError {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message).to_owned();
    ToolsError::NotJson { line, column, message }
}

fn find_list(root: &RawValue) -> Option<Vec<&RawValue>> {
    if root.get().starts_with('[') {
        return serde_json::from_str(root.get()).ok();
    }
    let members = Members::of(root)?;
    let list = match (members.get("tool_definitions").or_else(|| members.get("tools")), members.get("result")) {
        (Some(list), _) => list,
        (None, Some(result)) => Members::of(result)?.get("tools")?,
        (None, None) => return None,
    };
    serde_json::from_str(list.get()).ok()
}

#[derive(Default)]
struct Reading<'a> {
    text: &'a str,
    defaults: ToolDefaults,
    tools: Vec<ToolDefinition>,
    /// Position, from 1, of the first definition of each name.
    positions: BTreeMap<String, usize>,
    issues: Vec<Issue>,
    /// Offset of the member at hand, and the line it starts on, from 1.
    offset: usize,
    newlines: usize,
}

impl Reading<'_> {
    fn read_member(&mut self, position: usize, member: &RawValue) {
        self.locate(member);
        let raw = member.get();
        let members = Members::of(member);
        let named = members.as_ref().ok_or("not an object").and_then(|outer| Form::of(outer));
        let form = match named {
            Ok(form) => form,
            Err(why) => return self.report(IssueCode::ToolInvalid, format!("{position}: {why}"), raw),
        };
        if let Some(first) = self.positions.get(&form.name) {
            let detail = format!("{position}: {}: already defined at {first}", form.name);
            return self.report(IssueCode::ToolRepeated, detail, raw);
        }
        let place = format!("{position}: {}", form.name);
        self.positions.insert(form.name.clone(), position);
        let timeout_ms = self.limit(&form, "timeout_ms", &place, raw).or(self.defaults.timeout_ms);
        let max_retries = self.limit(&form, "max_retries", &place, raw).or(self.defaults.max_retries);
        let json_schema = form.schema();
        let inspected = match &json_schema {
            Some(text) => inspect_schema(text),
            None => Err("no JSON Schema".to_owned()),
        };
        let schema_readable = inspected.is_ok();
        let params = inspected.unwrap_or_else(|why| {
            let why = raw_excerpt(why.as_bytes());
            self.report(IssueCode::ToolSchemaInvalid, format!("{place}: {why}"), raw);
            Vec::new()
        });
        self.tools.push(ToolDefinition {
            description: form.description(),
            tool_name: form.name,
            json_schema: json_schema.unwrap_or_default(),
            timeout_ms,
            max_retries,
            schema_readable,
            params,
        });
    }

    /// An integer of 1 or more. Null is the same as absent: that is how exporters write a limit that is not set.
    fn limit(&mut self, form: &Form<'_>, key: &str, place: &str, raw: &str) -> Option<i64> {
        let value = form.member(key)?;
        let limit = read_limit(value.get());
        if limit.is_none() {
            let shown = raw_excerpt(minify(value.get()).as_bytes());
            self.report(IssueCode::ToolLimitInvalid, format!("{place}: {key}: {shown}"), raw);
        }
        limit
    }

    /// Finds where a member stands: members come in order, so each newline is counted once.
    fn locate(&mut self, member: &RawValue) {
        // The member is a part of the text; its address tells which.
        let offset = (member.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let passed = self.text.as_bytes().get(self.offset..offset).unwrap_or_default();
        self.newlines += memchr_iter(b'\n', passed).count();
        self.offset = offset;
    }

    fn report(&mut self, code: IssueCode, detail: String, raw: &str) {
        self.issues.push(Issue {
            code,
            line: self.newlines as u64 + 1,
            byte_offset: self.offset as u64,
            trace_id: None,
            span_id: None,
            detail,
            raw: raw_excerpt(raw.as_bytes()),
        });
    }
}

/// A member in whatever form, with its name read.
struct Form<'a> {
    name: String,
    /// The object that has the name, and the one around it (the same where there is none).
    inner: Members<'a>,
    outer: &'a Members<'a>,
}

impl<'a> Form<'a> {
    fn of(outer: &'a Members<'a>) -> Result<Self, &'static str> {
        let inner = match outer.get("function") {
            Some(function) if function.get() != "null" && outer.get("tool_name").is_none() => {
                Members::of(function).ok_or("function is no object")?
            }
            _ => outer.clone(),
        };
        let name = inner.get("tool_name").or_else(|| inner.get("name")).ok_or("no tool name")?;
        let name: String = serde_json::from_str(name.get()).map_err(|_| "the tool name is not a string")?;
        if name.is_empty() {
            return Err("the tool name is empty");
        }
        Ok(Self { name, inner, outer })
    }

    /// A member that is not null, of the inner object or else of the one around it.
    fn member(&self, key: &str) -> Option<&'a RawValue> {
        [&self.inner, self.outer].into_iter().filter_map(|members| members.get(key)).find(|value| value.get() != "null")
    }

    /// The description; one that is not a string stays readable as the JSON that it is.
    fn description(&self) -> String {
        self.member("description").map(text_of).unwrap_or_default()
    }

    /// What makes `description` the description of this definition, which stands in `member`.
    fn description_edit(&self, member: &'a RawValue, description: &str) -> Edit<'a> {
        let raw = member.get();
        let text = json_string(description, raw.is_ascii() && raw.contains("\\u"));
        let null = || self.inner.get("description").or_else(|| self.outer.get("description"));
        if let Some(value) = self.member("description").or_else(null) {
            return Edit { place: value.get(), text };
        }
        let is_wrapped = self.outer.get("function").is_some_and(|value| value.get() != "null")
            && self.outer.get("tool_name").is_none();
        let object = if is_wrapped { self.outer.get("function").map_or(raw, RawValue::get) } else { raw };
        // It has a name, so another member follows.
        Edit { place: &object[..1], text: format!("{{\"description\": {text},") }
    }

    /// The schema as text: a string as it is, a structure as compact JSON; none when one is missing that must be there.
    fn schema(&self) -> Option<String> {
        let written = SCHEMA_KEYS.into_iter().find_map(|key| self.member(key)).map(text_of);
        let is_function = || {
            self.outer.get("function").is_some()
                || self.outer.get("type").is_some_and(|value| value.get() == r#""function""#)
        };
        written.or_else(|| is_function().then(|| SCHEMA_OF_NO_PARAMETERS.to_owned()))
    }
}

fn text_of(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| minify(value.get()))
}

/// The keys and values of an object, in the order written. A repeated key keeps its first place and takes its last
/// value, as in every JSON parser that keeps an order.
#[derive(Clone, Default)]
struct Members<'a> {
    entries: Vec<(String, &'a RawValue)>,
    places: BTreeMap<String, usize>,
}

impl<'a> Members<'a> {
    /// None when the value is no object.
    fn of(value: &'a RawValue) -> Option<Self> {
        Self::parse(value.get())
    }

    fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.places.get(key).and_then(|place| self.entries.get(*place)).map(|(_, value)| *value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    let place = *members.places.entry(key.clone()).or_insert(members.entries.len());
                    match members.entries.get_mut(place) {
                        Some(entry) => entry.1 = value,
                        None => members.entries.push((key, value)),
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

fn read_limit(text: &str) -> Option<i64> {
    let limit = text.parse::<i64>().ok().or_else(|| {
        // JSON Schema counts 8000.0 and 8e3 as integers. Up to 2^53 a double is exact; nobody waits for longer.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let number: f64 = serde_json::from_str(text).ok()?;
        (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
    })?;
    (limit >= 1).then_some(limit)
}

/// The keys of a schema that is in a store; none when it cannot be read.
#[must_use]
pub fn inspect_params(text: &str) -> Vec<DeclaredParam> {
    inspect_schema(text).unwrap_or_default()
}

/// Checks that the text is a JSON Schema and lists its keys.
pub(crate) fn inspect_schema(text: &str) -> Result<Vec<DeclaredParam>, String> {
    let schema: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    if Draft::default().detect(&schema) == Draft::Unknown {
        // Asked for one that is not built in, the validator would try to fetch it.
        let uri = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
        return Err(format!("unknown $schema: {uri}"));
    }
    jsonschema::meta::validate(&schema)
        .map_err(|error| format!("not a JSON Schema: {}: {error}", error.instance_path().as_str()))?;
    Ok(declared_params(text))
}

/// The keys of `properties` in the order written, then those that only `required` names. Only the top level counts
/// (seed 002).
fn declared_params(schema: &str) -> Vec<DeclaredParam> {
    // A boolean is a schema too, and names no keys.
    let Some(schema) = Members::parse(schema) else { return Vec::new() };
    let properties = schema.get("properties").and_then(Members::of).unwrap_or_default();
    let required: Vec<String> =
        schema.get("required").and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
    let mut required_positions = BTreeMap::new();
    for key in &required {
        let position = required_positions.len() as i64;
        required_positions.entry(key.as_str()).or_insert(position);
    }
    let mut params: Vec<DeclaredParam> = (0..)
        .zip(&properties.entries)
        .map(|(position, (key, subschema))| DeclaredParam {
            key: key.clone(),
            position: Some(position),
            required_position: required_positions.remove(key.as_str()),
            types: declared_types(subschema),
        })
        .collect();
    let mut rest: Vec<_> = required_positions.into_iter().collect();
    rest.sort_by_key(|(_, position)| *position);
    params.extend(rest.into_iter().map(|(key, position)| DeclaredParam {
        key: key.to_owned(),
        position: None,
        required_position: Some(position),
        types: Vec::new(),
    }));
    params
}

fn declared_types(subschema: &RawValue) -> Vec<JsonType> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Types {
        One(String),
        Several(Vec<String>),
    }
    let types = Members::of(subschema).and_then(|members| members.get("type"));
    let names = match types.and_then(|types| serde_json::from_str(types.get()).ok()) {
        Some(Types::One(name)) => vec![name],
        Some(Types::Several(names)) => names,
        None => Vec::new(),
    };
    names.iter().filter_map(|name| JsonType::from_name(name)).collect()
}

/// Removes white space outside strings; key order and number text stay.
fn minify(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for letter in json.chars() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else if matches!(letter, ' ' | '\t' | '\r' | '\n') {
            continue;
        } else {
            in_string = letter == '"';
        }
        compact.push(letter);
    }
    compact
}

/// One array per definition, in order: lists are the only shape that JSON writes in a single way.
fn hash(tools: &[ToolDefinition]) -> String {
    let rows: Vec<Value> = tools
        .iter()
        .map(|tool| {
            serde_json::json!([tool.tool_name, tool.description, tool.json_schema, tool.timeout_ms, tool.max_retries])
        })
        .collect();
    sha256_hex(Value::from(rows).to_string().as_bytes())
}
