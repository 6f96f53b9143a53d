//! `mehari bench`: sends load to a server, measures the answers, and prints a report.

pub(super) mod arguments;
mod limit;
mod live;
mod machine;
mod other_tools;
pub(super) mod parse;
pub(super) mod plan;
mod require;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Command, CommandFactory};
use mehari_load::live::{Watched, Window};
use mehari_load::{measure, report, Control, Measurement};
use mehari_record::{Judgement, Record};

use super::foreign;
use super::records::{self, Outputs};
use arguments::Arguments;
use other_tools::OTHER_TOOLS;

/// The length of a run of `--find-limit` without `-d`.
const STEP: Duration = Duration::from_secs(5);
/// The longest length of its first run, which guesses the rate.
const GUESS: Duration = Duration::from_secs(2);

/// Returns the options, and the subcommands `merge`, `export` and `machine`.
pub fn grammar() -> Command {
    let subcommand = |grammar: Command, name| grammar.name(name);
    Arguments::command()
        .args_conflicts_with_subcommands(true)
        .subcommand(subcommand(records::Merge::command(), "merge"))
        .subcommand(subcommand(records::Export::command(), "export"))
        .subcommand(subcommand(machine::Options::command(), "machine"))
}

pub fn run(mut arguments: Vec<OsString>) -> ExitCode {
    match arguments.first().and_then(|word| word.to_str()) {
        Some("merge") => return records::run_merge(arguments.split_off(1)),
        Some("export") => return records::run_export(arguments.split_off(1)),
        Some("machine") => return machine::run(arguments.split_off(1)),
        _ => {}
    }
    if let Some(hint) = foreign::hint(OTHER_TOOLS, &arguments) {
        return usage(&hint);
    }
    let arguments: Arguments = match super::arguments::parse("mehari bench", arguments) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match bench(&arguments) {
        Ok(status) => status,
        Err(error) => usage(&error.to_string()),
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("mehari bench: {why}");
    ExitCode::from(2)
}

/// Runs the load and delivers the result. An error means that no load was sent.
fn bench(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let plan = plan::from(arguments)?;
    let outputs = Outputs::check(&arguments.output)?;
    let control = Control::new();
    if let Some(time) = arguments.start_at {
        control.start_at(time);
    }
    end_on_interrupt(control.clone())?;
    if arguments.find_limit {
        return find_limit(arguments, &outputs, &control);
    }
    let window = live::is_wanted(arguments).then(Window::new);
    let view = window
        .as_ref()
        .map(|window| live::View::start(window.clone(), &plan));
    let measurement = Measurement {
        ceiling: !arguments.no_ceiling,
    };
    let result = measure(&plan, &control, measurement, |_, recorder| {
        Watched::new(recorder, window.clone())
    });
    if let Some(view) = view {
        view.finish();
    }
    let record = result?;
    Ok(deliver(arguments, &outputs, &record))
}

/// Finds the highest sustained rate. A short closed loop gives the first rate to try.
fn find_limit(
    arguments: &Arguments,
    outputs: &Outputs,
    control: &Control,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let run = |rate: Option<f64>| {
        let mut arguments = arguments.clone();
        arguments.rate = rate;
        let time = arguments.duration.unwrap_or(STEP);
        arguments.duration = Some(rate.map_or(time.min(GUESS), |_| time));
        let plan = plan::from(&arguments)?;
        let record = measure(
            &plan,
            control,
            Measurement { ceiling: false },
            |_, recorder| Watched::new(recorder, None),
        )?;
        Ok::<_, mehari_load::PlanError>((!control.is_stopped()).then_some(record))
    };
    let guess = run(None)?.map_or(0.0, |record| record.answer_rate());
    let found = if guess > 0.0 {
        limit::find(guess, |rate| run(Some(rate)), |line| eprintln!("{line}"))?
    } else {
        None
    };
    let Some(found) = found else {
        eprintln!("mehari bench: no rate was sustained; expected a server that answers");
        return Ok(ExitCode::FAILURE);
    };
    if !arguments.json {
        sayln!("{}\n", found.sentence());
    }
    Ok(deliver(arguments, outputs, &found.record))
}

/// Prints and saves the result. Returns status 1 if a file cannot be written, if no request was
/// answered, if a limit of `--require` is missed, or if `--strict` forbids the verdict.
fn deliver(arguments: &Arguments, outputs: &Outputs, record: &Record) -> ExitCode {
    if arguments.json {
        say!("{}", record.to_json())
    } else {
        say!("{}", report::text(record))
    }
    if let Err(error) = outputs.write(record) {
        eprintln!("mehari bench: {error}");
        return ExitCode::FAILURE;
    }
    let required = arguments.require.as_ref();
    let (lines, is_kept) = required.map_or((String::new(), true), |it| it.judge(record));
    if arguments.json {
        eprint!("{lines}");
    } else {
        say!("{lines}");
    }
    let unfit = arguments.strict && record.verdict.judgement != Judgement::Valid;
    if unfit || !is_kept || record.counts.completed == 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Handles INT and TERM. The first signal ends the run, and the report is printed. The second
/// signal ends the program.
fn end_on_interrupt(control: Control) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
    ])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if control.is_stopped() {
                std::process::exit(130);
            }
            control.stop();
        }
    });
    Ok(())
}
