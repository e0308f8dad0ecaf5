//! The walk through a week, and the runs of evaluations, in README.md: their commands are run, each section in one folder,
//! and print what it shows.
//!
//! In a `console` block of such a section a line `$ command` is run by `sh`; the lines below it are what it prints on
//! standard output. A line `…` stands for any lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::support::{files_under, repository};
use super::support_cli::program;

/// The section that is run.
const SECTION: &str = "## A week with taco-trace";
/// The same in the Korean page.
const KOREAN_SECTION: &str = "## taco-trace 와 보내는 한 주";
/// A further section that is run, under the same name in both pages.
const RUN_SECTION: &str = "### eval run";
/// The one after it, which is run in a folder of its own.
const REPORT_SECTION: &str = "### eval report";
/// And one of the demo agent.
const DEMO_SECTION: &str = "### demo run, demo serve";

/// The lines of the console blocks in the section of the page.
fn console_lines(page: &str, section: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let start = text.find(&format!("\n{section}\n")).unwrap_or_else(|| panic!("{page} has no section {section}"));
    let (mut lines, mut fence) = (Vec::new(), None);
    for line in text[start + 1..].lines().skip(1) {
        match fence {
            // A heading as high ends the section; in a block it is what a command printed.
            None if (1..=depth(section)).contains(&depth(line)) => break,
            None => fence = line.strip_prefix("```"),
            Some(_) if line == "```" => fence = None,
            Some("console") => lines.push(line.to_owned()),
            Some(_) => {}
        }
    }
    lines
}

/// How deep a heading is; 0 for any other line.
fn depth(line: &str) -> usize {
    line.split_once(' ').filter(|(signs, _)| signs.bytes().all(|sign| sign == b'#')).map_or(0, |(signs, _)| signs.len())
}

/// Commands, each with what it is to print.
fn steps(lines: &[String]) -> Vec<(String, Vec<String>)> {
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), Vec::new())),
            (None, Some((_, printed))) => printed.push(line.clone()),
            (None, None) => panic!("a block begins with {line} and not with a command"),
        }
    }
    steps
}

/// Whether the lines are those shown, where `…` stands for any lines.
fn is_shown(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "…" => (0..=printed.len()).any(|left_out| is_shown(rest, &printed[left_out..])),
        Some((line, rest)) => printed.first() == Some(&line.as_str()) && is_shown(rest, &printed[1..]),
    }
}

#[test]
fn walk_through_a_week_prints_what_the_readme_shows() {
    let folder = tempfile::tempdir().unwrap();
    let days = repository().join("fixtures/days");
    for part in ["tools-1", "tools-2"] {
        fs::create_dir_all(folder.path().join("days").join(part)).unwrap();
    }
    for path in files_under("fixtures/days").into_iter().filter(|path| !path.contains("/expected/")) {
        let name = path.strip_prefix("fixtures/days/").unwrap();
        fs::copy(days.join(name), folder.path().join("days").join(name)).unwrap();
    }
    runs(folder.path(), SECTION, 8);
}

#[test]
fn runs_of_evaluations_print_what_the_readme_shows() {
    let folder = tempfile::tempdir().unwrap();
    for path in files_under("fixtures/eval") {
        let copy = folder.path().join(&path);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(repository().join(&path), copy).unwrap();
    }
    runs(folder.path(), RUN_SECTION, 3);
    // The second walk begins with an empty store.
    fs::remove_file(folder.path().join("taco.duckdb")).unwrap();
    runs(folder.path(), REPORT_SECTION, 7);
}

#[test]
fn runs_of_the_demo_print_what_the_readme_shows() {
    runs(tempfile::tempdir().unwrap().path(), DEMO_SECTION, 3);
}

/// Runs the commands of a section in a folder, of which there are at least so many.
fn runs(folder: &Path, section: &str, least: usize) {
    let binary = program();
    let programs = Path::new(binary.get_program()).parent().unwrap();
    let search = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let steps = steps(&console_lines("README.md", section));
    assert!(steps.len() >= least, "{} commands", steps.len());
    for (command, shown) in steps {
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(folder)
            .env("PATH", &search)
            .env_remove("COLUMNS")
            .env("USER", "fde")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed_lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(is_shown(&shown, &printed_lines), "$ {command}\n{printed}\n{told}");
    }
}

#[test]
fn both_pages_walk_the_same_way() {
    assert_eq!(console_lines("README.ko.md", KOREAN_SECTION), console_lines("README.md", SECTION));
    for section in [RUN_SECTION, REPORT_SECTION, DEMO_SECTION] {
        assert_eq!(console_lines("README.ko.md", section), console_lines("README.md", section), "{section}");
    }
}
