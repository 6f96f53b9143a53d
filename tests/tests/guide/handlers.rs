//! Tests the guide's handlers: their input, their settings and their results.

use crate::guide;
use mehari_harness::{Pair, Request, Server};

pub const HANDLERS: &str = "\
PerlSwitches -I@ROOT@/scripts/lib
PerlModule Guide::Hello
<Location /hello>
    SetHandler modperl
    PerlResponseHandler Guide::Hello
    Require all granted
</Location>
<Location /dumpenv>
    SetHandler perl-script
    PerlResponseHandler Guide::DumpEnv
    PerlSetEnv GUIDE_PLACE here
    Require all granted
</Location>
<Location /dumpenv-modperl>
    SetHandler modperl
    PerlResponseHandler Guide::DumpEnv
    Require all granted
</Location>
<Location /request>
    SetHandler modperl
    PerlResponseHandler Guide::Request
    Require all granted
</Location>
<Location /outcome>
    SetHandler modperl
    PerlResponseHandler Guide::Outcome
    Require all granted
</Location>
";

#[test]
fn handler_says_hello() {
    let server = guide();
    for _ in 0..2 {
        let answer = server.get("/hello");
        assert_eq!(answer.expect(200), "Hello");
        assert_eq!(answer.field("content-type").as_deref(), Some("text/html"));
    }
}

#[test]
fn handler_reads_the_request_and_sets_headers() {
    let server = guide();
    let answer = server.send(&Request::get("/request?a=1").field("X-Asked", "yes"));
    assert_eq!(answer.expect(200), "GET\n/request\na=1\nyes\n0\n");
    assert_eq!(answer.all("x-guide"), ["one", "two"]);
    for size in [0usize, 10, 100_000] {
        let answer = server.send(&Request::post("/request", vec![b'x'; size]));
        assert_eq!(
            answer.expect(200),
            format!("POST\n/request\n-\n-\n{size}\n")
        );
    }
}

#[test]
fn value_of_a_handler_decides_the_status() {
    let server = guide();
    for (query, status) in [
        ("ok", 200),
        ("text", 200),
        ("undefined", 200),
        ("notfound", 404),
        ("forbidden", 403),
        ("status", 201),
        ("dies", 500),
        ("logs", 200),
    ] {
        let answer = server.get(&format!("/outcome?{query}"));
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    server.log.expect("outcome: no way on");
    server.log.expect("outcome: a word for the log");
}

/// The guide uses this handler for its benchmark. It is preloaded as in the guide, and `$r` is a
/// global variable.
#[test]
fn handler_of_the_benchmark_answers_as_under_mod_perl() {
    let mut user = Pair::start(|| {
        Server::builder().fixtures("printed").conf(
            "PerlSwitches -I@ROOT@/scripts/lib\n\
             PerlModule Apache2::compat\n\
             PerlModule Benchmark::Handler\n\
             <Location /benchmark_handler>\n\
                 SetHandler perl-script\n\
                 PerlHandler Benchmark::Handler\n\
                 Require all granted\n\
             </Location>\n",
        )
    });
    for _ in 0..2 {
        let answer = user.get("/benchmark_handler");
        assert_eq!(answer.expect(200), "Hello");
        assert_eq!(answer.field("content-type").as_deref(), Some("text/html"));
    }
}
