//! Reads ab's command line as APR's getopt does. Options take effect in their order, so
//! `-t 10 -n 9` and `-n 9 -t 10` differ. An unknown letter ends the options with a line on stderr.

use super::draft::Draft;
use super::target::Target;
use crate::console::Refusal;
use crate::getopt::{Letter, Letters, Word};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

const GRAMMAR: &str = "n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:";
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
    /// The value of `-f` as typed.
    pub protocol: Option<String>,
    /// The value of `-Z`: an OpenSSL cipher string.
    pub ciphers: Option<String>,
    /// The value of `-E`: a PEM file with chain and key.
    pub certificate: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub requests: u64,
    pub concurrency: u32,
    /// The limit of `-t` in seconds. A limit of zero or less ends the run at the first check of the
    /// clock.
    pub time_limit: Option<i32>,
    /// Whether the number of requests comes from `-t` and not from `-n`.
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
    /// The value of a `Host:` line among the `-H` lines.
    pub host_override: Option<String>,
    pub agent_overridden: bool,
    pub accept_overridden: bool,
    pub proxy: Option<Proxy>,
    pub percentiles: bool,
    pub confidence: bool,
    /// The number of requests between progress lines; `None` for no progress lines.
    pub progress: Option<u64>,
    pub variable_length: bool,
    pub receive_errors_allowed: bool,
    pub gnuplot: Option<PathBuf>,
    pub csv: Option<PathBuf>,
    pub tls: Tls,
    pub target: Target,
    /// Whether to calculate as ab does, with ab's faults.
    pub bug_compatible: bool,
    /// Lines for stderr that do not stop the run.
    pub notices: Vec<String>,
}

impl Options {
    pub fn is_head(&self) -> bool {
        self.method == b"HEAD"
    }

    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// [`Refusal`] with the message and status with which ab refuses the command line.
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
    fn a_time_limit_sets_the_requests_at_its_place_in_the_command_line() {
        assert_eq!(accepted("-t 10 -n 9 h/").requests, 9);
        assert_eq!(accepted("-n 9 -t 10 h/").requests, 50_000);
        assert_eq!(accepted("-t 10 -n 1000000 h/").requests, 1_000_000);
    }

    #[test]
    fn several_letters_may_follow_one_dash() {
        let options = accepted("-kc10 -dSn 20 h/");
        assert!(options.keep_alive && !options.percentiles && !options.confidence);
        assert_eq!((options.concurrency, options.requests), (10, 20));
    }

    #[test]
    fn progress_is_printed_after_each_tenth_but_at_least_a_hundred_requests() {
        assert_eq!(accepted("-n 150 h/").progress, None);
        assert_eq!(accepted("-n 151 h/").progress, Some(100));
        assert_eq!(accepted("-n 5000 h/").progress, Some(500));
        assert_eq!(accepted("-q -n 5000 h/").progress, None);
    }

    #[test]
    fn misuse_is_refused_with_abs_message_and_status() {
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
    fn an_unknown_letter_is_reported_and_the_run_goes_on() {
        assert_eq!(accepted("-Q h/").notices, ["ab: illegal option -- Q\n"]);
    }

    #[test]
    fn every_cookie_is_sent_unless_bug_compatible() {
        let both = accepted("-C a=1 -C b=2 h/").cookie;
        assert_eq!(both, b"Cookie: a=1\r\nCookie: b=2\r\n");
        let last = accepted("--bug-compatible -C a=1 -C b=2 h/").cookie;
        assert_eq!(last, b"Cookie: b=2\r\n");
    }

    #[test]
    fn every_letter_of_the_grammar_is_read() {
        let mut letters = GRAMMAR.chars().peekable();
        while let Some(letter) = letters.next() {
            let argument = if letters.next_if_eq(&':').is_some() {
                " 1"
            } else {
                ""
            };
            let answer = parse(&format!("-{letter}{argument} h/"));
            let ends = matches!(letter, 'h' | 'V' | 'p' | 'u');
            assert_eq!(answer.is_err(), ends, "-{letter}: {answer:?}");
        }
    }

    #[test]
    fn an_option_without_effect_is_reported_in_one_line() {
        let told = |line: &str| accepted(line).notices.concat();
        assert_eq!(
            told("-Z HIGH h/"),
            "ab: -Z HIGH has no effect: the cipher suites are rustls's own\n"
        );
        assert_eq!(
            told("-f SSL3 h/"),
            "ab: -f SSL3 has no effect: TLS 1.2 and 1.3 are spoken\n"
        );
        assert_eq!(told("-f TLS1.3 h/"), "");
    }
}
