//! Tables of answers: they keep the width, their columns are straight, and values are cut last.

use proptest::prelude::*;
use taco_trace::model::{Cell, Column, Row};
use taco_trace::render::Texts;
use taco_trace::render::layout::width;
use taco_trace::render::rows::{csv_head, csv_rows, table};

fn text_column(name: &str) -> Column {
    Column { name: name.to_owned(), is_number: false }
}

fn number_column(name: &str) -> Column {
    Column { name: name.to_owned(), is_number: true }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn numbers_stand_to_the_right_and_hangul_counts_twice() {
    let columns = [text_column("도구"), number_column("n")];
    let rows = [vec![text("규정 검색"), Cell::Integer(7)], vec![text("ocr"), Cell::Decimal("1234.50".to_owned())]];
    let shown = table(&Texts::korean(), &columns, &rows, Some(80), 1);
    assert_eq!(shown.text, "도구             n\n─────────  ───────\n규정 검색        7\nocr        1234.50\n");
    assert!(!shown.is_cut);
}

/// 20 cells and 20 cells with the gap between are 42.
#[test]
fn values_are_cut_only_below_the_width_they_need() {
    let columns = [text_column("a"), text_column("b")];
    let rows = [vec![text(&"가".repeat(10)), text(&"x".repeat(20))]];
    for (cells, cut) in [(41, true), (42, false), (43, false)] {
        let shown = table(&Texts::korean(), &columns, &rows, Some(cells), 1);
        assert_eq!(shown.is_cut, cut, "{cells}");
        assert_eq!(shown.text.contains('…'), cut, "{cells}");
    }
    let whole = table(&Texts::korean(), &columns, &[vec![text(&"가".repeat(900)), Cell::Null]], None, 1);
    assert!(!whole.is_cut && whole.text.contains(&"가".repeat(900)));
}

#[test]
fn too_many_columns_become_a_block_a_row() {
    let columns: Vec<Column> = (0..12).map(|at| text_column(&format!("column_{at}"))).collect();
    let row: Row = (0..12).map(|at| text(&format!("값 {at} {}", "나".repeat(60)))).collect();
    let shown = table(&Texts::korean(), &columns, &[row.clone(), row], Some(80), 41);
    assert!(shown.text.starts_with("── 41번째 행 ─"), "{}", shown.text);
    assert!(shown.text.contains("── 42번째 행 ─"));
    // Nothing is lost: long values go on below.
    assert_eq!(shown.text.matches('나').count(), 2 * 12 * 60);
    assert!(!shown.is_cut);
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        Just(Cell::Null),
        any::<i64>().prop_map(|number| Cell::Integer(number.into())),
        any::<f64>().prop_map(Cell::Float),
        "[가-힣a-z \u{1b}\n\u{200b}🦆é|]{0,40}".prop_map(Cell::Text),
        prop::collection::vec("[가-힣\"]{0,8}".prop_map(Cell::Text), 0..4).prop_map(Cell::List),
    ]
}

fn answer() -> impl Strategy<Value = (Vec<Column>, Vec<Row>)> {
    (1_usize..14).prop_flat_map(|columns| {
        let names = prop::collection::vec("[가-힣a-z_]{1,24}".prop_map(|name| text_column(&name)), columns);
        let rows = prop::collection::vec(prop::collection::vec(cell(), columns), 0..6);
        (names, rows)
    })
}

/// The widths of the columns of a table.
fn widths(columns: &[Column], rows: &[Row], cells: usize) -> Option<Vec<usize>> {
    let shown = table(&Texts::korean(), columns, rows, Some(cells), 1).text;
    let dashes = shown.lines().nth(1).filter(|line| line.chars().all(|c| c == '─' || c == ' '))?;
    Some(dashes.split("  ").map(width).collect())
}

#[test]
fn short_columns_are_whole_while_a_wide_one_has_room() {
    let columns = [text_column("time"), text_column("reason"), text_column("status"), number_column("n")];
    let row = vec![text("09:35:50"), text(&"x".repeat(200)), text("error"), Cell::Integer(12_345)];
    // 80 less three gaps, 8 + 6 + 5 for the short ones.
    assert_eq!(widths(&columns, &[row], 80).unwrap(), [8, 55, 6, 5]);
    // A long name takes from no other column: only the digits are kept whole.
    let columns = [number_column(&"count_of_everything_".repeat(3)), text_column("a"), text_column("b")];
    let row = vec![Cell::Integer(7), text(&"x".repeat(25)), text(&"y".repeat(24))];
    assert_eq!(widths(&columns, std::slice::from_ref(&row), 70).unwrap(), [22, 22, 22]);
    assert_eq!(widths(&columns, std::slice::from_ref(&row), 71).unwrap(), [23, 22, 22]);
    assert_eq!(widths(&columns, &[row], 80).unwrap(), [27, 25, 24]);
}

/// Naive: one cell after the other, each to the narrowest column that needs one, the first of several.
fn shared_one_by_one(natural: &[usize], least: &[usize], room: usize) -> Vec<usize> {
    let mut widths = least.to_vec();
    for _ in widths.iter().sum::<usize>()..room {
        let short = (0..widths.len()).filter(|at| widths[*at] < natural[*at]);
        let Some(at) = short.min_by_key(|at| widths[*at]) else { break };
        widths[at] += 1;
    }
    widths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_line_is_wider_than_the_terminal((columns, rows) in answer(), cells in 40_usize..130) {
        let shown = table(&Texts::korean(), &columns, &rows, Some(cells), 1);
        for line in shown.text.lines() {
            prop_assert!(width(line) <= cells, "{} > {cells}: {line}", width(line));
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    /// Names and values of given widths, digits for some.
    #[test]
    fn no_column_is_cut_while_another_has_more_than_its_share(
        sizes in prop::collection::vec((1_usize..60, 1_usize..120, any::<bool>()), 1..9),
        cells in 40_usize..160,
    ) {
        let column = |(name, _, is_number): &(usize, usize, bool)| Column { name: "n".repeat(*name), is_number: *is_number };
        let columns: Vec<Column> = sizes.iter().map(column).collect();
        let row: Row = sizes.iter().map(|(_, value, _)| text(&"1".repeat(*value))).collect();
        let natural: Vec<usize> = sizes.iter().map(|(name, value, _)| *name.max(value)).collect();
        let least: Vec<usize> = sizes
            .iter()
            .map(|(name, value, is_number)| (*name.max(value)).min(if *is_number { *value.max(&8) } else { 8 }))
            .collect();
        let room = cells - 2 * (sizes.len() - 1);
        let found = widths(&columns, &[row], cells);
        if least.iter().sum::<usize>() > room {
            prop_assert_eq!(found, None);
        } else {
            let found = found.unwrap();
            prop_assert_eq!(&found, &shared_one_by_one(&natural, &least, room));
            for (at, width) in found.iter().enumerate().filter(|(at, width)| **width < natural[*at]) {
                for (other, wider) in found.iter().enumerate() {
                    prop_assert!(*wider <= (width + 1).max(least[other]), "{at} {other}: {found:?} of {natural:?}");
                }
            }
        }
    }

    /// Each column begins at the same cell in every line: a gap stands before it.
    #[test]
    fn columns_are_straight((columns, rows) in answer()) {
        let shown = table(&Texts::korean(), &columns, &rows, None, 1);
        let lines: Vec<&str> = shown.text.lines().collect();
        prop_assert_eq!(lines.len(), rows.len() + 2);
        let mut begin = 0;
        for dashes in lines[1].split("  ") {
            let end = begin + width(dashes);
            for line in &lines {
                // What stands at the two cells behind the column.
                let mut at = 0;
                for c in line.chars() {
                    if at == end || at == end + 1 {
                        prop_assert_eq!(c, ' ', "{}", line);
                    }
                    at += width(c.encode_utf8(&mut [0; 4]));
                }
            }
            begin = end + 2;
        }
    }

    #[test]
    fn csv_reads_back_what_was_written((columns, rows) in answer()) {
        let mut bytes = csv_head(&columns).unwrap();
        bytes.extend(csv_rows(&rows, "(null)").unwrap());
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes.as_slice());
        let read: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        prop_assert_eq!(read.len(), rows.len() + 1);
        for (row, found) in rows.iter().zip(&read[1..]) {
            for (cell, found) in row.iter().zip(found) {
                match cell {
                    Cell::Text(text) => prop_assert_eq!(text, found),
                    Cell::Null => prop_assert_eq!(found, "(null)"),
                    Cell::Float(number) => prop_assert!(number.is_nan() || found.parse::<f64>().unwrap() == *number),
                    _ => {}
                }
            }
        }
    }
}
