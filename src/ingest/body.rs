//! Whole texts one by one, as a receiver gets them: each is taken or refused by itself, repeats are settled over all.
//!
//! The same reading as that of a file ([`super::read`]), without framing: a body is one text, however many lines it
//! has. Start with [`BodyReader::read`].

use std::collections::BTreeMap;

use super::document::DocumentError;
use super::frame::Line;
use super::{Batch, Options, Reading, Report};
use crate::model::{IssueCode, Severity};

/// What one body came to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BodyReport {
    /// Its sums, `lines` included.
    pub report: Report,
    /// Issues that lost something of it, by code.
    pub lost: BTreeMap<IssueCode, u64>,
}

/// Reads bodies that go into the store together.
pub struct BodyReader<'a> {
    reading: Reading<'a>,
}

impl<'a> BodyReader<'a> {
    /// A reader that has seen nothing yet.
    #[must_use]
    pub fn new(options: &'a Options) -> Self {
        Self { reading: Reading::new(options) }
    }

    /// Reads a body and adds its rows to those that wait for [`Self::take_rows`]. `number`, from 1, is kept as the
    /// line of its rows and issues. A span that an earlier body had counts as redelivered.
    ///
    /// # Errors
    /// When the body is no trace data as a whole; nothing of it is added then.
    pub fn read(&mut self, number: u64, bytes: &[u8]) -> Result<BodyReport, DocumentError> {
        if bytes.trim_ascii().is_empty() {
            // Blank lines of a file are passed over; a body without anything is cut.
            let detail = bytes.len().to_string();
            return Err(DocumentError { code: IssueCode::TruncatedJson, detail, incomplete: false });
        }
        let issues_before = self.reading.batch.issues.len();
        self.reading.text(&Line { bytes, number, byte_offset: 0, lines: 1, complete: true })?;
        let mut lost = BTreeMap::new();
        for issue in &self.reading.batch.issues[issues_before..] {
            if issue.code.severity() == Severity::DataLoss || issue.code == IssueCode::OtherSignal {
                *lost.entry(issue.code).or_default() += 1;
            }
        }
        Ok(BodyReport { report: std::mem::take(&mut self.reading.report), lost })
    }

    /// Whether so many rows wait that they should be handed on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.reading.batch.is_full()
    }

    /// The rows of the bodies read since the last call.
    pub fn take_rows(&mut self) -> Batch {
        self.reading.take_rows()
    }
}
