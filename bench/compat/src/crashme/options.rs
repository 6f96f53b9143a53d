//! Reads the command line of `crashme`. The script had no command line: users edited its constants.
//! The options have the defaults of these constants.

use crate::console::Refusal;
use crate::getopt::{Letter, Letters, Word};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub agents: u32,
    /// The number of requests to each URL.
    pub requests: u32,
    /// The time-out of a request in seconds.
    pub timeout: u32,
    pub urls: Vec<String>,
    pub bug_compatible: bool,
}

pub const HELP: &str = "Usage: crashme [-c agents] [-n requests] [-t seconds] URL...
    -c agents    parallel agents (10)
    -n requests  requests of each URL (100)
    -t seconds   time-out of a request (10)
    --bug-compatible  compute the figures as the script does
Example: crashme -c 10 -n 100 http://127.0.0.1:8080/perl/access/access.cgi
";

impl Options {
    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// [`Refusal`] with a message and the exit status.
    pub fn parse(arguments: &[OsString]) -> Result<Options, Refusal> {
        let (own, words): (Vec<Word>, Vec<Word>) = arguments
            .iter()
            .map(|argument| argument.as_bytes().to_vec())
            .partition(|word| word == b"--bug-compatible" || word == b"--help");
        if own.iter().any(|word| word == b"--help") {
            return Err(Refusal::to_stdout(0, HELP));
        }
        let mut options = Options {
            agents: 10,
            requests: 100,
            timeout: 10,
            urls: Vec::new(),
            bug_compatible: !own.is_empty(),
        };
        let mut letters = Letters::new(&words, "c:n:t:h");
        for letter in letters.by_ref() {
            match letter {
                Letter::With('c', word) => options.agents = positive('c', &word)?,
                Letter::With('n', word) => options.requests = positive('n', &word)?,
                Letter::With('t', word) => options.timeout = positive('t', &word)?,
                Letter::Option(_) => return Err(Refusal::to_stdout(0, HELP)),
                Letter::ArgumentMissing(letter) => {
                    return Err(refuse(&format!("-{letter} needs a number after it")))
                }
                Letter::Unknown(letter) | Letter::With(letter, _) => {
                    let text = format!("there is no option -{letter}: -c, -n and -t are known");
                    return Err(refuse(&text));
                }
            }
        }
        options.urls = letters
            .rest()
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        if options.urls.is_empty() {
            Err(refuse(
                "no URL to request: crashme [-c N] [-n N] [-t S] URL...",
            ))
        } else {
            Ok(options)
        }
    }
}

pub fn refuse(text: &str) -> Refusal {
    Refusal::to_stderr(2, format!("crashme: {text}\n"))
}

fn positive(letter: char, word: &[u8]) -> Result<u32, Refusal> {
    // `parse` accepts a sign. The script's constants had no sign.
    let digits = word.first().is_some_and(u8::is_ascii_digit);
    std::str::from_utf8(word)
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|value: &u32| digits && *value > 0)
        .ok_or_else(|| {
            let word = String::from_utf8_lossy(word);
            refuse(&format!(
                "-{letter} {word}: expected a whole number from 1 to {}",
                u32::MAX
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Refusal> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Options::parse(&words)
    }

    #[test]
    fn the_scripts_constants_are_the_defaults() {
        let options = parse("http://h/").expect("a URL is enough");
        assert_eq!(
            (options.agents, options.requests, options.timeout),
            (10, 100, 10)
        );
        assert_eq!(
            parse("-c5 -n 7 -t 2 http://h/").map(|options| options.agents),
            Ok(5)
        );
    }

    #[test]
    fn misuse_is_refused_with_one_line_and_status_2() {
        for line in ["", "-c 0 http://h/", "-n x http://h/", "-z http://h/", "-t"] {
            let refusal = parse(line).err().unwrap_or_else(|| panic!("{line} passed"));
            assert_eq!(refusal.status, 2, "{line}");
            assert_eq!(refusal.err.iter().filter(|byte| **byte == b'\n').count(), 1);
        }
    }
}
