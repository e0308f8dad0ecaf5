//! Recorded calls and specifications of arguments, as rows of tables (`table`), of spans, and of tools.json.
//!
//! Owns the columns and what their cells may hold, the name by which tools are told apart, and what a JSON Schema says
//! that a specification can hold. Judges no call. Start with [`read_calls`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::args;
use super::frame::raw_excerpt;
use super::table::{Cell, Row, TableReader};
use crate::model::call::{CALL_COLUMNS, NO_WORDS, SPEC_COLUMNS, YES_WORDS};
use crate::model::{CallSpec, Issue, IssueCode, JsonType, RecordedCall, SpecGap, SpecGapReason, ToolDefinition};

/// How many rows are handed on at once.
pub const BATCH_ROWS: usize = 8_192;
/// The furthest exponent of a number that is written out as a plain decimal one.
const MAX_EXPONENT: i64 = 300;
/// What stands between allowed values.
const BAR: char = '|';

/// Rows of an input, and what could not be read among them.
#[derive(Debug, Default)]
pub struct CallBatch {
    /// Calls in order.
    pub calls: Vec<RecordedCall>,
    /// Issues in order.
    pub issues: Vec<Issue>,
}

/// What an input specifies.
#[derive(Debug, Default)]
pub struct SpecTable {
    /// Arguments in order.
    pub specs: Vec<CallSpec>,
    /// What is left open about tools that it knows.
    pub gaps: Vec<SpecGap>,
    /// Issues in order.
    pub issues: Vec<Issue>,
}

/// Keywords of JSON Schema that limit a value by themselves and that no column of a specification holds.
const LIMITS: [&str; 28] = [
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "not",
    "pattern",
    "propertyNames",
    "required",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "contentEncoding",
    "contentMediaType",
];
/// Keywords that hold schemas and limit a value when one of those does.
const SCHEMAS_WITHIN: [&str; 9] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "items",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
];
/// Keywords that a specification holds, if not in every case.
const HELD: [&str; 3] = ["enum", "maximum", "minimum"];
/// Keywords of a whole tool that are read argument by argument, or that are about arguments which no row lists.
const OF_TOOLS: [&str; 3] = ["additionalProperties", "properties", "required"];

/// The name by which tools are told apart: in lower case, letters, marks and digits alone, composed (NFC).
///
/// Numbers of every kind count as digits, so that no two names become one that only a number tells apart.
#[must_use]
pub fn tool_key(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        return name.to_owned();
    }
    if name.is_ascii() {
        return name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase() as char).collect();
    }
    let lower = name.nfc().collect::<String>().to_lowercase();
    // Composed once more: what stood on both sides of a separator may go together.
    lower.chars().filter(|letter| letter.is_alphanumeric() || is_combining_mark(*letter)).nfc().collect()
}

/// The name of an argument, composed (NFC): a Mac writes Hangul in parts, and it is the same name.
fn argument_name(name: String) -> String {
    if name.is_ascii() { name } else { name.nfc().collect() }
}

/// Reads calls and hands them on in batches. `start` is the offset of the first byte. Returns how many rows there were.
///
/// # Errors
/// Those of `write`; reading then ends.
pub fn read_calls<R: Read, E>(
    input: R,
    start: u64,
    write: &mut dyn FnMut(CallBatch) -> Result<(), E>,
) -> Result<u64, E> {
    let mut reader = TableReader::new(input, start, &CALL_COLUMNS);
    let mut batch = CallBatch::default();
    loop {
        let row = reader.next(&mut batch.issues);
        let is_row = row.is_some();
        if let Some(row) = row {
            match call(row) {
                Ok(call) => batch.calls.push(call),
                Err(wrong) => batch.issues.push(wrong.issue(&reader)),
            }
        }
        let is_over = !is_row && reader.ended();
        if is_over || batch.calls.len() >= BATCH_ROWS || batch.issues.len() >= BATCH_ROWS || !is_row {
            write(std::mem::take(&mut batch))?;
        }
        if is_over {
            return Ok(reader.rows());
        }
    }
}

/// Reads specifications: all of them, since calls are held against each.
pub fn read_specs<R: Read>(input: R, start: u64) -> SpecTable {
    let mut reader = TableReader::new(input, start, &SPEC_COLUMNS);
    let mut table = SpecTable::default();
    loop {
        let mut found = Vec::new();
        let row = reader.next(&mut found);
        table.issues.append(&mut found);
        table.gaps.extend(reader.refused().iter().filter_map(|cells| refused_spec(cells)));
        let Some(row) = row else {
            if reader.ended() {
                return table;
            }
            continue;
        };
        let named: Vec<Cell> = row.cells.iter().take(2).cloned().collect();
        match spec(row) {
            Ok(spec) => table.specs.push(spec),
            Err(wrong) => {
                table.issues.push(wrong.issue(&reader));
                table.gaps.extend(refused_spec(&named));
            }
        }
    }
}

/// What a row that cannot be read leaves open: its tool is known all the same, if it can be told.
fn refused_spec(cells: &[Cell]) -> Option<SpecGap> {
    let tool_id = cells.first().and_then(text)?;
    let tool_key = tool_key(&tool_id);
    let arg_name = cells.get(1).and_then(text).filter(|name| !name.is_empty()).map(argument_name);
    let gap = SpecGap { tool_key, arg_name, reason: SpecGapReason::SpecRefused, detail: None, tool_id, row: 0 };
    (!gap.tool_key.is_empty()).then_some(gap)
}

/// Leaves out what was specified before: a second tool_id of one name, and a second row of one argument. The first
/// counts, also one that has no arguments; each gap stands once. Issues of that are added to those there are.
#[must_use]
pub fn settle_specs(table: SpecTable) -> SpecTable {
    let SpecTable { specs, gaps, mut issues } = table;
    let tools = first_tools(&specs, &gaps);
    let is_first = |key: &str, id: &str| tools.get(key).is_none_or(|first| first == id);
    let repeated_id = |row: u64, line: u64, tool_key: &str, tool_id: &str, raw: &str| {
        let first = tools.get(tool_key).map_or("", String::as_str);
        let detail = format!("{row}: {first}, {tool_id}");
        issue(IssueCode::ToolIdRepeated, line, 0, detail, raw_excerpt(raw.as_bytes()))
    };
    let mut arguments: BTreeSet<(String, String)> = BTreeSet::new();
    let mut kept = Vec::new();
    for spec in specs {
        let raw = format!("{} {}", spec.tool_id, spec.arg_name);
        if !is_first(&spec.tool_key, &spec.tool_id) {
            issues.push(repeated_id(spec.row, spec.line, &spec.tool_key, &spec.tool_id, &raw));
        } else if arguments.insert((spec.tool_key.clone(), spec.arg_name.clone())) {
            kept.push(spec);
        } else {
            let detail = format!("{}: {}.{}", spec.row, spec.tool_id, spec.arg_name);
            issues.push(issue(IssueCode::SpecRepeated, spec.line, 0, detail, raw_excerpt(raw.as_bytes())));
        }
    }
    // What another tool of the same name would have left open says nothing of the first.
    let (of_first, of_others): (Vec<_>, Vec<_>) =
        gaps.into_iter().partition(|gap| is_first(&gap.tool_key, &gap.tool_id));
    let alone = of_others.iter().filter(|gap| gap.arg_name.is_none() && gap.row > 0);
    issues.extend(alone.map(|gap| repeated_id(gap.row, 0, &gap.tool_key, &gap.tool_id, &gap.tool_id)));
    let mut told: BTreeSet<(String, Option<String>, SpecGapReason)> = BTreeSet::new();
    let is_new = |gap: &SpecGap| told.insert((gap.tool_key.clone(), gap.arg_name.clone(), gap.reason));
    SpecTable { specs: kept, gaps: of_first.into_iter().filter(is_new).collect(), issues }
}

/// The first tool of each name. A row that could not be read is none.
fn first_tools(specs: &[CallSpec], gaps: &[SpecGap]) -> BTreeMap<String, String> {
    let of_specs = specs.iter().map(|spec| (spec.row, &spec.tool_key, &spec.tool_id));
    let of_gaps = gaps.iter().filter(|gap| gap.row > 0).map(|gap| (gap.row, &gap.tool_key, &gap.tool_id));
    let mut named: Vec<(u64, &String, &String)> = of_specs.chain(of_gaps).collect();
    named.sort_by_key(|(row, ..)| *row);
    let mut tools = BTreeMap::new();
    for (_, tool_key, tool_id) in named {
        tools.entry(tool_key.clone()).or_insert_with(|| tool_id.clone());
    }
    tools
}

/// A cell that its column does not take.
struct Wrong {
    row: u64,
    line: u64,
    byte_offset: u64,
    column: &'static str,
    shown: String,
}

impl Wrong {
    fn issue<R: Read>(self, reader: &TableReader<R>) -> Issue {
        let detail = format!("{}: {}: {}", self.row, self.column, self.shown);
        issue(IssueCode::CellInvalid, self.line, self.byte_offset, detail, reader.raw())
    }
}

fn issue(code: IssueCode, line: u64, byte_offset: u64, detail: String, raw: String) -> Issue {
    Issue { code, line, byte_offset, trace_id: None, span_id: None, detail, raw }
}

/// Takes the cells of a row one after the other.
struct Cells {
    row: u64,
    line: u64,
    byte_offset: u64,
    columns: &'static [&'static str],
    cells: std::vec::IntoIter<Cell>,
}

impl Cells {
    fn of(row: Row, columns: &'static [&'static str]) -> Self {
        let Row { number, line, byte_offset, cells } = row;
        Self { row: number, line, byte_offset, columns, cells: cells.into_iter() }
    }

    /// What `read` makes of the next cell; none makes it wrong.
    fn next<T>(&mut self, read: impl FnOnce(&Cell) -> Option<T>) -> Result<T, Wrong> {
        let place = self.columns.len() - self.cells.len();
        let cell = self.cells.next().unwrap_or(Cell::Null);
        read(&cell).ok_or_else(|| Wrong {
            row: self.row,
            line: self.line,
            byte_offset: self.byte_offset,
            column: self.columns.get(place).copied().unwrap_or_default(),
            shown: cell.shown(),
        })
    }
}

fn call(row: Row) -> Result<RecordedCall, Wrong> {
    let (number, line) = (row.number, row.line);
    let mut cells = Cells::of(row, &CALL_COLUMNS);
    let call_no = cells.next(identifier)?;
    let tool_name_raw = cells.next(text)?;
    let arg_name = cells.next(text_or_none)?.filter(|name| !name.is_empty()).map(argument_name);
    let arg_value = cells.next(value)?;
    let tool_key = tool_key(&tool_name_raw);
    Ok(RecordedCall { call_no, tool_name_raw, arg_name, arg_value, tool_key, row: number, line })
}

fn spec(row: Row) -> Result<CallSpec, Wrong> {
    let (number, line) = (row.number, row.line);
    let mut cells = Cells::of(row, &SPEC_COLUMNS);
    let tool_id = cells.next(|cell| text(cell).filter(|name| !tool_key(name).is_empty()))?;
    let arg_name = cells.next(|cell| text(cell).filter(|name| !name.is_empty()).map(argument_name))?;
    let allowed_values = cells.next(list)?;
    let max_number = cells.next(limit)?;
    let is_required = cells.next(yes_or_no)?;
    let tool_key = tool_key(&tool_id);
    Ok(CallSpec { tool_id, arg_name, allowed_values, max_number, is_required, tool_key, row: number, line })
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) | Cell::Quoted(text) | Cell::Bare(text) => Some(text.clone()),
        _ => None,
    }
}

/// Text, or a whole number: spreadsheets and exporters number rows.
fn identifier(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => Some(text.clone()),
        other => text(other).filter(|text| !text.is_empty()),
    }
}

fn text_or_none(cell: &Cell) -> Option<Option<String>> {
    if *cell == Cell::Null { Some(None) } else { text(cell).map(Some) }
}

/// Allowed values, or none. A program that puts quotes around every cell of CSV writes none as nothing in quotes.
fn list(cell: &Cell) -> Option<Option<String>> {
    if is_empty_quotes(cell) { Some(None) } else { text_or_none(cell) }
}

fn is_empty_quotes(cell: &Cell) -> bool {
    matches!(cell, Cell::Quoted(text) if text.is_empty())
}

/// A value as text: numbers and truth values of JSON as they are written.
fn value(cell: &Cell) -> Option<Option<String>> {
    match cell {
        Cell::Number(text) => Some(Some(text.clone())),
        Cell::Boolean(value) => Some(Some(value.to_string())),
        other => text_or_none(other),
    }
}

/// A number of 0 or more, or none.
fn limit(cell: &Cell) -> Option<Option<String>> {
    match cell {
        Cell::Null => Some(None),
        Cell::Number(text) => plain_decimal(text).map(Some),
        _ if is_empty_quotes(cell) => Some(None),
        Cell::Bare(text) | Cell::Quoted(text) => plain_decimal(text.trim()).map(Some),
        // JSON has numbers: text where one belongs is wrong.
        _ => None,
    }
}

fn yes_or_no(cell: &Cell) -> Option<bool> {
    let word = match cell {
        Cell::Boolean(value) => return Some(*value),
        Cell::Bare(text) | Cell::Quoted(text) => text.trim().to_lowercase(),
        _ => return None,
    };
    let is = |words: &[&str]| words.contains(&word.as_str());
    if is(&YES_WORDS) { Some(true) } else { is(&NO_WORDS).then_some(false) }
}

/// A number that is not negative, as digits with or without a fraction, that JSON would take as well: `5e1` is `50`,
/// `050` is `50`. None for all else, and where an exponent reaches too far.
#[must_use]
pub fn plain_decimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (is_negative, digits) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) || digits.ends_with('.') {
        return None;
    }
    if is_negative && digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        return None;
    }
    if exponent.abs() > MAX_EXPONENT {
        return None;
    }
    if exponent == 0 {
        return Some(with_point(whole, fraction));
    }
    // The point moves over the digits, with zeros where they end.
    let all = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()? + exponent;
    let Ok(point) = usize::try_from(point) else {
        let zeros = usize::try_from(point.unsigned_abs()).ok()?;
        return Some(with_point("0", &format!("{}{all}", "0".repeat(zeros))));
    };
    match all.get(..point) {
        Some(whole) => Some(with_point(whole, &all[point..])),
        None => Some(with_point(&format!("{all}{}", "0".repeat(point - all.len())), "")),
    }
}

fn with_point(whole: &str, fraction: &str) -> String {
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// The specifications in definitions of tools: `enum`, `maximum` and `required` of each key of the top level.
///
/// What else limits an argument (a member of `enum` that is no scalar or has a bar in it, a maximum of a range that
/// reaches below 0, `pattern` and the like) no specification can hold: it is an issue, and a gap of the argument.
#[must_use]
pub fn specs_of_tools(tools: &[ToolDefinition]) -> SpecTable {
    let mut table = SpecTable::default();
    for (row, tool) in (1..).zip(tools) {
        let tool_key = tool_key(&tool.tool_name);
        let gap = |arg_name: Option<&str>, reason: SpecGapReason, detail: Option<String>| SpecGap {
            tool_key: tool_key.clone(),
            arg_name: arg_name.map(str::to_owned).map(argument_name),
            reason,
            detail,
            tool_id: tool.tool_name.clone(),
            row,
        };
        if !tool.schema_readable {
            table.gaps.push(gap(None, SpecGapReason::SchemaUnreadable, None));
            continue;
        }
        if tool.params.is_empty() {
            table.gaps.push(gap(None, SpecGapReason::NoArguments, None));
        }
        let schema = members(&tool.json_schema).unwrap_or_default();
        let report = |argument: &str, keyword: &str, value: &str| {
            let detail = format!("{}{argument}: {keyword}", tool.tool_name);
            issue(IssueCode::SpecLimitUnusable, 0, 0, detail, raw_excerpt(value.as_bytes()))
        };
        let of_tool: Vec<(&String, &str)> = schema
            .iter()
            .map(|(key, written)| (key, written.get()))
            .filter(|(key, written)| !OF_TOOLS.contains(&key.as_str()) && limits(key, &value_of(written)))
            .collect();
        table.issues.extend(of_tool.iter().map(|(key, written)| report("", key, written)));
        let properties = schema.get("properties").and_then(|written| members(written.get())).unwrap_or_default();
        for param in &tool.params {
            let read = properties.get(&param.key).map(|written| Limits::of(written.get())).unwrap_or_default();
            let argument = format!(".{}", param.key);
            table.issues.extend(read.unheld.iter().map(|(keyword, value)| report(&argument, keyword, value)));
            let unheld: Vec<&str> = read
                .unheld
                .iter()
                .map(|(key, _)| key)
                .chain(of_tool.iter().map(|(key, _)| *key))
                .map(String::as_str)
                .collect();
            if !unheld.is_empty() {
                let reason =
                    if of_tool.is_empty() { SpecGapReason::LimitNotHeld } else { SpecGapReason::ToolLimitNotHeld };
                table.gaps.push(gap(Some(&param.key), reason, Some(unheld.join(", "))));
            }
            table.specs.push(CallSpec {
                tool_id: tool.tool_name.clone(),
                arg_name: argument_name(param.key.clone()),
                allowed_values: read.allowed_values,
                max_number: read.max_number,
                is_required: param.required_position.is_some(),
                tool_key: tool_key.clone(),
                row,
                line: 0,
            });
        }
    }
    table
}

/// What the schema of an argument says, as far as a specification can hold it, and the keywords that it cannot.
#[derive(Debug, Default)]
struct Limits {
    allowed_values: Option<String>,
    max_number: Option<String>,
    /// Keywords with their values.
    unheld: Vec<(String, String)>,
}

impl Limits {
    fn of(schema: &str) -> Self {
        let mut limits = Self::default();
        let Some(schema) = members(schema) else {
            if schema == "false" {
                limits.unheld.push((schema.to_owned(), schema.to_owned()));
            }
            return limits;
        };
        // max_number allows 0 and more: a range that begins elsewhere is another one.
        let least = schema.get("minimum").and_then(|written| written.get().parse::<f64>().ok());
        if let Some(written) = schema.get("enum") {
            limits.allowed_values = join_enum(written.get());
        }
        if let Some(written) = schema.get("maximum").filter(|_| least.is_none_or(|least| least >= 0.0)) {
            limits.max_number = plain_decimal(written.get());
        }
        for (key, written) in &schema {
            let is_held = match key.as_str() {
                "enum" => limits.allowed_values.is_some(),
                "maximum" => limits.max_number.is_some(),
                "minimum" => limits.max_number.is_some() && least == Some(0.0),
                _ => !self::limits(key, &value_of(written.get())),
            };
            if !is_held {
                limits.unheld.push((key.clone(), written.get().to_owned()));
            }
        }
        limits
    }
}

/// The members of an object as they are written, so that no number passes through a float; none for all else.
fn members(json: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(json).ok()
}

fn value_of(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

/// Whether a keyword of a schema limits what fits it, its columns aside.
fn limits(key: &str, value: &Value) -> bool {
    if LIMITS.contains(&key) {
        let is_empty = value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
        // `not: {}` and `const: []` limit all the more.
        return !is_empty && *value != Value::Bool(false) || ["not", "const"].contains(&key);
    }
    if !SCHEMAS_WITHIN.contains(&key) {
        return false;
    }
    match value {
        Value::Array(members) => members.iter().any(is_limited),
        Value::Object(members) if ["properties", "patternProperties"].contains(&key) => {
            members.values().any(is_limited)
        }
        other => is_limited(other),
    }
}

/// Whether a schema says more than a type and words for people.
fn is_limited(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| HELD.contains(&key.as_str()) || limits(key, value)),
        other => *other == Value::Bool(false),
    }
}

fn join_enum(text: &str) -> Option<String> {
    let members: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let mut values = Vec::with_capacity(members.len());
    for member in members {
        match scalar(member.get()) {
            // Null allows that the key is absent; whether it may be is said by `required`.
            Some(None) => {}
            Some(Some(value)) if !value.contains(BAR) => values.push(value),
            _ => return None,
        }
    }
    (!values.is_empty()).then(|| values.join("|"))
}

/// A scalar of JSON as text, null as nothing; none for an array or an object.
fn scalar(json: &str) -> Option<Option<String>> {
    match json.as_bytes().first()? {
        b'n' => Some(None),
        b'"' => serde_json::from_str(json).ok().map(Some),
        b'[' | b'{' => None,
        _ => Some(Some(json.to_owned())),
    }
}

/// The arguments of a span, as calls: one a key, numbered `id#key`, text as it is and all else as JSON. A required
/// argument of the tool that is absent is a call with no value. `required` has the tools whose arguments are all known.
/// One row without a name of an argument stands for a call whose arguments cannot be told (they were not recorded, or
/// are no object), and for a call without any of a tool that `required` lacks.
#[must_use]
pub fn calls_of_span(
    id: &str,
    tool_name: &str,
    args_key: Option<&str>,
    required: &BTreeMap<String, Vec<String>>,
    row: u64,
) -> Vec<RecordedCall> {
    let tool_key = tool_key(tool_name);
    let wanted = required.get(&tool_key);
    let of = |call_no: String, arg_name: Option<String>, arg_value: Option<String>| RecordedCall {
        call_no,
        tool_name_raw: tool_name.to_owned(),
        arg_name,
        arg_value,
        tool_key: tool_key.clone(),
        row,
        line: 0,
    };
    let canonical = args_key.filter(|text| text.starts_with('{')).and_then(|text| args::canonical(text).ok());
    let Some(canonical) = canonical else { return vec![of(id.to_owned(), None, None)] };
    let mut calls = Vec::new();
    for arg in &canonical.args {
        let value = match arg.json_type {
            JsonType::Null => None,
            JsonType::String => serde_json::from_str(canonical.value(arg)).ok(),
            _ => Some(canonical.value(arg).to_owned()),
        };
        let name = argument_name(arg.key.clone());
        calls.push(of(format!("{id}#{name}"), Some(name), value));
    }
    let given = |name: &String| calls.iter().any(|call: &RecordedCall| call.arg_name.as_ref() == Some(name));
    let missing = wanted.into_iter().flatten().filter(|name| !given(name));
    let absent: Vec<RecordedCall> = missing.map(|name| of(format!("{id}#{name}"), Some(name.clone()), None)).collect();
    calls.extend(absent);
    if calls.is_empty() && wanted.is_none() {
        calls.push(of(id.to_owned(), None, None));
    }
    calls
}
