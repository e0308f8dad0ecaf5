//! `taco-trace calls`: verdicts on recorded calls.
