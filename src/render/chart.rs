//! Charts as inline SVG: stacked columns and stacked rows of counts by verdict.
//!
//! Places along the width are in percent and those along the height in pixels, so that a chart fills any width while
//! its text keeps its size. Colours and patterns are classes (`k0` … `k6`), which the style sheet of the page fills.
//! Pure functions; every text is escaped here.

use std::fmt::Write;

use super::layout::{plain, thousands, truncate_to_width};

/// What is counted apart: the six verdicts in their order, then runs that cannot be judged.
pub const KINDS: usize = 7;
/// Place of the normal verdict among the kinds.
pub const NORMAL: usize = 5;
/// Place of runs that cannot be judged.
pub const UNJUDGED: usize = 6;
/// From the base line up: what needs attention stands where bars can be compared, the normal runs above it.
const STACK: [usize; KINDS] = [0, 1, 2, 3, 4, UNJUDGED, NORMAL];

/// Counts by kind.
pub type Counts = [u64; KINDS];

/// One bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Text at its foot or head; empty when it has none.
    pub label: String,
    /// What it says when pointed at.
    pub title: String,
    /// Text at its end; rows only.
    pub note: String,
    /// Fragment of the page that it leads to, with `#`; empty when it leads nowhere.
    pub link: String,
    /// Runs by kind.
    pub counts: Counts,
}

/// What names a chart to those who do not see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caption<'a> {
    /// Beginning of the ids in the chart; no other chart of the page has it.
    pub id: &'a str,
    /// What it shows.
    pub title: &'a str,
    /// What can be seen in it.
    pub description: &'a str,
}

/// Height of the columns, pixels.
const PLOT: f64 = 168.0;
/// Room above the highest gridline.
const TOP: f64 = 14.0;
/// Room for the labels below.
const FOOT: f64 = 24.0;
/// Room for the scale on the left, percent.
const SCALE: f64 = 7.0;
/// Height of a row with its label, pixels.
const ROW: f64 = 40.0;
/// Height of the bar in a row, pixels.
const ROW_BAR: f64 = 12.0;
/// Widest label of a row, in cells of a terminal: two for a Hangul syllable.
const LABEL_CELLS: usize = 28;

/// Text that is safe between tags and inside quotes, without characters that steer.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The step between gridlines: 1, 2 or 5 times a power of ten, at most four of them up to `highest`.
#[must_use]
pub fn grid_step(highest: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step.saturating_mul(4) >= highest {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// A column a bar, on one scale with gridlines.
#[must_use]
pub fn columns(caption: &Caption<'_>, bars: &[Bar]) -> String {
    let highest = bars.iter().map(|bar| total(&bar.counts)).max().unwrap_or(0).max(1);
    let step = grid_step(highest);
    let lines = highest.div_ceil(step);
    let scale = PLOT / (lines * step) as f64;
    let base = TOP + PLOT;
    let mut svg = open(caption, base + FOOT);
    for line in 0..=lines {
        let y = base - (line * step) as f64 * scale;
        let class = if line == 0 { "base" } else { "grid" };
        let _ = write!(svg, r#"<line class="{class}" x1="{SCALE}%" x2="100%" y1="{y:.1}" y2="{y:.1}"/>"#);
        let label = thousands(i64::try_from(line * step).unwrap_or(i64::MAX));
        let _ = write!(svg, r#"<text class="scale" x="{:.1}%" y="{:.1}">{label}</text>"#, SCALE - 1.0, y + 4.0);
    }
    let slot = (100.0 - SCALE) / bars.len().max(1) as f64;
    let width = (slot * 0.72).min(5.0);
    for (index, bar) in bars.iter().enumerate() {
        let left = SCALE + slot * index as f64;
        let x = left + (slot - width) / 2.0;
        begin_bar(&mut svg, bar);
        let _ = write!(svg, r#"<rect class="hit" x="{left:.3}%" width="{slot:.3}%" y="0" height="{base:.1}"/>"#);
        let mut y = base;
        for kind in STACK {
            let height = bar.counts[kind] as f64 * scale;
            if height > 0.0 {
                y -= height;
                let _ = write!(
                    svg,
                    r#"<rect class="k{kind}" x="{x:.3}%" width="{width:.3}%" y="{y:.2}" height="{height:.2}"/>"#
                );
            }
        }
        end_bar(&mut svg, bar);
        if !bar.label.is_empty() {
            let (middle, label) = (left + slot / 2.0, escape(&bar.label));
            let _ = write!(svg, r#"<text class="foot" x="{middle:.3}%" y="{:.1}">{label}</text>"#, base + 18.0);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// A row a bar, each under its label.
#[must_use]
pub fn rows(caption: &Caption<'_>, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|bar| total(&bar.counts)).max().unwrap_or(0).max(1);
    let mut svg = open(caption, ROW * bars.len() as f64);
    for (index, bar) in bars.iter().enumerate() {
        let top = ROW * index as f64;
        begin_bar(&mut svg, bar);
        let _ = write!(svg, r#"<rect class="hit" x="0" width="100%" y="{top:.0}" height="{ROW}"/>"#);
        let label = escape(&truncate_to_width(&plain(&bar.label), LABEL_CELLS));
        let _ = write!(svg, r#"<text class="name" x="0" y="{:.0}">{label}</text>"#, top + 14.0);
        let note = escape(&bar.note);
        let _ = write!(svg, r#"<text class="note" x="100%" y="{:.0}">{note}</text>"#, top + 14.0);
        let mut x = 0.0;
        for kind in STACK {
            let width = bar.counts[kind] as f64 * 100.0 / longest as f64;
            if width > 0.0 {
                let y = top + 20.0;
                let _ = write!(
                    svg,
                    r#"<rect class="k{kind}" x="{x:.3}%" width="{width:.3}%" y="{y:.0}" height="{ROW_BAR}"/>"#
                );
                x += width;
            }
        }
        end_bar(&mut svg, bar);
    }
    svg.push_str("</svg>");
    svg
}

/// A share with its interval, all from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Text above it.
    pub label: String,
    /// Text at its end; also what it says when pointed at.
    pub note: String,
    /// The share; none when there is none, and the interval is all there is.
    pub at: Option<f64>,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A row a share, each under its label: the interval as a line, the share as a dot on it. A line across all rows stands
/// at `mark`.
#[must_use]
pub fn spans(caption: &Caption<'_>, spans: &[Span], mark: f64) -> String {
    let height = ROW * spans.len() as f64;
    let mut svg = open(caption, height);
    let place = |share: f64| share.clamp(0.0, 1.0) * 100.0;
    let mark = place(mark);
    let _ = write!(svg, r#"<line class="goal" x1="{mark:.2}%" x2="{mark:.2}%" y1="0" y2="{height:.0}"/>"#);
    for (index, span) in spans.iter().enumerate() {
        let top = ROW * index as f64;
        let label = escape(&truncate_to_width(&plain(&span.label), LABEL_CELLS));
        let note = escape(&span.note);
        let y = top + 26.0;
        let _ = write!(svg, "<g><title>{}: {note}</title>", escape(&span.label));
        let _ = write!(svg, r#"<text class="name" x="0" y="{:.0}">{label}</text>"#, top + 14.0);
        let _ = write!(svg, r#"<text class="note" x="100%" y="{:.0}">{note}</text>"#, top + 14.0);
        let _ = write!(svg, r#"<line class="grid" x1="0" x2="100%" y1="{y:.0}" y2="{y:.0}"/>"#);
        let (low, high) = (place(span.low), place(span.high));
        let _ = write!(svg, r#"<line class="span" x1="{low:.2}%" x2="{high:.2}%" y1="{y:.0}" y2="{y:.0}"/>"#);
        if let Some(at) = span.at {
            let _ = write!(svg, r#"<circle class="dot" cx="{:.2}%" cy="{y:.0}" r="4.5"/>"#, place(at));
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

/// All runs of a bar.
#[must_use]
pub fn total(counts: &Counts) -> u64 {
    counts.iter().sum()
}

fn open(caption: &Caption<'_>, height: f64) -> String {
    let (id, title, description) = (caption.id, escape(caption.title), escape(caption.description));
    let names = format!(r#"<title id="{id}-t">{title}</title><desc id="{id}-d">{description}</desc>"#);
    let size = format!(r#"width="100%" height="{height:.0}""#);
    format!(r#"<svg class="chart" role="img" {size} aria-labelledby="{id}-t {id}-d">{names}"#)
}

fn begin_bar(svg: &mut String, bar: &Bar) {
    // Not on the way of the Tab key: the dates and the agent can be chosen above the table, and there may be many bars.
    let _ = match bar.link.is_empty() {
        true => write!(svg, "<g>"),
        false => write!(svg, r#"<a href="{}" tabindex="-1">"#, escape(&bar.link)),
    };
    let _ = write!(svg, "<title>{}</title>", escape(&bar.title));
}

fn end_bar(svg: &mut String, bar: &Bar) {
    svg.push_str(if bar.link.is_empty() { "</g>" } else { "</a>" });
}
