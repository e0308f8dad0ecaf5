//! Cutting a script into statements, against scripts whose statements are known and against a slower reading.

use proptest::prelude::*;
use taco_trace::store::ask::split::{has_answer, is_complete, statements};

fn texts(script: &str) -> Vec<&str> {
    statements(script).iter().map(|statement| statement.text).collect()
}

#[test]
fn semicolons_in_quotes_and_comments_cut_nothing() {
    for (script, expected) in [
        ("SELECT 1; SELECT 2", vec!["SELECT 1", "SELECT 2"]),
        ("SELECT ';'; SELECT 2;", vec!["SELECT ';'", "SELECT 2"]),
        ("SELECT 'a'';b'; x", vec!["SELECT 'a'';b'", "x"]),
        ("SELECT 'a\\'; x", vec!["SELECT 'a\\'", "x"]),
        ("SELECT E'a\\';b'; x", vec!["SELECT E'a\\';b'", "x"]),
        ("SELECT e'\\\\'; x", vec!["SELECT e'\\\\'", "x"]),
        ("SELECT ne'a\\'; x", vec!["SELECT ne'a\\'", "x"]),
        ("SELECT \"a\"\";b\"; x", vec!["SELECT \"a\"\";b\"", "x"]),
        ("SELECT $$;$$; x", vec!["SELECT $$;$$", "x"]),
        ("SELECT $a$ ; $b$ ; $a$; x", vec!["SELECT $a$ ; $b$ ; $a$", "x"]),
        ("SELECT $가$;$가$; x", vec!["SELECT $가$;$가$", "x"]),
        ("SELECT $1; x$2", vec!["SELECT $1", "x$2"]),
        ("SELECT a$$ FROM t; x", vec!["SELECT a$$ FROM t", "x"]),
        ("SELECT 1 -- ;\n; x", vec!["SELECT 1 -- ;", "x"]),
        ("SELECT 1 --\r; x", vec!["SELECT 1 --", "x"]),
        ("SELECT /* ; /* ; */ ; */ 1; x", vec!["SELECT /* ; /* ; */ ; */ 1", "x"]),
        ("; ;;-- a ; b\n;/* ; */", vec![]),
        ("SELECT 'open; x", vec!["SELECT 'open; x"]),
        ("-- why\nSELECT 1", vec!["-- why\nSELECT 1"]),
        ("", vec![]),
    ] {
        assert_eq!(texts(script), expected, "{script}");
    }
}

#[test]
fn statement_knows_the_line_it_begins_on() {
    let lines: Vec<usize> = statements("SELECT 1;\n\n  SELECT\n2; x\n;y").iter().map(|found| found.line).collect();
    assert_eq!(lines, [1, 3, 4, 5]);
}

#[test]
fn input_is_complete_at_a_semicolon_outside_of_everything() {
    for script in ["", "  ", "-- a", "SELECT 1;", "SELECT ';' ; -- done", ";"] {
        assert!(is_complete(script), "{script}");
    }
    for script in ["SELECT 1", "SELECT ';", "SELECT 1 -- ;", "/* ;", "SELECT 1; SELECT", "SELECT $$;"] {
        assert!(!is_complete(script), "{script}");
    }
}

#[test]
fn first_word_tells_whether_rows_come_back() {
    for question in ["select 1", "/* a */ (SELECT 1)", "-- a\nFROM t", "WITH a AS (SELECT 1) FROM a", "SHOW TABLES"] {
        assert!(has_answer(question), "{question}");
    }
    for other in ["", "INSERT INTO t VALUES (1)", "CREATE TABLE selection (a INT)", "SET x = 1", "selection"] {
        assert!(!has_answer(other), "{other}");
    }
}

/// The same by states, a sign at a time: where statements end.
fn naive(script: &str) -> Vec<String> {
    #[derive(PartialEq)]
    enum In {
        Code,
        Quote(char, bool),
        Line,
        Comment(usize),
        Dollar(String),
    }
    let signs: Vec<char> = script.chars().collect();
    let (mut found, mut current, mut counts) = (Vec::new(), String::new(), false);
    let (mut state, mut word) = (In::Code, String::new());
    let mut at = 0;
    while at < signs.len() {
        let sign = signs[at];
        let next = signs.get(at + 1).copied();
        let mut taken = 1;
        match &mut state {
            In::Code => {
                let of_word = sign.is_ascii_alphabetic()
                    || sign == '_'
                    || (!word.is_empty() && (sign == '$' || sign.is_ascii_digit()));
                if of_word {
                    word.push(sign);
                    counts = true;
                } else {
                    let before = std::mem::take(&mut word);
                    match sign {
                        ';' => {
                            if counts {
                                found.push(current.trim().to_owned());
                            }
                            (current, counts) = (String::new(), false);
                            at += 1;
                            continue;
                        }
                        '\'' => (state, counts) = (In::Quote('\'', before.eq_ignore_ascii_case("e")), true),
                        '"' => (state, counts) = (In::Quote('"', false), true),
                        '-' if next == Some('-') => state = In::Line,
                        '/' if next == Some('*') => (state, taken) = (In::Comment(1), 2),
                        '$' => {
                            counts = true;
                            let rest: String = signs[at + 1..].iter().collect();
                            if let Some((name, _)) = rest.split_once('$')
                                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                                && !name.starts_with(|c: char| c.is_ascii_digit())
                            {
                                taken = name.len() + 2;
                                state = In::Dollar(format!("${name}$"));
                            }
                        }
                        sign if sign.is_whitespace() => {}
                        _ => counts = true,
                    }
                }
            }
            In::Quote(quote, escapes) => {
                if (*escapes && sign == '\\') || (sign == *quote && next == Some(*quote)) {
                    taken = 2;
                } else if sign == *quote {
                    state = In::Code;
                }
            }
            In::Line => {
                if sign == '\n' {
                    state = In::Code;
                }
            }
            In::Comment(depth) => match (sign, next) {
                ('/', Some('*')) => (*depth, taken) = (*depth + 1, 2),
                ('*', Some('/')) => {
                    taken = 2;
                    *depth -= 1;
                    if *depth == 0 {
                        state = In::Code;
                    }
                }
                _ => {}
            },
            In::Dollar(tag) => {
                let rest: String = signs[at..].iter().collect();
                if rest.starts_with(tag.as_str()) {
                    taken = tag.len();
                    state = In::Code;
                }
            }
        }
        let end = (at + taken).min(signs.len());
        current.extend(&signs[at..end]);
        at = end;
    }
    // A comment that is not closed is an error of the statement it stands in.
    if counts || matches!(state, In::Comment(_)) {
        found.push(current.trim().to_owned());
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn splitting_is_that_of_the_naive_reading(script in "[ae1'\";$*/\\\\ \n_-]{0,24}") {
        prop_assert_eq!(texts(&script), naive(&script));
    }

    /// Statements put together come apart again.
    #[test]
    fn statements_joined_come_apart(
        parts in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "SELECT", "'a;b'", "'it''s;'", "\"x;\"\"y\"", "$$;$$", "$t$ ; $$ ; $t$", "E'\\';'", "-- ;\n",
                    "/* ; /* ; */ */", "규정", "12", "(", "$1", "\t",
                ]),
                1..6,
            ),
            0..5,
        )
    ) {
        let joined: Vec<String> = parts.iter().map(|pieces| format!("SELECT {}", pieces.join(" "))).collect();
        let script = joined.join(" ;\n");
        let expected: Vec<&str> = joined.iter().map(|text| text.trim()).collect();
        prop_assert_eq!(texts(&script), expected);
        prop_assert!(joined.is_empty() || !is_complete(&script));
        let ended = script + "\n;";
        prop_assert!(is_complete(&ended));
    }
}
