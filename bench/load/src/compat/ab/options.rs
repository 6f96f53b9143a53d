//! ab's command line. The walk is getopt's: options take effect in the order they are read, so
//! `-t 10 -n 9` and `-n 9 -t 10` differ, and a letter ab does not know ends the options with a line on stderr.

use super::target::Target;
use super::usage::{banner, usage};
use crate::compat::console::Refusal;
use crate::compat::getopt::{Letter, Letters, Word};
use crate::compat::number::atoi;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

const GRAMMAR: &str = "n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:";
/// What `-t` sets `-n` to.
const TIMED_REQUESTS: i32 = 50_000;
const MAX_CONCURRENCY: i32 = 200_000;
/// ab's buffer for a base64 credential.
const MAX_CREDENTIAL: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Html {
    pub table: String,
    pub row: String,
    pub cell: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub server_name: bool,
    /// `-f`, as typed.
    pub protocol: Option<String>,
    /// `-Z`, an OpenSSL cipher string.
    pub ciphers: Option<String>,
    /// `-E`: a PEM file with chain and key.
    pub certificate: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub requests: u64,
    pub concurrency: u32,
    /// A limit of zero or less ends the run at its first look at the clock.
    pub time_limit: Option<i32>,
    /// `-t` set the number of requests, nobody asked for it.
    pub requests_are_implied: bool,
    pub timeout: Duration,
    pub window: Option<i32>,
    pub bind: Option<String>,
    pub method: Vec<u8>,
    pub body: Option<Vec<u8>>,
    pub content_type: Option<Word>,
    pub verbosity: i32,
    pub keep_alive: bool,
    pub html: Option<Html>,
    pub cookie: Vec<u8>,
    pub credentials: Vec<u8>,
    pub headers: Vec<u8>,
    /// The value of a `Host:` among the `-H` lines.
    pub host_override: Option<String>,
    pub agent_overridden: bool,
    pub accept_overridden: bool,
    pub proxy: Option<Proxy>,
    pub percentiles: bool,
    pub confidence: bool,
    /// Progress is told each so many requests; `None` is silence.
    pub progress: Option<u64>,
    pub variable_length: bool,
    pub receive_errors_allowed: bool,
    pub gnuplot: Option<PathBuf>,
    pub csv: Option<PathBuf>,
    pub tls: Tls,
    pub target: Target,
    /// The originals' arithmetic, faults included.
    pub bug_compatible: bool,
    /// Lines for stderr that do not stop the run.
    pub notices: Vec<String>,
}

impl Options {
    pub fn is_head(&self) -> bool {
        self.method == b"HEAD"
    }

    /// Reads a command line without the program's name.
    pub fn parse(arguments: &[OsString]) -> Result<Options, Refusal> {
        let (own, words): (Vec<Word>, Vec<Word>) = arguments
            .iter()
            .map(|argument| argument.as_bytes().to_vec())
            .partition(|word| word == b"--bug-compatible" || word == b"--help");
        if own.iter().any(|word| word == b"--help") {
            return Err(Refusal::to_stdout(0, super::usage::help()));
        }
        let mut draft = Draft::new(!own.is_empty());
        let mut letters = Letters::new(&words, GRAMMAR);
        for letter in letters.by_ref() {
            match letter {
                Letter::Option(letter) => draft.take(letter)?,
                Letter::With(letter, argument) => draft.take_with(letter, argument)?,
                Letter::Unknown(letter) => {
                    draft
                        .notices
                        .push(format!("ab: illegal option -- {letter}\n"));
                    break;
                }
                Letter::ArgumentMissing(letter) => {
                    draft
                        .notices
                        .push(format!("ab: option requires an argument -- {letter}\n"));
                    break;
                }
            }
        }
        match letters.rest() {
            [url] => draft.finish(url),
            _ => Err(draft.misuse("ab: wrong number of arguments")),
        }
    }
}

/// The options while they are read: ab's globals, with its defaults.
struct Draft {
    requests: i32,
    concurrency: i32,
    method: Option<Vec<u8>>,
    proxy: Option<(String, i32)>,
    progress: bool,
    html: Option<Html>,
    options: Options,
    notices: Vec<String>,
}

impl Draft {
    fn new(bug_compatible: bool) -> Draft {
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

    fn take(&mut self, letter: char) -> Result<(), Refusal> {
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

    fn take_with(&mut self, letter: char, argument: Word) -> Result<(), Refusal> {
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
            let reason = crate::compat::reason(&error);
            let text = format!("ab: Could not open POST data file ({name}): {reason}\n");
            Refusal::to_stderr(1, text)
        })?;
        self.options.body = Some(body);
        Ok(())
    }

    /// ab keeps the last `-C` only, though its usage says repeatable: here each is sent.
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

    fn misuse(&self, line: &str) -> Refusal {
        let text = format!("{}{line}\n{}", self.notices.concat(), usage());
        Refusal::to_stderr(22, text)
    }

    fn finish(mut self, url: &[u8]) -> Result<Options, Refusal> {
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

    /// Options that have no meaning with our TLS library: one line each.
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

/// ab's `err()`: the text, a newline, status 1.
fn fatal(text: &str) -> Refusal {
    Refusal::to_stderr(1, format!("{text}\n"))
}

fn path(word: Word) -> PathBuf {
    PathBuf::from(OsString::from_vec(word))
}

/// `name[:port]`; ab reads a port it cannot understand as 0.
fn proxy(text: &str) -> (String, i32) {
    match text.split_once(':') {
        Some((host, port)) => (host.into(), atoi(port.as_bytes())),
        None => (text.into(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Refusal> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Options::parse(&words)
    }

    fn accepted(line: &str) -> Options {
        parse(line).unwrap_or_else(|refusal| panic!("{line}: {refusal:?}"))
    }

    fn refused(line: &str) -> (u8, String) {
        let refusal = parse(line).err().unwrap_or_else(|| panic!("{line} passed"));
        (
            refusal.status,
            String::from_utf8_lossy(&refusal.err).into_owned(),
        )
    }

    #[test]
    fn a_time_limit_sets_the_requests_where_it_stands() {
        assert_eq!(accepted("-t 10 -n 9 h/").requests, 9);
        assert_eq!(accepted("-n 9 -t 10 h/").requests, 50_000);
        assert_eq!(accepted("-t 10 -n 1000000 h/").requests, 1_000_000);
    }

    #[test]
    fn letters_bundle() {
        let options = accepted("-kc10 -dSn 20 h/");
        assert!(options.keep_alive && !options.percentiles && !options.confidence);
        assert_eq!((options.concurrency, options.requests), (10, 20));
    }

    #[test]
    fn progress_is_told_each_tenth_but_no_oftener_than_each_hundred() {
        assert_eq!(accepted("-n 150 h/").progress, None);
        assert_eq!(accepted("-n 151 h/").progress, Some(100));
        assert_eq!(accepted("-n 5000 h/").progress, Some(500));
        assert_eq!(accepted("-q -n 5000 h/").progress, None);
    }

    #[test]
    fn misuse_is_told_in_abs_words_with_abs_status() {
        let rows = [
            ("", 22, "ab: wrong number of arguments\nUsage: ab "),
            ("a/ b/", 22, "ab: wrong number of arguments\nUsage: ab "),
            ("http://h", 22, "ab: invalid URL\nUsage: ab "),
            ("-n 0 h/", 1, "Invalid number of requests\n\n"),
            (
                "-c 5 h/",
                22,
                "ab: Cannot use concurrency level greater than total number of requests\nUsage",
            ),
            (
                "-c 200001 -n 300000 h/",
                22,
                "ab: Invalid Concurrency [Range 0..200000]\nUsage",
            ),
            (
                "-n",
                22,
                "ab: option requires an argument -- n\nab: wrong number",
            ),
            ("-i -p x h/", 1, "Cannot mix POST with other methods\n\n"),
            ("-m PUT -i h/", 1, "Cannot mix HEAD with other methods\n\n"),
            (
                "-p /no/such h/",
                1,
                "ab: Could not open POST data file (/no/such): No such file or directory\n",
            ),
            ("-h", 22, "Usage: ab [options]"),
        ];
        for (line, status, text) in rows {
            let (found, said) = refused(line);
            assert_eq!(found, status, "{line}");
            assert!(said.starts_with(text), "{line}: {said}");
        }
    }

    #[test]
    fn an_unknown_letter_is_told_and_the_run_goes_on() {
        assert_eq!(accepted("-Q h/").notices, ["ab: illegal option -- Q\n"]);
    }

    #[test]
    fn every_cookie_is_sent_unless_the_old_fault_is_asked_for() {
        let both = accepted("-C a=1 -C b=2 h/").cookie;
        assert_eq!(both, b"Cookie: a=1\r\nCookie: b=2\r\n");
        let last = accepted("--bug-compatible -C a=1 -C b=2 h/").cookie;
        assert_eq!(last, b"Cookie: b=2\r\n");
    }
}
