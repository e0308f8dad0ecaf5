//! Each shipped convention by the smallest spans that its instrumentation writes: what they are read as.

use serde_json::json;
use taco_trace::model::Operation;

use super::support_otlp::{Otlp, other, read, row};

/// The columns of a call that a convention fills: convention, tool, canonical arguments, call id.
fn call(span: &Otlp) -> [String; 4] {
    let row = row(span);
    assert_eq!(row.operation, Operation::ExecuteTool, "{span:?}");
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [row.convention.to_string(), or_none(row.tool_name), or_none(row.args_key), or_none(row.call_id)]
}

/// Convention and name of a run.
fn run(span: &Otlp) -> [String; 2] {
    let row = row(span);
    assert_eq!(row.operation, Operation::InvokeAgent, "{span:?}");
    [row.convention.to_string(), row.agent_name.unwrap_or_else(|| "-".to_owned())]
}

/// The span is neither, and counted under this operation.
fn dropped(span: &Otlp, operation: &str) {
    let counts = read(span).counts;
    assert_eq!((counts.kept, counts.skipped), (0, 0), "{span:?}");
    assert_eq!(counts.dropped.keys().collect::<Vec<_>>(), [operation], "{span:?}");
}

fn failure(span: &Otlp) -> String {
    row(span).failure.unwrap_or_else(|| "-".to_owned())
}

fn genai(operation: &str) -> Otlp {
    other(2, operation).below(1).text("gen_ai.operation.name", operation)
}

fn genai_call() -> Otlp {
    genai("execute_tool").text("gen_ai.tool.name", "find").text("gen_ai.tool.call.id", "c1")
}

const ARGS: &str = r#"{"q":"a"}"#;

#[test]
fn otel_genai_current_names_and_those_before() {
    assert_eq!(call(&genai_call().args(ARGS)), ["otel-genai", "find", ARGS, "c1"]);
    for key in ["gen_ai.tool.arguments", "gen_ai.tool.input"] {
        assert_eq!(call(&genai_call().text(key, ARGS)), ["otel-genai", "find", ARGS, "c1"], "{key}");
    }
    let structure = json!({ "kvlistValue": { "values": [{ "key": "q", "value": { "stringValue": "a" } }] } });
    let span = genai_call().value("gen_ai.tool.call.arguments", &structure);
    assert_eq!(call(&span), ["otel-genai", "find", ARGS, "c1"]);
    assert_eq!(run(&genai("invoke_agent").text("gen_ai.agent.name", "a")), ["otel-genai", "a"]);
    for operation in ["chat", "invoke_workflow", "create_agent", "plan", "embeddings"] {
        dropped(&genai(operation), operation);
    }
    // Nothing says that it was hidden: the text is the arguments.
    assert_eq!(call(&genai_call().args("{}")), ["otel-genai", "find", "{}", "c1"]);
    for marker in ["__REDACTED__", "[REDACTED]", "<REDACTED>"] {
        assert_eq!(call(&genai_call().args(marker)), ["otel-genai", "find", "-", "c1"], "{marker}");
    }
}

#[test]
fn openai_agents_of_the_second_contrib_package_have_a_nameless_run_around_the_run() {
    let scope = "opentelemetry.instrumentation.openai_agents";
    dropped(&genai("invoke_agent").named("Agent workflow").root().scope(scope), "invoke_agent");
    let inner = genai("invoke_agent").named("invoke_agent front").text("gen_ai.agent.name", "front");
    assert_eq!(run(&inner), ["otel-genai", "front"]);
    let span = genai_call().text("gen_ai.agent.name", "OpenAI Agent").args(ARGS);
    assert_eq!(call(&span), ["otel-genai", "find", ARGS, "c1"]);
    assert_eq!(row(&span).agent_name, None);
    // Its messages are a Python literal.
    let parts = "[{'role': 'assistant', 'parts': [{'type': 'tool_call', 'id': 'c9', 'name': 'fnd', \
                 'arguments': {'q': \"it's\"}}]}]";
    let asked = read(&genai("chat").text("gen_ai.output.messages", parts)).chat_calls;
    let asked: Vec<_> = asked.iter().map(|call| (call.tool_name.as_str(), call.args_key.as_deref())).collect();
    assert_eq!(asked, [("fnd", Some(r#"{"q":"it's"}"#))]);
}

#[test]
fn semantic_kernel_and_autogen() {
    let span = genai("execute_tool").text("gen_ai.tool.name", "Regs-find").args(ARGS);
    assert_eq!(call(&span), ["otel-genai", "Regs-find", ARGS, "-"]);
    // autogen: no arguments at all, and hand-offs as calls.
    assert_eq!(call(&genai_call()), ["otel-genai", "find", "-", "c1"]);
    dropped(&genai("execute_tool").text("gen_ai.tool.name", "transfer_to_billing"), "execute_tool");
    dropped(&genai("create_agent").root(), "create_agent");
}

#[test]
fn mcp_client_and_server() {
    let client = other(2, "tools/call find").text("mcp.method.name", "tools/call");
    assert_eq!(call(&client), ["otel-mcp", "find", "-", "-"]);
    let named = client.clone().text("gen_ai.tool.name", "find").args(ARGS);
    assert_eq!(call(&named), ["otel-mcp", "find", ARGS, "-"]);
    let asked = client.clone().text("mcp.request.argument", r#"{"name":"find","arguments":{"q":"a"}}"#);
    assert_eq!(call(&asked), ["otel-mcp", "find", ARGS, "-"]);
    let failed = client.text("mcp.response.value", r#"{"isError":true,"content":[]}"#);
    assert_eq!(failure(&failed), "result /isError=true");
    dropped(&other(2, "tools/list").text("mcp.method.name", "tools/list"), "tools/list");
    // With the operation of the GenAI conventions it is one of theirs.
    let both = genai_call().text("mcp.method.name", "tools/call").args(ARGS);
    assert_eq!(call(&both), ["otel-genai", "find", ARGS, "c1"]);
}

#[test]
fn pydantic_ai_of_all_formats() {
    let v1 = other(2, "running tool").scope("pydantic-ai").text("gen_ai.tool.name", "find");
    let v1 = v1.text("gen_ai.tool.call.id", "c1").text("tool_arguments", ARGS);
    assert_eq!(call(&v1), ["pydantic-ai", "find", ARGS, "c1"]);
    let v3 = other(2, "execute_tool find").scope("pydantic-ai").text("gen_ai.tool.name", "find").args(ARGS);
    assert_eq!(call(&v3), ["pydantic-ai", "find", ARGS, "-"]);
    let wrapper = other(2, "running tools").scope("pydantic-ai").text("gen_ai.tool.name", "find");
    dropped(&wrapper, "");
    assert_eq!(run(&other(2, "agent run").scope("pydantic-ai").text("agent_name", "a")), ["pydantic-ai", "a"]);
    let v3 = other(2, "invoke_agent a").scope("pydantic-ai").text("gen_ai.agent.name", "a");
    assert_eq!(run(&v3), ["pydantic-ai", "a"]);
    // 2.x writes the operation, in format 2 with the old names.
    let v2 = genai_call().named("running tool").scope("pydantic-ai").text("tool_arguments", ARGS);
    assert_eq!(call(&v2), ["otel-genai", "find", ARGS, "c1"]);
    assert_eq!(
        failure(&v2.text("pydantic_ai.tool.failure_stage", "validation")),
        "pydantic_ai.tool.failure_stage=validation"
    );
    let last = other(2, "running tool").scope("pydantic-ai").text("gen_ai.tool.name", "final_result");
    dropped(&last, "");
}

fn openinference(kind: &str, name: &str) -> Otlp {
    other(2, name).below(1).text("openinference.span.kind", kind)
}

#[test]
fn openinference_of_agno_llama_index_smolagents_and_dspy() {
    let agno = openinference("TOOL", "find").text("tool.name", "find").text("input.value", ARGS);
    let agno = agno.text("tool.parameters", r#"{"q":"b"}"#);
    assert_eq!(call(&agno), ["openinference", "find", ARGS, "-"]);
    assert_eq!(run(&openinference("AGENT", "a.run").text("agent.name", "a")), ["openinference", "a"]);
    let smolagents = openinference("TOOL", "SimpleTool").text("tool.name", "find");
    let smolagents =
        smolagents.text("input.value", r#"{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"q": "a"}}"#);
    assert_eq!(call(&smolagents), ["openinference", "find", ARGS, "-"]);
    assert_eq!(run(&openinference("AGENT", "a.run").root()), ["openinference", "a"]);
    dropped(&openinference("TOOL", "FinalAnswerTool").text("tool.name", "final_answer"), "TOOL");
    let dspy = openinference("TOOL", "find.__call__").text("input.value", r#"{"kwargs": {"q": "a"}}"#);
    assert_eq!(call(&dspy), ["openinference", "find", ARGS, "-"]);
    dropped(&openinference("TOOL", "finish.__call__").text("input.value", r#"{"kwargs": {}}"#), "TOOL");
    assert_eq!(run(&openinference("CHAIN", "ReAct.forward").root()), ["openinference", "ReAct.forward"]);
    dropped(&openinference("CHAIN", "Step 1"), "CHAIN");
    dropped(&openinference("LLM", "llm"), "LLM");
    let hidden = openinference("TOOL", "find").text("tool.name", "find").text("input.value", "__REDACTED__");
    assert_eq!(call(&hidden), ["openinference", "find", "-", "-"]);
    // A parameter that is called as a wrapper is.
    let own = openinference("TOOL", "find").text("tool.name", "find").text("input.value", r#"{"input":"seoul"}"#);
    assert_eq!(call(&own), ["openinference", "find", r#"{"input":"seoul"}"#, "-"]);
}

#[test]
fn openinference_of_openai_agents_and_crewai() {
    let scope = "openinference.instrumentation.openai_agents";
    dropped(&openinference("AGENT", "Agent workflow").scope(scope).root(), "AGENT");
    let inner = openinference("AGENT", "front").scope(scope).text("agent.name", "front");
    assert_eq!(run(&inner), ["openinference", "front"]);
    dropped(&openinference("TOOL", "handoff to budget").scope(scope).text("input.value", "front"), "TOOL");
    let crew = "openinference.instrumentation.crewai";
    dropped(&openinference("CHAIN", "Crew_1.kickoff").scope(crew).root(), "CHAIN");
    let agent = openinference("AGENT", "Clerk._execute_core").scope(crew).text("graph.node.id", "Clerk");
    assert_eq!(run(&agent), ["openinference", "Clerk"]);
}

#[test]
fn openinference_of_langchain_loses_the_name_of_a_single_argument() {
    for scope in ["openinference.instrumentation.langchain", "@arizeai/openinference-instrumentation-langchain"] {
        let span = openinference("TOOL", "find").scope(scope).text("tool.name", "find");
        let result = r#"{"data":{"content":"r","tool_call_id":"c1","status":"error"}}"#;
        let answered = span.clone().text("input.value", ARGS).text("output.value", result);
        assert_eq!(call(&answered), ["openinference-langchain", "find", ARGS, "c1"], "{scope}");
        assert_eq!(row(&answered).tool_result.as_deref(), Some("r"));
        assert_eq!(failure(&answered), "output.value /data/status=error");
        assert_eq!(call(&span.text("input.value", "Planning")), ["openinference-langchain", "find", "-", "-"]);
        let delegation = openinference("AGENT", "budget_agent").scope(scope).text("tool.name", "budget_agent");
        assert_eq!(call(&delegation)[..2], ["openinference-langchain", "budget_agent"]);
        dropped(&openinference("CHAIN", "tools").scope(scope), "CHAIN");
    }
    let js = openinference("CHAIN", "front").scope("@arizeai/openinference-instrumentation-langchain").root();
    assert_eq!(run(&js.text("metadata", r#"{"lc_agent_name":"front"}"#)), ["openinference-langchain", "front"]);
}

fn traceloop(kind: &str, name: &str) -> Otlp {
    other(2, name).below(1).text("traceloop.span.kind", kind)
}

#[test]
fn traceloop_with_and_without_the_names_of_the_conventions() {
    let plain = traceloop("tool", "find.tool").text("traceloop.entity.name", "find");
    let plain = plain.text("traceloop.entity.input", r#"{"args":[],"kwargs":{"q":"a"}}"#);
    assert_eq!(call(&plain), ["traceloop", "find", ARGS, "-"]);
    let langchain = traceloop("tool", "execute_tool find").text("gen_ai.operation.name", "execute_tool");
    let langchain = langchain.text("gen_ai.tool.name", "find");
    let literal = langchain.clone().args(r#"{"input_str":"{'q': 'a'}","tags":[],"metadata":{},"inputs":null}"#);
    assert_eq!(call(&literal), ["traceloop", "find", ARGS, "-"]);
    // One argument only: its value without its name.
    let bare = langchain.clone().args(r#"{"input_str":"Planning","tags":[]}"#);
    assert_eq!(call(&bare), ["traceloop", "find", "-", "-"]);
    let result = r#"{"output":{"kwargs":{"tool_call_id":"c1","status":"error"}}}"#;
    let failed = langchain.text("gen_ai.tool.call.result", result);
    assert_eq!((call(&failed)[3].as_str(), failure(&failed).as_str()), ("c1", "result /output/kwargs/status=error"));
    assert_eq!(run(&genai("invoke_agent").text("gen_ai.agent.name", "a").root()), ["otel-genai", "a"]);
    let inner = traceloop("workflow", "a.workflow").text("gen_ai.operation.name", "invoke_agent");
    dropped(&inner, "workflow");
    assert_eq!(run(&traceloop("workflow", "w").root().text("traceloop.workflow.name", "w")), ["traceloop", "w"]);
    dropped(&traceloop("task", "t"), "task");
}

#[test]
fn traceloop_of_crewai_and_openai_agents() {
    let named = |kind: &str, name: &str| traceloop(kind, name).text("gen_ai.operation.name", "invoke_agent");
    dropped(&named("workflow", "crewai.workflow").root(), "workflow");
    dropped(&named("task", "Find the rule.task"), "task");
    let agent = named("agent", "Clerk.agent").text("gen_ai.agent.name", "Clerk");
    assert_eq!(run(&agent), ["traceloop", "Clerk"]);
    let scope = "opentelemetry.instrumentation.openai_agents";
    dropped(&traceloop("workflow", "Agent Workflow").scope(scope).root(), "workflow");
    let agent = traceloop("agent", "front.agent").scope(scope).text("gen_ai.operation.name", "invoke_agent");
    assert_eq!(run(&agent.text("gen_ai.agent.name", "front")), ["traceloop", "front"]);
}

#[test]
fn langsmith() {
    let span = other(2, "find").below(1).text("langsmith.span.kind", "tool").text("gen_ai.tool.name", "find");
    let span = span.text("gen_ai.operation.name", "execute_tool");
    let answered = r#"{"output":{"tool_call_id":"c1","status":"error"}}"#;
    let told = span.clone().text("gen_ai.prompt", ARGS).text("gen_ai.completion", answered);
    assert_eq!(call(&told), ["langsmith", "find", ARGS, "c1"]);
    assert_eq!(failure(&told), "result /output/status=error");
    assert_eq!(call(&span.text("gen_ai.prompt", "{}")), ["langsmith", "find", "-", "-"]);
    let chain = |name: &str| {
        let span = other(2, name).text("langsmith.span.kind", "chain").text("gen_ai.operation.name", "chain");
        span.text("langsmith.metadata.lc_agent_name", "front")
    };
    assert_eq!(run(&chain("front").root()), ["langsmith", "front"]);
    dropped(&chain("tools").below(1), "chain");
}

#[test]
fn strands_writes_arguments_into_events_by_default() {
    let span = genai_call().scope("strands.telemetry.tracer");
    let default = span.clone().event("gen_ai.tool.message", &[("role", "tool"), ("content", ARGS), ("id", "c1")]);
    let default = default.event("gen_ai.choice", &[("message", "r")]);
    assert_eq!(call(&default), ["strands", "find", ARGS, "c1"]);
    assert_eq!(row(&default).tool_result.as_deref(), Some("r"));
    assert_eq!(call(&span.clone().args(ARGS)), ["strands", "find", ARGS, "c1"]);
    assert_eq!(failure(&span.text("gen_ai.tool.status", "error")), "gen_ai.tool.status=error");
    let run_span = genai("invoke_agent").scope("strands.telemetry.tracer").text("gen_ai.agent.name", "a");
    assert_eq!(run(&run_span), ["strands", "a"]);
}

#[test]
fn google_adk_of_all_schemas() {
    let span = genai_call().scope("gcp.vertex.agent");
    assert_eq!(call(&span.clone().args(ARGS)), ["google-adk", "find", ARGS, "c1"]);
    let legacy = span.clone().text("gcp.vertex.agent.tool_call_args", ARGS);
    assert_eq!(call(&legacy), ["google-adk", "find", ARGS, "c1"]);
    let hidden = span.clone().text("gcp.vertex.agent.tool_call_args", "{}");
    assert_eq!(call(&hidden), ["google-adk", "find", "-", "c1"]);
    let failed = span.text("gcp.vertex.agent.tool_response", r#"{"status":"error","message":"x"}"#);
    assert_eq!(failure(&failed), "result /status=error");
    for name in ["(merged tools)", "transfer_to_agent"] {
        let span = genai("execute_tool").scope("gcp.vertex.agent").text("gen_ai.tool.name", name);
        dropped(&span, "execute_tool");
    }
    dropped(&other(2, "invocation").scope("gcp.vertex.agent").root(), "");
}

#[test]
fn agent_framework_and_mastra() {
    assert_eq!(call(&genai_call().scope("agent_framework").args(ARGS)), ["agent-framework", "find", ARGS, "c1"]);
    let mastra = genai_call().text("mastra.span.type", "tool_call").args(ARGS);
    assert_eq!(call(&mastra), ["mastra", "find", ARGS, "c1"]);
    let refused = mastra.text("gen_ai.tool.call.result", r#"{"error":true,"message":"x"}"#);
    assert_eq!(failure(&refused), "result /error=true");
    let client = other(2, "client_tool_call fnd").text("mastra.span.type", "client_tool_call");
    let client = client.text("gen_ai.operation.name", "client_tool_call").text("mastra.metadata.args", ARGS);
    assert_eq!(call(&client), ["mastra", "fnd", ARGS, "-"]);
    let agent = genai("invoke_agent").text("mastra.span.type", "agent_run").text("gen_ai.agent.name", "a");
    assert_eq!(run(&agent), ["mastra", "a"]);
}

#[test]
fn vercel_ai_sdk_before_and_after_version_7() {
    let span = other(2, "ai.toolCall").below(1).text("ai.operationId", "ai.toolCall").text("ai.toolCall.name", "find");
    let span = span.text("ai.toolCall.args", ARGS).text("ai.toolCall.id", "c1");
    assert_eq!(call(&span), ["vercel-ai-sdk", "find", ARGS, "c1"]);
    let outer = other(2, "ai.generateText").text("ai.operationId", "ai.generateText");
    assert_eq!(run(&outer.text("ai.telemetry.functionId", "front")), ["vercel-ai-sdk", "front"]);
    let step = other(2, "ai.generateText.doGenerate").text("ai.operationId", "ai.generateText.doGenerate");
    let calls = r#"[{"toolCallId":"c1","toolName":"fnd","input":"{\"q\":\"a\"}"}]"#;
    let asked = read(&step.clone().text("ai.response.toolCalls", calls)).chat_calls;
    let asked: Vec<_> =
        asked.iter().map(|call| (call.tool_name.as_str(), call.args_key.as_deref(), call.call_id.as_deref())).collect();
    assert_eq!(asked, [("fnd", Some(ARGS), Some("c1"))]);
    dropped(&step, "ai.generateText.doGenerate");
    // Version 7.
    let agent = genai("invoke_agent").named("invoke_agent fake-model").text("gen_ai.agent.name", "front");
    assert_eq!(run(&agent), ["otel-genai", "front"]);
    dropped(&genai("agent_step"), "agent_step");
}

#[test]
fn spring_ai() {
    let span = other(2, "tool_call find").below(1).text("spring.ai.kind", "tool_call");
    let span = span.text("gen_ai.operation.name", "framework").text("gen_ai.system", "spring_ai");
    let span = span.text("spring.ai.tool.definition.name", "find");
    assert_eq!(call(&span.clone().text("spring.ai.tool.call.arguments", ARGS)), ["spring-ai", "find", ARGS, "-"]);
    assert_eq!(call(&span), ["spring-ai", "find", "-", "-"]);
    let client = other(2, "spring_ai chat_client").text("spring.ai.kind", "chat_client");
    assert_eq!(run(&client.text("gen_ai.operation.name", "framework")), ["spring-ai", "-"]);
    let advisor = other(2, "advisor").text("spring.ai.kind", "advisor").text("gen_ai.operation.name", "framework");
    dropped(&advisor, "advisor");
}

#[test]
fn claude_code() {
    for kind in ["tool", "claude_code.tool"] {
        let span = other(2, "claude_code.tool").below(1).text("span.type", kind).text("tool_name", "Bash");
        let span = span.text("tool_use_id", "c1");
        assert_eq!(call(&span), ["claude-code", "Bash", "-", "c1"]);
        let hidden = span.clone().text("tool_input", "<REDACTED>");
        assert_eq!(call(&hidden), ["claude-code", "Bash", "-", "c1"]);
        assert_eq!(call(&span.clone().text("tool_input", ARGS)), ["claude-code", "Bash", ARGS, "c1"]);
        // As it writes it: below a headline with the tool's name.
        let told = span.text("tool_input", "[TOOL INPUT: Bash]\n{\"q\":\"a\"}");
        let told = told.text("new_context", "[TOOL RESULT: Bash]\nfine\n]\nmore");
        assert_eq!(call(&told), ["claude-code", "Bash", ARGS, "c1"]);
        assert_eq!(row(&told).tool_result.as_deref(), Some("fine\n]\nmore"));
    }
    for kind in ["tool.execution", "tool.blocked_on_user", "llm_request", "hook"] {
        dropped(&other(2, "claude_code.x").below(1).text("span.type", kind), kind);
    }
    let interaction = other(2, "claude_code.interaction").text("span.type", "interaction");
    assert_eq!(run(&interaction), ["claude-code", "-"]);
}

#[test]
fn of_two_conventions_that_know_a_span_the_one_of_the_instrumentation_counts() {
    // Traceloop's own kind beside the operation of the standard; its input would be the arguments.
    let span = genai_call().text("traceloop.span.kind", "tool").text("traceloop.entity.input", r#"{"q":"old"}"#);
    assert_eq!(call(&span.clone().args(ARGS))[..3], ["traceloop", "find", ARGS]);
    assert_eq!(call(&span)[..3], ["traceloop", "find", r#"{"q":"old"}"#]);
    // The standard's operation beside OpenInference's kind.
    let both = genai_call().args(ARGS).text("openinference.span.kind", "TOOL").text("input.value", "{}");
    assert_eq!(call(&both)[..3], ["otel-genai", "find", ARGS]);
    // OpenInference's general words beside those of its LangChain package.
    let scope = "openinference.instrumentation.langchain";
    let general = openinference("TOOL", "find").text("tool.name", "find").text("input.value", ARGS);
    assert_eq!(call(&general)[0], "openinference");
    assert_eq!(call(&general.scope(scope))[0], "openinference-langchain");
}
