//! The program as a process, and small trace files for it.

use std::fs;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use taco_trace::store::Store;
use tempfile::TempDir;

use super::support::answers;

/// A folder with a store and trace files, removed at the end of the test.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for the test can be made") }
    }

    /// With the eight runs of the seed in its store.
    pub(crate) fn seeded() -> Self {
        let place = Self::new();
        let seed = ["fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json"];
        let output = program().arg("ingest").args(seed).args(["--quiet", "--db"]).arg(place.db()).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.path("taco.duckdb")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file of the test can be written");
        path
    }

    pub(crate) fn append(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let mut file = fs::OpenOptions::new().append(true).open(self.path(name)).expect("the file is there");
        file.write_all(bytes.as_ref()).expect("a file of the test can be written");
    }

    /// Ingests these files into the store; what they are called is relative to the folder.
    pub(crate) fn ingest(&self, names: &[&str]) -> Output {
        let paths = names.iter().map(|name| self.path(name));
        program().arg("ingest").args(paths).arg("--db").arg(self.db()).output().expect("the program runs")
    }

    /// The same, which must succeed.
    pub(crate) fn ingested(&self, names: &[&str]) {
        let output = self.ingest(names);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }

    /// Rows of the store, cells joined with `|`, NULL as `-`.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        rows(&self.db(), sql)
    }

    /// What a store comes to, however it was filled: spans, sums of lines and lines left out, and issues with their
    /// lines and offsets.
    pub(crate) fn state(&self) -> (Vec<String>, String, Vec<String>) {
        let store = open(&self.db());
        let spans = answers(
            &store,
            "SELECT trace_id, span_id, parent_span_id, operation, tool_name, tool_args, status, start_ns, end_ns \
             FROM spans ORDER BY ALL",
        );
        let lines = answers(&store, "SELECT SUM(lines), SUM(lines_skipped) FROM sources").concat();
        let issues =
            answers(&store, "SELECT code, line, byte_offset FROM ingest_issues ORDER BY line, code, byte_offset");
        (spans, lines, issues)
    }
}

/// A small disk for a test; none where mounting is not allowed.
pub(crate) struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// One of so many MiB.
    pub(crate) fn mounted(mebibytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder for the test can be made");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        match mounted {
            Ok(status) if status.success() => Some(Self { folder }),
            _ => {
                println!("skipped: mounting a small file system is not allowed here");
                None
            }
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Fills it to the last byte; emptied by removing the file.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.path("fill");
        let mut file = fs::File::create(&path).expect("a file can be made");
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(self.folder.path()).status().ok();
    }
}

/// The program with the environment of a plain terminal, reading nothing.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("NO_COLOR").env_remove("COLUMNS").stdin(Stdio::null());
    // Where tests run nobody may be logged in, and who reviews has to have a name.
    command.env("USER", "tester");
    command
}

/// What a process said on standard error.
pub(crate) fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn rows(db: &Path, sql: &str) -> Vec<String> {
    answers(&open(db), sql)
}

/// A store that must be there.
pub(crate) fn open(db: &Path) -> Store {
    Store::open_existing(db).unwrap_or_else(|error| panic!("{error}"))
}

/// One request: a run that calls one tool and answers, three spans of which a chat span is dropped. Without newline.
pub(crate) fn request(number: u32) -> String {
    let trace = format!("{:08x}{:024x}", number + 1, 7);
    let start = 1_790_000_000_000_000_000_u64 + u64::from(number) * 1_000_000_000;
    let span = |id: u32, parent: &str, operation: &str, more: &str| {
        format!(
            r#"{{"traceId":"{trace}","spanId":"{id:08x}{number:08x}"{parent},"name":"s","kind":1,"startTimeUnixNano":"{start}","endTimeUnixNano":"{}","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"{operation}"}}}}{more}],"status":{{"code":1}}}}"#,
            start + 5_000_000
        )
    };
    let under = format!(r#","parentSpanId":"{:08x}{number:08x}""#, 1);
    let text = |key: &str, value: &str| format!(r#",{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
    let agent = text("gen_ai.agent.name", "예산 에이전트");
    let tool =
        text("gen_ai.tool.name", "search") + &text("gen_ai.tool.call.arguments", &format!(r#"{{\"n\":{number}}}"#));
    let spans =
        [span(2, &under, "chat", ""), span(3, &under, "execute_tool", &tool), span(1, "", "invoke_agent", &agent)];
    format!(
        r#"{{"resourceSpans":[{{"resource":{{}},"scopeSpans":[{{"scope":{{"name":"test"}},"spans":[{}]}}]}}]}}"#,
        spans.join(",")
    )
}

/// A file with one request a line.
pub(crate) fn requests(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| request(number) + "\n").collect()
}

/// Request in several lines, as a pretty printer writes it.
pub(crate) fn pretty(number: u32) -> String {
    let value: serde_json::Value = serde_json::from_str(&request(number)).expect("a request is JSON");
    serde_json::to_string_pretty(&value).expect("a value can be written") + "\n"
}

/// Ends a server as a service manager does: its status, and what it said on standard error.
pub(crate) fn terminated(child: &mut Child) -> (Option<i32>, String) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}
