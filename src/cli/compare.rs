//! `taco-trace compare`: two selections of runs side by side, and whether they differ by more than chance.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::diagnose::{DAY_NS, korean_instant};
use super::failure::{Failure, tools_failure};
use super::load::StoreArg;
use super::terminal::{self, ColorChoice};
use super::{choice, exit, load};
use crate::compare::{Hit, Judged, Selector, SelectorError, Side, compare, compare_pairs};
use crate::ingest::tools::{ToolDefaults, parse_tools};
use crate::model::comparison::Comparison;
use crate::model::{Review, ReviewKind, Rule};
use crate::render::{Texts, compare as words};
use crate::store::{ComparableRow, RULE_SET, Store, rule_sets};

/// `taco-trace compare` 의 인자
#[derive(Debug, clap::Args)]
#[command(
    after_help = "고르는 법(쉼표로 여럿): batch:3 · date:2026-09-28..2026-10-02(한국 날짜, 끝 날 포함, 한쪽은 비워도 됨)\n    \
    tools:tools.json 또는 tools:<sha256 앞부분> · agent:이름 · rules:v1(규칙 묶음)\n\
    예: taco-trace compare --base date:2026-09-28..2026-10-02 --head date:2026-10-12..2026-10-16\n    \
    taco-trace compare --base rules:v1 --head rules:v2"
)]
pub(crate) struct Args {
    /// 기준이 되는 실행
    #[arg(long, value_name = "고르기")]
    base: String,
    /// 견줄 실행
    #[arg(long, value_name = "고르기")]
    head: String,
    /// 같은 질문의 짝: base_trace_id, head_trace_id 열의 CSV 또는 그 키의 JSON Lines
    #[arg(long, value_name = "파일")]
    pairs: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    /// 출력 형식: table(기본), md, json
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    /// 결과를 이 파일에 씁니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    /// 판정, 도구·판정, 에이전트 가운데 어느 줄이든 우연의 범위를 넘어 나빠졌으면 종료 상태를 1 로 합니다
    #[arg(long)]
    fail_on_regression: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 단말에서 읽는 보고서
    Table,
    /// 마크다운
    Md,
    /// JSON 객체 하나
    Json,
}

/// A side before its runs are judged.
struct Wanted<'a> {
    /// The selector as it was given.
    text: &'a str,
    /// Version of the rule set: `v1`, and its view.
    rules: (&'static str, &'static str),
    /// The runs, in order.
    runs: Vec<&'a ComparableRow>,
}

/// Selects, judges and compares.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let selectors = [parse(&args.base)?, parse(&args.head)?];
    let pairs = args.pairs.as_deref().map(read_pairs).transpose()?;
    let store = args.store.open()?;
    for selector in &selectors {
        choice::known_agent(&store, selector.agent.as_deref())?;
    }
    let rows = store.comparable_runs().map_err(Failure::from)?;
    let base = wanted(&args.base, &selectors[0], &rows).map_err(|failure| with_dates(failure, &store))?;
    let head = wanted(&args.head, &selectors[1], &rows).map_err(|failure| with_dates(failure, &store))?;
    let same = same_runs(&base, &head, pairs.is_some())?;
    let sides = [side(&store, &base)?, side(&store, &head)?];
    let comparison = match pairs.or(same) {
        None => compare(&sides[0], &sides[1]),
        Some(pairs) => compare_pairs(&sides[0], &sides[1], &pairs).ok_or_else(|| {
            let path = args.pairs.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            Failure::usage("pairs_none").with("path", path)
        })?,
    };
    let text = written(texts, &comparison, args)?;
    terminal::write_result(&text, args.output.as_deref())?;
    let failed = args.fail_on_regression && !comparison.regressions.is_empty();
    if failed && (args.format == Format::Json || args.output.is_some()) {
        // Nobody may be looking at the output itself.
        terminal::tell(&(words::regressions(texts, &comparison).join("\n") + "\n"));
    }
    Ok(if failed { exit::FOUND } else { exit::OK })
}

fn written(texts: &Texts, comparison: &Comparison, args: &Args) -> anyhow::Result<String> {
    Ok(match args.format {
        Format::Table => words::report(texts, comparison, terminal::style(ColorChoice::Never, args.output.is_some())),
        Format::Md => words::document(texts, comparison),
        Format::Json => serde_json::to_string_pretty(comparison)? + "\n",
    })
}

fn parse(text: &str) -> Result<Selector, Failure> {
    Selector::parse(text).map_err(|error| match error {
        SelectorError::Unknown(part) => Failure::usage("selector_unknown").with("value", part),
        SelectorError::Repeated(part) => Failure::usage("selector_repeated").with("value", part),
        SelectorError::Value(part) => Failure::usage("selector_value").with("value", part),
    })
}

/// The runs that a selector names; none is an error.
fn wanted<'a>(text: &'a str, selector: &Selector, rows: &'a [ComparableRow]) -> anyhow::Result<Wanted<'a>> {
    let rules = match &selector.rules {
        None => rule_sets().find(|(_, view)| *view == RULE_SET),
        Some(version) => rule_sets().find(|(known, view)| known == version || view == version),
    };
    let rules = rules.ok_or_else(|| {
        let known: Vec<&str> = rule_sets().map(|(version, _)| version).collect();
        let value = selector.rules.clone().unwrap_or_default();
        Failure::usage("rules_unknown").with("value", value).with("known", known.join(", "))
    })?;
    let (since_ns, before_ns) = period(selector)?;
    let tool_set = selector.tools.as_deref().map(|tools| tool_set(tools, rows)).transpose()?;
    let fits = |row: &&ComparableRow| {
        selector.batch.is_none_or(|batch| row.batch_id == batch)
            && since_ns.is_none_or(|since_ns| row.start_ns >= since_ns)
            && before_ns.is_none_or(|before_ns| row.start_ns < before_ns)
            && selector.agent.as_ref().is_none_or(|agent| row.agent_name.as_ref() == Some(agent))
            && tool_set.as_ref().is_none_or(|set| row.tool_set.as_ref() == Some(set))
    };
    let runs: Vec<&ComparableRow> = rows.iter().filter(fits).collect();
    if !runs.iter().any(|row| row.is_judged) {
        let kind = if runs.is_empty() { "selection_empty" } else { "selection_unjudged" };
        return Err(Failure::usage(kind).with("value", text).with("count", runs.len()).into());
    }
    Ok(Wanted { text, rules, runs })
}

/// Where no run is selected, also the dates on which the store has some.
fn with_dates(error: anyhow::Error, store: &Store) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) if failure.kind == "selection_empty" => match choice::held(store) {
            Ok(Some((first, last))) => failure.with("first", first).with("last", last).into(),
            _ => failure.into(),
        },
        Ok(failure) => failure.into(),
        Err(error) => error,
    }
}

/// The first instant of the first day, and the one behind the last day.
fn period(selector: &Selector) -> Result<(Option<i64>, Option<i64>), Failure> {
    let Some((first, last)) = &selector.dates else { return Ok((None, None)) };
    let since_ns = first.as_deref().map(|date| korean_instant(date, 0)).transpose()?;
    let before_ns = last.as_deref().map(|date| korean_instant(date, DAY_NS)).transpose()?;
    if let (Some(since_ns), Some(before_ns)) = (since_ns, before_ns)
        && since_ns >= before_ns
    {
        let value = [first, last].map(|date| date.clone().unwrap_or_default()).join("..");
        return Err(Failure::usage("selector_reversed").with("value", value));
    }
    Ok((since_ns, before_ns))
}

/// The tool set that a path or the beginning of a sha256 names.
fn tool_set(text: &str, rows: &[ComparableRow]) -> anyhow::Result<String> {
    let path = Path::new(text);
    if path.is_file() {
        let content = std::fs::read_to_string(path).map_err(|error| load::unreadable(path, &error))?;
        let (set, _) =
            parse_tools(&content, text, ToolDefaults::default()).map_err(|error| tools_failure(path, &error))?;
        return Ok(set.sha256);
    }
    let prefix = text.to_lowercase();
    let sets: BTreeSet<&String> =
        rows.iter().filter_map(|row| row.tool_set.as_ref()).filter(|set| set.starts_with(&prefix)).collect();
    match sets.into_iter().collect::<Vec<_>>().as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Failure::usage("tool_set_unknown").with("value", text).into()),
        several => Err(Failure::usage("tool_set_ambiguous").with("value", text).with("count", several.len()).into()),
    }
}

/// A run may stand on both sides only when two rule sets judge it; then each run is its own pair, and all of them have
/// to stand on both sides: half of a pair says nothing.
fn same_runs(base: &Wanted<'_>, head: &Wanted<'_>, has_pairs: bool) -> Result<Option<Vec<(String, String)>>, Failure> {
    let ids = |side: &Wanted<'_>| -> BTreeSet<String> { side.runs.iter().map(|row| row.trace_id.clone()).collect() };
    let (of_base, of_head) = (ids(base), ids(head));
    let shared = of_base.intersection(&of_head).count();
    if shared == 0 {
        return Ok(None);
    }
    if base.rules == head.rules {
        return Err(Failure::usage("selection_overlap").with("count", shared));
    }
    if has_pairs {
        return Err(Failure::usage("pairs_with_rules").with("count", shared));
    }
    if of_base != of_head {
        return Err(Failure::usage("selection_partly").with("count", shared));
    }
    Ok(Some(of_base.into_iter().map(|id| (id.clone(), id)).collect()))
}

fn side(store: &Store, wanted: &Wanted<'_>) -> anyhow::Result<Side> {
    let judged: Vec<&ComparableRow> = wanted.runs.iter().copied().filter(|row| row.is_judged).collect();
    let ids: Vec<String> = judged.iter().map(|row| row.trace_id.clone()).collect();
    let mut hits: BTreeMap<String, Vec<Hit>> = BTreeMap::new();
    let mut dismissed: BTreeMap<String, u64> = BTreeMap::new();
    let said = Said::read(store)?;
    for row in store.hits(&ids, wanted.rules.0).map_err(Failure::from)? {
        let Some(rule) = Rule::from_name(&row.rule) else { continue };
        if said.is_dismissed(&row.trace_id, rule, &row.tool_name) {
            *dismissed.entry(row.trace_id).or_default() += 1;
        } else {
            hits.entry(row.trace_id).or_default().push(Hit { rule, tool_name: row.tool_name, calls: row.calls });
        }
    }
    let runs = judged.iter().map(|row| Judged {
        trace_id: row.trace_id.clone(),
        agent_name: row.agent_name.clone(),
        tool_set: row.tool_set.clone(),
        tool_calls: row.tool_calls,
        hits: hits.remove(&row.trace_id).unwrap_or_default(),
        dismissed: dismissed.get(&row.trace_id).copied().unwrap_or_default(),
    });
    Ok(Side {
        selection: wanted.text.to_owned(),
        rule_set: wanted.rules.1.to_owned(),
        runs: runs.collect(),
        unjudged: (wanted.runs.len() - judged.len()) as u64,
    })
}

/// What people said of rules in runs, oldest first.
struct Said(BTreeMap<(String, Rule), Vec<Review>>);

impl Said {
    fn read(store: &Store) -> Result<Self, Failure> {
        let mut said: BTreeMap<(String, Rule), Vec<Review>> = BTreeMap::new();
        for review in store.reviews(true)? {
            said.entry((review.trace_id.clone(), review.rule)).or_default().push(review);
        }
        Ok(Self(said))
    }

    /// Whether the newest that speaks of the tool, or of every tool, dismisses it: as `diagnose` takes it.
    fn is_dismissed(&self, trace_id: &str, rule: Rule, tool_name: &str) -> bool {
        let said = self.0.get(&(trace_id.to_owned(), rule)).map_or(&[][..], Vec::as_slice);
        let speaks = |review: &&Review| review.tool_name.as_deref().is_none_or(|tool| tool == tool_name);
        said.iter().rfind(speaks).is_some_and(|review| review.decision == ReviewKind::Dismissed)
    }
}

/// Reads pairs of trace ids from CSV or JSON Lines, told by the first sign. A trace that stands twice on a side would
/// count twice, and is refused.
fn read_pairs(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| load::unreadable(path, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let read = if text.trim_start().starts_with('{') { json_lines(text) } else { comma_separated(text) };
    let of = |kind, line| Failure::unreadable(kind).with("path", path.display()).with("line", line);
    let pairs = read.map_err(|(line, message)| of("pairs_wrong", line).with("message", message))?;
    let (mut of_base, mut of_head) = (BTreeSet::new(), BTreeSet::new());
    for (line, (base, head)) in &pairs {
        for (side, id) in [(&mut of_base, base), (&mut of_head, head)] {
            if !side.insert(id) {
                return Err(of("pairs_repeated", *line).with("trace", id));
            }
        }
    }
    Ok(pairs.into_iter().map(|(_, pair)| pair).collect())
}

/// Line and pair; or line and what is wrong.
type Lines = Result<Vec<(u64, (String, String))>, (u64, String)>;

/// The names of both columns, or keys.
const COLUMNS: [&str; 2] = ["base_trace_id", "head_trace_id"];

fn trace_id(text: &str) -> String {
    text.trim().to_lowercase()
}

fn json_lines(text: &str) -> Lines {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(number, line)| {
        let value: serde_json::Value = serde_json::from_str(line).map_err(|error| (number, error.to_string()))?;
        let id = |key: &str| {
            let text = value.get(key).and_then(serde_json::Value::as_str);
            text.map(trace_id).ok_or_else(|| (number, key.to_owned()))
        };
        Ok((number, (id(COLUMNS[0])?, id(COLUMNS[1])?)))
    });
    read.collect()
}

fn comma_separated(text: &str) -> Lines {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| (1, error.to_string()))?.clone();
    let place = |name: &str| headers.iter().position(|header| header == name).ok_or_else(|| (1, name.to_owned()));
    let (base, head) = (place(COLUMNS[0])?, place(COLUMNS[1])?);
    let mut pairs = Vec::new();
    for record in reader.records() {
        let line = |position: Option<&csv::Position>| position.map_or(0, csv::Position::line);
        let record = record.map_err(|error| (line(error.position()), error.to_string()))?;
        let id = |place: usize| trace_id(record.get(place).unwrap_or_default());
        pairs.push((line(record.position()), (id(base), id(head))));
    }
    Ok(pairs)
}
