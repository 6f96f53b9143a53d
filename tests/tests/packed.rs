//! Tests a request in the mailbox of a worker that must run another request first.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, processes, Connection, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;

/// A script that writes its process number to `begun.NAME` and waits until `go.NAME` exists.
const WAITS: &str = "\
    my $name = $ENV{QUERY_STRING};\n\
    open my $note, '>', \"$ENV{DOCUMENT_ROOT}/begun.$name\" or die $!;\n\
    syswrite $note, $$;\n\
    for (1 .. 6000) { last if -e \"$ENV{DOCUMENT_ROOT}/go.$name\"; select undef, undef, undef, 0.01 }\n\
    print $name;";

fn ask(server: &Server, target: &str) -> Connection {
    let mut connection = server.connect();
    connection.write(&Request::get(target).bytes());
    connection
}

#[track_caller]
fn process_of(server: &Server, name: &str) -> i32 {
    let file = format!("htdocs/begun.{name}");
    let mut pid = None;
    let has_begun = eventually(PATIENCE, || {
        pid = server.site.read(&file).parse().ok();
        pid.is_some()
    });
    assert!(has_begun, "{name}: {}", server.log.text());
    pid.unwrap_or_default()
}

/// Both workers are busy and two requests wait. One worker gets both requests. Then the other
/// worker is replaced, and nothing else happens. The second request must not wait for the first,
/// which does not end.
#[test]
fn request_after_a_slow_one_goes_to_a_worker_that_starts_later() {
    let server = Server::builder()
        .file("scripts/waits.pl", &plain(WAITS))
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(2))
        .start();
    let _first = ask(&server, "/registry/waits.pl?first");
    process_of(&server, "first");
    let _killed = ask(&server, "/registry/waits.pl?killed");
    let doomed = process_of(&server, "killed");
    let _slow = ask(&server, "/registry/waits.pl?slow");
    let waiting = |count| eventually(PATIENCE, || server.status()["pool"]["queue"] == count);
    assert!(waiting(1), "{}", server.status());
    let mut behind = ask(&server, "/registry/hello.pl");
    assert!(waiting(2), "{}", server.status());
    server.site.write("htdocs/go.first", "");
    process_of(&server, "slow");
    processes::signal(doomed, Signal::Kill);
    let answer = behind.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), "Hello", "{}", server.log.text());
    for name in ["slow", "killed"] {
        server.site.write(&format!("htdocs/go.{name}"), "");
    }
}

/// Two requests wait, so the worker gets both at once. The first one changes the worker's process
/// for good. The second one must run in another process.
#[test]
fn request_behind_one_that_changes_its_process_goes_to_another_worker() {
    let priority = "print getpriority 0, 0;";
    let server = Server::builder()
        .file("scripts/waits.pl", &plain(WAITS))
        .file(
            "scripts/changes.pl",
            &plain("setpriority 0, 0, 5; print $$;"),
        )
        .file("scripts/priority.pl", &plain(priority))
        .ladder()
        .conf(&workers(1))
        .start();
    for (number, rung) in Rung::ALL.into_iter().enumerate() {
        let before = server.get(&rung.url("priority.pl")).expect(200);
        let mut first = ask(&server, &format!("/registry/waits.pl?{number}"));
        process_of(&server, &number.to_string());
        let waiting = |count| eventually(PATIENCE, || server.status()["pool"]["queue"] == count);
        let mut changes = ask(&server, "/registry/changes.pl");
        assert!(waiting(1), "{}", server.status());
        let mut behind = ask(&server, &rung.url("priority.pl"));
        let is_cgi = rung == Rung::Cgi;
        assert!(is_cgi || waiting(2), "{}", server.status());
        server.site.write(&format!("htdocs/go.{number}"), "");
        first.read_answer("GET").expect("an answer").expect(200);
        changes.read_answer("GET").expect("an answer").expect(200);
        let answer = behind.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), before, "{}", rung.name());
    }
}
