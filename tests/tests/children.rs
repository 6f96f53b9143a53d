//! Tests the output of a script's child processes. The output is a part of the response, in order
//! and without delay. For a slow client the server buffers only a bounded amount.

use mehari_harness::scripts::{is_well, let_go, plain, until_let_go, workers, UNTIL_LET_GO};
use mehari_harness::{eventually, processes, Connection, Request, Rung, Server, PATIENCE};
use std::time::{Duration, Instant};

/// Scripts, and the expected body on any rung.
const ORDERS: &[(&str, &str, &str)] = &[
    (
        "system",
        "print 'a'; system 'printf b'; print 'c'; print `printf d`; system 'printf e'; syswrite STDOUT, 'f'; print 'g';",
        "abcdefg",
    ),
    (
        "fork and wait",
        "print 'a'; my $kid = fork; if (!$kid) { print 'b'; exit } waitpid $kid, 0; print 'c';",
        "abc",
    ),
    (
        "a pipe to a command",
        "print 'a'; open my $to, '|-', 'cat' or die; print $to 'b'; close $to; print 'c';",
        "abc",
    ),
    (
        "a pipe to a child of its own",
        "print 'a'; my $kid = open my $from, '-|'; if (!$kid) { print 'b'; exit } print <$from>; close $from; print 'c';",
        "abc",
    ),
    ("exec", "print 'a'; exec 'printf b';", "ab"),
    (
        "a duplicate",
        "print 'a'; open my $copy, '>&', \\*STDOUT or die; system 'printf b'; print $copy 'c'; close $copy; print 'd';",
        "abcd",
    ),
    (
        "redirected and back",
        "print 'a'; open our $keep, '>&', \\*STDOUT; open STDOUT, '>', '/dev/null'; system 'printf x'; print 'y'; open STDOUT, '>&', $keep; print 'b';",
        "ab",
    ),
    (
        "a late child",
        "print 'a'; if (!fork) { select undef, undef, undef, 0.2; print 'b'; exit }",
        "ab",
    ),
    (
        "a late child of its own program",
        "print 'a'; system '(sleep 0.2; printf b) &';",
        "ab",
    ),
    (
        "large pieces",
        "print 'a' x 100_000; system q{head -c 300000 /dev/zero | tr '\\\\0' b}; print 'c' x 100_000;",
        "",
    ),
];

#[test]
fn children_print_into_the_response_in_order_on_every_rung() {
    let mut builder = Server::builder().ladder().conf(&workers(2));
    for (number, (_, text, _)) in ORDERS.iter().enumerate() {
        builder = builder.file(&format!("scripts/order{number}.pl"), &plain(text));
    }
    let server = builder.start();
    let large = format!(
        "{}{}{}",
        "a".repeat(100_000),
        "b".repeat(300_000),
        "c".repeat(100_000)
    );
    for (number, (name, _, expected)) in ORDERS.iter().enumerate() {
        let expected = if expected.is_empty() {
            large.as_str()
        } else {
            expected
        };
        for rung in Rung::ALL {
            // If a process kept the response open, the client's time limit would end the test.
            let answer = server.get(&rung.url(&format!("order{number}.pl")));
            let text = answer.expect(200);
            assert!(
                text == expected,
                "{name} on {}: {} bytes: {:?}",
                rung.name(),
                text.len(),
                &text[..text.len().min(80)]
            );
            assert!(answer.complete, "{name} on {}", rung.name());
        }
    }
}

#[test]
fn child_may_print_the_header() {
    let server = Server::builder()
        .file("scripts/whole.pl", "#!/usr/bin/perl\nsystem 'printf \"Content-type: text/x\\nStatus: 403\\n\\nno\"';\n")
        .file("scripts/half.pl", "#!/usr/bin/perl\nprint \"Content-type: text/x\\n\"; system 'printf \"X-A: b\\n\\nbody\"'; print ' end';\n")
        .file("scripts/none.pl", "#!/usr/bin/perl\nsystem 'printf nothing';\n")
        .file("scripts/quiet.pl", "#!/usr/bin/perl\nsystem 'true';\n")
        .file("scripts/moved.pl", "#!/usr/bin/perl\nsystem 'true'; print \"Location: http://elsewhere/\\n\\n\";\n")
        .file("scripts/dies.pl", "#!/usr/bin/perl\nsystem 'true'; print \"Content-type: text/x\\n\\n\"; die 'oh';\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        let name = rung.name();
        let whole = server.get(&rung.url("whole.pl"));
        assert_eq!(whole.expect(403), "no", "{name}");
        let half = server.get(&rung.url("half.pl"));
        assert_eq!(half.expect(200), "body end", "{name}");
        assert_eq!(half.field("x-a").as_deref(), Some("b"), "{name}");
        server.get(&rung.url("none.pl")).expect(500);
        server.get(&rung.url("quiet.pl")).expect(500);
        assert_eq!(server.get(&rung.url("moved.pl")).status, 302, "{name}");
        if Rung::SHARED.contains(&rung) {
            server.get(&rung.url("dies.pl")).expect(500);
        }
    }
    server.log.expect("premature end of script headers");
    server.log.expect("no blank line after the headers");
    is_well_without_children(&server);
}

fn is_well_without_children(server: &Server) {
    assert!(
        eventually(PATIENCE, || !processes::descendants(server.pid())
            .iter()
            .any(|process| matches!(
                process.command.as_str(),
                "yes" | "sleep" | "sh"
            ))),
        "children of scripts live on"
    );
}

#[test]
fn child_streams_while_it_runs_and_ends_with_its_client() {
    let endless = "system 'yes';";
    let server = Server::builder()
        .file("scripts/yes.pl", &plain(endless))
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(2))
        .start();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        connection.write(&Request::get(&rung.url("yes.pl")).bytes());
        let mut read = 0;
        while read < 8 << 20 {
            let count = connection.fill().expect("the child's lines");
            assert!(count > 0, "{}: ended after {read} bytes", rung.name());
            let unread = connection.unread().len();
            connection.forget(unread);
            read += count;
        }
        drop(connection);
        is_well_without_children(&server);
    }
    is_well(&server);
}

#[test]
fn output_of_children_for_a_slow_client_does_not_fill_memory() {
    const SAID: usize = 150_000_000;
    let server = Server::builder()
        .file(
            "scripts/much.pl",
            &plain(&format!("system q{{head -c {SAID} /dev/zero}};")),
        )
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(2))
        .start();
    for rung in [Rung::Fork, Rung::Rewind, Rung::Registry] {
        let mut connection = server.connect();
        connection.write(&Request::get(&rung.url("much.pl")).bytes());
        let mut memory_files = 0;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(700) {
            memory_files = memory_files.max(memory_files_of(&server));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(memory_files < 4 << 20, "{}: {memory_files}", rung.name());
        let answer = connection.read_answer("GET").expect("an answer");
        assert!(
            answer.complete && answer.body.len() == SAID,
            "{}",
            rung.name()
        );
    }
    let front = processes::kilobytes(server.pid(), "VmHWM").unwrap_or(u64::MAX);
    assert!(front < 80_000, "the front used {front} kB");
    is_well(&server);
}

/// Returns the number of bytes in the memory files that replace STDOUT, in all processes of the
/// server.
fn memory_files_of(server: &Server) -> u64 {
    let mut sizes = std::collections::BTreeMap::new();
    for process in processes::descendants(server.pid()) {
        let Ok(files) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else {
            continue;
        };
        for file in files.flatten() {
            let name = std::fs::read_link(file.path()).unwrap_or_default();
            if name.to_string_lossy().starts_with("/memfd:stdout") {
                if let Ok(about) = std::fs::metadata(file.path()) {
                    sizes.insert(std::os::unix::fs::MetadataExt::ino(&about), about.len());
                }
            }
        }
    }
    sizes.values().sum()
}

#[test]
fn child_that_outlives_its_request_holds_no_worker() {
    let waits = until_let_go("ENV{DOCUMENT_ROOT}");
    let server = Server::builder()
        .file("scripts/holds.pl", &plain(&format!("print 'held'; system qq{{({waits}) &}};")))
        .file("scripts/lets_go.pl", &plain(&format!("print 'free'; system qq{{({waits}) >/dev/null 2>&1 &}};")))
        .file("scripts/daemon.pl", &plain(&format!("$SIG{{CHLD}} = 'IGNORE'; print 'free'; if (!fork) {{ close STDIN; close STDOUT; close STDERR; {UNTIL_LET_GO} exit }}")))
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(1))
        .leaves_processes()
        .start();
    for rung in [Rung::Fork, Rung::Rewind, Rung::PerlRun, Rung::Registry] {
        let mut waits = server.connect();
        waits.write(&Request::get(&rung.url("holds.pl")).bytes());
        assert!(read_until(&mut waits, b"held"), "{}", rung.name());
        for script in ["hello.pl", "lets_go.pl", "daemon.pl", "hello.pl"] {
            server.get(&rung.url(script)).expect(200);
        }
        let_go(&server);
        assert!(waits.read_answer("GET").is_ok_and(|answer| answer.complete));
        std::fs::remove_file(server.site.path("htdocs/go")).expect("it was written");
    }
    is_well_without_children(&server);
}

/// Reads until the words arrive. The words stay in the connection's buffer.
fn read_until(connection: &mut Connection, words: &[u8]) -> bool {
    while !connection
        .unread()
        .windows(words.len())
        .any(|part| part == words)
    {
        if !matches!(connection.fill(), Ok(1..)) {
            return false;
        }
    }
    true
}

#[test]
fn child_that_keeps_the_response_open_is_abandoned_after_the_time_limit() {
    let server = Server::builder()
        .file(
            "scripts/holds.pl",
            &plain("print 'held'; system 'sleep 5 &';"),
        )
        .ladder()
        .conf(&workers(1))
        .conf("Timeout 1\n")
        .leaves_processes()
        .start();
    let rungs = [Rung::Cgi, Rung::Fork, Rung::Rewind, Rung::Registry];
    for (rung, told) in rungs.into_iter().zip(1..) {
        let answer = server.get(&rung.url("holds.pl"));
        assert_eq!(answer.expect(200), "held", "{}", rung.name());
        assert!(answer.complete, "{}", rung.name());
        let is_told = || server.log.count("holds its output open for 1 s") == told;
        assert!(eventually(PATIENCE, is_told), "{}", rung.name());
    }
    is_well_without_children(&server);
}

#[test]
fn handlers_and_applications_do_not_wait_for_child_processes() {
    let waits = until_let_go("root");
    let module = format!("package Starts;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::RequestUtil ();\n\
        sub handler {{ my $r = shift; my $root = $r->document_root; system qq{{({waits}) &}}; $r->content_type('text/x'); print 'mine'; return 0 }}\n1;\n");
    let app = "sub { system 'echo from a child'; [200, ['Content-Type', 'text/x'], ['mine']] };\n";
    let server = Server::builder()
        .file("lib/Starts.pm", &module)
        .file("app.psgi", app)
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Starts\n<Location /handler>\n    SetHandler modperl\n    PerlResponseHandler Starts\n</Location>\n<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .leaves_processes()
        .start();
    for target in ["/handler", "/psgi"] {
        let answer = server.get(target);
        assert_eq!(answer.expect(200), "mine", "{target}");
        assert_eq!(answer.field("content-type").as_deref(), Some("text/x"));
    }
    let_go(&server);
    server.log.expect("from a child");
    is_well_without_children(&server);
}

#[test]
fn pipe_that_a_script_leaves_open_is_closed_at_its_end() {
    let script = plain("open P, '|cat'; print P 'piped'; print 'printed ';");
    for rung in ["fork", "perlrun", "registry"] {
        let server = Server::builder()
            .file("www/pipe.pl", &script)
            .dir("www")
            .args(&["--rung", rung, "--workers", "1"])
            .start();
        for _ in 0..2 {
            let text = server.get("/pipe.pl").expect(200);
            assert_eq!(text, "printed piped", "{rung}");
        }
    }
}
