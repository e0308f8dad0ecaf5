//! The agent's time, given from outside.

use std::time::{Duration, SystemTime};

/// How time passes. A run keeps its own place in time and hands it in, so that calls beside one another each have
/// theirs.
pub trait Clock: Send + Sync {
    /// The time at which a run begins.
    fn begin(&self) -> SystemTime;

    /// The time after something that took `nominal` on the simulated clock; a real clock knows how long it took.
    fn after(&self, from: SystemTime, nominal: Duration) -> SystemTime;

    /// Waits, and tells the time then.
    fn wait(&self, from: SystemTime, duration: Duration) -> SystemTime;
}

/// A clock on which time passes by what is said to have passed: nothing sleeps, and one seed gives the same times.
///
/// Each run begins a minute after the one before it began.
#[derive(Debug)]
pub struct SimulatedClock {
    next: std::sync::Mutex<SystemTime>,
}

impl SimulatedClock {
    /// A clock whose first run begins then.
    #[must_use]
    pub fn starting(start: SystemTime) -> Self {
        Self { next: std::sync::Mutex::new(start) }
    }

    /// A clock whose first run begins at 2026-10-07T00:00:00Z.
    #[must_use]
    pub fn new() -> Self {
        Self::starting(SystemTime::UNIX_EPOCH + Duration::from_secs(1_791_331_200))
    }
}

impl Default for SimulatedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimulatedClock {
    fn begin(&self) -> SystemTime {
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let begin = *next;
        *next = begin + Duration::from_secs(60);
        begin
    }

    fn after(&self, from: SystemTime, nominal: Duration) -> SystemTime {
        from + nominal
    }

    fn wait(&self, from: SystemTime, duration: Duration) -> SystemTime {
        from + duration
    }
}
