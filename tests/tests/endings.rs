//! Tests scripts that end early or unusually: at compile time, by `die` with a reference, in a
//! thread. On each rung the response is the same as if the script ran in a process of its own.

use mehari_harness::scripts::plain;
use mehari_harness::{needs, needs_machine, Rung, Server};

const WARMED: [Rung; 5] = [
    Rung::Fork,
    Rung::Rewind,
    Rung::PerlRun,
    Rung::Registry,
    Rung::Auto,
];

#[test]
fn compile_error_shows_its_page_on_every_rung() {
    let carp = "#!/usr/bin/perl\nuse strict;\nuse CGI::Carp qw(fatalsToBrowser);\n";
    let server = Server::builder()
        .file("scripts/syntax.pl", &format!("{carp}my $x = ;\n"))
        .file("scripts/strict.pl", &format!("{carp}$undeclared = 1;\n"))
        .file("scripts/module.pl", &format!("{carp}use Not::There;\n"))
        .file("scripts/own.pl", "#!/usr/bin/perl\nBEGIN { $SIG{__DIE__} = sub { print \"Status: 503\\n\\n[\", defined $^S ? $^S : 'undef', \"] @_\" } }\nuse strict; $undeclared = 1;\n")
        .file("scripts/none.pl", "#!/usr/bin/perl\nuse strict;\n$undeclared = 1;\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        let name = rung.name();
        for (script, words) in [
            ("syntax.pl", "syntax error at"),
            ("strict.pl", "Global symbol"),
            ("module.pl", "Not/There.pm"),
        ] {
            let answer = server.get(&rung.url(script));
            let text = answer.expect(500);
            assert!(
                text.contains("Software error") && text.contains(words),
                "{script} on {name}: {text}"
            );
        }
        let own = server.get(&rung.url("own.pl")).expect(503);
        assert!(
            own.starts_with("[undef] Global symbol") || own.starts_with("[0] Global symbol"),
            "{name}: {own}"
        );
        assert!(
            own.contains("aborted due to compilation errors"),
            "{name}: {own}"
        );
        let page = server.get(&rung.url("none.pl")).expect(500);
        assert!(!page.contains("Global symbol"), "{name}: {page}");
    }
}

/// CGI::Carp asks `tell STDOUT` whether the script has printed a head.
#[test]
fn script_that_dies_behind_its_head_shows_only_the_message() {
    let late = "#!/usr/bin/perl\nuse CGI::Carp qw(fatalsToBrowser);\n\
        print \"Content-Type: text/html\\n\\n<p>begun</p>\"; die 'broken on purpose';\n";
    let counts = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\"; my @at = tell STDOUT; print 'text'; \
        $| = 1; print 'more'; push @at, tell STDOUT; print \" @at\";\n";
    let server = Server::builder()
        .file("scripts/late.pl", late)
        .file("scripts/counts.pl", counts)
        .ladder()
        .start();
    for rung in Rung::ALL {
        let name = rung.name();
        let text = server.get(&rung.url("late.pl")).expect(200);
        assert!(text.starts_with("<p>begun</p>"), "{name}: {text}");
        assert!(text.contains("broken on purpose"), "{name}: {text}");
        assert!(!text.contains("Status: 500"), "{name}: {text}");
        // As under mod_perl, the handle of a worker has no position.
        let expected = match rung {
            Rung::Registry | Rung::PerlRun => "textmore -1 -1",
            _ => "textmore 26 34",
        };
        let text = server.get(&rung.url("counts.pl")).expect(200);
        assert_eq!(text, expected, "{name}");
    }
}

/// `$SIG{__DIE__}` gets the same calls with the same texts as in a process of the script's own,
/// even if perl did not parse the script to its end.
#[test]
fn hook_gets_the_errors_of_a_script_as_in_a_process_of_its_own() {
    let hook = "#!/usr/bin/perl\nBEGIN { $SIG{__DIE__} = sub { print \"Content-type: text/plain\\n\\n\" unless $count++; print \"[$_[0]]\" } }\nuse strict;\n";
    let undeclared = "$undeclared = 1;\n";
    let server = Server::builder()
        .file("scripts/one.pl", &format!("{hook}{undeclared}"))
        .file(
            "scripts/syntax.pl",
            &format!("{hook}my $x = );\nmy $y = 1;\n"),
        )
        .file(
            "scripts/many.pl",
            &format!("{hook}{}", undeclared.repeat(20)),
        )
        .file(
            "scripts/begin.pl",
            &format!("{hook}BEGIN {{ die 'at once' }}\n"),
        )
        .file(
            "scripts/data.pl",
            &format!("{hook}{undeclared}__END__\nrest"),
        )
        .ladder()
        .start();
    for script in ["one", "syntax", "many", "begin", "data"] {
        let own = server.get(&Rung::Cgi.url(&format!("{script}.pl")));
        let own = own.expect(200).replace("/cgi/", "/");
        for rung in WARMED {
            let text = server.get(&rung.url(&format!("{script}.pl")));
            assert_eq!(
                text.expect(200).replace(&format!("/{}/", rung.name()), "/"),
                own,
                "{script} on {}",
                rung.name()
            );
        }
    }
}

#[test]
fn script_may_answer_and_exit_while_it_is_compiled() {
    let server = Server::builder()
        .file("scripts/begin.pl", "#!/usr/bin/perl\nEND { print 'end' }\nBEGIN { print \"Content-type: text/x\\n\\nbegun \"; exit }\ndie 'never';\n")
        .file("scripts/silent.pl", "#!/usr/bin/perl\nBEGIN { exit 3 }\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        for _ in 0..2 {
            let text = server.get(&rung.url("begin.pl")).expect(200);
            assert_eq!(text, "begun end", "{}", rung.name());
            server.get(&rung.url("silent.pl")).expect(500);
        }
    }
}

#[test]
fn byte_order_mark_is_no_part_of_a_script() {
    let script = "\u{feff}#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\nprint __LINE__, <DATA>;\n__END__\nrest";
    let crlf = "#!/usr/bin/perl\r\nprint \"Content-type: text/plain\\n\\n\";\r\nprint <<END;\r\ntext\r\nEND\r\n";
    let server = Server::builder()
        .file("scripts/mark.pl", script)
        .file("scripts/crlf.pl", crlf)
        .ladder()
        .start();
    for rung in WARMED {
        let marked = server.get(&rung.url("mark.pl")).expect(200);
        assert!(marked.starts_with("3rest"), "{}: {marked}", rung.name());
        let text = server.get(&rung.url("crlf.pl")).expect(200);
        assert_eq!(text, "text\n", "{}", rung.name());
    }
    server.get(&Rung::Cgi.url("crlf.pl")).expect(500);
    server.log.expect("save it with LF line ends");
}

#[test]
fn log_names_the_script_that_died_with_a_reference_or_object() {
    let object = "package Oops; use overload '\"\"' => sub { 'an object speaks' }; sub new { bless {} } package main; die Oops->new;";
    let server = Server::builder()
        .file("scripts/hash.pl", "#!/usr/bin/perl\ndie { code => 3 };\n")
        .file("scripts/object.pl", &format!("#!/usr/bin/perl\n{object}\n"))
        .file("scripts/text.pl", "#!/usr/bin/perl\ndie 'plain words';\n")
        .ladder()
        .start();
    for rung in WARMED {
        for (script, words) in [
            ("hash.pl", "hash.pl died with HASH(0x"),
            ("object.pl", "object.pl died with an object speaks"),
            ("text.pl", "plain words at "),
        ] {
            let before = server.log.count(words);
            server.get(&rung.url(script)).expect(500);
            assert!(
                mehari_harness::eventually(mehari_harness::PATIENCE, || server.log.count(words)
                    > before),
                "{script} on {}:\n{}",
                rung.name(),
                server.log.text()
            );
        }
    }
    server.log.expect("a reference and no text");
    assert_eq!(server.log.count("died with plain words"), 0);
}

#[test]
fn threads_of_a_script_print_into_its_response() {
    needs_machine!(needs::perl_has_threads(), "the perl has no threads");
    let script = "use threads; print threads->create(sub { 42 })->join; threads->create(sub { print ' from a thread' })->join; print ' end';";
    let server = Server::builder()
        .file("scripts/threads.pl", &plain(script))
        .ladder()
        .start();
    for rung in WARMED {
        for _ in 0..3 {
            let text = server.get(&rung.url("threads.pl")).expect(200);
            assert_eq!(text, "42 from a thread end", "{}", rung.name());
        }
    }
    assert_eq!(server.log.count("Unbalanced"), 0, "{}", server.log.text());
}
