//! `mehari top`: the running server on a terminal, or one frame of it as text.

use super::{arguments, console};
use clap::Parser;
use mehari_console::top::{self, Order};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "mehari top",
    about = "Shows the running server on a terminal: rates, durations, and each worker with its request",
    after_help = "Examples:\n  mehari top\n  mehari top --sort rss\n  mehari top --once --sort -served\n\n\
                  Keys:\n  < and >  choose the column to sort by\n  r        reverse the order\n  \
                  Enter    show the Perl stack of the chosen worker\n  q        quit"
)]
pub struct TopOptions {
    /// Print the figures once, as text, and end.
    #[arg(long)]
    once: bool,
    /// The column to sort by. The largest number comes first. A minus before the name reverses the
    /// order.
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "elapsed",
        allow_hyphen_values = true
    )]
    sort: Order,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: TopOptions = match arguments::parse("mehari top", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match show(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari top: {reason}");
            ExitCode::from(1)
        }
    }
}

fn show(options: TopOptions) -> Result<(), String> {
    let server = console::watched(options.control)?;
    if options.once {
        say!("{}", top::once(&server, options.sort)?);
        return Ok(());
    }
    if !std::io::stdout().is_terminal() {
        return Err("expected a terminal; --once prints one frame as text".to_owned());
    }
    top::show(&server, options.sort)
}
