//! Tests scripts that end badly. Such a script harms only its own request, and the log names the
//! script and the reason.

use mehari_harness::scripts::{is_well, plain, workers};
use mehari_harness::{eventually, Request, Rung, Server, PATIENCE};
use std::time::Duration;

/// Scripts that end badly: the name, the code, the expected statuses, and words in the log.
const BAD_ENDS: &[(&str, &str, &[u16], &str)] = &[
    (
        "segfault",
        "kill SEGV => $$; select undef, undef, undef, 5;",
        &[502],
        "signal 11",
    ),
    (
        "real segfault",
        "my $x = unpack 'p', pack 'Q', 8; print $x;",
        &[502],
        "signal 11",
    ),
    (
        "killed",
        "kill KILL => $$; select undef, undef, undef, 5;",
        &[502],
        "signal 9",
    ),
    (
        "aborts",
        "use POSIX (); POSIX::abort();",
        &[502],
        "signal 6",
    ),
    ("no header", "print 'no header at all';", &[500], "header"),
    // As under mod_perl, a script in a worker may print nothing.
    ("nothing", "1;", &[200], "header"),
    (
        "header without end",
        "print \"Content-type: text/plain\\n\";",
        &[500],
        "header",
    ),
    (
        "not a field",
        "print \"Content-type: text/plain\\nthis is no field\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "space in a name",
        "print \"Bad Name: x\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "NUL in a value",
        "print \"Content-type: text/plain\\nX-A: a\\0b\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "CR in a value",
        "print \"Content-type: text/plain\\nX-A: a\\rX-B: b\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "bad status",
        "print \"Status: maybe\\n\\nbody\";",
        &[500],
        "tatus",
    ),
    (
        "status out of range",
        "print \"Status: 99\\n\\nbody\";",
        &[500],
        "tatus",
    ),
    (
        "closes everything",
        "close STDOUT; close STDERR; close STDIN;",
        &[200],
        "header",
    ),
    ("_exit", "use POSIX (); POSIX::_exit(3);", &[500, 502], ""),
];

#[test]
fn script_that_ends_badly_gets_the_right_status_on_every_rung() {
    let mut builder = Server::builder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(2));
    for (number, (_, text, _, _)) in BAD_ENDS.iter().enumerate() {
        builder = builder.file(
            &format!("scripts/bad{number}.pl"),
            &format!("#!/usr/bin/perl\n{text}\n"),
        );
    }
    let server = builder.start();
    let mut wrong = Vec::new();
    for (number, (name, _, statuses, words)) in BAD_ENDS.iter().enumerate() {
        for rung in Rung::ALL {
            let before = server.log.lines().len();
            let answer = server.get(&rung.url(&format!("bad{number}.pl")));
            // On the rung `cgi`, a process that ends without output is a faulty script: 500.
            let fits = statuses.contains(&answer.status)
                || !Rung::SHARED.contains(&rung) && [500, 502].contains(&answer.status);
            if !fits {
                wrong.push(format!(
                    "{name} on {}: {} {:?}",
                    rung.name(),
                    answer.status,
                    answer.text()
                ));
            }
            // The log names the event and the script, perhaps in two lines.
            let logged = eventually(Duration::from_millis(500), || {
                let new = server.log.lines().split_off(before);
                [*words, &format!("bad{number}.pl")]
                    .iter()
                    .all(|part| new.iter().any(|line| line.contains(part)))
            });
            if !words.is_empty() && !logged {
                wrong.push(format!(
                    "{name} on {}: no line with {words:?} and the script's name: {:?}",
                    rung.name(),
                    &server.log.lines()[before..]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    is_well(&server);
}

#[test]
fn field_of_a_handler_with_cr_or_lf_is_refused_with_500_and_a_log_line() {
    let module = "package Split;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse APR::Table ();\n\
        sub handler { my $r = shift; my %bad = (lf => \"a\\nX-Evil: 1\", cr => \"a\\rX-Evil: 1\", crlf => \"a\\r\\nX-Evil: 1\", nul => \"a\\0b\");\n\
        $r->content_type('text/plain'); $r->headers_out->set('X-Split' => $bad{$r->args}); $r->print('body'); return 0 }\n1;\n";
    let app = "sub { my $env = shift; [200, ['Content-Type', 'text/plain', 'X-Split', qq{a\\r\\nX-Evil: 1}], ['body']] };\n";
    let server = Server::builder()
        .file("lib/Split.pm", module)
        .file("app.psgi", app)
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Split\n<Location /split>\n    SetHandler modperl\n    PerlResponseHandler Split\n</Location>\n<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .start();
    // Like APR's tables, the table of fields ends a value at a NUL.
    assert_eq!(server.get("/split?nul").all("x-split"), ["a"]);
    for target in ["/split?lf", "/split?cr", "/split?crlf", "/psgi"] {
        let before = server.log.lines().len();
        let answer = server.get(target);
        assert_eq!(answer.status, 500, "{target}");
        assert_eq!(answer.all("x-evil"), Vec::<String>::new(), "{target}");
        let logged = eventually(PATIENCE, || {
            server.log.lines()[before..]
                .iter()
                .any(|line| line.contains("X-Split"))
        });
        assert!(logged, "{target}: {}", server.log.text());
    }
}

#[test]
fn response_of_a_script_that_dies_half_way_never_looks_complete() {
    let big = "print 'x' x 1000 for 1 .. 3000; die qq{half way\\n};";
    let server = Server::builder()
        .file("scripts/big.pl", &plain(big))
        .file("scripts/killed.pl", &plain("$| = 1; print 'x' x 1000 for 1 .. 3000; kill KILL => $$; select undef, undef, undef, 5;"))
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .start();
    for rung in Rung::ALL {
        let before = server.log.count("half way");
        let answer = server.get(&rung.url("big.pl"));
        assert!([200, 500].contains(&answer.status), "{}", answer.status);
        let told = eventually(PATIENCE, || server.log.count("half way") > before);
        assert!(told, "{}: the log does not say why", rung.name());
        // The process was killed. A client that got 200 must be able to see that the body is
        // incomplete.
        let answer = server.get(&rung.url("killed.pl"));
        let cut = answer.status == 200 && !answer.complete;
        assert!(
            cut || answer.status == 502,
            "{}: {} complete",
            rung.name(),
            answer.status
        );
    }
    is_well(&server);
}

#[test]
fn script_that_forks_and_exits_in_the_child_answers_once() {
    let server = Server::builder()
        .file(
            "scripts/fork.pl",
            &plain("my $kid = fork; if (!$kid) { exit 0 } waitpid $kid, 0; print 'one answer';"),
        )
        .file(
            "scripts/fall.pl",
            &plain("my $kid = fork; if ($kid) { waitpid $kid, 0; print 'one answer' }"),
        )
        .ladder()
        .conf(&workers(2))
        .start();
    for rung in Rung::ALL {
        for name in ["fork.pl", "fall.pl"] {
            let mut connection = server.connect();
            for _ in 0..5 {
                let answer = connection
                    .send(&Request::get(&rung.url(name)))
                    .expect("an answer");
                assert_eq!(
                    answer.expect(200),
                    "one answer",
                    "{name} on {}",
                    rung.name()
                );
            }
            assert_eq!(
                connection.unread(),
                b"",
                "{name} on {} answered twice",
                rung.name()
            );
        }
    }
    assert_eq!(server.workers().len(), 2, "a child became a worker");
}

/// The script writes into every descriptor, so it overwrites the mailbox with the worker's
/// progress. Whatever the response is, no other worker runs the request again.
#[test]
fn script_that_writes_into_all_descriptors_runs_once_and_is_answered() {
    let scribble = plain(
        "open my $runs, '>>', qq{$ENV{DOCUMENT_ROOT}/runs.$ENV{QUERY_STRING}}; syswrite $runs, 'x'; close $runs;\n\
         for (3 .. 60) { open my $file, '>&=', $_ or next; syswrite $file, 'garbage' x 100 }\nprint 'x';",
    );
    let server = Server::builder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("scripts/scribble.pl", &scribble)
        .ladder()
        .conf(&workers(2))
        .start();
    for rung in Rung::ISOLATED {
        let name = rung.name();
        let answer = server.get(&format!("{}?{name}", rung.url("scribble.pl")));
        assert!(
            [200, 500, 502].contains(&answer.status),
            "{name}: {}",
            answer.status
        );
        is_well(&server);
        assert_eq!(
            server.site.read(&format!("htdocs/runs.{name}")),
            "x",
            "{name}"
        );
    }
}
