//! What `taco-trace tools` found, for people and for programs.

use serde::Serialize;

use super::Texts;
use super::doctor::{laid_out, name};
use super::layout::Style;

/// Where a tools.json and the definitions in traces part.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DriftView {
    /// Tools of tools.json.
    pub tools: u64,
    /// Tools that the traces define.
    pub recorded: u64,
    /// Tools whose schemas were compared.
    pub compared: u64,
    /// Differences, by tool.
    pub differences: Vec<DifferenceView>,
    /// Tools that nobody called.
    pub never_called: Vec<String>,
}

/// One difference; what its code does not need is left out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DifferenceView {
    /// Name of the tool.
    pub tool: String,
    /// Stable name of the kind.
    pub code: &'static str,
    /// Key of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its types in tools.json.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_tools: Option<String>,
    /// Its types in the traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_traces: Option<String>,
    /// Whether it must be there in the traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_in_traces: Option<bool>,
    /// Calls of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// The defined name that is most like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// The report for people.
#[must_use]
pub fn drift(texts: &Texts, view: &DriftView, style: Style) -> String {
    #[derive(Serialize)]
    struct Row {
        tool: String,
        code: &'static str,
        key: String,
        in_tools: String,
        in_traces: String,
        required_in_traces: bool,
        calls: u64,
        nearest: String,
    }
    #[derive(Serialize)]
    struct Values<'a> {
        tools: u64,
        recorded: u64,
        compared: u64,
        differences: &'a [Row],
        never_called: Vec<String>,
    }
    let text = |value: &Option<String>| value.as_deref().map(name).unwrap_or_default();
    let rows: Vec<Row> = view
        .differences
        .iter()
        .map(|one| Row {
            tool: name(&one.tool),
            code: one.code,
            key: text(&one.key),
            in_tools: text(&one.in_tools),
            in_traces: text(&one.in_traces),
            required_in_traces: one.required_in_traces.unwrap_or_default(),
            calls: one.calls.unwrap_or_default(),
            nearest: text(&one.nearest),
        })
        .collect();
    let DriftView { tools, recorded, compared, .. } = *view;
    let never_called = view.never_called.iter().map(|tool| name(tool)).collect();
    let values = Values { tools, recorded, compared, differences: &rows, never_called };
    laid_out(&texts.render("drift.j2", values), style)
}

/// What `tools from-trace` wrote, and what it could not.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extracted {
    /// Definitions written.
    pub written: u64,
    /// Tools with several different schemas, of which the newest was written.
    pub several: Vec<String>,
    /// Tools without a schema.
    pub names_only: Vec<String>,
    /// Tools that were called and are defined nowhere in the traces.
    pub undefined: Vec<String>,
    /// Definitions that could not be read.
    pub unreadable: u64,
}

/// The same for standard error.
#[must_use]
pub fn extracted(texts: &Texts, extracted: &Extracted) -> String {
    let shown = |names: &[String]| names.iter().map(|one| name(one)).collect();
    let shown = Extracted {
        several: shown(&extracted.several),
        names_only: shown(&extracted.names_only),
        undefined: shown(&extracted.undefined),
        ..*extracted
    };
    texts.render("extracted.j2", shown)
}
