//! taco-trace reads OpenTelemetry traces of AI agents and says, run by run, which of six verdicts
//! holds, on which spans it rests and what to fix.
//!
//! ```text
//! files --> ingest ------> store --------------> SQL views ---> diagnose --> render --> stdout / file
//!           lines to rows, tables, migrations,   rules, notes,  findings,    Korean text,
//!           issues kept    arrow append          sets           verdict      JSON, Markdown
//! ```
//!
//! Nothing flows back. Rules are decided in SQL only (`sql/`), the order of importance in
//! [`verdict`] only, words in [`render`] only. The library prints nothing, reads no environment and
//! asks no clock; [`cli`] passes those in. ARCHITECTURE.md has the map.
//!
//! The Rust API is unstable; the contracts are the JSON Schemas under `schemas/`, the columns of
//! tables and views, and the exit codes.

pub mod baseline;
pub mod bench;
pub mod calls;
pub mod chat;
pub mod cli;
pub mod compare;
mod connection;
pub mod demo;
pub mod diagnose;
pub mod digest;
pub mod drafts;
pub mod eval;
pub mod eval_report;
pub mod experiment;
pub mod gate;
pub mod hq;
pub mod ingest;
pub mod model;
pub mod near;
mod outbound;
pub mod receive;
pub mod reference;
pub mod render;
pub mod sandbox;
pub mod shape;
pub mod spans;
pub mod stats;
pub mod store;
pub mod target;
pub mod verdict;
