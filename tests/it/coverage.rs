//! What `ingest` tells of coverage is what the rules count run by run, and it is told when it can have changed.

use std::fs;
use std::path::Path;

use super::support::{answers, files_under};
use super::support_cli::program;
use super::support_run::judge_file;

#[test]
fn sums_of_the_store_are_those_of_all_runs() {
    let sql = "SELECT SUM(tool_calls), SUM(with_arguments), SUM(with_readable_arguments), SUM(with_known_tool), \
        SUM(with_timeout), SUM(with_max_retries), SUM(without_span), SUM(failed_beside_status) FROM set_coverage_v2";
    let mut seen = Vec::new();
    let files = [files_under("fixtures/real"), files_under("fixtures/seed")].concat();
    for path in files.iter().filter(|path| path.ends_with("/traces.jsonl")) {
        let tools = fs::read_to_string(path.replace("traces.jsonl", "tools.json")).unwrap_or_else(|_| "[]".to_owned());
        let outcome = judge_file(Path::new(path), &tools);
        let coverage = outcome.store.coverage().unwrap();
        let sums = [
            coverage.tool_calls,
            coverage.with_arguments,
            coverage.with_readable_arguments,
            coverage.with_known_tool,
            coverage.with_timeout,
            coverage.with_max_retries,
            coverage.without_span,
            coverage.failed_beside_status,
        ];
        if coverage == Default::default() {
            continue;
        }
        assert_eq!(answers(&outcome.store, sql), [sums.map(|sum| sum.to_string()).join("|")], "{path}");
        seen.push(sums);
    }
    // Each sum is above zero somewhere, and not all of them are equal.
    assert!((0..8).all(|place| seen.iter().any(|sums| sums[place] > 0)), "{seen:?}");
    assert!(seen.iter().any(|sums| sums[1] < sums[0]), "{seen:?}");
}

#[test]
fn coverage_is_told_again_only_when_a_file_or_the_tools_changed() {
    let folder = tempfile::tempdir().unwrap();
    let told = |tools: &str| {
        let mut command = program();
        command
            .args(["ingest", "fixtures/seed/traces.jsonl", "--tools", tools, "--db"])
            .arg(folder.path().join("a.db"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("파일 "), "{text}");
        text.contains("도구 호출 ")
    };
    let other = folder.path().join("tools.json");
    fs::write(&other, "[]").unwrap();
    let other = other.to_str().unwrap();
    let seed = "fixtures/seed/tools.json";
    assert_eq!([seed, seed, other, other, seed].map(told), [true, false, true, false, true]);
}
