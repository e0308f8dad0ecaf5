//! Experiments: frozen cases, tried so many times each on one target, judged, and decided on.
//!
//! ```text
//! taco-eval.toml --> Project --+--> config (hash)
//! cases ------------> Task ----+--> run: workers --> Ran --> judged --> TrialEnd --> store
//!                                                      +--> record: OTLP lines
//! ```
//!
//! Opens no file and no store, asks no clock but the one that it is given, and prints nothing: what begins and what
//! ended is handed to a [`run::Journal`], which the command line keeps. Start with [`project::Project`], then
//! [`run::run`].

pub mod by_hand;
pub mod config;
pub mod cost;
pub mod plan;
pub mod project;
pub mod record;
pub mod run;
pub mod target;
