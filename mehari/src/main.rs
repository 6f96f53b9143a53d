//! `mehari`: one file a subcommand; this is the table of contents.

use std::process::ExitCode;

mod cli;

fn main() -> ExitCode {
    cli::run(std::env::args_os().collect())
}
