//! What scripts under ModPerl::Registry and ModPerl::PerlRun depend on, behaviour by behaviour.
//!
//! Each row was checked against mod_perl 2.0.12 (`MEHARI_TESTS_AGAINST=apache2`), except where it says
//! that Mehari means to do better; those are left out there.

use mehari_harness::{against_apache, Request, Rung, Server};

const ONE_WORKER: &str =
    "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n";

/// A script, and what the first and the second request for it answer.
struct Row {
    name: &'static str,
    script: &'static str,
    first: &'static str,
    second: &'static str,
    /// mod_perl itself fails this row.
    better: bool,
}

const fn row(name: &'static str, script: &'static str, both: &'static str) -> Row {
    Row {
        name,
        script,
        first: both,
        second: both,
        better: false,
    }
}

const fn better(name: &'static str, script: &'static str, both: &'static str) -> Row {
    Row {
        name,
        script,
        first: both,
        second: both,
        better: true,
    }
}

/// Rows that hold under Registry and PerlRun alike. Each script prints after this line.
const HEADER: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\n";

const BOTH: &[Row] = &[
    row("top-level return ends the request", "print 'a'; return; print 'b';", "a"),
    row("the request object is the first argument", "my $r = shift; print ref $r, ' ', $r->method;", "Apache2::RequestRec GET"),
    row("lexical warnings are off", "my $w = ''; local $SIG{__WARN__} = sub { $w = shift }; my $x; my $y = $x . 'a'; print \"[$w]\";", "[]"),
    row("text after __END__ is not code", "print 'a';\n__END__\nthis is (not perl\n", "a"),
    row("text after __DATA__ is not code", "print 'a';\n__DATA__\nthis is (not perl\n", "a"),
    better("DATA is read from its start each time", "print <DATA>;\n__DATA__\none\ntwo\n", "one\ntwo\n"),
    better("a here-document may mention __END__", "print <<X;\n__END__\nmore\nX\nprint 'a';\n", "__END__\nmore\na"),
    row("exit ends the request", "print 'a'; exit 0; print 'b';", "a"),
    row("exit in a nested sub ends the request", "sub deep { exit if $_[0] == 0; deep($_[0] - 1) } print 'a'; deep(5); print 'b';", "a"),
    better("exit in an eval is not caught", "print 'a'; eval { exit 1 }; print 'b';", "a"),
    row("exit in a sort block ends the request", "print 'a'; my @x = sort { exit } 2, 1; print 'b';", "a"),
    row("the return value is ignored", "print 'a'; 500;", "a"),
    row("a die in an eval stays there", "eval { die qq{inner\\n} }; print \"caught $@\";", "caught inner\n"),
    row("changes of %ENV are undone", "print exists $ENV{DIRT} ? 'dirty' : 'clean'; $ENV{DIRT} = 1; delete $ENV{QUERY_STRING};", "clean"),
    row("QUERY_STRING is there although the last request deleted it", "print defined $ENV{QUERY_STRING} ? 'yes' : 'no'; delete $ENV{QUERY_STRING};", "yes"),
    row("changes of @INC are undone", "print scalar(grep { $_ eq '/dirt' } @INC); push @INC, '/dirt';", "0"),
    row("autoflush is undone", "print $|; $| = 1;", "0"),
    better("the input record separator is undone", "print $/ eq qq{\\n} ? 'line' : 'other'; $/ = 'x';", "line"),
    better("the output separators are undone", "print defined $, ? 1 : 0; print defined $\\ ? 1 : 0; $, = '-'; $\\ = '!';", "00!"),
    better("the selected handle is STDOUT again", "print 'a'; open my $fh, '>', '/dev/null'; select $fh; print 'b';", "a"),
    better("signal handlers are undone", "print ref $SIG{__DIE__} || 'none', ref $SIG{__WARN__} || 'none'; $SIG{__DIE__} = sub {}; $SIG{__WARN__} = sub {};", "nonenone"),
    better("the working folder is undone", "use Cwd; my $here = getcwd; print $here eq '/' ? 'moved' : 'stayed'; chdir '/';", "stayed"),
    better("the umask is undone", "printf '%03o', umask; umask 0;", "022"),
    row("a closed STDOUT is open again", "print 'a'; close STDOUT;", "a"),
    row("a reopened STDOUT is the client again", "print 'a'; open STDOUT, '>', '/dev/null'; print 'b';", "a"),
    row("a local STDOUT is local", "{ local *STDOUT; open STDOUT, '>', \\my $b; print 'b' } print 'a';", "a"),
    row("a tied STDOUT catches prints until it is untied", "package T; sub TIEHANDLE { bless [] } sub PRINT { push @{ $_[0] }, $_[1] } package main; tie *STDOUT, 'T'; print 'lost'; my $n = @{ tied *STDOUT }; untie *STDOUT; print $n;", "1"),
    better("a tied STDOUT is not tied for the next request", "BEGIN { package T2; sub TIEHANDLE { bless [] } sub PRINT { } } print 'a'; tie *STDOUT, 'T2'; print 'lost';", "a"),
    row("printf, say and print keep their order", "use feature 'say'; print 'a'; printf '%s', 'b'; say 'c'; $_ = 'd'; print;", "abc\nd"),
    better("syswrite keeps its place", "print 'a'; syswrite STDOUT, 'b'; print 'c';", "abc"),
    better("format and write go to the client", "format STDOUT =\n@<<@>>\n'a', 'b'\n.\nwrite;", "a    b\n"),
    row("print to another handle stays there", "open my $fh, '>', \\my $buffer; print $fh 'x'; close $fh; print $buffer, 'y';", "xy"),
    better("a program writes to the client in its place", "print 'a'; system 'printf b'; print 'c';", "abc"),
    row("backticks are captured", "print 'a', `printf b`, 'c';", "abc"),
    better("a program sees the request's variables", "print 'a'; print `printf %s \"$ENV{REQUEST_METHOD}$REQUEST_METHOD\"`;", "aGETGET"),
    better("a program sees what the script put into %ENV", "$ENV{OF_SCRIPT} = 'seen'; print `printf %s \"\\$OF_SCRIPT\"`;", "seen"),
    row("an END block runs after every request", "END { print 'end' } print 'a';", "aend"),
    row("END runs after exit", "END { print 'end' } print 'a'; exit; print 'b';", "aend"),
    row("an END block sees the request", "END { print $ENV{REQUEST_METHOD} } print 'a';", "aGET"),
    better("a child that falls off the end is no second worker", "my $pid = fork; if (!$pid) { print ''; } else { waitpid $pid, 0; print 'parent'; }", "parent"),
    row("a child that execs leaves the answer alone", "my $pid = fork; if (!$pid) { open STDOUT, '>', '/dev/null'; exec 'echo', 'x'; } waitpid $pid, 0; print 'parent';", "parent"),
    row("an alarm is the script's own", "local $SIG{ALRM} = sub { die qq{rang\\n} }; eval { alarm 1; select undef, undef, undef, 5 }; print $@;", "rang\n"),
    row("local of a global is undone", "our $g; print defined $g ? 'set' : 'unset'; local $g = 1;", "unset"),
    row("string eval sees the script's lexicals", "my $x = 3; print eval '$x + 1';", "4"),
    row("wide characters through a layer", "binmode STDOUT, ':utf8'; print chr 0x263A;", "\u{263A}"),
    better("a layer on STDOUT is gone for the next request", "print chr 0xE9 eq qq{\\xE9} ? 'a' : 'b'; print scalar(grep { /utf8/ } PerlIO::get_layers(*STDOUT)); binmode STDOUT, ':utf8';", "a0"),
    row("a body that starts with a NUL", "print qq{\\0a};", "\0a"),
    row("a script may define a sub of any name", "sub render { return 'rendered' } print render();", "rendered"),
];

fn both_server() -> Server {
    let mut builder = Server::builder().ladder().conf(ONE_WORKER);
    for (number, row) in BOTH.iter().enumerate() {
        let text = format!("{HEADER}{}\n", row.script);
        builder = builder.file(&format!("scripts/row{number}.pl"), &text);
    }
    builder.start()
}

#[test]
fn scripts_keep_what_they_depend_on_under_registry_and_perlrun() {
    let server = both_server();
    let mut wrong = Vec::new();
    for (number, row) in BOTH.iter().enumerate() {
        if row.better && against_apache() {
            continue;
        }
        for rung in Rung::SHARED {
            for expected in [row.first, row.second] {
                let answer = server.get(&rung.url(&format!("row{number}.pl")));
                if answer.status != 200 || answer.text() != expected {
                    wrong.push(format!(
                        "{} ({}): {} {:?} instead of {expected:?}",
                        row.name,
                        rung.name(),
                        answer.status,
                        answer.text()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows where the two differ: what Registry keeps and PerlRun flushes.
const KEPT: &[(&str, &str, [&str; 2], [&str; 2])] = &[
    (
        "a package variable",
        "our $n; print ++$n;",
        ["1", "2"],
        ["1", "1"],
    ),
    (
        "a hash of the package",
        "our %h; $h{$$}++; print $h{$$};",
        ["1", "2"],
        ["1", "1"],
    ),
    (
        "a lexical in a named sub",
        "my $x = 0; sub up { print ++$x } up();",
        ["1", "2"],
        ["1", "1"],
    ),
    (
        "BEGIN runs at each compilation",
        "our $b; BEGIN { $b .= 'b' } print $b; $b = '';",
        ["b", ""],
        ["b", "b"],
    ),
    (
        "a module's variable",
        "use Kept; print ++$Kept::count;",
        ["1", "2"],
        ["3", "4"],
    ),
];

#[test]
fn registry_keeps_package_variables_and_perlrun_flushes_them() {
    let mut builder = Server::builder()
        .conf("PerlSwitches -I@ROOT@/lib\n")
        .ladder()
        .conf(ONE_WORKER)
        .file("lib/Kept.pm", "package Kept; our $count = 0; 1;\n");
    for (number, row) in KEPT.iter().enumerate() {
        builder = builder.file(
            &format!("scripts/kept{number}.pl"),
            &format!("{HEADER}{}\n", row.1),
        );
    }
    let server = builder.start();
    for (number, (name, _, registry, perlrun)) in KEPT.iter().enumerate() {
        for (rung, expected) in [(Rung::Registry, registry), (Rung::PerlRun, perlrun)] {
            for time in expected {
                let answer = server.get(&rung.url(&format!("kept{number}.pl")));
                assert_eq!(answer.expect(200), *time, "{name} ({})", rung.name());
            }
        }
    }
}

/// Scripts that print their own header, and the answer: status, a field, the body.
struct HeaderRow {
    script: &'static str,
    status: u16,
    field: (&'static str, Option<&'static str>),
    body: &'static str,
    better: bool,
}

const HEADERS: &[HeaderRow] = &[
    HeaderRow { script: "print \"Status: 404 Gone Away\\nContent-type: text/plain\\n\\nmine\";", status: 404, field: ("content-type", Some("text/plain")), body: "mine", better: false },
    HeaderRow { script: "print \"Status: 201\\r\\nContent-type: text/plain\\r\\n\\r\\nmade\";", status: 201, field: ("content-type", Some("text/plain")), body: "made", better: false },
    HeaderRow { script: "print \"Location: http://www.example.com/\\n\\n\";", status: 302, field: ("location", Some("http://www.example.com/")), body: "", better: false },
    HeaderRow { script: "print \"Status: 301 Moved\\nLocation: http://www.example.com/\\n\\n\";", status: 301, field: ("location", Some("http://www.example.com/")), body: "", better: false },
    HeaderRow { script: "print \"Location: /target.txt\\n\\n\";", status: 200, field: ("location", None), body: "the target\n", better: false },
    HeaderRow { script: "print \"Content-type: text/plain\\r\\nX-Mixed: yes\\n\\r\\nmixed\";", status: 200, field: ("x-mixed", Some("yes")), body: "mixed", better: false },
    HeaderRow { script: "$| = 1; print \"Content-type: \"; print \"text/plain\\n\"; print \"\\n\"; print 'split';", status: 200, field: ("content-type", Some("text/plain")), body: "split", better: true },
    HeaderRow { script: "my $r = shift; $r->content_type('text/x-own'); print 'typed';", status: 200, field: ("content-type", Some("text/x-own")), body: "typed", better: false },
    HeaderRow { script: "my $r = shift; $r->headers_out->set('X-Own' => 'v'); print \"Content-type: text/plain\\n\\nb\";", status: 200, field: ("x-own", Some("v")), body: "b", better: false },
    HeaderRow { script: "print \"Status: 204 No Content\\nX-Own: v\\n\\n\";", status: 204, field: ("x-own", Some("v")), body: "", better: false },
];

#[test]
fn header_block_of_a_script_becomes_the_header() {
    let mut builder = Server::builder()
        .ladder()
        .conf("<Location />\n    Require all granted\n</Location>\n")
        .conf(ONE_WORKER)
        .file("htdocs/target.txt", "the target\n");
    for (number, row) in HEADERS.iter().enumerate() {
        let text = format!("#!/usr/bin/perl\n{}\n", row.script);
        builder = builder.file(&format!("scripts/header{number}.pl"), &text);
    }
    let server = builder.start();
    for (number, row) in HEADERS.iter().enumerate() {
        if row.better && against_apache() {
            continue;
        }
        for rung in Rung::SHARED {
            for _ in 0..2 {
                let answer = server.get(&rung.url(&format!("header{number}.pl")));
                assert_eq!(
                    answer.status,
                    row.status,
                    "{}\n{}",
                    row.script,
                    answer.text()
                );
                assert_eq!(
                    answer.field(row.field.0).as_deref(),
                    row.field.1,
                    "{}",
                    row.script
                );
                // A redirect without a body gets a short text from the server.
                if !(300..400).contains(&row.status) {
                    assert_eq!(answer.text(), row.body, "{}", row.script);
                }
            }
        }
    }
}

#[test]
fn nph_script_sends_its_own_status_line() {
    let script = "#!/usr/bin/perl\nprint \"HTTP/1.0 250 Own Words\\r\\nContent-type: text/plain\\r\\n\\r\\nraw\";\n";
    let server = Server::builder()
        .file("scripts/nph-own.pl", script)
        .ladder()
        .start();
    for rung in Rung::ALL {
        // mod_perl closes the connection without a word when headers are also to be parsed.
        if against_apache() && Rung::SHARED.contains(&rung) {
            continue;
        }
        let answer = server.get(&rung.url("nph-own.pl"));
        assert_eq!(answer.expect(250), "raw", "{}", rung.name());
        assert_eq!(answer.reason, "Own Words", "{}", rung.name());
    }
}

#[test]
fn head_gets_the_header_and_no_body() {
    let server = Server::builder()
        .file(
            "scripts/page.pl",
            "#!/usr/bin/perl\nprint \"Content-type: text/plain\\nX-Own: v\\n\\nbody\";\n",
        )
        .ladder()
        .start();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        for method in ["HEAD", "GET"] {
            let request = Request::new(method, &rung.url("page.pl"));
            let answer = connection.send(&request).expect("an answer");
            assert_eq!(answer.status, 200);
            assert_eq!(answer.field("x-own").as_deref(), Some("v"));
            assert_eq!(answer.text(), if method == "GET" { "body" } else { "" });
        }
    }
}

#[test]
fn body_is_read_in_every_way_perl_has() {
    const WAYS: &[(&str, &str)] = &[
        ("read STDIN, my $b, $ENV{CONTENT_LENGTH}; print $b;", "one\ntwo\n"),
        ("my $b = ''; 1 while read STDIN, $b, 3, length $b; print $b;", "one\ntwo\n"),
        ("while (<STDIN>) { print qq{$.:$_} }", "1:one\n2:two\n"),
        ("local $/; print scalar <STDIN>;", "one\ntwo\n"),
        ("print getc STDIN, getc STDIN; print scalar <STDIN>;", "one\n"),
        ("print eof(STDIN) ? 'end' : 'more'; my @l = <STDIN>; print eof(STDIN) ? 'end' : 'more';", "moreend"),
    ];
    let mut builder = Server::builder().ladder();
    for (number, (script, _)) in WAYS.iter().enumerate() {
        builder = builder.file(
            &format!("scripts/read{number}.pl"),
            &format!("{HEADER}{script}\n"),
        );
    }
    let server = builder.start();
    for (number, (script, expected)) in WAYS.iter().enumerate() {
        for rung in Rung::ALL {
            for chunked in [false, true] {
                // Scripts that count on CONTENT_LENGTH: what came in chunks has one too.
                if chunked && against_apache() {
                    continue;
                }
                let mut request =
                    Request::post(&rung.url(&format!("read{number}.pl")), "one\ntwo\n");
                if chunked {
                    request = request.chunked();
                }
                let answer = server.send(&request);
                assert_eq!(
                    answer.expect(200),
                    *expected,
                    "{} chunked={chunked}: {script}",
                    rung.name()
                );
            }
        }
    }
}

#[test]
fn unread_body_does_not_become_the_next_request() {
    let server = Server::builder()
        .file("scripts/ignore.pl", &format!("{HEADER}print 'ignored';\n"))
        .file("scripts/echo.pl", &format!("{HEADER}print <STDIN>;\n"))
        .ladder()
        .start();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        for size in [10, 100_000] {
            let trap = "GET /never HTTP/1.1\r\nHost: x\r\n\r\n".repeat(size / 10);
            let request = Request::post(&rung.url("ignore.pl"), trap);
            let answer = connection.send(&request).expect("an answer");
            assert_eq!(answer.expect(200), "ignored");
            let request = Request::post(&rung.url("echo.pl"), "mine");
            let answer = connection.send(&request).expect("an answer");
            assert_eq!(answer.expect(200), "mine", "{}", rung.name());
        }
    }
}

#[test]
fn header_fields_of_one_request_are_gone_in_the_next() {
    let script = "print join ',', map { qq{$_=$ENV{$_}} } grep { /^HTTP_X|^CONTENT|^PATH_INFO|^QUERY/ } sort keys %ENV;";
    let server = Server::builder()
        .file("scripts/env.pl", &format!("{HEADER}{script}\n"))
        .ladder()
        .conf(ONE_WORKER)
        .start();
    for rung in Rung::ALL {
        let url = rung.url("env.pl");
        let full = Request::form(&format!("{url}/more?q=1"), "a=1").field("X-Secret", "of-a");
        assert_eq!(
            server.send(&full).expect(200),
            "CONTENT_LENGTH=3,CONTENT_TYPE=application/x-www-form-urlencoded,HTTP_X_SECRET=of-a,PATH_INFO=/more,QUERY_STRING=q=1"
        );
        assert_eq!(
            server.get(&url).expect(200),
            "QUERY_STRING=",
            "{}",
            rung.name()
        );
    }
}

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

#[test]
fn script_that_does_not_compile_answers_500_and_the_log_says_where() {
    let server = Server::builder()
        .file("scripts/broken.pl", "#!/usr/bin/perl\nuse strict;\nprint \"Content-type: text/plain\\n\\n\";\n$undeclared = 1;\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        let before = server.log.count("broken.pl line 4");
        server.get(&rung.url("broken.pl")).expect(500);
        let told = mehari_harness::eventually(mehari_harness::PATIENCE, || {
            server.log.count("broken.pl line 4") > before
        });
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
        let told = mehari_harness::eventually(mehari_harness::PATIENCE, || {
            server.log.count("no way on at") > before
        });
        assert!(told, "{}: {}", rung.name(), server.log.text());
    }
    let line = server.log.expect("no way on at");
    assert!(line.contains("dies.pl line 3"), "{line}");
}

#[test]
fn files_that_are_no_scripts_get_their_own_answer() {
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
    // mod_cgi finds out by trying and answers 500.
    assert!(
        status == 403 || against_apache() && status == 500,
        "{status}"
    );
    server.get("/noexec/plain.pl").expect(403);
}

#[test]
fn scripts_of_one_name_in_two_folders_do_not_share_variables() {
    let script = format!("{HEADER}our $n; print ++$n;\n");
    let server = Server::builder()
        .file("scripts/a/count.pl", &script)
        .file("scripts/b/count.pl", &script)
        .ladder()
        .conf(ONE_WORKER)
        .start();
    assert_eq!(server.get("/registry/a/count.pl").expect(200), "1");
    assert_eq!(server.get("/registry/b/count.pl").expect(200), "1");
    assert_eq!(server.get("/registry/a/count.pl").expect(200), "2");
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
            // mod_perl puts the name into single quotes as it is.
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
fn required_file_is_read_again_under_perlrun() {
    let server = Server::builder()
        .file(
            "scripts/settings.pl",
            "$color = 'red'; sub shout { uc shift } 1;\n",
        )
        .file(
            "scripts/page.pl",
            &format!("{HEADER}require '@/settings.pl'; print $color, shout('x');\n"),
        )
        .ladder()
        .conf(ONE_WORKER)
        .start();
    let folder = server.site.path("scripts");
    let text = format!(
        "{HEADER}require '{}/settings.pl'; print $color, shout('x');\n",
        folder.display()
    );
    server.site.replace("scripts/page.pl", &text);
    for _ in 0..3 {
        assert_eq!(server.get("/perlrun/page.pl").expect(200), "redX");
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
        let told = mehari_harness::eventually(mehari_harness::PATIENCE, || {
            server.log.count("Use of uninitialized value $x") > before
        });
        assert!(told, "{}", rung.name());
    }
    let line = server.log.expect("Use of uninitialized value $x");
    assert!(line.contains("warns.pl line 3"), "{line}");
}

#[test]
fn worker_outlives_exit_and_die() {
    let server = Server::builder()
        .file("scripts/pid.pl", &format!("{HEADER}print $$;\n"))
        .file("scripts/exit.pl", &format!("{HEADER}exit 3;\n"))
        .file("scripts/die.pl", "die 'x';\n")
        .ladder()
        .conf(ONE_WORKER)
        .start();
    for rung in Rung::SHARED {
        let pid = server.get(&rung.url("pid.pl")).expect(200);
        for _ in 0..20 {
            server.get(&rung.url("exit.pl")).expect(200);
            server.get(&rung.url("die.pl")).expect(500);
        }
        assert_eq!(
            server.get(&rung.url("pid.pl")).expect(200),
            pid,
            "{}",
            rung.name()
        );
    }
}
