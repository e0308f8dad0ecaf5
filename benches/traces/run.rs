//! One run of an agent: its spans, planned from start to end.

use std::collections::VecDeque;

use super::random::Random;
use super::text::{Place, Sentences, Text, escape};
use super::tools::{Fault, Style, Tool};
use super::{Kept, Planned, SERVICES, Scope};

/// The oldest messages are left out of a chat span beyond this many bytes.
const MESSAGES_BYTES: usize = 6_500;
const MS: u64 = 1_000_000;

/// What all runs share.
pub(crate) struct World {
    pub(crate) sentences: Sentences,
    pub(crate) tools: Vec<Tool>,
    /// The same as `gen_ai.tool.definitions`, escaped for an attribute: so many tools an agent, in turn.
    definitions: Vec<String>,
    lean: bool,
}

/// How many tools an agent is told of.
const TOOLS_PER_AGENT: usize = 6;
const AGENTS: [&str; 4] = ["규정 질의 에이전트", "예산 집행 질의 에이전트", "petition-agent", "document-agent"];
const MODELS: [&str; 3] = ["claude-sonnet-4-5", "gpt-5-mini", "solar-pro-3"];

impl World {
    pub(crate) fn new(tools: Vec<Tool>, lean: bool) -> Self {
        let definition = |tool: &Tool| {
            let Tool { name, description, .. } = tool;
            let schema = r#"{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"}}}"#;
            let names = format!(r#"\"name\":\"{name}\",\"description\":\"{description}\""#);
            format!(r#"{{\"type\":\"function\",{names},\"parameters\":{schema}}}"#)
        };
        let definitions = tools
            .chunks(TOOLS_PER_AGENT)
            .map(|some| format!("[{}]", some.iter().map(definition).collect::<Vec<_>>().join(",")))
            .collect();
        Self { sentences: Sentences::new(), tools, definitions, lean }
    }
}

/// A run being planned.
pub(crate) struct Run<'a> {
    world: &'a World,
    random: &'a mut Random,
    spans: &'a mut Vec<Planned>,
    service: usize,
    trace_id: String,
    conversation: String,
    korean: bool,
    agent: usize,
    model: &'static str,
    messages: VecDeque<String>,
    /// Where the run has come to, nanoseconds since 1970 UTC.
    now: u64,
}

/// What a span ended with.
struct Ending<'a> {
    /// Message of the error, if it is one.
    error: Option<&'a str>,
}

impl<'a> Run<'a> {
    /// Plans a run that begins at `start_ns`; its spans are added to `spans`, each with its end.
    pub(crate) fn plan(world: &'a World, random: &'a mut Random, start_ns: u64, spans: &'a mut Vec<Planned>) {
        let trace_id = format!("{:016x}{:016x}", random.next(), random.next());
        let conversation = format!("conv_{:016x}", random.next());
        let korean = random.in_10_000(6_000);
        // A tenth of the runs belongs to the service that writes `\u` escapes.
        let service = if random.in_10_000(1_000) { SERVICES - 1 } else { random.index(SERVICES - 1) };
        let agent = random.index(AGENTS.len());
        let model = MODELS[random.index(MODELS.len())];
        let messages = VecDeque::new();
        let mut run = Run {
            world,
            random,
            spans,
            service,
            trace_id,
            conversation,
            korean,
            agent,
            model,
            messages,
            now: start_ns,
        };
        run.go();
    }

    const fn ascii(&self) -> bool {
        self.service == SERVICES - 1
    }

    fn go(&mut self) {
        // A fifth of the runs begins in a request to a web server, whose span is not kept.
        let request = self.random.in_10_000(2_000).then(|| (self.id(), self.now));
        self.wait(1, 3);
        let (start, root) = (self.now, self.id());
        let length = self.random.between(2, 9);
        let question = self.text(length);
        self.message("user", &question);
        let turns = self.random.between(1, 3) + u64::from(self.random.in_10_000(3_000));
        for _ in 0..turns {
            self.wait(2, 20);
            let calls = self.random.between(1, 2);
            self.turn(&root, calls);
        }
        self.wait(2, 20);
        self.chat(&root, &[]);
        self.wait(1, 5);
        let failed = self.random.in_10_000(300);
        self.agent_span(&root, request.as_ref().map(|(id, _)| id.as_str()), start, failed);
        if let Some((id, start)) = request {
            self.wait(1, 3);
            self.step(&id, None, "POST /chat", start);
        }
    }

    /// The model asks for tools, and they are called; sometimes by another agent that is asked first, or inside a step
    /// of a framework, whose span is not kept.
    fn turn(&mut self, root: &str, calls: u64) {
        let style = Style {
            korean: self.korean,
            ascii: self.ascii(),
            spaced: self.random.in_10_000(3_000),
            reversed: self.random.in_10_000(1_000),
        };
        let mut planned = Vec::new();
        for _ in 0..calls {
            let first = self.agent * 4;
            let place = if self.random.in_10_000(9_000) { first + self.random.index(4) } else { self.random.index(16) };
            let tool = &self.world.tools[place % self.world.tools.len()];
            let values = tool.values(&self.world.sentences, self.random, style);
            let fault = match self.random.below(10_000) {
                0..60 => Fault::Missing,
                60..90 => Fault::Types,
                _ => Fault::None,
            };
            // One call in eighty comes again and again, sometimes written in another way.
            let again = if self.random.in_10_000(125) { self.random.between(1, tool.max_retries + 2) } else { 0 };
            for nth in 0..=again {
                let style = Style { reversed: style.reversed ^ (nth == 2), ..style };
                planned.push((tool, tool.arguments(&values, style, fault), again > nth));
            }
        }
        let calls: Vec<Call<'_>> =
            planned.into_iter().map(|(tool, text, fails)| self.call(tool, text, fails)).collect();
        self.chat(root, &calls);
        self.wait(1, 10);
        let kind = self.random.below(10_000);
        let between = (kind < 2_000).then(|| (self.id(), self.now));
        let parent = between.as_ref().map_or(root, |(id, _)| id).to_owned();
        for call in &calls {
            self.wait(1, 10);
            self.tool(&parent, call);
        }
        if let Some((id, start)) = between {
            self.wait(1, 5);
            if kind < 800 {
                self.agent_span(&id, Some(root), start, false);
            } else {
                self.step(&id, Some(root), "tools.step", start);
            }
        }
    }

    fn call<'t>(&mut self, tool: &'t Tool, text: String, fails: bool) -> Call<'t> {
        let kind = self.random.below(10_000);
        let name = if kind < 40 { format!("get_{}_status", tool.name) } else { tool.name.clone() };
        let text = match kind {
            100..200 => None,
            200..210 => Some(format!("query={}", self.random.below(1_000))),
            _ => Some(text),
        };
        let mut escaped = String::new();
        if let Some(text) = &text {
            escape(text, false, &mut escaped);
        }
        let length = self.random.between(1, 14);
        let result = if self.random.in_10_000(5_000) {
            let mut rows = String::from(r#"{\"rows\":["#);
            for row in 0..length {
                let text = self.text(1);
                rows.push_str(if row > 0 { r#",{\"no\":"# } else { r#"{\"no\":"# });
                rows.push_str(&row.to_string());
                rows.push_str(r#",\"text\":\""#);
                self.world.sentences.write(&text, Place::twice(self.ascii()), &mut rows);
                rows.push_str(r#"\"}"#);
            }
            rows.push_str(r#"],\"total\":"#);
            rows.push_str(&self.random.below(500).to_string());
            rows.push('}');
            ToolResult::Json(rows)
        } else {
            ToolResult::Text(self.text(length))
        };
        let id = format!("call_{:016x}", self.random.next());
        let timed_out = kind >= 9_950;
        let failed = fails || timed_out || kind < 40 || (300..660).contains(&kind);
        Call { tool, name, id, argument_bytes: text.as_ref().map(String::len), escaped, result, failed, timed_out }
    }

    fn agent_span(&mut self, id: &str, parent: Option<&str>, start: u64, failed: bool) {
        let ending = Ending { error: failed.then_some("the answer could not be composed") };
        let agent = AGENTS[self.agent];
        let mut out = self.open(id, parent, &format!("invoke_agent {agent}"), 1, start);
        attribute(&mut out, "gen_ai.operation.name", "invoke_agent");
        attribute(&mut out, "gen_ai.provider.name", "anthropic");
        attribute(&mut out, "gen_ai.agent.name", agent);
        attribute(&mut out, "gen_ai.agent.id", &format!("agent_{}", self.agent));
        attribute(&mut out, "gen_ai.agent.description", "Answers questions of staff from internal sources and tools.");
        attribute(&mut out, "gen_ai.conversation.id", &self.conversation);
        attribute(&mut out, "gen_ai.request.model", self.model);
        integer(&mut out, "gen_ai.usage.input_tokens", self.random.between(500, 20_000));
        integer(&mut out, "gen_ai.usage.output_tokens", self.random.between(20, 2_000));
        let definitions = &self.world.definitions;
        attribute(&mut out, "gen_ai.tool.definitions", &definitions[self.agent % definitions.len()]);
        if failed {
            attribute(&mut out, "error.type", "AnswerError");
        }
        self.close(out, start, &ending, Scope::Agent, Some((false, None)));
    }

    /// A request to the model. The answer asks for the calls, or is a text when there are none.
    fn chat(&mut self, parent: &str, calls: &[Call<'_>]) {
        let (start, id) = (self.now, self.id());
        if self.random.in_10_000(2_000) {
            self.wait(1, 3);
            self.http(&id, "POST", "api.example.com", "/v1/messages");
        }
        self.wait(400, 4_000);
        let mut out = self.open(&id, Some(parent), &format!("chat {}", self.model), 3, start);
        attribute(&mut out, "gen_ai.operation.name", "chat");
        attribute(&mut out, "gen_ai.provider.name", "anthropic");
        attribute(&mut out, "gen_ai.conversation.id", &self.conversation);
        attribute(&mut out, "gen_ai.request.model", self.model);
        attribute(&mut out, "gen_ai.response.model", self.model);
        attribute(&mut out, "gen_ai.response.id", &format!("msg_{:016x}", self.random.next()));
        attribute(&mut out, "gen_ai.output.type", "text");
        integer(&mut out, "gen_ai.request.max_tokens", 4_096);
        out.push_str(r#"{"key":"gen_ai.request.temperature","value":{"doubleValue":0.2}},"#);
        let reason = if calls.is_empty() { "stop" } else { "tool_call" };
        out.push_str(r#"{"key":"gen_ai.response.finish_reasons","value":{"arrayValue":{"values":[{"stringValue":""#);
        out.push_str(reason);
        out.push_str(r#""}]}}},"#);
        integer(&mut out, "gen_ai.usage.input_tokens", self.random.between(200, 20_000));
        integer(&mut out, "gen_ai.usage.output_tokens", self.random.between(10, 2_000));
        attribute(&mut out, "server.address", "api.example.com");
        integer(&mut out, "server.port", 443);
        let mut answer = String::from(r#"{\"role\":\"assistant\",\"parts\":["#);
        for (nth, call) in calls.iter().enumerate() {
            answer.push_str(if nth > 0 { "," } else { "" });
            answer.push_str(r#"{\"type\":\"tool_call\",\"id\":\""#);
            answer.push_str(&call.id);
            answer.push_str(r#"\",\"name\":\""#);
            answer.push_str(&call.name);
            answer.push_str(r#"\",\"arguments\":"#);
            answer.push_str(if call.escaped.starts_with('{') { &call.escaped } else { "{}" });
            answer.push('}');
        }
        if calls.is_empty() {
            let length = self.random.between(3, 12);
            let text = self.text(length);
            answer.push_str(r#"{\"type\":\"text\",\"content\":\""#);
            self.world.sentences.write(&text, Place::twice(self.ascii()), &mut answer);
            answer.push_str(r#"\"}"#);
        }
        answer.push(']');
        if !self.world.lean {
            let length = self.random.between(2, 6);
            let instructions = self.text(length);
            let mut system = String::from(r#"[{\"type\":\"text\",\"content\":\""#);
            self.world.sentences.write(&instructions, Place::twice(self.ascii()), &mut system);
            system.push_str(r#"\"}]"#);
            attribute(&mut out, "gen_ai.system_instructions", &system);
            out.push_str(r#"{"key":"gen_ai.input.messages","value":{"stringValue":"["#);
            for (nth, message) in self.messages.iter().enumerate() {
                out.push_str(if nth > 0 { "," } else { "" });
                out.push_str(message);
            }
            out.push_str(r#"]"}},"#);
            attribute(&mut out, "gen_ai.output.messages", &format!(r#"[{answer},\"finish_reason\":\"{reason}\"}}]"#));
        }
        answer.push('}');
        self.remember(answer);
        self.close(out, start, &Ending { error: None }, Scope::Agent, None);
    }

    fn tool(&mut self, parent: &str, call: &Call<'_>) {
        let (start, id) = (self.now, self.id());
        if self.random.in_10_000(3_000) {
            self.wait(1, 3);
            self.http(&id, "GET", "tools.internal.example.com", "/v2/query");
        }
        // A call fails of its time only when it is over the limit; one in a hundred is over it and well.
        let over = call.timed_out || self.random.in_10_000(100);
        let limit = call.tool.timeout_ms;
        if over {
            self.wait(limit + 1, limit * 3 / 2)
        } else {
            self.wait(5, limit / 3)
        };
        let ending = Ending { error: call.failed.then_some("tool did not answer: status 504, see log") };
        let mut out = self.open(&id, Some(parent), &format!("execute_tool {}", call.name), 1, start);
        attribute(&mut out, "gen_ai.operation.name", "execute_tool");
        attribute(&mut out, "gen_ai.provider.name", "anthropic");
        attribute(&mut out, "gen_ai.tool.name", &call.name);
        attribute(&mut out, "gen_ai.tool.type", "function");
        attribute(&mut out, "gen_ai.tool.description", &call.tool.description);
        attribute(&mut out, "gen_ai.tool.call.id", &call.id);
        attribute(&mut out, "gen_ai.conversation.id", &self.conversation);
        attribute(&mut out, "gen_ai.agent.name", AGENTS[self.agent]);
        attribute(&mut out, "code.function.name", "example.agents.tools.dispatch");
        integer(&mut out, "thread.id", self.random.between(1, 64));
        if call.argument_bytes.is_some() {
            attribute(&mut out, "gen_ai.tool.call.arguments", &call.escaped);
        }
        if call.failed {
            attribute(&mut out, "error.type", if call.timed_out { "timeout" } else { "ToolError" });
        } else if !self.world.lean {
            out.push_str(r#"{"key":"gen_ai.tool.call.result","value":{"stringValue":""#);
            match &call.result {
                ToolResult::Json(json) => out.push_str(json),
                ToolResult::Text(text) => self.world.sentences.write(text, Place::Once, &mut out),
            }
            out.push_str(r#""}},"#);
        }
        self.close(out, start, &ending, Scope::Agent, Some((true, call.argument_bytes)));
        let mut response = String::from(r#"{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\""#);
        response.push_str(&call.id);
        response.push_str(r#"\",\"result\":"#);
        match &call.result {
            _ if call.failed => response.push_str(r#"\"error: tool did not answer\""#),
            ToolResult::Json(json) => response.push_str(json),
            ToolResult::Text(text) => {
                response.push_str(r#"\""#);
                self.world.sentences.write(text, Place::twice(self.ascii()), &mut response);
                response.push_str(r#"\""#);
            }
        }
        response.push_str("}]}");
        self.remember(response);
    }

    /// A span around others that is neither of an agent nor of a tool.
    fn step(&mut self, id: &str, parent: Option<&str>, name: &str, start: u64) {
        let mut out = self.open(id, parent, name, 1, start);
        attribute(&mut out, "code.function.name", "example.framework.graph.run_step");
        attribute(&mut out, "session.id", &self.conversation);
        integer(&mut out, "thread.id", self.random.between(1, 64));
        self.close(out, start, &Ending { error: None }, Scope::Http, None);
    }

    fn http(&mut self, parent: &str, method: &str, host: &str, path: &str) {
        let (start, id) = (self.now, self.id());
        self.wait(3, 300);
        let mut out = self.open(&id, Some(parent), method, 3, start);
        attribute(&mut out, "http.request.method", method);
        attribute(&mut out, "url.full", &format!("https://{host}{path}?request={}", self.random.below(1_000_000)));
        attribute(&mut out, "server.address", host);
        integer(&mut out, "server.port", 443);
        integer(&mut out, "http.response.status_code", 200);
        attribute(&mut out, "network.protocol.version", "1.1");
        attribute(&mut out, "network.peer.address", "10.20.3.41");
        attribute(&mut out, "user_agent.original", "python-httpx/0.28.1");
        integer(&mut out, "thread.id", self.random.between(1, 64));
        integer(&mut out, "http.response.body.size", self.random.below(100_000));
        self.close(out, start, &Ending { error: None }, Scope::Http, None);
    }

    fn text(&mut self, sentences: u64) -> Text {
        self.world.sentences.text(self.random, self.korean, sentences)
    }

    fn message(&mut self, role: &str, text: &Text) {
        let mut message = format!(r#"{{\"role\":\"{role}\",\"parts\":[{{\"type\":\"text\",\"content\":\""#);
        self.world.sentences.write(text, Place::twice(self.ascii()), &mut message);
        message.push_str(r#"\"}]}"#);
        self.remember(message);
    }

    fn remember(&mut self, message: String) {
        self.messages.push_back(message);
        let mut bytes: usize = self.messages.iter().map(String::len).sum();
        while bytes > MESSAGES_BYTES && self.messages.len() > 1 {
            bytes -= self.messages.pop_front().map_or(0, |oldest| oldest.len());
        }
    }

    fn id(&mut self) -> String {
        format!("{:016x}", self.random.next())
    }

    fn wait(&mut self, from_ms: u64, to_ms: u64) {
        self.now += self.random.between(from_ms * MS, to_ms * MS);
    }

    fn open(&self, id: &str, parent: Option<&str>, name: &str, kind: u32, start: u64) -> String {
        let (trace_id, end, parent) = (&self.trace_id, self.now, parent.unwrap_or_default());
        let ids = format!(r#"{{"traceId":"{trace_id}","spanId":"{id}","parentSpanId":"{parent}","flags":257,"#);
        let times = format!(r#""kind":{kind},"startTimeUnixNano":"{start}","endTimeUnixNano":"{end}","attributes":["#);
        let mut out = String::with_capacity(4_096);
        for part in [&ids, r#""name":""#, name, r#"","#, &times] {
            out.push_str(part);
        }
        out
    }

    /// `kept`: whether the span is a tool call, and how long its arguments are; none for a span that is not kept.
    fn close(
        &mut self,
        mut out: String,
        start: u64,
        ending: &Ending<'_>,
        scope: Scope,
        kept: Option<(bool, Option<usize>)>,
    ) {
        // The last attribute has a comma behind it.
        out.pop();
        match ending.error {
            None => out.push_str(r#"],"status":{}}"#),
            Some(message) => out.push_str(&format!(r#"],"status":{{"message":"{message}","code":2}}}}"#)),
        }
        let kept = kept.map(|(is_call, argument_bytes)| Kept {
            duration_ms: (self.now - start) / MS,
            error_calls: u64::from(is_call && ending.error.is_some()),
            start_ns_below_second: start % 1_000_000_000,
            argument_bytes: argument_bytes.unwrap_or_default() as u64,
        });
        self.spans.push(Planned { end_ns: self.now, service: self.service, scope, json: out, kept });
    }
}

/// A tool call that the model asked for.
struct Call<'t> {
    tool: &'t Tool,
    name: String,
    id: String,
    /// The arguments, escaped for an attribute.
    escaped: String,
    /// Length of the arguments before that; none when they are not recorded.
    argument_bytes: Option<usize>,
    result: ToolResult,
    failed: bool,
    timed_out: bool,
}

enum ToolResult {
    /// A JSON text, escaped for an attribute.
    Json(String),
    Text(Text),
}

fn attribute(out: &mut String, key: &str, escaped: &str) {
    out.push_str(r#"{"key":""#);
    out.push_str(key);
    out.push_str(r#"","value":{"stringValue":""#);
    out.push_str(escaped);
    out.push_str(r#""}},"#);
}

fn integer(out: &mut String, key: &str, value: u64) {
    out.push_str(r#"{"key":""#);
    out.push_str(key);
    out.push_str(r#"","value":{"intValue":""#);
    out.push_str(&value.to_string());
    out.push_str(r#""}},"#);
}
