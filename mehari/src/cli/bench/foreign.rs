//! Hints for people who know wrk, hey or k6: for an option of these tools, the option of `mehari
//! bench` with the same meaning.

use std::ffi::OsString;

/// The options of other tools that `mehari bench` does not have: the option, whose it is, and what
/// to write instead.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("-t", "wrk and hey", "`--threads N`, or `--timeout TIME`"),
    (
        "--latency",
        "wrk",
        "nothing: percentiles are always printed",
    ),
    ("-L", "wrk2", "nothing: percentiles are always printed"),
    (
        "-s",
        "wrk",
        "`--session FILE`, a script in a small language of its own",
    ),
    (
        "--script",
        "wrk",
        "`--session FILE`, a script in a small language of its own",
    ),
    ("-R", "wrk2", "`--rate RATE`"),
    ("-z", "hey", "`-d TIME`"),
    ("-q", "hey", "`--rate RATE`, the rate of all users together"),
    ("-a", "hey", "`--basic USER:PASSWORD`"),
    ("-A", "hey", "`-H 'Accept: TYPE'`"),
    ("-T", "hey", "`-H 'Content-Type: TYPE'`"),
    ("-D", "hey", "`--body-file FILE`"),
    ("-h2", "hey", "`--http2`"),
    ("-disable-keepalive", "hey", "`--no-keep-alive`"),
    (
        "-disable-compression",
        "hey",
        "nothing: no `Accept-Encoding` is sent",
    ),
    (
        "-disable-redirects",
        "hey",
        "nothing: redirects are never followed",
    ),
    ("-cpus", "hey", "`--threads N`"),
    ("-u", "k6", "`-c N`"),
    ("--vus", "k6", "`-c N`"),
    ("-i", "k6", "`-n N`"),
    ("--iterations", "k6", "`-n N`"),
    ("--rps", "k6", "`--rate RATE`"),
    ("run", "k6", "`--session FILE`, or a URL"),
];

/// Returns the hint for the first option of another tool.
pub fn hint(arguments: &[OsString]) -> Option<String> {
    let words = arguments.iter().filter_map(|word| word.to_str());
    let mut words = words.take_while(|word| *word != "--");
    words.find_map(|word| {
        let mut options = OPTIONS.iter();
        let (option, tool, instead) = options.find(|(option, ..)| is(word, option))?;
        Some(format!(
            "{option} is an option of {tool}; expected {instead}"
        ))
    })
}

/// Whether the word is the option: alone, with `=VALUE`, or a letter with a number behind.
fn is(word: &str, option: &str) -> bool {
    match word.strip_prefix(option) {
        Some("") => true,
        Some(rest) if option.starts_with("--") => rest.starts_with('='),
        Some(rest) => option.len() == 2 && rest.starts_with(|sign: char| sign.is_ascii_digit()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_of_other_tools_get_a_hint_and_our_own_get_none() {
        let hint = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            hint(&words)
        };
        for (line, words) in [
            ("-t2 -c10 -d30s http://127.0.0.1/", "-t is an option of wrk"),
            ("-z 30s http://127.0.0.1/", "expected `-d TIME`"),
            ("--vus=10 x.js", "expected `-c N`"),
            ("run script.js", "--session FILE"),
        ] {
            let said = hint(line).expect(line);
            assert!(said.contains(words), "{said}");
        }
        for line in ["-c 10 -d 30s --timeout 5s http://127.0.0.1/run", "-- -t"] {
            assert_eq!(hint(line), None, "{line}");
        }
    }

    #[test]
    fn no_hint_stands_for_an_option_that_exists() {
        let grammar = super::super::arguments::Arguments::command();
        for (option, ..) in OPTIONS {
            let exists = grammar.get_arguments().any(|argument| {
                let short = argument.get_short().map(|letter| format!("-{letter}"));
                let long = argument.get_long().map(|name| format!("--{name}"));
                short.as_deref() == Some(*option) || long.as_deref() == Some(*option)
            });
            assert!(!exists, "{option}");
        }
    }
}
