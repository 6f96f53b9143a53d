//! From httperf's options to a plan of the engine: requests, sessions of bursts, arrivals.
//!
//! A connection with its calls is a session of the engine, whichever workload it stems from.

use super::options::{Arrival, Options, Uris, Workload};
use super::session_log::{self, LoggedBurst, LoggedCall, LoggedSession};
use crate::compat::drawn;
use crate::plan::{Arrivals, Connection, Pick, Plan, Schedule, Stop, TlsPolicy};
use crate::request::Request;
use crate::session::{Burst, OnFailure, Session};
use crate::url::Endpoint;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Without `--timeout` httperf waits for ever; a day stands for that.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// Builds the plan, or says what httperf would say after its name.
pub fn plan(options: &Options, address: String) -> Result<Plan, String> {
    let (templates, count, in_order) = templates(options)?;
    let endpoint = Endpoint {
        host: address,
        port: options.port(),
        tls: options.ssl,
    };
    let mut requests = Requests::new(options, endpoint);
    let sessions: Vec<Session> = templates
        .iter()
        .map(|template| requests.session(template))
        .collect();
    let mut plan = Plan::new(
        requests.rendered,
        schedule(options, count),
        stop(options, count),
    );
    plan.sessions = sessions;
    plan.pick = if in_order {
        Pick::InOrder
    } else {
        Pick::Random
    };
    plan.seed = 1 + options.client.0;
    plan.tick = Duration::from_millis(100);
    plan.connection = connection(options);
    Ok(plan)
}

fn stop(options: &Options, count: u64) -> Stop {
    let whole: f64 = match &options.arrival {
        Arrival::Variable(pairs) => pairs.iter().map(|(_, lasts)| lasts).sum(),
        _ => 0.0,
    };
    let time = match (options.runtime > 0.0, whole > 0.0) {
        (true, _) => Some(options.runtime),
        (false, true) => Some(whole),
        (false, false) => None,
    };
    Stop {
        arrivals: Some(count),
        time: time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    }
}

fn schedule(options: &Options, count: u64) -> Schedule {
    let most_connections = match options.max_connections {
        0 => MANY,
        most => most as usize,
    };
    let open = |between: f64, arrivals| Schedule::Open {
        rate: 1.0 / between,
        arrivals,
        most_connections,
    };
    match &options.arrival {
        Arrival::Sequential => Schedule::Closed { connections: 1 },
        Arrival::Every(between) => open(*between, Arrivals::Constant),
        Arrival::Uniform(least, most) => Schedule::Stages {
            stages: drawn::stages(*least, *most, count, options.client.0),
            arrivals: Arrivals::Constant,
            most_connections,
        },
        Arrival::Exponential(mean) => open(*mean, Arrivals::Poisson),
        Arrival::Variable(pairs) => Schedule::Stages {
            stages: pairs
                .iter()
                .map(|&(between, lasts)| drawn::steady(between, lasts))
                .collect(),
            arrivals: Arrivals::Constant,
            most_connections,
        },
    }
}

fn connection(options: &Options) -> Connection {
    let timeout = options
        .timeout()
        .map(|seconds| seconds + options.think_timeout)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Connection {
        close_with_reset: options.close_with_reset,
        tls: Arc::new(TlsPolicy {
            insecure: true,
            no_resumption: options.ssl_no_reuse,
            server_name: Some(options.server.clone()),
            ..TlsPolicy::default()
        }),
        timeout: timeout.unwrap_or(FOR_EVER),
        send_buffer: Some(options.send_buffer as usize).filter(|bytes| *bytes > 0),
        receive_buffer: Some(options.receive_buffer as usize).filter(|bytes| *bytes > 0),
        ..Connection::default()
    }
}

/// httperf opens as many as there are descriptors for.
const MANY: usize = u32::MAX as usize;

type Templates = (Vec<LoggedSession>, u64, bool);

/// The sessions to run, how many of them, and whether they take turns.
fn templates(options: &Options) -> Result<Templates, String> {
    match &options.workload {
        Workload::Log {
            sessions,
            think,
            file,
        } => {
            let bytes = std::fs::read(file).map_err(|_| format!("can't open {file}"))?;
            let text = String::from_utf8_lossy(&bytes);
            let logged = session_log::read(&text, file, *think)?;
            Ok((logged, *sessions, true))
        }
        Workload::Sessions {
            sessions,
            calls,
            think,
            ..
        } => of_calls(options, *sessions, *calls, *think),
        Workload::Connections => of_calls(options, options.num_conns, options.num_calls, 0.0),
    }
}

/// Sessions of `calls` calls with URIs as the options choose them: as many different sessions as the
/// choice has before it repeats.
fn of_calls(options: &Options, count: u64, calls: u64, think: f64) -> Result<Templates, String> {
    let method = method(options);
    let mut uris = uris(options, count.saturating_mul(calls))?
        .into_iter()
        .cycle();
    let different = match options.uris {
        Uris::One => 1,
        _ => count.max(1),
    };
    let bursts = burst_sizes(options, calls);
    let template = |uris: &mut dyn Iterator<Item = String>| -> LoggedSession {
        bursts
            .iter()
            .map(|size| LoggedBurst {
                calls: uris
                    .take(*size as usize)
                    .map(|uri| LoggedCall {
                        method,
                        uri,
                        contents: Vec::new(),
                    })
                    .collect(),
                think,
            })
            .collect()
    };
    let templates = (0..different).map(|_| template(&mut uris)).collect();
    let once = match options.uris {
        Uris::List { again: false, .. } => count.min(listed(options)? / calls.max(1)),
        _ => count,
    };
    Ok((templates, once, true))
}

/// httperf knows these methods by name and sends any other as it is.
fn method(options: &Options) -> &'static str {
    options.method.as_ref().map_or("GET", |_| CUSTOM)
}

/// Stands for `--method`'s word in a template.
const CUSTOM: &str = "";

/// `--burst-length` calls at a time, cut where `--max-piped-calls` allows fewer.
fn burst_sizes(options: &Options, calls: u64) -> Vec<u64> {
    let piped = match options.max_piped_calls {
        0 => u64::MAX,
        most => most,
    };
    let mut sizes = Vec::new();
    let mut left = calls;
    while left > 0 {
        let mut burst = options.burst_length.min(left);
        left -= burst;
        while burst > 0 {
            let size = burst.min(piped);
            sizes.push(size);
            burst -= size;
        }
    }
    sizes
}

fn listed(options: &Options) -> Result<u64, String> {
    Ok(uris(options, 0)?.len() as u64)
}

/// The URIs in the order they are asked for.
fn uris(options: &Options, wanted: u64) -> Result<Vec<String>, String> {
    match &options.uris {
        Uris::One => Ok(vec![options.uri.clone()]),
        Uris::List { file, .. } => {
            let bytes = std::fs::read(file).map_err(|_| format!("can't open {file}"))?;
            let found: Vec<String> = bytes
                .split(|&byte| byte == 0)
                .filter(|uri| !uri.is_empty())
                .map(|uri| String::from_utf8_lossy(uri).into_owned())
                .collect();
            match found.is_empty() {
                true => Err(format!("specified URI list is empty: {file}")),
                false => Ok(found),
            }
        }
        Uris::Set { files, miss_rate } => Ok(working_set(options, *files, *miss_rate, wanted)),
    }
}

/// A file of its own at the rate of the misses, the last one again between them.
fn working_set(options: &Options, files: u64, miss_rate: f64, wanted: u64) -> Vec<String> {
    let prefix = options.uri.trim_end_matches('/');
    let first = files * options.client.0 / options.client.1.max(1);
    let mut misses = 0.0;
    let mut file = 0;
    (0..wanted.min(1_000_000))
        .map(|_| {
            misses += miss_rate;
            if misses >= 1.0 {
                misses -= 1.0;
                file = (file + 1) % files.max(1);
            }
            format!("{prefix}{}", set_path((first + file) % files.max(1), files))
        })
        .collect()
}

/// `/0/1/2.html` is file 12 of the set: a digit a folder.
fn set_path(number: u64, files: u64) -> String {
    let width = files.saturating_sub(1).to_string().len();
    let digits = format!("{number:0width$}");
    let folders: Vec<String> = digits.chars().map(|digit| format!("/{digit}")).collect();
    format!("{}.html", folders.concat())
}

/// The requests of the plan, each different one rendered once.
struct Requests<'o> {
    options: &'o Options,
    endpoint: Endpoint,
    rendered: Vec<Request>,
    known: HashMap<LoggedCall, usize>,
}

impl<'o> Requests<'o> {
    fn new(options: &'o Options, endpoint: Endpoint) -> Requests<'o> {
        Requests {
            options,
            endpoint,
            rendered: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn session(&mut self, template: &LoggedSession) -> Session {
        let mut think = 0.0;
        let bursts = template
            .iter()
            .map(|burst| {
                let before = std::mem::replace(&mut think, burst.think);
                Burst {
                    calls: burst.calls.iter().map(|call| self.index(call)).collect(),
                    think: Duration::try_from_secs_f64(before).unwrap_or_default(),
                    not_before: None,
                }
            })
            .collect();
        Session {
            bursts,
            weight: 1,
            cookies: self.options.session_cookies,
            unwanted_status: u16::try_from(self.options.failure_status)
                .ok()
                .filter(|status| *status > 0),
            on_failure: OnFailure::End,
        }
    }

    fn index(&mut self, call: &LoggedCall) -> usize {
        if let Some(index) = self.known.get(call) {
            return *index;
        }
        let method = match (call.method, &self.options.method) {
            (CUSTOM, Some(method)) => method.as_str(),
            (CUSTOM, None) => "GET",
            (method, _) => method,
        };
        let head = head(self.options, method, call);
        self.rendered.push(Request::raw(
            self.endpoint.clone(),
            head,
            call.contents.clone(),
            method == "HEAD",
        ));
        let index = self.rendered.len() - 1;
        self.known.insert(call.clone(), index);
        index
    }
}

/// httperf's lines in its order, without the blank one. It writes no port into `Host`; without a host it
/// writes a stray line end, and it leaves an added line unfinished that does not end in `\n`.
fn head(options: &Options, method: &str, call: &LoggedCall) -> Vec<u8> {
    let (major, minor) = options.http_version;
    let mut head = format!(
        "{method} {} HTTP/{major}.{minor}\r\nUser-Agent: httperf/0.9.0\r\n",
        call.uri
    )
    .into_bytes();
    if (major, minor) == (1, 0) {
        head.extend(b"Connection: keep-alive\r\n");
    }
    let exact = options.bug_compatible;
    if options.no_host_header {
        head.extend(if exact { &b"\r\n"[..] } else { b"" });
    } else {
        let name = options.server_name.as_ref().unwrap_or(&options.server);
        let host = format!("Host: {name}\r\n");
        head.extend(host.into_bytes());
    }
    if !call.contents.is_empty() {
        head.extend(format!("Content-length: {}\r\n", call.contents.len()).into_bytes());
    }
    if let Some(lines) = &options.add_header {
        head.extend(super::escapes::unescaped(lines));
        if !head.ends_with(b"\n") && !exact {
            head.extend(b"\r\n");
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_cut_where_fewer_may_be_piped() {
        let options = Options {
            burst_length: 3,
            max_piped_calls: 2,
            ..Options::default()
        };
        assert_eq!(burst_sizes(&options, 7), [2, 1, 2, 1, 1]);
    }

    #[test]
    fn a_file_of_the_working_set_lies_under_its_digits() {
        assert_eq!(set_path(0, 30), "/0/0.html");
        assert_eq!(set_path(12, 30), "/1/2.html");
    }
}
