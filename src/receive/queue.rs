//! What waits between HTTP and the writer, and how many bytes of it there may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;

use super::answer::{Answer, Form};
use super::decode::Coding;

/// A body on its way to the writer.
pub(super) struct Job {
    /// The bytes as they came.
    pub(super) body: Body,
    /// How they are compressed.
    pub(super) coding: Coding,
    /// What they hold when they are not.
    pub(super) form: Form,
    /// Where the answer goes; nobody may be there any more.
    pub(super) reply: oneshot::Sender<Answer>,
}

/// The bytes that all bodies together may have.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// Whether so many bytes would fit now. Nothing is set aside: who only announces a body holds no room.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: usize) -> bool {
        let grown = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }
}

/// A body that grows within the budget and gives its room back when it is dropped.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    budget: Arc<Budget>,
}

impl Body {
    /// An empty one, with memory for `expected` bytes.
    pub(super) fn new(budget: &Arc<Budget>, expected: usize) -> Self {
        Self { bytes: Vec::with_capacity(expected), budget: Arc::clone(budget) }
    }

    /// Adds bytes; false when there is no room for them.
    pub(super) fn extend(&mut self, more: &[u8]) -> bool {
        let fits = self.budget.take(more.len());
        if fits {
            self.bytes.extend_from_slice(more);
        }
        fits
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}
