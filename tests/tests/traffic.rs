//! Tests traffic rules: too many requests of a client, of an address or for a location are refused,
//! with a time after which the client may try again.

use mehari_harness::scripts::{nap, simple};
use mehari_harness::{Connection, Request, Rung, PATIENCE};
use std::time::Duration;

#[test]
fn location_limits_its_concurrent_requests_and_no_others() {
    let server = simple(4)
        .conf("<Location /registry>\nMaxConcurrentReqs 1 GET\n</Location>\n")
        .start();
    let (mut napping, _) = nap(&server, Rung::Registry, "x");
    let refused = server.get("/registry/hello.pl");
    refused.expect(503);
    assert_eq!(refused.field("retry-after").as_deref(), Some("1"));
    server.get("/perlrun/hello.pl").expect(200);
    server
        .send(&Request::post("/registry/echo.pl", *b"body"))
        .expect(200);
    napping.read_answer("GET").expect("an answer").expect(200);
    server.get("/registry/hello.pl").expect(200);
    let status = server.status();
    assert_eq!(
        status["front"]["traffic_rules"]["too_many_at_once"], 1,
        "{status}"
    );
}

#[test]
fn client_that_is_too_fast_is_delayed_and_then_refused_with_a_time() {
    let server = simple(2)
        .file("htdocs/page.txt", "x")
        .file("htdocs/slow/page.txt", "x")
        .file("htdocs/other.txt", "x")
        .conf("<Location /page.txt>\nClientRequestRate 1/100 burst=2\n</Location>\n")
        .conf("<Location /slow>\nClientRequestRate 1/2 burst=1 delay=5\n</Location>\n")
        .start();
    let mut connection = server.connect();
    let mut ask = |path: &str| connection.send(&Request::get(path)).expect("an answer");
    ask("/page.txt").expect(200);
    ask("/page.txt").expect(200);
    let refused = ask("/page.txt");
    assert!(refused.expect(429).contains("too many requests"));
    let after: u64 = refused
        .field("retry-after")
        .expect("a time")
        .parse()
        .expect("seconds");
    assert!((90..=101).contains(&after), "{after}");
    ask("/slow/page.txt").expect(200);
    connection.write(&Request::get("/slow/page.txt").bytes());
    // A request that is not held back overtakes the one that is.
    server.get("/other.txt").expect(200);
    let early = connection.patience(Duration::from_millis(1)).fill();
    assert!(early.is_err(), "{early:?}");
    let held = connection.patience(PATIENCE).read_answer("GET");
    held.expect("an answer").expect(200);
    let rules = &server.status()["front"]["traffic_rules"];
    assert_eq!(
        (&rules["too_fast"], &rules["held_back"]),
        (&1.into(), &1.into()),
        "{rules}"
    );
}

#[test]
fn address_has_a_limit_of_connections() {
    let server = simple(2)
        .file("htdocs/page.txt", "x")
        .conf("MaxConnectionsPerClient 2\n")
        .start();
    let mut kept: Vec<Connection> = (0..2).map(|_| server.connect()).collect();
    for connection in &mut kept {
        connection
            .send(&Request::get("/page.txt"))
            .expect("an answer")
            .expect(200);
    }
    let refused = server.connect().read_answer("GET").expect("an answer");
    assert_eq!(
        (refused.status, refused.field("retry-after").as_deref()),
        (429, Some("1"))
    );
    kept.pop();
    let again = mehari_harness::eventually(Duration::from_secs(5), || {
        let answer = server.connect().send(&Request::get("/page.txt").closing());
        answer.is_ok_and(|answer| answer.status == 200)
    });
    assert!(again, "the place is not given back");
}
