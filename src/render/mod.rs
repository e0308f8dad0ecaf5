//! Words: plain data in, text for people out.
//!
//! Owns every Korean sentence (templates under `templates/ko/`), particles, layout, the terminal report,
//! Markdown and the tree of `explain`. Queries nothing, decides nothing, does no I/O. Another language is
//! a folder beside `ko` with files of the same names.

pub mod agent;
pub mod apply_draft;
pub mod baseline;
pub mod bench;
pub mod calls;
pub mod chart;
pub mod choice;
pub mod compare;
pub mod demo_bench;
pub mod demo_compare;
pub mod doctor;
pub mod draft;
pub mod drafts;
pub mod drift;
pub mod errors;
pub mod eval;
pub mod eval_report;
pub mod eval_run;
pub mod github;
pub mod hq;
pub mod issues;
pub mod josa;
pub mod junit;
pub mod layout;
pub mod machine;
pub mod markdown;
pub mod notes;
pub mod page;
pub mod receive;
pub mod review;
pub mod rows;
pub mod sarif;
pub mod shape;
pub mod store;
pub mod summary;
pub mod terminal;
pub mod tree;
pub mod watch;
mod words;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use josa::Particles;
use layout::{plain_short, thousands};

/// Every template by its file name.
const TEMPLATES: &[(&str, &str)] = &[
    ("agent.j2", include_str!("templates/ko/agent.j2")),
    ("apply_draft.j2", include_str!("templates/ko/apply_draft.j2")),
    ("call_actions.j2", include_str!("templates/ko/call_actions.j2")),
    ("calls.j2", include_str!("templates/ko/calls.j2")),
    ("baseline_words.j2", include_str!("templates/ko/baseline_words.j2")),
    ("bench.j2", include_str!("templates/ko/bench.j2")),
    ("figure.j2", include_str!("templates/ko/figure.j2")),
    ("demo_bench.j2", include_str!("templates/ko/demo_bench.j2")),
    ("demo_compare.j2", include_str!("templates/ko/demo_compare.j2")),
    ("compare_words.j2", include_str!("templates/ko/compare_words.j2")),
    ("doctor.j2", include_str!("templates/ko/doctor.j2")),
    ("doctor_suggestion.j2", include_str!("templates/ko/doctor_suggestion.j2")),
    ("draft.j2", include_str!("templates/ko/draft.j2")),
    ("draft_prompt.j2", include_str!("templates/ko/draft_prompt.j2")),
    ("draft_words.j2", include_str!("templates/ko/draft_words.j2")),
    ("drift.j2", include_str!("templates/ko/drift.j2")),
    ("eval.j2", include_str!("templates/ko/eval.j2")),
    ("eval_page.html.j2", include_str!("templates/ko/page/eval.html.j2")),
    ("eval_run.j2", include_str!("templates/ko/eval_run.j2")),
    ("eval_problems.j2", include_str!("templates/ko/eval_problems.j2")),
    ("eval_report.md.j2", include_str!("templates/ko/eval_report.md.j2")),
    ("eval_words.j2", include_str!("templates/ko/eval_words.j2")),
    ("errors.j2", include_str!("templates/ko/errors.j2")),
    ("hq.j2", include_str!("templates/ko/hq.j2")),
    ("ingest_summary.j2", include_str!("templates/ko/ingest_summary.j2")),
    ("extracted.j2", include_str!("templates/ko/extracted.j2")),
    ("issue_reasons.j2", include_str!("templates/ko/issue_reasons.j2")),
    ("machine_words.j2", include_str!("templates/ko/machine_words.j2")),
    ("masked.j2", include_str!("templates/ko/masked.j2")),
    ("masked_list.j2", include_str!("templates/ko/masked_list.j2")),
    ("notes.j2", include_str!("templates/ko/notes.j2")),
    ("page.html.j2", include_str!("templates/ko/page/page.html.j2")),
    ("page_marks.html.j2", include_str!("templates/ko/page/marks.html.j2")),
    ("page_words.j2", include_str!("templates/ko/page/words.j2")),
    ("receive.j2", include_str!("templates/ko/receive.j2")),
    ("report_words.j2", include_str!("templates/ko/report_words.j2")),
    ("review_words.j2", include_str!("templates/ko/review_words.j2")),
    ("shape.j2", include_str!("templates/ko/shape.j2")),
    ("shape_diff.j2", include_str!("templates/ko/shape_diff.j2")),
    ("shape_diff_md.j2", include_str!("templates/ko/shape_diff_md.j2")),
    ("shape_md.j2", include_str!("templates/ko/shape_md.j2")),
    ("shape_words.j2", include_str!("templates/ko/shape_words.j2")),
    ("skipped_lines.j2", include_str!("templates/ko/skipped_lines.j2")),
    ("sql_words.j2", include_str!("templates/ko/sql_words.j2")),
    ("store_words.j2", include_str!("templates/ko/store_words.j2")),
    ("summary.j2", include_str!("templates/ko/summary.j2")),
    ("watch.j2", include_str!("templates/ko/watch.j2")),
];

/// Longest name or value that a sentence shows, in characters.
const SENTENCE_CHARS: usize = 120;

/// The words of one language: templates, particles, numerals, and the glossary for drafts.
pub struct Texts {
    environment: Environment<'static>,
    glossary: draft::Glossary,
}

impl Texts {
    /// Korean.
    #[must_use]
    pub fn korean() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|name| match name.ends_with(".html.j2") {
            true => minijinja::AutoEscape::Html,
            false => minijinja::AutoEscape::None,
        });
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        environment.set_syntax(syntax.expect("only delimiters can be refused, and they are the usual ones"));
        let particles = Particles::parse(include_str!("templates/ko/particles.txt"));
        let forms = particles.clone();
        environment.add_filter("particle", move |word: String, particle: String| {
            forms.after(&word, &particle).map_or(particle, str::to_owned)
        });
        environment
            .add_filter("josa", move |word: String, particle: String| with_particle(&particles, &word, &particle));
        let counts = Counts::parse(include_str!("templates/ko/counts.txt"));
        environment.add_filter("native_count", move |number: i64| counts.times(number));
        environment.add_filter("thousands", |number: i64| thousands(number));
        environment.add_filter("shown", |text: String| plain_short(&text, SENTENCE_CHARS));
        environment.add_filter("named", |text: String| layout::named(&text).into_owned());
        environment.add_filter("md_cell", |text: String| markdown::cell(&text));
        for (name, source) in TEMPLATES {
            environment.add_template(name, source).expect("a test renders every template that is shipped");
        }
        Self { environment, glossary: draft::Glossary::parse(include_str!("templates/ko/glossary.txt")) }
    }

    /// Renders a template of [`TEMPLATES`].
    pub(crate) fn render(&self, template: &str, values: impl Serialize) -> String {
        let rendered = self.environment.get_template(template).and_then(|found| found.render(Serde(&values)));
        // Strict templates fail only on a value that the caller forgot, which the tests of each text would show.
        rendered.unwrap_or_else(|error| format!("{template}: {error}"))
    }
}

/// The word and its particle, apart by a space where Korean writers put one.
fn with_particle(particles: &Particles, word: &str, particle: &str) -> String {
    let space = if josa::wants_space(word) { " " } else { "" };
    let form = particles.after(word, particle).unwrap_or(particle);
    format!("{word}{space}{form}")
}

/// Native numerals with their counter word, for numbers of times.
struct Counts {
    counter: &'static str,
    numerals: Vec<&'static str>,
}

impl Counts {
    /// Reads the data file: the counter word on its first line, the numerals from one up on the others.
    fn parse(text: &'static str) -> Self {
        let mut words = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        Self { counter: words.next().unwrap_or_default(), numerals: words.collect() }
    }

    /// `number` times; in digits beyond the numerals.
    fn times(&self, number: i64) -> String {
        let numeral = usize::try_from(number).ok().and_then(|number| self.numerals.get(number.checked_sub(1)?));
        match numeral {
            Some(numeral) => format!("{numeral} {}", self.counter),
            None => format!("{}{}", thousands(number), self.counter),
        }
    }
}
