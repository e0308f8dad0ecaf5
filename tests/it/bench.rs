//! `bench labelled`.
