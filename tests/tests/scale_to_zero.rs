//! Tests teams whose last worker ends when no request comes (`WorkerIdleTimeout ... All`).

use mehari_harness::apache::beside;
use mehari_harness::scripts::{is_well, plain, simple};
use mehari_harness::{eventually, processes, Builder, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use std::collections::HashSet;
use std::time::Instant;

const NONE_AT_START: &str = "StartServers 0\nWorkerIdleTimeout 1 All\n";

fn site(conf: &str) -> Builder {
    let reports = "<Location /metrics>\n    SetHandler metrics\n</Location>\n\
         <Location /ready>\n    SetHandler health-ready\n</Location>\n";
    simple(1)
        .file("app.psgi", "sub { [200, [], ['PSGI']] }\n")
        .conf("PerlModule POSIX\n<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .conf(reports)
        .conf("MaxSpareServers 8\nMaxRequestWorkers 8\n")
        .conf(conf)
}

#[track_caller]
fn wait_for_none(server: &Server) {
    let is_none = eventually(PATIENCE, || server.workers().is_empty());
    assert!(is_none, "{:?}\n{}", server.workers(), server.log.text());
}

#[test]
fn last_worker_ends_and_the_next_request_forks_one() {
    let server = site("StartServers 3\nMinSpareServers 2\nWorkerIdleTimeout 1 All\n").start();
    assert_eq!(server.workers().len(), 3);
    wait_for_none(&server);
    assert_eq!(server.status()["pool"]["totals"]["replaced"]["idle"], 3);
    let mut told = String::new();
    let is_told = eventually(PATIENCE, || {
        told = String::from_utf8_lossy(&server.control(&["status"]).stdout).into_owned();
        told.contains("no worker: the next request forks one")
    });
    assert!(is_told, "{told}");
    assert_eq!(server.status()["pool"]["teams"][0]["rests"], true);
    server.get("/ready").expect(200);
    let metrics = server.get("/metrics").text();
    assert!(
        metrics.contains("mehari_workers{state=\"idle\"} 0"),
        "{metrics}"
    );
    for path in ["/psgi", "/registry/hello.pl", "/auto/hello.pl"] {
        let begun = Instant::now();
        let text = server.get(path).expect(200);
        eprintln!("{path}: the first request took {:?}", begun.elapsed());
        assert_eq!(text, if path == "/psgi" { "PSGI" } else { "Hello" });
        assert_eq!(server.status()["pool"]["teams"][0]["rests"], false);
        wait_for_none(&server);
    }
    is_well(&server);
    assert_eq!(server.status()["pool"]["totals"]["workers_died"], 0);
}

#[test]
fn zygote_alone_has_memory_while_no_worker_runs() {
    let server = site("StartServers 4\nWorkerIdleTimeout 1 All\n").start();
    let processes = || server.status()["pool"]["memory"]["processes"].as_u64();
    assert!(
        eventually(PATIENCE, || processes() == Some(5)),
        "{:?}",
        processes()
    );
    let before = server.status()["pool"]["memory"]["pss"].as_u64();
    wait_for_none(&server);
    assert!(
        eventually(PATIENCE, || processes() == Some(1)),
        "{:?}",
        processes()
    );
    assert!(server.status()["pool"]["memory"]["pss"].as_u64() < before);
}

#[test]
fn many_requests_at_once_get_as_many_workers_as_they_need() {
    let pause = plain("select undef, undef, undef, 0.3; print $$;");
    let server = site(NONE_AT_START).file("scripts/pause.pl", &pause).start();
    assert!(server.workers().is_empty());
    let mut connections: Vec<_> = (0..24).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.write(&Request::get(&Rung::Registry.url("pause.pl")).bytes());
    }
    let answers = connections.iter_mut().map(|connection| {
        let answer = connection.read_answer("GET").expect("an answer");
        answer.expect(200)
    });
    let pids: HashSet<String> = answers.collect();
    assert_eq!(pids.len(), 8, "{pids:?}");
    wait_for_none(&server);
}

#[test]
fn reload_of_a_resting_team_starts_no_worker() {
    let server = site("StartServers 2\nWorkerIdleTimeout 1 All\n").start();
    wait_for_none(&server);
    assert!(server.control(&["reload"]).status.success());
    let status = server.status();
    assert_eq!(status["pool"]["generation"], 2, "{status}");
    assert_eq!(status["pool"]["totals"]["workers_started"], 2, "{status}");
    assert_eq!(server.get("/psgi").expect(200), "PSGI");
    // A team with workers gets new ones.
    assert!(server.control(&["reload"]).status.success());
    assert_eq!(server.status()["pool"]["totals"]["workers_started"], 5);
}

#[test]
fn workers_that_do_not_start_end_the_wait_of_their_requests_and_nothing_more() {
    let module = "package Ends;\nmy ($root) = __FILE__ =~ m{(.*)/lib/};\nsub init { -e qq{$root/broken} and do { require POSIX; POSIX::_exit(70) }; 0 }\n1;\n";
    let server = site(NONE_AT_START)
        .file("lib/Ends.pm", module)
        .file("broken", "")
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Ends\nPerlChildInitHandler Ends::init\n")
        .conf("WorkerQueueTimeout 2\n")
        .start();
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.get("/registry/hello.pl").status);
    }
    assert!(
        statuses.iter().all(|it| [502, 503].contains(it)),
        "{statuses:?}"
    );
    wait_for_none(&server);
    let tried = server.log.count("ended with status 70");
    assert!((3..=20).contains(&tried), "{}", server.log.text());
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(server.log.count("ended with status 70"), tried);
    std::fs::remove_file(server.site.path("broken")).expect("it was written");
    assert!(server.control(&["reload"]).status.success());
    server.get("/registry/hello.pl").expect(200);
}

#[test]
fn killed_last_worker_gets_no_successor_before_the_next_request() {
    let server = site(NONE_AT_START).start();
    let pid: i32 = server
        .get("/registry/pid.pl")
        .expect(200)
        .parse()
        .expect("a pid");
    processes::signal(pid, Signal::Kill);
    wait_for_none(&server);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(server.status()["pool"]["totals"]["workers_started"], 1);
    server.get("/registry/hello.pl").expect(200);
}

#[test]
fn zero_in_the_configuration_of_apache_counts_as_one() {
    let conf = "StartServers 0\nMinSpareServers 0\nMaxRequestWorkers 1\n";
    let site = || {
        Server::builder()
            .file("scripts/hello.pl", &plain("print 'Hello';"))
            .ladder()
            .conf(conf)
    };
    for server in beside(site) {
        assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    }
    let server = site().start();
    assert_eq!(server.workers().len(), 1);
    assert_eq!(server.status()["pool"]["plan"]["min_spare"], 1);
}
