//! Tests the rung `rewind` without its worker: a rewound child borrows the worker's mailbox, and
//! takes the requests of its script from the mailbox.
//!
//! The number of a worker's voluntary context switches shows whether the worker was woken.

use mehari_harness::scripts::{plain, simple, workers};
use mehari_harness::{eventually, processes, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;

/// A script that prints its process number without asking the kernel for it.
const WHO: &str =
    "open my $f, '<', '/proc/self/stat' or die; (my $who) = split ' ', <$f>; print $who;";
const ECHO: &str =
    "binmode STDIN; local $/; my $b = <STDIN> // ''; print length $b, ':', unpack '%32C*', $b;";
/// The size of a body that goes through a file.
const LARGE: usize = 3_000_000;

fn server(count: u32) -> Server {
    Server::builder()
        .ladder()
        .conf(&workers(count))
        .env("MEHARI_REWIND_COMPARE", "1")
        .file("scripts/who.pl", &plain(WHO))
        .file("scripts/other.pl", &plain(WHO))
        .file("scripts/echo.pl", &plain(ECHO))
        .file("scripts/dies.pl", &plain("if ($ENV{QUERY_STRING}) { $| = 1; print 'x'; kill KILL => getppid if $ENV{QUERY_STRING} == 2; kill KILL => 0 } print 'ok'"))
        .start()
}

fn get(server: &Server, script: &str) -> String {
    server.get(&Rung::Rewind.url(script)).expect(200)
}

/// Returns the number of a process's voluntary context switches.
fn waits(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok())
        .expect("a count")
}

fn waits_of_workers(server: &Server) -> u64 {
    server.workers().into_iter().map(waits).sum()
}

#[test]
fn requests_of_one_script_do_not_wake_the_worker() {
    let server = server(1);
    get(&server, "who.pl");
    get(&server, "who.pl");
    let before = waits_of_workers(&server);
    let who = get(&server, "who.pl");
    for _ in 0..100 {
        assert_eq!(get(&server, "who.pl"), who);
    }
    let waited = waits_of_workers(&server) - before;
    assert!(waited < 20, "the worker waited {waited} times");
}

#[test]
fn scripts_keep_workers_of_their_own() {
    let server = server(2);
    for _ in 0..2 {
        get(&server, "who.pl");
        get(&server, "other.pl");
    }
    let before = waits_of_workers(&server);
    let (who, other) = (get(&server, "who.pl"), get(&server, "other.pl"));
    assert_ne!(who, other);
    for _ in 0..50 {
        assert_eq!(get(&server, "who.pl"), who);
        assert_eq!(get(&server, "other.pl"), other);
    }
    let waited = waits_of_workers(&server) - before;
    assert!(waited < 20, "the workers waited {waited} times");
}

#[test]
fn mailbox_may_hold_requests_of_any_script_and_rung() {
    let server = server(1);
    let (who, other) = (get(&server, "who.pl"), get(&server, "other.pl"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..30 {
                    assert_eq!(get(&server, "who.pl"), who);
                    assert_eq!(get(&server, "other.pl"), other);
                    for rung in [Rung::Registry, Rung::Fork, Rung::Cgi] {
                        server.get(&rung.url("who.pl")).expect(200);
                    }
                }
            });
        }
    });
    assert_eq!(server.log.count("not as they were"), 0);
}

#[test]
fn bodies_reach_the_process_that_has_the_mailbox() {
    let server = server(1);
    let url = Rung::Rewind.url("echo.pl");
    let bodies = [0, 10, LARGE, 70_000, LARGE + 1, 0, 1];
    for length in bodies.repeat(3) {
        let body: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
        let answer = server.send(&Request::post(&url, body));
        assert_eq!(
            answer.expect(200),
            format!("{length}:{}", sum % (1 << 32)),
            "{length} bytes"
        );
        get(&server, "who.pl");
    }
}

#[test]
fn changed_script_is_compiled_again() {
    let server = server(1);
    for number in 0..3 {
        let text = plain(&format!("print 'number {number}';"));
        server.site.replace("scripts/changes.pl", &text);
        for _ in 0..3 {
            assert_eq!(get(&server, "changes.pl"), format!("number {number}"));
        }
    }
}

/// Returns the templates.
fn templates(server: &Server) -> Vec<processes::Process> {
    let workers = server.workers();
    let all = processes::descendants(server.pid());
    all.into_iter()
        .filter(|process| process.command == "mehari-template" && !workers.contains(&process.pid))
        .collect()
}

#[test]
fn processes_may_be_killed_while_they_wait() {
    let mut server = server(1);
    let zygotes = server.zygotes();
    for is_template in [false, true, false, true] {
        get(&server, "who.pl");
        get(&server, "who.pl");
        // The child of a template ends with the template.
        let (killed, children): (Vec<_>, Vec<_>) = templates(&server)
            .into_iter()
            .partition(|process| zygotes.contains(&process.parent) == is_template);
        for process in &killed {
            processes::signal(process.pid, rustix::process::Signal::Kill);
        }
        let ends = killed.iter().chain(children.iter().filter(|_| is_template));
        for process in ends {
            let has_ended = || !processes::is_alive(process.pid);
            assert!(eventually(PATIENCE, has_ended), "{}", process.pid);
        }
        let who = get(&server, "who.pl");
        assert_eq!(get(&server, "who.pl"), who);
    }
    // The worker has no request when it notices that the template has died.
    assert_eq!(server.log.count("and is replaced"), 0);
    assert_eq!(server.log.count("who.pl: its template process ended"), 2);
    server.rebase();
}

#[test]
fn request_that_kills_its_process_harms_no_other() {
    let server = server(1);
    for _ in 0..3 {
        for query in ["", "?1", "", "?2", ""] {
            let url = format!("{}{query}", Rung::Rewind.url("dies.pl"));
            if query.is_empty() {
                assert_eq!(server.get(&url).expect(200), "ok");
            } else {
                let _ = server.connect().send(&Request::get(&url).closing());
            }
        }
    }
}

/// A worker that is killed at the end runs no handler for its own end.
#[test]
fn worker_that_has_lent_its_mailbox_ends_by_itself() {
    let startup = "sub Left::handler { open my $note, '>', qq{@ROOT@/left.$$} or die $!; 0 }\n1;\n";
    for _ in 0..4 {
        let mut server = simple(2)
            .file("startup.pl", startup)
            .fill_in(&["startup.pl"], &[])
            .conf("PerlRequire @ROOT@/startup.pl\nPerlChildExitHandler Left\n")
            .start();
        let before = server.workers();
        for _ in 0..4 {
            server.get(&Rung::Rewind.url("hello.pl")).expect(200);
        }
        server.signal(Signal::Term);
        assert!(server.wait().expect("the server ends").success());
        for worker in before {
            let note = server.site.path(&format!("left.{worker}"));
            assert!(note.exists(), "{worker} was killed: {}", server.log.text());
        }
    }
}
