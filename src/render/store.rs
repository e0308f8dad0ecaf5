//! What the care of a store came to, in words.

use minijinja::context;
use minijinja::value::{Serde, Value};

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain, thousands, truncate_to_width, width, wrap};
use crate::model::{StoreInfo, TableClass};

/// Cells of the widest label and its gap.
const LABEL: usize = 11;
/// Digits of a tool set that are shown.
const SET_DIGITS: usize = 12;
/// Longest name of a table that is shown whole.
const MAX_TABLE_NAME: usize = 32;

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("store_words.j2", context! { key, ..values }).trim_end().to_owned()
}

fn word(texts: &Texts, key: &str) -> String {
    phrase(texts, key, context! {})
}

/// Bytes in the unit that leaves the fewest digits: `4.0 MiB`.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    // Tenths, rounded; whole numbers, so that no float decides a digit.
    let mut tenths = u128::from(count) * 10;
    let mut unit = 0;
    tenths = (tenths + 512) / 1024;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths = (tenths + 512) / 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// The table of `store info`.
#[must_use]
pub fn info(texts: &Texts, info: &StoreInfo, style: Style) -> String {
    let mut lines = Vec::new();
    let mut say = |key: &str, value: &str| {
        let first = pad_end(&word(texts, key), LABEL);
        lines.extend(wrap(value, style.cells(), &first, &" ".repeat(LABEL)));
    };
    let none = word(texts, "none");
    let or_none = |text: String| if text.is_empty() { none.clone() } else { text };
    let of_blocks = |blocks: i64| bytes(u64::try_from(blocks * info.block_size).unwrap_or(0));
    let wal = if info.wal_bytes > 0 { bytes(info.wal_bytes) } else { String::new() };
    let (total, free) = (info.total_blocks, info.free_blocks);
    say("store", &plain(&info.path));
    let size = context! { size => bytes(info.size_bytes), total, free, free_size => of_blocks(free), wal };
    say("size", &phrase(texts, "size_value", size));
    let version = context! { version => info.schema_version, migration => info.migration.as_str() };
    say("version", &phrase(texts, "version_value", version));
    say("runs", &phrase(texts, "runs_value", context! { runs => info.runs, traces => info.traces }));
    let period = match (&info.first_start, &info.last_start) {
        (Some(first), Some(last)) => {
            phrase(texts, "period_value", context! { first => to_second(first), last => to_second(last) })
        }
        _ => none.clone(),
    };
    say("period", &period);
    say("files", &phrase(texts, "files_value", context! { sources => info.sources, batches => info.batches }));
    if info.tool_sets.is_empty() {
        say("tools", &none);
    }
    for set in &info.tool_sets {
        let short: String = set.tool_set.chars().take(SET_DIGITS).collect();
        let values = context! {
            set => short, tools => set.tools, traces => set.traces, source => set.source.as_str(),
            in_force => set.in_force,
        };
        say("tools", &phrase(texts, "tool_set", values));
    }
    let issues: Vec<String> =
        info.issues.iter().map(|(code, count)| format!("{} {}", plain(code), thousands(*count))).collect();
    say("issues", &or_none(issues.join(" · ")));
    let masked = texts.render("masked_list.j2", context! { counts => Serde(&info.masked) });
    say("masked", &or_none(masked.trim().to_owned()));
    lines.push(String::new());
    lines.extend(tables(texts, info));
    lines.extend(wrap(&word(texts, "blocks_note"), style.cells(), "", ""));
    lines.join("\n") + "\n"
}

/// ISO 8601 up to the second, as the reports have it.
fn to_second(time: &str) -> String {
    time.chars().take(19).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
}

fn tables(texts: &Texts, info: &StoreInfo) -> Vec<String> {
    let head = ["table", "rows", "blocks", "class"].map(|key| word(texts, key));
    let rows = info.tables.iter().map(|table| {
        [
            truncate_to_width(&plain(&table.name), MAX_TABLE_NAME),
            thousands(table.rows),
            bytes(u64::try_from(table.block_bytes).unwrap_or(0)),
            word(texts, class_key(table.class)),
        ]
    });
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let (name, count, size) = (widest(0), widest(1), widest(2));
    rows.iter()
        .map(|[table, rows, blocks, class]| {
            format!("{}  {}  {}  {class}", pad_end(table, name), pad_start(rows, count), pad_start(blocks, size))
        })
        .collect()
}

const fn class_key(class: Option<TableClass>) -> &'static str {
    match class {
        None => "foreign",
        Some(TableClass::Trace) => "trace",
        Some(TableClass::History) => "history",
        Some(TableClass::Tools) => "tools_class",
        Some(TableClass::Shared) => "shared",
        Some(TableClass::Log) => "log",
        Some(TableClass::Settings) => "settings",
        Some(TableClass::Secret) => "secret",
        Some(TableClass::Internal) => "internal",
    }
}

/// What shrinking came to: sizes of the file in bytes, and the rows in it.
#[must_use]
pub fn vacuumed(texts: &Texts, before: u64, after: u64, rows: u64) -> String {
    phrase(texts, "vacuumed", context! { before => bytes(before), after => bytes(after), rows }) + "\n"
}

/// What was taken out, or would be: traces, and rows by table.
#[must_use]
pub fn pruned<'t>(
    texts: &Texts,
    date: &str,
    dry_run: bool,
    traces: u64,
    rows: impl IntoIterator<Item = (&'t str, u64)>,
) -> String {
    let mut lines = vec![phrase(texts, "pruned", context! { date, dry_run, traces })];
    lines.extend(rows.into_iter().map(|(name, rows)| phrase(texts, "pruned_row", context! { name, rows })));
    if !dry_run && lines.len() > 1 {
        lines.push(word(texts, "prune_hint"));
    }
    lines.join("\n") + "\n"
}

/// What was written where.
#[must_use]
pub fn exported(texts: &Texts, path: &str, tables: u64, rows: u64, files: (u64, u64), dates: u64) -> String {
    let (files, size) = files;
    let values = context! { path => plain(path), tables, rows, files, bytes => bytes(size), dates };
    phrase(texts, "exported", values) + "\n"
}

/// What was taken over. `spans`: new, the same, with other content; `sources`: new, known.
#[must_use]
pub fn imported(texts: &Texts, spans: [u64; 3], sources: [u64; 2], rows: u64, mask_key_differs: bool) -> String {
    let [spans_new, spans_same, spans_other] = spans;
    let [sources_new, sources_known] = sources;
    let values = context! { spans_new, spans_same, spans_other, sources_new, sources_known, rows };
    let mut text = phrase(texts, "imported", values) + "\n";
    if mask_key_differs {
        text += &(word(texts, "mask_key_differs") + "\n");
    }
    text
}
