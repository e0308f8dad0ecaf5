//! The store as it is asked: batches, cancelling, completion.

use std::ops::ControlFlow;
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::{io, thread};

use taco_trace::model::{Cell, Column, Row};
use taco_trace::store::ask::complete::complete;
use taco_trace::store::ask::{Access, AskError, Asking, Taker};

use super::{Place, empty};

fn opened(place: &Place) -> Asking {
    Asking::open(&place.db(), Access::ReadOnly).unwrap()
}

/// Tells when the first rows come, and keeps count.
struct Counter {
    begun: Option<Sender<()>>,
    rows: usize,
    largest: usize,
    most: usize,
}

impl Counter {
    fn new(most: usize) -> Self {
        Self { begun: None, rows: 0, largest: 0, most }
    }
}

impl Taker for Counter {
    fn columns(&mut self, _: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: Vec<Row>) -> io::Result<ControlFlow<()>> {
        if let Some(begun) = self.begun.take() {
            begun.send(()).unwrap();
        }
        self.rows += rows.len();
        self.largest = self.largest.max(rows.len());
        Ok(if self.rows >= self.most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

#[test]
fn rows_come_in_small_batches_and_end_when_no_more_are_wanted() {
    let place = empty();
    let asking = opened(&place);
    let mut counter = Counter::new(usize::MAX);
    asking.ask("FROM range(100000)", &mut counter).unwrap();
    assert_eq!(counter.rows, 100_000);
    assert!(counter.largest <= 2_048, "{}", counter.largest);
    let mut counter = Counter::new(5_000);
    asking.ask("FROM range(1000000000000)", &mut counter).unwrap();
    assert!((5_000..8_000).contains(&counter.rows), "{}", counter.rows);
}

/// Rows come for a while and then never again: what does not stop at once is stopped by an interrupt.
#[test]
fn statement_is_cancelled_from_another_thread_and_the_session_goes_on() {
    let place = empty();
    let asking = opened(&place);
    let canceller = asking.canceller();
    let (begun, told) = channel();
    let (ended, end) = channel::<()>();
    let waiting = thread::spawn(move || {
        told.recv().unwrap();
        let again = canceller.cancel();
        while end.try_recv() == Err(TryRecvError::Empty) {
            canceller.repeat();
            thread::yield_now();
        }
        again
    });
    let mut counter = Counter { begun: Some(begun), ..Counter::new(usize::MAX) };
    let endless = "SELECT i FROM range(100000000000000) t(i) WHERE i < 2000000 OR i = -1";
    let cancelled = asking.ask(endless, &mut counter);
    drop(ended);
    assert!(matches!(cancelled, Err(AskError::Cancelled)), "{cancelled:?}");
    assert!(!waiting.join().unwrap(), "it was cancelled once");
    let again = asking.ask("SELECT 1", &mut counter);
    assert!(matches!(again, Err(AskError::Cancelled)), "what was cancelled stays so until the next beginning");
    asking.begin();
    let mut counter = Counter::new(usize::MAX);
    asking.ask("SELECT 1", &mut counter).unwrap();
    assert_eq!(counter.rows, 1);
}

#[test]
fn failure_of_the_taker_is_its_own() {
    struct Full;
    impl Taker for Full {
        fn columns(&mut self, _: &[Column]) -> io::Result<()> {
            Ok(())
        }
        fn rows(&mut self, rows: Vec<Row>) -> io::Result<ControlFlow<()>> {
            assert_eq!(rows[0][0], Cell::Integer(1));
            Err(io::Error::from(io::ErrorKind::BrokenPipe))
        }
    }
    let place = empty();
    let failed = opened(&place).ask("SELECT 1", &mut Full);
    assert!(matches!(failed, Err(AskError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe));
}

#[test]
fn words_are_completed_by_where_they_stand() {
    let place = empty();
    let relations = opened(&place).relations().unwrap();
    let at_end = |line: &str| complete(line, line.len(), &relations);
    let words = |line: &str| at_end(line).1;
    assert_eq!(at_end("SELECT * FROM verd"), (14, vec!["verdicts".to_owned()]));
    assert_eq!(words("SELECT verd"), ["verdicts", "verdict"]);
    assert_eq!(words("SELECT korean_d"), ["korean_date"]);
    assert_eq!(words("SEL"), ["SELECT"]);
    assert_eq!(words("sel"), ["select"]);
    assert_eq!(words("SELECT runs.korean"), ["korean_date"]);
    assert_eq!(words("SELECT r.fix_t"), ["fix_target"]);
    assert_eq!(words("SELECT reviews.fix_t"), [""; 0]);
    assert_eq!(words("FROM ")[..3], ["spans", "tool_definitions", "runs"]);
    assert_eq!(words("SELECT "), [""; 0]);
    assert_eq!(at_end(".sch"), (0, vec![".schema".to_owned()]));
    assert_eq!(at_end("  .schema find"), (10, vec!["findings".to_owned()]));
    assert_eq!(words(".format j"), ["json", "jsonl"]);
    assert_eq!(words(".quit x"), [""; 0]);
    // In the middle of a line, and behind letters of several bytes.
    let line = "SELECT '가' FROM run WHERE";
    assert_eq!(complete(line, line.find(" WHERE").unwrap(), &relations), (18, vec!["runs".to_owned()]));
    assert_eq!(complete("가", 1, &relations).1, [""; 0]);
}
