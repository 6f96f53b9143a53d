//! The options of wrk, hey and k6 that `mehari bench` does not have.

use crate::cli::foreign::Foreign;

pub const OTHER_TOOLS: &[Foreign] = &[
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{bench, foreign};

    #[test]
    fn options_of_other_tools_get_a_hint_and_our_own_get_none() {
        for (line, words) in [
            ("-t2 -c10 -d30s http://127.0.0.1/", "-t is an option of wrk"),
            ("-z 30s http://127.0.0.1/", "expected `-d TIME`"),
            ("--vus=10 x.js", "expected `-c N`"),
            ("run script.js", "--session FILE"),
        ] {
            let said = foreign::tests::hint(OTHER_TOOLS, line).expect(line);
            assert!(said.contains(words), "{said}");
        }
        for line in ["-c 10 -d 30s --timeout 5s http://127.0.0.1/run", "-- -t"] {
            assert_eq!(foreign::tests::hint(OTHER_TOOLS, line), None, "{line}");
        }
        foreign::tests::none_is_our_own(OTHER_TOOLS, &bench::grammar());
    }
}
