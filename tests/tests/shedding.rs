//! Tests overload: a team whose requests wait for too long refuses some at once and serves the
//! newest first, until no request waits. Others are not affected.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, Builder, Connection, Request, Server, PATIENCE};
use std::time::{Duration, Instant};

/// A script that notes that it has begun and waits for the file `go.NAME`.
const GATE: &str = "open my $f, '>>', qq{$ENV{DOCUMENT_ROOT}/begun} or die $!;\n\
    print $f qq{$ENV{QUERY_STRING}\\n}; close $f;\n\
    for (1 .. 6_000) {\n\
        last if -e qq{$ENV{DOCUMENT_ROOT}/go.$ENV{QUERY_STRING}};\n\
        select undef, undef, undef, 0.01;\n\
    }\n\
    print 'passed';";

/// A script that notes the order in which its requests are served.
const NOTE: &str = "open my $f, '>>', qq{$ENV{DOCUMENT_ROOT}/served} or die $!;\n\
    print $f qq{$ENV{QUERY_STRING} }; close $f; print 'served';";

fn site(count: u32, target: &str) -> Builder {
    Server::builder()
        .file("scripts/gate.pl", &plain(GATE))
        .file("scripts/note.pl", &plain(NOTE))
        .file("htdocs/file.txt", "a file\n")
        .ladder()
        .conf(&workers(count))
        .conf(&format!("WorkerQueueTarget {target}\n"))
}

/// Sends requests until the pool knows the time of a request.
fn warm(server: &Server) {
    for _ in 0..100 {
        server.get("/registry/note.pl?warm").expect(200);
    }
    server.site.write("htdocs/served", "");
}

fn ask(server: &Server, path: &str) -> Connection {
    let mut connection = server.connect();
    connection.write(&Request::get(path).bytes());
    connection
}

/// Occupies as many workers as there are names. A worker is free again after `open`.
fn close_gates(server: &Server, names: &[&str]) -> Vec<Connection> {
    let waiting = |name: &&str| ask(server, &format!("/registry/gate.pl?{name}"));
    let waiting = names.iter().map(waiting).collect();
    let begun = || server.site.read("htdocs/begun").lines().count() >= names.len();
    assert!(eventually(PATIENCE, begun), "{}", server.log.text());
    waiting
}

fn open(server: &Server, name: &str) {
    server.site.write(&format!("htdocs/go.{name}"), "");
}

fn refused(server: &Server) -> u64 {
    let status = server.status();
    let refusals = &status["pool"]["totals"]["refusals"];
    refusals["overload"].as_u64().expect("a count")
}

fn is_overloaded(server: &Server, team: usize) -> bool {
    server.status()["pool"]["teams"][team]["load"]["overloaded"] == true
}

/// Sends a request and waits until it is in the queue.
fn enqueue(server: &Server, name: &str) -> Connection {
    let queued = || server.status()["pool"]["totals"]["queued"].as_u64();
    let before = queued();
    let connection = ask(server, &format!("/registry/note.pl?{name}"));
    assert!(eventually(PATIENCE, || queued() > before), "{name}");
    connection
}

#[test]
fn overloaded_workers_drop_the_oldest_requests_and_serve_the_newest_first() {
    const TARGET: Duration = Duration::from_secs(4);
    // Only one of three workers becomes free, so the requests are served one after the other.
    let tried = (0..3).any(|_| {
        let server = site(3, "4").start();
        warm(&server);
        let mut gates = close_gates(&server, &["one", "two", "three"]);
        let mut old: Vec<Connection> = ["a", "b", "c"].map(|name| enqueue(&server, name)).into();
        assert!(eventually(PATIENCE, || is_overloaded(&server, 0)));
        let since = Instant::now();
        let mut new: Vec<Connection> = ["d", "e", "f"].map(|name| enqueue(&server, name)).into();
        for connection in &mut old {
            let answer = connection.read_answer("GET").expect("an answer");
            answer.expect(503);
            let after = answer.field("retry-after").expect("a time");
            assert!(after.parse::<u32>().is_ok_and(|after| after > 0), "{after}");
        }
        open(&server, "one");
        for connection in &mut new {
            let answer = connection.read_answer("GET").expect("an answer");
            assert_eq!(answer.expect(200), "served");
        }
        open(&server, "two");
        open(&server, "three");
        for connection in &mut gates {
            connection.read_answer("GET").expect("it ends").expect(200);
        }
        // On a stalled machine, `d` may have waited for half the target and comes first rightly.
        let is_in_time = since.elapsed() < TARGET / 2;
        assert!(!is_in_time || server.site.read("htdocs/served") == "f e d ");
        is_in_time
    });
    assert!(tried, "the machine was too slow three times");
}

#[test]
fn overload_is_refused_at_once_and_counted_and_ends_with_the_queue() {
    const CROWD: usize = 200;
    let server = site(1, "200ms").start();
    warm(&server);
    let before = server.status()["pool"]["totals"]["refused"].clone();
    let mut gate = close_gates(&server, &["one"]);
    let mut waiting = vec![enqueue(&server, "first")];
    assert!(eventually(PATIENCE, || is_overloaded(&server, 0)));
    waiting.extend((0..CROWD).map(|_| ask(&server, "/registry/note.pl?crowd")));
    // No request ends before the gate opens, so these answers come from the refusal alone.
    let most_are_refused = || refused(&server) >= CROWD as u64 / 2;
    assert!(
        eventually(PATIENCE, most_are_refused),
        "{}",
        server.status()
    );
    assert_eq!(server.get("/file.txt").expect(200), "a file\n");
    open(&server, "one");
    gate[0].read_answer("GET").expect("an answer").expect(200);
    let statuses = waiting.iter_mut().map(|connection| {
        let answer = connection.read_answer("GET").expect("an answer");
        answer.status
    });
    let (served, others): (Vec<u16>, Vec<u16>) = statuses.partition(|status| *status == 200);
    assert!(!served.is_empty());
    assert!(others.iter().all(|status| *status == 503), "{others:?}");
    assert!(eventually(PATIENCE, || !is_overloaded(&server, 0)));
    server.get("/registry/note.pl?after").expect(200);
    let totals = server.status()["pool"]["totals"].clone();
    assert_eq!(refused(&server), others.len() as u64, "{totals}");
    let before = before.as_u64().expect("a count");
    assert_eq!(totals["refused"], before + others.len() as u64);
    server
        .log
        .expect("the workers are overloaded: each request waits for longer than 200 ms");
    server.log.expect("the overload is over after");
    assert_eq!(
        server.log.count("the workers are overloaded"),
        1,
        "one line for all requests"
    );
}

#[test]
fn overload_of_one_host_takes_nothing_from_the_others() {
    // The first host serves the requests without a name that is known.
    let host = "<VirtualHost *:80>\nServerName main.example\n</VirtualHost>\n\
        <VirtualHost *:80>\nServerName slow.example\nPerlOptions +Clone\n\
        StartServers 1\nMinSpareServers 1\nMaxRequestWorkers 1\nWorkerQueueTarget 100ms\n\
        </VirtualHost>\n<Location /server-status>\nSetHandler server-status\n</Location>\n\
        <Location /metrics>\nSetHandler metrics\n</Location>\n";
    let server = site(1, "Auto").conf(host).start();
    let slow = |path: &str| Request::get(path).host("slow.example").bytes();
    for _ in 0..20 {
        let mut connection = server.connect();
        connection.write(&slow("/registry/note.pl?warm"));
        connection
            .read_answer("GET")
            .expect("an answer")
            .expect(200);
    }
    let mut waiting: Vec<Connection> = Vec::new();
    let mut ask_slow = |path: &str| {
        let mut connection = server.connect();
        connection.write(&slow(path));
        waiting.push(connection);
    };
    ask_slow("/registry/gate.pl?one");
    ask_slow("/registry/note.pl?two");
    assert!(
        eventually(PATIENCE, || is_overloaded(&server, 1)),
        "{}",
        server.status()
    );
    (0..300).for_each(|_| ask_slow("/registry/note.pl?more"));
    assert!(eventually(PATIENCE, || refused(&server) > 0));
    assert!(!is_overloaded(&server, 0));
    assert_eq!(server.get("/registry/note.pl?main").expect(200), "served");
    assert_eq!(server.get("/file.txt").expect(200), "a file\n");
    assert!(server
        .get("/server-status?auto")
        .expect(200)
        .contains("BusyWorkers: 1"));
    let metrics = server.get("/metrics");
    let metrics = metrics.expect(200);
    assert!(metrics.contains("\nmehari_overloaded 1\n"), "{metrics}");
    assert!(!metrics.contains("mehari_requests_refused_total{reason=\"overload\"} 0\n"));
    open(&server, "one");
    for connection in &mut waiting {
        let status = connection.read_answer("GET").expect("an answer").status;
        assert!(matches!(status, 200 | 503), "{status}");
    }
}

#[test]
fn queue_is_bounded_by_its_length_alone_if_no_target_is_set() {
    for (target, sheds) in [("Auto", true), ("Off", false)] {
        let server = site(1, target).start();
        warm(&server);
        let mut gate = close_gates(&server, &["one"]);
        let mut waiting: Vec<Connection> = (0..100)
            .map(|_| ask(&server, "/registry/note.pl?queued"))
            .collect();
        let are_queued = || server.status()["pool"]["totals"]["queued"].as_u64() >= Some(100);
        assert!(eventually(PATIENCE, are_queued), "{}", server.status());
        // The measured target is a second.
        std::thread::sleep(Duration::from_secs(2));
        open(&server, "one");
        gate[0].read_answer("GET").expect("an answer").expect(200);
        let answers = waiting.iter_mut().map(|it| it.read_answer("GET"));
        let statuses: Vec<u16> = answers.map(|it| it.expect("an answer").status).collect();
        assert_eq!(statuses.contains(&503), sheds, "{target}: {statuses:?}");
        assert!(statuses.contains(&200), "{target}: {statuses:?}");
    }
}
