//! Traces of AI agents as the file exporter of an OpenTelemetry Collector writes them, made from a seed.
//!
//! Runs overlap, and spans come in the order in which they end: children before parents, traces mixed. One span in a
//! thousand is delivered twice. Memory is bounded by the runs that overlap, not by the size of the output.

mod random;
mod run;
mod text;
mod tools;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::io::{self, Write};

use self::random::Random;
use self::run::{Run, World};
use self::tools::Tool;

/// What to make.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Size of the output, exceeded by less than a line.
    pub(crate) bytes: u64,
    /// Equal plans give equal bytes.
    pub(crate) seed: u64,
    /// Without texts of messages and results, as an SDK writes by default.
    pub(crate) lean: bool,
    /// Everything in one line.
    pub(crate) one_line: bool,
}

/// What was made: what every contestant must count.
#[derive(Debug, Default, Clone)]
pub(crate) struct Summary {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// Spans of all kinds, the repeated ones included.
    pub(crate) spans: u64,
    pub(crate) traces: u64,
    /// Spans of agents and tools, the repeated ones included.
    pub(crate) delivered: Sums,
    /// The same, each once.
    pub(crate) unique: Sums,
}

/// As a JSON object.
impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, lines, spans, traces, delivered, unique } = self;
        write!(out, "{{\"bytes\":{bytes},\"lines\":{lines},\"spans\":{spans},\"traces\":{traces},")?;
        write!(out, "\"delivered\":{delivered},\"unique\":{unique}}}")
    }
}

/// Sums over spans of agents and tools.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sums {
    pub(crate) kept: u64,
    total: Kept,
}

impl Sums {
    fn add(&mut self, span: &Kept) {
        self.kept += 1;
        self.total.duration_ms += span.duration_ms;
        self.total.error_calls += span.error_calls;
        self.total.start_ns_below_second += span.start_ns_below_second;
        self.total.argument_bytes += span.argument_bytes;
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, total } = self;
        let Kept { duration_ms, error_calls, start_ns_below_second: start, argument_bytes } = total;
        write!(out, "{{\"kept\":{kept},\"duration_ms\":{duration_ms},\"error_calls\":{error_calls},")?;
        write!(out, "\"start_ns_below_second\":{start},\"argument_bytes\":{argument_bytes}}}")
    }
}

/// A span of an agent or a tool, as far as it is summed up.
#[derive(Debug, Default, Clone)]
struct Kept {
    duration_ms: u64,
    /// 1 for a tool call with status error.
    error_calls: u64,
    start_ns_below_second: u64,
    argument_bytes: u64,
}

/// Services with a resource each. The last one writes `\u` escapes.
const SERVICES: usize = 4;

/// The instrumentation that made a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Agent,
    Http,
}

const SCOPES: [&str; 2] = [
    r#"{"scope":{"name":"example.agents.instrumentation","version":"0.9.2"},"spans":["#,
    r#"{"scope":{"name":"opentelemetry.instrumentation.httpx","version":"0.61b0"},"spans":["#,
];

/// A span that waits for its end.
struct Planned {
    end_ns: u64,
    service: usize,
    scope: Scope,
    json: String,
    kept: Option<Kept>,
}

/// 2026-10-01 00:00 UTC.
const FIRST_START_NS: u64 = 1_790_812_800_000_000_000;

/// Writes the traces and sums them up.
///
/// # Errors
/// What `out` says.
pub(crate) fn write(out: &mut impl Write, plan: &Plan) -> io::Result<Summary> {
    let world = World::new(Tool::all()?, plan.lean);
    let mut random = Random::new(plan.seed);
    let mut lines = Lines::new(out, *plan, &mut random);
    // Spans by the time they end, then by the order in which they were planned.
    let mut waiting: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut slots: Vec<Option<Planned>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let mut pending = 0;
    let mut now = FIRST_START_NS + random.below(1_000_000_000);
    let mut spans = Vec::new();
    while lines.summary.bytes + lines.buffered + pending < plan.bytes {
        Run::plan(&world, &mut random, now, &mut spans);
        lines.summary.traces += 1;
        for span in spans.drain(..) {
            pending += span.json.len() as u64;
            let slot = free.pop().unwrap_or_else(|| {
                slots.push(None);
                slots.len() - 1
            });
            // A tie between slots is broken by their numbers, which the seed determines too.
            waiting.push(Reverse((span.end_ns, slot as u64)));
            slots[slot] = Some(span);
        }
        now += random.between(100_000_000, 1_900_000_000);
        // Whatever is planned later ends later than it starts.
        while let Some(Reverse((end_ns, slot))) = waiting.peek().copied()
            && end_ns <= now
        {
            waiting.pop();
            free.push(slot as usize);
            if let Some(span) = slots[slot as usize].take() {
                pending -= span.json.len() as u64;
                lines.add(span, &mut random)?;
            }
        }
    }
    while let Some(Reverse((_, slot))) = waiting.pop() {
        if let Some(span) = slots[slot as usize].take() {
            lines.add(span, &mut random)?;
        }
    }
    lines.finish(&mut random)
}

/// Puts spans into lines of 10 to 200, by resource and scope.
struct Lines<'o, W> {
    out: &'o mut W,
    plan: Plan,
    resources: Vec<String>,
    groups: Vec<String>,
    spans_in_line: u64,
    line_is_full: u64,
    buffered: u64,
    again: Vec<Planned>,
    summary: Summary,
}

impl<'o, W: Write> Lines<'o, W> {
    fn new(out: &'o mut W, plan: Plan, random: &mut Random) -> Self {
        Self {
            out,
            plan,
            resources: (0..SERVICES).map(resource).collect(),
            groups: vec![String::new(); SERVICES * SCOPES.len()],
            spans_in_line: 0,
            line_is_full: random.between(10, 200),
            buffered: 0,
            again: Vec::new(),
            summary: Summary::default(),
        }
    }

    fn add(&mut self, span: Planned, random: &mut Random) -> io::Result<()> {
        if let Some(kept) = &span.kept {
            self.summary.unique.add(kept);
        }
        self.put(&span);
        if random.in_10_000(10) {
            self.again.push(span);
        }
        if self.spans_in_line >= self.line_is_full {
            self.end_line(random)?;
        }
        Ok(())
    }

    fn put(&mut self, span: &Planned) {
        self.summary.spans += 1;
        if let Some(kept) = &span.kept {
            self.summary.delivered.add(kept);
        }
        let group = &mut self.groups[span.service * SCOPES.len() + span.scope as usize];
        if !group.is_empty() {
            group.push(',');
        }
        group.push_str(&span.json);
        self.spans_in_line += 1;
        self.buffered += span.json.len() as u64 + 1;
    }

    /// Writes the line. What is to be delivered again begins the next one.
    fn end_line(&mut self, random: &mut Random) -> io::Result<()> {
        let is_first = self.summary.lines == 0;
        let mut line = String::with_capacity(self.buffered as usize + 8_192);
        if is_first || !self.plan.one_line {
            line.push_str(r#"{"resourceSpans":["#);
        } else {
            line.push(',');
        }
        let mut first = true;
        for (resource, groups) in self.resources.iter().zip(self.groups.chunks_mut(SCOPES.len())) {
            if groups.iter().all(String::is_empty) {
                continue;
            }
            line.push_str(if first { "" } else { "," });
            first = false;
            line.push_str(resource);
            let mut first_scope = true;
            for (scope, group) in SCOPES.iter().zip(groups).filter(|(_, group)| !group.is_empty()) {
                line.push_str(if first_scope { "" } else { "," });
                first_scope = false;
                line.push_str(scope);
                line.push_str(group);
                line.push_str("]}");
                group.clear();
            }
            line.push_str("]}");
        }
        if !self.plan.one_line {
            line.push_str("]}\n");
        }
        self.out.write_all(line.as_bytes())?;
        self.summary.bytes += line.len() as u64;
        self.summary.lines += 1;
        self.spans_in_line = 0;
        self.buffered = 0;
        self.line_is_full = random.between(10, 200);
        for span in std::mem::take(&mut self.again) {
            self.put(&span);
        }
        Ok(())
    }

    fn finish(mut self, random: &mut Random) -> io::Result<Summary> {
        // Twice: the last line may leave something to be delivered again.
        while self.spans_in_line > 0 {
            self.end_line(random)?;
        }
        if self.plan.one_line {
            self.out.write_all(b"]}\n")?;
            self.summary.bytes += 3;
            self.summary.lines = 1;
        }
        self.out.flush()?;
        Ok(self.summary)
    }
}

fn resource(service: usize) -> String {
    let names = ["regulation-agent", "budget-agent", "petition-agent", "document-agent"];
    let texts = [
        ("service.name", names[service]),
        ("service.namespace", "internal-ai"),
        ("service.version", "1.14.0"),
        ("deployment.environment.name", "production"),
        ("host.name", "ai-app-03"),
        ("os.type", "linux"),
        ("process.runtime.name", "cpython"),
        ("process.runtime.version", "3.13.5"),
        ("telemetry.sdk.language", "python"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.version", "1.40.0"),
    ];
    let attributes: Vec<String> =
        texts.iter().map(|(key, value)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#)).collect();
    format!(r#"{{"resource":{{"attributes":[{}]}},"scopeSpans":["#, attributes.join(","))
}
