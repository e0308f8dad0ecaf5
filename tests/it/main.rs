//! The one test binary: each further one would link DuckDB again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod cli;
mod frame;
mod migrations;
mod portable;
mod source;
mod stock_duckdb;
mod support;
mod support_run;
mod tidy;
mod tools;
mod view_files;
mod views;
