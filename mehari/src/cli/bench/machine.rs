//! `mehari bench machine`: prints the properties of this machine that affect measurements.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use mehari_load::nanoseconds_between_cores;
use mehari_record::{figures, Machine};

use super::super::arguments;

#[derive(Parser)]
#[command(
    name = "mehari bench machine",
    about = "Prints the properties of this machine that affect measurements",
    after_help = "One property is the distance between the cores: the time in which a cache line goes from one core\n\
                  to another. The host of a virtual machine may move the cores between two measurements. Compare\n\
                  only measurements whose distances differ by less than a factor of two."
)]
pub struct Options {
    /// Print JSON, with the names of a record's `machines`
    #[arg(long)]
    json: bool,
}

/// Runs `mehari bench machine`. `arguments` holds the words after these.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari bench machine", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let mut machine = Machine::here(concat!("mehari ", env!("CARGO_PKG_VERSION")));
    machine.core_crossing_ns = [nanoseconds_between_cores().unwrap_or_default(); 2];
    if options.json {
        sayln!("{}", serde_json::json!(machine))
    } else {
        say!("{}", text(&machine))
    }
    ExitCode::SUCCESS
}

fn text(machine: &Machine) -> String {
    let crossing = match machine.core_crossing_ns {
        [0, _] => "not known (one core, all cores busy, or no permission to choose one)".to_owned(),
        [nanoseconds, _] => format!("{nanoseconds} ns for a cache line"),
    };
    format!(
        "host              {}\n\
         processor         {}\n\
         cores             {}\n\
         core to core      {crossing}\n\
         memory            {}\n\
         kernel            Linux {}\n",
        machine.host,
        machine.processor,
        machine.processors,
        figures::bytes(machine.memory_bytes as f64),
        machine.kernel,
    )
}
