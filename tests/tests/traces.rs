//! Tests traces and metrics: the server makes `traceparent` or passes it on, and the tool of
//! Prometheus accepts the metrics page.

use mehari_harness::back_end::answer;
use mehari_harness::{needs, BackEnd, Request, Server};
use std::io::Write;
use std::process::{Command, Stdio};

const SAY: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n$ENV{TRACEPARENT}|$ENV{HTTP_TRACEPARENT}\";\n";
const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

#[test]
fn request_without_a_trace_gets_one_where_configured() {
    let back_end = BackEnd::start(|heard, stream| {
        let text = heard.field("traceparent").unwrap_or("-").to_string();
        let _ = stream.write_all(&answer(&text));
        true
    });
    let server = Server::builder()
        .file("scripts/say.pl", SAY)
        .ladder()
        .conf(&format!("ProxyPass /back {}/\n", back_end.url()))
        .conf("<LocationMatch ^/(registry|cgi|back)>\nCreateTraceParent On\n</LocationMatch>\n")
        .start();
    let mut made = Vec::new();
    for path in ["/registry/say.pl", "/cgi/say.pl"] {
        let text = server.get(path).expect(200);
        let (variable, field) = text.split_once('|').expect("both");
        assert_eq!(variable, field, "{path}");
        made.push(variable.to_string());
        let kept = server.send(&Request::get(path).field("traceparent", GOOD));
        assert_eq!(kept.expect(200), format!("{GOOD}|{GOOD}"), "{path}");
    }
    made.push(server.get("/back").expect(200));
    let bad = Request::get("/back").field("traceparent", "00-nonsense");
    made.push(server.send(&bad).expect(200));
    for one in &made {
        assert!(one.len() == 55 && one.starts_with("00-"), "{one}");
    }
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 4, "each its own");
    assert_eq!(
        server.get("/perlrun/say.pl").expect(200),
        "|",
        "not wanted there"
    );
    drop(back_end);
}

#[test]
fn metrics_are_accepted_by_prometheus() {
    let server = Server::builder()
        .file("scripts/say.pl", SAY)
        .ladder()
        .conf("<Location /metrics>\nSetHandler metrics\n</Location>\n")
        .start();
    server.get("/registry/say.pl").expect(200);
    server.get("/missing");
    let page = server.get("/metrics").expect(200);
    for name in [
        "http_server_request_duration_seconds_bucket",
        "http_server_active_requests",
        "mehari_traffic_rule_actions_total{action=\"too_slow\"} 0",
    ] {
        assert!(page.contains(name), "{name}: {page}");
    }
    needs!("prometheus");
    let checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut checker = checker.expect("promtool runs");
    let mut input = checker.stdin.take().expect("it was piped");
    input.write_all(page.as_bytes()).expect("it reads");
    drop(input);
    let said = checker.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{text}\n{page}");
}
