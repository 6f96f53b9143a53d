//! Tests the server's reports over HTTP: Apache's status page, metrics, health.

use mehari_harness::scripts::{nap, plain, simple};
use mehari_harness::{Request, Rung, Server};

fn start() -> Server {
    let place = |path: &str, handler: &str| {
        format!("<Location {path}>\nSetHandler {handler}\n</Location>\n")
    };
    simple(4)
        .file("htdocs/page.txt", "0123456789")
        .file(
            "scripts/trace.pl",
            &plain("print $ENV{TRACEPARENT} // 'none';"),
        )
        .conf(&place("/server-status", "server-status"))
        .conf(&place("/metrics", "metrics"))
        .conf(&place("/live", "health-live"))
        .conf(&place("/ready", "health-ready"))
        .start()
}

#[test]
fn status_page_reads_as_apaches() {
    let server = start();
    for _ in 0..5 {
        server.get("/page.txt").expect(200);
    }
    let answer = server.get("/server-status?auto");
    let text = answer.expect(200);
    let figure = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .to_string()
    };
    assert_eq!(figure("Total Accesses"), "5");
    assert_eq!(figure("BusyWorkers"), "0");
    assert!(figure("ServerVersion").starts_with("Mehari/"));
    assert!(figure("Uptime").parse::<u64>().is_ok() && figure("ReqPerSec").parse::<f64>().is_ok());
    let board = figure("Scoreboard");
    assert!(
        board.len() == 4 && board.chars().all(|sign| "_WSG.".contains(sign)),
        "{board}"
    );
    assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
    assert!(server
        .get("/server-status")
        .expect(200)
        .contains("<th>Total Accesses</th><td>6</td>"));
    server
        .send(&Request::post("/server-status", *b"x"))
        .expect(405);
}

#[test]
fn metrics_count_requests_by_method_and_status() {
    let server = start();
    for _ in 0..3 {
        server.get("/page.txt").expect(200);
    }
    server.get("/nothing").expect(404);
    let text = server.get("/metrics").expect(200);
    let name = "http_server_request_duration_seconds";
    for line in [
        format!("# TYPE {name} histogram"),
        format!("{name}_count{{http_request_method=\"GET\",http_response_status_code=\"200\"}} 3"),
        format!("{name}_bucket{{http_request_method=\"GET\",http_response_status_code=\"404\",le=\"+Inf\"}} 1"),
        "http_server_active_requests 1".to_string(),
        "mehari_workers_limit 4".to_string(),
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
    let open = server.send(
        &Request::get("/metrics").field("Accept", "application/openmetrics-text; version=1.0.0"),
    );
    assert!(open.expect(200).ends_with("# EOF\n"));
    assert!(open
        .field("content-type")
        .is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
}

#[test]
fn health_follows_a_stop_and_a_trace_reaches_the_program() {
    let mut server = start();
    assert_eq!(server.get("/live").expect(200), "alive\n");
    assert_eq!(server.get("/ready").expect(200), "ready\n");
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let told = |value: &str| {
        let request = Request::get("/registry/trace.pl").field("traceparent", value);
        server.send(&request).expect(200)
    };
    assert_eq!(told(parent), parent);
    assert_eq!(told("00-$(reboot)"), "none");
    let mut kept = server.connect();
    kept.send(&Request::get("/live"))
        .expect("an answer")
        .expect(200);
    let mut waiting = server.connect();
    waiting.write(b"GET /ready HTTP/1.1\r\nHost: x\r\n");
    let (mut napping, _) = nap(&server, Rung::Registry, "x");
    server.signal(rustix::process::Signal::Term);
    assert!(kept.is_closed_by_server());
    waiting.write(b"\r\n");
    assert_eq!(
        waiting.read_answer("GET").expect("an answer").expect(503),
        "stopping\n"
    );
    napping.read_answer("GET").expect("an answer").expect(200);
    assert!(server.wait().is_some());
}
