//! Lists the subcommands. Each has a name, one line of help, and a function that runs it.
//!
//! The function gets the arguments that follow the command's name. It returns the exit status: 0
//! for success, 1 for a failure, 2 for wrong usage. A link to the program with a command's name
//! runs the command.

use clap::CommandFactory;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

mod ab;
mod arguments;
mod bench;
mod browser;
mod cache;
mod certificate;
mod certificate_process;
mod check;
mod compare;
mod console;
mod console_process;
mod control;
mod crashme;
mod directives;
mod docs;
mod doctor;
mod drain;
mod explain;
mod foreign;
mod growth;
mod http_load;
mod httpd;
mod httperf;
mod inspect;
mod interrupt;
mod keeper_process;
mod lua_pool;
mod manual;
mod memory;
mod parity;
mod pool_launcher;
mod profile;
mod record;
mod records;
mod reload;
mod replay;
mod sampler;
mod serve;
mod status;
mod stop;
mod time;
mod top;
mod trace;
mod upgrade;

/// One subcommand.
pub struct Command {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(Vec<OsString>) -> ExitCode,
    /// Returns the command's options, for the manual and the shells' completions.
    pub grammar: fn() -> clap::Command,
}

pub const COMMANDS: &[Command] = &[
    Command {
        name: "serve",
        about: "serve a folder, a script, a PSGI app or a configuration",
        run: serve::run,
        grammar: serve::Options::command,
    },
    Command {
        name: "check",
        about: "read a configuration and print what it means",
        run: check::run,
        grammar: check::Options::command,
    },
    Command {
        name: "reload",
        about: "read the configuration again and start new workers",
        run: reload::run,
        grammar: reload::ReloadOptions::command,
    },
    Command {
        name: "upgrade",
        about: "replace the running program by its new file",
        run: upgrade::run,
        grammar: control::Options::command,
    },
    Command {
        name: "stop",
        about: "finish the requests under way and stop",
        run: stop::run,
        grammar: control::Options::command,
    },
    Command {
        name: "status",
        about: "show connections, requests, workers and back ends of the server",
        run: status::run,
        grammar: control::Options::command,
    },
    Command {
        name: "console",
        about: "show the running server in a browser: requests, workers, memory, machine",
        run: console::run,
        grammar: console::ConsoleOptions::command,
    },
    Command {
        name: "top",
        about: "show the running server on a terminal: rates, workers and their requests",
        run: top::run,
        grammar: top::TopOptions::command,
    },
    Command {
        name: "inspect",
        about: "look into a Perl process: modules, scripts, symbols, code, sizes, descriptors",
        run: inspect::run,
        grammar: inspect::InspectOptions::command,
    },
    Command {
        name: "explain",
        about: "say on which rung a script runs (how it runs), why, and what that costs",
        run: explain::run,
        grammar: explain::ExplainOptions::command,
    },
    Command {
        name: "profile",
        about: "sample running processes and show where Perl's time goes",
        run: profile::run,
        grammar: profile::ProfileOptions::command,
    },
    Command {
        name: "trace",
        about: "show where the time of one request goes: each handler, each statement",
        run: trace::run,
        grammar: trace::TraceOptions::command,
    },
    Command {
        name: "memory",
        about: "show the memory of each worker, variables that grow, what a module costs",
        run: memory::run,
        grammar: memory::MemoryOptions::command,
    },
    Command {
        name: "time",
        about: "say which of some Perl subs is faster, and whether that is proven",
        run: time::run,
        grammar: time::TimeOptions::command,
    },
    Command {
        name: "doctor",
        about: "measure what costs the site time, memory or bytes, and name the line to change",
        run: doctor::run,
        grammar: doctor::DoctorOptions::command,
    },
    Command {
        name: "drain",
        about: "stop new requests to a back end",
        run: drain::drain,
        grammar: control::NamedOptions::command,
    },
    Command {
        name: "resume",
        about: "allow requests to a drained back end again",
        run: drain::resume,
        grammar: control::NamedOptions::command,
    },
    Command {
        name: "cache",
        about: "remove pages from the response cache",
        run: cache::run,
        grammar: cache::Options::command,
    },
    Command {
        name: "directives",
        about: "print the configuration directives and their defaults",
        run: directives::run,
        grammar: directives::Options::command,
    },
    Command {
        name: "docs",
        about: "show the documents in a browser: search, reference, guides",
        run: docs::run,
        grammar: docs::Options::command,
    },
    Command {
        name: "manual",
        about: "write the manual pages and the shells' completions",
        run: manual::run,
        grammar: manual::Options::command,
    },
    Command {
        name: "certificate",
        about: "make a certificate to try TLS; revoke a certificate of an authority",
        run: certificate::run,
        grammar: certificate::Options::command,
    },
    Command {
        name: "bench",
        about: "load a server and report how far the result can be trusted",
        run: bench::run,
        grammar: bench::grammar,
    },
    Command {
        name: "compare",
        about: "measure A against B in turns, and say whether the difference is proven",
        run: compare::run,
        grammar: compare::Options::command,
    },
    Command {
        name: "record",
        about: "record a session through a small proxy",
        run: record::run,
        grammar: record::Options::command,
    },
    Command {
        name: "replay",
        about: "play a recorded session, once or for many users",
        run: replay::run,
        grammar: replay::Options::command,
    },
    Command {
        name: "parity",
        about: "send two servers the same requests and print the differences",
        run: parity::run,
        grammar: parity::Options::command,
    },
    Command {
        name: "ab",
        about: "load a server with ApacheBench's options and report",
        run: ab::run,
        grammar: ab::grammar,
    },
    Command {
        name: "httperf",
        about: "load a server with httperf's options and report",
        run: httperf::run,
        grammar: httperf::grammar,
    },
    Command {
        name: "http_load",
        about: "load a server with http_load's options and report",
        run: http_load::run,
        grammar: http_load::grammar,
    },
    Command {
        name: "crashme",
        about: "load a server as the mod_perl guide's benchmark script does",
        run: crashme::run,
        grammar: crashme::grammar,
    },
];

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let called_as = Path::new(&program)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("mehari");
    if let Some(command) = named(called_as) {
        return (command.run)(arguments.collect());
    }
    let Some(word) = arguments.next() else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    match word.to_str() {
        Some("--help" | "-h" | "help") => {
            say!("{}", usage());
            ExitCode::SUCCESS
        }
        Some(option) if httpd::is_option(option) => {
            httpd::run(std::iter::once(word).chain(arguments).collect())
        }
        Some("--version") => {
            sayln!("mehari {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        // Only the server itself runs these commands.
        Some("certificate-process") => certificate_process::run(arguments.collect()),
        Some("console-process") => console_process::run(arguments.collect()),
        Some("keeper-process") => keeper_process::run(arguments.collect()),
        Some("pool-launcher") => pool_launcher::run(arguments.collect()),
        Some("lua-pool") => lua_pool::run(arguments.collect()),
        Some("sampler") => sampler::run(arguments.collect()),
        Some(name) => match named(name) {
            Some(command) => (command.run)(arguments.collect()),
            None => unknown(name),
        },
        None => unknown(&word.to_string_lossy()),
    }
}

fn named(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

fn usage() -> String {
    let mut text = String::from("Usage: mehari COMMAND [ARGUMENTS]\n\nCommands:\n");
    for command in COMMANDS {
        text.push_str(&format!("  {:<11} {}\n", command.name, command.about));
    }
    text.push_str("\n`mehari COMMAND --help` says more. Example: mehari serve demo\n");
    text
}

fn unknown(word: &str) -> ExitCode {
    let nearest = COMMANDS
        .iter()
        .map(|command| (mehari_config::distance(word, command.name), command.name))
        .min()
        .filter(|(distance, _)| *distance <= 2);
    match nearest {
        Some((_, name)) => {
            eprintln!("mehari: there is no command `{word}`; did you mean `{name}`?")
        }
        None if Path::new(word).exists() => {
            eprintln!("mehari: there is no command `{word}`; did you mean `mehari serve {word}`?")
        }
        None => eprintln!("mehari: there is no command `{word}`; `mehari --help` lists them"),
    }
    ExitCode::from(2)
}
