//! What `taco-trace shape` found, for people and for programs.

use serde::Serialize;

use super::Texts;
use super::doctor::{laid_out, name};
use super::layout::Style;

/// How many spans have something.
#[derive(Debug, Clone, Serialize)]
pub struct CountView {
    /// What they have.
    pub name: String,
    /// Spans.
    pub count: u64,
}

/// One attribute.
#[derive(Debug, Clone, Serialize)]
pub struct AttributeView {
    /// Its key.
    pub key: String,
    /// Its types.
    pub types: Vec<CountView>,
    /// Spans that have it.
    pub present: u64,
    /// Of so many.
    pub of: u64,
    /// What is read from it; none when nothing is.
    pub read_as: Option<&'static str>,
    /// Names of the rules that rest on it.
    pub rules: Vec<&'static str>,
}

/// One operation.
#[derive(Debug, Clone, Serialize)]
pub struct NodeView {
    /// Its name.
    pub operation: String,
    /// Whether its spans are kept.
    pub is_kept: bool,
    /// Spans.
    pub spans: u64,
    /// Forms of their names.
    pub names: Vec<CountView>,
    /// Parents: `-` for none, `?` for one that is not in the input.
    pub parents: Vec<CountView>,
    /// The nearest kept spans above.
    pub kept_above: Vec<CountView>,
    /// Status codes.
    pub status: Vec<CountView>,
    /// What can be read of the spans.
    pub read: Vec<CountView>,
    /// Attributes.
    pub attributes: Vec<AttributeView>,
}

/// A shape.
#[derive(Debug, Clone, Serialize)]
pub struct ShapeView {
    /// Spans, repeats left out.
    pub spans: u64,
    /// Lines that could not be read.
    pub lines_skipped: u64,
    /// Instrumentation scopes.
    pub scopes: Vec<CountView>,
    /// Attributes of the resources, counted by span.
    pub resource: Vec<AttributeView>,
    /// Operations.
    pub operations: Vec<NodeView>,
}

/// What one of two shapes has at a place.
#[derive(Debug, Clone, Serialize)]
pub struct SideView {
    /// What is there.
    pub found: Vec<CountView>,
    /// Of so many spans.
    pub of: u64,
}

/// One difference.
#[derive(Debug, Clone, Serialize)]
pub struct DifferenceView {
    /// Stable name of the kind.
    pub kind: &'static str,
    /// Operation; empty for scopes and resources.
    pub operation: String,
    /// Attribute, or what is read.
    pub subject: String,
    /// In the first.
    pub a: SideView,
    /// In the second.
    pub b: SideView,
    /// Names of the rules that need it.
    pub rules: Vec<&'static str>,
}

/// A rule that judges otherwise, or may.
#[derive(Debug, Clone, Serialize)]
pub struct RuleView {
    /// Its name.
    pub rule: &'static str,
    /// Its verdict.
    pub label: &'static str,
}

/// Where two shapes part.
#[derive(Debug, Clone, Serialize)]
pub struct DiffView {
    /// The first input.
    pub a: String,
    /// The second.
    pub b: String,
    /// Whether nothing differs.
    pub same: bool,
    /// Rules affected.
    pub affected: Vec<RuleView>,
    /// Spans of the first.
    pub spans_a: u64,
    /// Spans of the second.
    pub spans_b: u64,
    /// Lines of both that could not be read.
    pub lines_skipped: u64,
    /// Differences, those that rules need first.
    pub differences: Vec<DifferenceView>,
}

fn made_plain(counts: &mut [CountView]) {
    counts.iter_mut().for_each(|one| one.name = name(&one.name));
}

/// The same with foreign names that cannot steer a terminal.
fn plain_shape(view: &ShapeView) -> ShapeView {
    let mut view = view.clone();
    made_plain(&mut view.scopes);
    for attribute in &mut view.resource {
        attribute.key = name(&attribute.key);
    }
    for node in &mut view.operations {
        node.operation = name(&node.operation);
        for counts in [&mut node.names, &mut node.parents, &mut node.kept_above] {
            made_plain(counts);
        }
        for attribute in &mut node.attributes {
            attribute.key = name(&attribute.key);
        }
    }
    view
}

fn plain_diff(view: &DiffView) -> DiffView {
    let mut view = view.clone();
    view.a = name(&view.a);
    view.b = name(&view.b);
    for one in &mut view.differences {
        one.operation = name(&one.operation);
        one.subject = name(&one.subject);
        made_plain(&mut one.a.found);
        made_plain(&mut one.b.found);
    }
    view
}

/// A shape for people.
#[must_use]
pub fn shape(texts: &Texts, view: &ShapeView, style: Style) -> String {
    laid_out(&texts.render("shape.j2", plain_shape(view)), style)
}

/// A shape as Markdown.
#[must_use]
pub fn shape_markdown(texts: &Texts, view: &ShapeView) -> String {
    texts.render("shape_md.j2", plain_shape(view))
}

/// Differences for people.
#[must_use]
pub fn diff(texts: &Texts, view: &DiffView, style: Style) -> String {
    laid_out(&texts.render("shape_diff.j2", plain_diff(view)), style)
}

/// Differences as Markdown.
#[must_use]
pub fn diff_markdown(texts: &Texts, view: &DiffView) -> String {
    texts.render("shape_diff_md.j2", plain_diff(view))
}
