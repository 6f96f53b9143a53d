//! Tests the input of a script: every way of reading gives the body, and nothing of another
//! request.

use mehari_harness::scripts::{workers, HEADER};
use mehari_harness::{against_apache, Request, Rung, Server};

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
                // Scripts may rely on CONTENT_LENGTH, so Mehari also sets it for a chunked body.
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

/// A script may give its arguments to a shell, so they must be as safe as on the rung `cgi`.
#[test]
fn words_of_an_indexed_query_are_escaped_on_every_rung() {
    const QUERIES: [(&str, &str); 8] = [
        ("one+two", "[one][two]"),
        ("a%20b++c+", "[a b][][c][]"),
        ("$(x)+%60y;+a%0Ab", "[\\$\\(x\\)][\\`y\\;][a\\\nb]"),
        ("%7c+%26%26+*", "[\\|][\\&\\&][\\*]"),
        ("a=b+c", ""),
        ("ok+a%zz", ""),
        ("ok+%4", ""),
        ("ok+a%00b", ""),
    ];
    let server = Server::builder()
        .file(
            "scripts/words.pl",
            &format!("{HEADER}print map {{ \"[$_]\" }} @ARGV;\n"),
        )
        // The switch needs a perl of its own.
        .file(
            "scripts/switch.pl",
            "#!/usr/bin/perl -s\nprint \"Content-Type: text/plain\\n\\n\", $x, map { \"[$_]\" } @ARGV;\n",
        )
        .ladder()
        .start();
    for rung in [Rung::Cgi, Rung::Fork, Rung::Rewind, Rung::Auto] {
        for (query, expected) in QUERIES {
            let url = rung.url(&format!("words.pl?{query}"));
            for request in [Request::get(&url), Request::post(&url, "body")] {
                let answer = server.send(&request);
                assert_eq!(answer.expect(200), expected, "{} {query}", rung.name());
            }
        }
        let answer = server.get(&rung.url("switch.pl?-x+a+%24b"));
        assert_eq!(answer.expect(200), "1[a][\\$b]", "{}", rung.name());
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
        .conf(&workers(1))
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
