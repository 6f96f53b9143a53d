//! Tests Perl code that exceeds its time limit. The client gets 504, and the log names the line at
//! which the code was.

use mehari_harness::scripts::{is_well, plain, workers};
use mehari_harness::{eventually, processes, Rung, Server, PATIENCE};
use std::time::{Duration, Instant};

#[test]
fn script_that_sleeps_for_ever_is_ended_with_504_and_its_stack_logged() {
    let text = "#!/usr/bin/perl\nsub inner {\n    sleep 1000 while 1;\n}\nsub outer {\n    inner();\n}\nouter();\n";
    let server = Server::builder()
        .file("scripts/forever.pl", text)
        .file(
            "scripts/spin.pl",
            "#!/usr/bin/perl\nsub busy {\n    1 while 1;\n}\nbusy();\n",
        )
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(2))
        .conf("Timeout 2\n")
        .start();
    for name in ["forever.pl", "spin.pl"] {
        for rung in Rung::ALL {
            let start = Instant::now();
            let answer = server.get(&rung.url(name));
            assert_eq!(answer.status, 504, "{name} on {}", rung.name());
            // Only the time shows that the request was not ended before its limit.
            assert!(start.elapsed() >= Duration::from_millis(1900));
        }
    }
    // `cgi` runs any program, so its current line is unknown.
    for words in ["forever.pl:3", "forever.pl:6", "forever.pl:8", "spin.pl:3"] {
        server.log.expect(words);
    }
    server.log.expect("inner");
    is_well(&server);
}

/// Returns a script that has printed nothing when its time is up. A header would reach the client
/// before the time limit, because perl flushes its output before a fork.
fn silent(body: &str) -> String {
    format!("#!/usr/bin/perl\n{body}\n")
}

#[test]
fn timed_out_program_takes_its_children_with_it() {
    let note = "htdocs/child";
    let child = |server: &Server| server.site.read(note).parse::<i32>().ok();
    let server = Server::builder()
        .file("scripts/parent.pl", &silent("my $kid = fork; if (!$kid) { open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/child}; print $f $$; close $f; sleep 1000 } sleep 1000;"))
        .ladder()
        .conf("Timeout 2\n")
        .start();
    for rung in Rung::ISOLATED {
        let _ = std::fs::remove_file(server.site.path(note));
        let mut pid = None;
        // On a slow machine the time may be up before the child exists. The test then tries again.
        let has_had_a_child = eventually(PATIENCE, || {
            assert_eq!(server.get(&rung.url("parent.pl")).status, 504);
            pid = child(&server);
            pid.is_some()
        });
        assert!(has_had_a_child, "{}: no child wrote its pid", rung.name());
        let pid = pid.unwrap_or_default();
        let gone = eventually(PATIENCE, || !processes::is_alive(pid));
        assert!(gone, "{}: the child lives on", rung.name());
    }
}
