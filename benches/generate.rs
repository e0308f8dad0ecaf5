//! Makes the input of the benchmark: `generate OUT BYTES SEED [lean] [one-line]`.
//!
//! Writes OUT (JSON lines as an OpenTelemetry Collector writes them), OUT.tools.json (for `--tools`) and OUT.sums.json
//! (what every contestant must count), and prints the last. BYTES takes K, M and G (decimal). The same BYTES, SEED and
//! flags give the same bytes anywhere.

mod traces;

use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use traces::Plan;

/// Written beside the traces, for `--tools`.
const TOOLS_JSON: &str = include_str!("traces/tools.json");

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((path, plan)) = read(&arguments) else {
        eprintln!("usage: generate OUT BYTES SEED [lean] [one-line]");
        return ExitCode::from(2);
    };
    match make(path, &plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[String]) -> Option<(&str, Plan)> {
    let [path, size, seed, flags @ ..] = arguments else { return None };
    if flags.iter().any(|flag| flag != "lean" && flag != "one-line") {
        return None;
    }
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    Some((path, Plan { bytes: bytes(size)?, seed: seed.parse().ok()?, lean: has("lean"), one_line: has("one-line") }))
}

/// `1500`, `100M`, `5G`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The output gets its name when it is whole, so that a file that was broken off is never measured.
fn make(path: &str, plan: &Plan) -> io::Result<()> {
    let part = format!("{path}.part");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    let made = traces::write(&mut out, plan)?;
    drop(out);
    let sums = format!("{made}\n");
    fs::write(format!("{path}.tools.json"), TOOLS_JSON)?;
    fs::write(format!("{path}.sums.json"), &sums)?;
    fs::rename(&part, path)?;
    io::stdout().write_all(sums.as_bytes())
}
