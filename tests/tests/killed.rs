//! Tests what happens when a signal kills a worker, a program or the zygote: at most one request
//! fails, and the server goes on.

use mehari_harness::scripts::{is_well, nap, plain, simple};
use mehari_harness::{eventually, processes, Request, Rung, PATIENCE};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn killed_worker_fails_only_its_own_request() {
    let server = simple(4).start();
    for rung in [
        Rung::Registry,
        Rung::PerlRun,
        Rung::Fork,
        Rung::Rewind,
        Rung::Cgi,
    ] {
        let before = server.log.count("signal 9");
        let (mut other, _) = nap(&server, rung, "other");
        let (mut connection, pid) = nap(&server, rung, rung.name());
        processes::signal(pid, Signal::Kill);
        let answer = connection.read_answer("GET").expect("an answer");
        // On the rung `cgi`, a process that ends without output is a faulty script: 500.
        let fits = answer.status == 502 || Rung::ISOLATED.contains(&rung) && answer.status == 500;
        assert!(fits, "{}: {} {}", rung.name(), answer.status, answer.text());
        let answer = other.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), "rested", "{}", rung.name());
        let told = eventually(PATIENCE, || server.log.count("signal 9") > before);
        assert!(told, "{}: {}", rung.name(), server.log.text());
        std::fs::remove_file(server.site.path("htdocs/napping.other")).expect("it was written");
    }
    is_well(&server);
    let replaced = eventually(PATIENCE, || server.workers().len() == 4);
    assert!(replaced, "workers: {:?}", server.workers());
}

/// The front learns at the same time that all workers have ended and that new requests have come. A
/// request that was given to a dead worker goes to the next worker. Several such moves must not
/// lose the request.
#[test]
fn workers_killed_together_lose_no_request_that_had_not_begun() {
    // On a busy machine six new workers take longer than requests may wait by default.
    let server = simple(6).conf("WorkerQueueTarget Off\n").start();
    server.get("/registry/hello.pl").expect(200);
    assert!(eventually(PATIENCE, || server.workers().len() == 6));
    let mut asked: Vec<_> = (0..12).map(|_| server.connect()).collect();
    for connection in &mut asked {
        let request = Request::get("/registry/hello.pl");
        connection.send(&request).expect("an answer").expect(200);
    }
    // Not all workers have served, and those that end at once count as failed starts.
    std::thread::sleep(Duration::from_millis(100));
    server.signal(Signal::Stop);
    let workers = server.workers();
    for connection in &mut asked {
        connection.write(&Request::get("/registry/hello.pl").bytes());
    }
    for pid in &workers {
        processes::signal(*pid, Signal::Kill);
    }
    let are_gone = eventually(PATIENCE, || {
        workers
            .iter()
            .all(|pid| processes::process(*pid).is_none_or(|it| it.state == 'Z'))
    });
    server.signal(Signal::Cont);
    assert!(are_gone, "{workers:?}");
    for connection in &mut asked {
        let answer = connection.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), "Hello", "{}", server.log.text());
    }
    is_well(&server);
}

#[test]
fn killed_workers_under_load_fail_only_their_running_requests() {
    let server = simple(4).start();
    let stop = AtomicBool::new(false);
    let killed = AtomicUsize::new(0);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                if let Some(&pid) = server.workers().first() {
                    processes::signal(pid, Signal::Kill);
                    killed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let crowd = mehari_harness::crowd::Crowd {
            address: server.address,
            clients: 8,
            requests: 10_000,
            keep_alive: true,
        };
        let outcome = crowd.run_until(
            || killed.load(Ordering::Relaxed) >= 3,
            |_| Request::get("/registry/hello.pl"),
            |_, answer| answer.status == 200 && answer.body == b"Hello",
        );
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    let killed = killed.into_inner();
    assert!(killed >= 3, "only {killed} workers could be killed");
    assert!(
        outcome.failed <= killed,
        "{} failed, {killed} workers killed: {:?}",
        outcome.failed,
        outcome.failures
    );
    assert!(
        outcome.failures.iter().all(|why| why.contains(": 502 ")),
        "{:?}",
        outcome.failures
    );
    is_well(&server);
}

#[test]
fn killed_zygote_is_replaced_and_no_request_fails() {
    let mut server = simple(2).start();
    let descriptors = server.descriptors();
    // A worker that was just forked still has the zygote's name.
    let mut before = Vec::new();
    let one = eventually(PATIENCE, || {
        before = server.zygotes();
        before.len() == 1
    });
    assert!(one, "one generation has one zygote: {before:?}");
    let (mut connection, _) = nap(&server, Rung::Registry, "a");
    processes::signal(before[0], Signal::Kill);
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    let answer = connection.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), "rested");
    server.log.expect("zygote");
    let replaced = eventually(PATIENCE, || {
        let now = server.zygotes();
        now.len() == 1 && now != before
    });
    assert!(replaced, "zygotes: {:?}", server.zygotes());
    is_well(&server);
    // The new zygote must work: it replaces a worker that dies now.
    let pid = server
        .get("/registry/pid.pl")
        .expect(200)
        .parse()
        .expect("a pid");
    processes::signal(pid, Signal::Kill);
    let well = eventually(PATIENCE, || server.get("/registry/hello.pl").status == 200);
    assert!(well, "no worker came back");
    // The old zygote's workers write to its pipe as long as they live, so one more pipe is no leak.
    let pipes = |kinds: &BTreeMap<String, usize>| kinds.get("pipe").copied().unwrap_or(0);
    assert!(pipes(&server.descriptors()) <= pipes(&descriptors) + 1);
    server.rebase();
}

#[test]
fn worker_that_a_killed_zygote_was_asked_for_is_asked_for_again() {
    let mut server = simple(1).start();
    let pid = server
        .get("/registry/pid.pl")
        .expect(200)
        .parse()
        .expect("a pid");
    let zygote = server.zygotes()[0];
    processes::signal(zygote, Signal::Stop);
    processes::signal(pid, Signal::Kill);
    let states = || {
        let workers = server.status()["pool"]["workers"].clone();
        let all = workers.as_array().cloned().unwrap_or_default();
        all.into_iter()
            .map(|one| one["state"].clone())
            .collect::<Vec<_>>()
    };
    let asked = eventually(PATIENCE, || states() == ["starting"]);
    assert!(asked, "no worker was asked for: {:?}", states());
    processes::signal(zygote, Signal::Kill);
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    assert_eq!(states().len(), 1, "{:?}", states());
    is_well(&server);
    server.rebase();
}

#[test]
fn worker_retires_after_its_requests_without_failing_one() {
    let server = simple(2).conf("MaxConnectionsPerChild 20\n").start();
    let mut seen = std::collections::HashSet::new();
    let mut connection = server.connect();
    // A worker ends after 20 requests, more or less by a fifth. On a busy machine, a worker goes on
    // until its successor has started.
    let (mut asked, began) = (0, Instant::now());
    while asked < 300 || (seen.len() < 6 && began.elapsed() < PATIENCE) {
        let answer = connection
            .send(&Request::get("/registry/pid.pl"))
            .expect("an answer");
        seen.insert(answer.expect(200));
        asked += 1;
    }
    assert!(seen.len() >= 6, "only {} workers served", seen.len());
    assert!(seen.len() * 15 <= asked, "{} workers served", seen.len());
}

#[test]
fn script_that_signals_its_own_group_harms_no_other_request() {
    let server = simple(1)
        .file("scripts/group.pl", &plain("$| = 1; print 'before'; $SIG{TERM} = sub { print ' caught'; }; kill 'TERM', -getpgrp; print ' after';"))
        .file("scripts/suicide.pl", &plain("$| = 1; print 'before'; kill 'KILL', -getpgrp; sleep 5;"))
        .start();
    for _ in 0..2 {
        let text = server.get("/fork/group.pl").expect(200);
        assert_eq!(text, "before caught after");
        let answer = server.get("/fork/suicide.pl");
        assert_eq!((answer.status, answer.complete), (200, false));
    }
    assert_eq!(server.log.count("the worker died"), 0);
    assert_eq!(server.log.count("template process ended"), 0);
}

/// A response that its process could not complete must not look complete, whoever dies.
#[test]
fn template_that_dies_within_a_response_cuts_it() {
    let script = "$| = 1; print getppid, qq{\\n}; system 'true' if $ENV{QUERY_STRING} eq 'shares'; sleep 60;";
    let server = simple(1).file("scripts/part.pl", &plain(script)).start();
    for rung in [Rung::Fork, Rung::Rewind] {
        for query in ["alone", "shares"] {
            let case = format!("{}?{query}", rung.url("part.pl"));
            let mut connection = server.connect();
            connection.write(&Request::get(&case).bytes());
            let mut template = None;
            while template.is_none() {
                assert!(connection.fill().expect("a part") > 0, "{case}");
                let text = String::from_utf8_lossy(connection.unread()).into_owned();
                let mut lines = text.split('\n').rev().skip(1);
                template = lines.find_map(|line| line.trim().parse::<i32>().ok());
            }
            processes::signal(template.expect("a number"), Signal::Kill);
            let answer = connection.read_answer("GET").expect("a part of an answer");
            assert_eq!((answer.status, answer.complete), (200, false), "{case}");
        }
    }
    server
        .log
        .expect("its process ended with its template within its response");
    is_well(&server);
}

#[test]
fn child_ends_with_its_time_limit_its_template_or_the_front() {
    let script = "my $kid = fork; if (!$kid) { sleep 100 } open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/kid.$ENV{QUERY_STRING}}; print $f \"$$ $kid\"; close $f; sleep 100;";
    let mut server = simple(1)
        .file("scripts/kids.pl", &plain(script))
        .conf("Timeout 1\n")
        .leaves_processes()
        .start();
    let pids = |server: &mehari_harness::Server, name: &str| {
        let mut pids: Vec<i32> = Vec::new();
        let note = format!("htdocs/kid.{name}");
        assert!(eventually(PATIENCE, || {
            pids = server
                .site
                .read(&note)
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect();
            pids.len() == 2
        }));
        pids
    };
    let are_gone = |pids: &[i32]| {
        eventually(PATIENCE, || {
            !pids.iter().any(|pid| processes::is_alive(*pid))
        })
    };
    server.get("/fork/kids.pl?late").expect(504);
    assert!(are_gone(&pids(&server, "late")), "after the time limit");
    let mut connection = server.connect();
    connection.write(&Request::get("/fork/kids.pl?orphan").bytes());
    let orphans = pids(&server, "orphan");
    let template = processes::process(orphans[0]).expect("it runs").parent;
    processes::signal(template, Signal::Kill);
    assert!(are_gone(&orphans), "after its template");
    let mut connection = server.connect();
    connection.write(&Request::get("/fork/kids.pl?last").bytes());
    let last = pids(&server, "last");
    server.signal(Signal::Kill);
    server.wait();
    assert!(are_gone(&last), "after the front");
}

#[test]
fn workers_that_end_at_their_start_are_started_with_pauses_until_a_reload() {
    let module = "package Ends;\nmy ($root) = __FILE__ =~ m{(.*)/lib/};\nsub init { -e qq{$root/broken} and do { require POSIX; POSIX::_exit(70) }; 0 }\n1;\n";
    let server = simple(1)
        .file("lib/Ends.pm", module)
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Ends\nPerlChildInitHandler Ends::init\n")
        .start();
    let broken = server.site.path("broken");
    std::fs::write(&broken, "").expect("a file to fail by");
    for pid in server.workers() {
        processes::signal(pid, Signal::Kill);
    }
    let told = eventually(PATIENCE, || server.log.count("ended with status 70") >= 4);
    assert!(told, "{}", server.log.text());
    server.log.expect("ended before their first request");
    let begun = server.log.count("ended with status 70");
    std::thread::sleep(Duration::from_millis(500));
    assert!(server.log.count("ended with status 70") <= begun + 3);
    let shown = server.control(&["status"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("crash loop: "), "{shown}");
    std::fs::remove_file(&broken).expect("it was written");
    assert!(server.control(&["reload"]).status.success());
    server.get("/registry/hello.pl").expect(200);
    assert_eq!(server.status()["pool"]["false_starts"], 0);
}
