//! Tests that no request is lost while workers are killed, the site is reloaded, and the program is
//! upgraded, all at once. `tests/handover` does the same over TLS and HTTP/2.
//!
//! Each request has a number. The script notes the number when it begins, the client notes the
//! answer, and the access log has the number, too. Each request must be answered exactly once, must
//! have begun at most once, and must have one line in the log.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Connection, Request, Rung, Server};
use rustix::process::Signal;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const CLIENTS: usize = 8;

/// How much is served and disturbed. The load goes on until all numbers are reached.
struct Extent {
    requests: usize,
    kills: usize,
    reloads: usize,
    upgrades: usize,
    /// The times between two disturbances of a kind.
    kill_every: Duration,
    reload_every: Duration,
    upgrade_every: Duration,
}

/// What was done.
#[derive(Debug, Default)]
struct Done {
    kills: usize,
    reloads: usize,
    upgrades: usize,
}

/// Notes its number with one write(2), which is whole or absent. Each hundredth request takes a
/// moment, so that some requests have begun when their worker is killed.
const NOTES: &str = "our $begun; if (!$begun) { open $begun, '>>', '@ROOT@/begun' or die $! }\n\
    syswrite $begun, \"$ENV{QUERY_STRING}\\n\"; print \"answer $ENV{QUERY_STRING}\";\n\
    select undef, undef, undef, 0.05 if $ENV{QUERY_STRING} % 100 == 0;";

fn site() -> Server {
    let builder = Server::builder();
    let root = builder.folder_of("").display().to_string();
    let root = root.trim_end_matches('/');
    builder
        .file("scripts/notes.pl", &plain(&NOTES.replace("@ROOT@", root)))
        .ladder()
        .conf(&workers(4))
        .conf("LogFormat \"%>s %q\" number\nCustomLog @ROOT@/access.log number\n")
        .start()
}

/// The answers by the number of the request.
type Answers = Mutex<HashMap<usize, u16>>;

/// Sends requests until `stop` is set. Every second client keeps its connection.
fn one_client(
    address: SocketAddr,
    keeps: bool,
    next: &AtomicUsize,
    stop: &AtomicBool,
    answers: &Answers,
) {
    let mut kept: Option<Connection> = None;
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let mut request = Request::get(&format!("{}?{number}", Rung::Registry.url("notes.pl")));
        if !keeps {
            request = request.closing();
        }
        let mut connection = kept.take().unwrap_or_else(|| Connection::open(address));
        let answer = connection.send(&request);
        let answer = answer.unwrap_or_else(|error| panic!("request {number} is lost: {error}"));
        match answer.status {
            200 => assert_eq!(answer.text(), format!("answer {number}")),
            502 => {}
            other => panic!("request {number}: {other} {}", answer.text()),
        }
        let before = answers
            .lock()
            .expect("no panic")
            .insert(number, answer.status);
        assert_eq!(before, None, "request {number} has two answers");
        if keeps && answer.field("connection").as_deref() != Some("close") {
            kept = Some(connection);
        }
    }
}

/// Kills workers, reloads and upgrades until the extent is reached.
fn disturb(server: &mut Server, extent: &Extent, served: impl Fn() -> usize) -> Done {
    let begun = Instant::now();
    let mut done = Done::default();
    let mut random = 0x9e37_79b9_u32;
    let (mut kill, mut reload, mut upgrade) =
        (extent.kill_every, extent.reload_every, extent.upgrade_every);
    let (mut upgrades_asked, mut refusals) = (0, 0);
    while served() < extent.requests
        || done.kills < extent.kills
        || done.reloads < extent.reloads
        || done.upgrades < extent.upgrades
        || done.upgrades < upgrades_asked
    {
        let now = begun.elapsed();
        if now >= kill {
            kill = now + extent.kill_every;
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let workers = server.workers();
            if let Some(pid) = workers.get(random as usize % workers.len().max(1)) {
                mehari_harness::processes::signal(*pid, Signal::Kill);
                done.kills += 1;
            }
        }
        if now >= reload {
            reload = now + extent.reload_every;
            server.signal(Signal::Hup);
            done.reloads += 1;
        }
        let is_upgrading = done.upgrades < upgrades_asked;
        if now >= upgrade && !is_upgrading {
            upgrade = now + extent.upgrade_every;
            server.signal(Signal::Usr2);
            upgrades_asked += 1;
        }
        // A killed worker of the new process refuses the upgrade, and the old process goes on.
        let is_refusal = |line: &String| line.contains("USR2: ") && line.contains(" goes on");
        let refused = server
            .log
            .lines()
            .iter()
            .filter(|line| is_refusal(line))
            .count();
        if is_upgrading && refused > refusals {
            (refusals, upgrades_asked) = (refused, done.upgrades);
        } else if is_upgrading && server.status()["pid"] != server.pid() {
            server.follow_upgrade();
            done.upgrades += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    done
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty())
}

fn check(server: &Server, answers: &HashMap<usize, u16>, done: &Done) {
    let mut begun: HashMap<usize, usize> = HashMap::new();
    for line in lines_of(&server.site.read("begun")) {
        *begun.entry(line.parse().expect("a number")).or_default() += 1;
    }
    let mut logged: HashMap<usize, Vec<u16>> = HashMap::new();
    for line in lines_of(&server.site.read("access.log")) {
        let (status, number) = line.split_once(" ?").expect("a line of the access log");
        let number = number.parse().expect("a number");
        logged
            .entry(number)
            .or_default()
            .push(status.parse().expect("a status"));
    }
    let mut broken = 0;
    for (number, status) in answers {
        let count = begun.get(number).copied().unwrap_or_default();
        match status {
            200 => assert_eq!(count, 1, "request {number} ran {count} times"),
            _ => {
                assert!(count <= 1, "request {number} ran {count} times");
                broken += 1;
            }
        }
        let lines = logged.get(number).map_or(&[][..], Vec::as_slice);
        assert_eq!(
            lines,
            [*status],
            "lines of request {number} in the access log"
        );
    }
    assert_eq!(logged.len(), answers.len(), "lines without a request");
    assert!(begun.keys().all(|number| answers.contains_key(number)));
    assert!(broken <= done.kills, "{broken} answers 502, {done:?}");
    println!(
        "{} requests: {} answered 200, {broken} answered 502, 0 lost, one line each; {done:?}",
        answers.len(),
        answers.len() - broken
    );
}

fn run(extent: &Extent) {
    let mut server = site();
    let address = server.address;
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers = Answers::default();
    let done = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (next, stop, answers) = (&next, &stop, &answers);
                scope.spawn(move || one_client(address, client % 2 == 0, next, stop, answers))
            })
            .collect();
        // A client that has failed ends the test at once.
        let served = || {
            if clients.iter().any(|client| client.is_finished()) {
                usize::MAX
            } else {
                answers.lock().map_or(usize::MAX, |answers| answers.len())
            }
        };
        let done = disturb(&mut server, extent, served);
        stop.store(true, Ordering::Relaxed);
        done
    });
    let answers = answers.into_inner().expect("no client has failed");
    // The log is complete when the server has ended.
    server.signal(Signal::Term);
    assert!(server.successor_ends(), "it does not stop");
    check(&server, &answers, &done);
}

#[test]
fn no_request_is_lost_while_workers_die_and_generations_and_programs_change() {
    run(&Extent {
        requests: 2_000,
        kills: 15,
        reloads: 3,
        upgrades: 2,
        kill_every: Duration::from_millis(200),
        reload_every: Duration::from_secs(1),
        upgrade_every: Duration::from_secs(3),
    });
}

/// The long form: `cargo test -p mehari-tests --test nothing_lost -- --ignored --nocapture`.
/// MEHARI_REQUESTS is the number of requests, by default a million.
#[test]
#[ignore = "takes many minutes"]
fn no_request_of_a_million_is_lost() {
    let wanted = std::env::var("MEHARI_REQUESTS").ok();
    let requests = wanted.map_or(1_000_000, |text| text.parse().expect("a number"));
    run(&Extent {
        requests,
        kills: 15,
        reloads: 3,
        upgrades: 1,
        kill_every: Duration::from_millis(200),
        reload_every: Duration::from_secs(1),
        upgrade_every: Duration::from_secs(30),
    });
}
