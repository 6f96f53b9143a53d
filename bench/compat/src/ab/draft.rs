//! Collects ab's options while `Options::parse` reads the command line, letter by letter. At the
//! end, makes ab's checks.

use super::options::{Html, Options, Proxy, Tls};
use super::target::Target;
use super::usage::{banner, usage};
use crate::console::Refusal;
use crate::getopt::Word;
use crate::number::atoi;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

/// The number of requests that `-t` sets.
const TIMED_REQUESTS: i32 = 50_000;
const MAX_CONCURRENCY: i32 = 200_000;
/// The size of ab's buffer for a base64 credential.
const MAX_CREDENTIAL: usize = 1024;

/// The options read so far. The fields are ab's global variables, with ab's defaults.
pub struct Draft {
    requests: i32,
    concurrency: i32,
    method: Option<Vec<u8>>,
    proxy: Option<(String, i32)>,
    progress: bool,
    html: Option<Html>,
    options: Options,
    pub notices: Vec<String>,
}

impl Draft {
    pub fn new(bug_compatible: bool) -> Draft {
        Draft {
            requests: 1,
            concurrency: 1,
            method: None,
            proxy: None,
            progress: true,
            html: None,
            options: Options {
                requests: 1,
                concurrency: 1,
                time_limit: None,
                requests_are_implied: false,
                timeout: Duration::from_secs(30),
                window: None,
                bind: None,
                method: Vec::new(),
                body: None,
                content_type: None,
                verbosity: 0,
                keep_alive: false,
                html: None,
                cookie: Vec::new(),
                credentials: Vec::new(),
                headers: Vec::new(),
                host_override: None,
                agent_overridden: false,
                accept_overridden: false,
                proxy: None,
                percentiles: true,
                confidence: true,
                progress: None,
                variable_length: false,
                receive_errors_allowed: false,
                gnuplot: None,
                csv: None,
                tls: Tls {
                    server_name: true,
                    protocol: None,
                    ciphers: None,
                    certificate: None,
                },
                target: Target::parse(b"localhost/").expect("a name and a slash are a target"),
                bug_compatible,
                notices: Vec::new(),
            },
            notices: Vec::new(),
        }
    }

    pub fn take(&mut self, letter: char) -> Result<(), Refusal> {
        let options = &mut self.options;
        match letter {
            'k' => options.keep_alive = true,
            'q' => self.progress = false,
            'd' => options.percentiles = false,
            'S' => options.confidence = false,
            'l' => options.variable_length = true,
            'r' => options.receive_errors_allowed = true,
            'I' => options.tls.server_name = false,
            'w' => {
                self.html();
            }
            'i' => self.set_method("HEAD")?,
            'h' => return Err(Refusal::to_stderr(22, usage())),
            'V' => return Err(Refusal::to_stdout(0, banner(false))),
            _ => unreachable!("the grammar has no other letter without an argument"),
        }
        Ok(())
    }

    pub fn take_with(&mut self, letter: char, argument: Word) -> Result<(), Refusal> {
        let text = || String::from_utf8_lossy(&argument).into_owned();
        let options = &mut self.options;
        match letter {
            'n' => {
                self.requests = atoi(&argument);
                options.requests_are_implied = false;
                if self.requests <= 0 {
                    return Err(fatal("Invalid number of requests\n"));
                }
            }
            'c' => self.concurrency = atoi(&argument),
            't' => {
                options.time_limit = Some(atoi(&argument)).filter(|seconds| *seconds != 0);
                options.requests_are_implied = true;
                self.requests = TIMED_REQUESTS;
            }
            's' => options.timeout = Duration::from_secs(atoi(&argument).max(0) as u64),
            'b' => options.window = Some(atoi(&argument)).filter(|bytes| *bytes != 0),
            'B' => options.bind = Some(text()),
            'v' => options.verbosity = atoi(&argument),
            'T' => options.content_type = Some(argument),
            'p' => self.set_body("POST", argument)?,
            'u' => self.set_body("PUT", argument)?,
            'm' => self.method = Some(argument),
            'C' => self.set_cookie(&argument),
            'H' => self.add_header(&argument),
            'A' => self.add_credential("Authorization", "Authentication", &argument)?,
            'P' => self.add_credential("Proxy-Authorization", "Proxy", &argument)?,
            'X' => self.proxy = Some(proxy(&text())),
            'g' => options.gnuplot = Some(path(argument)),
            'e' => options.csv = Some(path(argument)),
            'x' => self.html().table = text(),
            'y' => self.html().row = text(),
            'z' => self.html().cell = text(),
            'Z' => options.tls.ciphers = Some(text()),
            'f' => options.tls.protocol = Some(text()),
            'E' => options.tls.certificate = Some(path(argument)),
            _ => unreachable!("the grammar has no other letter with an argument"),
        }
        Ok(())
    }

    fn html(&mut self) -> &mut Html {
        self.html.get_or_insert_with(|| Html {
            table: String::new(),
            row: String::new(),
            cell: "bgcolor=white".into(),
        })
    }

    fn set_method(&mut self, method: &str) -> Result<(), Refusal> {
        if self.method.is_some() {
            let text = format!("Cannot mix {method} with other methods\n");
            return Err(fatal(&text));
        }
        self.method = Some(method.into());
        Ok(())
    }

    fn set_body(&mut self, method: &str, file: Word) -> Result<(), Refusal> {
        self.set_method(method)?;
        let file = path(file);
        let body = std::fs::read(&file).map_err(|error| {
            let name = file.display();
            let reason = crate::reason(&error);
            let text = format!("ab: Could not open POST data file ({name}): {reason}\n");
            Refusal::to_stderr(1, text)
        })?;
        self.options.body = Some(body);
        Ok(())
    }

    /// Adds a cookie. ab sends the cookie of the last `-C` only, although its usage calls the
    /// option repeatable. Mehari sends all cookies.
    fn set_cookie(&mut self, cookie: &[u8]) {
        if self.options.bug_compatible {
            self.options.cookie.clear();
        }
        self.options
            .cookie
            .extend([b"Cookie: ".as_slice(), cookie, b"\r\n"].concat());
    }

    fn add_header(&mut self, line: &[u8]) {
        let options = &mut self.options;
        options.headers.extend([line, b"\r\n"].concat());
        let names =
            |name: &[u8]| line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name);
        if names(b"Host:") {
            let value = line[5..].trim_ascii();
            options.host_override = Some(String::from_utf8_lossy(value).into_owned());
        } else if names(b"Accept:") {
            options.accept_overridden = true;
        } else if names(b"User-Agent:") {
            options.agent_overridden = true;
        }
    }

    fn add_credential(&mut self, header: &str, what: &str, pair: &[u8]) -> Result<(), Refusal> {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair.trim_ascii_start());
        if encoded.len() >= MAX_CREDENTIAL {
            return Err(fatal(&format!("{what} credentials too long\n")));
        }
        let line = format!("{header}: Basic {encoded}\r\n");
        self.options.credentials.extend(line.into_bytes());
        Ok(())
    }

    pub fn misuse(&self, line: &str) -> Refusal {
        let text = format!("{}{line}\n{}", self.notices.concat(), usage());
        Refusal::to_stderr(22, text)
    }

    pub fn finish(mut self, url: &[u8]) -> Result<Options, Refusal> {
        let Some(target) = Target::parse(url) else {
            return Err(self.misuse("ab: invalid URL"));
        };
        if !(0..=MAX_CONCURRENCY).contains(&self.concurrency) {
            let line = format!("ab: Invalid Concurrency [Range 0..{MAX_CONCURRENCY}]");
            return Err(self.misuse(&line));
        }
        if self.concurrency > self.requests {
            return Err(self
                .misuse("ab: Cannot use concurrency level greater than total number of requests"));
        }
        let requests = self.requests as u64;
        let told = self.progress && requests > 150;
        self.say_what_cannot_be_honoured();
        Ok(Options {
            requests,
            concurrency: self.concurrency as u32,
            method: self.method.unwrap_or_else(|| b"GET".to_vec()),
            progress: told.then_some((requests / 10).max(100)),
            proxy: self.proxy.map(|(host, port)| Proxy {
                host,
                port: port as u16,
            }),
            html: self.html,
            target,
            notices: self.notices,
            ..self.options
        })
    }

    /// Adds a notice for each option that has no effect with rustls.
    fn say_what_cannot_be_honoured(&mut self) {
        if let Some(ciphers) = &self.options.tls.ciphers {
            self.notices.push(format!(
                "ab: -Z {ciphers} has no effect: the cipher suites are rustls's own\n"
            ));
        }
        let old = ["SSL2", "SSL3", "TLS1", "TLS1.1"];
        if let Some(protocol) = &self.options.tls.protocol {
            if old.iter().any(|name| protocol.eq_ignore_ascii_case(name)) {
                self.notices.push(format!(
                    "ab: -f {protocol} has no effect: TLS 1.2 and 1.3 are spoken\n"
                ));
            }
        }
    }
}

/// Returns a refusal like that of ab's `err()`: the text, a newline, and status 1.
fn fatal(text: &str) -> Refusal {
    Refusal::to_stderr(1, format!("{text}\n"))
}

fn path(word: Word) -> PathBuf {
    PathBuf::from(OsString::from_vec(word))
}

/// Reads `name[:port]`. Like ab, takes an unreadable port for 0.
fn proxy(text: &str) -> (String, i32) {
    match text.split_once(':') {
        Some((host, port)) => (host.into(), atoi(port.as_bytes())),
        None => (text.into(), 0),
    }
}
