//! A model that follows a script: offline, and the same seed says the same.
//!
//! It reads the question for departments, years, quarters and what is wanted, and plans a call for each thing wanted.
//! Of a tool it knows what it is offered. A required argument that the question does not hold, as `dept_code`, it gives
//! when the tool's *description* names it: it then looks the code up first with `org_chart_lookup`. When the
//! description does not name it, it leaves it out for a share of the questions ([`ScriptConfig::omits_percent`], by a
//! hash of seed and question), as a model does that was never told. After an error it tries once more, with the
//! argument that was missing, or gives up, by the seed; a second error of the same call ends its patience. An answer
//! that gives up begins with the agent's marker.
//!
//! A message that names an offered tool with a JSON object behind it (`send_email {"to": "…"}`) is taken as an order:
//! that tool is called with these arguments, whatever it is.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::agent::AgentTexts;
use super::seed::chance;
use super::tools::departments;
use crate::chat::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, ToolOffer, Usage};
use crate::render::layout::thousands;

const SHIPPED: &str = include_str!("data/script.json");

const SEARCH: &str = "search_regulation";
const LOOK_UP: &str = "org_chart_lookup";
const BUDGET: &str = "budget_api";
const DEPT_CODE: &str = "dept_code";

/// How a script behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptConfig {
    /// Makes its choices.
    pub seed: u64,
    /// In how many of a hundred questions it leaves out what the description does not name.
    pub omits_percent: u8,
    /// In how many of a hundred cases it tries once more after an error.
    pub recovers_percent: u8,
}

impl Default for ScriptConfig {
    fn default() -> Self {
        Self { seed: 0, omits_percent: 60, recovers_percent: 70 }
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Texts {
    search_words: Vec<String>,
    budget_words: Vec<String>,
    code_words: Vec<String>,
    year_suffix: String,
    quarter_suffix: String,
    found_article: String,
    found_budget: String,
    found_code: String,
    nothing: String,
    done: String,
    not_done: String,
    not_understood: String,
    result: String,
}

/// The model.
#[derive(Debug, Clone)]
pub struct ScriptModel {
    config: ScriptConfig,
    texts: Texts,
    marker: String,
    departments: Vec<String>,
}

/// Something wanted, and the call that gives it.
#[derive(Debug, Clone)]
struct Goal {
    tool: String,
    department: Option<String>,
    arguments: Map<String, Value>,
}

/// What the conversation shows of a call.
#[derive(Debug, Clone, Default)]
struct Tried {
    errors: usize,
    /// Whether an error was about the arguments.
    told_of_arguments: bool,
    result: Option<Value>,
}

impl ScriptModel {
    /// A script.
    #[must_use]
    pub fn new(config: ScriptConfig) -> Self {
        Self {
            config,
            texts: serde_json::from_str(SHIPPED).expect("a test reads the texts that are shipped"),
            marker: AgentTexts::shipped().marker,
            departments: departments().into_iter().map(|department| department.dept_name).collect(),
        }
    }

    fn goals(&self, question: &str, tools: &[ToolOffer]) -> Vec<Goal> {
        if let Some(order) = order(question, tools) {
            return vec![order];
        }
        let holds = |words: &[String]| words.iter().any(|word| question.contains(word.as_str()));
        let mut named: Vec<(usize, &String)> =
            self.departments.iter().filter_map(|name| Some((question.find(name.as_str())?, name))).collect();
        named.sort_unstable();
        let mut departments: Vec<Option<String>> = named.into_iter().map(|(_, name)| Some(name.clone())).collect();
        if departments.is_empty() {
            departments.push(None);
        }
        let period =
            (number_before(question, &self.texts.year_suffix), number_before(question, &self.texts.quarter_suffix));
        let mut goals = Vec::new();
        for department in departments {
            let mut goal = |tool: &str, arguments: Value| {
                let Value::Object(arguments) = arguments else { return };
                if tools.iter().any(|offer| offer.name == tool) {
                    goals.push(Goal { tool: tool.to_owned(), department: department.clone(), arguments });
                }
            };
            if holds(&self.texts.budget_words)
                && let (Some(year), Some(quarter)) = period
            {
                goal(BUDGET, json!({ "year": year, "quarter": quarter }));
            }
            if holds(&self.texts.search_words) {
                // The department is told by its code.
                let query =
                    department.as_deref().map_or_else(|| question.to_owned(), |name| question.replace(name, ""));
                goal(SEARCH, json!({ "query": query.trim() }));
            }
            if let Some(name) = department.as_deref().filter(|_| holds(&self.texts.code_words)) {
                goal(LOOK_UP, json!({ "dept_name": name }));
            }
        }
        goals
    }

    fn next(&self, request: &ChatRequest) -> (String, Vec<ToolCall>) {
        let asked = request.messages.iter().rposition(|message| matches!(message, Message::User(_)));
        let (question, since) =
            match asked.and_then(|at| Some((request.messages.get(at)?, request.messages.get(at..)?))) {
                Some((Message::User(question), since)) => (question.as_str(), since),
                _ => return (self.say_marked(&self.texts.not_understood, ""), Vec::new()),
            };
        let goals = self.goals(question, &request.tools);
        if goals.is_empty() {
            return (self.say_marked(&self.texts.not_understood, ""), Vec::new());
        }
        let tried = tried(since);
        let recovers = chance(self.config.recovers_percent, self.config.seed, &["recovers", question]);
        let mut calls = Vec::new();
        let mut looked_up = BTreeSet::new();
        for (number, goal) in goals.iter().enumerate() {
            let direct = tried.get(&step('t', number)).cloned().unwrap_or_default();
            if direct.result.is_some() {
                continue;
            }
            if direct.errors > 1 || (direct.errors == 1 && !recovers) {
                return (self.say_marked(&self.texts.not_done, &goal.tool), Vec::new());
            }
            let mut arguments = goal.arguments.clone();
            if self.needs_code(goal, &request.tools, question, &direct)
                && let Some(name) = &goal.department
            {
                // Several goals may be about one department; the first of them looks it up.
                let first = goals.iter().position(|other| other.department == goal.department).unwrap_or(number);
                let lookup = tried.get(&step('d', first)).cloned().unwrap_or_default();
                if lookup.errors > 1 || (lookup.errors == 1 && !recovers && lookup.result.is_none()) {
                    return (self.say_marked(&self.texts.not_done, LOOK_UP), Vec::new());
                }
                match lookup.result.as_ref() {
                    Some(found) if is_done(found) => continue,
                    Some(found) => {
                        arguments.insert(DEPT_CODE.to_owned(), found.get(DEPT_CODE).cloned().unwrap_or(Value::Null));
                    }
                    None if request.tools.iter().any(|tool| tool.name == LOOK_UP) => {
                        if looked_up.insert(first) {
                            calls.push(self.call(since, 'd', first, LOOK_UP, &json!({ "dept_name": name })));
                        }
                        continue;
                    }
                    None => {}
                }
            }
            calls.push(self.call(since, 't', number, &goal.tool, &Value::Object(arguments)));
        }
        if calls.is_empty() { (self.answer(&goals, &tried), Vec::new()) } else { (String::new(), calls) }
    }

    /// Whether the goal's tool is to be given a department's code.
    fn needs_code(&self, goal: &Goal, tools: &[ToolOffer], question: &str, direct: &Tried) -> bool {
        let Some(tool) = tools.iter().find(|tool| tool.name == goal.tool) else { return false };
        let required = tool.parameters.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|keys| keys.iter().any(|key| key == DEPT_CODE));
        let omits = !names(&tool.description, DEPT_CODE)
            && chance(self.config.omits_percent, self.config.seed, &["omits", question, &goal.tool]);
        is_required && !goal.arguments.contains_key(DEPT_CODE) && (!omits || direct.told_of_arguments)
    }

    fn call(&self, since: &[Message], kind: char, goal: usize, tool: &str, arguments: &Value) -> ToolCall {
        let id = format!(
            "call_{:016x}_{}_{}",
            super::seed::draw(self.config.seed, &[&format!("{since:?}")]),
            since.len(),
            step(kind, goal)
        );
        ToolCall { id, name: tool.to_owned(), arguments: arguments.to_string() }
    }

    fn answer(&self, goals: &[Goal], tried: &BTreeMap<String, Tried>) -> String {
        let mut parts = Vec::new();
        for (number, goal) in goals.iter().enumerate() {
            let found = tried.get(&step('t', number)).and_then(|tried| tried.result.as_ref());
            let part = match found {
                None => self.texts.done.clone(),
                Some(found) if is_done(found) => self.texts.done.clone(),
                Some(found) => self.in_words(&goal.tool, found),
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts.join("\n")
    }

    fn in_words(&self, tool: &str, found: &Value) -> String {
        let text =
            |key: &str| found.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let field = |key: &str| text(key).unwrap_or_default();
        let amount = |key: &str| found.get(key).and_then(Value::as_i64).map(thousands).unwrap_or_default();
        match tool {
            SEARCH => match found.pointer("/articles/0") {
                Some(article) => {
                    let part = |key: &str| article.get(key).and_then(Value::as_str).unwrap_or_default();
                    fill(&self.texts.found_article, &[("title", part("title")), ("text", part("text"))])
                }
                None if found.get("articles").is_some() => self.texts.nothing.clone(),
                None => fill(&self.texts.result, &[("tool", tool), ("result", &found.to_string())]),
            },
            BUDGET if found.get("spent_krw").is_some() => fill(
                &self.texts.found_budget,
                &[
                    ("dept", &field("dept_name")),
                    ("year", &field("year")),
                    ("quarter", &field("quarter")),
                    ("budget", &amount("budget_krw")),
                    ("spent", &amount("spent_krw")),
                ],
            ),
            LOOK_UP if found.get(DEPT_CODE).is_some() => {
                fill(&self.texts.found_code, &[("dept", &field("dept_name")), ("code", &field(DEPT_CODE))])
            }
            _ => fill(&self.texts.result, &[("tool", tool), ("result", &found.to_string())]),
        }
    }

    fn say_marked(&self, text: &str, what: &str) -> String {
        fill(text, &[("marker", &self.marker), ("what", what)])
    }
}

impl ChatModel for ScriptModel {
    fn provider(&self) -> &str {
        "script"
    }

    fn name(&self) -> &str {
        "script"
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        let (text, calls) = self.next(request);
        // Half a token a letter is about what Korean costs.
        let length = |text: &str| text.chars().count() as u64 / 2;
        let heard: u64 = request
            .messages
            .iter()
            .map(|message| match message {
                Message::User(text) => length(text),
                Message::Assistant { text, calls } => {
                    length(text) + calls.iter().map(|call| length(&call.arguments)).sum::<u64>()
                }
                Message::Tool { content, .. } => length(content),
            })
            .sum();
        let said = length(&text) + calls.iter().map(|call| length(&call.arguments) + 8).sum::<u64>();
        let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        let usage = Usage { input_tokens: length(&request.system) + heard, output_tokens: said };
        Ok(ChatReply { text, calls, finish, usage, model: "script".to_owned() })
    }
}

/// The end of a call's id, by which the script knows its own calls again: `t` for what gives a goal, `d` for the
/// look-up of its department.
fn step(kind: char, goal: usize) -> String {
    format!("{kind}{goal}")
}

/// What came of the calls since the question.
fn tried(since: &[Message]) -> BTreeMap<String, Tried> {
    let mut all: BTreeMap<String, Tried> = BTreeMap::new();
    for message in since {
        let Message::Tool { call_id, content, is_error } = message else { continue };
        let Some((_, step)) = call_id.rsplit_once('_') else { continue };
        let tried = all.entry(step.to_owned()).or_default();
        let value: Value = serde_json::from_str(content).unwrap_or_else(|_| Value::from(content.as_str()));
        if *is_error {
            tried.errors += 1;
            tried.told_of_arguments |= value.pointer("/error/type").is_some_and(|kind| kind == "invalid_arguments");
        } else {
            tried.result = Some(value);
        }
    }
    all
}

/// A result that says that something was done, and nothing else.
fn is_done(result: &Value) -> bool {
    result.as_object().is_some_and(|members| members.len() == 1)
        && result.get("status").is_some_and(|is| is == "completed")
}

/// Whether a description names a key, as a word.
fn names(description: &str, key: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    description.match_indices(key).any(|(at, _)| {
        let before = description.get(..at).and_then(|text| text.chars().next_back());
        let after = description.get(at + key.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The number in front of a suffix.
fn number_before(text: &str, suffix: &str) -> Option<i64> {
    text.match_indices(suffix).find_map(|(at, _)| {
        let before = text.get(..at)?.trim_end();
        let digits = before.len() - before.bytes().rev().take_while(u8::is_ascii_digit).count();
        before.get(digits..)?.parse().ok()
    })
}

/// An offered tool that the message names with arguments behind it.
fn order(question: &str, tools: &[ToolOffer]) -> Option<Goal> {
    tools.iter().find_map(|tool| {
        let (_, rest) = question.split_once(tool.name.as_str())?;
        let rest = rest.trim_start();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(arguments))) => Some(Goal { tool: tool.name.clone(), department: None, arguments }),
            _ => None,
        }
    })
}

fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}
