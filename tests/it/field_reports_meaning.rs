//! What people reported of other tools about what traces mean: one test a report, named after it.

use serde_json::{Value, json};
use taco_trace::model::IssueCode;

use super::support::answers;
use super::support_otlp::{Otlp, TRACE, agent, id, lines, needs, other, tool};
use super::support_run::{Outcome, judge_batches};

/// One tool `find`, with this schema, 2 seconds and 2 repeats.
fn find(schema: &Value) -> String {
    json!([{ "tool_name": "find", "description": "d", "json_schema": schema.to_string(),
             "timeout_ms": 2000, "max_retries": 2 }])
    .to_string()
}

fn judge_with(schema: &Value, spans: &[Otlp]) -> Outcome {
    let text = lines(spans.iter());
    judge_batches([(find(schema).as_str(), [text.as_str()].as_slice())])
}

fn judge(spans: &[Otlp]) -> Outcome {
    judge_with(&json!({ "type": "object" }), spans)
}

fn verdicts(outcome: &Outcome) -> Vec<&'static str> {
    let [run] = outcome.runs.as_slice() else { panic!("{} runs", outcome.runs.len()) };
    std::iter::once(&run.diagnosis.verdict).chain(&run.diagnosis.also_found).map(|verdict| verdict.slug()).collect()
}

/// The verdicts on one call of a tool with this schema.
fn one_call(schema: &Value, arguments: &str) -> Vec<&'static str> {
    verdicts(&judge_with(schema, &[agent(1), tool(2, "find").args(arguments)]))
}

fn codes(outcome: &Outcome) -> Vec<IssueCode> {
    outcome.sources.iter().flat_map(|source| &source.issues).map(|issue| issue.code).collect()
}

#[test]
fn opentelemetry_python_1043_spans_delivered_twice_are_no_retries() {
    let call = tool(2, "find").args("{}");
    let spans = [agent(1), call.clone(), call.clone(), call.clone(), call, agent(1)];
    let outcome = judge(&spans);
    assert_eq!(verdicts(&outcome), ["normal"]);
    assert_eq!(outcome.runs[0].diagnosis.tool_calls, 1);
    assert_eq!(outcome.sources[0].totals.spans_redelivered, 4);
}

#[test]
fn tempo_6393_call_whose_parent_is_absent_is_judged_with_its_trace() {
    let outcome = judge(&[agent(1), tool(2, "fnd").below(99)]);
    assert_eq!(verdicts(&outcome), ["undefined-tool"]);
    let lost = format!("SELECT parent_span_id, parent_lost FROM spans WHERE span_id = '{}'", id(2));
    assert_eq!(answers(&outcome.store, &lost), ["-|true"]);
}

#[test]
fn openobserve_14337_end_before_start_is_no_timeout() {
    let outcome = judge(&[agent(1), tool(20, "find").error().starts(9_000).ends(8_995)]);
    assert_eq!(verdicts(&outcome), ["normal"]);
    assert_eq!(codes(&outcome), [IssueCode::EndBeforeStart]);
    let ended_at_0 = tool(20, "find").line().replacen(r#""endTimeUnixNano":""#, r#""endTimeUnixNano":"0","old":""#, 1);
    let text = format!("{}\n{ended_at_0}\n", agent(1).line());
    let outcome = judge_batches([(find(&json!({})).as_str(), [text.as_str()].as_slice())]);
    assert_eq!(codes(&outcome), [IssueCode::TimeInvalid]);
    assert_eq!(verdicts(&outcome), ["normal"]);
}

#[test]
fn jaeger_8167_clock_skew_changes_no_duration() {
    let spans = [agent(1).starts(5_000).ends(6_000), tool(2, "find").args("{}").error().starts(2_000).ends(4_001)];
    let outcome = judge(&spans);
    // 2,001 ms of 2,000, whatever the parent's clock says.
    assert_eq!(verdicts(&outcome), ["timeout-exceeded", "error-hidden"]);
    let times = format!("SELECT duration_ms, parent_span_id FROM spans WHERE span_id = '{}'", id(2));
    assert_eq!(answers(&outcome.store, &times), [format!("2001|{}", id(1))]);
}

#[test]
fn tokscale_829_outer_agent_is_the_run_also_when_it_is_exported_last() {
    let inner = agent(3).below(2).text("gen_ai.agent.id", "inner").ends(50).error();
    let spans = [inner, tool(2, "find").args("{}"), agent(1)];
    let outcome = judge(&spans);
    assert_eq!(outcome.runs[0].final_span_id, id(1));
    let failed = answers(&outcome.store, "SELECT span_id FROM note_inner_agent_failed_v1");
    assert_eq!(failed, [id(3)]);
}

#[test]
fn tokscale_834_cycle_of_agents_ends_and_is_reported() {
    let outcome = judge(&[agent(1).below(3), agent(3).below(1), tool(4, "find").below(3)]);
    assert_eq!(outcome.runs.len(), 0);
    assert_eq!(outcome.unjudged.len(), 1);
    assert_eq!(codes(&outcome), [IssueCode::ParentCycle]);
}

#[test]
fn mast_14_equal_span_ids_of_two_runs_are_two_spans() {
    let second = "00000000000000000000000000000002";
    let run = |trace: &str, name: &str| [agent(1).trace(trace), tool(2, name).args("{}").trace(trace)];
    let spans: Vec<Otlp> = run(TRACE, "find").into_iter().chain(run(second, "fnd")).collect();
    let outcome = judge(&spans);
    assert_eq!(outcome.run(TRACE).diagnosis.verdict.slug(), "normal");
    assert_eq!(outcome.run(second).diagnosis.verdict.slug(), "undefined-tool");
    assert_eq!(outcome.sources[0].totals.spans_redelivered, 0);
}

#[test]
fn atropos_478_python_literal_with_an_apostrophe_is_read() {
    let schema = json!({ "type": "object", "required": ["query"], "properties": {
        "query": { "type": "string" }, "n": { "type": ["integer", "null"] }, "ok": { "type": "boolean" } } });
    assert_eq!(one_call(&schema, r#"{'query': "what's new", 'n': None, 'ok': True}"#), ["normal"]);
    assert_eq!(one_call(&schema, r#"{'query': 1, 'n': None}"#), ["args-mismatch"]);
}

#[test]
fn phoenix_5402_json_in_a_json_string_is_the_arguments() {
    let outcome = judge_with(&needs(&["q"]), &[agent(1), tool(2, "find").args(r#""{\"q\":\"1\"}""#)]);
    assert_eq!(verdicts(&outcome), ["normal"]);
    let noted = answers(&outcome.store, "SELECT tool_name, measured, detail FROM note_args_rewritten_v1");
    assert_eq!(noted, ["find|1|json_string"]);
}

#[test]
fn langchain_34123_nothing_recorded_is_no_missing_argument() {
    let schema = needs(&["q"]);
    let absent = [agent(1), tool(2, "find").value("gen_ai.tool.call.arguments", &json!({}))];
    assert_eq!(verdicts(&judge_with(&schema, &absent)), ["normal"]);
    assert_eq!(one_call(&schema, ""), ["normal"]);
    // The text null is JSON and no object: it has none of the keys.
    assert_eq!(one_call(&schema, "null"), ["args-mismatch"]);
    assert_eq!(one_call(&json!({ "type": "object" }), "null"), ["normal"]);
}

#[test]
fn langfuse_6517_arguments_that_were_cut_are_not_judged() {
    let whole = format!(r#"{{"n":"{}"}}"#, "a".repeat(70_000));
    for cut in [&whole[..214], &whole[..1028], &whole[..65_536]] {
        for text in [cut.to_owned(), format!("{cut}…[truncated]")] {
            let outcome = judge_with(&needs(&["q"]), &[agent(1), tool(2, "find").args(&text)]);
            assert_eq!(verdicts(&outcome), ["normal"]);
            assert_eq!(codes(&outcome), [IssueCode::ArgsNotJson]);
            let form = answers(&outcome.store, "SELECT args_form FROM spans WHERE tool_name = 'find'");
            assert_eq!(form, ["truncated"]);
        }
    }
}

#[test]
fn gorilla_1049_integers_are_numbers_and_12_0_is_an_integer() {
    let typed = |kind: &str| json!({ "type": "object", "properties": { "n": { "type": kind } } });
    assert_eq!(one_call(&typed("number"), r#"{"n":12}"#), ["normal"]);
    assert_eq!(one_call(&typed("integer"), r#"{"n":12.0}"#), ["normal"]);
    assert_eq!(one_call(&typed("integer"), r#"{"n":12.5}"#), ["args-mismatch"]);
    assert_eq!(one_call(&typed("integer"), r#"{"n":true}"#), ["args-mismatch"]);
    let items = json!({ "type": "object", "properties": { "n": { "type": "array", "items": { "type": "number" } } } });
    assert_eq!(one_call(&items, r#"{"n":[1,2]}"#), ["normal"]);
}

#[test]
fn oh_my_pi_179_null_fits_a_union_and_a_list_of_types_refuses_a_text() {
    let any_of = json!({ "type": "object", "properties": {
        "n": { "anyOf": [{ "type": "number" }, { "type": "null" }] } } });
    assert_eq!(one_call(&any_of, r#"{"n":null}"#), ["normal"]);
    assert_eq!(one_call(&any_of, r#"{"n":1.5}"#), ["normal"]);
    // A key that declares its types in a union only is not checked (the rule reads `type`).
    assert_eq!(one_call(&any_of, r#"{"n":"1.0"}"#), ["normal"]);
    let list = json!({ "type": "object", "properties": { "n": { "type": ["integer", "null"] } } });
    assert_eq!(one_call(&list, r#"{"n":null}"#), ["normal"]);
    assert_eq!(one_call(&list, r#"{"n":"1"}"#), ["args-mismatch"]);
}

fn failures_beside_status(outcome: &Outcome) -> Vec<String> {
    answers(&outcome.store, "SELECT span_id, detail FROM note_failure_beside_status_v1 ORDER BY 1")
}

#[test]
fn strands_2016_reported_ok_with_a_failed_result_is_noted() {
    let span = tool(2, "find").args("{}").text("gen_ai.tool.status", "error");
    let outcome = judge(&[agent(1), span]);
    assert_eq!(verdicts(&outcome), ["normal"]);
    assert_eq!(failures_beside_status(&outcome), [format!("{}|gen_ai.tool.status=error", id(2))]);
}

#[test]
fn genai_557_both_kinds_of_failure_are_visible() {
    let told = tool(2, "find").args("{}").text("error.type", "timeout");
    let outcome = judge(&[agent(1), told, tool(3, "find").args("{}").error()]);
    assert_eq!(failures_beside_status(&outcome), [format!("{}|error.type=timeout", id(2))]);
    // Only the status decides.
    assert_eq!(verdicts(&outcome), ["error-hidden"]);
    assert_eq!(outcome.diagnoses()[0]["findings"][0]["span_ids"], json!([id(3), id(1)]));
}

#[test]
fn kagent_2734_arguments_and_failure_of_adk_under_a_span_that_is_no_agent() {
    let between = other(2, "generate_content").text("gen_ai.operation.name", "generate_content").below(1);
    let span = tool(3, "find").below(2).scope("gcp.vertex.agent");
    let span = span.text("gcp.vertex.agent.tool_call_args", "{\"q\":1}");
    let span = span.text("gcp.vertex.agent.tool_response", r#"{"isError":true}"#);
    let outcome = judge_with(&needs(&["q"]), &[agent(1), between, span]);
    assert_eq!(verdicts(&outcome), ["args-mismatch"]);
    assert_eq!(failures_beside_status(&outcome), [format!("{}|result /isError=true", id(3))]);
}

#[test]
fn openinference_3288_two_formats_in_one_file_count_once_each() {
    let v2 = other(2, "running tool").below(1).scope("pydantic-ai").text("gen_ai.tool.name", "find");
    let v3 = other(3, "execute_tool find").below(1).scope("pydantic-ai").text("gen_ai.tool.name", "find");
    let spans = [agent(1), v2.text("tool_arguments", r#"{"q":"a"}"#), v3.args(r#"{"q":"b"}"#)];
    let outcome = judge_with(&needs(&["q"]), &spans);
    assert_eq!(verdicts(&outcome), ["normal"]);
    assert_eq!(outcome.runs[0].diagnosis.tool_calls, 2);
    assert_eq!(outcome.runs[0].coverage.with_readable_arguments, 2);
}

#[test]
fn mlflow_21307_operation_can_be_asked_for_in_sql() {
    let span = other(2, "find").below(1).text("openinference.span.kind", "TOOL").text("tool.name", "find");
    let outcome = judge(&[agent(1), span]);
    let asked = "SELECT operation, convention FROM spans ORDER BY span_id";
    assert_eq!(answers(&outcome.store, asked), ["invoke_agent|otel-genai", "execute_tool|openinference"]);
}

#[test]
fn sentry_120620_polling_counts_by_definition_and_unknown_arguments_are_no_group() {
    let polls = |count: u64, arguments: Option<&str>| {
        let made = (2..2 + count).map(|number| {
            let span = tool(number, "find").text("gen_ai.tool.call.result", &number.to_string());
            match arguments {
                Some(arguments) => span.args(arguments),
                None => span,
            }
        });
        let spans: Vec<Otlp> = std::iter::once(agent(1)).chain(made).collect();
        verdicts(&judge(&spans))
    };
    assert_eq!(polls(1, Some("{}")), ["normal"]);
    assert_eq!(polls(2, Some("{}")), ["normal"]);
    assert_eq!(polls(3, Some("{}")), ["retry-over-limit"]);
    assert_eq!(polls(9, None), ["normal"]);
    assert_eq!(polls(9, Some("")), ["normal"]);
    assert_eq!(polls(9, Some("{\"q\":\"cut…")), ["normal"]);
}

#[test]
fn overlap_slow_error_and_then_other_arguments() {
    let spans = [
        agent(1),
        tool(2, "find").args(r#"{"q":"a"}"#).error().starts(10).ends(2_011),
        tool(3, "find").args(r#"{"q":"b"}"#).starts(3_000).ends(3_001),
    ];
    // The later call recovers the error; the timeout stays.
    assert_eq!(verdicts(&judge(&spans)), ["timeout-exceeded"]);
    let at_limit = [agent(1), tool(2, "find").args("{}").error().starts(10).ends(2_010), tool(9, "find").starts(3_000)];
    assert_eq!(verdicts(&judge(&at_limit)), ["normal"]);
}

#[test]
fn overlap_unknown_name_and_then_the_right_one() {
    let spans = [agent(1), tool(2, "fnd").error(), tool(3, "find").args("{}")];
    // Another name recovers nothing.
    assert_eq!(verdicts(&judge(&spans)), ["undefined-tool", "error-hidden"]);
}

#[test]
fn overlap_later_ok_call_of_the_same_name_by_another_agent() {
    let spans = [
        agent(1),
        agent(2).below(1).ends(40),
        tool(3, "find").below(2).args(r#"{"q":1}"#).error(),
        agent(4).below(1).ends(50),
        tool(5, "find").below(4).args(r#"{"q":2}"#),
    ];
    assert_eq!(verdicts(&judge(&spans)), ["normal"]);
}
