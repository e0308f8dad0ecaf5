//! Spans as they are written: lines as the Collector's file exporter has them, and the names of attributes. Pure.

pub mod line;
pub mod names;
