//! Scripts in the style of the 1990s, written for this test, as they still lie in many a cgi-bin.
//! On each rung that promises a process for each request they answer, byte for byte, as under
//! Apache's mod_cgi.

use crate::rungs;
use mehari_harness::{Builder, Pair, Request, Server};

fn site() -> Builder {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/nineties");
    Server::builder()
        .program_site("rungs")
        .copied(program, ".")
        .folder("htdocs/data")
}

fn compare_on_every_rung(requests: &[Request]) {
    rungs::compare_on_every_rung(&mut Pair::start(site).mask(VARYING), requests);
}

/// Each of the two servers runs as a user of its own; a script that names its own URL is under each
/// rung's.
const VARYING: &[(&str, &str)] = &[(r"user .*, group \S+", "(user)"), (r"umask \d+", "(umask)")];

const UPLOAD: &[u8] = b"--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nabc\r\n--XX\r\n\
    Content-Disposition: form-data; name=\"f\"; filename=\"a.bin\"\r\nContent-Type: application/x\r\n\r\n\
    \x00\x01\xff\r\n\n\r\r\n--XX--\r\n";

#[test]
fn forms_counters_and_guestbooks_answer_as_under_mod_cgi() {
    compare_on_every_rung(&[
        Request::get("/readparse.pl?name=J%f6rg+M&x=1&x=2"),
        Request::form("/readparse.pl", "name=Tom+%26+co&text=a%0D%0Ab&x=1;y=2"),
        Request::get("/readparse.pl?die=1"),
        Request::get("/counter.pl?page"),
        Request::get("/counter.pl?page"),
        Request::form(
            "/guestbook.pl",
            "realname=Ann&comments=Nice%0D%0Asite&username=a%40b.c",
        ),
        Request::form("/guestbook.pl", "realname=&comments=x"),
        Request::form(
            "/guestbook.pl",
            "realname=Bob&comments=Redirected&redirect=1",
        ),
        Request::form(
            "/formmail.pl",
            "recipient=w%40example.org&email=a%40b.c&text=hello",
        ),
        Request::form("/formmail.pl", "email=x"),
        Request::form("/formmail.pl", "email=x").field("Referer", "http://evil.example/"),
        Request::new("HEAD", "/formmail.pl"),
        Request::post("/upload.pl", UPLOAD)
            .field("Content-Type", "multipart/form-data; boundary=XX"),
        Request::get("/upload.pl"),
        Request::get("/dbm.pl?yes"),
        Request::get("/dbm.pl?no"),
        Request::post("/localstdin.pl", "line one\nline two is here\nthree\n"),
    ]);
}

#[test]
fn whatever_a_script_does_with_its_output_arrives_as_under_mod_cgi() {
    compare_on_every_rung(&[
        Request::get("/push.pl"),
        Request::get("/report.pl"),
        Request::get("/redirectout.pl"),
        Request::get("/heredoc.pl"),
        Request::get("/latin1.pl"),
        Request::get("/latin1.pl?wide"),
        Request::get("/image.pl"),
        Request::new("HEAD", "/image.pl"),
        Request::get("/forkwait.pl"),
        Request::post("/execend.pl?q", "the body"),
        Request::get("/system.pl"),
        Request::get("/diepage.pl"),
        Request::get("/diepage.pl?open"),
        Request::get("/diepage.pl?zero"),
        Request::get("/diepage.pl?eval"),
        Request::get("/diepage.pl?sub"),
        Request::get("/none.pl"),
    ]);
}

#[test]
fn printed_heads_mean_what_they_mean_to_mod_cgi() {
    let mut requests: Vec<Request> = [
        "local", "self", "away", "body", "uri", "auth", "cookie", "none", "notmod", "mixed",
        "lastmod", "tagged", "numeric", "future", "twice",
    ]
    .iter()
    .flat_map(|what| {
        let target = format!("/location.pl?{what}");
        [Request::get(&target), Request::new("HEAD", &target)]
    })
    .collect();
    const CONDITIONS: &[(&str, &str, &str)] = &[
        (
            "lastmod",
            "If-Modified-Since",
            "Fri, 02 Jan 1998 00:00:00 GMT",
        ),
        (
            "lastmod",
            "If-Modified-Since",
            "Fri, 02 Jan 1997 00:00:00 GMT",
        ),
        (
            "lastmod",
            "If-Unmodified-Since",
            "Fri, 02 Jan 1998 00:00:00 GMT",
        ),
        ("lastmod", "If-None-Match", "*"),
        (
            "numeric",
            "If-Modified-Since",
            "Fri, 02 Jan 1998 00:00:00 GMT",
        ),
        ("tagged", "If-None-Match", "\"other\", \"camel\""),
        ("tagged", "If-None-Match", "W/\"camel\""),
        ("tagged", "If-None-Match", "\"other\""),
        ("tagged", "If-Match", "\"camel\""),
        ("tagged", "If-Match", "\"other\""),
        ("body", "If-Modified-Since", "Fri, 02 Jan 1998 00:00:00 GMT"),
    ];
    for (what, name, value) in CONDITIONS {
        requests.push(Request::get(&format!("/location.pl?{what}")).field(name, value));
    }
    compare_on_every_rung(&requests);
}

#[test]
fn scripts_that_write_their_own_status_line_have_their_way() {
    let server = site().start();
    for rung in rungs::RUNGS {
        let counted = server.get(&format!("/{rung}/nph-count.pl"));
        assert_eq!(counted.expect(200), "1\n2\n3\n4\n5\n", "{rung}");
        assert_eq!(counted.field("x-nph").as_deref(), Some("yes"), "{rung}");
        let missing = server.get(&format!("/{rung}/nph-status.pl/it"));
        assert_eq!(
            missing.expect(404),
            "<h1>No such thing: /it</h1>\n",
            "{rung}"
        );
    }
}
