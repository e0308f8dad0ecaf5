//! The shape of traces: operations, nesting, attributes with their types, use of status; and where two shapes part.
//!
//! Pure: spans come in one by one and are added up, so memory grows with the number of operations and keys, each
//! bounded, and with the parents looked up, bounded too. It opens nothing and words nothing. Ids, times and values are
//! no part of a shape. Start with [`Shaping`] and [`differences`]; what the rules need stands in [`Need::rules`].

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Operation, Rule};

/// How many operations are told apart; the spans of those after them count under the empty name.
const MAX_OPERATIONS: usize = 2_048;
/// How many keys an operation, or the resources, may have; what comes after is counted nowhere.
const MAX_KEYS: usize = 1_024;
/// How many forms of a name, scopes or parents are told apart.
const MAX_FORMS: usize = 64;
/// How many spans wait for their parents before the older half is settled.
const MAX_WAITING: usize = 1 << 20;
/// What is seen so seldom that fewer than this were to be expected may be missing by chance (one time in twenty).
const EXPECTED: u64 = 3;

/// What the rules read of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// That a span is a run or a call: `gen_ai.operation.name` or what a convention has in its place.
    Operation,
    /// The kept span above it.
    Nesting,
    /// `status.code`.
    Status,
    /// That the status is there at all: a span without it is skipped.
    StatusThere,
    /// Start and end: a span without them is skipped.
    Times,
    /// The name of the agent.
    AgentName,
    /// The name of the tool.
    ToolName,
    /// The arguments of a call.
    Arguments,
    /// The result of a call.
    Result,
    /// The id of a call.
    CallId,
    /// The kind of an error.
    ErrorType,
    /// The messages of a model, in which calls may stand that have no span.
    Messages,
}

impl Need {
    /// Everything that is read, in the order of the documents.
    pub const ALL: [Self; 12] = [
        Self::Operation,
        Self::Nesting,
        Self::Status,
        Self::StatusThere,
        Self::Times,
        Self::ToolName,
        Self::Arguments,
        Self::CallId,
        Self::Messages,
        Self::AgentName,
        Self::Result,
        Self::ErrorType,
    ];

    /// The rules that rest on it. The last three are shown to people and judged by no rule.
    #[must_use]
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::Operation | Self::Nesting | Self::StatusThere | Self::Times | Self::ToolName => &Rule::ALL,
            Self::Status => &[Rule::TimeoutExceeded, Rule::ErrorHidden],
            Self::Arguments => &[Rule::ArgsMismatch, Rule::RetryOverLimit],
            Self::CallId => &[Rule::RetryOverLimit],
            Self::Messages => &[Rule::UndefinedTool, Rule::ArgsMismatch, Rule::RetryOverLimit],
            Self::AgentName | Self::Result | Self::ErrorType => &[],
        }
    }

    /// Whether the value is read alike in each of these types.
    fn takes(self, kind: &str) -> bool {
        match self {
            Self::Arguments => matches!(kind, "string" | "kvlist" | "bytes"),
            Self::AgentName | Self::ToolName | Self::CallId | Self::ErrorType => {
                matches!(kind, "string" | "integer" | "double" | "boolean")
            }
            _ => true,
        }
    }
}

/// What a span does with its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatusUse {
    /// There is no status.
    Absent,
    /// UNSET.
    Unset,
    /// OK.
    Ok,
    /// ERROR.
    Error,
    /// Something that is no status.
    Invalid,
}

impl StatusUse {
    /// Its stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Unset => "unset",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Invalid => "invalid",
        }
    }
}

/// One attribute of a span, or of one of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenAttribute {
    /// Its key; that of an event stands behind `event NAME: `.
    pub key: String,
    /// Its type in OTLP: `string`, `boolean`, `integer`, `double`, `array`, `kvlist`, `bytes` or `empty`.
    pub kind: &'static str,
    /// What the convention that recognised the span reads from it.
    pub need: Option<Need>,
}

/// One span, without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSpan {
    /// `invoke_agent` or `execute_tool` of a kept span, else the operation recorded, else the name.
    pub operation: String,
    /// Whether it is kept.
    pub is_kept: bool,
    /// Its name without what differs from span to span.
    pub name: String,
    /// Hash of trace id and span id; none when one of them is not usable.
    pub id: Option<u64>,
    /// The same of its parent; none at the top.
    pub parent: Option<u64>,
    /// Its status.
    pub status: StatusUse,
    /// What can be read of it.
    pub readable: Vec<Need>,
    /// Its attributes.
    pub attributes: Vec<SeenAttribute>,
}

/// The spans of one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenGroup {
    /// Name, version and schema of the scope, empty where there is none.
    pub scope: Scope,
    /// Keys of its resource with their types.
    pub resource: Vec<(String, &'static str)>,
    /// Spans.
    pub spans: Vec<SeenSpan>,
}

/// An instrumentation scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// `schemaUrl` of its spans.
    pub schema_url: String,
}

/// What stands above a span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Above {
    /// Nothing: it names no parent.
    Nothing,
    /// A parent that is not in the input.
    Lost,
    /// A span of this operation.
    Span(NodeKey),
}

/// What tells the operations of a shape apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeKey {
    /// Name of the operation.
    pub operation: String,
    /// Whether spans of it are kept.
    pub is_kept: bool,
}

/// How many spans, those in error apart: what only an error has is not missing where there was none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spans {
    /// Not in error.
    pub fine: u64,
    /// In error.
    pub failed: u64,
}

impl Spans {
    /// All.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.fine + self.failed
    }

    fn add(&mut self, failed: bool) {
        *(if failed { &mut self.failed } else { &mut self.fine }) += 1;
    }
}

/// How often a key is there, and with which types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribute {
    /// Spans that have it.
    pub present: Spans,
    /// Spans by type.
    pub types: BTreeMap<&'static str, u64>,
    /// What is read from it.
    pub need: Option<Need>,
}

/// One operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Spans of it.
    pub spans: Spans,
    /// Forms of their names.
    pub names: BTreeMap<String, u64>,
    /// What can be read of them.
    pub readable: BTreeMap<Need, Spans>,
    /// Their attributes.
    pub attributes: BTreeMap<String, Attribute>,
    /// Their status.
    pub status: BTreeMap<StatusUse, u64>,
    /// Their parents.
    pub parents: BTreeMap<Above, u64>,
    /// The nearest kept spans above them; nothing where none of those above is kept.
    pub kept_above: BTreeMap<Above, u64>,
}

/// The shape of an input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// Spans, repeats left out.
    pub spans: u64,
    /// Spans by scope.
    pub scopes: BTreeMap<Scope, u64>,
    /// Attributes of the resources, counted by span.
    pub resource: BTreeMap<String, Attribute>,
    /// Operations.
    pub nodes: BTreeMap<NodeKey, Node>,
}

/// A span whose parents are still to be found.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    node: u32,
    parent: Option<u64>,
}

/// Adds spans up to a [`Shape`].
#[derive(Debug, Default)]
pub struct Shaping {
    shape: Shape,
    keys: Vec<NodeKey>,
    numbers: BTreeMap<NodeKey, u32>,
    older: BTreeMap<u64, Waiting>,
    newer: BTreeMap<u64, Waiting>,
}

impl Shaping {
    /// Adds a group of spans. A span that came before counts once.
    pub fn add(&mut self, group: SeenGroup) {
        let mut added = 0;
        for span in group.spans {
            if span.id.is_some_and(|id| self.newer.contains_key(&id) || self.older.contains_key(&id)) {
                continue;
            }
            added += 1;
            self.add_span(span);
        }
        if added == 0 {
            return;
        }
        self.shape.spans += added;
        count(&mut self.shape.scopes, group.scope, added, MAX_FORMS);
        let mut told = BTreeSet::new();
        for (key, kind) in group.resource {
            if let Some(attribute) = attribute(&mut self.shape.resource, &key)
                && told.insert(key)
            {
                attribute.present.fine += added;
                *attribute.types.entry(kind).or_default() += added;
            }
        }
    }

    fn add_span(&mut self, span: SeenSpan) {
        let number = self.number(NodeKey { operation: span.operation, is_kept: span.is_kept });
        let Some(key) = self.keys.get(number as usize) else { return };
        let node = self.shape.nodes.entry(key.clone()).or_default();
        let failed = span.status == StatusUse::Error;
        node.spans.add(failed);
        count(&mut node.names, span.name, 1, MAX_FORMS);
        *node.status.entry(span.status).or_default() += 1;
        for need in span.readable {
            node.readable.entry(need).or_default().add(failed);
        }
        let mut told = BTreeSet::new();
        for SeenAttribute { key, kind, need } in span.attributes {
            // Of a repeated key, or one with numbers in it, the first counts.
            if !told.contains(&key)
                && let Some(attribute) = attribute(&mut node.attributes, &key)
            {
                attribute.present.add(failed);
                *attribute.types.entry(kind).or_default() += 1;
                attribute.need = attribute.need.or(need);
                told.insert(key);
            }
        }
        let waiting = Waiting { node: number, parent: span.parent };
        match span.id {
            Some(id) => {
                self.newer.insert(id, waiting);
            }
            None => self.settle(waiting),
        }
        if self.newer.len() >= MAX_WAITING {
            let waiting: Vec<Waiting> = self.older.values().copied().collect();
            waiting.into_iter().for_each(|one| self.settle(one));
            self.older = std::mem::take(&mut self.newer);
        }
    }

    fn number(&mut self, key: NodeKey) -> u32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let key = match self.keys.len() < MAX_OPERATIONS {
            true => key,
            false => NodeKey { operation: String::new(), is_kept: key.is_kept },
        };
        let next = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }

    fn find(&self, id: u64) -> Option<Waiting> {
        self.newer.get(&id).or_else(|| self.older.get(&id)).copied()
    }

    fn settle(&mut self, span: Waiting) {
        let above = |found: Waiting| self.keys.get(found.node as usize).cloned().map_or(Above::Lost, Above::Span);
        let parent = match span.parent {
            None => Above::Nothing,
            Some(id) => self.find(id).map_or(Above::Lost, above),
        };
        let mut kept = Above::Nothing;
        let mut next = span.parent;
        // A circle of parents has an end here too.
        for _ in 0..MAX_KEYS {
            let Some(id) = next else { break };
            let Some(found) = self.find(id) else {
                kept = Above::Lost;
                break;
            };
            if self.keys.get(found.node as usize).is_some_and(|key| key.is_kept) {
                kept = above(found);
                break;
            }
            next = found.parent;
        }
        if let Some(node) = self.keys.get(span.node as usize).and_then(|key| self.shape.nodes.get_mut(key)) {
            count(&mut node.parents, parent, 1, MAX_FORMS);
            count(&mut node.kept_above, kept, 1, MAX_FORMS);
        }
    }

    /// The shape of all spans added.
    #[must_use]
    pub fn finish(mut self) -> Shape {
        let waiting: Vec<Waiting> = self.older.values().chain(self.newer.values()).copied().collect();
        waiting.into_iter().for_each(|one| self.settle(one));
        self.shape
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, more: u64, max: usize) {
    if let Some(known) = counts.get_mut(&key) {
        *known += more;
    } else if counts.len() < max {
        counts.insert(key, more);
    }
}

fn attribute<'a>(attributes: &'a mut BTreeMap<String, Attribute>, key: &str) -> Option<&'a mut Attribute> {
    if !attributes.contains_key(key) {
        if attributes.len() >= MAX_KEYS {
            return None;
        }
        attributes.insert(key.to_owned(), Attribute::default());
    }
    attributes.get_mut(key)
}

/// How two shapes part at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// No span of an operation.
    OperationMissing,
    /// Spans of an operation that is not there otherwise.
    OperationExtra,
    /// Other parents.
    Nesting,
    /// Another use of status.
    Status,
    /// An attribute is gone.
    AttributeMissing,
    /// An attribute came.
    AttributeExtra,
    /// An attribute is there more seldom, or more often.
    AttributeRate,
    /// An attribute has another type.
    AttributeType,
    /// Something can be read in one of them only, though the attributes are the same.
    Readable,
    /// Names of another form.
    Name,
    /// Another instrumentation scope.
    Scope,
    /// An attribute of the resource is gone.
    ResourceMissing,
    /// An attribute of the resource came.
    ResourceExtra,
    /// An attribute of the resource has another type.
    ResourceType,
}

impl Kind {
    /// Its stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OperationMissing => "operation_missing",
            Self::OperationExtra => "operation_extra",
            Self::Nesting => "nesting",
            Self::Status => "status",
            Self::AttributeMissing => "attribute_missing",
            Self::AttributeExtra => "attribute_extra",
            Self::AttributeRate => "attribute_rate",
            Self::AttributeType => "attribute_type",
            Self::Readable => "readable",
            Self::Name => "name",
            Self::Scope => "scope",
            Self::ResourceMissing => "resource_missing",
            Self::ResourceExtra => "resource_extra",
            Self::ResourceType => "resource_type",
        }
    }
}

/// What one of two shapes has at a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// What is there, with the number of spans.
    pub found: Vec<(String, u64)>,
    /// Of so many spans.
    pub of: u64,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// How they part.
    pub kind: Kind,
    /// The operation; empty for scopes and resources.
    pub operation: String,
    /// The attribute or what is read; empty where the operation says it all.
    pub subject: String,
    /// What the first has.
    pub a: Side,
    /// What the second has.
    pub b: Side,
    /// Names of the rules that need it.
    pub rules: Vec<&'static str>,
}

impl Above {
    /// The operation, `-` for nothing, `?` for a parent that is not there.
    #[must_use]
    pub fn shown(&self) -> &str {
        match self {
            Self::Nothing => "-",
            Self::Lost => "?",
            Self::Span(key) => &key.operation,
        }
    }
}

/// Where `b` parts from `a`, those that rules need first. The order of what they hold, how many spans there are and
/// their values do not count; nor does what is missing only because too few spans could have it.
#[must_use]
pub fn differences(a: &Shape, b: &Shape) -> Vec<Difference> {
    let mut found = Vec::new();
    let keys: BTreeSet<&NodeKey> = a.nodes.keys().chain(b.nodes.keys()).collect();
    for key in keys {
        match (a.nodes.get(key), b.nodes.get(key)) {
            (Some(left), Some(right)) => of_node(key, left, right, &mut found),
            (left, right) => {
                let side = |node: Option<&Node>| {
                    let spans = node.map_or(0, |node| node.spans.all());
                    Side { found: Vec::new(), of: spans }
                };
                let needs: &[Rule] = if key.is_kept { Need::Operation.rules() } else { lost_messages(left.or(right)) };
                found.push(Difference {
                    kind: if left.is_some() { Kind::OperationMissing } else { Kind::OperationExtra },
                    operation: key.operation.clone(),
                    subject: String::new(),
                    a: side(left),
                    b: side(right),
                    rules: names(needs),
                });
            }
        }
    }
    of_frame(a, b, &mut found);
    found.sort_by_key(|one| (one.rules.is_empty(), one.kind == Kind::Scope, one.operation.is_empty()));
    found
}

/// The rules that an operation which is not kept feeds: through the messages that its spans hold.
fn lost_messages(node: Option<&Node>) -> &'static [Rule] {
    match node.is_some_and(|node| node.readable.contains_key(&Need::Messages)) {
        true => Need::Messages.rules(),
        false => &[],
    }
}

fn names(rules: &[Rule]) -> Vec<&'static str> {
    rules.iter().map(|rule| rule.as_str()).collect()
}

fn of_node(key: &NodeKey, a: &Node, b: &Node, found: &mut Vec<Difference>) {
    let (spans_a, spans_b) = (a.spans, b.spans);
    let mut add = |kind, subject: &str, left: Vec<(String, u64)>, right: Vec<(String, u64)>, rules: &[Rule]| {
        found.push(Difference {
            kind,
            operation: key.operation.clone(),
            subject: subject.to_owned(),
            a: Side { found: left, of: spans_a.all() },
            b: Side { found: right, of: spans_b.all() },
            rules: names(rules),
        });
    };
    let above = |counts: &BTreeMap<Above, u64>| listed(counts, Above::shown);
    let kept_part = key.is_kept && part(&a.kept_above, &b.kept_above);
    if part(&a.parents, &b.parents) {
        add(Kind::Nesting, "", above(&a.parents), above(&b.parents), nesting_rules(key, kept_part));
    } else if kept_part {
        add(Kind::Nesting, "", above(&a.kept_above), above(&b.kept_above), nesting_rules(key, true));
    }
    if status_parts(a, b) {
        let status = |node: &Node| listed(&node.status, |status| status.as_str());
        add(Kind::Status, "", status(a), status(b), status_rules(key, a, b));
    }
    let mut told: BTreeSet<Need> = BTreeSet::new();
    let none = Attribute::default();
    let subjects: BTreeSet<&String> = a.attributes.keys().chain(b.attributes.keys()).collect();
    for subject in subjects {
        let (left, right) = (a.attributes.get(subject).unwrap_or(&none), b.attributes.get(subject).unwrap_or(&none));
        let need = left.need.or(right.need).filter(|_| key.is_kept);
        let types = |attribute: &Attribute| listed(&attribute.types, |kind| kind);
        if let Some(kind) = presence((left.present, spans_a), (right.present, spans_b)) {
            // Another attribute may say the same: then nothing is lost.
            let rules = need.filter(|need| readable_parts(*need, a, b)).map_or(&[][..], Need::rules);
            told.extend(need);
            add(kind, subject, types(left), types(right), rules);
        } else if left.present.all() > 0 && right.present.all() > 0 && part(&left.types, &right.types) {
            let mut kinds = left.types.keys().chain(right.types.keys());
            let rules = need.filter(|need| !kinds.all(|kind| need.takes(kind))).map_or(&[][..], Need::rules);
            told.extend(need);
            add(Kind::AttributeType, subject, types(left), types(right), rules);
        }
    }
    for need in Need::ALL.into_iter().filter(|need| !told.contains(need)) {
        if readable_parts(need, a, b) {
            let side = |node: &Node| {
                let spans = node.readable.get(&need).map_or(0, |spans| spans.all());
                if spans > 0 { vec![(need_name(need).to_owned(), spans)] } else { Vec::new() }
            };
            add(Kind::Readable, need_name(need), side(a), side(b), need.rules());
        }
    }
    // So many forms are values.
    if part(&a.names, &b.names) && a.names.len().max(b.names.len()) < MAX_FORMS {
        add(Kind::Name, "", listed(&a.names, |name| name), listed(&b.names, |name| name), &[]);
    }
}

/// The stable name of what is read.
#[must_use]
pub const fn need_name(need: Need) -> &'static str {
    match need {
        Need::Operation => "operation",
        Need::Nesting => "nesting",
        Need::Status => "status",
        Need::StatusThere => "status_there",
        Need::Times => "times",
        Need::AgentName => "agent_name",
        Need::ToolName => "tool_name",
        Need::Arguments => "arguments",
        Need::Result => "result",
        Need::CallId => "call_id",
        Need::ErrorType => "error_type",
        Need::Messages => "messages",
    }
}

fn readable_parts(need: Need, a: &Node, b: &Node) -> bool {
    let of = |node: &Node| (node.readable.get(&need).copied().unwrap_or_default(), node.spans);
    presence(of(a), of(b)).is_some()
}

/// Calls have to stand under their run; which run stands at the top decides what the final answer is.
fn nesting_rules(key: &NodeKey, parts: bool) -> &'static [Rule] {
    match parts {
        false => &[],
        true if key.operation == Operation::ExecuteTool.as_str() => Need::Nesting.rules(),
        true => &[Rule::ErrorHidden],
    }
}

/// Whether status is used in another way. That a call failed is a value, like what it returned: errors tell only when
/// the other side has errors that its status does not.
fn status_parts(a: &Node, b: &Node) -> bool {
    let apart_from_errors = |node: &Node| {
        let mut status = node.status.clone();
        status.remove(&StatusUse::Error);
        status
    };
    part(&apart_from_errors(a), &apart_from_errors(b)) || loses_errors(a, b)
}

/// Whether one side tells by status of the errors that the other only names (`error.type`).
fn loses_errors(a: &Node, b: &Node) -> bool {
    let in_status = |node: &Node| node.status.contains_key(&StatusUse::Error);
    let beside_it =
        |node: &Node| node.attributes.values().any(|one| one.need == Some(Need::ErrorType) && one.present.fine > 0);
    let lost = |own: &Node, other: &Node| in_status(own) && !beside_it(own) && beside_it(other) && !in_status(other);
    lost(a, b) || lost(b, a)
}

/// OK and UNSET are read alike; what counts is whether a status is ever set, and whether it is there.
fn status_rules(key: &NodeKey, a: &Node, b: &Node) -> &'static [Rule] {
    let is_set = |node: &Node| node.status.keys().any(|status| matches!(status, StatusUse::Ok | StatusUse::Error));
    let is_broken = |node: &Node| node.status.keys().any(|one| matches!(one, StatusUse::Absent | StatusUse::Invalid));
    if !key.is_kept {
        &[]
    } else if is_broken(a) != is_broken(b) {
        Need::StatusThere.rules()
    } else if is_set(a) != is_set(b) || loses_errors(a, b) {
        Need::Status.rules()
    } else {
        &[]
    }
}

fn of_frame(a: &Shape, b: &Shape, found: &mut Vec<Difference>) {
    let mut add = |kind, subject: &str, left: Vec<(String, u64)>, right: Vec<(String, u64)>| {
        let (subject, operation) = (subject.to_owned(), String::new());
        let (a, b) = (Side { found: left, of: a.spans }, Side { found: right, of: b.spans });
        found.push(Difference { kind, operation, subject, a, b, rules: Vec::new() });
    };
    if !a.scopes.keys().eq(b.scopes.keys()) {
        let scopes = |shape: &Shape, other: &Shape| {
            let own = shape.scopes.iter().filter(|(scope, _)| !other.scopes.contains_key(scope));
            own.map(|(scope, spans)| (scope_name(scope), *spans)).collect::<Vec<_>>()
        };
        add(Kind::Scope, "", scopes(a, b), scopes(b, a));
    }
    let none = Attribute::default();
    let subjects: BTreeSet<&String> = a.resource.keys().chain(b.resource.keys()).collect();
    for subject in subjects {
        let (left, right) = (a.resource.get(subject).unwrap_or(&none), b.resource.get(subject).unwrap_or(&none));
        let kind = match (left.present.all(), right.present.all()) {
            (_, 0) => Kind::ResourceMissing,
            (0, _) => Kind::ResourceExtra,
            _ if part(&left.types, &right.types) => Kind::ResourceType,
            _ => continue,
        };
        add(kind, subject, listed(&left.types, |kind| kind), listed(&right.types, |kind| kind));
    }
}

/// Name and version of a scope, and its schema where it has one.
#[must_use]
pub fn scope_name(scope: &Scope) -> String {
    let parts = [&scope.name, &scope.version, &scope.schema_url];
    let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

fn listed<K>(counts: &BTreeMap<K, u64>, shown: impl Fn(&K) -> &str) -> Vec<(String, u64)> {
    counts.iter().map(|(key, spans)| (shown(key).to_owned(), *spans)).collect()
}

/// Whether two counts hold different things: nothing in common, or one holds often what the other never does.
fn part<K: Ord>(a: &BTreeMap<K, u64>, b: &BTreeMap<K, u64>) -> bool {
    let (all_a, all_b): (u64, u64) = (a.values().sum(), b.values().sum());
    if all_a == 0 || all_b == 0 {
        return false;
    }
    let often = |own: &BTreeMap<K, u64>, other: &BTreeMap<K, u64>, all: u64, all_other: u64| {
        let only = own.iter().filter(|(key, _)| !other.contains_key(key));
        only.map(|(_, spans)| spans).any(|spans| is_expected(*spans, all, all_other))
    };
    a.keys().all(|key| !b.contains_key(key)) || often(a, b, all_a, all_b) || often(b, a, all_b, all_a)
}

/// Whether what `seen` of `of` spans have is to be expected in `others` spans, more than by chance.
const fn is_expected(seen: u64, of: u64, others: u64) -> bool {
    seen.saturating_mul(others) >= EXPECTED.saturating_mul(of)
}

/// How the share of spans that have something parts: over all of them, and among those in error or not in error alone.
fn presence(a: (Spans, Spans), b: (Spans, Spans)) -> Option<Kind> {
    let all = share((a.0.all(), a.1.all()), (b.0.all(), b.1.all()))?;
    let fine = share((a.0.fine, a.1.fine), (b.0.fine, b.1.fine));
    let failed = share((a.0.failed, a.1.failed), (b.0.failed, b.1.failed));
    (fine.is_some() || failed.is_some()).then_some(all)
}

fn share((has_a, of_a): (u64, u64), (has_b, of_b): (u64, u64)) -> Option<Kind> {
    if of_a == 0 || of_b == 0 {
        return None;
    }
    let gone = |has: u64, of: u64, other: u64| has > 0 && (has == of || is_expected(has, of, other));
    match (has_a, has_b) {
        (_, 0) => gone(has_a, of_a, of_b).then_some(Kind::AttributeMissing),
        (0, _) => gone(has_b, of_b, of_a).then_some(Kind::AttributeExtra),
        _ if has_a == of_a => is_expected(of_b - has_b, of_b, of_a).then_some(Kind::AttributeRate),
        _ if has_b == of_b => is_expected(of_a - has_a, of_a, of_b).then_some(Kind::AttributeRate),
        _ => None,
    }
}
