//! `mehari trace`: shows where the time of one request goes, part by part.

use super::{arguments, control};
use clap::Parser;
use mehari_trace::{output, Anatomy, CallReport, CallWatch, Timeline, TracedRequest};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long the cleanup of a request may take after its response.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Parser)]
#[command(
    name = "mehari trace",
    about = "Shows where the time of one request goes: the server, each Perl handler, each statement",
    after_help = "Examples:\n  mehari trace http://127.0.0.1:8080/shop?item=7\n  mehari trace --location /shop --count 3\n  mehari trace --wait /shop/cart --json\n  mehari trace http://127.0.0.1:8080/shop -o shop.html\n  mehari trace --calls http://127.0.0.1:8080/shop\n\n\
                  With a URL, the command itself sends the request (GET) to the server. With --location or --wait,\n\
                  the command waits for requests of other clients. Only the user of the server can trace. While\n\
                  nobody traces, the server measures nothing. SQL statements are shown with their placeholders,\n\
                  never with the bound values.\n\n\
                  --calls stops the server's processes at each system call, from before the request until after its\n\
                  cleanup. In this time, each system call of other requests takes some microseconds more."
)]
pub struct TraceOptions {
    /// Send a request for this address to the running server, and trace it.
    #[arg(value_name = "URL", required_unless_present_any = ["location", "wait"])]
    url: Option<String>,
    /// Wait for requests for this path and everything below it.
    #[arg(long, value_name = "PATH", value_parser = path, conflicts_with = "url")]
    location: Option<String>,
    /// Wait for requests for this path. If it has no query, every query matches.
    #[arg(long, value_name = "PATH", value_parser = path, conflicts_with_all = ["url", "location"])]
    wait: Option<String>,
    /// How many requests to trace.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,
    /// Show the system calls of the request: their number, their time and their files.
    #[arg(long, requires = "url", conflicts_with = "output")]
    calls: bool,
    /// Print JSON, one line for each request.
    #[arg(long)]
    json: bool,
    /// Write a page (.html) instead of the report.
    #[arg(short, long, value_name = "FILE.html", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && !text.contains(char::is_control);
    is_path
        .then(|| text.to_owned())
        .ok_or_else(|| "expected a path that begins with /".to_owned())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: TraceOptions = match arguments::parse("mehari trace", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match trace(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari trace: {reason}");
            ExitCode::from(1)
        }
    }
}

fn trace(options: &TraceOptions) -> Result<(), String> {
    let mut requests = Vec::new();
    if let Some(url) = &options.url {
        for _ in 0..options.count {
            if options.calls {
                show_calls(options, url)?;
                continue;
            }
            requests.push(trace_own(options.control.as_deref(), url, PATIENCE)?);
            give(options, &requests)?;
        }
        return Ok(());
    }
    let (kind, what) = match (&options.location, &options.wait) {
        (Some(location), _) => ("location", location),
        (None, wait) => ("url", wait.as_ref().ok_or("expected a URL or --location")?),
    };
    let mut order = Order::begin(
        options.control.as_deref(),
        &format!("{} {kind} {what}", options.count),
    )?;
    eprintln!(
        "mehari trace: waiting for {} of {what}; Ctrl-C ends it",
        counted(options.count as usize)
    );
    for _ in 0..options.count {
        requests.push(order.next()?);
        give(options, &requests)?;
    }
    Ok(())
}

fn counted(count: usize) -> String {
    match count {
        1 => "a request".to_owned(),
        count => format!("{count} requests"),
    }
}

/// Sends a request and traces it. The server knows the request by the port of the connection, and
/// learns the port before it can accept the connection. `patience` is the longest wait for the end
/// of the request's cleanup.
pub fn trace_own(control: Option<&Path>, url: &str, patience: Duration) -> Result<Anatomy, String> {
    let (_, timeline) = sent_and_traced(control, url, patience)?;
    Ok(Anatomy::of(&timeline))
}

/// Returns when the request was sent, and its timeline.
fn sent_and_traced(
    control: Option<&Path>,
    url: &str,
    patience: Duration,
) -> Result<(u64, Timeline), String> {
    let request = TracedRequest::prepare(url)?;
    let port = request.port().map_err(|error| format!("{url}: {error}"))?;
    let mut order = Order::begin(control, &format!("1 client {port}"))?;
    let since = mehari_observe::trace::now();
    let page = request.send().map_err(|error| format!("{url}: {error}"))?;
    if page.bytes == 0 {
        return Err(format!("{url}: the server closed the connection"));
    }
    order.wait_at_most(patience)?;
    let timeline = order.next_timeline().map_err(|reason| {
        format!("{url}: {reason}; is this the address of the server at the control socket?")
    })?;
    Ok((since, timeline))
}

/// Sends a request and shows the server's system calls meanwhile. Another thread sends the request,
/// because this thread lets the server's threads go on.
fn show_calls(options: &TraceOptions, url: &str) -> Result<(), String> {
    let control = options.control.as_deref();
    let status = control::ask(control, "status")?;
    let front = status["pid"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok());
    let front = front.ok_or("the server does not tell its process number")?;
    let mut watch = CallWatch::of(front).map_err(|error| error.to_string())?;
    let (watched, sent) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| sent_and_traced(control, url, PATIENCE));
        let watched = watch.run(|| sending.is_finished());
        // Only running processes can end the request.
        let recording = watch.finish();
        let sent = sending.join();
        (watched.map(|()| recording), sent)
    });
    let (since, timeline) = sent.map_err(|_| "the request was not sent")??;
    let recording = watched.map_err(|error| error.to_string())?;
    let report = CallReport::of(&timeline, front, since, recording);
    let anatomy = Anatomy::of(&timeline);
    if options.json {
        sayln!("{}", output::calls_json(&anatomy, &report));
    } else {
        sayln!("{}", output::calls_text(&anatomy, &report));
    }
    Ok(())
}

/// Prints the last request, or writes the page of all.
fn give(options: &TraceOptions, requests: &[Anatomy]) -> Result<(), String> {
    if let Some(file) = &options.output {
        std::fs::write(file, output::html(requests))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        sayln!(
            "mehari trace: {} in {}",
            counted(requests.len()),
            file.display()
        );
        return Ok(());
    }
    let Some(last) = requests.last() else {
        return Ok(());
    };
    if options.json {
        sayln!("{}", output::json(last));
    } else {
        sayln!("{}", output::text(last));
    }
    Ok(())
}

/// An order to the server to trace requests.
struct Order(BufReader<UnixStream>);

impl Order {
    fn begin(control: Option<&Path>, order: &str) -> Result<Order, String> {
        let mut stream = control::connect(control)?;
        stream
            .write_all(format!("trace {order}\n").as_bytes())
            .map_err(|error| format!("the server closed the connection: {error}"))?;
        let mut order = Order(BufReader::new(stream));
        let reply = order.line("the server gave no answer; is it another user's?")?;
        if reply["ok"] == true {
            Ok(order)
        } else {
            Err(reply["message"].as_str().unwrap_or_default().to_owned())
        }
    }

    fn wait_at_most(&self, time: Duration) -> Result<(), String> {
        let set = self.0.get_ref().set_read_timeout(Some(time));
        set.map_err(|error| error.to_string())
    }

    fn next(&mut self) -> Result<Anatomy, String> {
        Ok(Anatomy::of(&self.next_timeline()?))
    }

    fn next_timeline(&mut self) -> Result<Timeline, String> {
        let line = self.line("the server ended the tracing, as it does after five minutes")?;
        serde_json::from_value(line)
            .map_err(|error| format!("the server's answer is not understood: {error}"))
    }

    /// Reads a line. `ended` is the reason if there is none.
    fn line(&mut self, ended: &str) -> Result<Value, String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => "the server has not traced the request".to_owned(),
            _ => format!("the server closed the connection: {error}"),
        })?;
        if line.is_empty() {
            return Err(ended.to_owned());
        }
        serde_json::from_str(&line)
            .map_err(|_| "the server gave no answer; is it another user's?".to_owned())
    }
}
