//! Reads http_load's command line. An option is one dash and any prefix of a name. If several names
//! match, the first name of the list counts.

use crate::console::Refusal;
use crate::getopt::Word;
use crate::number::atoi;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Bytes per second of a 33.6 kbit/s modem with ten bits per byte.
const MODEM: u64 = 3360;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Parallel(u32),
    /// The number of fetches per second.
    Rate(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Fetches(u32),
    Seconds(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub checksum: bool,
    /// The bytes per second that each connection reads.
    pub throttle: Option<u64>,
    pub verbose: bool,
    pub timeout: u32,
    pub jitter: bool,
    pub start: Start,
    pub end: End,
    pub sources: Option<PathBuf>,
    pub proxy: Option<(String, u16)>,
    pub seed: u64,
    pub urls: PathBuf,
    pub bug_compatible: bool,
    pub notices: Vec<String>,
}

/// The names in the order in which http_load tries them, and whether a value follows. `-seed` comes
/// from a later fork.
const NAMES: &[(&str, bool)] = &[
    ("-checksum", false),
    ("-throttle", false),
    ("-Throttle", true),
    ("-verbose", false),
    ("-timeout", true),
    ("-jitter", false),
    ("-parallel", true),
    ("-rate", true),
    ("-fetches", true),
    ("-seconds", true),
    ("-sip", true),
    ("-cipher", true),
    ("-proxy", true),
    ("-seed", true),
];

/// The usage message, printed after every wrong command line.
pub const USAGE: &str = "usage:  http_load [-checksum] [-throttle] [-proxy host:port] [-verbose] [-timeout secs] [-sip sip_file]\n\
    \x20           [-cipher str]\n\
    \x20           -parallel N | -rate N [-jitter]\n\
    \x20           -fetches N | -seconds N\n\
    \x20           url_file\n\
    One start specifier, either -parallel or -rate, is required.\n\
    One end specifier, either -fetches or -seconds, is required.\n";

fn usage() -> Refusal {
    Refusal::to_stderr(1, USAGE)
}

fn refuse(text: &str) -> Refusal {
    Refusal::to_stderr(1, format!("http_load: {text}\n"))
}

#[derive(Default)]
struct Draft {
    checksum: bool,
    throttle: Option<u64>,
    verbose: bool,
    timeout: Option<u32>,
    jitter: bool,
    start: Option<Start>,
    end: Option<End>,
    sources: Option<PathBuf>,
    proxy: Option<(String, u16)>,
    seed: Option<u64>,
    bug_compatible: bool,
    notices: Vec<String>,
}

impl Options {
    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// [`Refusal`] with the message and status with which http_load refuses the command line.
    pub fn parse(arguments: &[OsString]) -> Result<Options, Refusal> {
        let mut draft = Draft::default();
        let mut words = arguments
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .peekable();
        while let Some(word) = words.next_if(|word| word.len() > 1 && word[0] == b'-') {
            match &word[..] {
                b"--bug-compatible" => draft.bug_compatible = true,
                b"--help" => {
                    return Err(Refusal::to_stdout(0, USAGE));
                }
                _ => draft.take(&word, &mut words)?,
            }
        }
        match (words.next(), words.next()) {
            (Some(urls), None) => draft.finish(PathBuf::from(OsString::from_vec(urls))),
            _ => Err(usage()),
        }
    }
}

impl Draft {
    fn take(
        &mut self,
        word: &[u8],
        words: &mut std::iter::Peekable<impl Iterator<Item = Word>>,
    ) -> Result<(), Refusal> {
        let more = words.peek().is_some();
        let found = NAMES
            .iter()
            .find(|(name, takes)| name.as_bytes().starts_with(word) && (!takes || more));
        match found {
            None => Err(usage()),
            Some((name, false)) => {
                self.set(name);
                Ok(())
            }
            Some((name, true)) => self.set_to(name, words.next().unwrap_or_default()),
        }
    }

    fn set(&mut self, name: &str) {
        match name {
            "-checksum" => self.checksum = true,
            "-throttle" => self.throttle = Some(MODEM),
            "-verbose" => self.verbose = true,
            _ => self.jitter = true,
        }
    }

    fn set_to(&mut self, name: &str, word: Word) -> Result<(), Refusal> {
        let text = String::from_utf8_lossy(&word).into_owned();
        match name {
            "-Throttle" => {
                let bits = atoi(&word);
                if bits < 10 {
                    return Err(refuse("throttle must be at least 10"));
                }
                self.throttle = Some(bits as u64 / 10);
            }
            "-timeout" => self.timeout = Some(at_least_one("timeout", &word)?),
            "-parallel" => self.start = Some(Start::Parallel(at_least_one("parallel", &word)?)),
            "-rate" => {
                let rate = at_least_one("rate", &word)?;
                if rate > 1000 {
                    return Err(refuse("rate may be at most 1000"));
                }
                self.start = Some(Start::Rate(rate));
            }
            "-fetches" => self.end = Some(End::Fetches(at_least_one("fetches", &word)?)),
            "-seconds" => self.end = Some(End::Seconds(at_least_one("seconds", &word)?)),
            "-sip" => self.sources = Some(PathBuf::from(OsString::from_vec(word))),
            "-cipher" => self.notices.push(format!(
                "http_load: -cipher {text} has no effect: the cipher suites are rustls's own\n"
            )),
            "-seed" => self.seed = Some(atoi(&word) as u64),
            _ => {
                let (host, port) = match text.split_once(':') {
                    Some((host, port)) => (host, atoi(port.as_bytes()) as u16),
                    None => (text.as_str(), 80),
                };
                self.proxy = Some((host.into(), port));
            }
        }
        Ok(())
    }

    fn finish(self, urls: PathBuf) -> Result<Options, Refusal> {
        let (Some(start), Some(end)) = (self.start, self.end) else {
            return Err(usage());
        };
        if self.jitter && matches!(start, Start::Parallel(_)) {
            return Err(usage());
        }
        Ok(Options {
            checksum: self.checksum,
            throttle: self.throttle,
            verbose: self.verbose,
            timeout: self.timeout.unwrap_or(60),
            jitter: self.jitter,
            start,
            end,
            sources: self.sources,
            proxy: self.proxy,
            seed: self.seed.unwrap_or_else(|| u64::from(std::process::id())),
            urls,
            bug_compatible: self.bug_compatible,
            notices: self.notices,
        })
    }
}

fn at_least_one(what: &str, word: &[u8]) -> Result<u32, Refusal> {
    u32::try_from(atoi(word))
        .ok()
        .filter(|count| *count >= 1)
        .ok_or_else(|| refuse(&format!("{what} must be at least 1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Refusal> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Options::parse(&words)
    }

    #[test]
    fn the_command_line_of_the_guide_is_accepted() {
        let options = parse("-rate 3 -seconds 2 urls").expect("http_load takes it");
        assert_eq!(
            (options.start, options.end),
            (Start::Rate(3), End::Seconds(2))
        );
        assert_eq!(options.urls, PathBuf::from("urls"));
    }

    #[test]
    fn a_prefix_means_the_first_name_that_matches() {
        let options = parse("-t -ti 5 -p 2 -s 3 -c -v urls").expect("all are prefixes");
        assert_eq!((options.throttle, options.timeout), (Some(3360), 5));
        assert_eq!(
            (options.start, options.end),
            (Start::Parallel(2), End::Seconds(3))
        );
        assert!(options.checksum && options.verbose);
    }

    #[test]
    fn misuse_is_refused_with_http_loads_lines() {
        let rows = [
            ("-p 0 -f 1 u", "http_load: parallel must be at least 1\n"),
            ("-r 1001 -f 1 u", "http_load: rate may be at most 1000\n"),
            ("-r x -f 1 u", "http_load: rate must be at least 1\n"),
            ("-p 1 u", "usage:  http_load [-checksum]"),
            ("-p 1 -j -f 1 u", "usage:  http_load [-checksum]"),
            ("-p 1 -f 1", "usage:  http_load [-checksum]"),
            ("-z -p 1 -f 1 u", "usage:  http_load [-checksum]"),
            ("-p 1 -f 1 u -rate", "usage:  http_load [-checksum]"),
        ];
        for (line, text) in rows {
            let refusal = parse(line).err().unwrap_or_else(|| panic!("{line} passed"));
            assert_eq!(refusal.status, 1, "{line}");
            let said = String::from_utf8_lossy(&refusal.err).into_owned();
            assert!(said.starts_with(text), "{line}: {said}");
        }
    }
}
