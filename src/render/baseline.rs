//! What a baseline says of a diagnosis, in words.

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::layout::{Style, plain, wrap};
use super::markdown::cell;
use super::review;
use crate::model::ReviewKind;

/// How findings stand to a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaselineView {
    /// Findings that it does not have.
    pub new: u64,
    /// Findings that it has.
    pub known: u64,
    /// Findings that the baseline says to ignore.
    pub accepted: u64,
    /// Findings that a person dismissed in a review.
    pub dismissed: u64,
    /// Runs that the report only counts since none of their findings is new, and their findings; none where it shows
    /// them.
    pub folded: Option<(u64, u64)>,
    /// Entries that did not occur, though their agent ran; none when only a part of the runs was looked at.
    pub absent: Option<Vec<String>>,
    /// The set of rules that it was written with, when another one judged.
    pub other_rule_set: Option<String>,
    /// Shares that fell.
    pub falls: Vec<FallView>,
}

/// A share that fell, and its two figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallView {
    /// Name of the share.
    pub name: &'static str,
    /// So many of so many before.
    pub before: (u64, u64),
    /// So many of so many now.
    pub now: (u64, u64),
}

/// Entries that a report lists; the others are counted.
const LISTED: usize = 10;

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("baseline_words.j2", context! { key, ..values }).trim().to_owned()
}

/// The sentences: a head, then points below it.
fn sentences(texts: &Texts, view: &BaselineView) -> (String, Vec<String>) {
    let said = review::said(texts, ReviewKind::Dismissed);
    let values = context! {
        new => view.new, known => view.known, accepted => view.accepted, dismissed => view.dismissed, said,
    };
    let head = phrase(texts, "counts", values);
    let mut points = Vec::new();
    if let Some((runs, findings)) = view.folded.filter(|(runs, _)| *runs > 0) {
        points.push(phrase(texts, "folded", context! { runs, findings }));
    }
    for fall in &view.falls {
        let name = phrase(texts, fall.name, context! {});
        points.push(if fall.now.1 == 0 {
            phrase(texts, "nothing", context! { name, before => percent(fall.before) })
        } else {
            let values = context! {
                name, before => percent(fall.before), now => percent(fall.now),
                part => fall.now.0, all => fall.now.1,
            };
            phrase(texts, "fell", values)
        });
    }
    if let Some(set) = &view.other_rule_set {
        points.push(phrase(texts, "other_rules", context! { set => plain(set) }));
    }
    match &view.absent {
        None => points.push(phrase(texts, "partial", context! {})),
        Some(absent) if absent.is_empty() => {}
        Some(absent) => {
            points.push(phrase(texts, "absent", context! { count => absent.len() }));
            points.extend(absent.iter().take(LISTED).map(|entry| plain(entry).into_owned()));
            if absent.len() > LISTED {
                points.push(phrase(texts, "more", context! { count => absent.len() - LISTED }));
            }
        }
    }
    (head, points)
}

/// Per cent with two digits behind the point: shares fall by little.
fn percent((part, all): (u64, u64)) -> String {
    let hundredths = u128::from(part) * 10_000 / u128::from(all.max(1));
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// For a terminal, in lines of at most `style.width` cells.
#[must_use]
pub fn lines(texts: &Texts, view: &BaselineView, style: Style) -> String {
    let (head, points) = sentences(texts, view);
    let mut lines = wrap(&head, style.cells(), "", "  ");
    lines.extend(points.iter().flat_map(|point| wrap(point, style.cells(), "  - ", "    ")));
    lines.join("\n") + "\n"
}

/// As a section of a Markdown document.
#[must_use]
pub fn section(texts: &Texts, view: &BaselineView) -> String {
    let (head, points) = sentences(texts, view);
    let title = phrase(texts, "title", context! {});
    let points: String = points.iter().map(|point| format!("- {}\n", cell(point))).collect();
    format!("\n## {title}\n\n{}\n{}{points}", cell(&head), if points.is_empty() { "" } else { "\n" })
}

/// That a baseline was written: where, how many entries it has, how many of them are accepted, and how many dismissed
/// findings are not in it.
#[must_use]
pub fn written(texts: &Texts, path: &str, entries: usize, accepted: usize, dismissed: usize) -> String {
    phrase(texts, "written", context! { path => plain(path), entries, accepted, dismissed }) + "\n"
}
