//! Reload, stop and the signals: no request is lost, and code that does not load never replaces code that runs.

use mehari_harness::crowd::{Crowd, Outcome};
use mehari_harness::{eventually, processes, Connection, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const HEADER: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\n";
const WORKERS: &str = "StartServers 4\nMinSpareServers 4\nMaxSpareServers 4\nMaxRequestWorkers 4\n";
const MODULE: &str = "\
PerlSwitches -I@ROOT@/lib
PerlModule Version
<Location /version>
    SetHandler modperl
    PerlResponseHandler Version
</Location>
";

fn version(word: &str) -> String {
    format!(
        "package Version;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
         sub handler {{ my $r = shift; $r->content_type('text/plain'); $r->print('{word}'); return 0 }}\n1;\n"
    )
}

fn script(text: &str) -> String {
    format!("{HEADER}{text}\n")
}

fn server_with(arguments: &[&str]) -> Server {
    Server::builder()
        .file("lib/Version.pm", &version("one"))
        .file("scripts/hello.pl", &script("print 'Hello';"))
        .file("scripts/echo.pl", &script("my $b = ''; read STDIN, $b, $ENV{CONTENT_LENGTH} || 0; print $b;"))
        .file("scripts/nap.pl", &script("open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/napping}; print $f $$; close $f; select undef, undef, undef, 2; print 'rested';"))
        .ladder()
        .conf(WORKERS)
        .conf(MODULE)
        .args(arguments)
        .start()
}

fn server() -> Server {
    server_with(&[])
}

fn nap(server: &Server, rung: Rung) -> Connection {
    let _ = std::fs::remove_file(server.site.path("htdocs/napping"));
    let mut connection = server.connect();
    connection.write(&Request::get(&rung.url("nap.pl")).bytes());
    let begun = eventually(PATIENCE, || !server.site.read("htdocs/napping").is_empty());
    assert!(begun, "nap.pl did not begin:\n{}", server.log.text());
    connection
}

/// Waits until the server answers `word`, and then for a while never anything else.
fn settles_on(server: &Server, word: &str) {
    let live = eventually(PATIENCE, || server.get("/version").text() == word);
    assert!(live, "{word} never came:\n{}", server.log.text());
    for _ in 0..20 {
        assert_eq!(server.get("/version").expect(200), word);
    }
}

/// Sends HUP every second while `load` runs; how many were sent.
fn while_reloading(server: &Server, load: impl FnOnce() -> Outcome) -> (Outcome, usize) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reloader = scope.spawn(|| {
            let mut sent = 0;
            while !stop.load(Ordering::Relaxed) {
                server.signal(Signal::Hup);
                sent += 1;
                for _ in 0..20 {
                    std::thread::sleep(Duration::from_millis(50));
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            sent
        });
        let outcome = load();
        stop.store(true, Ordering::Relaxed);
        (outcome, reloader.join().expect("the reloader ends"))
    })
}

/// A quarter of the load each: GET and POST, with keep-alive and without.
fn reload_under_load(keep_alive: bool, requests: usize) {
    let server = server();
    let crowd = Crowd {
        address: server.address,
        clients: 20,
        requests,
        keep_alive,
    };
    let request = |number: usize| match number % 2 {
        0 => Request::get("/registry/hello.pl"),
        _ => Request::post("/registry/echo.pl", format!("body {number}")),
    };
    let is_right = |number: usize, answer: &mehari_harness::Answer| {
        let expected = if number % 2 == 0 {
            "Hello".to_owned()
        } else {
            format!("body {number}")
        };
        answer.status == 200 && answer.text() == expected
    };
    let (outcome, reloads) = while_reloading(&server, || crowd.run(request, is_right));
    println!(
        "{} requests, {reloads} reloads, {} connections reopened",
        outcome.succeeded, outcome.reopened
    );
    assert_eq!(outcome.failed, 0, "{:?}", outcome.failures);
    assert_eq!(outcome.succeeded, requests);
    assert!(reloads >= 2, "the load was over before a second reload");
    // It settles: one generation, and no more workers than it may have.
    let settled = eventually(PATIENCE, || {
        server.zygotes().len() == 1 && server.workers().len() <= 4
    });
    assert!(
        settled,
        "zygotes {:?}, workers {:?}",
        server.zygotes(),
        server.workers()
    );
}

#[test]
fn hup_every_second_fails_no_request_on_kept_connections() {
    reload_under_load(true, 50_000);
}

#[test]
fn hup_every_second_fails_no_request_on_new_connections() {
    reload_under_load(false, 50_000);
}

#[test]
fn request_under_way_at_a_reload_is_finished_by_the_old_generation() {
    let server = server();
    for rung in Rung::ALL {
        let mut connection = nap(&server, rung);
        server.signal(Signal::Hup);
        let answer = connection.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), "rested", "{}", rung.name());
        // The connection lives on and its next request goes to the new generation.
        let answer = connection
            .send(&Request::get("/registry/hello.pl"))
            .expect("an answer");
        assert_eq!(answer.expect(200), "Hello", "{}", rung.name());
    }
}

#[test]
fn new_code_is_live_after_hup_and_after_the_reload_command() {
    let server = server();
    settles_on(&server, "one");
    server.site.replace("lib/Version.pm", &version("two"));
    server.signal(Signal::Hup);
    settles_on(&server, "two");
    server.site.replace("lib/Version.pm", &version("three"));
    let output = server.control(&["reload"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // The command waits until the new generation serves.
    assert_eq!(server.get("/version").expect(200), "three");
    settles_on(&server, "three");
}

#[test]
fn generation_that_does_not_load_is_reported_and_thrown_away() {
    let server = server();
    settles_on(&server, "one");
    let before = server.workers();
    server.site.replace(
        "lib/Version.pm",
        "package Version;\nsub handler { this is not perl\n",
    );
    let output = server.control(&["reload"]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "a reload that failed says so"
    );
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("Version.pm"), "{told}");
    let line = server.log.expect("Version.pm line");
    assert!(
        line.contains("syntax error") || line.contains("Missing right curly"),
        "{line}"
    );
    settles_on(&server, "one");
    assert!(
        server.workers().iter().any(|pid| before.contains(pid)),
        "the workers were replaced"
    );
    let one = eventually(PATIENCE, || server.zygotes().len() == 1);
    assert!(one, "zygotes: {:?}", server.zygotes());
    server.site.replace("lib/Version.pm", &version("mended"));
    server.signal(Signal::Hup);
    settles_on(&server, "mended");
}

#[test]
fn configuration_that_does_not_parse_is_reported_and_thrown_away() {
    let server = server();
    let good = server.site.read("httpd.conf");
    server
        .site
        .replace("httpd.conf", &format!("{good}MaxRequestWorkerz 3\n"));
    let output = server.control(&["reload"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("MaxRequestWorkerz") && told.contains("MaxRequestWorkers"),
        "{told}"
    );
    assert!(told.contains("httpd.conf:"), "{told}");
    settles_on(&server, "one");
}

#[test]
fn changed_configuration_is_live_after_reload() {
    let server = server();
    let good = server.site.read("httpd.conf");
    server.get("/late").expect(404);
    let more =
        "<Location /late>\n    SetHandler modperl\n    PerlResponseHandler Version\n</Location>\n";
    server.site.replace("httpd.conf", &format!("{good}{more}"));
    assert!(server.control(&["reload"]).status.success());
    assert_eq!(server.get("/late").expect(200), "one");
}

#[test]
fn watch_reloads_when_a_module_changes_and_keeps_the_old_when_it_is_broken() {
    let server = server_with(&["--watch"]);
    settles_on(&server, "one");
    server.site.replace("lib/Version.pm", &version("two"));
    settles_on(&server, "two");
    server
        .site
        .replace("lib/Version.pm", "package Version;\nthis is not perl\n");
    server.log.expect("Version.pm line");
    settles_on(&server, "two");
    server.site.replace("lib/Version.pm", &version("three"));
    settles_on(&server, "three");
}

#[test]
fn term_and_quit_finish_what_is_under_way() {
    for signal in [Signal::Term, Signal::Quit] {
        for rung in [Rung::Registry, Rung::Fork, Rung::Cgi] {
            let mut server = server();
            let mut idle = server.connect();
            idle.send(&Request::get("/registry/hello.pl"))
                .expect("an answer");
            let mut connection = nap(&server, rung);
            server.signal(signal);
            // It takes no more connections while it finishes.
            let refuses = eventually(PATIENCE, || Connection::try_open(server.address).is_err());
            assert!(refuses, "{signal:?}: it goes on listening");
            let answer = connection.read_answer("GET").expect("an answer");
            assert_eq!(answer.expect(200), "rested", "{signal:?} {}", rung.name());
            assert!(idle.is_closed_by_server(), "an idle connection is closed");
            let status = server.wait().expect("it ends");
            assert!(status.success(), "{signal:?}: {status}");
        }
    }
}

#[test]
fn int_stops_at_once() {
    let mut server = server();
    let mut connection = nap(&server, Rung::Registry);
    let start = Instant::now();
    server.signal(Signal::Int);
    let status = server.wait().expect("it ends");
    // nap.pl would go on for two seconds.
    assert!(
        start.elapsed() < Duration::from_millis(1500),
        "{:?}",
        start.elapsed()
    );
    assert!(status.success() || status.code() == Some(130), "{status}");
    assert!(!connection
        .read_answer("GET")
        .is_ok_and(|answer| answer.status == 200));
}

#[test]
fn deadline_of_a_graceful_stop_is_kept() {
    let mut server = Server::builder()
        .file("scripts/long.pl", &script("open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/napping}; print $f $$; close $f; sleep 1000;"))
        .ladder()
        .conf(WORKERS)
        .conf("GracefulShutdownTimeout 1\n")
        .start();
    for rung in [Rung::Registry, Rung::Fork, Rung::Cgi] {
        let mut connection = server.connect();
        connection.write(&Request::get(&rung.url("long.pl")).bytes());
    }
    let begun = eventually(PATIENCE, || !server.site.read("htdocs/napping").is_empty());
    assert!(begun, "long.pl did not begin");
    let start = Instant::now();
    server.signal(Signal::Term);
    assert!(server.wait().is_some(), "it does not end");
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn stop_command_ends_the_server() {
    let mut server = server();
    let output = server.control(&["stop"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let status = server.wait().expect("it ends");
    assert!(status.success(), "{status}");
    // Nobody is there any more: the commands say so in words and status.
    for words in [["stop"], ["reload"], ["status"]] {
        let output = server.control(&words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(!output.stderr.is_empty(), "{words:?} says nothing");
    }
}

#[test]
fn status_tells_the_front_and_every_worker() {
    let server = server();
    let mut connection = nap(&server, Rung::Registry);
    let status = server.status();
    assert_eq!(status["pid"], server.pid(), "{status}");
    let workers = status["workers"].as_array().expect("a list of workers");
    let mut pids: Vec<i64> = workers
        .iter()
        .filter_map(|worker| worker["pid"].as_i64())
        .collect();
    let mut real: Vec<i64> = server.workers().into_iter().map(i64::from).collect();
    pids.sort_unstable();
    real.sort_unstable();
    assert_eq!(pids, real, "{status}");
    assert_eq!(busy(&server), 1, "{status}");
    assert_eq!(
        connection.read_answer("GET").expect("an answer").status,
        200
    );
    let rests = eventually(PATIENCE, || busy(&server) == 0);
    assert!(rests, "{}", server.status());
    let text = server.control(&["status"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains(&server.pid().to_string()));
}

fn busy(server: &Server) -> u64 {
    let status = server.status();
    status["busy"]
        .as_u64()
        .unwrap_or_else(|| panic!("no count of busy workers: {status}"))
}

#[test]
fn usr1_reopens_the_logs() {
    let server = Server::builder()
        .file("scripts/hello.pl", &script("print 'Hello';"))
        .file("scripts/die.pl", "die 'into the log';\n")
        .ladder()
        .conf("ErrorLog @ROOT@/logs/error.log\nCustomLog @ROOT@/logs/access.log combined\n")
        .start();
    let visit = |number: u32| {
        server.get(&format!("/registry/hello.pl?visit={number}"));
        server.get("/registry/die.pl");
    };
    let has =
        |name: &str, words: &str| eventually(PATIENCE, || server.site.read(name).contains(words));
    visit(1);
    assert!(has("logs/access.log", "visit=1") && has("logs/error.log", "into the log"));
    for name in ["access", "error"] {
        let from = server.site.path(&format!("logs/{name}.log"));
        std::fs::rename(from, server.site.path(&format!("logs/{name}.old"))).expect("own file");
    }
    server.signal(Signal::Usr1);
    let reopened = eventually(PATIENCE, || server.site.path("logs/access.log").exists());
    assert!(reopened, "the access log was not opened again");
    visit(2);
    assert!(has("logs/access.log", "visit=2") && has("logs/error.log", "into the log"));
    assert!(!server.site.read("logs/access.old").contains("visit=2"));
}

#[test]
fn port_and_web_concurrency_are_defaults() {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .expect("loopback has a free port");
    let server = Server::builder()
        .file("tree/pid.pl", &script("print $$;"))
        .dir("tree")
        .env("PORT", &free.port().to_string())
        .env("WEB_CONCURRENCY", "3")
        .without_listen()
        .start();
    assert_eq!(server.port(), free.port());
    let three = eventually(PATIENCE, || server.workers().len() <= 3);
    assert!(three, "{:?}", server.workers());
    server.get("/pid.pl").expect(200);
}

#[test]
fn port_that_is_taken_is_an_error_with_the_address_in_it() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let log = Server::builder()
        .file("tree/hello.pl", &script("print 1;"))
        .dir("tree")
        .without_listen()
        .args(&["--listen", &address])
        .try_start()
        .err()
        .expect("the port is taken");
    assert!(log.text().contains(&address), "{}", log.text());
}

#[test]
fn processes_of_an_old_generation_end() {
    let server = server();
    let before: Vec<_> = server
        .zygotes()
        .into_iter()
        .chain(server.workers())
        .collect();
    for _ in 0..3 {
        assert!(server.control(&["reload"]).status.success());
    }
    let gone = eventually(PATIENCE, || {
        !before.iter().any(|&pid| processes::is_alive(pid))
    });
    assert!(gone, "some of {before:?} live on");
}
