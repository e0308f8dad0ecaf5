//! `taco-trace doctor`: what is in trace files, what is missing, and what to do about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueEnum;

use super::exit;
use super::failure::Failure;
use super::load::{self, IssuesArg, LoadArgs, Loaded};
use super::terminal::{self, ColorChoice};
use crate::ingest::convention::Conventions;
use crate::ingest::observe::{ConventionSeen, Observed, ScopeKey, ScopeSeen};
use crate::model::{IssueCode, Severity};
use crate::render::Texts;
use crate::render::doctor::{self, ConventionView, Doctor, Problem, ScopeView, Suggestion};
use crate::render::issues;
use crate::store::{Store, Structure};

/// How many attribute keys are named.
const KEYS_NAMED: usize = 10;

/// `taco-trace doctor` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace doctor traces/")]
pub(crate) struct Args {
    /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력)
    #[arg(help_heading = "인자", value_name = "경로", required = true)]
    paths: Vec<PathBuf>,
    /// 형식: table(기본) 또는 json
    #[arg(
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    #[command(flatten)]
    load: LoadArgs,
}

/// How the analysis is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// 단말에서 읽는 보고서
    Table,
    /// JSON
    Json,
}

/// Shows the analysis. Files in which nothing is recognised are its subject too, so they are no failure here.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let store = Store::in_memory().map_err(Failure::from)?;
    let mut loaded = Loaded { observed: Some(Observed::default()), ..Loaded::default() };
    load::load_into(texts, &store, &args.paths, &args.load, &mut loaded)?;
    if args.load.issues == IssuesArg::All {
        load::tell_issues(texts, &loaded);
    }
    let conventions = load::read_conventions(&args.load)?;
    let structure = store.structure().map_err(Failure::from)?;
    let without_span = store.coverage().map_err(Failure::from)?.without_span;
    let found = Found {
        texts,
        observed: loaded.observed.take().unwrap_or_default(),
        loaded,
        structure,
        conventions,
        has_tools: args.load.tools.is_some(),
    };
    let mut report = found.report();
    report.calls_without_span = u64::try_from(without_span).unwrap_or_default();
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&report)? + "\n",
        Format::Table => doctor::doctor(texts, &report, terminal::style(ColorChoice::Never, false)),
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}

struct Found<'a> {
    texts: &'a Texts,
    observed: Observed,
    loaded: Loaded,
    structure: Structure,
    conventions: Conventions,
    has_tools: bool,
}

impl Found<'_> {
    fn report(&self) -> Doctor {
        let Found { observed, loaded, structure, .. } = self;
        let tools = observed.tools.chosen();
        let mut scopes: Vec<ScopeView> =
            observed.scopes.iter().map(|(key, seen)| scope_view(key, seen, &self.conventions)).collect();
        // Stable, so that scopes of equal weight stay in the order of their names.
        scopes.sort_by_key(|scope| {
            let kept: u64 = scope.conventions.iter().map(|seen| seen.runs + seen.calls).sum();
            std::cmp::Reverse((kept, scope.spans))
        });
        Doctor {
            files: loaded.files,
            lines: loaded.totals.lines,
            lines_skipped: loaded.totals.lines_skipped,
            spans_seen: loaded.totals.spans_seen,
            spans_kept: loaded.totals.spans_kept,
            spans_merged: loaded.totals.spans_merged,
            traces: structure.traces,
            runs: structure.runs,
            calls: structure.calls,
            calls_without_span: 0,
            conversations: observed.conversations().0,
            recorded_tools: tools.len() as u64,
            defined_tools: self.defined_tools(),
            scopes,
            problems: self.problems(),
            suggestions: self.suggestions(),
        }
    }

    fn defined_tools(&self) -> u64 {
        self.observed.tools.chosen().iter().filter(|chosen| chosen.tool.json_schema.is_some()).count() as u64
    }

    /// What each convention recognised, over all scopes.
    fn by_convention(&self) -> BTreeMap<&str, ConventionSeen> {
        let mut sums: BTreeMap<&str, ConventionSeen> = BTreeMap::new();
        for (name, seen) in self.observed.scopes.values().flat_map(|scope| &scope.conventions) {
            sums.entry(name).or_default().add(seen);
        }
        sums
    }

    fn issues(&self, code: IssueCode) -> u64 {
        self.loaded.issues_by_code.get(&code).copied().unwrap_or_default()
    }

    fn is_nothing_recognised(&self) -> bool {
        self.structure.runs + self.structure.calls == 0
    }

    fn problems(&self) -> Vec<Problem> {
        let Structure {
            runs,
            calls,
            traces_without_run,
            orphans,
            early_children,
            earliest_ms,
            stamped_traces,
            services,
            traces_of_several_services,
            unnamed_runs,
            ..
        } = self.structure;
        let mut found = Vec::new();
        let mut add = |code: &str, severity: Severity, count: u64, name: &str, value: String| {
            if count > 0 {
                let (code, name, severity) = (code.to_owned(), name.to_owned(), severity.as_str());
                found.push(Problem { code, severity, count, name, value, reason: String::new() });
            }
        };
        add("nothing_recognised", Severity::DataLoss, u64::from(self.is_nothing_recognised()), "", String::new());
        add("no_tool_spans", Severity::Warning, u64::from(runs > 0 && calls == 0), "", String::new());
        add("no_runs", Severity::Warning, traces_without_run, "", String::new());
        add("export_stamps", Severity::Warning, stamped_traces, "", String::new());
        add("orphans", Severity::Warning, orphans, "", String::new());
        add("skew", Severity::Warning, early_children, "", earliest_ms.to_string());
        for (name, seen) in self.by_convention() {
            add(
                "status_never_set",
                Severity::Info,
                u64::from(seen.calls > 0 && seen.with_status == 0),
                name,
                String::new(),
            );
        }
        add("several_services", Severity::Info, traces_of_several_services, "", services.to_string());
        add("conversation_over_traces", Severity::Info, self.observed.conversations().1, "", String::new());
        add("unnamed_runs", Severity::Info, unnamed_runs, "", String::new());
        add("definitions_unreadable", Severity::Warning, self.observed.tools.unreadable, "", String::new());
        let redelivered = self.loaded.totals.spans_redelivered;
        add("spans_redelivered", Severity::Info, redelivered, "", String::new());
        for (code, count) in &self.loaded.issues_by_code {
            if *code != IssueCode::SpanRedelivered {
                found.push(Problem {
                    code: code.as_str().to_owned(),
                    severity: code.severity().as_str(),
                    count: *count,
                    reason: issues::reason(self.texts, *code, ""),
                    ..Problem::default()
                });
            }
        }
        found
    }

    fn suggestions(&self) -> Vec<Suggestion> {
        let mut found = Vec::new();
        let mut add = |code: &'static str, count: u64, name: &str, value: Option<&str>, keys: Vec<String>| {
            let (name, value) = (name.to_owned(), value.unwrap_or_default().to_owned());
            let bare = Suggestion { code, count, name, value, keys, text: String::new() };
            found.push(Suggestion { text: doctor::suggestion(self.texts, &bare), ..bare });
        };
        let status_missing = self.issues(IssueCode::StatusMissing);
        if status_missing > 0 {
            add("missing_status", status_missing, "", None, Vec::new());
        }
        if self.loaded.totals.spans_seen == 0 {
            add("not_traces", 0, "", None, Vec::new());
        } else if self.is_nothing_recognised() && status_missing == 0 {
            add("convention", 0, "", None, self.unknown_keys());
        }
        let seen = self.by_convention();
        let capture = |name: &str| self.conventions.capture(name);
        if self.structure.runs > 0 && self.structure.calls == 0 {
            let names: Vec<&str> = seen.keys().copied().collect();
            let setting = names.iter().find_map(|name| capture(name));
            add("tool_spans", 0, &names.join(", "), setting, Vec::new());
        }
        if self.structure.traces_without_run > 0 {
            add("runs", self.structure.traces_without_run, "", None, Vec::new());
        }
        let mut told = BTreeSet::new();
        for (name, seen) in &seen {
            if seen.not_recorded > 0 {
                told.insert(*name);
                add("capture", seen.not_recorded, name, capture(name), Vec::new());
            }
        }
        for name in self.without_messages() {
            // The same setting was told above.
            if told.insert(name) {
                add("messages", 0, name, capture(name), Vec::new());
            }
        }
        if self.structure.stamped_traces > 0 {
            add("export_stamps", self.structure.stamped_traces, "", None, Vec::new());
        }
        let defined = self.defined_tools();
        if !self.has_tools && !self.is_nothing_recognised() {
            let code = if defined > 0 { "tools_from_trace" } else { "tools" };
            add(code, defined, "", None, Vec::new());
        }
        let lost = self
            .loaded
            .issues_by_code
            .iter()
            .filter(|(code, _)| code.severity() == Severity::DataLoss && **code != IssueCode::StatusMissing);
        let lost: u64 = lost.map(|(_, count)| count).sum();
        if lost > 0 {
            add("data_loss", lost, "", None, Vec::new());
        }
        found
    }

    /// Conventions of the services in which no span holds messages: an exporter writes runs and model calls under
    /// several scopes.
    fn without_messages(&self) -> BTreeSet<&str> {
        let mut services: BTreeMap<&str, (u64, BTreeSet<&str>)> = BTreeMap::new();
        for (key, seen) in &self.observed.scopes {
            let (with_messages, names) = services.entry(&key.service).or_default();
            *with_messages += seen.with_messages;
            names.extend(seen.conventions.keys().map(String::as_str));
        }
        services.into_values().filter(|(with_messages, _)| *with_messages == 0).flat_map(|(_, names)| names).collect()
    }

    fn unknown_keys(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, spans) in self.observed.scopes.values().flat_map(|scope| &scope.unknown_keys) {
            *counts.entry(key).or_default() += spans;
        }
        most_first(counts).into_iter().take(KEYS_NAMED).map(|(key, _)| key).collect()
    }
}

fn most_first<N: Into<String>>(counts: impl IntoIterator<Item = (N, u64)>) -> Vec<(String, u64)> {
    let mut sorted: Vec<(String, u64)> = counts.into_iter().map(|(name, count)| (name.into(), count)).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sorted
}

fn scope_view(key: &ScopeKey, seen: &ScopeSeen, conventions: &Conventions) -> ScopeView {
    let view = |(name, seen): (&String, &ConventionSeen)| ConventionView {
        name: name.clone(),
        runs: seen.runs,
        named_runs: seen.named_runs,
        calls: seen.calls,
        with_arguments: seen.with_arguments,
        not_recorded: seen.not_recorded,
        with_results: seen.with_results,
        with_call_id: seen.with_call_id,
        with_status: seen.with_status,
        failed_beside_status: seen.failed_beside_status,
        forms: most_first(seen.forms.iter().map(|(form, calls)| (form.as_str(), *calls))),
        capture: conventions.capture(name).map(str::to_owned),
    };
    let mut unknown_keys = most_first(seen.unknown_keys.clone());
    unknown_keys.truncate(KEYS_NAMED);
    ScopeView {
        scope: key.scope.clone(),
        version: key.version.clone(),
        schema_url: key.schema_url.clone(),
        service: key.service.clone(),
        spans: seen.spans,
        conventions: seen.conventions.iter().map(view).collect(),
        with_messages: seen.with_messages,
        asked_calls: seen.asked_calls,
        with_definitions: seen.with_definitions,
        operations: most_first(seen.operations.clone()),
        unknown_keys,
    }
}
