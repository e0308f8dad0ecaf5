//! Plain data: one file for each published shape. Uses nothing else of this crate.
//!
//! Owns the words that SQL, JSON and the documentation share: column names, verdict codes and
//! their Korean labels, issue codes. Decides nothing and prints nothing.

pub mod answer;
pub mod bench;
pub mod call;
pub mod comparison;
pub mod demo;
pub mod diagnosis;
pub mod draft;
pub mod eval;
pub mod eval_report;
pub mod experiment;
pub mod hq;
pub mod id;
pub mod issue;
pub mod review;
pub mod span;
pub mod standing;
pub mod store_info;
pub mod tool;

pub use answer::{Cell, Column, Example, Relation, RelationColumn, Row};
pub use call::{CallEvidence, CallSpec, CallValue, CallVerdict, CallVerdictKind, RecordedCall, SpecGap, SpecGapReason};
pub use diagnosis::{ChosenDraft, Coverage, Diagnosis, Evidence, EvidenceValue, Finding, FixTarget, Rule, Verdict};
pub use draft::{DraftQuestion, ModelDraft};
pub use eval::{
    CaseProblem, EvalDecision, EvalVerdict, FrozenCase, Observes, SandboxAccess, TARGET_PROTOCOL, TargetKind,
};
pub use eval_report::{GateAnswer, GateToken, KeptDecision, Opinion, PlannedTrial, Spent, TrialReview, TrialState};
pub use experiment::{Experiment, ExperimentRole, StoredTrial, TrialCheck, TrialEnd, TrialEvent, TrialStart};
pub use id::{OtelId, SpanId, TraceId};
pub use issue::{Issue, IssueCode, Severity};
pub use review::{Decided, HqDecision, Review, ReviewKind, is_blank};
pub use span::{ArgsForm, CallArg, ChatCall, ChatFailure, JsonType, Operation, SpanLink, SpanRow, Status};
pub use standing::Standing;
pub use store_info::{StoreInfo, TableClass, TableInfo, ToolSetInfo};
pub use tool::{DeclaredParam, ToolDefinition, ToolSet};
