//! The demo agent: its tools, its script, its faults, its traces, its server.

mod agent;
mod faults;
mod serve;
mod shape;
mod spans;
mod support;
mod tools;
