//! Small worlds: tools and traces as plain data, how they are made at random, and how they are written as files.
//!
//! Everything is drawn from few values, so that limits are met exactly, starts tie and calls repeat. Judges nothing.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::json::{Json, Spelling};

/// Start of the first slot, nanoseconds since 1970 UTC.
const BASE_NS: i64 = 1_791_331_920_000_000_000;
const NS_PER_MS: i64 = 1_000_000;
/// A parent that is in no file.
const LOST_PARENT: &str = "00000000000000ff";
/// Names that tools have; the two that differ in case are two tools.
const DEFINED: [&str; 4] = ["lookup", "search", "Search", "report"];
/// Keys that schemas declare and arguments have.
const KEYS: [&str; 4] = ["dept_code", "year", "직원", "quarter"];
/// A key that only `required` names.
const REQUIRED_ONLY: &str = "region";
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
/// Agents of a trace, at most.
const AGENTS: usize = 3;
/// Worlds that share a store, at most: opening one and planning the views costs more than all rows.
const WORLDS: usize = 16;

/// Tools, and traces of runs that call them.
#[derive(Clone)]
pub(super) struct World {
    pub(super) tools: Vec<Tool>,
    pub(super) traces: Vec<Trace>,
}

/// As files, a span on each line: what a failing case can be tried with.
impl fmt::Debug for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "tools.json: {}", self.tools_json())?;
        for line in self.lines(&Layout { keys: vec![0], sizes: vec![1] }) {
            writeln!(formatter, "{line}")?;
        }
        Ok(())
    }
}

/// A definition in tools.json.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) schema: Schema,
    pub(super) timeout_ms: i64,
    pub(super) max_retries: i64,
}

/// The schema of a tool's arguments.
#[derive(Debug, Clone)]
pub(super) enum Schema {
    Readable { properties: Vec<(&'static str, Types)>, required: Vec<&'static str> },
    Unreadable(&'static str),
}

/// `properties.<key>.type`.
#[derive(Debug, Clone)]
pub(super) enum Types {
    Any,
    One(&'static str),
    List(Vec<&'static str>),
}

/// One run.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    pub(super) id: String,
    pub(super) spans: Vec<Span>,
}

#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) kind: Kind,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) error: bool,
    /// Chooses among spellings that mean the same.
    style: u8,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Agent(Option<&'static str>),
    Call(&'static str, Args),
    /// Of another operation, or of none: left out, but on the way from a span to its parent.
    Other(&'static str),
    /// An execute_tool span without a tool name: broken input, on the way as well.
    Nameless,
}

/// The arguments of a call as an instrumentation leaves them.
#[derive(Debug, Clone)]
pub(super) enum Args {
    Absent,
    Empty,
    Redacted,
    NotJson(&'static str),
    Text(Json, Spelling),
    Structure(Json),
}

impl Schema {
    /// The text of `json_schema`.
    pub(super) fn text(&self) -> String {
        let (properties, required) = match self {
            Self::Unreadable(text) => return (*text).to_owned(),
            Self::Readable { properties, required } => (properties, required),
        };
        let mut written = Vec::new();
        for (key, types) in properties {
            let declared = match types {
                Types::Any => String::new(),
                Types::One(name) => format!(r#""type":"{name}""#),
                Types::List(names) => format!(r#""type":["{}"]"#, names.join(r#"",""#)),
            };
            written.push(format!(r#""{key}":{{{declared}}}"#));
        }
        let required: Vec<String> = required.iter().map(|key| format!(r#""{key}""#)).collect();
        format!(r#"{{"type":"object","properties":{{{}}},"required":[{}]}}"#, written.join(","), required.join(","))
    }
}

impl World {
    /// The text of tools.json.
    pub(super) fn tools_json(&self) -> String {
        let tools = self.tools.iter().map(|tool| {
            serde_json::json!({
                "tool_name": tool.name,
                "description": "기관 자료를 찾습니다.",
                "json_schema": tool.schema.text(),
                "timeout_ms": tool.timeout_ms,
                "max_retries": tool.max_retries,
            })
        });
        serde_json::Value::from(tools.collect::<Vec<_>>()).to_string()
    }

    /// OTLP JSON lines: spans of all traces in the order of the layout, one to four on a line.
    pub(super) fn lines(&self, layout: &Layout) -> Vec<String> {
        let all = self.traces.iter().flat_map(|trace| trace.spans.iter().map(|span| span.write(&trace.id)));
        let mut keyed: Vec<(u16, String)> = layout.keys.iter().copied().cycle().zip(all).collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut spans: &[(u16, String)] = &keyed;
        let mut lines = Vec::new();
        for size in layout.sizes.iter().cycle() {
            if spans.is_empty() {
                break;
            }
            let (on_line, rest) = spans.split_at((*size).min(spans.len()));
            spans = rest;
            let texts: Vec<&str> = on_line.iter().map(|(_, text)| text.as_str()).collect();
            lines.push(request(&texts, lines.len() % 2 == 0));
        }
        lines
    }

    /// The same with traces of another name, to stand beside this world in one store.
    pub(super) fn named(&self, variant: usize) -> Self {
        let mut world = self.clone();
        for trace in &mut world.traces {
            trace.id.replace_range(..1, &format!("{variant:x}"));
        }
        world
    }

    /// The same with a dropped span between each of these spans and its parent.
    pub(super) fn with_dropped_parents(&self, chosen: &[bool]) -> Self {
        let mut world = self.clone();
        for trace in &mut world.traces {
            let mut added = Vec::new();
            for (number, (span, _)) in
                trace.spans.iter_mut().zip(chosen.iter().cycle()).enumerate().filter(|(_, (_, yes))| **yes)
            {
                let id = format!("{:016x}", 0x100 + number);
                let parent = span.parent.replace(id.clone());
                let (start_ns, end_ns) = (span.start_ns, span.end_ns);
                added.push(Span {
                    id,
                    parent,
                    kind: Kind::Other("chat"),
                    start_ns,
                    end_ns,
                    error: true,
                    style: span.style,
                });
            }
            trace.spans.extend(added);
        }
        world
    }

    /// The same with the keys of all arguments in the opposite order.
    pub(super) fn with_keys_reversed(&self) -> Self {
        let mut world = self.clone();
        for span in world.traces.iter_mut().flat_map(|trace| &mut trace.spans) {
            if let Kind::Call(_, Args::Text(_, spelling)) = &mut span.kind {
                spelling.reversed = !spelling.reversed;
            }
        }
        world
    }
}

/// An ExportTraceServiceRequest on one line, its spans in one group or in a group each.
fn request(spans: &[&str], one_group: bool) -> String {
    let group = |spans: &str| {
        format!(r#"{{"resource":{{"attributes":[]}},"scopeSpans":[{{"scope":{{"name":"demo"}},"spans":[{spans}]}}]}}"#)
    };
    let groups: Vec<String> =
        if one_group { vec![group(&spans.join(","))] } else { spans.iter().map(|span| group(span)).collect() };
    format!(r#"{{"resourceSpans":[{}]}}"#, groups.join(","))
}

impl Span {
    fn write(&self, trace_id: &str) -> String {
        let mut text = format!(r#"{{"traceId":"{trace_id}","spanId":"{}""#, self.id);
        match (&self.parent, self.style % 4) {
            (Some(parent), _) => text += &format!(r#","parentSpanId":"{parent}""#),
            (None, 0) => {}
            (None, 1) => text += r#","parentSpanId":"""#,
            (None, 2) => text += r#","parentSpanId":null"#,
            (None, _) => text += r#","parentSpanId":"0000000000000000""#,
        }
        let (start, end) = (self.start_ns, self.end_ns);
        text += &format!(r#","name":"span","startTimeUnixNano":"{start}","endTimeUnixNano":{end}"#);
        let mut attributes = self.attributes();
        if self.style.is_multiple_of(2) {
            attributes.reverse();
        }
        text += &format!(r#","attributes":[{}]"#, attributes.join(","));
        text + match (self.error, self.style % 3) {
            (true, 0) => r#","status":{"code":"STATUS_CODE_ERROR"}}"#,
            (true, _) => r#","status":{"code":2,"message":"failed"}}"#,
            (false, 0) => r#","status":{}}"#,
            (false, 1) => r#","status":{"code":0}}"#,
            (false, _) => r#","status":{"code":1}}"#,
        }
    }

    fn attributes(&self) -> Vec<String> {
        let named = |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
        let operation = |name: &str| named("gen_ai.operation.name", name);
        match &self.kind {
            Kind::Agent(name) => [operation("invoke_agent")]
                .into_iter()
                .chain(name.map(|name| named("gen_ai.agent.name", name)))
                .collect(),
            Kind::Call(name, args) => {
                let arguments =
                    args.value().map(|value| format!(r#"{{"key":"gen_ai.tool.call.arguments","value":{value}}}"#));
                [operation("execute_tool"), named("gen_ai.tool.name", name)].into_iter().chain(arguments).collect()
            }
            Kind::Other("") => vec![named("http.request.method", "GET")],
            Kind::Other(name) => vec![operation(name)],
            Kind::Nameless => vec![operation("execute_tool")],
        }
    }
}

impl Args {
    /// The AnyValue of the attribute; none when it is absent.
    fn value(&self) -> Option<String> {
        let text = |text: &str| format!(r#"{{"stringValue":{}}}"#, serde_json::Value::from(text));
        match self {
            Self::Absent => None,
            Self::Empty => Some("{}".to_owned()),
            Self::Redacted => Some(text("[REDACTED]")),
            Self::NotJson(written) => Some(text(written)),
            Self::Text(json, spelling) => Some(text(&json.write(*spelling))),
            Self::Structure(json) => Some(json.any_value()),
        }
    }
}

/// How the spans of a world are spread over lines.
#[derive(Clone)]
pub(super) struct Layout {
    /// Spans are written in the order of these.
    keys: Vec<u16>,
    /// Spans on each line.
    sizes: Vec<usize>,
}

/// Nothing: the lines of a failing case are shown with it.
impl fmt::Debug for Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Layout")
    }
}

pub(super) fn layout() -> impl Strategy<Value = Layout> {
    (prop::collection::vec(any::<u16>(), 61), prop::collection::vec(1..=4_usize, 1..=5))
        .prop_map(|(keys, sizes)| Layout { keys, sizes })
}

/// Worlds, each with its own tools and traces.
pub(super) fn worlds() -> impl Strategy<Value = Vec<World>> {
    prop::collection::vec(world(), 1..=WORLDS).prop_map(|mut worlds| {
        for (number, world) in worlds.iter_mut().enumerate() {
            for trace in &mut world.traces {
                trace.id = format!("{number:016x}{}", trace.id);
            }
        }
        worlds
    })
}

fn world() -> impl Strategy<Value = World> {
    let few = subsequence(DEFINED.to_vec(), 1..=2);
    let names = prop_oneof![1 => few, 3 => subsequence(DEFINED.to_vec(), 3..=DEFINED.len())].prop_shuffle();
    let bodies = prop::collection::vec((schema(), 1..=5_i64, 1..=3_i64), DEFINED.len());
    let tools = (names, bodies).prop_map(|(names, bodies)| {
        let tools = names.into_iter().zip(bodies);
        tools.map(|(name, (schema, timeout_ms, max_retries))| Tool { name, schema, timeout_ms, max_retries }).collect()
    });
    // Few texts for all calls of a world, so that equal ones follow one another.
    let traces = (super::json::args(&KEYS), super::json::args(&KEYS))
        .prop_map(|(one, other)| vec![one.with_other_number_texts(), one, other])
        .prop_flat_map(|pool| prop::collection::vec(trace(pool), 1..=4))
        .prop_flat_map(|drafts| (Just(drafts), Just((1..=4).collect::<Vec<u8>>()).prop_shuffle()))
        .prop_map(|(drafts, ids)| {
            let named = drafts.into_iter().zip(ids);
            named.map(|(spans, id)| Trace { id: format!("{id:016x}"), spans }).collect()
        });
    (tools, traces).prop_map(|(tools, traces)| World { tools, traces })
}

fn schema() -> impl Strategy<Value = Schema> {
    let types = prop_oneof![
        5 => Just(Types::Any),
        4 => select(&TYPES[..]).prop_map(Types::One),
        4 => subsequence(TYPES.to_vec(), 1..=5).prop_shuffle().prop_map(Types::List),
    ];
    let properties = subsequence(KEYS.to_vec(), 0..=KEYS.len()).prop_shuffle();
    let mut names = KEYS.to_vec();
    names.push(REQUIRED_ONLY);
    let required = prop_oneof![Just(Vec::new()), subsequence(names, 0..=3).prop_shuffle()];
    let readable =
        (properties, prop::collection::vec(types, KEYS.len()), required).prop_map(|(keys, types, required)| {
            Schema::Readable { properties: keys.into_iter().zip(types).collect(), required }
        });
    let unreadable = select(&["{", r#"{"type":"sheet"}"#, r#"{"required":"dept_code"}"#, ""][..]);
    prop_oneof![8 => readable, 1 => unreadable.prop_map(Schema::Unreadable)]
}

/// What stands before the ids of a trace are known.
#[derive(Debug, Clone)]
struct Draft {
    kind: Kind,
    parent: Parent,
    start_ns: i64,
    duration_ns: i64,
    error: bool,
    style: u8,
}

#[derive(Debug, Clone)]
enum Parent {
    None,
    /// One of the spans made before.
    Above(Index),
    /// Any span that may stand above this one, itself included.
    Any(Index),
    Lost,
}

fn trace(pool: Vec<Json>) -> impl Strategy<Value = Vec<Span>> {
    let agent = select(&[Some("규정 질의"), Some("b"), None][..]).prop_map(Kind::Agent);
    let other = select(&["chat", "", "embeddings"][..]).prop_map(Kind::Other);
    let upper = prop_oneof![8 => agent.clone(), 6 => other, 1 => Just(Kind::Nameless)];
    let name = prop_oneof![
        20 => Just("lookup"), 8 => Just("search"), 4 => Just("Search"), 4 => Just("report"), 1 => Just("nowhere"),
    ];
    let call = (name, args(pool)).prop_map(|(name, args)| Kind::Call(name, args));
    // Most runs have a root agent, so that they can be judged.
    let root = prop::option::weighted(0.8, draft(agent, (8, 0, 1, 1)));
    let uppers = (root, prop::collection::vec(draft(upper, (10, 12, 1, 3)), 0..=5))
        .prop_map(|(root, others)| root.into_iter().chain(others).collect());
    let calls = prop::collection::vec(draft(call, (1, 12, 1, 1)), 0..=8);
    let ids = Just((1..=14).collect::<Vec<u8>>()).prop_shuffle();
    let agents_tie = prop::bool::weighted(0.3);
    (uppers, calls, ids, agents_tie)
        .prop_map(|(uppers, calls, ids, agents_tie)| assemble(tie_agents(uppers, agents_tie), calls, &ids))
}

fn args(pool: Vec<Json>) -> impl Strategy<Value = Args> {
    let spelling = (prop::bool::weighted(0.3), prop::bool::weighted(0.2), prop::bool::weighted(0.3))
        .prop_map(|(spaced, escaped, reversed)| Spelling { spaced, escaped, reversed });
    let objects: Vec<Json> = pool.iter().filter(|json| matches!(json, Json::Object(_))).cloned().collect();
    let structure =
        if objects.is_empty() { Just(Args::Absent).boxed() } else { select(objects).prop_map(Args::Structure).boxed() };
    let not_json = select(&["{\"dept_code\":", "dept_code=D-1", "{'dept_code': code}", "", "{} {}", "01"][..]);
    prop_oneof![
        16 => (select(pool), spelling).prop_map(|(json, spelling)| Args::Text(json, spelling)),
        2 => structure,
        1 => not_json.prop_map(Args::NotJson),
        1 => select(vec![Args::Absent, Args::Empty, Args::Redacted]),
    ]
}

/// `parents` weighs no parent, one made before, any, and a lost one.
fn draft(kind: impl Strategy<Value = Kind>, parents: (u32, u32, u32, u32)) -> impl Strategy<Value = Draft> {
    let (none, above, anywhere, lost) = parents;
    let parent = prop_oneof![
        none => Just(Parent::None),
        above => any::<Index>().prop_map(Parent::Above),
        anywhere => any::<Index>().prop_map(Parent::Any),
        lost => Just(Parent::Lost),
    ];
    // The remainders below a millisecond decide ties and the rounding of durations.
    let remainder = || select(&[0, 0, 0, 1, NS_PER_MS - 1][..]);
    let start = (0..=4_i64, remainder()).prop_map(|(slot, rest)| BASE_NS + slot * NS_PER_MS + rest);
    let duration = (0..=7_i64, remainder()).prop_map(|(whole, rest)| whole * NS_PER_MS + rest);
    (kind, parent, start, duration, prop::bool::weighted(0.4), any::<u8>()).prop_map(
        |(kind, parent, start_ns, duration_ns, error, style)| Draft {
            kind,
            parent,
            start_ns,
            duration_ns,
            error,
            style,
        },
    )
}

/// Gives all agents the times of the first one.
fn tie_agents(mut uppers: Vec<Draft>, tie: bool) -> Vec<Draft> {
    let mut agents = uppers.iter_mut().filter(|draft| tie && matches!(draft.kind, Kind::Agent(_)));
    if let Some(first) = agents.next() {
        for agent in agents {
            (agent.start_ns, agent.duration_ns) = (first.start_ns, first.duration_ns);
        }
    }
    uppers
}

/// Gives spans their ids and parents. A call never stands below a call unless an agent is between: such a pair
/// would be one logical call.
fn assemble(mut uppers: Vec<Draft>, calls: Vec<Draft>, ids: &[u8]) -> Vec<Span> {
    let mut agents = 0;
    for draft in &mut uppers {
        agents += usize::from(matches!(draft.kind, Kind::Agent(_)));
        if agents > AGENTS && matches!(draft.kind, Kind::Agent(_)) {
            draft.kind = Kind::Other("chat");
        }
    }
    let (upper_count, count) = (uppers.len(), uppers.len() + calls.len());
    let id = |place: usize| format!("{:016x}", ids[place]);
    let drafts = uppers.into_iter().chain(calls).enumerate();
    drafts
        .map(|(place, draft)| {
            let above = place.min(upper_count);
            let anywhere = if matches!(draft.kind, Kind::Agent(_)) { count } else { upper_count };
            let parent = match draft.parent {
                Parent::Above(index) if above > 0 => Some(id(index.index(above))),
                Parent::Any(index) if anywhere > 0 => Some(id(index.index(anywhere))),
                Parent::Lost => Some(LOST_PARENT.to_owned()),
                Parent::None | Parent::Above(_) | Parent::Any(_) => None,
            };
            let Draft { kind, start_ns, duration_ns, error, style, .. } = draft;
            Span { id: id(place), parent, kind, start_ns, end_ns: start_ns + duration_ns, error, style }
        })
        .collect()
}
