//! Compares the output of `mehari crashme` with the format of the mod_perl guide's script.
#![allow(clippy::unwrap_used)]

mod stand;

use stand::line::Places;
use stand::pair::Pair;
use stand::programs::Ran;
use stand::server::Server;
use std::path::Path;

fn crashme() -> Pair {
    Pair::new("crashme", |server: &Server, _: &Path| Places {
        known: vec![
            ("url", format!("http://127.0.0.1:{}", server.port)),
            ("named", format!("http://localhost:{}", server.port)),
            ("tls", format!("https://localhost:{}", server.tls_port)),
            (
                "closed",
                format!("http://127.0.0.1:{}", server.refused_port),
            ),
        ],
    })
}

/// Returns the lines of the report. Measurements are masked, counts are not.
fn counts(ran: &Ran) -> Vec<String> {
    let out = ran.out_text();
    out.lines()
        .map(|line| match line.split_once(':') {
            Some((label @ ("Total Time" | "Throughput" | "Latency"), rest)) => {
                format!("{label}:{}", stand::shape::masked(rest))
            }
            _ => line.to_string(),
        })
        .collect()
}

/// A command line, its URLs, and the expected results: total, agents, succeeded, errors.
type Row = (
    &'static str,
    &'static [&'static str],
    u32,
    u32,
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // The script's constants.
    ("{url}/fixed", &["{url}/fixed"], 100, 10, "100 (100.00%)", "NONE"),
    ("-n 5 {url}/fixed", &["{url}/fixed"], 5, 10, "5 (100.00%)", "NONE"),
    ("-n5 -c2 {url}/fixed", &["{url}/fixed"], 5, 2, "5 (100.00%)", "NONE"),
    ("-c 3 -n 7 -t 5 {url}/fixed", &["{url}/fixed"], 7, 3, "7 (100.00%)", "NONE"),
    ("-t 5 -n 3 -c 50 {url}/fixed", &["{url}/fixed"], 3, 50, "3 (100.00%)", "NONE"),
    ("-n 1 -n 4 {url}/fixed", &["{url}/fixed"], 4, 10, "4 (100.00%)", "NONE"),
    ("-n 4 -- {url}/fixed", &["{url}/fixed"], 4, 10, "4 (100.00%)", "NONE"),
    ("--bug-compatible -n 4 {url}/fixed", &["{url}/fixed"], 4, 10, "4 (100.00%)", "NONE"),
    // Several URLs, each requested the given number of times.
    ("-n 5 {url}/fixed {url}/404", &["{url}/fixed", "{url}/404"], 10, 10, "5 (50.00%)", "Status 404 (5)"),
    ("-n 3 {url}/fixed {url}/lines {url}/cookie", &["{url}/fixed", "{url}/lines", "{url}/cookie"], 9, 10, "9 (100.00%)", "NONE"),
    ("-n 2 {url}/503 {url}/404 {url}/fixed", &["{url}/503", "{url}/404", "{url}/fixed"], 6, 10, "2 (33.33%)", "Status 404 (2),Status 503 (2)"),
    ("-n 2 {url}/fixed {url}/fixed", &["{url}/fixed", "{url}/fixed"], 4, 10, "4 (100.00%)", "NONE"),
    ("-n 2 {url}/fixed {closed}/", &["{url}/fixed", "{closed}/"], 4, 10, "2 (50.00%)", "Connection refused (2)"),
    // Other forms of answers.
    ("-n 2 {url}/close", &["{url}/close"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {url}/bare", &["{url}/bare"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {url}/chunked", &["{url}/chunked"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {url}/variable", &["{url}/variable"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {url}/slow", &["{url}/slow"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {url}/204", &["{url}/204"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {url}/302", &["{url}/302"], 2, 10, "0 (0.00%)", "Status 302 (2)"),
    ("-n 2 {url}/500", &["{url}/500"], 2, 10, "0 (0.00%)", "Status 500 (2)"),
    ("-n 2 {url}/fixed?a=b&c=d", &["{url}/fixed?a=b&c=d"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {named}/fixed", &["{named}/fixed"], 2, 10, "2 (100.00%)", "NONE"),
    ("-n 2 {tls}/fixed", &["{tls}/fixed"], 2, 10, "2 (100.00%)", "NONE"),
    // Errors on the wire.
    ("-n 2 {closed}/", &["{closed}/"], 2, 10, "0 (0.00%)", "Connection refused (2)"),
    ("-n 2 -t 1 {url}/hang", &["{url}/hang"], 2, 10, "0 (0.00%)", "TIMEOUT (2)"),
    ("-n 2 {url}/reset", &["{url}/reset"], 2, 10, "0 (0.00%)", "Connection reset by peer (2)"),
    ("-n 2 {url}/empty", &["{url}/empty"], 2, 10, "0 (0.00%)", "Closed without a response (2)"),
    ("-n 2 {url}/short", &["{url}/short"], 2, 10, "0 (0.00%)", "short body (2)"),
    ("--bug-compatible -n 2 {closed}/", &["{closed}/"], 2, 10, "0 (0.00%)", "Connection refused (2)"),
];

#[test]
fn crashme_prints_the_guides_format() {
    let crashme = crashme();
    for (line, urls, total, agents, succeeded, errors) in ROWS {
        let ran = crashme.ours(line);
        let urls: Vec<String> = urls.iter().flat_map(|url| crashme.words(url)).collect();
        let wanted = [
            format!("URL(s):          {}", urls.join("\n\t\t ")),
            format!("Total Requests:  {total}"),
            format!("Parallel Agents: {agents}"),
            format!("Succeeded:       {succeeded}"),
            format!("Errors:          {errors}"),
            "Total Time: # secs".into(),
            "Throughput: # Requests/sec".into(),
            "Latency: # secs/Request".into(),
        ];
        assert_eq!(
            counts(&ran).join("\n"),
            wanted.join("\n"),
            "{line}: {ran:?}"
        );
        assert_eq!(
            (ran.status, ran.err_text()),
            (Some(0), String::new()),
            "{line}"
        );
    }
}

#[test]
fn crashme_sends_the_same_request_as_the_scripts_agent() {
    let crashme = crashme();
    crashme.ours("-n 2 {url}/404");
    let wanted = format!(
        "GET /404 HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nUser-Agent: pounder/1.0\r\n\r\n",
        crashme.server.port
    );
    assert_eq!(crashme.server.different_requests(), [wanted.into_bytes()]);
}

#[test]
fn misuse_sends_nothing() {
    let crashme = crashme();
    for (line, said) in [
        (
            "-c 0 {url}/fixed",
            "crashme: -c 0: expected a whole number from 1 to 4294967295",
        ),
        (
            "-c -1 {url}/fixed",
            "crashme: -c -1: expected a whole number from 1 to 4294967295",
        ),
        (
            "-n 0 {url}/fixed",
            "crashme: -n 0: expected a whole number from 1 to 4294967295",
        ),
        (
            "-n 1.5 {url}/fixed",
            "crashme: -n 1.5: expected a whole number from 1 to 4294967295",
        ),
        (
            "-n 99999999999 {url}/fixed",
            "crashme: -n 99999999999: expected a whole number from 1 to 4294967295",
        ),
        (
            "-t x {url}/fixed",
            "crashme: -t x: expected a whole number from 1 to 4294967295",
        ),
        (
            "-z {url}/fixed",
            "crashme: there is no option -z: -c, -n and -t are known",
        ),
        ("-n", "crashme: -n needs a number after it"),
        (
            "",
            "crashme: no URL to request: crashme [-c N] [-n N] [-t S] URL...",
        ),
        (
            "-n 3",
            "crashme: no URL to request: crashme [-c N] [-n N] [-t S] URL...",
        ),
    ] {
        let ran = crashme.ours(line);
        assert_eq!((ran.status, crashme.server.count()), (Some(2), 0), "{line}");
        assert_eq!(ran.err_text(), format!("{said}\n"), "{line}");
    }
    for (line, part) in [
        ("nonsense", "`nonsense` is not a URL"),
        ("ftp://127.0.0.1/", "`ftp` is neither"),
        ("http:///x", "the host is missing"),
        (
            "{url}/fixed http://nosuch.invalid/",
            "cannot find the host nosuch.invalid",
        ),
    ] {
        let ran = crashme.ours(line);
        assert_eq!((ran.status, crashme.server.count()), (Some(2), 0), "{line}");
        let err = ran.err_text();
        assert!(
            err.contains(part) && err.lines().count() == 1,
            "{line}: {err}"
        );
    }
    let help = crashme.ours("-h");
    assert_eq!((help.status, help.err_text()), (Some(0), String::new()));
    assert!(help.out_text().starts_with("Usage: crashme "), "{help:?}");
}
