//! Tests `ZygoteWarmup`: requests that run before the first worker is forked.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{processes, Builder, Rung, Server};
use rustix::process::Signal;

/// Counts its requests in a package variable, and tells the number and the variables of the
/// request.
const COUNTER: &str = "our $count; $count++; \
    print \"count $count, query \" . ($ENV{QUERY_STRING} // '') . ', ' . ($ENV{LEFT} // 'clean'); \
    $ENV{LEFT} = 'left';";

fn site(conf: &str) -> Builder {
    Server::builder()
        .file("scripts/counter.pl", &plain(COUNTER))
        .file("scripts/dies.pl", &plain("die 'broken'"))
        .file("scripts/ends.pl", &plain("kill 9, $$; sleep 100"))
        .file("scripts/sleeps.pl", &plain("sleep 1 while 1"))
        .file("scripts/pid.pl", &plain("print $$"))
        .ladder()
        .conf(&workers(2))
        .conf(conf)
}

fn url(name: &str) -> String {
    Rung::Registry.url(name)
}

#[test]
fn workers_share_what_the_requests_have_made() {
    let conf = format!("ZygoteWarmup {}?from=warmup\n", url("counter.pl"));
    let server = site(&conf).start();
    let body = server.get(&url("counter.pl")).expect(200);
    // Two rounds ran before the fork, so this is the third request of the compiled script.
    assert_eq!(body, "count 3, query , clean");
    let line = server.log.expect("2 requests ran before the first fork");
    assert!(line.contains("[notice]"), "{line}");
    assert_eq!(server.log.count("from=warmup"), 0, "{}", server.log.text());
    let warmup = &server.status()["pool"]["teams"][0]["warmup"];
    assert_eq!(warmup["requests"], 2, "{warmup}");
    assert_eq!(warmup["failed"], 0, "{warmup}");
    assert!(warmup["memory"].as_u64() > Some(0), "{warmup}");
}

#[test]
fn memory_of_the_requests_is_shared_by_the_workers() {
    // Perl 5.42 makes the text of a constant expression when it compiles, and shares its bytes.
    let fills = "our $kept ||= 'x' x (20_000_000 + ($$ & 1)); print length $kept;";
    let build = |conf: &str| {
        let server = site(conf).file("scripts/fills.pl", &plain(fills)).start();
        server.get(&url("fills.pl")).expect(200);
        let worker = server.workers().into_iter();
        let private = worker.map(|pid| {
            let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
            let rollup = rollup.expect("the worker lives");
            let line = rollup
                .lines()
                .find(|line| line.starts_with("Private_Dirty:"));
            let words = line.expect("a line").split_whitespace();
            words
                .filter_map(|word| word.parse::<u64>().ok())
                .next()
                .expect("a number")
        });
        (private.max().expect("a worker"), server)
    };
    let (cold, _server) = build("");
    let (warm, server) = build(&format!("ZygoteWarmup {}\n", url("fills.pl")));
    assert!(cold > 19_000, "{cold} kB without a warm-up");
    assert!(
        warm + 15_000 < cold,
        "{warm} kB after a warm-up, {cold} kB without"
    );
    let said = server.status()["pool"]["teams"][0]["warmup"]["memory"].as_u64();
    let said = said.expect("a number") / 1024;
    assert!((19_000..60_000).contains(&said), "{said} kB");
}

#[test]
fn isolated_scripts_stay_clean() {
    let conf = format!("ZygoteWarmup {}\n", url("counter.pl"));
    let server = site(&conf).start();
    for rung in [Rung::Fork, Rung::Rewind] {
        for _ in 0..3 {
            let body = server.get(&rung.url("counter.pl")).expect(200);
            assert_eq!(body, "count 1, query , clean", "{rung:?}");
        }
    }
}

#[test]
fn socket_that_a_request_opens_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connects = format!(
        "use IO::Socket::INET; our $kept = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => {port}); print 'ok';"
    );
    let server = site(&format!("ZygoteWarmup {}\n", url("connects.pl")))
        .file("scripts/connects.pl", &plain(&connects))
        .start();
    let line = server
        .log
        .expect("before the first fork there is a socket to");
    assert!(line.contains("connects.pl line"), "{line}");
}

#[test]
fn request_that_fails_is_said_and_the_server_starts() {
    let conf = format!("ZygoteWarmup {} {}\n", url("dies.pl"), url("counter.pl"));
    let server = site(&conf).start();
    server.log.expect("dies.pl: the status is 500");
    let body = server.get(&url("counter.pl")).expect(200);
    assert_eq!(body, "count 3, query , clean");
}

#[test]
fn process_that_ends_or_hangs_is_replaced_by_a_cold_one() {
    for (name, words) in [
        ("ends.pl", "the process ended at"),
        (
            "sleeps.pl",
            "the warm-up took longer than 1 s (ZygoteWarmupTimeout) at",
        ),
    ] {
        let urls = format!("{} {}", url("counter.pl"), url(name));
        let conf = format!("ZygoteWarmup {urls}\nZygoteWarmupTimeout 1\nZygoteWarmupRounds 1\n");
        let server = site(&conf).start();
        let line = server.log.expect(words);
        assert!(line.contains("[error]") && line.contains(name), "{line}");
        let body = server.get(&url("counter.pl")).expect(200);
        assert_eq!(body, "count 1, query , clean", "{name}");
        assert!(server.status()["pool"]["teams"][0]["warmup"].is_null());
    }
}

#[test]
fn failure_refuses_the_start_if_the_configuration_says_so() {
    let conf = format!(
        "ZygoteWarmup {}\nZygoteWarmupFailure Refuse\n",
        url("dies.pl")
    );
    let Err(log) = site(&conf).try_start() else {
        panic!("the server starts");
    };
    log.expect("dies.pl: the status is 500 (ZygoteWarmupFailure Refuse)");
}

#[test]
fn path_that_no_worker_answers_is_named() {
    let conf = format!(
        "ZygoteWarmup {} /nothing.html\n",
        Rung::Fork.url("counter.pl")
    );
    let server = site(&conf).start();
    server
        .log
        .expect("begins in a clean process, so a warm-up has no effect on it");
    server
        .log
        .expect("/nothing.html: Perl does not answer this path");
}

#[test]
fn reload_warms_the_next_generation() {
    let conf = format!("ZygoteWarmup {}\n", url("counter.pl"));
    let server = site(&conf).start();
    assert!(server.control(&["reload"]).status.success());
    let body = server.get(&url("counter.pl")).expect(200);
    assert_eq!(body, "count 3, query , clean");
    assert_eq!(server.log.count("requests ran before the first fork"), 2);
}

#[test]
fn application_and_handler_are_warmed_up() {
    let app = "my $count = 0; sub { my $env = shift; $count++; \
        [200, ['Content-Type', 'text/plain'], [\"app $count \" . ($env->{HTTP_HOST} // '')]] };\n";
    let handler = "package My::Handler;\nuse strict; use warnings;\n\
        use Apache2::RequestRec (); use Apache2::RequestIO ();\nour $count = 0;\n\
        sub handler { my $r = shift; $count++; $r->content_type('text/plain'); \
        $r->print(\"handler $count\"); $r->pool->cleanup_register(sub { $count += 10 }); 0 }\n1;\n";
    let server = Server::builder()
        .file("app.psgi", app)
        .file("lib/My/Handler.pm", handler)
        .conf(&workers(1))
        .conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule My::Handler\n\
             <Location /app>\n  SetHandler psgi\n  PSGIApp @ROOT@/app.psgi\n</Location>\n\
             <Location /handler>\n  SetHandler modperl\n  PerlResponseHandler My::Handler\n</Location>\n\
             ZygoteWarmup /app /handler\nZygoteWarmupRounds 3\n",
        )
        .start();
    let body = server.get("/app").expect(200);
    assert!(body.starts_with("app 4 "), "{body}");
    assert_eq!(server.get("/handler").expect(200), "handler 34");
    server.log.expect("6 requests ran before the first fork");
}

#[test]
fn script_is_explained_as_before_the_warm_up() {
    let conf = format!("ZygoteWarmup {}\n", url("counter.pl"));
    let server = site(&conf).start();
    let file = server.site.path("scripts/counter.pl");
    let file = file.to_str().expect("UTF-8");
    let output = server.control(&["explain", "--json", file]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(answer["explanation"]["findings"].is_array(), "{answer}");
}

#[test]
fn zygote_without_its_stem_is_replaced_by_a_warm_one() {
    let conf = format!("ZygoteWarmup {}\n", url("counter.pl"));
    let server = site(&conf).start();
    let zygote = server.zygotes()[0];
    let children = std::fs::read_to_string(format!("/proc/{zygote}/task/{zygote}/children"));
    let children = children.expect("the zygote lives");
    let is_stem = |pid: &&str| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == "mehari-stem")
    };
    let stem = children.split_whitespace().find(is_stem).expect("a stem");
    let stem = stem.parse().expect("a number");
    processes::signal(stem, Signal::Kill);
    server.log.expect("the zygote of generation 1 is back");
    assert_eq!(server.log.count("requests ran before the first fork"), 2);
    let body = server.get(&Rung::Fork.url("counter.pl")).expect(200);
    assert_eq!(body, "count 1, query , clean");
}
