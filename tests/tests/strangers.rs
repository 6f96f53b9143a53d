//! Tests that nothing passes from one request to another, or from the server to its programs.

use mehari_harness::crowd::Crowd;
use mehari_harness::scripts::{let_go, plain, workers, UNTIL_LET_GO};
use mehari_harness::{
    against_apache, eventually, processes, Answer, Request, Rung, Server, PATIENCE,
};
use std::collections::HashSet;

/// A script that prints everything in which the requests differ.
const MIRROR: &str = "my $body = do { local $/; <STDIN> } // '';\n\
    print join '|', map { $_ // '-' } @ENV{qw(REQUEST_METHOD QUERY_STRING HTTP_COOKIE HTTP_X_NAME CONTENT_LENGTH)}, $body;";

const MIRROR_APP: &str = "sub { my $env = shift; my $body = '';\n\
    1 while $env->{'psgi.input'}->read($body, 4096, length $body);\n\
    [200, ['Content-Type', 'text/plain'], [join '|', map { $_ // '-' } \
    @$env{qw(REQUEST_METHOD QUERY_STRING HTTP_COOKIE HTTP_X_NAME CONTENT_LENGTH)}, $body]] };\n";

const PSGI: &str =
    "<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/mirror.psgi\n</Location>\n";

/// Returns a request and the expected response. Every third request has no cookie, and every fourth
/// has no body: a missing part must not come from another client's request.
fn request(url: &str, number: usize) -> (Request, String) {
    let query = format!("q={number}");
    let target = format!("{url}?{query}");
    let body = format!("body {number} {}", "x".repeat(number % 7 * 1000));
    let (mut request, method, length, body) = match number % 4 {
        0 => (Request::get(&target), "GET", "-".to_owned(), String::new()),
        _ => (
            Request::post(&target, body.clone()),
            "POST",
            body.len().to_string(),
            body,
        ),
    };
    let mut cookie = "-".to_owned();
    if !number.is_multiple_of(3) {
        cookie = format!("session={number}");
        request = request.field("Cookie", &cookie);
    }
    let name = format!("name {number}");
    request = request.field("X-Name", &name);
    let expected = format!("{method}|{query}|{cookie}|{name}|{length}|{body}");
    (request, expected)
}

#[test]
fn no_request_sees_the_data_of_another() {
    let mut builder = Server::builder()
        .file("scripts/mirror.pl", &plain(MIRROR))
        .file("mirror.psgi", MIRROR_APP)
        .ladder()
        .conf(&workers(4));
    if !against_apache() {
        builder = builder.conf(PSGI);
    }
    let server = builder.start();
    let requests = |rung: &Rung| {
        if Rung::SHARED.contains(rung) {
            5000
        } else {
            500
        }
    };
    let mut places: Vec<(String, usize)> = Rung::ALL
        .iter()
        .map(|rung| (rung.url("mirror.pl"), requests(rung)))
        .collect();
    if !against_apache() {
        places.push(("/psgi".to_owned(), 5000));
    }
    for (url, requests) in places {
        for keep_alive in [true, false] {
            let crowd = Crowd {
                address: server.address,
                clients: 20,
                requests,
                keep_alive,
            };
            let outcome = crowd.run(
                |number| request(&url, number).0,
                |number, answer: &Answer| {
                    answer.status == 200 && answer.text() == request(&url, number).1
                },
            );
            assert_eq!(outcome.failed, 0, "{url}: {:?}", outcome.failures);
        }
    }
}

#[test]
fn random_numbers_differ_although_a_preload_has_drawn_some() {
    let server = Server::builder()
        .file(
            "lib/Draws.pm",
            "package Draws;\nour $first = rand;\nsrand 7;\n1;\n",
        )
        .file(
            "scripts/random.pl",
            &plain("print join ',', map { int rand 1e9 } 1 .. 3;"),
        )
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Draws\n")
        .ladder()
        .conf(&workers(4))
        .start();
    for rung in Rung::ALL {
        // mod_perl's children inherit the seed of the parent, so they fail this test.
        if against_apache() && Rung::SHARED.contains(&rung) {
            continue;
        }
        let drawn: HashSet<String> = (0..20)
            .map(|_| server.get(&rung.url("random.pl")).expect(200))
            .collect();
        assert_eq!(drawn.len(), 20, "{}: {drawn:?}", rung.name());
    }
}

/// A script that runs a program, which lists its open descriptors.
const LIST: &str = "exec $^X, '-e', 'opendir my $d, q{/proc/self/fd}; \
    print join q{,}, sort { $a <=> $b } grep { /^[0-9]+$/ && $_ != fileno $d } readdir $d'";

#[test]
fn programs_inherit_the_three_streams_and_nothing_else() {
    let run = format!("$| = 1; my $kid = fork; if (!$kid) {{ {LIST} }} waitpid $kid, 0;");
    let server = Server::builder()
        .file("scripts/child.pl", &plain(&run))
        .file("scripts/self.pl", &plain(&format!("$| = 1; {LIST}")))
        .ladder()
        .start();
    for rung in Rung::ALL {
        if against_apache() && Rung::SHARED.contains(&rung) {
            continue;
        }
        assert_eq!(
            server.get(&rung.url("child.pl")).expect(200),
            "0,1,2",
            "{}",
            rung.name()
        );
    }
    for rung in Rung::ISOLATED {
        assert_eq!(
            server.get(&rung.url("self.pl")).expect(200),
            "0,1,2",
            "{}",
            rung.name()
        );
    }
}

/// The server unlinks these files when it makes them, so only the open descriptors show them.
#[test]
fn temporary_files_of_large_bodies_do_not_stay() {
    let server = Server::builder()
        .file(
            "scripts/waits.pl",
            &plain(&format!(
                "{UNTIL_LET_GO} my $b = do {{ local $/; <STDIN> }}; print length $b;"
            )),
        )
        .ladder()
        .start();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        let request = Request::post(&rung.url("waits.pl"), vec![b'x'; LARGE]);
        connection.write(&request.bytes());
        let is_held = eventually(PATIENCE, || holds_a_large_file(&server));
        assert!(is_held, "{}: no process holds the body", rung.name());
        let_go(&server);
        let answer = connection.read_answer("POST").expect("an answer");
        assert_eq!(answer.expect(200), LARGE.to_string(), "{}", rung.name());
        let is_gone = eventually(PATIENCE, || !holds_a_large_file(&server));
        assert!(is_gone, "{}: the file of the body stays", rung.name());
        std::fs::remove_file(server.site.path("htdocs/go")).expect("it was written");
    }
}

const LARGE: usize = 3_000_000;

/// Returns whether any process of the server has a file open that is as large as this test's
/// bodies.
fn holds_a_large_file(server: &Server) -> bool {
    let family = processes::descendants(server.pid());
    let pids = family.iter().map(|process| process.pid);
    pids.chain([server.pid()]).any(|pid| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
        let mut files = files.into_iter().flatten().flatten();
        files.any(|file| {
            let about = std::fs::metadata(file.path());
            about.is_ok_and(|about| about.is_file() && about.len() == LARGE as u64)
        })
    })
}
