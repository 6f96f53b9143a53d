//! Scripts on CGI.pm and CGI::Carp: forms, cookies, uploads, redirects and errors, under Registry
//! and PerlRun.

use mehari_harness::{Builder, Pair, Request, Server};

fn site() -> Builder {
    Server::builder().program_site("cgi_pm")
}

/// The time of a script's log line, in an error page.
const VARYING: &[(&str, &str)] = &[(r"\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\]", "[(date)]")];

const FOLDERS: &[&str] = &["/perl", "/run"];

#[test]
fn forms_keep_what_was_filled_in() {
    let mut user = Pair::start(site);
    for folder in FOLDERS {
        let survey = format!("{folder}/survey.pl");
        user.get(&survey).expect(200);
        let filled = "name=Ad%C3%A4ms+%3Cb%3E&drink=tea&days=mon&days=wed&size=large&words=a%0D%0Ab&step=1&send=Send";
        let page = user.form(&survey, filled).expect(200);
        assert!(page.contains("mon, wed"), "{page}");
        user.get(&format!("{survey}/extra/path?{filled}"))
            .expect(200);
        user.get(&format!("{survey}?old;style;name=x")).expect(200);
        user.get(&format!("{survey}?one+two+three")).expect(200);
    }
}

#[test]
fn heads_and_cookies_are_those_of_mod_perl() {
    let mut user = Pair::start(site);
    for folder in FOLDERS {
        for action in [
            "redirect", "expires", "cookies", "cookies", "nothing", "raw", "other",
        ] {
            user.get(&format!("{folder}/functions.pl?action={action}&x=%26"));
        }
        let missing = Request::get(&format!("{folder}/functions.pl?action=missing"));
        user.compare_refusal(&missing, 404)
            .unwrap_or_else(|difference| panic!("{difference}"));
        user.follow(&Request::get(&format!(
            "{folder}/functions.pl?action=redirect"
        )))
        .expect(200);
        user.send(&Request::new(
            "HEAD",
            &format!("{folder}/functions.pl?action=cookies"),
        ));
    }
}

#[test]
fn uploads_arrive_as_they_were_sent() {
    let mut user = Pair::start(site);
    for folder in FOLDERS {
        for size in [0, 10, 5_000, 90_000, 150_000] {
            let answer = user.send(&upload(&format!("{folder}/upload.pl"), size));
            let expected = if size > 100_000 {
                "refused: 413"
            } else {
                "bytes, sum"
            };
            assert!(
                answer.text().contains(expected) || size == 0,
                "{}",
                answer.text()
            );
        }
        user.form(&format!("{folder}/upload.pl"), "file=none")
            .expect(200);
    }
}

fn upload(target: &str, size: usize) -> Request {
    let mut body = b"--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\na note\r\n--XX\r\n\
        Content-Disposition: form-data; name=\"file\"; filename=\"a b.bin\"\r\nContent-Type: application/x-own\r\n\r\n"
        .to_vec();
    body.extend((0..size).map(|at| (at % 251) as u8));
    body.extend_from_slice(b"\r\n--XX--\r\n");
    Request::post(target, body).field("Content-Type", "multipart/form-data; boundary=XX")
}

#[test]
fn errors_become_the_pages_of_cgi_carp() {
    let mut user = Pair::start(site).mask(VARYING);
    for folder in FOLDERS {
        for what in ["", "early", "own", "late", "perl"] {
            user.get(&format!("{folder}/carp.pl?what={what}"));
        }
    }
}
