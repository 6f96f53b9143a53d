//! Collectors that refuse, are gone, or are hostile; reloads, and the end of the server.

use crate::collector::Collector;
use crate::{counted, site, METRICS};
use mehari_harness::back_end::answer;
use mehari_harness::{eventually, BackEnd, PATIENCE};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

#[test]
fn sent_and_rejected_spans_are_counted() {
    let rejecting = "{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"x\"}}";
    let collector = Collector::answering("200 OK", rejecting);
    let server = site(&collector.conf("every=1")).conf(METRICS).start();
    server.get("/page.txt").expect(200);
    let spans = collector.wait_for(1).len() as u64;
    assert!(eventually(PATIENCE, || counted(&server, "refused") >= 2));
    assert!(counted(&server, "sent") >= spans - 2);
}

#[test]
fn collector_that_refuses_is_logged_once_and_its_spans_are_counted() {
    let collector = Collector::answering("400 Bad Request", "{}");
    let server = site(&collector.conf("every=1")).conf(METRICS).start();
    server.get("/page.txt").expect(200);
    let url = format!("{}/v1/traces", collector.back_end.url());
    server.log.expect(&format!(
        "TraceExport: {url}: the collector answers with status 400: spans are dropped until"
    ));
    let told = || collector.bodies.lock().expect("no panic").len();
    for _ in 0..2 {
        let before = told();
        server.get("/page.txt").expect(200);
        assert!(eventually(PATIENCE, || told() > before));
    }
    assert!(eventually(PATIENCE, || counted(&server, "refused") > 0));
    assert_eq!(counted(&server, "sent"), 0);
    assert_eq!(server.log.count("spans are dropped until"), 1);
}

#[test]
fn dead_collector_costs_a_bounded_queue_and_is_logged_once() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = gone.local_addr().expect("an address");
    drop(gone);
    let conf = format!("TraceExport http://{address} every=1 queue=5\n");
    let server = site(&conf).conf(METRICS).start();
    for _ in 0..100 {
        server.get("/page.txt").expect(200);
    }
    server.log.expect("Connection refused");
    assert!(eventually(PATIENCE, || counted(&server, "dropped") > 0));
    assert_eq!(counted(&server, "sent"), 0);
    assert_eq!(server.log.count("TraceExport"), 1, "{}", server.log.text());
    let back = BackEnd::at(address, |_, stream| {
        let _ = stream.write_all(&answer("{}"));
        false
    });
    server.log.expect("the collector takes all spans again");
    assert!(counted(&server, "sent") > 0);
    drop(back);
}

/// A collector that does something else than to answer.
fn hostile(act: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.incoming().flatten().for_each(act));
    format!("TraceExport http://{address} every=1 queue=3 timeout=200ms\n")
}

#[test]
fn hostile_collectors_delay_no_request() {
    let silent = Mutex::new(Vec::new());
    let cases = [
        hostile(move |stream| silent.lock().expect("no panic").push(stream)),
        hostile(|mut stream| {
            let _ = stream.write_all(b"SSH-2.0-x\r\n\r\n");
        }),
        hostile(|mut stream| while stream.write_all(&[b'x'; 1000]).is_ok() {}),
        hostile(|mut stream| {
            let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n");
        }),
    ];
    for conf in cases {
        let server = site(&conf).conf(METRICS).start();
        for _ in 0..50 {
            server.get("/page.txt").expect(200);
        }
        server
            .log
            .expect("spans are dropped until the collector takes them");
        for _ in 0..50 {
            server.get("/page.txt").expect(200);
        }
        let lost = || counted(&server, "dropped") + counted(&server, "refused");
        assert!(eventually(PATIENCE, || lost() > 0), "{conf}");
        assert_eq!(counted(&server, "sent"), 0, "{conf}");
        assert_eq!(server.log.count("TraceExport"), 1, "{}", server.log.text());
    }
}

#[test]
fn reload_begins_changes_and_ends_the_export() {
    let collector = Collector::start();
    let server = site("Include @ROOT@/more.conf\n")
        .file("more.conf", "")
        .start();
    let reload = |text: &str| {
        server.site.write("more.conf", text);
        let output = server.control(&["reload"]);
        assert!(output.status.success(), "{output:?}");
    };
    server.get("/page.txt").expect(200);
    reload(&collector.conf("every=1"));
    server.get("/page.txt").expect(200);
    collector.wait_for(1);
    reload(&collector.conf("every=1 service=other"));
    server.get("/page.txt").expect(200);
    collector.wait_for(2);
    let bodies = collector.bodies.lock().expect("no panic").clone();
    assert!(bodies
        .iter()
        .any(|body| body.to_string().contains("\"other\"")));
    reload("");
    server.get("/page.txt").expect(200);
    drop(server);
    collector.wait_for(2);
}

#[test]
fn last_spans_are_sent_when_the_server_ends() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).start();
    for _ in 0..3 {
        server.get("/page.txt").expect(200);
    }
    drop(server);
    collector.wait_for(3);
}

#[test]
fn one_connection_takes_one_batch_after_the_other() {
    let collector = Collector::keeping(true);
    let server = site(&collector.conf("every=1")).conf(METRICS).start();
    for number in 1..=3 {
        server.get("/page.txt").expect(200);
        collector.wait_for(number);
    }
    assert_eq!(collector.back_end.connections(), 1);
    // When the test ends, the harness waits until the server has closed the idle connection.
}

#[test]
fn collector_that_closes_a_kept_connection_loses_no_spans() {
    let collector = Collector::keeping(false);
    let server = site(&collector.conf("every=1")).conf(METRICS).start();
    for number in 1..=3 {
        server.get("/page.txt").expect(200);
        collector.wait_for(number);
    }
    assert_eq!(collector.back_end.connections(), 3);
    assert_eq!(counted(&server, "refused"), 0);
    assert_eq!(server.log.count("TraceExport"), 0, "{}", server.log.text());
}
