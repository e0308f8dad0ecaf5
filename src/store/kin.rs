//! Who is whose parent among the spans of one file: what of it can be settled without the store.
//!
//! Owns the parents of the traces that only this file has and that are plain: no circle, no two parents of one span,
//! no two spans that may be one call. The rules are those of `sql/settle/parents.sql`, which settles all others.

use twox_hash::XxHash3_64;

use crate::model::{ChatCall, SpanId, SpanLink, SpanRow, TraceId};

/// What [`Member::tool`] is for a span that is not kept.
const PASSED: u32 = 0;
/// What it is for one that is kept and calls no tool. Tools have a greater number.
const NO_TOOL: u32 = 1;

/// A span of the file, in 24 bytes: there is one for each, kept or not.
#[derive(Debug, Clone, Copy)]
struct Member {
    span: SpanId,
    /// The recorded parent; none for a root.
    parent: Option<SpanId>,
    trace: u32,
    /// Hash of the tool's name.
    tool: u32,
}

/// A span whose parent is not the recorded one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    pub(super) parent_span_id: Option<SpanId>,
    pub(super) parent_lost: bool,
}

/// What came of the traces of a file.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// All that is to be done for the plain traces.
    pub(super) moved: Vec<Moved>,
    /// The traces that are left to the statements, and whether just for what their messages say, their parents being
    /// settled. Those that the store knew are not among them.
    pub(super) open: Vec<(TraceId, bool)>,
    /// Traces with kept spans, without those that the store knew.
    pub(super) new: u64,
}

/// The spans of one file.
#[derive(Debug, Default)]
pub(super) struct Kin {
    members: Vec<Member>,
    traces: Vec<Trace>,
    // Looked up and never walked, so its order cannot reach the output; it is asked for every span.
    #[allow(clippy::disallowed_types)]
    numbers: std::collections::HashMap<TraceId, u32>,
    /// Spans of one trace often follow one another.
    last: Option<(TraceId, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Trace {
    id: TraceId,
    /// It has a kept span.
    kept: bool,
    /// It has calls in messages.
    asks: bool,
}

impl Kin {
    /// How many spans there are.
    pub(super) const fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn add_spans(&mut self, spans: &[SpanRow]) {
        for span in spans {
            let trace = self.number(span.trace_id);
            self.traces[trace as usize].kept = true;
            let tool = span.tool_name.as_deref().map_or(NO_TOOL, tool_number);
            self.add(trace, tool, span.span_id, span.parent_span_id);
        }
    }

    pub(super) fn add_links(&mut self, links: &[SpanLink]) {
        for link in links {
            let trace = self.number(link.trace_id);
            self.add(trace, PASSED, link.span_id, link.parent_span_id);
        }
    }

    /// Notes that a trace has calls in messages, which are left to the statements.
    pub(super) fn add_call(&mut self, call: &ChatCall) {
        let trace = self.number(call.trace_id);
        self.traces[trace as usize].asks = true;
    }

    /// Every trace, and whether it has a kept span.
    pub(super) fn traces(&self) -> impl Iterator<Item = (TraceId, bool)> {
        self.traces.iter().map(|trace| (trace.id, trace.kept))
    }

    /// Settles what is plain. Traces that the store knew before are left out.
    pub(super) fn settle(mut self, known: &[TraceId]) -> Settled {
        let mut is_known = vec![false; self.traces.len()];
        for trace in known.iter().filter_map(|trace_id| self.numbers.get(trace_id)) {
            is_known[*trace as usize] = true;
        }
        // A span that is kept comes before links with its id.
        self.members.sort_unstable_by_key(|member| (member.trace, member.span, member.tool == PASSED, member.parent));
        let mut settled = Settled::default();
        for family in self.members.chunk_by(|one, other| one.trace == other.trace) {
            let number = family[0].trace as usize;
            let trace = self.traces[number];
            if !trace.kept || is_known[number] {
                continue;
            }
            settled.new += 1;
            let moved = Family::new(family).settle();
            if trace.asks || moved.is_none() {
                settled.open.push((trace.id, moved.is_some()));
            }
            settled.moved.extend(moved.into_iter().flatten().map(|(span, end)| Moved {
                trace_id: trace.id,
                span_id: span,
                parent_span_id: end.parent.map(|place| family[place].span),
                parent_lost: end.lost,
            }));
        }
        settled
    }

    fn add(&mut self, trace: u32, tool: u32, span: SpanId, parent: Option<SpanId>) {
        self.members.push(Member { span, parent, trace, tool });
    }

    fn number(&mut self, id: TraceId) -> u32 {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == id) {
            return number;
        }
        let next = u32::try_from(self.traces.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.traces.push(Trace { id, kept: false, asks: false });
        }
        self.last = Some((id, number));
        number
    }
}

/// Where the way up from a span ends: at a kept span, or at the root, or nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    /// Place of the kept span.
    parent: Option<usize>,
    /// There is neither.
    lost: bool,
}

/// The spans of one trace, in the order of their ids.
struct Family<'a> {
    members: &'a [Member],
    /// What is known of each already.
    ends: Vec<Option<End>>,
}

impl<'a> Family<'a> {
    fn new(members: &'a [Member]) -> Self {
        Self { members, ends: vec![None; members.len()] }
    }

    /// Spans whose parent is not the recorded one, with where theirs ends. None when the trace is not plain.
    fn settle(mut self) -> Option<Vec<(SpanId, End)>> {
        let mut moved = Vec::new();
        for place in 0..self.members.len() {
            let member = self.members[place];
            if member.tool == PASSED {
                continue;
            }
            let end = self.climb(place)?;
            let parent = end.parent.map(|parent| self.members[parent]);
            // May be one call: the statements know how to tell.
            if parent.is_some_and(|parent| member.tool > NO_TOOL && parent.tool == member.tool) {
                return None;
            }
            if parent.map(|parent| parent.span) != member.parent {
                moved.push((member.span, end));
            }
        }
        self.is_rooted().then_some(moved)
    }

    /// Climbs from a span over those that are not kept. None in a circle, or where a span has several parents.
    fn climb(&mut self, start: usize) -> Option<End> {
        let mut passed = vec![start];
        let mut recorded = self.members[start].parent;
        let end = loop {
            let Some(parent) = recorded else { break End { parent: None, lost: false } };
            let Some(place) = self.find(parent) else { break End { parent: None, lost: true } };
            let member = self.members[place];
            if member.tool != PASSED {
                break End { parent: Some(place), lost: false };
            }
            if let Some(end) = self.ends[place] {
                break end;
            }
            let again = self.members[place..].iter().take_while(|other| other.span == member.span);
            if passed.len() > self.members.len() || again.last().is_some_and(|last| last.parent != member.parent) {
                return None;
            }
            passed.push(place);
            recorded = member.parent;
        };
        passed.into_iter().for_each(|place| self.ends[place] = Some(end));
        Some(end)
    }

    /// Where the span stands, as the kept one where there is one.
    fn find(&self, span: SpanId) -> Option<usize> {
        let place = self.members.partition_point(|member| member.span < span);
        self.members.get(place).is_some_and(|member| member.span == span).then_some(place)
    }

    /// Whether going up from every kept span ends.
    fn is_rooted(&self) -> bool {
        const UNSEEN: usize = usize::MAX;
        let mut seen_from = vec![UNSEEN; self.members.len()];
        (0..self.members.len()).all(|start| {
            let mut place = start;
            while seen_from[place] == UNSEEN {
                seen_from[place] = start;
                let Some(parent) = self.ends[place].and_then(|end| end.parent) else { return true };
                place = parent;
            }
            seen_from[place] != start
        })
    }
}

fn tool_number(name: &str) -> u32 {
    let hash = XxHash3_64::oneshot(name.as_bytes());
    u32::try_from(hash >> 32).unwrap_or_default().max(NO_TOOL + 1)
}
