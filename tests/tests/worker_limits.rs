//! Tests the limits at which a worker is replaced: memory, lifetime, idle time, and the time after
//! which the stack of a slow request is logged.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, Builder, Request, Rung, Server, PATIENCE};
use serde_json::Value;
use std::collections::HashSet;

/// Keeps 2000 bytes of each request. The length is no constant: perl 5.42 makes the text of a
/// constant expression once, and shares its bytes.
const LEAK: &str = "push @main::kept, 'x' x (2000 + (@main::kept & 1)); print $$;";
/// Keeps 20 MB of one request, also of a length that is no constant.
const GROW: &str =
    "$main::kept = 'x' x (20_000_000 + ($$ & 1)) if $ENV{QUERY_STRING} eq 'grow'; print $$;";

fn site(conf: &str) -> Builder {
    Server::builder()
        .file("scripts/leak.pl", &plain(LEAK))
        .file("scripts/grow.pl", &plain(GROW))
        .ladder()
        .conf("<Location /metrics>\n    SetHandler metrics\n</Location>\n")
        .conf(conf)
}

fn worker_memory(server: &Server, what: &str) -> Option<u64> {
    server.status()["pool"]["workers"][0]["memory"][what].as_u64()
}

fn replaced(server: &Server, reason: &str) -> u64 {
    let status = server.status();
    let count = status["pool"]["totals"]["replaced"][reason].as_u64();
    count.unwrap_or_else(|| panic!("no count of {reason}: {status}"))
}

/// Returns the resident, the unshared or the shared memory of a new worker in bytes.
fn fresh(site: Builder, what: &str) -> u64 {
    let server = site.conf(&workers(1)).start();
    let mut found = None;
    let is_known = eventually(PATIENCE, || {
        found = worker_memory(&server, what);
        found.is_some()
    });
    assert!(is_known, "no look was made");
    found.unwrap_or_default()
}

#[test]
fn leaking_workers_are_replaced_and_lose_no_request() {
    let limit = fresh(site(""), "rss") + (8 << 20);
    let conf = format!("MaxWorkerMemory {limit}\n");
    let server = site(&workers(2)).conf(&conf).start();
    let leak = Request::get(&Rung::Registry.url("leak.pl"));
    let mut seen = HashSet::new();
    let mut connections = [server.connect(), server.connect()];
    let has_replaced = eventually(PATIENCE, || {
        for _ in 0..500 {
            for connection in &mut connections {
                connection.write(&leak.bytes());
            }
            for connection in &mut connections {
                let answer = connection.read_answer("GET").expect("an answer");
                seen.insert(answer.expect(200));
            }
        }
        replaced(&server, "memory") >= 3
    });
    assert!(has_replaced, "{}", server.log.text());
    assert!(seen.len() >= 4, "{seen:?}");
    server.log.expect("of memory, more than MaxWorkerMemory");
    let text = server.get("/metrics").text();
    assert!(
        text.contains("mehari_workers_replaced_total{reason=\"memory\"}"),
        "{text}"
    );
    let said = String::from_utf8_lossy(&server.control(&["status"]).stdout).into_owned();
    assert!(said.contains("workers replaced: memory"), "{said}");
}

/// Asks for `script` until a worker of the site is replaced for `reason`.
fn check_replaced(site: Builder, script: &str, reason: &str) {
    let server = site.conf(&workers(1)).start();
    let url = |query: &str| format!("{}?{query}", Rung::Registry.url(script));
    let first = server.get(&url("stay")).expect(200);
    assert_eq!(server.get(&url("stay")).expect(200), first, "{reason}");
    assert_eq!(server.get(&url("grow")).expect(200), first, "{reason}");
    let is_another = eventually(PATIENCE, || server.get(&url("stay")).expect(200) != first);
    let memory = &server.status()["pool"]["workers"][0]["memory"];
    assert!(is_another, "{reason}: {memory}");
    assert_eq!(replaced(&server, reason), 1, "{}", server.log.text());
}

/// Prints the 99th percentile of 200,000 requests to a leaking application under its limit, beside
/// a clean one under the same limit. The two take turns.
#[test]
#[ignore = "takes minutes: cargo test --test worker_limits -- --ignored --nocapture"]
fn leaking_application_loses_none_of_200_000_requests() {
    const BLOCKS: usize = 50;
    const BLOCK: usize = 4_000;
    let limit = fresh(site(""), "rss") + (16 << 20);
    let server = site(&workers(4))
        .file("scripts/clean.pl", &plain("print $$;"))
        .conf(&format!("MaxWorkerMemory {limit}\n"))
        .start();
    let mut connection = server.connect();
    let mut taken = [Vec::new(), Vec::new()];
    for _ in 0..BLOCKS {
        for (times, script) in taken.iter_mut().zip(["clean.pl", "leak.pl"]) {
            let request = Request::get(&Rung::Registry.url(script));
            for _ in 0..BLOCK {
                let begun = std::time::Instant::now();
                connection.send(&request).expect("an answer").expect(200);
                times.push(begun.elapsed());
            }
        }
    }
    let p99 = taken.map(|mut times| {
        times.sort();
        times[times.len() * 99 / 100]
    });
    let count = replaced(&server, "memory");
    eprintln!(
        "p99: clean {:?}, leaking {:?}; {count} workers replaced, no request lost",
        p99[0], p99[1]
    );
    assert!(count > 0, "{}", server.log.text());
}

#[test]
fn worker_with_too_much_unshared_memory_is_replaced() {
    let limit = fresh(site(""), "private") + (12 << 20);
    let conf = format!("MaxUnsharedMemory {limit}\n");
    check_replaced(site(&conf), "grow.pl", "unshared");
}

#[test]
fn worker_with_too_little_shared_memory_is_replaced() {
    // A worker that writes to the list shares some 20 MB less. Its first requests map files, so it
    // then shares a few MB more.
    let unshare = "if ($ENV{QUERY_STRING} eq 'grow') { $_ .= '' for @main::list } print $$;";
    let site = |conf: &str| {
        site(conf)
            .file("startup.pl", "@main::list = (1 .. 900_000);\n1;\n")
            .file("scripts/unshare.pl", &plain(unshare))
            .conf("PerlRequire @ROOT@/startup.pl\n")
    };
    let limit = fresh(site(""), "shared") - (4 << 20);
    let conf = format!("MinSharedMemory {limit}\n");
    check_replaced(site(&conf), "unshare.pl", "shared");
}

#[test]
fn worker_is_replaced_at_the_end_of_its_lifetime_although_it_is_idle() {
    let server = site(&workers(2)).conf("MaxWorkerLifetime 1\n").start();
    let first: HashSet<_> = server.workers().into_iter().collect();
    let all_new = eventually(PATIENCE, || {
        let now = server.workers();
        now.len() >= 2 && now.iter().all(|pid| !first.contains(pid))
    });
    assert!(all_new, "{first:?} {:?}", server.workers());
    assert!(replaced(&server, "lifetime") >= 2);
    assert_eq!(server.log.count("ended with"), 0);
}

#[test]
fn idle_workers_end_down_to_the_spare_ones() {
    let conf = "StartServers 4\nMinSpareServers 1\nMaxSpareServers 4\nWorkerIdleTimeout 1\n";
    let server = site(conf).start();
    let is_small = eventually(PATIENCE, || server.workers().len() == 1);
    assert!(is_small, "{:?}", server.workers());
    assert_eq!(replaced(&server, "idle"), 3);
    server.get(&Rung::Registry.url("leak.pl")).expect(200);
}

#[test]
fn limit_that_every_new_worker_is_beyond_is_named_and_has_no_effect() {
    let server = site(&workers(2))
        .conf("MaxUnsharedMemory 1048576\nMaxWorkerMemory 2097152\n")
        .start();
    server
        .log
        .expect("more than MaxWorkerMemory (2.0 MiB) before its first request");
    let first = server.workers();
    for _ in 0..20 {
        server.get(&Rung::Registry.url("leak.pl")).expect(200);
    }
    assert_eq!(server.workers(), first);
    assert_eq!(replaced(&server, "memory"), 0);
}

#[test]
fn at_most_a_quarter_of_the_workers_is_replaced_at_once() {
    let server = site(&workers(8)).conf("MaxConnectionsPerChild 1\n").start();
    let url = Rung::Registry.url("leak.pl");
    let states = |status: &Value, wanted: &str| {
        let workers = status["pool"]["workers"].as_array().cloned();
        let all = workers.unwrap_or_default();
        all.iter().filter(|it| it["state"] == wanted).count()
    };
    let mut connections: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for _ in 0..20 {
        for connection in &mut connections {
            connection.write(&Request::get(&url).bytes());
        }
        let status = server.status();
        let starting = states(&status, "starting");
        assert!(starting <= 2, "{starting} at once: {status}");
        for connection in &mut connections {
            connection
                .read_answer("GET")
                .expect("an answer")
                .expect(200);
        }
    }
    assert!(replaced(&server, "requests") >= 8);
}

#[test]
fn slow_request_has_its_stack_logged_and_goes_on() {
    const SLOW: &str =
        "sub inner { my $end = time + 3; 1 while time < $end } inner(); print 'done';";
    let server = Server::builder()
        .file("scripts/slow.pl", &plain(SLOW))
        .file("scripts/other.pl", &plain(SLOW))
        .ladder()
        .conf(&workers(2))
        .conf("<LocationMatch \"slow.pl$\">\n    SlowRequestTime 1\n</LocationMatch>\n")
        .start();
    for (count, rung) in [Rung::Registry, Rung::PerlRun, Rung::Fork, Rung::Rewind]
        .into_iter()
        .enumerate()
    {
        let answer = server.get(&rung.url("slow.pl"));
        assert_eq!(answer.expect(200), "done", "{}", rung.name());
        let told = server.log.count("the request is slow; Perl is at");
        assert_eq!(told, count + 1, "{}: {}", rung.name(), server.log.text());
    }
    server.get(&Rung::Registry.url("other.pl")).expect(200);
    assert_eq!(server.log.count("(SlowRequestTime)"), 4);
    server.log.expect("slow.pl:");
}
