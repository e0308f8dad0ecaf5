//! `taco-trace eval target check`: whether targets can be tried, and what can be observed of them.

use clap::Subcommand;
use serde_json::json;

use super::project::{Opened, ProjectArg, target_failure};
use super::{Format, FormatArg, case};
use crate::chat::budget::Budget;
use crate::cli::failure::Failure;
use crate::cli::{HELP_TEMPLATE, exit, terminal};
use crate::eval::case::Case;
use crate::experiment::config::config;
use crate::experiment::project::TargetSetup;
use crate::render::eval_run::{self as words, CheckedTarget};
use crate::render::{Texts, errors};

#[derive(Debug, Subcommand)]
pub(super) enum TargetCommand {
    /// 대상에 닿는지, 무엇을 볼 수 있는지, 설정 해시가 무엇인지 보여줍니다. 쓸 수 없는 대상이 있으면 종료 상태는 1 입니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// 볼 대상(없으면 모두)
    #[arg(help_heading = "인자", value_name = "대상", conflicts_with = "named")]
    target: Option<String>,
    /// 볼 대상을 `eval run` 과 같이 적습니다
    #[arg(id = "named", short = 't', long = "target", value_name = "이름")]
    named: Option<String>,
    #[command(flatten)]
    project: ProjectArg,
    #[command(flatten)]
    output: FormatArg,
}

/// Checks targets. A model is not asked: only its key and address are looked at.
pub(super) fn run(texts: &Texts, command: &TargetCommand) -> anyhow::Result<u8> {
    let TargetCommand::Check(args) = command;
    let opened = args.project.open()?;
    let cases = match opened.cases()? {
        Ok(cases) => cases,
        Err(problems) => return case::tell_problems(texts, &problems, args.output.format),
    };
    let cases: Vec<&Case> = cases.iter().map(|(_, case)| &**case).collect();
    let names: Vec<&str> = match args.target.as_ref().or(args.named.as_ref()) {
        Some(name) => vec![opened.target(Some(name))?.0],
        None => opened.project.targets.keys().map(String::as_str).collect(),
    };
    let mut checked = Vec::new();
    for name in names {
        let (name, setup) = opened.target(Some(name))?;
        checked.push(check(texts, &opened, name, setup, &cases)?);
    }
    let text = match args.output.format {
        Format::Table => words::checked(texts, &checked, terminal::plain_style()),
        Format::Json => {
            let rows = checked.iter().map(|one| {
                json!({
                    "target": one.name, "kind": one.kind, "config_sha256": one.config_sha256,
                    "place": one.place, "addresses": one.addresses, "allow_private_target": one.is_lifted,
                    "name": one.said.as_ref().map(|(name, _)| name),
                    "version": one.said.as_ref().map(|(_, version)| version),
                    "capabilities": one.capabilities, "observes": one.observes,
                    "missing_scripts": one.missing, "problem": one.problem,
                })
            });
            serde_json::to_string_pretty(&rows.collect::<Vec<_>>())? + "\n"
        }
    };
    terminal::write_result(&text, None)?;
    Ok(if checked.iter().all(CheckedTarget::is_usable) { exit::OK } else { exit::FOUND })
}

fn check(
    texts: &Texts,
    opened: &Opened,
    name: &str,
    setup: &TargetSetup,
    cases: &[&Case],
) -> Result<CheckedTarget, Failure> {
    let contents = opened.contents(setup)?;
    let mut checked = CheckedTarget {
        name: name.to_owned(),
        kind: setup.kind().as_str().to_owned(),
        config_sha256: config(setup, &contents, cases.iter().copied()).sha256,
        is_lifted: setup.allows_private(),
        ..CheckedTarget::default()
    };
    let mut submits = true;
    let problem = match setup {
        TargetSetup::Script(script) => {
            checked.place.clone_from(&script.scripts);
            let lacks = |case: &&&Case| !contents.scripts.contains_key(&case.id);
            checked.missing = cases.iter().filter(lacks).map(|case| case.id.clone()).collect();
            None
        }
        TargetSetup::Reference(reference) => {
            checked.place = format!("{}:{}", reference.provider.as_str(), reference.model);
            opened.build(setup, contents, &Budget::default()).err()
        }
        TargetSetup::Http(http) => {
            checked.place.clone_from(&http.address);
            let asked = opened.agent(http).and_then(|client| {
                checked.addresses = client.pinned().addresses().iter().map(ToString::to_string).collect();
                client.preflight().map_err(|error| target_failure(&error))
            });
            match asked {
                Ok(preflight) => {
                    submits = preflight.submits_proposals();
                    checked.capabilities.clone_from(&preflight.capabilities);
                    checked.said = Some((preflight.name, preflight.version));
                    None
                }
                Err(failure) => {
                    submits = false;
                    Some(failure)
                }
            }
        }
    };
    checked.problem = problem.map(|failure| errors::error(texts, failure.kind, &failure.values).trim().to_owned());
    let all = setup.kind().observes(submits).parts();
    checked.observes = all.into_iter().filter(|(_, seen)| *seen).map(|(what, _)| what.to_owned()).collect();
    Ok(checked)
}
