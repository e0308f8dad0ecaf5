//! Notes: facts that are no verdict, one sentence each.

use serde::Serialize;

use super::Texts;

macro_rules! note_kinds {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// What a note is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum NoteKind {
            $($(#[$doc])* $variant,)*
        }

        impl NoteKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name: that of the note view, but for the two ways of writing arguments differently.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

note_kinds! {
    /// The arguments of a call were not recorded.
    ArgsNotRecorded "args_not_recorded",
    /// The arguments of a call are not JSON.
    ArgsNotJson "args_not_json",
    /// The arguments of an undefined tool were not checked.
    ArgsUndefinedTool "args_undefined_tool",
    /// The schema of a tool cannot be read.
    ArgsUnreadableSchema "args_unreadable_schema",
    /// A call went over its time limit and is ok.
    OverLimitButOk "over_limit_but_ok",
    /// A stretch of equal calls is exactly as long as allowed.
    RunAtLimit "run_at_limit",
    /// Equal arguments of a stretch have their keys in another order.
    KeyOrderDiffers "key_order_differs",
    /// Equal arguments of a stretch differ in spacing or escapes only.
    WritingDiffers "writing_differs",
    /// The run ended in error after a tool error.
    FinalErrorNotHidden "final_error_not_hidden",
    /// Several spans could stand for the answer of the run.
    SeveralFinalAnswers "several_final_answers",
    /// The final answer span names a parent that is not in the store.
    FinalAnswerParentMissing "final_answer_parent_missing",
    /// A tool has no time limit.
    TimeoutUnknown "timeout_unknown",
    /// A tool has no retry limit.
    MaxRetriesUnknown "max_retries_unknown",
    /// No tool definitions are known.
    NoToolDefinitions "no_tool_definitions",
    /// Spans were recorded twice with the same content.
    SpanRedelivered "span_redelivered",
    /// A span was recorded twice with different content.
    SpanConflict "span_conflict",
    /// Spans of the run could not be read.
    SpansSkipped "spans_skipped",
    /// The parents of spans form a cycle.
    ParentCycle "parent_cycle",
    /// Calls stand in the messages of a model only.
    CallWithoutSpan "call_without_span",
    /// Arguments were not recorded plainly. Detail: how.
    ArgsRewritten "args_rewritten",
    /// Something other than the status says that a call failed. Detail: what.
    FailureBesideStatus "failure_beside_status",
    /// An agent inside the run failed and the run ended ok.
    InnerAgentFailed "inner_agent_failed",
    /// Several spans of one call were counted as one.
    SpansMerged "spans_merged",
    /// A framework changed the arguments that the model sent. Detail: those.
    ArgsChanged "args_changed",
}

impl NoteKind {
    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

impl NoteKind {
    /// Whether its detail is a value of an argument or of a result. Other details are words of our own.
    #[must_use]
    pub const fn shows_value(self) -> bool {
        matches!(self, Self::FailureBesideStatus | Self::ArgsChanged)
    }
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFacts {
    /// What it is about.
    pub note: NoteKind,
    /// The tool; empty when it is about the run.
    pub tool_name: String,
    /// The span, when it is about one.
    pub span_id: Option<String>,
    /// What was measured or counted.
    pub measured: Option<i64>,
    /// What it was held against.
    pub limit: Option<i64>,
    /// Text that it shows.
    pub detail: Option<String>,
}

/// The sentence for a fact.
#[must_use]
pub fn note(texts: &Texts, facts: &NoteFacts) -> String {
    #[derive(Serialize)]
    struct Values<'a> {
        note: &'a str,
        tool: &'a str,
        span: &'a str,
        measured: i64,
        limit: i64,
        detail: &'a str,
    }
    let values = Values {
        note: facts.note.as_str(),
        tool: &facts.tool_name,
        span: facts.span_id.as_deref().unwrap_or_default(),
        measured: facts.measured.unwrap_or_default(),
        limit: facts.limit.unwrap_or_default(),
        detail: facts.detail.as_deref().unwrap_or_default(),
    };
    texts.render("notes.j2", values).trim().to_owned()
}
