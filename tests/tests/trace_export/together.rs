//! `TraceExport`, `ServerTiming` and `mehari trace` at once, and sampled requests beside others on
//! one connection.

use crate::collector::{assert_one_trace, named, root, text, time, Collector};
use crate::{site, url, SAMPLED, TRACE};
use mehari_harness::{needs, Request, Server};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;

#[test]
fn trace_of_the_owner_and_the_export_do_not_disturb_each_other() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).start();
    let url = url(&server, "/registry/hello.pl");
    let output = server.control(&["trace", &url, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let anatomy: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let spans = collector.wait_for(1);
    assert_one_trace(&spans);
    assert_eq!(
        text(root(&spans), "mehari.request.id"),
        anatomy["request_id"].to_string()
    );
}

/// Somebody who watches the next request for a path, as `mehari trace --wait` does.
struct Watcher(BufReader<UnixStream>);

impl Watcher {
    fn of(server: &Server, path: &str) -> Watcher {
        let mut stream = UnixStream::connect(server.site.path("control")).expect("the socket");
        let order = format!("trace 1 url {path}\n");
        stream.write_all(order.as_bytes()).expect("sent");
        let mut watcher = Watcher(BufReader::new(stream));
        assert_eq!(watcher.next()["ok"], true);
        watcher
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }
}

/// Checks that the watcher, the client and the collector were told the same about a request, whose
/// script has printed its trace context.
fn assert_same(watched: &Value, timing: &str, spans: &[Value], printed: &str) {
    assert_one_trace(spans);
    let root = root(spans);
    assert_eq!(root["traceId"], TRACE);
    let id = watched["request_id"].to_string();
    assert_eq!(text(root, "mehari.request.id"), id);
    let list = |name: &str| watched[name].as_array().expect("a list").clone();
    let parts = ["front", "queued", "perl"].map(|name| list(name).len());
    assert_eq!(spans.len(), 1 + parts.iter().sum::<usize>(), "{watched}");
    for part in list("front") {
        named(spans, part["name"].as_str().expect("a name"));
    }
    let stages = ["Perl;dur=", "queue;dur=", "script;dur=", "total;dur="];
    assert!(
        stages.iter().all(|stage| timing.contains(stage)),
        "{timing}"
    );
    let worker = named(spans, "worker")["spanId"].as_str().expect("an id");
    assert!(printed.contains(&format!("-{worker}-01|")), "{printed}");
}

#[test]
fn one_request_is_exported_timed_for_its_client_and_watched() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).conf("ServerTiming 127.0.0.1\n");
    let server = server.start();
    let mut watcher = Watcher::of(&server, "/registry/tell.pl");
    let request = Request::get("/registry/tell.pl").field("traceparent", SAMPLED);
    let answer = server.send(&request);
    let timing = answer.field("server-timing").expect("the field");
    let spans = collector.wait_for(1);
    assert_same(&watcher.next(), &timing, &spans, &answer.expect(200));
    // The watcher has gone, and the others go on.
    let answer = server.send(&request);
    assert!(answer.field("server-timing").is_some());
    collector.wait_for(2);
}

#[test]
fn one_request_of_http2_is_exported_timed_for_its_client_and_watched() {
    needs!("curl");
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).conf("ServerTiming 127.0.0.1\n");
    let server = server.start();
    let mut watcher = Watcher::of(&server, "/registry/tell.pl");
    let output = Command::new("curl")
        .args(["-s", "-D", "-", "--http2-prior-knowledge", "-H"])
        .arg(format!("traceparent: {SAMPLED}"))
        .arg(url(&server, "/registry/tell.pl"))
        .output()
        .expect("curl runs");
    let answer = String::from_utf8_lossy(&output.stdout);
    let (head, printed) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/2 200"), "{head}");
    let mut lines = head.lines();
    let timing = lines.find_map(|line| line.strip_prefix("server-timing: "));
    let spans = collector.wait_for(1);
    assert_same(&watcher.next(), timing.expect("the field"), &spans, printed);
}

/// Each request without a trace gets a context that says whether the request is sampled.
const TOLD: &str = "<Location /registry>\nCreateTraceParent On\n</Location>\n";

/// Checks the spans of requests that one connection has sent one after the other. A sampled
/// request begins after the one before it, not with its connection.
fn assert_one_after_the_other(spans: &[Value]) {
    let mut roots: Vec<&Value> = spans.iter().filter(|span| span["kind"] == 2).collect();
    roots.sort_by_key(|root| time(root, "startTimeUnixNano"));
    for pair in roots.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let ends = time(before, "endTimeUnixNano");
        let begins = time(after, "startTimeUnixNano");
        assert!(ends <= begins, "{before} overlaps {after}");
    }
}

#[test]
fn sampled_and_other_requests_share_a_connection() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=3")).conf(TOLD).start();
    let mut connection = server.connect();
    let mut flags = Vec::new();
    for _ in 0..60 {
        let mut request = Request::get("/registry/tell.pl");
        server.address(&mut request);
        let answer = connection.send(&request).expect("an answer").expect(200);
        let parent = answer.split('|').next().expect("a context");
        flags.push(parent.ends_with("-01"));
    }
    let sampled = flags.iter().filter(|flag| **flag).count();
    assert!((12..60).contains(&sampled), "{flags:?}");
    let spans = collector.wait_for(sampled);
    assert_one_after_the_other(&spans);
    let waits = spans
        .iter()
        .filter(|span| span["name"] == "wait for the head");
    assert_eq!(waits.count(), usize::from(flags[0]), "{flags:?}");
}

#[test]
fn sampled_and_other_requests_share_a_connection_of_http2() {
    needs!("curl");
    let collector = Collector::start();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    let server = site(&collector.conf("every=3"))
        .conf(TOLD)
        .conf("SSLCertificateFile site.pem\nSSLCertificateKeyFile site.key\n")
        .file("site.pem", &made.cert.pem())
        .file("site.key", &made.signing_key.serialize_pem())
        .without_listen()
        .args(&["--listen", "https://127.0.0.1:0"])
        .start();
    let port = server.port();
    let output = Command::new("curl")
        .args(["-sk", "--http2", "-w", " %{num_connects} %{http_version}\n"])
        .arg(format!("https://localhost:{port}/registry/tell.pl?[1-60]"))
        .output()
        .expect("curl runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 60, "{printed}");
    assert!(lines[0].ends_with(" 1 2"), "{printed}");
    assert!(
        lines[1..].iter().all(|line| line.ends_with(" 0 2")),
        "{printed}"
    );
    let is_sampled = |line: &&&str| line.contains("-01|-");
    let sampled = lines.iter().filter(is_sampled).count();
    assert!((12..60).contains(&sampled), "{printed}");
    let spans = collector.wait_for(sampled);
    assert_one_after_the_other(&spans);
    let handshakes = spans.iter().filter(|span| span["name"] == "TLS handshake");
    let first = usize::from(is_sampled(&&lines[0]));
    assert_eq!(handshakes.count(), first, "{printed}");
    let roots = spans.iter().filter(|span| span["kind"] == 2);
    for root in roots {
        assert_eq!(text(root, "network.protocol.version"), "2");
        assert_eq!(text(root, "url.scheme"), "https");
    }
}
