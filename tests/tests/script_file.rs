//! Tests the file of a script: changed, broken, missing, with an unusual name, unreadable.

use mehari_harness::scripts::{workers, HEADER};
use mehari_harness::{against_apache, eventually, needs, trace, Request, Rung, Server, PATIENCE};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn changed_script_is_compiled_again() {
    let server = Server::builder()
        .file("scripts/page.pl", &format!("{HEADER}print 'old';\n"))
        .ladder()
        .start();
    for rung in Rung::ALL {
        server
            .site
            .replace("scripts/page.pl", &format!("{HEADER}print 'old';\n"));
        assert_eq!(server.get(&rung.url("page.pl")).expect(200), "old");
        server
            .site
            .replace("scripts/page.pl", &format!("{HEADER}print 'new';\n"));
        for _ in 0..8 {
            assert_eq!(
                server.get(&rung.url("page.pl")).expect(200),
                "new",
                "{}",
                rung.name()
            );
        }
    }
}

/// The front watches the script, so the worker makes no system call for the file. A change of the
/// script, or of a folder above it, still takes effect at once.
#[test]
fn script_that_does_not_change_is_not_looked_at_and_each_change_is_noticed() {
    needs!("strace");
    let page = |turn: usize| format!("{HEADER}print {turn};\n");
    let builder = Server::builder()
        .file("scripts/deep/page.pl", &page(0))
        .file("scripts/traced/proof.pl", &page(0));
    let server = builder.ladder().conf(&workers(1)).start();
    let root = server.site.path("scripts");
    let target = Rung::Registry.url("deep/page.pl");
    let proof = Rung::Registry.url("traced/proof.pl");
    let mut connection = server.connect();
    let mut ask = || {
        let answer = connection.send(&Request::get(&target)).expect("an answer");
        String::from_utf8_lossy(&answer.body).into_owned()
    };
    let is_left_alone = eventually(PATIENCE, || {
        let worker = server.workers()[0];
        // A changed script is read again.
        fs::remove_file(root.join("traced/proof.pl")).expect("ours");
        fs::write(root.join("traced/proof.pl"), page(1)).expect("written");
        let calls = trace::calls_of(&server, worker, "file", &proof, || {
            (0..20).for_each(|_| drop(ask()));
        });
        !calls.iter().any(|call| call.contains("page.pl"))
    });
    assert!(is_left_alone);
    let file = root.join("deep/page.pl");
    let changes: [(&str, &dyn Fn(usize)); 5] = [
        ("written", &|turn| {
            fs::write(&file, page(turn)).expect("written")
        }),
        ("replaced", &|turn| {
            fs::write(root.join("next"), page(turn)).expect("written");
            fs::rename(root.join("next"), &file).expect("moved");
        }),
        ("made again", &|turn| {
            fs::remove_file(&file).expect("gone");
            fs::write(&file, page(turn)).expect("written");
        }),
        ("its folder made again", &|turn| {
            fs::rename(root.join("deep"), root.join(format!("was_{turn}"))).expect("moved");
            fs::create_dir(root.join("deep")).expect("a folder");
            fs::write(&file, page(turn)).expect("written");
        }),
        ("a link to its folder", &|turn| {
            fs::rename(root.join("deep"), root.join(format!("was_{turn}"))).expect("moved");
            fs::create_dir(root.join(format!("is_{turn}"))).expect("a folder");
            symlink(format!("is_{turn}"), root.join("deep")).expect("a link");
            fs::write(&file, page(turn)).expect("written");
        }),
    ];
    let turns = (10..).zip(changes.iter().cycle()).take(3 * changes.len());
    for (turn, (what, change)) in turns {
        change(turn);
        for _ in 0..3 {
            assert_eq!(ask(), turn.to_string(), "{what}");
        }
    }
}

#[test]
fn script_that_does_not_compile_answers_500_and_the_log_says_where() {
    let server = Server::builder()
        .file("scripts/broken.pl", "#!/usr/bin/perl\nuse strict;\nprint \"Content-type: text/plain\\n\\n\";\n$undeclared = 1;\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        let before = server.log.count("broken.pl line 4");
        server.get(&rung.url("broken.pl")).expect(500);
        let told = eventually(PATIENCE, || server.log.count("broken.pl line 4") > before);
        assert!(told, "{}: {}", rung.name(), server.log.text());
    }
    server
        .log
        .expect("Global symbol \"$undeclared\" requires explicit package name");
}

#[test]
fn script_that_dies_answers_500_and_the_log_says_where() {
    let server = Server::builder()
        .file(
            "scripts/dies.pl",
            "#!/usr/bin/perl\nmy $x = 1;\ndie 'no way on';\n",
        )
        .ladder()
        .start();
    for rung in Rung::ALL {
        let before = server.log.count("no way on at");
        server.get(&rung.url("dies.pl")).expect(500);
        let told = eventually(PATIENCE, || server.log.count("no way on at") > before);
        assert!(told, "{}: {}", rung.name(), server.log.text());
    }
    let line = server.log.expect("no way on at");
    assert!(line.contains("dies.pl line 3"), "{line}");
}

#[test]
fn files_that_are_no_scripts_get_the_right_status() {
    let server = Server::builder()
        .file("scripts/plain.pl", &format!("{HEADER}print 'ran';\n"))
        .ladder()
        .conf("Alias /noexec/ @ROOT@/scripts/\n<Location /noexec/>\n    SetHandler perl-script\n    PerlResponseHandler ModPerl::Registry\n    Options -ExecCGI\n    Require all granted\n</Location>\n")
        .start();
    let path = server.site.path("scripts/plain.pl");
    let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&path, plain).expect("own file");
    for rung in Rung::SHARED {
        assert_eq!(
            server.get(&rung.url("plain.pl")).expect(200),
            "ran",
            "no x bit is needed"
        );
    }
    for rung in Rung::ALL {
        server.get(&rung.url("missing.pl")).expect(404);
    }
    let status = server.get("/cgi/plain.pl").status;
    // mod_cgi finds this out at exec and answers 500.
    assert!(
        status == 403 || against_apache() && status == 500,
        "{status}"
    );
    server.get("/noexec/plain.pl").expect(403);
}

#[test]
fn names_of_scripts_may_hold_any_character() {
    let mut builder = Server::builder().ladder();
    let names = [
        ("it's.pl", "it's.pl"),
        ("two words.pl", "two%20words.pl"),
        ("caf\u{e9}.pl", "caf%C3%A9.pl"),
        ("a+b$c.pl", "a+b$c.pl"),
    ];
    for (name, _) in names {
        builder = builder.file(
            &format!("scripts/{name}"),
            &format!("{HEADER}print 'ran';\n"),
        );
    }
    let server = builder.start();
    for (name, url) in names {
        for rung in Rung::ALL {
            // mod_perl puts the name unchanged between single quotes.
            if against_apache() && name.contains('\'') && Rung::SHARED.contains(&rung) {
                continue;
            }
            assert_eq!(
                server.get(&rung.url(url)).expect(200),
                "ran",
                "{name} on {}",
                rung.name()
            );
        }
    }
}

#[test]
fn switch_w_in_the_first_line_turns_warnings_on() {
    let server = Server::builder()
        .file("scripts/warns.pl", "#!/usr/bin/perl -w\nprint \"Content-type: text/plain\\n\\n\";\nmy $x; my $y = \"a$x\"; print 'ok';\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        let before = server.log.count("Use of uninitialized value $x");
        assert_eq!(server.get(&rung.url("warns.pl")).expect(200), "ok");
        let told = eventually(PATIENCE, || {
            server.log.count("Use of uninitialized value $x") > before
        });
        assert!(told, "{}", rung.name());
    }
    let line = server.log.expect("Use of uninitialized value $x");
    assert!(line.contains("warns.pl line 3"), "{line}");
}

/// If a script is cut off, the end of an access check may be missing. Therefore no part of the
/// script runs, and nothing is cached.
#[test]
fn script_that_cannot_be_read_to_its_end_answers_500_and_is_not_kept() {
    needs!("strace");
    let server = Server::builder()
        .file("scripts/page.pl", &format!("{HEADER}print 'whole';\n"))
        .ladder()
        .conf(&workers(1))
        .start();
    let fails = |process| {
        trace::failing(
            &server,
            process,
            "scripts/page.pl",
            "pread64:error=EIO",
            || {
                server.get(&Rung::Registry.url("page.pl")).expect(500);
                server.get(&Rung::PerlRun.url("page.pl")).expect(500);
            },
        );
    };
    for process in server.workers() {
        fails(process);
    }
    server.log.expect("Input/output error");
    for rung in [Rung::Registry, Rung::PerlRun] {
        let answer = server.get(&rung.url("page.pl"));
        assert_eq!(answer.expect(200), "whole", "{}", server.log.text());
    }
}

/// The rungs with a process for each request run any program, as mod_cgi does.
#[test]
fn program_in_another_language_runs_as_under_mod_cgi() {
    let shell = "#!/bin/sh\nprintf 'Content-type: text/plain\\n\\nshell %s' \"$QUERY_STRING\"\n";
    let server = Server::builder()
        .file("scripts/page.cgi", shell)
        .ladder()
        .start();
    fs::copy("/bin/true", server.site.path("scripts/compiled.cgi")).expect("our own folder");
    for rung in [Rung::Cgi, Rung::Fork, Rung::Rewind, Rung::Auto] {
        let answer = server.get(&format!("{}?{}", rung.url("page.cgi"), rung.name()));
        assert_eq!(answer.expect(200), format!("shell {}", rung.name()));
        // The program prints nothing, so it is not a CGI program. It ran nevertheless.
        server.get(&rung.url("compiled.cgi")).expect(500);
        let said = server.log.expect("compiled.cgi");
        assert!(!said.contains("Unrecognized character"), "{said}");
    }
}
