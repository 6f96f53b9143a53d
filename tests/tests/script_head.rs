//! Tests the header block that a script prints, and the response that the server makes from it.

use mehari_harness::scripts::workers;
use mehari_harness::{against_apache, Pair, Request, Rung, Server};

/// A script that prints a header block, and the expected response: status, a field, the body.
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
fn header_block_of_a_script_becomes_the_head_of_the_response() {
    let mut builder = Server::builder()
        .ladder()
        .conf("<Location />\n    Require all granted\n</Location>\n")
        .conf(&workers(1))
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
                // The server adds a short text to a redirect without a body.
                if !(300..400).contains(&row.status) {
                    assert_eq!(answer.text(), row.body, "{}", row.script);
                }
            }
        }
    }
}

/// Cookies and other fields of the script go with the response that replaces the script's own.
/// Fields about the script's own body do not.
#[test]
fn fields_beside_a_local_location_go_with_the_new_response() {
    const LEADS: &str = "#!/usr/bin/perl\nprint \"Set-Cookie: a=b\\nX-First: one\\nContent-Type: text/x-none\\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\\n\
                         Set-Cookie: c=d\\nLocation: $ENV{QUERY_STRING}\\n\\n\";\n";
    const SAYS: &str = "#!/usr/bin/perl\nprint \"Set-Cookie: e=f\\nX-Own: mine\\nContent-Type: text/plain\\n\\nanswers\";\n";
    let build = || {
        Server::builder()
            .file("scripts/leads.pl", LEADS)
            .file("scripts/says.pl", SAYS)
            .file("htdocs/target.txt", "the target\n")
            .ladder()
            .conf(&workers(2))
    };
    let mut pair = Pair::start(build);
    let mut differences = Vec::new();
    for rung in Rung::ALL {
        for target in [
            "/target.txt",
            "/cgi/says.pl",
            "/registry/says.pl",
            "/missing",
        ] {
            let request = Request::get(&format!("{}?{target}", rung.url("leads.pl")));
            // Apache has only these rungs.
            let answer = match rung {
                Rung::Cgi | Rung::PerlRun | Rung::Registry => pair.compare(&request),
                _ => Ok(pair.ours().send(&request)),
            };
            match answer {
                Ok(answer) => {
                    let cookies = answer.all("set-cookie");
                    let has = |cookie: &&str| cookies.iter().any(|known| known == cookie);
                    assert!(
                        ["a=b", "c=d"].iter().all(has),
                        "{rung:?} {target}: {cookies:?}"
                    );
                }
                Err(why) => differences.push(why),
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn nph_script_sends_its_own_status_line() {
    let script = "#!/usr/bin/perl\nprint \"HTTP/1.0 250 Own Words\\r\\nContent-type: text/plain\\r\\n\\r\\nraw\";\n";
    let server = Server::builder()
        .file("scripts/nph-own.pl", script)
        .ladder()
        .start();
    for rung in Rung::ALL {
        // With `PerlOptions +ParseHeaders`, mod_perl closes the connection without a response.
        if against_apache() && Rung::SHARED.contains(&rung) {
            continue;
        }
        let answer = server.get(&rung.url("nph-own.pl"));
        assert_eq!(answer.expect(250), "raw", "{}", rung.name());
        // The reason phrase has no meaning (RFC 9112 section 4). Apache passes the script's phrase
        // on. Mehari sends the standard phrase.
        if against_apache() {
            assert_eq!(answer.reason, "Own Words", "{}", rung.name());
        }
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
