//! Requests for a page that another request has its program make.

use crate::{check, part, start, target, touch};
use mehari_harness::{eventually, Request, Server, PATIENCE};

/// A script whose page may be stored for a minute. Each run for GET waits until all runs or this
/// run is released, and fails if a file asks for it.
const HELD: &str = r##"#!/usr/bin/perl
my $root = $ENV{DOCUMENT_ROOT};
open my $runs, '>>', "$root/held.runs" or die $!;
syswrite $runs, "$ENV{REQUEST_METHOD}\n";
close $runs;
open $runs, '<', "$root/held.runs" or die $!;
my $run = () = <$runs>;
if ($ENV{REQUEST_METHOD} eq 'GET') {
    for (1 .. 3000) {
        last if -e "$root/held.go" || -e "$root/held.go$run";
        select undef, undef, undef, 0.02;
    }
}
print "Status: 503\n" if -e "$root/held.fail";
print "Run: $run\nContent-type: text/plain\nCache-Control: max-age=60\n\n", $ENV{REQUEST_METHOD};
"##;

fn held(conf: &str) -> Server {
    let server = start(conf);
    server.site.write("scripts/held.pl", HELD);
    server
}

fn holds(server: &Server, count: usize) {
    let runs = || server.site.read("htdocs/held.runs").lines().count();
    assert!(eventually(PATIENCE, || runs() == count), "{}", runs());
}

fn ask(server: &Server, request: &Request) -> mehari_harness::Connection {
    let mut connection = server.connect();
    let mut request = request.clone();
    // The Host of `Server::send`, because it is part of the key.
    server.address(&mut request);
    connection.write(&request.bytes());
    connection
}

/// Also for a key that the store does not know yet: a page stored for one value of a field.
#[test]
fn an_answer_that_a_change_has_overtaken_is_not_kept() {
    let plain = Request::get("/fork/held.pl");
    let own = plain.clone().field("X-Requested-With", "XMLHttpRequest");
    for (forget, page) in [
        ("POST", &plain),
        ("purge", &plain),
        ("POST", &own),
        ("purge", &own),
    ] {
        let server = held("");
        let mut filling = ask(&server, page);
        holds(&server, 1);
        if forget == "POST" {
            let change = Request::post("/fork/held.pl", "x=1");
            server.send(&change).expect(200);
        } else {
            let purge = server.control(&["cache", "purge", "/fork/*"]);
            assert!(purge.status.success());
        }
        touch(&server, "held.go");
        assert_eq!(
            filling.read_answer("GET").expect("an answer").expect(200),
            "GET"
        );
        assert_eq!(part(&server.send(page)), "MISS", "{forget}");
        assert_eq!(part(&server.send(page)), "HIT", "{forget}");
    }
}

#[test]
fn a_change_forgets_the_page_whatever_its_client_claims() {
    let server = start("");
    let page = target("claimed", &["Cache-Control: max-age=60"]);
    check(&server.get(&page), 1, "MISS");
    let scripted = Request::post(&page, "x").field("X-Requested-With", "XMLHttpRequest");
    server.send(&scripted).expect(200);
    check(&server.get(&page), 3, "MISS");
    check(&server.get(&page), 3, "HIT");
}

#[test]
fn one_of_those_who_wait_too_long_asks_and_not_all() {
    let server = held("CacheLockMaxAge 1\n");
    let page = Request::get("/fork/held.pl");
    let mut clients: Vec<_> = (0..6).map(|_| ask(&server, &page)).collect();
    holds(&server, 2);
    touch(&server, "held.go");
    for client in &mut clients {
        assert_eq!(
            client.read_answer("GET").expect("an answer").expect(200),
            "GET"
        );
    }
    let runs = server.site.read("htdocs/held.runs").lines().count();
    assert!(runs <= 3, "{runs} runs for six who waited");
}

/// Starts four requests and waits until a second request has asked the program.
fn clients_after_the_limit(server: &Server) -> Vec<mehari_harness::Connection> {
    let page = Request::get("/fork/held.pl");
    let clients = (0..4).map(|_| ask(server, &page)).collect();
    holds(server, 2);
    clients
}

/// Checks that the requests without a run of their own get the earlier of two responses.
fn check_earlier_response(run: &str) {
    let server = held("CacheLockMaxAge 2\n");
    let mut clients = clients_after_the_limit(&server);
    touch(&server, &format!("held.go{run}"));
    let told = || {
        server
            .get("/fork/held.pl")
            .field("Run")
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(told(), run, "the page is kept");
    touch(&server, "held.go");
    let answers = clients
        .iter_mut()
        .map(|client| client.read_answer("GET").expect("an answer"));
    let mut runs: Vec<String> = answers
        .map(|answer| answer.field("Run").unwrap_or_default().to_owned())
        .collect();
    runs.sort();
    let mut expected = vec!["1", "2", run, run];
    expected.sort();
    assert_eq!(runs, expected);
    assert_eq!(
        told(),
        "2",
        "the page of the later request stays or replaces the other page"
    );
}

#[test]
fn who_still_waits_after_the_limit_gets_the_first_response() {
    check_earlier_response("1");
}

#[test]
fn who_still_waits_after_the_limit_gets_the_second_response_if_it_is_earlier() {
    check_earlier_response("2");
}

#[test]
fn who_still_waits_after_the_limit_gets_the_error_of_the_first_request() {
    let server = held("CacheLockMaxAge 2\n");
    let mut clients = clients_after_the_limit(&server);
    touch(&server, "held.fail");
    touch(&server, "held.go1");
    // The client of the second run waits for its own response.
    let log = || server.site.read("access.log");
    assert!(
        eventually(PATIENCE, || log().lines().count() == 3),
        "{}",
        log()
    );
    touch(&server, "held.go");
    for client in &mut clients {
        assert_eq!(client.read_answer("GET").expect("an answer").status, 503);
    }
    holds(&server, 2);
}

#[test]
fn who_waits_for_a_program_that_fails_gets_its_error() {
    let server = held("CacheLockMaxAge 60\n");
    let page = Request::get("/fork/held.pl");
    let mut clients: Vec<_> = (0..5).map(|_| ask(&server, &page)).collect();
    holds(&server, 1);
    // A request waits as soon as it is read.
    let counted = || server.status()["front"]["active_requests"].as_u64();
    assert!(eventually(PATIENCE, || counted() == Some(5)));
    touch(&server, "held.fail");
    touch(&server, "held.go");
    for client in &mut clients {
        assert_eq!(client.read_answer("GET").expect("an answer").status, 503);
    }
    assert_eq!(server.site.read("htdocs/held.runs").lines().count(), 1);
}

/// A page that differs in the field Accept-Language. The variant `slow` sends its head at once, and
/// its body when it is released. The variant `silent` sends nothing until it is released.
const VARIED: &str = r##"#!/usr/bin/perl
$| = 1;
my ($root, $variant) = ($ENV{DOCUMENT_ROOT}, $ENV{HTTP_ACCEPT_LANGUAGE});
my $wait = sub { for (1 .. 3000) { last if -e "$root/held.go"; select undef, undef, undef, 0.02 } };
open my $runs, '>>', "$root/held.runs" or die $!;
syswrite $runs, "$variant\n";
close $runs;
$wait->() if $variant eq 'silent';
print "Content-type: text/plain\nCache-Control: max-age=60\nVary: Accept-Language\n\nof ";
$wait->() if $variant eq 'slow';
print $variant;
"##;

fn in_language(language: &str) -> Request {
    Request::get("/fork/varied.pl").field("Accept-Language", language)
}

/// Asks for the variant `held`, then for `en` and again for `held`. Only the last request waits.
fn check_variants(server: &Server, held: &str, runs_before: usize) {
    let mut first = ask(server, &in_language(held));
    holds(server, runs_before + 1);
    let other = server.send(&in_language("en"));
    assert_eq!(
        (other.expect(200), part(&other)),
        ("of en".into(), "MISS".into())
    );
    let mut second = ask(server, &in_language(held));
    let counted = || server.status()["front"]["active_requests"].as_u64();
    assert!(eventually(PATIENCE, || counted() == Some(2)));
    touch(server, "held.go");
    for client in [&mut first, &mut second] {
        let answer = client.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), format!("of {held}"));
    }
    holds(server, runs_before + 2);
}

#[test]
fn requests_for_one_variant_do_not_wait_for_another() {
    let server = start("CacheLockMaxAge 60\n");
    server.site.write("scripts/varied.pl", VARIED);
    server.send(&in_language("fr")).expect(200);
    check_variants(&server, "silent", 1);
}

#[test]
fn requests_for_other_variants_stop_waiting_when_vary_arrives() {
    let server = start("CacheLockMaxAge 60\n");
    server.site.write("scripts/varied.pl", VARIED);
    check_variants(&server, "slow", 0);
}
