//! `mehari memory`: the memory of the running server's Perl processes, what modules cost, which
//! variables grow, and which variables lose memory that the processes share.

mod growing;
mod imports;
mod modules;
mod preload;
mod processes;
mod unsharing;

use super::bench::parse::time;
use super::{arguments, control};
use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "mehari memory",
    about = "Shows the memory of each Perl process of the running server, what a module costs, or which variables grow or become unshared",
    after_help = "Examples:\n  mehari memory\n  mehari memory --module CGI POSIX 'POSIX ()'\n  mehari memory --module DBI --rounds 10 --json\n  mehari memory --imports POSIX 'CGI qw(:standard)'\n  mehari memory --imports\n  mehari memory --leaks -d 1m\n  mehari memory --leaks --pid 815\n  mehari memory --who -d 1m\n  mehari memory --preload\n\n\
                  Each module is loaded in forked processes of its own, and the modules take turns. Loading a\n\
                  module runs its code, as `use` does. perl also looks for modules in PERL5LIB.\n\n\
                  --leaks copies the process's memory twice and compares the variables. The process keeps\n\
                  running. Ctrl-C makes the second copy at once.\n\n\
                  --who stops the process for a moment when it first writes to a memory page that it shares with\n\
                  its parent process. Later writes to this page do not stop it, so the stops become rare."
)]
pub struct MemoryOptions {
    /// Measure these modules. Write each as after `use` in a script, in quotes if there is an
    /// import list.
    #[arg(long, value_name = "MODULE", num_args = 1.., conflicts_with = "control", groups = ["measured", "loaded"])]
    module: Vec<String>,
    /// Measure the memory that importing from these modules costs each package. For comparison, the
    /// same `use` with an empty import list is measured too. Without MODULE: the modules that the
    /// server's compiled scripts use.
    #[arg(long, value_name = "MODULE", num_args = 0.., conflicts_with = "module", groups = ["measured", "loaded"])]
    imports: Option<Vec<String>>,
    /// Measure the modules that workers have loaded after the fork. Say how much memory would be
    /// saved if they were loaded before the fork.
    #[arg(long, conflicts_with_all = ["module", "imports", "leaks", "who"], group = "measured")]
    preload: bool,
    /// The perl that loads the modules: a name on PATH or a file.
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "perl",
        requires = "loaded"
    )]
    perl: PathBuf,
    /// How many times each module is loaded.
    #[arg(long, value_name = "COUNT", default_value = "5", requires = "measured",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    /// Name the variables that grow between two copies of the memory, and where Perl code changes
    /// them.
    #[arg(long, conflicts_with_all = ["module", "imports"], group = "watched")]
    leaks: bool,
    /// Name the variables whose memory a worker no longer shares because it writes to them, and the
    /// code and the requests that write.
    #[arg(long, conflicts_with_all = ["module", "imports", "leaks"], group = "watched")]
    who: bool,
    /// One worker, by its number in `mehari status`. By default: the worker that has served the
    /// most requests.
    #[arg(long, value_name = "PID", requires = "watched")]
    worker: Option<u32>,
    /// A process that runs perl. The server's processes are then left out.
    #[arg(long, value_name = "PID", requires = "watched", conflicts_with_all = ["worker", "control"])]
    pid: Option<u32>,
    /// With --leaks: the time between the two copies. With --who: how long the process is watched.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time, requires = "watched")]
    duration: Duration,
    /// The number of lines of the table of variables.
    #[arg(long, value_name = "COUNT", default_value_t = 20, requires = "watched")]
    rows: usize,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: MemoryOptions = match arguments::parse("mehari memory", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let shown = if options.leaks {
        growing::shown(&options)
    } else if options.who {
        unsharing::shown(&options)
    } else if options.preload {
        preload::shown(&options)
    } else if options.imports.is_some() {
        imports::shown(&options)
    } else if !options.module.is_empty() {
        modules::shown(&options)
    } else {
        control::ask(options.control.as_deref(), "status")
            .and_then(|status| processes::shown(&status, options.json))
    };
    match shown {
        Ok(text) => {
            say!("{text}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("mehari memory: {reason}");
            ExitCode::from(1)
        }
    }
}
