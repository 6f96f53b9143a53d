//! Renders the requests of a plan in httperf's form, and makes the sessions that use them.

use super::options::Options;
use super::parse::HttpVersion;
use super::session_log::{LoggedCall, LoggedSession};
use mehari_load::{Burst, Endpoint, OnFailure, Request, Session};
use std::collections::HashMap;
use std::time::Duration;

/// The requests of the plan. Equal requests are rendered once.
pub struct Requests<'o> {
    options: &'o Options,
    endpoint: Endpoint,
    pub rendered: Vec<Request>,
    known: HashMap<LoggedCall, usize>,
}

impl<'o> Requests<'o> {
    pub fn new(options: &'o Options, endpoint: Endpoint) -> Requests<'o> {
        Requests {
            options,
            endpoint,
            rendered: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub fn session(&mut self, template: &LoggedSession) -> Session {
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
        let asked = self.options.method.as_deref();
        let method = call.method.or(asked).unwrap_or("GET");
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

/// Returns the request line and httperf's header lines in httperf's order, without the blank line.
/// Like httperf, writes no port into `Host`. httperf has two faults, which Mehari repeats only with
/// `--bug-compatible`. With `--no-host-hdr` httperf sends an additional line end. If a line of
/// `--add-header` has no line end, httperf adds none.
fn head(options: &Options, method: &str, call: &LoggedCall) -> Vec<u8> {
    let HttpVersion { major, minor } = options.http_version;
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
