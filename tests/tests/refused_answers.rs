//! Tests responses that cannot be sent, such as those with a Content-Length that is no number or
//! with a control character in a field. The client gets 500, both logs get a line, and other
//! requests are not affected. The harness checks that the server still stops at once.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, needs, Connection, Request, Rung, Server, PATIENCE};
use std::process::Command;

const PROTOCOLS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];

/// A field of the response, and the expected words in the error log.
const REFUSED: &[(&str, &str, &str)] = &[
    ("Content-Length", "abc", "Content-Length, got `abc`"),
    ("Content-Length", "-1", "Content-Length, got `-1`"),
    ("Content-Length", "", "Content-Length, got ``"),
    ("Content-Length", "4 4", "Content-Length, got `4 4`"),
    ("Content-Length", "0x4", "Content-Length, got `0x4`"),
    (
        "Content-Length",
        "99999999999999999999",
        "Content-Length, got `99999999999999999999`",
    ),
    (
        "Content-Type",
        "text/plain\\x01",
        "Content-Type holds a control",
    ),
    (
        "Content-Type",
        "text/\\x7fplain",
        "Content-Type holds a control",
    ),
    ("X-Field", "a\\x1bb", "X-Field holds a control"),
];

/// Returns Perl code that chooses a field of the table above, and the size of the body: smaller
/// than a record, or much larger.
fn table() -> String {
    let rows: String = REFUSED
        .iter()
        .map(|(name, value, _)| format!("[\"{name}\", \"{value}\"],\n"))
        .collect();
    format!(
        "my @refused = ({rows});\n\
         my ($number, $length) = split /,/, $ENV{{QUERY_STRING}};\n\
         my ($name, $value) = @{{$refused[$number]}};\n\
         my $body = 'x' x $length;\n"
    )
}

fn site() -> Server {
    let printed = format!(
        "#!/usr/bin/perl\n{}print \"$name: $value\\n\\n\", $body;\n",
        table()
    );
    let handler = format!(
        "package Refused;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse APR::Table ();\n\
         sub handler {{ my $r = shift; local $ENV{{QUERY_STRING}} = $r->args;\n{}\
         $name eq 'Content-Type' ? $r->content_type($value) : $r->headers_out->set($name => $value);\n\
         $r->print($body); return 0 }}\n1;\n",
        table()
    );
    let application = format!(
        "sub {{ local $ENV{{QUERY_STRING}} = shift->{{QUERY_STRING}};\n{}\
         [200, [$name, length $value ? $value : undef], [$body]] }};\n",
        table()
    );
    Server::builder()
        .file("scripts/refused.pl", &printed)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("lib/Refused.pm", &handler)
        .file("app.psgi", &application)
        .ladder()
        .conf(&workers(2))
        .conf("GracefulShutdownTimeout 600\nCustomLog @ROOT@/access.log combined\n")
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Refused\n<Location /handler>\n    SetHandler modperl\n    PerlResponseHandler Refused\n</Location>\n")
        .conf("<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .start()
}

/// Returns the status that curl gets. curl has a time limit, for a server that does not answer.
fn status(server: &Server, protocol: &str, path: &str) -> String {
    let url = format!("http://{}{path}", server.address);
    let output = Command::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "60"])
        .args([protocol, &url])
        .output()
        .expect("curl runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn response_that_cannot_be_sent_is_a_500_on_every_rung_and_the_worker_goes_on() {
    needs!("curl");
    let server = site();
    let mut paths: Vec<String> = Rung::ALL.map(|rung| rung.url("refused.pl")).into();
    paths.extend(["/handler".into(), "/psgi".into()]);
    for path in &paths {
        server.get("/registry/hello.pl").expect(200);
        let pids = server.workers();
        let mut wrong = Vec::new();
        for (number, (_, _, reason)) in REFUSED.iter().enumerate() {
            for (protocol, length) in [(0, 4), (1, 4), (0, 200_000), (1, 200_000)] {
                let before = server.log.lines().len();
                let asked = format!("{path}?{number},{length}");
                let status = status(&server, PROTOCOLS[protocol], &asked);
                let logged = eventually(PATIENCE, || {
                    let new = server.log.lines().split_off(before);
                    new.iter().any(|line| line.contains(reason))
                });
                if status != "500" || !logged {
                    let said = &server.log.lines()[before..];
                    wrong.push(format!("{asked} {protocol}: {status} {said:#?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(server.workers(), pids, "{path}: {}", server.log.text());
    }
    let asked = paths.len() * REFUSED.len() * 4;
    let logged = |server: &Server| {
        let access = server.site.read("access.log");
        let answered = access.lines().filter(|line| line.contains(" 500 "));
        answered.count()
    };
    assert!(
        eventually(PATIENCE, || logged(&server) >= asked),
        "{} lines for {asked} requests",
        logged(&server)
    );
    assert_eq!(logged(&server), asked);
}

/// One worker has all these requests in its mailbox.
#[test]
fn requests_after_a_response_that_cannot_be_sent_run_once_in_the_same_worker() {
    needs!("curl");
    let counts = plain(
        "open my $ran, '>>', \"$ENV{DOCUMENT_ROOT}/ran\" or die $!; syswrite $ran, \"$ENV{QUERY_STRING}\\n\"; print $$;",
    );
    let refused = "#!/usr/bin/perl\nprint \"Content-Length: abc\\n\\nbody\";\n";
    let server = Server::builder()
        .file("scripts/counts.pl", &counts)
        .file("scripts/refused.pl", refused)
        .ladder()
        .conf(&workers(1))
        .conf("GracefulShutdownTimeout 600\n")
        .start();
    let pid = server.get("/registry/counts.pl?warm").expect(200);
    for round in 0..20 {
        let mut asked: Vec<(bool, Connection)> = (0..24)
            .map(|number| {
                let is_refused = number % 3 == 0;
                let target = if is_refused {
                    "/registry/refused.pl".to_owned()
                } else {
                    format!("/registry/counts.pl?{round}.{number}")
                };
                let mut connection = server.connect();
                connection.write(&Request::get(&target).bytes());
                (is_refused, connection)
            })
            .collect();
        for (is_refused, connection) in &mut asked {
            let answer = connection.read_answer("GET").expect("an answer");
            if *is_refused {
                assert_eq!(answer.status, 500)
            } else {
                assert_eq!(answer.expect(200), pid, "{}", server.log.text())
            }
        }
    }
    let ran = server.site.read("htdocs/ran");
    let mut names: Vec<&str> = ran.lines().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((count, names.len()), (321, 321), "each once");
}

/// Responses that handlers hand back to the front are refused in the same way.
#[test]
fn handed_back_response_that_cannot_be_sent_is_a_500_and_the_worker_goes_on() {
    needs!("curl");
    let module = "package Phase;\nuse Apache2::RequestRec ();\nuse Apache2::RequestUtil ();\nuse Apache2::Response ();\nuse Apache2::SubRequest ();\nuse APR::Table ();\n\
        sub handler { my $r = shift; my $args = $r->args // '';\n\
        $r->content_type(qq{text/\\x01plain}) if $args eq 'type';\n\
        $r->headers_out->set('X-Field', qq{a\\x01b}) if $args eq 'field';\n\
        if ($args eq 'document') { $r->custom_response(403, qq{http://127.0.0.1/\\x01}); return 403 }\n\
        return $1 if $args =~ /^(\\d+)$/;\n\
        return 0 }\n\
        sub redirects { my $r = shift; $r->internal_redirect(qq{/te\\x01n.txt} . ($r->args ? qq{?a\\x01} : '')); return 0 }\n1;\n";
    let server = Server::builder()
        .file("lib/Phase.pm", module)
        .file("htdocs/ten.txt", "0123456789")
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(1))
        .conf("GracefulShutdownTimeout 600\n")
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Phase\n<Location /ten.txt>\n    PerlFixupHandler Phase\n    PerlLogHandler 'sub { 0 }'\n</Location>\n")
        .conf("<Location /redirects>\n    SetHandler modperl\n    PerlResponseHandler Phase::redirects\n</Location>\n")
        .start();
    server.get("/registry/hello.pl").expect(200);
    let pids = server.workers();
    for protocol in PROTOCOLS {
        for asked in [
            "/ten.txt?type",
            "/ten.txt?field",
            "/ten.txt?document",
            "/ten.txt?150",
            "/ten.txt?999",
            "/ten.txt?70000",
        ] {
            let status = status(&server, protocol, asked);
            assert_eq!(status, "500", "{asked}: {}", server.log.text());
            assert_eq!(server.workers(), pids, "{asked}: {}", server.log.text());
        }
        // The control characters are encoded. The front refuses them in a path, as a client's.
        assert_eq!(status(&server, protocol, "/redirects"), "400");
        assert_eq!(status(&server, protocol, "/redirects?query"), "400");
        assert_eq!(status(&server, protocol, "/ten.txt"), "200");
        assert_eq!(server.workers(), pids, "{}", server.log.text());
    }
}

/// A program may not send fields about the connection, and HTTP/2 has no such fields. The rest of
/// the response is sent.
#[test]
fn field_about_the_connection_is_left_out_over_both_protocols() {
    needs!("curl");
    let server = Server::builder()
        .file(
            "app.psgi",
            "sub { [200, ['Content-Type', 'text/plain', map { $_ => 'x' } qw(TE Upgrade Connection Keep-Alive Proxy-Connection X-Kept)], ['body']] }\n",
        )
        .conf("<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .conf("<Location /ruled>\n    Header always set Keep-Alive x\n    Header always set X-Kept x\n</Location>\n")
        .file("htdocs/ruled/page.txt", "page")
        .start();
    for protocol in PROTOCOLS {
        for path in ["/psgi", "/ruled/page.txt"] {
            let url = format!("http://{}{path}", server.address);
            let output = Command::new("curl")
                .args(["-s", "-i", protocol, &url])
                .output();
            let answer = String::from_utf8_lossy(&output.expect("curl runs").stdout).to_lowercase();
            assert!(answer.contains(" 200"), "{path} {protocol}: {answer}");
            assert!(answer.contains("x-kept: x"), "{path} {protocol}: {answer}");
            for name in ["te: x", "upgrade: x", "proxy-connection: x"] {
                let name = format!("\n{name}");
                assert!(!answer.contains(&name), "{path} {protocol}: {answer}");
            }
        }
    }
}
