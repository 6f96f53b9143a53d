//! `mehari compare`: measures A and B in alternating runs, or all rows of a table.
//!
//! The load has the options of `mehari bench`. `mehari_record::versus` draws the conclusion. This
//! module orders the runs and prints the result.

mod interrupt;
mod matrix;
mod outputs;
mod records;
mod report;
mod runs;
pub(super) mod server;
mod side;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mehari_record::statistics::LEAST_BLOCKS;
use mehari_record::versus::{versus, Metric};

use self::matrix::Parameter;
use self::outputs::{Forms, Outputs};
use self::runs::Progress;
use self::side::Side;
use super::{arguments, bench};

const EXAMPLES: &str = "\
A and B are each one of these:
  a URL
  a file of requests, as for `mehari bench --urls`
  a record of `mehari bench --output`, or several records with commas between
  a command that starts a server and prints its URL

Examples:
  mehari compare http://127.0.0.1:8080/old http://127.0.0.1:8080/new -c 16
  mehari compare 'mehari serve app.psgi --listen 127.0.0.1:0' 'starman --port 5001 app.psgi' --url / --url http://127.0.0.1:5001/
  mehari compare before.json after.json -o difference.html
  mehari compare -c 50 -n 5000 --matrix name=apache_args,apache_request,cgi_pm --matrix query_length=25,337 \\
      'http://127.0.0.1:8080/perl/processing_with_{name}.pl?{query_length:query}'

Exit status: 0 measured, 1 a measurement failed, 2 wrong usage.";

#[derive(Parser)]
#[command(
    name = "mehari compare",
    about = "Measures A against B in turns, and says whether the difference is proven",
    after_help = EXAMPLES,
    mut_arg("urls", |operands| operands.value_name("A B").help("What to compare. With --matrix: one template")),
    mut_arg("warm_up", |warm_up| warm_up.default_value("200ms")),
    mut_arg("duration", |duration| duration.help("Stop each run after this time [default: 2s when there is no -n]")),
    mut_arg("output", |output| output.help("Save the comparison: a page as .html, JSON as .json; may be repeated")),
    mut_arg("json", |json| json.help("Print the comparison as JSON")),
    // These options of `mehari bench` are refused by `check`.
    mut_arg("url_file", |option| option.hide(true)),
    mut_arg("session_file", |option| option.hide(true)),
    mut_arg("strict", |option| option.hide(true)),
    mut_arg("require", |option| option.hide(true)),
    mut_arg("find_limit", |option| option.hide(true)),
    mut_arg("start_at", |option| option.hide(true)),
    mut_arg("connections", |connections| connections.help("Closed loop: the number of users [default: 8]. Open loop: the most connections")),
)]
pub struct Options {
    /// The number of blocks. A block measures in the order ABBA or BAAB. With --matrix: the number
    /// of passes over all rows.
    #[arg(long, value_name = "N", default_value_t = LEAST_BLOCKS)]
    blocks: usize,
    /// The percentage below which a difference does not matter.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    threshold: f64,
    /// The deciding metric: throughput, mean, p50 or p99 [default: throughput, in an open loop p99]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    metric: Option<Metric>,
    /// If A and B are commands: the URL to measure, or a path at the URL that each command prints.
    /// If it is given twice, the first is for A and the second for B.
    #[arg(long, value_name = "URL", default_value = "/")]
    url: Vec<String>,
    /// How long a command may take to be ready
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = bench::parse::time)]
    start_timeout: Duration,
    /// Measure one row for each value. In the template, {NAME} becomes the value, and {NAME:query}
    /// becomes a query string of that many bytes.
    #[arg(long = "matrix", value_name = "NAME=A,B,C")]
    matrix: Vec<Parameter>,
    #[command(flatten)]
    load: bench::arguments::Arguments,
}

/// Why there is no result. The kind decides the exit status.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was measured, because the arguments are wrong.
    Usage(String),
    /// An error ended the measurement.
    Failed(String),
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut options: Options = match arguments::parse("mehari compare", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    options.load_defaults();
    let (text, status) = match compare(&options) {
        Ok(text) => {
            say!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(Failure::Usage(why)) => (why, 2),
        Err(Failure::Failed(why)) => (why, 1),
    };
    eprintln!("mehari compare: {text}");
    ExitCode::from(status)
}

fn compare(options: &Options) -> Result<String, Failure> {
    options.check()?;
    if !options.matrix.is_empty() {
        return matrix::run(options);
    }
    let [a, b] = &options.load.urls[..] else {
        return Err(Failure::Usage(format!(
            "expected two things to compare, A and B, not {}",
            options.load.urls.len()
        )));
    };
    let outputs = Outputs::check(&options.load.output)?;
    let sides = [Side::parse(a)?, Side::parse(b)?];
    let threshold = options.threshold / 100.0;
    if let [Side::Records(a), Side::Records(b)] = &sides {
        return records::compare([a, b], threshold, options.load.json, &outputs);
    }
    let progress = Progress::new(options, options.blocks * 4);
    let measured = runs::blocks(&sides, options, &progress);
    progress.finish();
    let measured = measured?;
    let primary = options.primary();
    let result = versus(&measured.blocks, primary, threshold)
        .map_err(|cause| Failure::Failed(cause.to_string()))?;
    let told = report::CompareReport {
        names: [a, b],
        result: &result,
        measured: &measured,
        threshold,
    };
    outputs.write(&told)?;
    Ok(if options.load.json {
        told.json()
    } else {
        told.text()
    })
}

impl Options {
    fn load_defaults(&mut self) {
        let load = &mut self.load;
        if load.rate.is_none() && load.stages.is_empty() {
            load.connections = load.connections.or(Some(8));
        }
        if load.requests.is_none() && load.stages.is_empty() {
            load.duration = load.duration.or(Some(Duration::from_secs(2)));
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let refuse = |why: &str| Err(Failure::Usage(why.into()));
        if self.blocks < 2 {
            return refuse("--blocks must be at least 2, and 6 to decide anything");
        }
        if !(self.threshold > 0.0 && self.threshold < 100.0) {
            return refuse("--threshold must be more than 0 and less than 100 percent");
        }
        if self.url.len() > 2 {
            return refuse("--url is given once for both, or twice, for A and for B");
        }
        if self.load.url_file.is_some() || self.load.session_file.is_some() {
            return refuse("give request files as A and B, not with --urls or --session");
        }
        if self.load.strict || self.load.start_at.is_some() {
            return refuse("--strict and --start-at are for `mehari bench`");
        }
        if !self.load.output.is_empty() && !self.matrix.is_empty() {
            return refuse("--output saves a comparison of A and B; a table has --json");
        }
        if self.load.require.is_some() || self.load.find_limit {
            return refuse("--require and --find-limit are for `mehari bench`");
        }
        Ok(())
    }

    /// Returns the URL of A (0) or B (1).
    fn url_of(&self, which: usize) -> &str {
        self.url
            .get(which)
            .or(self.url.first())
            .map_or("/", String::as_str)
    }

    fn primary(&self) -> Metric {
        let is_open = self.load.rate.is_some() || !self.load.stages.is_empty();
        // In an open loop the throughput is the requested rate for every server.
        let usual = if is_open {
            Metric::P99
        } else {
            Metric::Throughput
        };
        self.metric.unwrap_or(usual)
    }
}

fn metric(text: &str) -> Result<Metric, String> {
    Metric::ALL
        .into_iter()
        .find(|metric| metric.name() == text)
        .ok_or_else(|| "expected throughput, mean, p50 or p99".into())
}
