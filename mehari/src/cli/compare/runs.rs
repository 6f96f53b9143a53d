//! Makes the runs in the order of the blocks ABBA and BAAB, and keeps the numbers of each run.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use mehari_load::live::Watched;
use mehari_load::{measure, Control, Measurement, Plan};
use mehari_record::versus::{Block, Run};
use mehari_record::{Judgement, Latency, Record};

use super::server::Server;
use super::side::Side;
use super::{bench, interrupt, Failure, Options};

/// All measurements of A and B.
pub struct Measured {
    pub blocks: Vec<Block>,
    /// The load in words.
    pub words: String,
    /// The response times of all runs of A and of all runs of B.
    pub response: [Latency; 2],
    /// The bad answers of A and of B: statuses of 400 or more and failures, with counts.
    pub bad: [BTreeMap<String, u64>; 2],
    /// The reasons for which runs are not VALID.
    pub doubts: Doubts,
    pub interrupted: bool,
}

/// The reasons for which runs are not VALID, by the name of the check. Each has the worst
/// judgement, the number of runs, and a text.
#[derive(Default)]
pub struct Doubts(pub BTreeMap<String, (Judgement, u64, String)>);

impl Doubts {
    pub fn add(&mut self, record: &Record) {
        for reason in &record.verdict.reasons {
            let new = || (reason.judgement, 0, reason.text.clone());
            let doubt = self.0.entry(reason.check.clone()).or_insert_with(new);
            doubt.1 += 1;
            if reason.judgement > doubt.0 {
                (doubt.0, doubt.2) = (reason.judgement, reason.text.clone());
            }
        }
    }
}

/// Runs the blocks. Their orders are ABBA and BAAB in turn, so a steady drift affects A and B
/// alike.
pub fn blocks(
    sides: &[Side; 2],
    options: &Options,
    progress: &Progress,
) -> Result<Measured, Failure> {
    for side in sides {
        plan_of(side, &options.load, None)?;
    }
    let mut generator = Generator::new(options)?;
    let mut measured = Measured {
        blocks: Vec::new(),
        words: String::new(),
        response: [Latency::new(), Latency::new()],
        bad: Default::default(),
        doubts: Doubts::default(),
        interrupted: false,
    };
    for number in 0..options.blocks {
        let order = if number % 2 == 0 {
            [0, 1, 1, 0]
        } else {
            [1, 0, 0, 1]
        };
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        for which in order {
            progress.say(&format!(
                "block {} of {}, {}",
                number + 1,
                options.blocks,
                ["A", "B"][which]
            ));
            let (load, url) = (&options.load, options.url_of(which));
            let record = generator.run(&sides[which], load, url)?;
            if generator.is_interrupted() {
                measured.interrupted = true;
                return Ok(measured);
            }
            progress.step();
            measured.doubts.add(&record);
            count_bad(&mut measured.bad[which], &record);
            measured.words.clone_from(&record.plan.words);
            measured.response[which]
                .add(&record.response)
                .map_err(|cause| Failure::Failed(cause.to_string()))?;
            runs[which].push(Run::of(&record));
        }
        if let [Ok(a), Ok(b)] = runs.map(<[Run; 2]>::try_from) {
            measured.blocks.push(Block { a, b });
        }
    }
    Ok(measured)
}

fn count_bad(bad: &mut BTreeMap<String, u64>, record: &Record) {
    let counts = &record.counts;
    let statuses = counts.statuses.range(400..);
    let statuses = statuses.map(|(status, count)| (format!("status {status}"), *count));
    let failed = counts.failed.iter();
    let failed = failed.map(|(class, count)| (class.clone(), *count));
    let unfinished = (counts.censored > 0).then(|| ("unfinished".to_owned(), counts.censored));
    for (what, count) in statuses.chain(failed).chain(unfinished) {
        *bad.entry(what).or_default() += count;
    }
}

/// Makes the runs one after the other, and first measures the load generator's own ceiling.
pub struct Generator<'o> {
    options: &'o Options,
    control: Control,
    ceiling: bool,
}

impl<'o> Generator<'o> {
    pub fn new(options: &'o Options) -> Result<Generator<'o>, Failure> {
        let control = Control::new();
        interrupt::watch(control.clone())
            .map_err(|cause| Failure::Failed(format!("cannot await signals: {cause}")))?;
        Ok(Generator {
            options,
            control,
            ceiling: !options.load.no_ceiling,
        })
    }

    pub fn is_interrupted(&self) -> bool {
        self.control.is_stopped()
    }

    /// Runs the load against a side. `url` is the URL or path of a side that is a command.
    pub fn run(
        &mut self,
        side: &Side,
        load: &bench::arguments::Arguments,
        url: &str,
    ) -> Result<Record, Failure> {
        let server = match side {
            Side::Command(command) => {
                Some(Server::start(command, url, self.options.start_timeout)?)
            }
            _ => None,
        };
        let plan = plan_of(
            side,
            load,
            server.as_ref().map(|server| server.url.as_str()),
        )?;
        let measurement = Measurement {
            ceiling: std::mem::take(&mut self.ceiling),
        };
        let record = measure(&plan, &self.control, measurement, |_, recorder| {
            Watched::new(recorder, None)
        })
        .map_err(|error| Failure::Usage(error.to_string()))?;
        if record.counts.completed == 0 && !self.is_interrupted() {
            Err(Failure::Failed(unanswered(&plan, &record)))
        } else {
            Ok(record)
        }
    }
}

/// Returns the plan for a side. If the side is a command, `served` is the URL that it serves.
/// Without `served` the plan has a placeholder for the URL, so wrong arguments are refused before
/// the command starts.
pub fn plan_of(
    side: &Side,
    load: &bench::arguments::Arguments,
    served: Option<&str>,
) -> Result<Plan, Failure> {
    let mut load = load.clone();
    load.urls = match side {
        Side::Url(url) => vec![url.clone()],
        Side::Command(_) => vec![served.unwrap_or("http://127.0.0.1/").to_owned()],
        Side::Requests(_) => Vec::new(),
        Side::Records(_) => {
            return Err(Failure::Usage(
                "a record compares with records only, not with something to be run".into(),
            ))
        }
    };
    if let Side::Requests(path) = side {
        load.url_file = Some(path.clone());
    }
    bench::plan::from(&load).map_err(|error| Failure::Usage(error.to_string()))
}

/// Returns the error for a run without an answer. Such a load is not repeated.
fn unanswered(plan: &Plan, record: &Record) -> String {
    let classes = record.counts.failed.iter();
    let classes: Vec<String> = classes
        .map(|(class, count)| format!("{class} {count}"))
        .collect();
    let authority = plan
        .requests
        .first()
        .map(|request| request.endpoint.authority());
    let why = if classes.is_empty() {
        "no request ended in the time of the run; expected a longer -d".into()
    } else {
        classes.join(", ")
    };
    format!(
        "nothing was answered at {} ({why})",
        authority.unwrap_or_default()
    )
}

/// A progress bar. It is drawn on a terminal only.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new(options: &Options, runs: usize) -> Progress {
        let wanted = !options.load.quiet
            && std::io::stderr().is_terminal()
            && std::io::stdout().is_terminal();
        let bar = if wanted {
            ProgressBar::new(runs as u64)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) =
            ProgressStyle::with_template("{elapsed_precise} {bar:24} {percent:>3}%  {msg}")
        {
            bar.set_style(style);
        }
        Progress(bar)
    }

    pub fn say(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }

    pub fn step(&self) {
        self.0.inc(1);
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
