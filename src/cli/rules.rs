//! `taco-trace rules`: which rule versions there are, which judge, and their SQL.

use std::fmt::Write as _;

use clap::Subcommand;

use super::failure::Failure;
use super::{exit, terminal};
use crate::model::Rule;
use crate::render::Texts;
use crate::render::layout::pad_end;
use crate::store::{RULE_SET, ViewFile, view_files};

/// `taco-trace rules` 의 인자
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<RulesCommand>,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// 규칙, 판, 쓰이는지 여부를 한 줄씩 보여줍니다(기본)
    List,
    /// 규칙 하나의 SQL 을 그대로 보여줍니다
    Show {
        /// 규칙 이름(undefined_tool 등), 판정 이름, 또는 뷰 이름(rule_undefined_tool_v1)
        #[arg(help_heading = "인자", value_name = "규칙")]
        rule: String,
        /// 판 번호(기본은 쓰이는 판)
        #[arg(long, value_name = "판")]
        version: Option<u32>,
    },
}

/// Lists the rules or shows the SQL of one.
pub(crate) fn run(_texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let text = match &args.command {
        None | Some(RulesCommand::List) => list(),
        Some(RulesCommand::Show { rule, version }) => show(rule, *version)?.to_owned(),
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}

fn rule_files() -> impl Iterator<Item = &'static ViewFile> {
    view_files().iter().filter(|file| file.kind() == "rules")
}

/// The active set names the exact view of every rule that judges.
fn is_active(file: &ViewFile) -> bool {
    let set = view_files().iter().find(|set| set.view() == RULE_SET);
    set.is_some_and(|set| set.sql.lines().any(|line| line.trim_end_matches(';').ends_with(&file.view())))
}

fn list() -> String {
    let mut text = String::new();
    let rows = rule_files().map(|file| {
        let verdict = Rule::from_name(file.name()).map_or("", |rule| rule.verdict().label());
        let active = if is_active(file) { "쓰임" } else { "쉼" };
        [file.name().to_owned(), file.version().to_owned(), active.to_owned(), verdict.to_owned()]
    });
    let header = ["규칙", "판", "상태", "판정"].map(str::to_owned);
    for row in std::iter::once(header).chain(rows) {
        let line = format!("{}{}{}{}", pad_end(&row[0], 20), pad_end(&row[1], 5), pad_end(&row[2], 7), row[3]);
        writeln!(text, "{}", line.trim_end()).expect("writing to a String cannot fail");
    }
    writeln!(text, "\n규칙 묶음: {RULE_SET}").expect("writing to a String cannot fail");
    text
}

fn show(rule: &str, version: Option<u32>) -> Result<&'static str, Failure> {
    let named = crate::model::Verdict::parse(rule).and_then(|verdict| match verdict {
        crate::model::Verdict::Found(rule) => Some(rule.as_str()),
        crate::model::Verdict::Normal => None,
    });
    let wanted = named.unwrap_or(rule);
    let found = view_files().iter().find(|file| {
        let by_view = file.view() == wanted && version.is_none();
        let by_rule = file.kind() == "rules"
            && file.name() == wanted
            && version.map_or_else(|| is_active(file), |version| file.version() == format!("v{version}"));
        by_view || by_rule
    });
    found.map(|file| file.sql).ok_or_else(|| {
        let known: Vec<&str> = rule_files().map(ViewFile::name).collect();
        Failure::usage("rule_not_found").with("rule", rule).with("known", known.join(", "))
    })
}
