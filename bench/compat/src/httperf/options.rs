//! Reads httperf's command line like `getopt_long`: any unique prefix of a name is accepted, later
//! options replace earlier ones, and words that are no options are skipped.

use super::parse::{self, ClientShare, HttpVersion, ParseError};
use super::table::{misuse, LETTERS, TABLE};
use super::usage::usage;
use crate::console::Refusal;
use crate::getopt::{long_options, Word};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// When connections or sessions start. The numbers are intervals in seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// Each connection or session starts after the end of the previous connection or session.
    Sequential,
    Every(f64),
    Uniform(f64, f64),
    Exponential(f64),
    /// Pairs of an interval and the time during which it applies.
    Variable(Vec<(f64, f64)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Print {
    Header,
    Body,
    Both,
}

impl Print {
    pub fn header(self) -> bool {
        self != Print::Body
    }

    pub fn body(self) -> bool {
        self != Print::Header
    }
}

/// The kind of work of each arrival.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    Connections,
    /// `--wsess` and `--wsesspage`: sessions, calls per session, and think time in seconds.
    Sessions {
        sessions: u64,
        calls: u64,
        think: f64,
        pages: bool,
    },
    /// `--wsesslog`: sessions, think time in seconds, and file.
    Log {
        sessions: u64,
        think: f64,
        file: String,
    },
}

impl Workload {
    pub fn is_sessions(&self) -> bool {
        *self != Workload::Connections
    }
}

/// The choice of URIs.
#[derive(Debug, Clone, PartialEq)]
pub enum Uris {
    One,
    /// `--wlog`: NUL-separated URIs of a file, used once or repeatedly.
    List {
        again: bool,
        file: String,
    },
    /// `--wset`: the number of files, and the share of requests that go to a new file.
    Set {
        files: u64,
        miss_rate: f64,
    },
}

#[derive(Debug, Clone)]
pub struct Options {
    pub verbose: u32,
    pub print_reply: Option<Print>,
    pub print_request: Option<Print>,
    pub hog: bool,
    pub close_with_reset: bool,
    /// `--think-timeout` in seconds; 0 without the option.
    pub think_timeout: f64,
    pub timeout: f64,
    pub client: ClientShare,
    pub server: String,
    pub server_name: Option<String>,
    pub port: Option<u16>,
    pub uri: String,
    pub failure_status: u64,
    pub http_version: HttpVersion,
    pub max_connections: u64,
    pub max_piped_calls: u64,
    pub arrival: Arrival,
    pub send_buffer: u64,
    pub receive_buffer: u64,
    pub retry_on_failure: bool,
    pub session_cookies: bool,
    pub ssl: bool,
    pub ssl_ciphers: Option<String>,
    pub ssl_no_reuse: bool,
    pub add_header: Option<Word>,
    pub method: Option<String>,
    pub no_host_header: bool,
    pub workload: Workload,
    pub uris: Uris,
    pub num_conns: u64,
    pub num_calls: u64,
    pub burst_length: u64,
    /// `--runtime` in seconds: the run ends after this time (httperf 0.9.1).
    pub runtime: f64,
    pub bug_compatible: bool,
    pub notices: Vec<String>,
    /// The text that `--version` prints before the run.
    pub preface: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            verbose: 0,
            print_reply: None,
            print_request: None,
            hog: false,
            close_with_reset: false,
            think_timeout: 0.0,
            timeout: 0.0,
            client: ClientShare {
                number: 0,
                clients: 1,
            },
            server: "localhost".into(),
            server_name: None,
            port: None,
            uri: "/".into(),
            failure_status: 0,
            http_version: HttpVersion { major: 1, minor: 1 },
            max_connections: 0,
            max_piped_calls: 0,
            arrival: Arrival::Sequential,
            send_buffer: 4096,
            receive_buffer: 16384,
            retry_on_failure: false,
            session_cookies: false,
            ssl: false,
            ssl_ciphers: None,
            ssl_no_reuse: false,
            add_header: None,
            method: None,
            no_host_header: false,
            workload: Workload::Connections,
            uris: Uris::One,
            num_conns: 1,
            num_calls: 1,
            burst_length: 1,
            runtime: 0.0,
            bug_compatible: false,
            notices: Vec::new(),
            preface: String::new(),
        }
    }
}

impl Options {
    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// [`Refusal`] with the message and status with which httperf refuses the command line.
    pub fn parse(arguments: &[OsString]) -> Result<Options, Refusal> {
        let (own, words): (Vec<Word>, Vec<Word>) = arguments
            .iter()
            .map(|argument| argument.as_bytes().to_vec())
            .partition(|word| word == b"--bug-compatible");
        let mut options = Options {
            bug_compatible: !own.is_empty(),
            ..Options::default()
        };
        for found in long_options(&words, TABLE, LETTERS) {
            let (name, argument) = found.map_err(|error| options.refuse(&misuse(error)))?;
            let taken = match argument {
                Some(argument) => options.take_with(name, argument),
                None => options.take(name),
            };
            match taken {
                Ok(()) => {}
                Err(ParseError::Help) => return Err(options.help()),
                Err(ParseError::Wrong(text)) => return Err(options.refuse(&text)),
            }
        }
        if options.session_cookies && !options.workload.is_sessions() {
            let text = "--session-cookie requires session-oriented workload (e.g., --wsess)";
            return Err(Refusal {
                status: 255,
                ..options.refuse(text)
            });
        }
        options.say_what_cannot_be_honoured();
        Ok(options)
    }

    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.ssl { 443 } else { 80 })
    }

    pub fn timeout(&self) -> Option<f64> {
        (self.timeout > 0.0).then_some(self.timeout)
    }

    fn refuse(&self, text: &str) -> Refusal {
        Refusal {
            status: 1,
            out: self.preface.clone().into_bytes(),
            err: format!("{}httperf: {text}\n", self.notices.concat()).into_bytes(),
        }
    }

    fn help(&self) -> Refusal {
        Refusal {
            status: 0,
            out: format!("{}{}", self.preface, usage()).into_bytes(),
            err: self.notices.concat().into_bytes(),
        }
    }

    fn take(&mut self, name: &'static str) -> Result<(), ParseError> {
        match name {
            "close-with-reset" => self.close_with_reset = true,
            "help" => return Err(ParseError::Help),
            "hog" => self.hog = true,
            "no-host-hdr" => self.no_host_header = true,
            "print-reply" => self.print_reply = Some(Print::Both),
            "print-request" => self.print_request = Some(Print::Both),
            "retry-on-failure" => self.retry_on_failure = true,
            "session-cookies" => self.session_cookies = true,
            "ssl" => self.ssl = true,
            "ssl-no-reuse" => self.ssl_no_reuse = true,
            "verbose" => self.verbose += 1,
            "version" => self.preface.push_str(super::usage::VERSION),
            _ => unreachable!("`{name}` takes an argument"),
        }
        Ok(())
    }

    fn take_with(&mut self, name: &'static str, argument: Word) -> Result<(), ParseError> {
        let text = String::from_utf8_lossy(&argument).into_owned();
        let text = text.as_str();
        match name {
            "add-header" => self.add_header = Some(argument),
            "burst-length" => {
                self.burst_length = parse::at_least(text, 1, "illegal burst-length")?;
            }
            "client" => self.client = parse::client(text)?,
            "debug" => self
                .notices
                .push("httperf: sorry, need to recompile with -DDEBUG on...\n".into()),
            "failure-status" => {
                self.failure_status = parse::at_least(text, 1, "illegal failure status")?;
            }
            "http-version" => self.http_version = parse::http_version(text)?,
            "max-connections" => {
                self.max_connections = parse::count(text, "illegal max. # of connection")?;
            }
            "max-piped-calls" => {
                self.max_piped_calls = parse::count(text, "illegal max. # of piped calls")?;
            }
            "method" => self.method = Some(text.into()),
            "num-calls" => self.num_calls = parse::count(text, "illegal number of calls")?,
            "num-conns" => self.num_conns = parse::count(text, "illegal number of connections")?,
            "period" => self.arrival = parse::period(text)?,
            "port" => self.port = Some(parse::port(text)?),
            "print-reply" => self.print_reply = Some(print(text)),
            "print-request" => self.print_request = Some(print(text)),
            "rate" => self.arrival = parse::rate(text)?,
            "recv-buffer" => {
                self.receive_buffer = parse::count(text, "illegal receive buffer size")?;
            }
            "runtime" => self.runtime = parse::seconds(text, "illegal runtime")?,
            "send-buffer" => self.send_buffer = parse::count(text, "illegal send buffer size")?,
            "server" => self.server = text.into(),
            "server-name" => self.server_name = Some(text.into()),
            "ssl-ciphers" => self.ssl_ciphers = Some(text.into()),
            "think-timeout" => {
                self.think_timeout = parse::seconds(text, "illegal think timeout value")?;
            }
            "timeout" => self.timeout = parse::seconds(text, "illegal connect timeout")?,
            "uri" => self.uri = text.into(),
            "wlog" => {
                self.uris = Uris::List {
                    again: text.starts_with(['y', 'Y']),
                    file: text.chars().skip(2).collect(),
                }
            }
            "wsess" => self.workload = parse::sessions(text, false)?,
            "wsesspage" => self.workload = parse::sessions(text, true)?,
            "wsesslog" => self.workload = parse::session_log(text)?,
            "wset" => self.uris = parse::working_set(text)?,
            _ => unreachable!("`{name}` takes no argument"),
        }
        Ok(())
    }

    /// Adds a notice for each option that has no effect in Mehari.
    fn say_what_cannot_be_honoured(&mut self) {
        let mut say = |text: &str| self.notices.push(format!("httperf: {text}\n"));
        if self.hog {
            say("--hog has no effect: the ports the system hands out are used, and further loopback addresses when they run out");
        }
        if self.ssl_ciphers.is_some() {
            say("--ssl-ciphers has no effect: the cipher suites are rustls's own");
        }
        if self.retry_on_failure {
            say("--retry-on-failure has no effect: a request that failed stays failed");
        }
        if let Workload::Sessions { pages: true, .. } = self.workload {
            say("--wsesspage asks for the page only, not for what is embedded in it");
        }
    }
}

fn print(text: &str) -> Print {
    match text.chars().next() {
        Some('h' | 'H') => Print::Header,
        Some('b' | 'B') => Print::Body,
        _ => Print::Both,
    }
}

#[cfg(test)]
mod tests;
