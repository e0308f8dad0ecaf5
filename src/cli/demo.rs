//! `taco-trace demo`: the demo agent, and reports on its runs.

mod agent;
mod bench;
mod compare;
mod play;
mod reports;
mod stage;

use clap::Subcommand;

use crate::render::Texts;

/// `taco-trace demo` 의 인자
#[derive(Debug, clap::Args)]
#[command(subcommand_help_heading = "명령", subcommand_value_name = "명령", disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: DemoCommand,
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    #[command(flatten)]
    Agent(agent::AgentCommand),
    #[command(flatten)]
    Reports(reports::ReportCommand),
}

/// Runs the command.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.command {
        DemoCommand::Agent(command) => agent::run(texts, command),
        DemoCommand::Reports(command) => reports::run(texts, command),
    }
}
