//! The options of `mehari bench`, as clap reads them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Parser, ValueEnum};
use mehari_load::Stage;

use super::parse;
use super::require::Requirements;

const EXAMPLES: &str = "\
Examples:
  mehari bench -c 32 -d 10s http://127.0.0.1:8080/
  mehari bench --rate 5000 --arrivals poisson -d 30s --warm-up 5s http://127.0.0.1:8080/
  mehari bench --stage 30s:0/s..1000/s --stage 1m:1000/s http://127.0.0.1:8080/
  mehari bench --find-limit http://127.0.0.1:8080/
  mehari bench --rate 280 --require 'p99<200ms,errors<0.1%' http://127.0.0.1:8080/
  mehari bench merge east.json west.json -o both.json
  mehari bench export run.json -o run.html -o run.csv
  mehari bench machine";

#[derive(Clone, Debug, Parser)]
#[command(
    name = "mehari bench",
    about = "Loads a server and reports how far the result can be trusted",
    after_help = EXAMPLES,
    disable_version_flag = true
)]
pub struct Arguments {
    /// What to request: http:// or https://
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Closed loop: the number of users. Each user waits for an answer before the next request.
    /// Open loop: the most connections.
    #[arg(short = 'c', long, value_name = "N")]
    pub connections: Option<usize>,
    /// Open loop: requests sent per second, however fast the server answers.
    #[arg(long, value_name = "RATE", value_parser = parse::rate, conflicts_with = "stages")]
    pub rate: Option<f64>,
    /// Open loop: the spacing of the requests.
    #[arg(long, value_enum, default_value = "poisson")]
    pub arrivals: ArrivalsName,
    /// Open loop: a stage of the run, as TIME:RATE/s or TIME:FROM/s..TO/s; may be repeated.
    #[arg(long = "stage", value_name = "STAGE", value_parser = parse::stage)]
    pub stages: Vec<Stage>,
    /// Stop after this many requests. With --session: after this many sessions.
    #[arg(short = 'n', long, value_name = "N")]
    pub requests: Option<u64>,
    /// Stop after this time [default: 10s when there is no -n and no --stage]
    #[arg(short = 'd', long, value_name = "TIME", value_parser = parse::time)]
    pub duration: Option<Duration>,
    /// Send load for this time before counting
    #[arg(long, value_name = "TIME", value_parser = parse::time, default_value = "0s")]
    pub warm_up: Duration,
    /// A request fails if it has no whole answer after this time.
    #[arg(long, value_name = "TIME", value_parser = parse::time, default_value = "30s")]
    pub timeout: Duration,
    /// The seed of random spacing and choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Request method
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header field, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = parse::field)]
    pub headers: Vec<(String, String)>,
    /// Request body (POST unless -m says otherwise)
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// Request body from a file
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// A cookie, `name=value`; may be repeated
    #[arg(long = "cookie", value_name = "COOKIE")]
    pub cookies: Vec<String>,
    /// Basic authentication
    #[arg(long, value_name = "USER:PASSWORD")]
    pub basic: Option<String>,
    /// A list of requests, one per line: [WEIGHT] [METHOD] URL
    #[arg(long = "urls", value_name = "FILE")]
    pub url_file: Option<PathBuf>,
    /// A session script; see docs/reference/bench.md
    #[arg(long = "session", value_name = "FILE")]
    pub session_file: Option<PathBuf>,

    /// Open a new connection for each request.
    #[arg(long)]
    pub no_keep_alive: bool,
    /// Use HTTP/2: by ALPN for https, with prior knowledge for http.
    #[arg(long)]
    pub http2: bool,
    /// Concurrent HTTP/2 streams per connection
    #[arg(long, value_name = "N", requires = "http2", default_value_t = 1)]
    pub streams: usize,
    /// Accept any certificate
    #[arg(long)]
    pub insecure: bool,
    /// Trust the authorities of this PEM file
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Make a full TLS handshake for each connection.
    #[arg(long)]
    pub no_resumption: bool,
    /// Limit the speed of each client: 33.6kbps, 4200B/s.
    #[arg(long, value_name = "SPEED", value_parser = parse::speed)]
    pub throttle: Option<u64>,
    /// Connect from this address. If there are several, they take turns.
    #[arg(long = "source", value_name = "ADDRESS")]
    pub sources: Vec<IpAddr>,
    /// The number of event loops (threads) [default: one per 64 connections or 25,000 requests/s,
    /// at most one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,

    /// Exit with 1 if the run does not keep these limits: p99<200ms,errors<0.1%,rate>290.
    #[arg(long, value_name = "LIMITS")]
    pub require: Option<Requirements>,
    /// Find the highest rate that the server sustains. Each trial runs for the time -d [default:
    /// 5s]
    #[arg(long, conflicts_with_all = ["rate", "stages", "requests", "session_file"])]
    pub find_limit: bool,
    /// Exit with 1 if the verdict on the measurement is not VALID.
    #[arg(long)]
    pub strict: bool,
    /// Do not measure first how many requests the load generator itself can send.
    #[arg(long)]
    pub no_ceiling: bool,
    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
    /// Save the record in the format of the extension: json, csv, gnuplot, hlog or html; may be
    /// repeated
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Start at this time: RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse::start_time)]
    pub start_at: Option<SystemTime>,
    /// Show no live view.
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ArrivalsName {
    Constant,
    Poisson,
}
