//! `ab`, ApacheBench 2.3: sends a number of requests to one URL, several at a time.
//!
//! `options` reads the command line, `request` renders the request, `tally` observes the engine,
//! and `report`, `html` and `files` print. This module runs ab's steps and prints its messages in
//! ab's order.

mod abort;
mod draft;
mod files;
#[cfg(test)]
mod golden;
mod html;
mod measured;
mod options;
mod report;
mod request;
mod security;
mod tally;
mod target;
mod times;
mod usage;
mod zone;

use super::console::{Console, Refusal};
use super::engine;
use super::resolve;
use abort::Abort;
use mehari_load::{
    Connection, Endpoint, Plan, PlanError, Request as Sent, Schedule, Sources, Stop,
};
use options::Options;
use request::Request;
use std::ffi::OsString;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;
use times::Times;

/// Returns the text of `mehari ab --help`.
pub fn help() -> String {
    usage::help()
}

/// Runs `ab` with the arguments after its name. Returns the exit status.
pub fn run(arguments: &[OsString], console: &Console) -> u8 {
    let status = match Options::parse(arguments) {
        Ok(options) => {
            console.err(options.notices.concat());
            bench(&Arc::new(options), console)
        }
        Err(refusal) => refusal.print(console),
    };
    console.flush();
    status
}

fn bench(options: &Arc<Options>, console: &Console) -> u8 {
    if let Err(refusal) = check_certificate(options) {
        return refusal.print(console);
    }
    open(options, console);
    let request = match Request::render(options) {
        Ok(request) => request,
        Err(refusal) => return refusal.print(console),
    };
    if options.verbosity >= 2 {
        console.out(request.shown(&options.method));
    }
    console.flush();
    let plan = match plan(options, request) {
        Ok(plan) => plan,
        Err(abort) => {
            console.err(abort.line());
            return abort.status();
        }
    };
    match drive(options, plan, console) {
        Ok((tally, interrupted)) => close(options, tally, interrupted, console),
        Err(error) => {
            console.err(format!("ab: {error}\n"));
            1
        }
    }
}

/// Prints the banner and the line that names the server.
fn open(options: &Options, console: &Console) {
    console.out(usage::banner(options.html.is_some()));
    if options.html.is_some() {
        return;
    }
    let through = match &options.proxy {
        Some(proxy) => format!("[through {}:{}] ", proxy.host, proxy.port),
        None => String::new(),
    };
    let end = if options.progress.is_some() {
        "\n"
    } else {
        "..."
    };
    let host = &options.target.host;
    console.out(format!("Benchmarking {host} {through}(be patient){end}"));
}

/// Prints the closing line and the report after the last request.
fn close(options: &Options, mut tally: Tally, interrupted: bool, console: &Console) -> u8 {
    tally.measured.elapsed = tally.elapsed();
    tally.measured.tls_server_name = security::server_name(options);
    let measured = &tally.measured;
    if let Some(abort) = &tally.abort {
        console.err(abort.line());
        if measured.complete > 0 {
            console.out(format!(
                "Total of {} requests completed\n",
                measured.complete
            ));
        }
        return abort.status();
    }
    match options.progress {
        _ if interrupted => {}
        Some(_) => console.err(format!("Finished {} requests\n", measured.complete)),
        None => console.out("..done\n"),
    }
    match &options.html {
        Some(attributes) => console.out(html::html(options, attributes, measured)),
        None => console.out(report::text(options, measured)),
    }
    // Like ab, writes the files only if no HTML report was requested.
    let written = if options.html.is_some() || measured.times.count() == 0 {
        Ok(())
    } else {
        write_files(options, &measured.times)
    };
    match written {
        // Like ab, exits with status 1 after an interrupt.
        Ok(()) => u8::from(interrupted),
        Err(refusal) => refusal.print(console),
    }
}

fn write_files(options: &Options, times: &Times) -> Result<(), Refusal> {
    if let Some(path) = &options.csv {
        files::write_csv(path, times)?;
    }
    if let Some(path) = &options.gnuplot {
        files::write_gnuplot(path, times)?;
    }
    Ok(())
}

fn check_certificate(options: &Options) -> Result<(), Refusal> {
    let Some(file) = &options.tls.certificate else {
        return Ok(());
    };
    std::fs::read(file).map(|_| ()).map_err(|error| {
        let name = file.display();
        let reason = crate::reason(&error);
        let text = format!("unable to get certificate from '{name}'\n{name}: {reason}\n");
        Refusal::to_stderr(1, text)
    })
}

/// How often the tally checks whether the time of `-t` is over.
const OFTEN: Duration = Duration::from_millis(50);

/// Returns the engine's plan.
///
/// # Errors
/// [`Abort`] with the message with which ab would stop before the first request.
fn plan(options: &Options, request: Request) -> Result<Plan, Abort> {
    let target = &options.target;
    let (host, port) = match &options.proxy {
        Some(proxy) => (&proxy.host, proxy.port),
        None => (&target.host, target.port),
    };
    let sources = source(options)?;
    let address = resolve::reachable(host, port)
        .map_err(|unresolved| Abort::of_resolver(host, unresolved))?;
    let endpoint = Endpoint {
        host: address.to_string(),
        port,
        tls: target.tls,
    };
    if options.concurrency == 0 {
        // ab would poll an empty set of connections and fail.
        return Err(Abort::of_system("apr_pollset_poll", libc::EINVAL));
    }
    if options.timeout.is_zero() {
        return Err(Abort::poll_timed_out());
    }
    let head = request.head[..request.head.len() - 2].to_vec();
    let sent = Sent::raw(endpoint, head, request.body, options.is_head());
    let stop = Stop {
        // Without -n, ab stops after the 50,000 requests that -t implies, even before the time is
        // over. Mehari runs for the whole time.
        arrivals: (options.bug_compatible || !options.requests_are_implied)
            .then_some(options.requests),
        time: options
            .time_limit
            .map(|seconds| Duration::from_secs(seconds.max(0) as u64)),
    };
    let schedule = Schedule::Closed {
        connections: options.concurrency as usize,
    };
    let mut plan = Plan::new(vec![sent], schedule, stop);
    plan.tick = OFTEN;
    plan.connection = Connection {
        keep_alive: options.keep_alive,
        tls: Arc::new(security::policy(options)),
        sources,
        timeout: options.timeout,
        receive_buffer: options.window.map(|bytes| bytes.max(0) as usize),
        send_buffer: options.window.map(|bytes| bytes.max(0) as usize),
        ..Connection::default()
    };
    Ok(plan)
}

/// Returns the source address of `-B`. Binds to the address once as a trial, to report the system's
/// error before any load is sent.
fn source(options: &Options) -> Result<Sources, Abort> {
    let Some(name) = &options.bind else {
        return Ok(Sources::Automatic);
    };
    let address: IpAddr =
        resolve::address(name).map_err(|unresolved| Abort::of_resolver(name, unresolved))?;
    TcpListener::bind((address, 0))
        .map_err(|error| Abort::of_system("bind", error.raw_os_error().unwrap_or(libc::EINVAL)))?;
    Ok(Sources::Fixed(vec![address]))
}

/// Runs the plan. Returns the tally and whether Ctrl-C ended the run.
fn drive(
    options: &Arc<Options>,
    plan: Plan,
    console: &Console,
) -> Result<(Tally, bool), PlanError> {
    let tally = Tally::new(options.clone(), console.clone());
    if options.time_limit.is_some_and(|seconds| seconds < 0) {
        return Ok((tally, false));
    }
    let (tally, ran) = engine::run_plan(plan, tally)?;
    Ok((tally, ran.interrupted))
}
