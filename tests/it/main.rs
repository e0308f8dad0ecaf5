//! The one test binary: each further one would link DuckDB again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod args;
mod chat;
mod cli;
mod convention;
mod conventions_shipped;
mod crash;
mod days;
mod doctor;
mod document;
mod field_reports;
mod field_reports_meaning;
mod fixtures;
mod follow;
mod forms;
mod frame;
mod fuzz;
mod mask;
mod merge;
mod migrations;
mod oracle;
mod parallel;
mod people;
mod portable;
mod real_otlp;
mod receive;
mod reconcile;
mod render;
mod report;
mod settle;
mod site;
mod source;
mod stock_duckdb;
mod store_care;
mod support;
mod support_cli;
mod support_otlp;
mod support_read;
mod support_run;
mod tidy;
mod tools;
mod tools_from_trace;
mod unwrap;
mod view_files;
mod views;
