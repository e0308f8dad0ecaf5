//! Every file of the fixtures is accounted for, line by line and span by span, also when it comes again.

use std::path::{Path, PathBuf};

use super::support::{answers, files_under, repository};
use super::support_run::{Outcome, judge_file, judge_files};

fn is_traces(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_other = ["tools", "manifest", "expected", "cases"].iter().any(|word| name.starts_with(word));
    (name.ends_with(".jsonl") || name.ends_with(".json")) && !is_other
}

#[test]
fn every_line_and_every_span_of_every_fixture_is_accounted_for() {
    let files: Vec<String> = files_under("fixtures").into_iter().filter(|path| is_traces(path)).collect();
    assert!(files.len() > 50, "{} files", files.len());
    // Each twice, all into one store: many hold the same traces.
    let paths: Vec<PathBuf> = files.iter().flat_map(|file| [file, file]).map(|file| repository().join(file)).collect();
    let outcome = judge_files(&paths.iter().map(PathBuf::as_path).collect::<Vec<&Path>>(), "[]");
    for (number, (source, path)) in outcome.sources.iter().zip(&paths).enumerate() {
        let (totals, path) = (&source.totals, path.display());
        let dropped: u64 = totals.dropped.values().sum();
        let told = totals.spans_kept + totals.spans_merged + dropped + totals.spans_redelivered + totals.spans_skipped;
        assert_eq!(totals.spans_seen, told, "{path}: {totals:?}");
        assert!(totals.lines_skipped <= totals.lines, "{path}: {totals:?}");
        if number % 2 == 1 {
            let first = &outcome.sources[number - 1].totals;
            assert_eq!((totals.spans_kept, totals.spans_merged), (0, 0), "{path}: {totals:?}");
            assert_eq!((first.lines, first.lines_skipped), (totals.lines, totals.lines_skipped), "{path}");
            assert_eq!((first.spans_seen, first.spans_skipped), (totals.spans_seen, totals.spans_skipped), "{path}");
        }
    }
    let wrong = "SELECT path FROM sources s WHERE spans_seen <> spans_kept + spans_merged + spans_dropped + \
                 spans_redelivered + spans_skipped \
                 OR spans_kept <> (SELECT COUNT(*) FROM spans x WHERE x.source_id = s.source_id) \
                 OR spans_merged <> (SELECT COUNT(*) FROM merged_spans x WHERE x.source_id = s.source_id)";
    assert_eq!(answers(&outcome.store, wrong), [""; 0]);
}

#[test]
fn real_traces_read_twice_are_judged_as_when_read_once() {
    let found = |outcome: &Outcome| -> Vec<_> {
        outcome.runs.iter().map(|run| (run.diagnosis.verdict, run.diagnosis.findings.clone())).collect()
    };
    for file in files_under("fixtures/real").into_iter().filter(|path| is_traces(path)) {
        let path = repository().join(&file);
        let (once, twice) = (judge_file(&path, "[]"), judge_files(&[&path, &path], "[]"));
        for rows in [
            "SELECT trace_id, span_id, parent_span_id, tool_args, args_from_messages, asked_args, failure FROM spans \
             ORDER BY 1, 2",
            "SELECT trace_id, call_key, alone, status, failure FROM chat_calls ORDER BY 1, 2",
            "SELECT trace_id, span_id, outer_span_id FROM merged_spans ORDER BY 1, 2",
        ] {
            assert_eq!(answers(&twice.store, rows), answers(&once.store, rows), "{file}");
        }
        assert_eq!(found(&twice), found(&once), "{file}");
    }
}
