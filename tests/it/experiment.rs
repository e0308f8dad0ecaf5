//! Experiments: the store of them, project files, configurations, the reference runner, and the commands.

mod command;
mod config;
mod held;
mod interrupted;
mod kept;
mod plan;
mod project;
mod record;
mod reference;
