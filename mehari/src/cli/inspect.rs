//! `mehari inspect`: looks into a worker or the zygote of the running server. The process that
//! serves is only forked; its twin answers.

mod table;

use super::{arguments, console};
use clap::builder::PossibleValuesParser;
use clap::Parser;
use mehari_console::inspection::{printable, VIEWS};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "mehari inspect",
    about = "Looks into a Perl process of the running server, without stopping it",
    after_help = "Views:\n  modules             version, file, load time and bytes of each module\n  \
                  scripts             compiled scripts, with the URLs under which they ran\n  \
                  symbols [PACKAGE]   the symbol table of a package\n  \
                  source SUB          a sub's source, from its compiled code\n  \
                  ops SUB             the operators that a sub is compiled to\n  \
                  lexicals SUB        a sub's variables, and what a closure has captured\n  \
                  sizes [NAME]        bytes of each package; of each sub of a package; of each line of a sub\n  \
                  environment         %ENV, @INC, signal handlers, perl itself\n  \
                  limits              the limits of the process (rlimits)\n  \
                  descriptors         open descriptors, and what they are\n  \
                  databases           DBI's handles and their statements\n  \
                  menu [ITEM]         menu items that applications gave to Apache2::Status\n\n\
                  Examples:\n  mehari inspect modules\n  mehari inspect source CGI::param --worker 4711\n  \
                  mehari inspect sizes CGI\n\n\
                  The command waits until the process runs no request, for at most 10 seconds. It then forks\n\
                  the process. The forked process answers and ends, so the process itself is not stopped."
)]
pub struct InspectOptions {
    /// What to look at.
    #[arg(value_name = "VIEW", value_parser = words(), hide_possible_values = true)]
    view: String,
    /// The package, sub or menu item.
    #[arg(value_name = "NAME", default_value = "", hide_default_value = true)]
    name: String,
    /// The worker's process number, or `zygote` for the process that forks the workers. By default:
    /// an idle worker that has served requests.
    #[arg(
        long,
        value_name = "PID",
        default_value = "any",
        hide_default_value = true
    )]
    worker: String,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

fn words() -> PossibleValuesParser {
    PossibleValuesParser::new(VIEWS.iter().map(|view| view.word))
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: InspectOptions = match arguments::parse("mehari inspect", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let json = options.json;
    let answer = console::watched(options.control)
        .and_then(|server| server.inspect(&options.worker, &options.view, &options.name));
    match answer {
        Ok(answer) if json => say!("{answer:#}\n"),
        Ok(answer) => say!("{}", table::of(&answer)),
        Err(reason) => {
            eprintln!("mehari inspect: {}", printable(&reason));
            return ExitCode::from(1);
        }
    }
    ExitCode::SUCCESS
}
