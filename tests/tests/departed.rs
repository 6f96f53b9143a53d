//! Tests what a script learns when its client leaves while it prints.

use mehari_harness::scripts::{plain, simple};
use mehari_harness::{apache, eventually, Request, Rung, Server, PATIENCE};

/// Code that prints pieces, and logs how it has ended. `PRINT` prints a piece.
const PIECES: &str = "my ($n, $piece) = (0, 'x' x 1000);
my $lived = eval { while ($n < 5_000) { PRINT; select undef, undef, undef, 0.001 if ++$n % 20 == 0 } 1 };
print STDERR $ENV{QUERY_STRING}, $lived ? ': went on' : $@ =~ /^(:?[\\w: ]+?): \\((?:32|10[34])\\)/ ? \": $1\" : \": $@\", ref $@ ? ' by '.ref $@ : '', qq{\\n};
";

/// Handlers, each with the code of `PRINT`.
const HANDLERS: [(&str, &str, &str); 6] = [
    (
        "print",
        "$r->print($piece)",
        "Apache2::RequestIO::print by APR::Error",
    ),
    (
        "write",
        "$r->write($piece)",
        "Apache2::RequestIO::write by APR::Error",
    ),
    (
        "rflush",
        "$r->print($piece); $r->rflush",
        "Apache2::RequestIO::rflush by APR::Error",
    ),
    (
        "at_once",
        "local $| = 1; $r->print($piece)",
        "Apache2::RequestIO::print by APR::Error",
    ),
    (
        "stdout",
        "local $| = 1; print $piece",
        ":Apache2 IO flush by APR::Error",
    ),
    (
        "aborted",
        "eval { $r->print($piece); $r->rflush }; die ': (103) aborted' if $r->connection->aborted",
        "aborted",
    ),
];

fn site() -> mehari_harness::Builder {
    let handlers: String = HANDLERS
        .iter()
        .map(|(name, code, _)| {
            format!(
                "sub {name} {{ my $r = shift; $r->content_type('text/plain'); {} return 0 }}\n",
                PIECES
                    .replace("PRINT", code)
                    .replace("$ENV{QUERY_STRING}", "$r->args")
                    .replace("': (103) aborted'", "'aborted: (103)'")
            )
        })
        .collect();
    let module = format!("package Pieces;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::RequestUtil ();\nuse Apache2::Connection ();\nuse APR::Error ();\n{handlers}1;\n");
    let places: String = HANDLERS
        .iter()
        .map(|(name, ..)| format!("<Location /{name}>\n    SetHandler perl-script\n    PerlResponseHandler Pieces::{name}\n    Require all granted\n</Location>\n"))
        .collect();
    Server::builder()
        .file("lib/Pieces.pm", &module)
        .file(
            "scripts/buffered.pl",
            &plain(&PIECES.replace("PRINT", "print $piece")),
        )
        .file(
            "scripts/flushed.pl",
            &plain(&format!(
                "$| = 1;\n{}",
                PIECES.replace("PRINT", "print $piece")
            )),
        )
        .ladder()
        .conf(&format!(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Pieces\n{places}"
        ))
}

/// Asks, reads the beginning of the response, and leaves.
fn leave(server: &Server, target: &str) {
    let mut connection = server.connect();
    connection.write(&Request::get(target).bytes());
    if target.ends_with(".shtml") {
        std::thread::sleep(std::time::Duration::from_millis(200));
    } else {
        connection.fill().expect("the response begins");
    }
}

/// A flush that fails with ECONNRESET lets a script go on under mod_perl. A flush that fails with
/// EPIPE ends it. Which of the two comes depends on what the client has read. Mehari ends it.
#[test]
fn script_learns_that_its_client_has_left() {
    let scripts = [Rung::Registry, Rung::PerlRun].map(|rung| {
        [
            (rung.url("buffered.pl"), ":Apache2 IO write by APR::Error"),
            (rung.url("flushed.pl"), ":Apache2 IO flush by APR::Error"),
        ]
    });
    let handlers = HANDLERS.map(|(name, _, end)| (format!("/{name}"), end));
    let cases: Vec<_> = handlers
        .into_iter()
        .chain(scripts.into_iter().flatten())
        .collect();
    for (position, server) in apache::beside(site).iter().enumerate() {
        let is_apache = position == 1;
        for (number, (target, end)) in cases.iter().enumerate() {
            leave(server, &format!("{target}?case-{number}"));
            let ends = [end, "went on"].map(|end| format!("case-{number}: {end}"));
            let may_go_on = is_apache && end.contains("flush");
            let told = eventually(PATIENCE, || {
                let text = server.log.text();
                text.contains(&ends[0]) || may_go_on && text.contains(&ends[1])
            });
            assert!(told, "{target}: {end}\n{}", server.log.text());
        }
    }
}

/// One worker runs all scripts, so an endless script that goes on makes the next request wait.
#[test]
fn endless_script_ends_when_its_client_leaves() {
    const APP: &str = "sub { my $respond = shift->{'psgi.streaming'}; sub { my $w = $_[0]->([200, ['Content-Type', 'text/plain']]); $w->write('x' x 1000) while 1 } }\n";
    const ENDS: &str = "$SIG{TERM} = sub { print STDERR qq{asked to end\\n}; exit };\n";
    const ANOTHER: &str = "exec $^X, '-e', '$SIG{TERM} = sub {}; print qq{x\n} while 1';";
    const CHILD: &str = "if (!fork) { print qq{x\\n} while 1 } wait;";
    let server = simple(1)
        .file("scripts/endless.pl", &plain("print 'x' x 1000 while 1;"))
        .file("scripts/flushes.pl", &plain("$| = 1; print 'x' x 1000 while 1;"))
        .file("scripts/handles.pl", &plain(&format!("{ENDS}print 'x' x 1000 while 1;")))
        .file("scripts/ignores.pl", &plain("$SIG{TERM} = 'IGNORE'; print 'x' x 1000 while 1;"))
        .file("scripts/becomes.pl", &plain(&format!("$| = 1; {ANOTHER}")))
        .file("scripts/child.pl", &plain(CHILD))
        .file("scripts/tainted.pl", &plain("print 'x' x 1000 while 1;").replace("perl\n", "perl -T\n"))
        .file("scripts/lines.pl", &plain("system 'true'; print \"x\\n\" while 1;"))
        .file("htdocs/page.shtml", "<!--#include virtual=\"/registry/endless.pl\" -->")
        .conf("<Files *.shtml>\nOptions +Includes\nSetOutputFilter INCLUDES\n</Files>\n")
        .file("app.psgi", APP)
        .conf("<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n    Require all granted\n</Location>\n")
        .start();
    let mut targets = ["/psgi", "/page.shtml"].map(String::from).to_vec();
    targets.extend(Rung::ALL.iter().map(|rung| rung.url("endless.pl")));
    for rung in [Rung::Cgi, Rung::Fork, Rung::Rewind, Rung::Auto] {
        targets.extend(["flushes.pl", "handles.pl", "lines.pl"].map(|name| rung.url(name)));
    }
    for rung in [Rung::Cgi, Rung::Fork, Rung::Rewind] {
        targets.extend(
            ["ignores.pl", "becomes.pl", "child.pl", "tainted.pl"].map(|name| rung.url(name)),
        );
    }
    for target in &targets {
        leave(&server, target);
        let answer = server.get("/registry/hello.pl");
        assert_eq!(answer.expect(200), "Hello", "{target}");
    }
    // The standard error of a program of the rung `cgi` may end with its client.
    let told = || server.log.count("asked to end") >= 3;
    assert!(eventually(PATIENCE, told), "{}", server.log.text());
    assert!(!server.log.text().contains("ended by signal"));
    // Leaving is no fault of the script.
    let next = server.get("/rewind/hello.pl");
    assert_eq!(next.expect(200), "Hello");
}

/// Clients come and leave at any moment, on few workers, whose mailboxes hold several requests.
/// Every client that stays gets its whole response.
#[test]
fn clients_that_leave_disturb_no_other() {
    const SIZE: usize = 300_000;
    let large = format!(
        "$| = $ENV{{QUERY_STRING}} % 2; print 'x' x 1000 for 1 .. {};",
        SIZE / 1000
    );
    let server = simple(2).file("scripts/large.pl", &plain(&large)).start();
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for round in 0..60 {
                    let rung = Rung::ALL[(client + round) % Rung::ALL.len()];
                    let target = format!("{}?{round}", rung.url("large.pl"));
                    let mut connection = server.connect();
                    connection.write(&Request::get(&target).bytes());
                    match (client + round * 3) % 5 {
                        0 => continue,
                        1 => {
                            let _ = connection.fill();
                            continue;
                        }
                        _ => {}
                    }
                    let answer = connection.read_answer("GET").expect("the whole response");
                    assert_eq!((answer.status, answer.body.len()), (200, SIZE), "{target}");
                }
            });
        }
    });
    assert!(!server.log.text().contains("ended by signal"));
}

/// Some bodies have no reader: the body of a HEAD request, a body that the status forbids, and the
/// bytes beyond the Content-Length. They are never written, so no write shows that the client has
/// left.
#[test]
fn endless_script_ends_where_nobody_reads_its_body() {
    const APP: &str = "sub { my $env = shift; my ($status, @more) = split /&/, $env->{QUERY_STRING}; sub { my $w = $_[0]->([$status, [$status == 204 ? () : ('Content-Type', 'text/plain'), @more]]); $w->write('x' x 1000) while 1 } }\n";
    let script = "my ($status, @more) = split /&/, $ENV{QUERY_STRING}; print qq{Status: $status\\n}, $status == 204 ? () : qq{Content-Type: text/plain\\n}, @more ? qq{$more[0]: $more[1]\\n} : (), qq{\\n}; print 'x' x 1000 while 1;";
    let server = simple(1)
        .file("scripts/endless.pl", &format!("#!/usr/bin/perl\n{script}\n"))
        .file("app.psgi", APP)
        .conf("<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n    Require all granted\n</Location>\n")
        .start();
    let mut targets = vec!["/psgi".to_string()];
    targets.extend(Rung::ALL.iter().map(|rung| rung.url("endless.pl")));
    let cases = [
        ("HEAD", "200"),
        ("GET", "204"),
        ("GET", "200&Content-Length&10"),
    ];
    for target in &targets {
        for (method, query) in cases {
            let mut connection = server.connect();
            connection.write(&Request::new(method, &format!("{target}?{query}")).bytes());
            let answer = connection.read_answer(method).expect("the response");
            assert!(query.starts_with(&answer.status.to_string()), "{target}");
            drop(connection);
            let next = server.get("/registry/hello.pl");
            assert_eq!(next.expect(200), "Hello", "{method} {target}?{query}");
        }
    }
    assert!(!server.log.text().contains("ended by signal"));
}

/// A script whose output is limited may run to its end, as under Apache.
#[test]
fn limited_output_without_a_reader_harms_no_script() {
    let site = || {
        simple(1).file(
            "scripts/limited.pl",
            &plain("$| = 1; print 'x' x 1000 for 1 .. 500; select undef, undef, undef, 0.2; print 'x' x 1000; print STDERR qq{ran to its end\\n};"),
        )
        .ladder()
    };
    for server in apache::beside(site).iter() {
        let mut connection = server.connect();
        let target = Rung::Registry.url("limited.pl");
        connection.write(&Request::new("HEAD", &target).bytes());
        assert_eq!(connection.read_answer("HEAD").expect("a head").status, 200);
        drop(connection);
        let ran = || server.log.text().contains("ran to its end");
        assert!(eventually(PATIENCE, ran), "{}", server.log.text());
    }
}

/// Under Apache, a program whose body has no reader is not stopped when the client leaves.
#[test]
fn long_body_that_nobody_reads_is_printed_to_its_end() {
    let code = "$| = 1; for (1 .. 3000) { print 'x' x 1000 or die \"failed: $!\" } sleep 2 if $ENV{QUERY_STRING} eq 'cgi'; print 'x' or die \"failed: $!\"; print STDERR qq{$ENV{QUERY_STRING} ran to its end\\n};";
    let site = || simple(2).file("scripts/long.pl", &plain(code)).ladder();
    for (position, server) in apache::beside(site).iter().enumerate() {
        let rungs = match position {
            0 => &Rung::ALL[..],
            _ => &[Rung::Cgi, Rung::Registry, Rung::PerlRun],
        };
        for rung in rungs {
            let target = format!("{}?{}", rung.url("long.pl"), rung.name());
            let mut connection = server.connect();
            connection.write(&Request::new("HEAD", &target).bytes());
            assert_eq!(connection.read_answer("HEAD").expect("a head").status, 200);
        }
        for rung in rungs {
            let text = format!("{} ran to its end", rung.name());
            let ran = || server.log.text().contains(&text);
            assert!(eventually(PATIENCE, ran), "{text}\n{}", server.log.text());
        }
    }
}
