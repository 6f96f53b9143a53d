//! Tests the reload: no request fails, and code that does not compile never replaces running code.

use mehari_harness::crowd::{Crowd, LoadOutcome};
use mehari_harness::scripts::{nap, simple};
use mehari_harness::{eventually, processes, Answer, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const MODULE: &str = "\
PerlSwitches -I@ROOT@/lib
PerlModule Version
<Location /version>
    SetHandler modperl
    PerlResponseHandler Version
</Location>
";

/// Returns a handler that answers with `word`.
fn version(word: &str) -> String {
    format!(
        "package Version;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
         sub handler {{ my $r = shift; $r->content_type('text/plain'); $r->print('{word}'); return 0 }}\n1;\n"
    )
}

fn server() -> Server {
    server_with(&[])
}

fn server_with(arguments: &[&str]) -> Server {
    simple(4)
        .file("lib/Version.pm", &version("one"))
        .conf(MODULE)
        .args(arguments)
        .start()
}

/// Waits until the server answers with `word`, then checks for a while that no other answer comes.
fn settles_on(server: &Server, word: &str) {
    let live = eventually(PATIENCE, || server.get("/version").text() == word);
    assert!(live, "{word} never came:\n{}", server.log.text());
    for _ in 0..20 {
        assert_eq!(server.get("/version").expect(200), word);
    }
}

/// Sends HUP five times a second while `load` runs. `load` gets the counter of reloads. Returns the
/// final count.
fn while_reloading(
    server: &Server,
    load: impl FnOnce(&AtomicUsize) -> LoadOutcome,
) -> (LoadOutcome, usize) {
    let stop = AtomicBool::new(false);
    let sent = AtomicUsize::new(0);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                server.signal(Signal::Hup);
                sent.fetch_add(1, Ordering::Relaxed);
                for _ in 0..4 {
                    std::thread::sleep(Duration::from_millis(50));
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
        });
        let outcome = load(&sent);
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    (outcome, sent.into_inner())
}

/// Reloads under one quarter of the load: GET and POST requests, with kept or with new connections.
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
    let is_right = |number: usize, answer: &Answer| {
        let expected = if number.is_multiple_of(2) {
            "Hello".to_owned()
        } else {
            format!("body {number}")
        };
        answer.status == 200 && answer.text() == expected
    };
    let (outcome, reloads) = while_reloading(&server, |sent| {
        crowd.run_until(|| sent.load(Ordering::Relaxed) >= 3, request, is_right)
    });
    println!(
        "{} requests, {reloads} reloads, {} connections reopened",
        outcome.succeeded, outcome.reopened
    );
    assert_eq!(outcome.failed, 0, "{:?}", outcome.failures);
    assert!(outcome.succeeded >= requests);
    assert!(reloads >= 3, "only {reloads} reloads were asked for");
    // After the load there must be one generation, with no more workers than allowed.
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
fn hup_five_times_a_second_fails_no_request_on_kept_connections() {
    reload_under_load(true, 50_000);
}

#[test]
fn hup_five_times_a_second_fails_no_request_on_new_connections() {
    reload_under_load(false, 50_000);
}

#[test]
fn request_under_way_at_a_reload_is_finished_by_the_old_generation() {
    let server = server();
    for rung in Rung::ALL {
        let (mut connection, _) = nap(&server, rung, "x");
        server.signal(Signal::Hup);
        let answer = connection.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), "rested", "{}", rung.name());
        // The connection stays open. Its next request goes to the new generation.
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
fn generation_that_does_not_load_is_reported_and_not_used() {
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
fn configuration_that_does_not_parse_is_reported_and_not_used() {
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
