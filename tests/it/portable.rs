//! Base views and rules keep to the SQL that DuckDB, Spark and ClickHouse answer alike.
//!
//! A static check of the text: what is not known to be common is refused, whether or not DuckDB would
//! take it. Notes, sets and queries may use DuckDB's own SQL and are not looked at.

use std::collections::BTreeSet;

use taco_trace::store::{Store, view_files};

/// Keywords that the three engines read alike, types included.
const KEYWORDS: &str = "CREATE OR REPLACE VIEW AS WITH SELECT DISTINCT FROM JOIN CROSS ON WHERE AND OR NOT EXISTS IS \
    NULL TRUE FALSE CASE WHEN THEN ELSE END GROUP BY HAVING ORDER DESC NULLS FIRST LAST PARTITION OVER WINDOW ROWS \
    BETWEEN UNBOUNDED PRECEDING CURRENT ROW UNION ALL IN BIGINT";

/// Functions that the three engines compute alike.
const FUNCTIONS: &str = "LAG SUM MAX MIN COUNT CAST COALESCE ROW_NUMBER CHAR_LENGTH";

/// Words that would be refused as keywords: found in small letters too, where they could pass as names.
const REFUSED: &str = "ANTI ANY ARRAY ASOF EXCEPT EXPLODE FILTER FULL GLOB ILIKE INTERSECT JSON LAMBDA LATERAL LEFT LIKE \
    LIMIT MAP NATURAL OFFSET OUTER PIVOT QUALIFY RECURSIVE RIGHT SAMPLE SEMI SIMILAR STRUCT TABLESAMPLE UNNEST UNPIVOT \
    USING";

/// Everything in the statement that is not known to be portable; empty when there is nothing.
fn problems(sql: &str) -> Vec<String> {
    let tokens = tokens(&statement(sql));
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        check_symbol(&tokens, at, &mut found);
        check_word(&tokens, at, &mut found);
        check_sequence(&tokens, at, &mut found);
    }
    check_casts(&tokens, &mut found);
    check_aliases(&tokens, &mut found);
    found
}

/// The text without comments and without `COMMENT ON` statements, which other engines write otherwise.
fn statement(sql: &str) -> String {
    let code: Vec<&str> = sql
        .lines()
        .filter(|line| !line.starts_with("COMMENT ON "))
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect();
    code.join("\n").trim().trim_end_matches(';').to_owned()
}

/// Words, numbers, texts in quotes, and the signs between, one by one where they are not a known pair.
fn tokens(code: &str) -> Vec<String> {
    let chars: Vec<char> = code.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let pair: String = chars[at..chars.len().min(at + 2)].iter().collect();
        if chars[at].is_whitespace() {
            at += 1;
            continue;
        } else if chars[at] == '\'' {
            at += 1 + chars[at + 1..].iter().position(|c| *c == '\'').unwrap_or(chars.len() - at - 1);
            at += 1;
        } else if chars[at].is_ascii_digit() {
            while at < chars.len() && (chars[at].is_ascii_alphanumeric() || chars[at] == '.') {
                at += 1;
            }
        } else if chars[at].is_alphanumeric() || chars[at] == '_' {
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
        } else {
            at += if ["->", "::", "||", "<>", "<=", ">=", "!=", "=="].contains(&pair.as_str()) { 2 } else { 1 };
        }
        tokens.push(chars[start..at.min(chars.len())].iter().collect());
    }
    tokens
}

/// The token at a place counted from another; empty beyond the ends.
fn near(tokens: &[String], at: usize, offset: isize) -> &str {
    at.checked_add_signed(offset).and_then(|place| tokens.get(place)).map_or("", String::as_str)
}

fn is_word(token: &str) -> bool {
    token.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
}

fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn check_symbol(tokens: &[String], at: usize, found: &mut Vec<String>) {
    let token = tokens[at].as_str();
    let (before, after) = (near(tokens, at, -1), near(tokens, at, 1));
    let operand = |token: &str| token == ")" || token.starts_with(|c: char| c.is_ascii_digit()) || is_name(token);
    let refused = match token {
        "*" => {
            !(before == "(" && near(tokens, at, -2) == "COUNT" || operand(before) && (operand(after) || after == "("))
        }
        "(" | ")" | "," | "." | "=" | "<" | ">" | "<=" | ">=" | "<>" | "+" | "-" | "||" => false,
        _ if token.starts_with(|c: char| c.is_ascii_digit()) => !token.chars().all(|c| c.is_ascii_digit()),
        _ => !is_word(token) && !token.starts_with('\''),
    };
    if refused {
        found.push(format!("sign {token} after {before}"));
    }
}

/// A name of ours: in small letters, and no keyword.
fn is_name(token: &str) -> bool {
    is_word(token) && token == token.to_lowercase() && !listed(KEYWORDS, &token.to_uppercase())
}

fn check_word(tokens: &[String], at: usize, found: &mut Vec<String>) {
    let token = tokens[at].as_str();
    if !is_word(token) {
        return;
    }
    let upper = token.to_uppercase();
    let called = near(tokens, at, 1) == "(";
    if listed(FUNCTIONS, token) {
        if !called {
            found.push(format!("function {token} without arguments"));
        }
    } else if listed(KEYWORDS, token) {
        // `AS (`, `IN (` and their like: no function.
    } else if called {
        found.push(format!("function {token}"));
    } else if listed(REFUSED, &upper) || token != token.to_lowercase() {
        found.push(format!("word {token}"));
    } else if listed(KEYWORDS, &upper) || listed(FUNCTIONS, &upper) {
        found.push(format!("keyword {token} in small letters"));
    }
}

fn check_sequence(tokens: &[String], at: usize, found: &mut Vec<String>) {
    let refused = [
        &["NOT", "IN", "("][..],
        &["DISTINCT", "ON"],
        &["IS", "DISTINCT"],
        &["IS", "NOT", "DISTINCT"],
        &["ORDER", "BY", "ALL"],
        &["GROUP", "BY", "ALL"],
    ];
    for sequence in refused {
        if sequence.iter().enumerate().all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token == word))
        {
            found.push(sequence.join(" "));
        }
    }
}

/// Place of the bracket that closes the one at `open`.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => depth += 1,
            ")" if depth == 1 => return at,
            ")" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Names that stand for a sum or a count: `COUNT(…) AS name`, `SUM(…) OVER (…) AS name`.
fn integer_names(tokens: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for at in 0..tokens.len() {
        if !["SUM", "COUNT"].contains(&tokens[at].as_str()) {
            continue;
        }
        let mut end = closing(tokens, at + 1);
        if near(tokens, end, 1) == "OVER" {
            end = if near(tokens, end, 2) == "(" { closing(tokens, end + 2) } else { end + 2 };
        }
        if near(tokens, end, 1) == "AS" {
            names.insert(near(tokens, end, 2).to_owned());
        }
    }
    names
}

/// Casts to BIGINT of sums, counts and integers only. Spark has no VARCHAR without a length and ClickHouse casts no NULL:
/// a view leaves out the column that it has nothing for, and the set fills it.
fn check_casts(tokens: &[String], found: &mut Vec<String>) {
    let integers = integer_names(tokens);
    for at in (0..tokens.len()).filter(|at| tokens[*at] == "CAST") {
        let end = closing(tokens, at + 1);
        let inside = &tokens[(at + 2).min(end)..end];
        let (value, to) = inside.split_at(inside.iter().rposition(|token| token == "AS").unwrap_or(inside.len()));
        let value: Vec<&str> = value.iter().map(String::as_str).collect();
        let portable = match (to.last().map(String::as_str), value.as_slice()) {
            (Some("BIGINT"), ["SUM" | "COUNT", "(", ..]) => true,
            (Some("BIGINT"), [_, ".", name] | [name]) => {
                integers.contains(*name) || name.chars().all(|c| c.is_ascii_digit())
            }
            _ => false,
        };
        if !portable || to.len() != 2 {
            found.push(format!("cast of {}", inside.join(" ")));
        }
    }
}

/// An aggregate named as the column it reads is an error in ClickHouse.
fn check_aliases(tokens: &[String], found: &mut Vec<String>) {
    for at in (0..tokens.len()).filter(|at| ["SUM", "COUNT", "MIN", "MAX"].contains(&tokens[*at].as_str())) {
        let end = closing(tokens, at + 1);
        let alias = near(tokens, end, 2);
        if near(tokens, end, 1) == "AS" && tokens[at..end.min(tokens.len())].iter().any(|token| token == alias) {
            found.push(format!("{} named as its column {alias}", tokens[at]));
        }
    }
}

#[test]
fn base_and_rule_views_use_only_portable_sql() {
    for file in view_files().iter().filter(|file| ["base", "rules"].contains(&file.kind())) {
        assert_eq!(problems(file.sql), [""; 0], "sql/{}", file.path);
    }
}

/// Sums are HUGEINT in DuckDB alone: what a view gives out must have been cast.
#[test]
fn base_and_rule_views_give_out_portable_types() {
    let store = Store::in_memory().expect("a store in memory opens");
    for file in view_files().iter().filter(|file| ["base", "rules"].contains(&file.kind())) {
        for (column, column_type) in store.columns(&file.view()).expect("the view is there") {
            let portable = ["VARCHAR", "BIGINT", "BOOLEAN"].contains(&column_type.as_str());
            assert!(portable, "{}.{column} is {column_type}", file.view());
        }
    }
}

#[test]
fn checker_refuses_what_is_not_portable() {
    for (sql, expected) in [
        ("SELECT a.* FROM a", "sign * after ."),
        ("SELECT * FROM a", "sign * after SELECT"),
        ("SELECT b, * FROM a", "sign * after ,"),
        ("SELECT a.b / 2 AS half FROM a", "sign / after b"),
        ("SELECT a.b % 2 AS rest FROM a", "sign % after b"),
        ("SELECT a.b -> '$.c' AS c FROM a", "sign -> after b"),
        ("SELECT a.b ->> '$.c' AS c FROM a", "sign -> after b"),
        ("SELECT a.b::BIGINT AS b FROM a", "sign :: after b"),
        ("SELECT [1, 2] AS list FROM a", "sign [ after SELECT"),
        ("SELECT {'a': 1} AS map FROM a", "sign { after SELECT"),
        ("SELECT \"b\" AS b FROM a", "sign \" after SELECT"),
        ("SELECT a.b AS b FROM a WHERE a.b = ?", "sign ? after ="),
        ("SELECT a.b AS b FROM a WHERE a.b = $1", "sign $ after ="),
        ("SELECT a.b AS b FROM a WHERE a.b ~ 'x'", "sign ~ after b"),
        ("SELECT 1 AS b; SELECT 2 AS b", "sign ; after b"),
        ("SELECT 1.5 AS b FROM a", "sign 1.5 after SELECT"),
        ("SELECT list_contains(a.b, 1) AS c FROM a", "function list_contains"),
        ("SELECT ARRAY_CONTAINS(a.b, 1) AS c FROM a", "function ARRAY_CONTAINS"),
        ("SELECT UNNEST(a.b) AS c FROM a", "function UNNEST"),
        ("SELECT EXPLODE(a.b) AS c FROM a", "function EXPLODE"),
        ("SELECT ARG_MIN(a.b, a.c) AS c FROM a", "function ARG_MIN"),
        ("SELECT ARG_MAX(a.b, a.c) AS c FROM a", "function ARG_MAX"),
        ("SELECT MIN_BY(a.b, a.c) AS c FROM a", "function MIN_BY"),
        ("SELECT MAX_BY(a.b, a.c) AS c FROM a", "function MAX_BY"),
        ("SELECT CONCAT(a.b, 'x') AS c FROM a", "function CONCAT"),
        ("SELECT LENGTH(a.b) AS c FROM a", "function LENGTH"),
        ("SELECT LOWER(a.b) AS c FROM a", "function LOWER"),
        ("SELECT upper(a.b) AS c FROM a", "function upper"),
        ("SELECT now() AS c FROM a", "function now"),
        ("SELECT random() AS c FROM a", "function random"),
        ("SELECT json_extract(a.b, '$') AS c FROM a", "function json_extract"),
        ("SELECT regexp_matches(a.b, 'x') AS c FROM a", "function regexp_matches"),
        ("SELECT COUNT(*) FILTER (WHERE a.b) AS c FROM a", "function FILTER"),
        ("SELECT a.b AS b FROM a JOIN c USING (b)", "function USING"),
        ("SELECT a.b AS b FROM a LEFT JOIN c ON c.b = a.b", "word LEFT"),
        ("SELECT a.b AS b FROM a right JOIN c ON c.b = a.b", "word right"),
        ("SELECT a.b AS b FROM a FULL JOIN c ON c.b = a.b", "word FULL"),
        ("SELECT a.b AS b FROM a QUALIFY a.b = 1", "word QUALIFY"),
        ("SELECT a.b AS b FROM a WHERE a.b ILIKE 'x'", "word ILIKE"),
        ("SELECT a.b AS b FROM a LIMIT 1", "word LIMIT"),
        ("SELECT a.b AS b FROM a limit 1", "word limit"),
        ("SELECT a.b AS b FROM a ORDER BY b COLLATE NOCASE", "word COLLATE"),
        ("select a.b AS b FROM a", "keyword select in small letters"),
        ("SELECT x AS b, lambda x AS c FROM a", "word lambda"),
        ("SELECT a.b AS b FROM a WHERE a.b NOT IN (SELECT c.b AS b FROM c)", "NOT IN ("),
        ("SELECT DISTINCT ON (b) b FROM a", "DISTINCT ON"),
        ("SELECT a.b AS b FROM a WHERE a.b IS DISTINCT FROM a.c", "IS DISTINCT"),
        ("SELECT a.b AS b FROM a WHERE a.b IS NOT DISTINCT FROM a.c", "IS NOT DISTINCT"),
        ("SELECT a.b AS b FROM a GROUP BY ALL", "GROUP BY ALL"),
        ("SELECT CAST(a.b AS BIGINT) AS b FROM a", "cast of a . b AS BIGINT"),
        ("SELECT CAST(a.b AS VARCHAR) AS b FROM a", "cast of a . b AS VARCHAR"),
        ("SELECT CAST('1' AS BIGINT) AS b FROM a", "cast of '1' AS BIGINT"),
        ("SELECT CAST(NULL AS VARCHAR) AS b FROM a", "cast of NULL AS VARCHAR"),
        ("SELECT CAST(NULL AS BIGINT) AS b FROM a", "cast of NULL AS BIGINT"),
        ("SELECT CAST(SUM(a.b) AS VARCHAR) AS c FROM a", "cast of SUM ( a . b ) AS VARCHAR"),
        ("SELECT MIN(a.b) AS b FROM a", "MIN named as its column b"),
    ] {
        let found = problems(sql);
        assert!(found.iter().any(|problem| problem == expected), "{sql}: {found:?}");
    }
}

#[test]
fn checker_accepts_what_is_portable() {
    for sql in [
        "-- LEFT JOIN in a comment\nSELECT a.b AS b -- LIMIT\nFROM a;\nCOMMENT ON VIEW a IS 'list[1] / 2';",
        "SELECT 'a / b [c] -> LIMIT' AS text FROM a",
        "SELECT a.b * 2 + 1 AS c, a.b || 'x' AS d FROM a WHERE a.b <= 3 AND a.c <> 'x'",
        "SELECT CAST(SUM(CASE WHEN a.b THEN 1 ELSE 0 END) AS BIGINT) AS c FROM a GROUP BY a.d",
        "WITH t AS (SELECT COUNT(*) OVER (PARTITION BY a.b) AS c FROM a) SELECT CAST(t.c AS BIGINT) AS c FROM t",
        "WITH t AS (SELECT SUM(a.b) OVER w AS c FROM a WINDOW w AS (ORDER BY a.d)) SELECT CAST(t.c AS BIGINT) AS c FROM t",
        "SELECT CASE WHEN 1 = 0 THEN a.b END AS b, CAST(0 AS BIGINT) AS c FROM a WHERE NOT EXISTS (SELECT 1 FROM b)",
        "SELECT LAG(a.b) OVER w AS c FROM a WINDOW w AS (PARTITION BY a.d ORDER BY a.e, a.f)",
    ] {
        assert_eq!(problems(sql), [""; 0], "{sql}");
    }
}
