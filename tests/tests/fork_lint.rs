//! Tests fork-lint: what the Perl of a site should not have when it forks its first worker is named
//! in the log, or refused.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{needs, Builder, Rung, Server};
use std::net::TcpListener;

/// Opens a connection in a sub of the start-up file.
const CONNECTS: &str = "use IO::Socket::INET;\nsub open_it {\n    \
    our $kept = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => PORT) or die;\n}\n\
    open_it();\n1;\n";

fn site(startup: &str) -> Builder {
    Server::builder()
        .file("startup.pl", startup)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(1))
        .conf("PerlRequire @ROOT@/startup.pl\n")
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, CONNECTS.replace("PORT", &port.to_string()))
}

#[test]
fn socket_is_named_with_the_line_that_opened_it() {
    let (listener, startup) = listener();
    let server = site(&startup).start();
    let address = listener.local_addr().expect("an address");
    let line = server.log.expect(&format!(
        "before the first fork there is a socket to {address}"
    ));
    assert!(line.contains("startup.pl line 3;"), "{line}");
    assert!(line.contains("[warn]"), "{line}");
    server.get(&Rung::Registry.url("hello.pl")).expect(200);
}

#[test]
fn socket_refuses_the_start_if_the_configuration_says_so() {
    let (_listener, startup) = listener();
    let Err(log) = site(&startup).conf("PerlForkLint Refuse\n").try_start() else {
        panic!("the server starts");
    };
    log.expect("before the first fork there is a socket to 127.0.0.1");
}

#[test]
fn lint_that_is_off_says_nothing() {
    let (_listener, startup) = listener();
    let server = site(&startup).conf("PerlForkLint Off\n").start();
    assert_eq!(server.log.count("before the first fork"), 0);
}

#[test]
fn timers_children_and_database_handles_are_named() {
    needs!("libdbd-sqlite3-perl", "libdbi-perl");
    let startup = "alarm 1000;\nour $kid = open our $from, '-|', 'sleep 300';\nEND { kill 9, $kid if $kid }\n\
        if (eval { require DBI; require DBD::SQLite; 1 }) { our $db = DBI->connect('dbi:SQLite:dbname=:memory:') or die }\n1;\n";
    let server = site(startup).leaves_processes().start();
    for words in [
        "an alarm that rings in",
        "the child process",
        "a database handle (dbi:SQLite:",
    ] {
        let line = server.log.expect(words);
        assert!(line.contains("before the first fork there is"), "{line}");
    }
}

#[test]
fn ordinary_site_gets_no_line() {
    let startup = "use POSIX ();\nuse Data::Dumper ();\nopen our $log, '>>', '/dev/null';\n1;\n";
    let server = site(startup).start();
    server.get(&Rung::Registry.url("hello.pl")).expect(200);
    assert_eq!(
        server.log.count("before the first fork"),
        0,
        "{}",
        server.log.text()
    );
}

#[test]
fn workers_are_merged_by_the_kernel_if_the_configuration_says_so() {
    for (conf, expected) in [("", false), ("MergeWorkerMemory On\n", true)] {
        let server = site("1;\n").conf(conf).start();
        let worker = server.workers()[0];
        let file = format!("/proc/{}/ksm_stat", worker);
        let stat = std::fs::read_to_string(file).unwrap_or_default();
        let can_merge = stat.contains("ksm_merge_any");
        if !needs::machine(can_merge, "a kernel that merges memory by process") {
            return;
        }
        assert_eq!(stat.contains("ksm_merge_any: yes"), expected, "{stat}");
        assert_eq!(
            server.status()["pool"]["memory"]["merged"].is_i64(),
            expected
        );
    }
}
