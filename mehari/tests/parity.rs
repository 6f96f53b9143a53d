//! Tests `mehari parity` as users run it, with two small sites that have known differences.

#![allow(clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use support::*;

const SESSION_OLD: &str = "0123456789abcdef";
const SESSION_NEW: &str = "fedcba9876543210";

fn old_site() -> SocketAddr {
    site_that(|asked| answer(asked, SESSION_OLD, false))
}

fn new_site() -> SocketAddr {
    site_that(|asked| answer(asked, SESSION_NEW, true))
}

fn answer(asked: &ReceivedRequest, session: &str, is_new: bool) -> Answer {
    let port = asked.port;
    let path = asked.path.split('?').next().unwrap();
    let date = format!(
        "Date: Sun, 22 Nov 2099 01:{}:00 GMT\r\n",
        if is_new { 20 } else { 10 }
    );
    let pick = |old: &'static str, new: &'static str| if is_new { new } else { old };
    let (status, headers, body) = match path {
        "/masked" => (
            "200 OK",
            format!(
                "Server: {}\r\nSet-Cookie: id={session}; path=/; expires=Sun, 22 Nov 2099 02:{}:00 GMT\r\n",
                pick("one/1", "two"),
                pick("10", "20")
            ),
            format!(
                "it is 2099-11-22 01:{}:00, pid {}\n<a href=\"http://127.0.0.1:{port}/x?id={session}\">\n",
                pick("10", "20"),
                pick("7", "1234")
            ),
        ),
        "/who" => ("200 OK", String::new(), asked.cookies.clone()),
        "/moved" => (
            "302 Found",
            format!("Location: http://127.0.0.1:{port}/who\r\n"),
            String::new(),
        ),
        "/status" => (pick("200 OK", "404 Not Found"), String::new(), String::new()),
        "/header" => (
            "200 OK",
            format!("X-Kind: {}\r\nETag: \"{}\"\r\n", pick("a", "b"), pick("1", "2")),
            String::new(),
        ),
        "/cookie" => (
            "200 OK",
            format!("Set-Cookie: theme={}; path=/{}\r\n", pick("dark", "light"), pick("; HttpOnly", "")),
            String::new(),
        ),
        "/lost" => (
            "200 OK",
            format!("Set-Cookie: id={}; path=/\r\n", if is_new { "1111222233334444" } else { session }),
            String::new(),
        ),
        "/body" => ("200 OK", String::new(), format!("first\nsecond\n{}\nlast\n", pick("third", "3rd"))),
        "/echo" => ("200 OK", String::new(), asked.body.clone()),
        "/gone" => (
            "404 Not Found",
            format!("Content-Type: text/{}\r\n", pick("html; charset=iso-8859-1", "html")),
            format!("{}<title>404 Not Found</title>", pick("<h1>old</h1>", "<h1>the new</h1>")),
        ),
        "/token" => ("200 OK", String::new(), format!("token={}", pick("aa", "bb"))),
        _ => ("200 OK", String::new(), path.to_owned()),
    };
    Answer {
        status,
        headers: date + &headers,
        body,
    }
}

/// Runs `mehari parity` with the list in a file.
fn parity(list: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("form.txt"), "a=1&b=2").unwrap();
    parity_in(folder.path(), list, more)
}

fn parity_in(folder: &Path, list: &str, more: &[&str]) -> Output {
    let file = folder.join("urls.txt");
    std::fs::write(&file, list).unwrap();
    mehari()
        .args(["parity", "--old", &format!("http://{}", old_site())])
        .args(["--new", &format!("http://{}", new_site())])
        .arg(file)
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn values_that_always_vary_are_masked_counted_and_shown() {
    let list = "# all the same\n/masked\n/who\nGET /moved\nPOST /echo @form.txt\nHEAD /nothing\n";
    let output = parity(list, &[]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    for line in [
        "same      GET /who  (masked: cookie id 1, header date 1)",
        "same      GET /moved  (masked: header date 1, server address 1)",
        "5 same, 0 different",
        "masked process id: 1 (first: 7 / 1234)",
        "masked cookie id: 3 (first: 0123456789abcdef / fedcba9876543210)",
        "masked header server: 1 (first: one/1 / two)",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    assert!(
        stderr(&output).is_empty(),
        "no progress bar without a terminal"
    );
}

#[test]
fn each_differing_part_is_reported_and_the_exit_status_is_1() {
    let output = parity(
        "/masked\n/status\n/header\n/cookie\n/body\n/lost\n/token\n",
        &[],
    );
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for line in [
        "1 same, 6 different",
        "    status: old 200, new 404\n",
        "    header x-kind: old a, new b\n",
        "    header etag: old \"1\", new \"2\"\n",
        "    cookie theme: old dark, new light\n",
        "    cookie theme; httponly: old , new (none)\n",
        "      @@ line 3 @@\n       first\n       second\n      -third\n      +3rd\n       last\n",
        "    cookie id: old 0123456789abcdef, new 1111222233334444\n",
        "      -token=aa\n      +token=bb\n",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
}

#[test]
fn pages_that_the_servers_make_themselves_may_differ_if_the_user_says_so() {
    let said = stdout(&parity("/gone\n", &[]));
    assert!(said.contains("0 same, 1 different"), "{said}");
    let output = parity("/gone\n", &["--ignore-server-pages"]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("masked server page: 1 (first: "), "{said}");
    let output = parity("/status\n/body\n", &["--ignore-server-pages"]);
    let said = stdout(&output);
    assert!(said.contains("0 same, 2 different"), "{said}");
}

#[test]
fn differences_are_summed_up_by_what_differs() {
    let output = parity("/status\n/status?2\n/body\n/who\n", &[]);
    let said = stdout(&output);
    let causes = "\
3 different
what differs, and in how many answers:
     2  status: old 200, new 404 (first: GET /status)
     1  body (first: GET /body)
";
    assert!(said.contains(causes), "{said}");
}

#[test]
fn masks_and_ignored_fields_of_the_user_are_counted_too() {
    let more = [
        "--mask",
        r"token=(?<v>\w+)",
        "--ignore-header",
        "x-kind",
        "--ignore-validators",
        "--json",
    ];
    let output = parity("/token\n/header\n", &more);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    assert_eq!(report["same"], 2);
    assert_eq!(report["masked"][r"mask token=(?<v>\w+)"]["new"], "bb");
    assert_eq!(report["masked"]["header x-kind"]["count"], 1);
    assert_eq!(report["masked"]["header etag"]["count"], 1);
}

#[test]
fn the_requests_of_a_recorded_session_are_sent_to_both_servers() {
    let entry = |second: u32, path: &str| {
        format!(
            r#"{{"startedDateTime":"2026-01-01T00:00:{second:02}Z","time":1,"request":{{"method":"GET","url":"http://gone.test{path}"}},"response":{{"status":200}}}}"#
        )
    };
    let har = format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"x","version":"1"}},"entries":[{},{}]}}}}"#,
        entry(0, "/who?1"),
        entry(30, "/status")
    );
    let output = parity(&har, &["--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["requests"][0]["request"], "GET /who?1");
    assert_eq!(report["requests"][1]["differences"][0]["part"], "status");
}

#[test]
fn a_server_that_does_not_answer_is_a_difference() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("urls.txt");
    std::fs::write(&list, "/x\n").unwrap();
    let (old, new) = (format!("http://{}", old_site()), format!("http://{closed}"));
    let output = run(&[
        "parity",
        "--old",
        &old,
        "--new",
        &new,
        &list.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("answer: old status 200, new cannot connect"));
}

#[test]
fn arguments_without_sense_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("urls.txt");
    std::fs::write(&list, "/fine\nfetch /x\n").unwrap();
    let list = list.display().to_string();
    let both = [
        "parity",
        "--old",
        "http://127.0.0.1:9",
        "--new",
        "http://127.0.0.1:10",
    ];
    for (more, why) in [
        (
            &[list.as_str()][..],
            "urls.txt:2: expected a URL, a path, or `METHOD URL`",
        ),
        (&["gone.txt"], "cannot read gone.txt"),
        (&[list.as_str(), "--timeout", "0s"], "--timeout"),
        (&[list.as_str(), "--maks", "a"], "'--mask'"),
        (&[], "FILE"),
    ] {
        assert_refused(&[&both[..], more].concat(), why);
    }
    std::fs::write(&list, "/fine\n").unwrap();
    assert_refused(
        &[&both[..], &[&list, "--mask", "a("]].concat(),
        "--mask `a(`: unclosed group",
    );
    assert_refused(&["parity", "--old", "http://127.0.0.1:9", &list], "--new");
}
