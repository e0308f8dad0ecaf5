//! One self-contained HTML page: counts, charts, what recurs, and every run with its evidence.
//!
//! Nothing on it is loaded from anywhere. What traces say reaches it in two ways only: as text escaped by the template
//! or by [`super::chart`], and as JSON that the script of the page puts into text nodes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, Days, NaiveDate};
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Texts;
use super::chart::{self, Bar, Caption, Counts, KINDS, NORMAL, UNJUDGED};
use super::layout::{plain, plain_short};
use super::terminal::{
    ARGUMENT_CHARS, NAME_CHARS, RunView, SHORT_SHA, UnjudgedView, against, draft_of, measured, short_time,
    shown_arguments,
};
use super::tree::{Node, evidence_line};
use super::words::word;
use crate::model::{Coverage, EvidenceValue, Finding, FixTarget, Rule, Status, Verdict};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// First and last Korean date that was asked for, each where one was.
    pub asked: (Option<String>, Option<String>),
    /// The one agent that was asked for.
    pub agent: Option<String>,
    /// Every run, for the counts.
    pub counted: Vec<Counted<'a>>,
    /// The runs that are on the page.
    pub runs: Vec<PageRun<'a>>,
    /// What recurs, groups in order.
    pub recurring: Vec<Recurring>,
    /// Number of groups that one agent alone has.
    pub alone: usize,
    /// What the runs let the rules check.
    pub coverage: Coverage,
    /// Name of the rule set and its sha256.
    pub rule_set: (String, String),
    /// Tool sets that were in force: sha256 (none for runs without definitions), number of tools, number of runs.
    pub tool_sets: Vec<(Option<String>, i64, i64)>,
    /// Version of the program.
    pub version: &'a str,
    /// Whether values of arguments are on it.
    pub with_args: bool,
}

/// What is counted of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted<'a> {
    /// Korean date on which it began, `2026-10-07`.
    pub date: NaiveDate,
    /// Its agent.
    pub agent: Option<&'a str>,
    /// Its verdict; none when it cannot be judged.
    pub verdict: Option<Verdict>,
    /// The other verdicts that hold.
    pub also: &'a [Verdict],
}

/// A run that is on the page.
#[derive(Debug, Clone)]
pub struct PageRun<'a> {
    /// What is said of it, or why nothing can be said.
    pub judged: Result<RunView<'a>, UnjudgedView>,
    /// Its summary, with or without values.
    pub summary: String,
    /// Its notes, with or without values.
    pub notes: Vec<String>,
    /// Arguments of its findings, in their order; all none when they are left out.
    pub arguments: Vec<Option<String>>,
    /// Its spans in the order of the tree; their arguments are left out where they are to be.
    pub nodes: Vec<Node>,
}

/// A tool and a rule that recur in several agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurring {
    /// The tool called.
    pub tool_name: String,
    /// The rule.
    pub rule: Rule,
    /// Runs by agent, those without a name together.
    pub agents: BTreeMap<Option<String>, i64>,
    /// Korean date of the first such run.
    pub first_date: NaiveDate,
    /// Korean date of the last such run.
    pub last_date: NaiveDate,
    /// Where to fix it.
    pub fix_targets: BTreeSet<FixTarget>,
}

/// Spans of a run that are drawn at most, unless more are evidence.
const SPANS: usize = 200;
/// Agents with a bar of their own.
const AGENTS: usize = 12;
/// Columns up to which one stands for a day, and for a week.
const COLUMNS: usize = 62;
/// Labels below the columns at most.
const LABELS: usize = 8;

pub(super) const STYLE: &str = include_str!("templates/ko/page/page.css");
const SCRIPT: &str = include_str!("templates/ko/page/page.js");

/// The page as one HTML document.
#[must_use]
pub fn page(texts: &Texts, page: &Page<'_>) -> String {
    let words = Words { texts };
    let counts = count(page.counted.iter());
    let dates = dates(page);
    let data = json_for_html(&Data::of(texts, page, dates));
    let tiles: Vec<Tile> =
        Verdict::ALL.iter().zip(counts).map(|(verdict, count)| tile(page, *verdict, count)).collect();
    let total = chart::total(&counts);
    let values = context! {
        csp => csp(STYLE, Some(SCRIPT)),
        style => STYLE,
        script => SCRIPT,
        data,
        period => period(page, dates),
        agent => page.agent.as_deref().map(|name| plain_short(name, NAME_CHARS)),
        total,
        problems => problems(&counts),
        unjudged => counts[UNJUDGED],
        agents => agents_of(page).len(),
        tiles => Serde(tiles),
        days => words.days(page),
        agent_chart => words.agents(page),
        recurring => Serde(recurring(texts, page)),
        alone => page.alone,
        left_out => words.left_out(page, &counts),
        coverage => Serde(page.coverage),
        coverage_text => super::words::phrase(texts, "coverage", context! { c => Serde(page.coverage) }),
        assumptions => ["assume_final", "assume_retries", "assume_error"].map(|key| word(texts, key)),
        rule_set => plain(&page.rule_set.0),
        rule_sha => short(&page.rule_set.1),
        tool_sets => page.tool_sets.iter().map(|(sha, tools, runs)| {
            context! { sha => sha.as_deref().map(short), tools, runs }
        }).collect::<Vec<_>>(),
        version => page.version,
        with_args => page.with_args,
    };
    texts.render("page.html.j2", values)
}

/// What a browser may use: the style and the script of a page by their hashes, and nothing from anywhere.
pub(super) fn csp(style: &str, script: Option<&str>) -> String {
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        script.map_or_else(|| "'none'".to_owned(), hash),
        hash(style)
    )
}

/// Base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0_u32, |group, at| group << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// JSON that cannot end the element it stands in, nor break a line of script.
fn json_for_html(data: &impl Serialize) -> String {
    // Plain data with text keys can always be written.
    let json = serde_json::to_string(data).unwrap_or_else(|error| format!("\"{error}\""));
    let mut out = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn short(sha: &str) -> &str {
    sha.get(..SHORT_SHA).unwrap_or(sha)
}

fn kind(verdict: Option<Verdict>) -> usize {
    let place = |verdict| Verdict::ALL.iter().position(|known| *known == verdict);
    verdict.and_then(place).unwrap_or(UNJUDGED)
}

fn count<'a>(runs: impl Iterator<Item = &'a Counted<'a>>) -> Counts {
    let mut counts = [0; KINDS];
    for run in runs {
        counts[kind(run.verdict)] += 1;
    }
    counts
}

fn problems(counts: &Counts) -> u64 {
    counts[..NORMAL].iter().sum()
}

/// First and last date of a run.
fn dates(page: &Page<'_>) -> Option<(NaiveDate, NaiveDate)> {
    let dates = || page.counted.iter().map(|run| run.date);
    dates().min().zip(dates().max())
}

/// First and last date of the period: what was asked for, else what is there.
fn period(page: &Page<'_>, dates: Option<(NaiveDate, NaiveDate)>) -> Option<(String, String)> {
    let found = dates.map(|(first, last)| (first.to_string(), last.to_string()));
    let (first, last) = page.asked.clone();
    Some((first.or_else(|| Some(found.clone()?.0))?, last.or_else(|| Some(found?.1))?))
}

fn agents_of<'a>(page: &'a Page<'_>) -> BTreeMap<Option<&'a str>, Counts> {
    let mut agents: BTreeMap<Option<&str>, Counts> = BTreeMap::new();
    // Without a final answer nobody knows whose run it was.
    for run in page.counted.iter().filter(|run| run.verdict.is_some()) {
        agents.entry(run.agent).or_default()[kind(run.verdict)] += 1;
    }
    agents
}

/// A verdict with its count.
#[derive(Serialize)]
struct Tile {
    kind: usize,
    slug: &'static str,
    label: &'static str,
    /// Where to fix it; of an argument verdict either of two.
    fix: Vec<&'static str>,
    count: u64,
    /// Runs in which it holds beside a more important one.
    beside: usize,
}

fn tile(page: &Page<'_>, verdict: Verdict, count: u64) -> Tile {
    let beside = page.counted.iter().filter(|run| run.also.contains(&verdict)).count();
    Tile { beside, kind: kind(Some(verdict)), slug: verdict.slug(), label: verdict.label(), fix: fixes(verdict), count }
}

fn fixes(verdict: Verdict) -> Vec<&'static str> {
    let targets: &[FixTarget] = match verdict {
        Verdict::Found(Rule::UndefinedTool) => &[FixTarget::ToolDescription],
        Verdict::Found(Rule::ArgsMismatch) => &[FixTarget::ToolDescription, FixTarget::ArgumentSchema],
        Verdict::Found(Rule::TimeoutExceeded) => &[FixTarget::TimeLimit],
        Verdict::Found(Rule::RetryOverLimit) => &[FixTarget::RetryLimit],
        Verdict::Found(Rule::ErrorHidden) => &[FixTarget::ErrorHandling],
        Verdict::Normal => &[],
    };
    targets.iter().map(|target| target.label()).collect()
}

/// A row of the hand-off list.
#[derive(Serialize)]
struct RecurringRow {
    kind: usize,
    slug: &'static str,
    label: &'static str,
    tool: String,
    link: String,
    agents: Vec<(String, i64)>,
    runs: i64,
    first: String,
    last: String,
    fix: Vec<&'static str>,
}

fn recurring(texts: &Texts, page: &Page<'_>) -> Vec<RecurringRow> {
    let row = |group: &Recurring| {
        let verdict = group.rule.verdict();
        let shown = |name: &Option<String>| match name {
            Some(name) => plain_short(name, NAME_CHARS),
            None => word(texts, "nobody"),
        };
        let mut agents: Vec<(String, i64)> = group.agents.iter().map(|(name, runs)| (shown(name), *runs)).collect();
        agents.sort_by_key(|(_, runs)| std::cmp::Reverse(*runs));
        RecurringRow {
            kind: kind(Some(verdict)),
            slug: verdict.slug(),
            label: verdict.label(),
            tool: plain_short(&group.tool_name, NAME_CHARS),
            link: format!("#verdict={}&tool={}", verdict.slug(), url_part(&plain_short(&group.tool_name, NAME_CHARS))),
            agents,
            runs: group.agents.values().sum(),
            first: group.first_date.to_string(),
            last: group.last_date.to_string(),
            fix: group.fix_targets.iter().map(|target| target.label()).collect(),
        }
    };
    page.recurring.iter().map(row).collect()
}

/// Text as a part of a fragment: bytes beyond the unreserved ones are written as `%41`.
fn url_part(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// What a column stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
}

impl Unit {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The first day of the column in which `date` falls. Weeks begin on Monday.
    fn first(self, date: NaiveDate) -> NaiveDate {
        let back = match self {
            Self::Day => 0,
            Self::Week => date.weekday().num_days_from_monday(),
            Self::Month => date.day0(),
        };
        date.checked_sub_days(Days::new(u64::from(back))).unwrap_or(date)
    }

    /// The first day of the next column.
    fn next(self, first: NaiveDate) -> Option<NaiveDate> {
        let days = match self {
            Self::Day => 1,
            Self::Week => 7,
            // The first of the next month is at most 31 days away.
            Self::Month => return Some(self.first(first.checked_add_days(Days::new(31))?)),
        };
        first.checked_add_days(Days::new(days))
    }
}

/// Columns from the first date to the last, those without a run included.
fn columns(page: &Page<'_>) -> (Unit, Vec<(NaiveDate, NaiveDate, Counts)>) {
    let Some((first, last)) = dates(page) else { return (Unit::Day, Vec::new()) };
    let days = usize::try_from((last - first).num_days()).unwrap_or(usize::MAX);
    let unit = if days < COLUMNS {
        Unit::Day
    } else if days / 7 < COLUMNS {
        Unit::Week
    } else {
        Unit::Month
    };
    let mut by_first: BTreeMap<NaiveDate, Counts> = BTreeMap::new();
    for run in &page.counted {
        by_first.entry(unit.first(run.date)).or_default()[kind(run.verdict)] += 1;
    }
    let mut columns = Vec::new();
    let mut start = Some(unit.first(first));
    while let Some(from) = start.filter(|from| *from <= last) {
        start = unit.next(from);
        let to = start.and_then(|next| next.pred_opt()).unwrap_or(from);
        columns.push((from, to, by_first.get(&from).copied().unwrap_or_default()));
    }
    (unit, columns)
}

/// A chart and the table that says the same.
#[derive(Serialize)]
struct Figure {
    title: String,
    text: String,
    svg: String,
    rows: Vec<FigureRow>,
}

#[derive(Serialize)]
struct FigureRow {
    name: String,
    counts: Counts,
    total: u64,
}

struct Words<'a> {
    texts: &'a Texts,
}

impl Words<'_> {
    fn phrase(&self, key: &str, values: minijinja::Value) -> String {
        self.texts.render("page_words.j2", context! { key, ..values }).trim().to_owned()
    }

    fn word(&self, key: &str) -> String {
        self.phrase(key, context! {})
    }

    /// Name, all runs, and the kinds that there are.
    fn bar_title(&self, key: &str, name: &str, counts: &Counts) -> String {
        let labels = Verdict::ALL.iter().map(|verdict| verdict.label().to_owned());
        let labels: Vec<String> = labels.chain([word(self.texts, "unjudged_label")]).collect();
        let parts: Vec<minijinja::Value> = labels
            .iter()
            .zip(counts)
            .filter(|(_, count)| **count > 0)
            .map(|(label, count)| context! { label, count })
            .collect();
        let values = context! { day => name, agent => name, total => chart::total(counts), parts,
        problems => problems(counts) };
        self.phrase(key, values)
    }

    fn days(&self, page: &Page<'_>) -> minijinja::Value {
        let (unit, columns) = columns(page);
        let every = columns.len().div_ceil(LABELS).max(1);
        let every = if unit == Unit::Day && (3..=7).contains(&every) { 7 } else { every };
        // With a label a week, weeks begin on Monday.
        let start = match every {
            7 => columns.iter().position(|(from, ..)| from.weekday() == chrono::Weekday::Mon).unwrap_or(0),
            _ => 0,
        };
        let name = |from: NaiveDate, to: NaiveDate| match unit {
            Unit::Day => from.to_string(),
            Unit::Week => self.phrase("week_of", context! { first => from.to_string(), last => to.to_string() }),
            Unit::Month => from.format("%Y-%m").to_string(),
        };
        let bars: Vec<Bar> = columns
            .iter()
            .enumerate()
            .map(|(index, (from, to, counts))| Bar {
                label: match (index % every == start % every, unit) {
                    (false, _) => String::new(),
                    (true, Unit::Month) => from.format("%y.%-m").to_string(),
                    (true, _) => from.format("%-m/%-d").to_string(),
                },
                title: self.bar_title("day_bar", &name(*from, *to), counts),
                note: String::new(),
                link: format!("#verdict=all&from={from}&to={to}"),
                counts: *counts,
            })
            .collect();
        // The first of several that are equally bad.
        let worst = columns.iter().rev().max_by_key(|(.., counts)| problems(counts));
        let title = self.phrase("days_title", context! { unit => unit.as_str() });
        let text = self.phrase(
            "days_text",
            context! {
                unit => unit.as_str(), count => columns.len(),
                first => columns.first().map(|(from, ..)| from.to_string()),
                last => columns.last().map(|(_, to, _)| to.to_string()),
                worst => worst.map(|(from, to, _)| name(*from, *to)),
                problems => worst.map_or(0, |(.., counts)| problems(counts)),
            },
        );
        let svg = chart::columns(&Caption { id: "days", title: &title, description: &text }, &bars);
        let rows = columns.iter().map(|(from, to, counts)| FigureRow {
            name: name(*from, *to),
            counts: *counts,
            total: chart::total(counts),
        });
        Serde(Figure { rows: rows.collect(), title, text, svg }).into()
    }

    fn agents(&self, page: &Page<'_>) -> minijinja::Value {
        let mut agents: Vec<(Option<&str>, Counts)> = agents_of(page).into_iter().collect();
        // Most problems first, then most runs, then by name.
        agents.sort_by_key(|(name, counts)| {
            (std::cmp::Reverse(problems(counts)), std::cmp::Reverse(chart::total(counts)), *name)
        });
        let shown = |name: Option<&str>| name.map_or_else(|| self.word("nobody"), |name| plain_short(name, NAME_CHARS));
        let bar = |label: String, link: String, counts: &Counts| Bar {
            title: self.bar_title("agent_bar", &label, counts),
            note: self.phrase("agent_note", context! { total => chart::total(counts), problems => problems(counts) }),
            label,
            link,
            counts: *counts,
        };
        let own = if agents.len() > AGENTS + 1 { AGENTS } else { agents.len() };
        let mut bars: Vec<Bar> = agents[..own]
            .iter()
            .map(|(name, counts)| {
                let link = name.map_or_else(String::new, |name| {
                    format!("#verdict=all&agent={}", url_part(&plain_short(name, NAME_CHARS)))
                });
                bar(shown(*name), link, counts)
            })
            .collect();
        if own < agents.len() {
            let mut rest = [0; KINDS];
            for (_, counts) in &agents[own..] {
                rest.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            let label = self.phrase("other_agents", context! { count => agents.len() - own });
            bars.push(bar(label, String::new(), &rest));
        }
        let title = self.word("agents_title");
        let worst = agents.first();
        let text = self.phrase(
            "agents_text",
            context! {
                count => agents.len(),
                worst => worst.map(|(name, _)| shown(*name)), left_out => count(page.counted.iter())[UNJUDGED],
                problems => worst.map_or(0, |(_, counts)| problems(counts)),
            },
        );
        let svg = chart::rows(&Caption { id: "agents", title: &title, description: &text }, &bars);
        let rows = agents.iter().map(|(name, counts)| FigureRow {
            name: shown(*name),
            counts: *counts,
            total: chart::total(counts),
        });
        Serde(Figure { rows: rows.collect(), title, text, svg }).into()
    }

    /// Which runs are not on the page.
    fn left_out(&self, page: &Page<'_>, counts: &Counts) -> String {
        let mut shown = [0; KINDS];
        for run in &page.runs {
            shown[kind(run.judged.as_ref().ok().map(|view| view.diagnosis.verdict))] += 1;
        }
        self.phrase(
            "left_out",
            context! {
                total => chart::total(counts), shown => page.runs.len(),
                problems => problems(counts).saturating_sub(problems(&shown)),
                unjudged => counts[UNJUDGED].saturating_sub(shown[UNJUDGED]),
                normal => counts[NORMAL].saturating_sub(shown[NORMAL]),
            },
        )
    }

    /// What was recorded beside what is defined, a row each: label, recorded, defined.
    fn compare(&self, finding: &Finding, run: &RunView<'_>) -> Vec<[String; 3]> {
        let number = |field: &str| {
            let value = finding.evidence.iter().find(|e| e.table == "tool_definitions" && e.field == field);
            match value.map(|evidence| &evidence.value) {
                Some(EvidenceValue::Integer(value)) => *value,
                _ => 0,
            }
        };
        match finding.rule {
            Rule::UndefinedTool => vec![[
                self.word("called_name"),
                plain_short(&finding.tool_name, NAME_CHARS),
                word(self.texts, "undefined"),
            ]],
            Rule::ArgsMismatch => {
                let missing = finding
                    .missing_keys
                    .iter()
                    .map(|key| [plain_short(key, NAME_CHARS), self.word("missing_value"), self.word("required")]);
                let types = finding.type_errors.iter().map(|error| {
                    let (before, declared) = error.rsplit_once(" → ").unwrap_or((error, ""));
                    let (key, received) = before.rsplit_once(": ").unwrap_or((before, ""));
                    [key, received, declared].map(|text| plain_short(text, NAME_CHARS))
                });
                missing.chain(types).collect()
            }
            Rule::TimeoutExceeded => {
                let (limit, gap) = (number("timeout_ms"), finding.timeout_gap_ms.unwrap_or_default());
                vec![[
                    self.word("took"),
                    self.phrase("took_value", context! { measured => limit.saturating_add(gap), gap }),
                    self.phrase("timeout_value", context! { limit }),
                ]]
            }
            Rule::RetryOverLimit => vec![[
                self.word("repeated"),
                self.phrase("times", context! { count => finding.run_length.unwrap_or_default() }),
                self.phrase("retry_value", context! { limit => number("max_retries") }),
            ]],
            Rule::ErrorHidden => {
                let errors = finding.span_ids.len().saturating_sub(1);
                vec![
                    [
                        self.word("tool_error"),
                        self.phrase("tool_error_value", context! { count => errors, later => 0 }),
                        self.word("tool_error_rule"),
                    ],
                    [self.word("final"), run.diagnosis.final_status.as_str().to_owned(), self.word("final_rule")],
                ]
            }
        }
    }
}

/// Texts that many runs share, each once.
#[derive(Default, Serialize)]
#[serde(transparent)]
struct Shared<T> {
    list: Vec<T>,
    #[serde(skip)]
    places: BTreeMap<T, usize>,
}

impl<T: Ord + Clone> Shared<T> {
    fn place(&mut self, value: T) -> usize {
        if let Some(place) = self.places.get(&value) {
            return *place;
        }
        self.list.push(value.clone());
        self.places.insert(value, self.list.len() - 1);
        self.list.len() - 1
    }
}

/// What the script reads. Numbers that stand for texts are places in the lists.
#[derive(Serialize)]
struct Data {
    verdicts: Vec<(&'static str, &'static str)>,
    unjudged: String,
    first: Option<String>,
    last: Option<String>,
    #[serde(rename = "withArgs")]
    with_args: bool,
    names: Shared<String>,
    texts: Shared<String>,
    drafts: Shared<(String, Vec<(char, String)>)>,
    runs: Vec<RunData>,
}

/// A run. Fields that are empty in most runs are left out of it then.
#[derive(Serialize)]
struct RunData {
    id: String,
    at: String,
    v: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<usize>,
    agent: Option<usize>,
    tools: Vec<usize>,
    calls: i64,
    ms: i64,
    ok: bool,
    says: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<FindingData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<usize>,
    spans: Vec<SpanData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
}

#[derive(Serialize)]
struct FindingData {
    v: usize,
    tool: usize,
    says: usize,
    rows: Vec<[String; 3]>,
    calls: Vec<(String, String, &'static str)>,
    cells: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<&'static str>,
}

/// Depth, whether it is a tool call, name, id, whether it is ok, start and duration in milliseconds, the findings that
/// rest on it from 1, arguments.
#[derive(Serialize)]
struct SpanData(usize, u8, Option<usize>, String, u8, i64, i64, Vec<usize>, Option<String>);

impl Data {
    fn of(texts: &Texts, page: &Page<'_>, dates: Option<(NaiveDate, NaiveDate)>) -> Self {
        let mut data = Self {
            verdicts: Verdict::ALL.map(|verdict| (verdict.slug(), verdict.label())).to_vec(),
            unjudged: word(texts, "unjudged_label"),
            first: dates.map(|(first, _)| first.to_string()),
            last: dates.map(|(_, last)| last.to_string()),
            with_args: page.with_args,
            names: Shared::default(),
            texts: Shared::default(),
            drafts: Shared::default(),
            runs: Vec::with_capacity(page.runs.len()),
        };
        let words = Words { texts };
        for run in &page.runs {
            let row = data.run(&words, run);
            data.runs.push(row);
        }
        data
    }

    fn name(&mut self, name: &str) -> usize {
        self.names.place(plain_short(name, NAME_CHARS))
    }

    fn text(&mut self, text: &str) -> usize {
        self.texts.place(plain(text).into_owned())
    }

    fn run(&mut self, words: &Words<'_>, run: &PageRun<'_>) -> RunData {
        let calls = run.nodes.iter().filter(|node| node.operation == "execute_tool");
        let mut tools: Vec<usize> = Vec::new();
        let found = run.judged.as_ref().map_or(&[][..], |view| view.diagnosis.findings.as_slice());
        let called = calls.map(|node| node.name.as_str()).chain(found.iter().map(|finding| finding.tool_name.as_str()));
        for name in called {
            let place = self.name(name);
            if !tools.contains(&place) {
                tools.push(place);
            }
        }
        let ms = run.nodes.iter().map(|node| node.offset_ms.saturating_add(node.duration_ms)).max().unwrap_or(0);
        let (spans, cut) = self.spans(words, &run.nodes);
        let shared = (self.text(&run.summary), run.notes.iter().map(|note| self.text(note)).collect());
        let (says, notes) = shared;
        match &run.judged {
            Ok(view) => {
                let diagnosis = view.diagnosis;
                RunData {
                    id: diagnosis.trace_id.clone(),
                    at: short_time(&view.start_time),
                    v: kind(Some(diagnosis.verdict)),
                    also: diagnosis.also_found.iter().map(|verdict| kind(Some(*verdict))).collect(),
                    agent: diagnosis.agent_name.as_deref().map(|name| self.name(name)),
                    tools,
                    calls: diagnosis.tool_calls,
                    ms,
                    ok: diagnosis.final_status == Status::Ok,
                    says,
                    fix: diagnosis.fix_target.map(FixTarget::label),
                    found: (0..diagnosis.findings.len()).map(|index| self.finding(words, run, view, index)).collect(),
                    notes,
                    draft: draft_of(words.texts, view).map(|draft| self.drafts.place(draft)),
                    spans,
                    cut,
                }
            }
            Err(view) => RunData {
                id: view.trace_id.clone(),
                at: short_time(&view.start_time),
                v: UNJUDGED,
                also: Vec::new(),
                agent: None,
                tools,
                calls: view.tool_calls,
                ms,
                ok: true,
                says,
                fix: None,
                found: Vec::new(),
                notes,
                draft: None,
                spans,
                cut,
            },
        }
    }

    fn finding(&mut self, words: &Words<'_>, run: &PageRun<'_>, view: &RunView<'_>, index: usize) -> FindingData {
        let finding = &view.diagnosis.findings[index];
        let calls = finding.span_ids.iter().map(|span_id| {
            let (duration, status) = measured(words.texts, view, finding, span_id);
            (plain_short(span_id, NAME_CHARS), duration, status)
        });
        let schema = finding.evidence.iter().find(|evidence| evidence.field == "json_schema");
        let schema = schema.and_then(|evidence| match &evidence.value {
            EvidenceValue::Text(text) => Some(plain_short(text, 10 * ARGUMENT_CHARS)),
            _ => None,
        });
        // Arguments and schemas stand apart: the one may have to be left out, the other is long.
        let cells = finding.evidence.iter().filter(|evidence| !matches!(evidence.field, "tool_args" | "json_schema"));
        FindingData {
            v: kind(Some(finding.rule.verdict())),
            tool: self.name(&finding.tool_name),
            says: self.text(&against(words.texts, finding).join(" · ")),
            rows: words.compare(finding, view),
            calls: calls.collect(),
            cells: cells.map(evidence_line).collect(),
            schema: schema.map(|text| self.texts.place(text)),
            args: run.arguments.get(index).cloned().flatten().map(|text| plain_short(&text, ARGUMENT_CHARS)),
            review: finding.review.as_ref().map(|review| review.decision.as_str()),
        }
    }

    /// The spans that are drawn, and what was left out.
    fn spans(&mut self, words: &Words<'_>, nodes: &[Node]) -> (Vec<SpanData>, Option<String>) {
        let evidence = nodes.iter().filter(|node| !node.findings.is_empty()).count();
        let mut room = SPANS.saturating_sub(evidence);
        let mut spans = Vec::new();
        for node in nodes {
            if node.findings.is_empty() {
                if room == 0 {
                    continue;
                }
                room -= 1;
            }
            spans.push(SpanData(
                node.depth,
                u8::from(node.operation == "execute_tool"),
                (!node.name.is_empty()).then(|| self.name(&node.name)),
                plain_short(&node.span_id, NAME_CHARS),
                u8::from(node.status == Status::Ok),
                node.offset_ms,
                node.duration_ms,
                node.findings.iter().map(|finding| finding + 1).collect(),
                node.tool_args.as_deref().map(|text| plain_short(text, ARGUMENT_CHARS)),
            ));
        }
        let cut = (spans.len() < nodes.len())
            .then(|| words.phrase("spans_cut", context! { total => nodes.len(), shown => spans.len() }));
        (spans, cut)
    }
}

/// The arguments of each finding as its evidence has them.
#[must_use]
pub fn arguments_of<'a>(view: &RunView<'a>) -> Vec<Option<&'a str>> {
    view.diagnosis.findings.iter().map(shown_arguments).collect()
}

/// Why a run could not be judged, in words.
#[must_use]
pub fn reason(texts: &Texts, reason: &str) -> String {
    word(texts, reason)
}
