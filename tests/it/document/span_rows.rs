//! The flattened span table as input.

use taco_trace::ingest::document::{MissingStatus, Parsed};
use taco_trace::model::{IssueCode, Operation, Status};

use super::{PARENT, SPAN, TRACE, codes, ids_of, read, try_read, try_read_as};

/// The columns of a row, each a JSON text.
#[derive(Clone)]
struct Row(Vec<(&'static str, String)>);

impl Row {
    fn call() -> Self {
        Self(vec![
            ("trace_id", format!("\"{TRACE}\"")),
            ("span_id", format!("\"{SPAN}\"")),
            ("parent_span_id", format!("\"{PARENT}\"")),
            ("start_time", "\"2026-10-07T09:12:04.010+09:00\"".to_owned()),
            ("operation", "\"execute_tool\"".to_owned()),
            ("agent_name", "null".to_owned()),
            ("tool_name", "\"search\"".to_owned()),
            ("tool_args", r#""{\"b\":1,\"a\":2}""#.to_owned()),
            ("status", "\"error\"".to_owned()),
            ("duration_ms", "180".to_owned()),
        ])
    }

    fn with(mut self, column: &'static str, json: &str) -> Self {
        match self.0.iter_mut().find(|(name, _)| *name == column) {
            Some((_, value)) => json.clone_into(value),
            None => self.0.push((column, json.to_owned())),
        }
        self
    }

    fn without(mut self, column: &str) -> Self {
        self.0.retain(|(name, _)| *name != column);
        self
    }

    fn json(&self) -> String {
        let columns: Vec<String> = self.0.iter().map(|(name, json)| format!("\"{name}\":{json}")).collect();
        format!("{{{}}}", columns.join(","))
    }

    fn row(&self) -> taco_trace::model::SpanRow {
        let parsed = read(&self.json());
        assert!(parsed.issues.is_empty(), "{:?}", parsed.issues);
        parsed.spans.into_iter().next().unwrap()
    }

    fn skipped_as(&self) -> (IssueCode, String) {
        let parsed = read(&self.json());
        assert_eq!((parsed.counts.skipped, parsed.issues.len()), (1, 1), "{:?}", parsed.issues);
        let issue = parsed.issues.into_iter().next().unwrap();
        (issue.code, issue.detail)
    }

    fn breach_of(&self) -> String {
        let (code, detail) = self.skipped_as();
        assert_eq!(code, IssueCode::RowInvalid, "{detail}");
        detail.split(' ').next().unwrap().to_owned()
    }
}

#[test]
fn row_becomes_a_span() {
    let row = Row::call().row();
    assert_eq!(ids_of(&row), [TRACE, SPAN, PARENT]);
    assert_eq!((row.operation, row.status, row.duration_ms()), (Operation::ExecuteTool, Status::Error, 180));
    assert_eq!((row.start_ns, row.end_ns), (1_791_331_924_010_000_000, 1_791_331_924_190_000_000));
    assert_eq!((row.tool_name.as_deref(), row.args_key.as_deref()), (Some("search"), Some(r#"{"a":2,"b":1}"#)));
    assert_eq!((&*row.convention, row.line, row.agent_name), ("span-row", 7, None));
    let run = Row::call().with("operation", "\"invoke_agent\"").with("agent_name", "\"규정\"").row();
    assert_eq!((run.agent_name.as_deref(), run.tool_name, run.tool_args), (Some("규정"), None, None));
}

#[test]
fn rows_come_one_by_one_in_an_array_or_with_tool_definitions() {
    let row = Row::call().json();
    assert_eq!(read(&format!("[{row},{row}]")).counts.kept, 2);
    let set = read(&format!("{{\"spans\":[{row}],\"tool_definitions\":[ {{\"tool_name\":\"search\"}} ]}}"));
    assert_eq!((set.counts.kept, set.tool_definitions), (1, vec!["[ {\"tool_name\":\"search\"} ]".to_owned()]));
    assert_eq!(read("{\"spans\":[]}").counts.seen, 0);
    let mixed = read(&format!("{{\"spans\":[5,{row},{{\"a\":1}},{{\"b\":1}}]}}"));
    assert_eq!((mixed.counts.kept, codes(&mixed)), (1, vec!["group_invalid", "not_trace_data"]));
    assert_eq!(codes(&read("{\"spans\":7}")), ["group_invalid"]);
}

#[test]
fn rows_of_other_operations_are_dropped_and_stay_transparent() {
    let parsed = read(&Row::call().with("operation", "\"chat\"").without("start_time").with("status", "5").json());
    assert_eq!((parsed.counts.dropped.get("chat"), parsed.issues.len(), parsed.links.len()), (Some(&1), 0, 1));
}

#[test]
fn nullable_columns_may_be_absent() {
    let row = Row::call().without("parent_span_id").without("agent_name").without("tool_args").row();
    assert_eq!((row.parent_span_id, row.tool_args, row.args_key), (None, None, None));
    let null = Row::call().with("parent_span_id", "null").with("tool_args", "null").row();
    assert_eq!((null.parent_span_id, null.tool_args), (None, None));
}

#[test]
fn arguments_may_be_a_text_or_an_object() {
    assert_eq!(
        Row::call().with("tool_args", "{\"b\" : 1, \"a\":[ 1.0 ]}").row().tool_args.unwrap(),
        r#"{"b":1,"a":[1.0]}"#
    );
    let parsed = read(&Row::call().with("tool_args", "\"not json\"").json());
    assert_eq!((codes(&parsed), parsed.spans[0].tool_args.as_deref()), (vec!["args_not_json"], Some("not json")));
    for wrong in ["5", "true", "[1]"] {
        assert_eq!(Row::call().with("tool_args", wrong).breach_of(), "tool_args");
    }
}

#[test]
fn breach_of_the_schema_is_told_by_column_or_code() {
    let code = |row: Row| row.skipped_as().0.as_str();
    assert_eq!(code(Row::call().without("trace_id")), "trace_id_missing");
    assert_eq!(code(Row::call().with("trace_id", "\"x\"")), "trace_id_invalid");
    assert_eq!(code(Row::call().with("span_id", "\"\"")), "span_id_missing");
    assert_eq!(code(Row::call().without("start_time")), "time_missing");
    assert_eq!(code(Row::call().without("tool_name")), "tool_name_missing");
    assert_eq!(code(Row::call().with("tool_name", "\"\"")), "tool_name_missing");
    assert_eq!(code(Row::call().with("status", "\"fine\"")), "status_invalid");
    assert_eq!(code(Row::call().with("status", "2")), "status_invalid");
    for row in [Row::call().without("status"), Row::call().with("status", "null")] {
        assert_eq!(code(row.clone()), "status_missing");
        let mut parsed = Parsed::default();
        try_read_as(&row.json(), MissingStatus::Unset, &mut parsed).unwrap();
        assert_eq!(parsed.spans[0].status, Status::Ok);
    }
    assert_eq!(Row::call().without("operation").breach_of(), "operation");
    assert_eq!(Row::call().with("operation", "5").breach_of(), "operation");
    assert_eq!(Row::call().with("tool_name", "5").breach_of(), "tool_name");
    assert_eq!(Row::call().with("agent_name", "{}").breach_of(), "agent_name");
    let parsed = read(&Row::call().with("parent_span_id", "\"x\"").json());
    assert_eq!((codes(&parsed), parsed.counts.kept), (vec!["parent_id_invalid"], 1));
    assert!(try_read("{\"operation\":\"execute_tool\"}").is_err());
}

#[test]
fn start_time_must_be_a_time_with_an_offset_after_1970() {
    let start = |iso: &str| Row::call().with("start_time", &format!("\"{iso}\""));
    assert_eq!(start("2026-10-07T00:12:04.010Z").row().start_ns, 1_791_331_924_010_000_000);
    assert_eq!(start("2026-10-07T09:12:04.010042232+09:00").row().start_ns, 1_791_331_924_010_042_232);
    assert_eq!(start("1970-01-01T00:00:00.000000001Z").row().start_ns, 1);
    assert_eq!(start("2262-04-11T23:47:16Z").row().start_ns, 9_223_372_036_000_000_000);
    for wrong in [
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2262-04-12T00:00:00Z",
        "2026-10-07T09:12:04",
        "2026-10-07",
        "2026-13-07T09:12:04Z",
        "",
    ] {
        assert_eq!(start(wrong).skipped_as().0, IssueCode::TimeInvalid, "{wrong}");
    }
    assert_eq!(Row::call().with("start_time", "1791331924").skipped_as().0, IssueCode::TimeInvalid);
}

#[test]
fn duration_must_be_a_whole_number_of_zero_or_more() {
    let duration = |json: &str| Row::call().with("duration_ms", json);
    for (json, duration_ms) in [("0", 0), ("1", 1), ("180.0", 180), ("1.8e2", 180)] {
        assert_eq!(duration(json).row().duration_ms(), duration_ms);
    }
    for wrong in ["-1", "1.5", "\"180\"", "null", "true", "9223372036854775807", "9223372036854", "1e30"] {
        assert_eq!(duration(wrong).breach_of(), "duration_ms", "{wrong}");
    }
    assert_eq!(Row::call().without("duration_ms").breach_of(), "duration_ms");
}

#[test]
fn nanosecond_columns_may_say_more_but_nothing_else() {
    let finer = |start: &str, end: &str| Row::call().with("start_ns", start).with("end_ns", end);
    let row = finer("1791331924010042232", "1791331924190066905").row();
    assert_eq!(
        (row.start_ns, row.end_ns, row.duration_ms()),
        (1_791_331_924_010_042_232, 1_791_331_924_190_066_905, 180)
    );
    assert_eq!(finer("1791331924011000000", "null").breach_of(), "start_ns");
    assert_eq!(finer("1791331924009999999", "null").breach_of(), "start_ns");
    assert_eq!(finer("\"1791331924010042232\"", "null").breach_of(), "start_ns");
    assert_eq!(finer("null", "1791331924189999999").breach_of(), "end_ns");
    assert_eq!(finer("null", "1791331924190000000").row().duration_ms(), 180);
    assert_eq!(finer("null", "1791331924190999999").row().duration_ms(), 180);
    assert_eq!(finer("null", "1791331924191000000").breach_of(), "end_ns");
}
