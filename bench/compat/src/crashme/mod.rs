//! `crashme`: does what the benchmark script of the mod_perl guide (lwp-bench.pl) did. It requests
//! URLs with several parallel agents and a time-out for each request.

mod options;
mod report;
mod tally;

use super::console::{Console, Refusal};
use super::{engine, resolve};
use mehari_load::{Connection, Pick, Plan, Request, Schedule, Stop, TlsPolicy, Url};
use options::{refuse, Options};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;

/// Returns the text of `mehari crashme --help`.
pub fn help() -> String {
    options::HELP.into()
}

/// Runs `crashme` with the arguments after its name. Returns the exit status.
pub fn run(arguments: &[OsString], console: &Console) -> u8 {
    let status = Options::parse(arguments)
        .and_then(|options| perform(&options, console))
        .unwrap_or_else(|refusal| refusal.print(console));
    console.flush();
    status
}

fn perform(options: &Options, console: &Console) -> Result<u8, Refusal> {
    let requests = options
        .urls
        .iter()
        .map(|url| request(url))
        .collect::<Result<Vec<_>, _>>()?;
    let total = u64::from(options.requests) * requests.len() as u64;
    let schedule = Schedule::Closed {
        connections: options.agents as usize,
    };
    let mut plan = Plan::new(requests, schedule, Stop::after_requests(total));
    plan.pick = Pick::InOrder;
    plan.connection = Connection {
        keep_alive: false,
        timeout: Duration::from_secs(u64::from(options.timeout)),
        tls: Arc::new(TlsPolicy {
            insecure: true,
            ..TlsPolicy::default()
        }),
        ..Connection::default()
    };
    let (mut tally, ran) = engine::run_plan(plan, Tally::new(options.bug_compatible))
        .map_err(|error| refuse(&error.to_string()))?;
    tally.measured.elapsed = ran.elapsed.as_secs_f64();
    console.out(report::text(options, &tally.measured));
    Ok(0)
}

/// Returns the GET request that the script's agent would send.
fn request(text: &str) -> Result<Request, Refusal> {
    let url = Url::parse(text).map_err(|error| refuse(&error.to_string()))?;
    let host = &url.endpoint.host;
    resolve::address(host).map_err(|unresolved| {
        refuse(&format!(
            "cannot find the host {host}: {}",
            unresolved.reason
        ))
    })?;
    let head = format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nUser-Agent: pounder/1.0\r\n",
        url.path,
        url.endpoint.authority()
    );
    Ok(Request::raw(
        url.endpoint,
        head.into_bytes(),
        Vec::new(),
        false,
    ))
}
