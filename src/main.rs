//! Hands the arguments to the command line and its exit code back.

use std::process::ExitCode;

fn main() -> ExitCode {
    taco_trace::cli::run(std::env::args_os())
}
