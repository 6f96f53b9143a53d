//! `mehari crashme` against the format of the mod_perl guide's script.
#![allow(clippy::unwrap_used)]

mod compat;

use compat::programs::{link, run, Ran};
use compat::server::Server;
use std::path::Path;

fn crashme(folder: &Path, words: &[&str]) -> Ran {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    run(&link(folder, "crashme"), &words, folder)
}

/// The lines with the measured figures masked and the counts kept.
fn counts(ran: &Ran) -> Vec<String> {
    let out = ran.out_text();
    out.lines()
        .map(|line| match line.split_once(':') {
            Some((label @ ("Total Time" | "Throughput" | "Latency"), rest)) => {
                format!("{label}:{}", compat::shape::masked(rest))
            }
            _ => line.to_string(),
        })
        .collect()
}

#[test]
fn crashme_prints_the_guides_format() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let url = format!("http://127.0.0.1:{}", server.port);
    let (fixed, missing) = (format!("{url}/fixed"), format!("{url}/404"));
    let ran = crashme(folder.path(), &["-c", "2", "-n", "5", &fixed, &missing]);
    assert_eq!(ran.status, Some(0), "{}", ran.err_text());
    assert_eq!(
        counts(&ran),
        [
            format!("URL(s):          {fixed}").as_str(),
            format!("\t\t {missing}").as_str(),
            "Total Requests:  10",
            "Parallel Agents: 2",
            "Succeeded:       5 (50.00%)",
            "Errors:          Status 404 (5)",
            "Total Time: # secs",
            "Throughput: # Requests/sec",
            "Latency: # secs/Request",
        ]
    );
    let wanted = format!(
        "GET /404 HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nUser-Agent: pounder/1.0\r\n\r\n",
        server.port
    );
    assert_eq!(server.different_requests()[0], wanted.as_bytes());
}

#[test]
fn crashme_names_what_went_wrong() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", server.port);
    let closed = format!("http://127.0.0.1:{}/", server.refused_port);
    let rows = [
        (at("/fixed"), "Errors:          NONE"),
        (at("/503"), "Errors:          Status 503 (2)"),
        (at("/hang"), "Errors:          TIMEOUT (2)"),
        (
            at("/reset"),
            "Errors:          Connection reset by peer (2)",
        ),
        (
            at("/empty"),
            "Errors:          Closed without a response (2)",
        ),
        (closed, "Errors:          Connection refused (2)"),
    ];
    for (url, wanted) in rows {
        let ran = crashme(folder.path(), &["-c", "2", "-n", "2", "-t", "1", &url]);
        assert!(counts(&ran).contains(&wanted.to_string()), "{url}: {ran:?}");
    }
}

#[test]
fn misuse_sends_nothing() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let url = format!("http://127.0.0.1:{}/fixed", server.port);
    for words in [
        &["-c", "0", &url][..],
        &["-n", "0", &url],
        &["-z", &url],
        &[],
        &["nonsense"],
    ] {
        let ran = crashme(folder.path(), words);
        assert_eq!((ran.status, server.count()), (Some(2), 0), "{words:?}");
        assert_eq!(ran.err_text().lines().count(), 1, "{}", ran.err_text());
    }
}
