//! A judge of calls that knows nothing of SQL: one call after the other, numbers as integers of a fixed scale.

use serde_json::{Value, json};

/// Spellings of tools, and which of them are one tool. Written out, so that no code decides it here.
pub(super) const SPELLINGS: [(&str, u8); 12] = [
    ("search_docs", 0),
    ("Search-Docs", 0),
    ("SEARCH DOCS", 0),
    ("search.docs\u{3000}", 0),
    ("searchDocs", 0),
    ("문서_검색", 1),
    // The same in NFD: letters taken apart.
    ("\u{1106}\u{116e}\u{11ab}\u{1109}\u{1165} \u{1100}\u{1165}\u{11b7}\u{1109}\u{1162}\u{11a8}", 1),
    ("문서검색", 1),
    ("send_notice", 2),
    ("search_docs2", 3),
    ("café", 4),
    ("CAFE\u{301}", 4),
];

/// A call: number, spelling of the tool, argument, value.
pub(super) type Call = (u8, usize, &'static str, Option<String>);

/// A specification: tool, argument, allowed values, limit in ten-thousandths, required.
pub(super) type Spec = (u8, &'static str, Option<Vec<&'static str>>, Option<i128>, bool);

/// A number of ten-thousandths as it is written.
pub(super) fn written(scaled: i128) -> String {
    let (whole, part) = (scaled / 10_000, scaled % 10_000);
    if part == 0 { whole.to_string() } else { format!("{whole}.{}", format!("{part:04}").trim_end_matches('0')) }
}

/// The plain decimal number that the text is, in ten-thousandths; none for all else.
fn number(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let mut parts = digits.splitn(2, '.');
    let (whole, part) = (parts.next()?, parts.next());
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || part.is_some_and(|part| !all_digits(part) || part.len() > 4) {
        return None;
    }
    let scaled: i128 = format!("{whole}{:0<4}", part.unwrap_or("")).parse().ok()?;
    Some(sign * scaled)
}

/// What is said, in the order of the output, without words; and the numbers of calls that cannot be judged.
pub(super) fn judge(calls: &[Call], specs: &[Spec]) -> (Vec<Value>, Vec<String>) {
    let mut groups: [Vec<Value>; 6] = Default::default();
    let mut unjudged = Vec::new();
    let name = |number: u8| format!("C{number}");
    for (place, (call_no, spelling, argument, value)) in calls.iter().enumerate() {
        let earlier = calls[..place].iter().filter(|call| call.0 == *call_no).count();
        if earlier == 1 {
            let count = calls.iter().filter(|call| call.0 == *call_no).count();
            let evidence = json!([{"field": "call_no", "agg": "count", "value": count}]);
            groups[5].push(json!({"call_no": name(*call_no), "verdict": "duplicate_call", "checked_arg": argument,
                "evidence": evidence}));
        }
        if earlier > 0 {
            continue;
        }
        let (raw, tool) = SPELLINGS[*spelling];
        if specs.iter().all(|spec| spec.0 != tool) {
            let evidence = json!([{"field": "tool_name_raw", "value": raw, "quote": raw}]);
            groups[4].push(json!({"call_no": name(*call_no), "verdict": "tool_unmapped", "checked_arg": null,
                "evidence": evidence}));
            continue;
        }
        let Some((.., allowed, limit, required)) = specs.iter().find(|spec| spec.0 == tool && spec.1 == *argument)
        else {
            unjudged.push(name(*call_no));
            continue;
        };
        let value_cell = json!({"field": "arg_value", "value": value});
        let allowed_cell = allowed.as_ref().map(|list| json!({"field": "allowed_values", "value": list.join("|")}));
        let limit_cell = limit.map(|limit| {
            let number: serde_json::Number = serde_json::from_str(&written(limit)).unwrap();
            json!({"field": "max_number", "value": number})
        });
        let required_cell = json!({"field": "is_required", "value": required});
        let mut say = |group: usize, verdict: &str, cells: Vec<Value>| {
            groups[group].push(json!({"call_no": name(*call_no), "verdict": verdict, "checked_arg": argument,
                "evidence": cells}));
        };
        let Some(text) = value else {
            match required {
                true => say(3, "required_arg_missing", vec![value_cell, required_cell]),
                false => say(0, "compliant", vec![value_cell, required_cell]),
            }
            continue;
        };
        let is_listed = allowed.as_ref().is_none_or(|list| list.contains(&text.as_str()));
        let is_within = limit.is_none_or(|limit| number(text).is_some_and(|number| (0..=limit).contains(&number)));
        if !is_listed {
            say(
                1,
                "value_not_allowed",
                [Some(value_cell.clone()), allowed_cell.clone()].into_iter().flatten().collect(),
            );
        }
        if !is_within {
            say(2, "number_over_limit", [Some(value_cell.clone()), limit_cell.clone()].into_iter().flatten().collect());
        }
        if is_listed && is_within {
            let mut cells: Vec<Value> = [Some(value_cell), allowed_cell, limit_cell].into_iter().flatten().collect();
            if cells.len() == 1 {
                cells.push(required_cell);
            }
            say(0, "compliant", cells);
        }
    }
    (groups.into_iter().flatten().collect(), unjudged)
}
