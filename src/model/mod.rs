//! Plain data: one file for each published shape. Uses nothing else of this crate.
//!
//! Owns the words that SQL, JSON and the documentation share: column names, verdict codes and
//! their Korean labels, issue codes. Decides nothing and prints nothing.

pub mod call;
pub mod diagnosis;
pub mod issue;
pub mod span;
pub mod store_info;
pub mod tool;

pub use call::{CallEvidence, CallSpec, CallValue, CallVerdict, CallVerdictKind, RecordedCall};
pub use diagnosis::{Coverage, Diagnosis, Evidence, EvidenceValue, Finding, FixTarget, Rule, Verdict};
pub use issue::{Issue, IssueCode, Severity};
pub use span::{ArgsForm, CallArg, ChatCall, ChatFailure, JsonType, Operation, SpanLink, SpanRow, Status};
pub use store_info::{StoreInfo, TableClass, TableInfo, ToolSetInfo};
pub use tool::{DeclaredParam, ToolDefinition, ToolSet};
