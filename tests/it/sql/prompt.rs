//! The prompt as a person meets it, through a terminal that python3 makes. Skipped where there is none.

use std::path::Path;
use std::process::Command;

use super::{Place, empty};

/// Runs a command under a terminal and goes through steps: waits for a text behind what was waited for before, then
/// types. Prints what the terminal showed, and the exit status on the last line.
const DRIVE: &str = r"
import json, os, pty, select, struct, fcntl, sys, termios, time
steps = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
shown, seen, end = b'', 0, time.monotonic() + 60
def more():
    global shown
    ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
    if not ready:
        sys.exit('nothing came in time: ' + repr(shown[-2000:]))
    try:
        part = os.read(terminal, 65536)
    except OSError:
        part = b''
    shown += part
    return part
for wanted, typed in steps:
    while (at := shown.find(wanted.encode(), seen)) < 0:
        if not more():
            sys.exit('ended before ' + wanted + ': ' + repr(shown[-2000:]))
    seen = at + len(wanted.encode())
    os.write(terminal, typed.encode())
while more():
    pass
sys.stdout.buffer.write(shown)
print('\nstatus', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

/// What the terminal showed; none without python3.
fn driven(place: &Place, state: &Path, steps: &[(&str, &str)]) -> Option<String> {
    if !Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|output| output.status.success()) {
        println!("skipped: no python3 with the module pty");
        return None;
    }
    let output = Command::new("python3")
        .args(["-c", DRIVE, &serde_json::to_string(steps).unwrap(), env!("CARGO_BIN_EXE_taco-trace"), "sql", "--db"])
        .arg(place.db())
        .env("XDG_STATE_HOME", state)
        .env("TERM", "xterm")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn prompt_answers_goes_on_after_mistakes_and_keeps_its_history() {
    let place = empty();
    let state = place.path("state");
    // Each step waits for the prompt first: what is typed while it is away may be lost.
    let steps = [
        ("taco> ", "SELECT 6 * 7 AS n;\r"),
        ("42", ""),
        ("taco> ", "SELECT 6 *\r"),
        (" ...> ", "\r"),
        (" ...> ", "8 AS n;\r"),
        ("48", ""),
        ("taco> ", "SELECT 'a;\r"),
        (" ...> ", "forgotten\u{3}"),
        ("taco> ", "SELECT nothing;\r"),
        ("도움말", ""),
        ("taco> ", "SELECT rubbish"),
        ("rubbish", "\u{3}"),
        ("taco> ", "SELECT 10 + 1 AS n;\r"),
        ("11", ""),
        ("taco> ", "SELECT count(*) + 76 AS n FROM verd\t;\r"),
        ("76\r\n", ""),
        ("taco> ", ".tab\t\r"),
        ("hq_decisions", ""),
        ("taco> ", ".views\r"),
        ("One of the six verdicts", ""),
        ("taco> ", ".schema runs\r"),
        ("korean_date", ""),
        ("taco> ", ".schema nowhere\r"),
        ("도움말", ""),
        ("taco> ", ".examples 5\r"),
        ("missing_key", ""),
        ("taco> ", ".format json\r"),
        ("형식을", ""),
        ("taco> ", "SELECT 5 + 5 AS n;\r"),
        ("{\"n\":10}", ""),
        ("taco> ", ".format parquet\r"),
        ("jsonl", ""),
        ("taco> ", ".nonsense\r"),
        ("모르는", ""),
        ("taco> ", ".help\r"),
        ("Ctrl-C", ""),
        ("taco> ", "CREATE TABLE t (i INT);\r"),
        ("`.quit` 로 끝내고", ""),
        ("taco> ", "\u{4}"),
    ];
    let Some(shown) = driven(&place, &state, &steps) else { return };
    assert!(shown.ends_with("status 0\n") && !shown.contains("끝나지 않은"), "{shown}");
    let history = std::fs::read_to_string(state.join("taco-trace/history")).unwrap();
    assert!(history.contains("SELECT 6 * 7 AS n;") && !history.contains("rubbish"), "{history}");
    // It is there the next time: the arrow brings the last line back.
    let steps = [("taco> ", "\u{1b}[A"), ("CREATE TABLE t", "\u{3}"), ("taco> ", ".quit\r")];
    let shown = driven(&place, &state, &steps).unwrap();
    assert!(shown.ends_with("status 0\n"), "{shown}");
}

/// What is told at the prompt helps there: no flag of the command line that has a command here.
#[test]
fn prompt_names_what_helps_at_the_prompt() {
    let place = empty();
    let steps = [
        ("taco> ", "FROM range(1500) t(i);\r"),
        (".rows all", ""),
        ("taco> ", ".ro\t al\t\r"),
        ("모든 행을 보여줍니다", ""),
        ("taco> ", "FROM range(1500) t(i);\r"),
        ("(1,500행)", ""),
        ("taco> ", ".rows some\r"),
        (".rows first", ""),
        ("taco> ", "SELECT repeat('x', 200) AS a, 1 AS b;\r"),
        (".wide on", ""),
        ("taco> ", ".wide on\r"),
        ("줄이지 않습니다", ""),
        ("taco> ", "SELECT repeat('y', 200) AS a, 1 AS b;\r"),
        ("(1행)", ""),
        ("taco> ", ".wide off\r"),
        ("맞추어 줄입니다", ""),
        ("taco> ", ".wide\r"),
        (".wide off", ""),
        ("taco> ", "FROM verdict;\r"),
        ("`.tables`", ""),
        ("taco> ", "SELEC 1;\r"),
        ("`.examples`", ""),
        ("taco> ", ".schema nowhere\r"),
        ("`.tables`", ""),
        // A name is completed behind the line before, too.
        ("taco> ", "SELECT count(*) + 40 AS n FROM\r"),
        (" ...> ", "verd\t;\r"),
        ("40\r\n", ""),
        ("taco> ", "SELECT 1\r"),
        (" ...> ", "\u{4}"),
    ];
    let Some(shown) = driven(&place, &place.path("state"), &steps) else { return };
    assert!(shown.contains("; 로 끝나지 않은 문장은 실행하지 않았습니다."), "{shown}");
    assert!(shown.ends_with("status 0\n"), "{shown}");
    for flag in ["--all-rows", "--wide", "--tables", "--schema", "--examples", "--format"] {
        assert!(!shown.contains(flag), "{flag}: {shown}");
    }
}

#[test]
fn interrupt_cancels_the_statement_and_not_the_prompt() {
    let place = empty();
    // A history that cannot be kept is no failure.
    let state = place.write("state", "a file, no folder");
    let steps = [
        ("taco> ", ".format jsonl\r"),
        ("형식을", ""),
        ("taco> ", "FROM range(1000000000000) t(i);\r"),
        ("{\"i\":4000}", "\u{3}"),
        ("멈췄습니다", ""),
        ("taco> ", "SELECT 6 * 7 AS n;\r"),
        ("{\"n\":42}", ""),
        ("taco> ", ".quit\r"),
    ];
    let Some(shown) = driven(&place, &state, &steps) else { return };
    assert!(shown.ends_with("status 0\n"), "{}", &shown[shown.len().saturating_sub(2000)..]);
}
