//! `httperf` 0.9.0: connections or sessions at a fixed rate, with several calls on each.
//!
//! `options` and `parse` read the command line, `workload` turns it into the engine's plan, `tally`
//! observes the engine, and `report` prints. This module runs httperf's steps in httperf's order.

mod escapes;
mod measured;
mod options;
mod parse;
mod printer;
mod report;
mod requests;
mod session_log;
mod table;
mod tally;
mod templates;
mod usage;
mod workload;

use super::console::Console;
use super::{engine, resolve};
use mehari_load::Plan;
use options::{Options, Workload};
use parse::HttpVersion;
use std::ffi::OsString;
use std::sync::Arc;
use tally::Tally;

/// Returns the text of `mehari httperf --help`.
pub fn help() -> String {
    usage::usage()
}

/// Runs `httperf` with the arguments after its name. Returns the exit status.
pub fn run(arguments: &[OsString], console: &Console) -> u8 {
    let status = match Options::parse(arguments) {
        Ok(options) => perform(&Arc::new(options), console),
        Err(refusal) => refusal.print(console),
    };
    console.flush();
    status
}

fn perform(options: &Arc<Options>, console: &Console) -> u8 {
    console.err(options.notices.concat());
    console.out(&options.preface);
    console.out(usage::echo(options));
    let limit = descriptors();
    if options.bug_compatible && limit > SELECTABLE {
        console.err("httperf: warning: open file limit > FD_SETSIZE; limiting max. # of open files to FD_SETSIZE\n");
    }
    if options.verbose > 0 {
        console.out(format!(
            "httperf: maximum number of open descriptors = {limit}\n"
        ));
    }
    match prepare(options) {
        Ok(plan) => measure(options, plan, console),
        Err(text) => {
            console.err(format!("{text}\n"));
            1
        }
    }
}

/// The most descriptors that `select` can watch. httperf has this limit; Mehari only prints the
/// warning.
const SELECTABLE: u64 = 1024;

/// Like httperf, raises the limit of open files as far as the system permits. Returns the limit.
fn descriptors() -> u64 {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    now.unwrap_or(u64::MAX)
}

/// Returns the engine's plan, or the message with which httperf would stop.
fn prepare(options: &Options) -> Result<Plan, String> {
    let server = &options.server;
    let address = resolve::address(server)
        .map_err(|_| format!("httperf.core_addr_intern: invalid server address {server}"))?;
    let HttpVersion { major, minor } = options.http_version;
    if !matches!((major, minor), (1, 0 | 1)) {
        return Err(format!(
            "httperf: unexpected version code {major}{minor:04}"
        ));
    }
    workload::plan(options, address.to_string()).map_err(|text| format!("httperf: {text}"))
}

fn measure(options: &Arc<Options>, plan: Plan, console: &Console) -> u8 {
    let requests = plan.requests.iter().map(|request| request.bytes(b""));
    let tally = Tally::new(options.clone(), console.clone(), requests.collect());
    let idle = match options.workload {
        Workload::Connections => options.num_conns == 0 || options.num_calls == 0,
        Workload::Sessions {
            sessions, calls, ..
        } => sessions == 0 || calls == 0,
        Workload::Log { sessions, .. } => sessions == 0,
    };
    let measured = if idle {
        tally.measured
    } else {
        match engine::run_plan(plan, tally) {
            Ok((mut tally, ran)) => {
                tally.measured.duration = ran.elapsed.as_secs_f64();
                tally.measured.user_seconds = ran.user.as_secs_f64();
                tally.measured.system_seconds = ran.system.as_secs_f64();
                tally.measured
            }
            Err(error) => {
                console.err(format!("httperf: {error}\n"));
                return 1;
            }
        }
    };
    console.out(report::text(options, &measured));
    0
}
