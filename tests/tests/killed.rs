//! A worker, a program or the zygote killed from outside: one request is lost at most, and all goes on.

use mehari_harness::scripts::{is_well, nap, simple};
use mehari_harness::{eventually, processes, Request, Rung, PATIENCE};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn killed_worker_costs_its_own_request_only() {
    let server = simple(4).start();
    for rung in [Rung::Registry, Rung::PerlRun, Rung::Fork, Rung::Cgi] {
        let before = server.log.count("signal 9");
        let (mut other, _) = nap(&server, rung, "other");
        let (mut connection, pid) = nap(&server, rung, rung.name());
        processes::signal(pid, Signal::Kill);
        let answer = connection.read_answer("GET").expect("an answer");
        // A process of its own that ends without a word is a bad script to CGI: 500.
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

#[test]
fn killed_workers_under_load_fail_only_what_they_were_running() {
    let server = simple(4).start();
    let stop = AtomicBool::new(false);
    let (outcome, killed) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut killed = 0;
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                if let Some(&pid) = server.workers().first() {
                    processes::signal(pid, Signal::Kill);
                    killed += 1;
                }
            }
            killed
        });
        let crowd = mehari_harness::crowd::Crowd {
            address: server.address,
            clients: 8,
            requests: 10_000,
            keep_alive: true,
        };
        let outcome = crowd.run(
            |_| Request::get("/registry/hello.pl"),
            |_, answer| answer.status == 200 && answer.body == b"Hello",
        );
        stop.store(true, Ordering::Relaxed);
        (outcome, killer.join().expect("the killer ends"))
    });
    assert!(
        killed > 0,
        "the load was over before a worker could be killed"
    );
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
fn killed_zygote_is_replaced_while_everything_goes_on() {
    let mut server = simple(2).start();
    let descriptors = server.descriptors();
    let before = server.zygotes();
    assert_eq!(before.len(), 1, "one generation has one zygote");
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
    // The new zygote can do its work: a worker that dies now is replaced.
    let pid = server
        .get("/registry/pid.pl")
        .expect(200)
        .parse()
        .expect("a pid");
    processes::signal(pid, Signal::Kill);
    let well = eventually(PATIENCE, || server.get("/registry/hello.pl").status == 200);
    assert!(well, "no worker came back");
    // The workers of the old zygote write to its pipe as long as they live: one pipe more is no leak.
    let pipes = |kinds: &BTreeMap<String, usize>| kinds.get("pipe").copied().unwrap_or(0);
    assert!(pipes(&server.descriptors()) <= pipes(&descriptors) + 1);
    server.rebase();
}

#[test]
fn worker_retires_after_its_requests_without_failing_one() {
    let server = simple(2).conf("MaxConnectionsPerChild 20\n").start();
    let mut seen = std::collections::HashSet::new();
    let mut connection = server.connect();
    for _ in 0..300 {
        let answer = connection
            .send(&Request::get("/registry/pid.pl"))
            .expect("an answer");
        seen.insert(answer.expect(200));
    }
    // 300 requests at 20 a worker, give or take a fifth: at least a dozen workers.
    assert!(seen.len() >= 12, "only {} workers served", seen.len());
    assert!(seen.len() <= 20, "{} workers served", seen.len());
}
