//! Tests the environment of scripts and handlers.

use crate::guide;
use mehari_harness::{Request, Rung};

#[test]
fn printenv_shows_cgi_variables_on_every_rung() {
    let server = guide();
    for rung in Rung::ALL {
        let request = Request::get(&format!("{}/extra/path?a=b%20c", rung.url("printenv.pl")))
            .field("User-Agent", "harness")
            .field("X-Two-Words", "yes");
        let text = server.send(&request).expect(200);
        let script = server.site.path("scripts/printenv.pl");
        for line in [
            "GATEWAY_INTERFACE => CGI/1.1",
            "REQUEST_METHOD => GET",
            "QUERY_STRING => a=b%20c",
            "SERVER_PROTOCOL => HTTP/1.1",
            "SERVER_NAME => 127.0.0.1",
            "REMOTE_ADDR => 127.0.0.1",
            "PATH_INFO => /extra/path",
            "HTTP_USER_AGENT => harness",
            "HTTP_X_TWO_WORDS => yes",
            &format!("SERVER_PORT => {}", server.port()),
            &format!("SCRIPT_NAME => {}", rung.url("printenv.pl")),
            &format!("SCRIPT_FILENAME => {}", script.display()),
            &format!(
                "REQUEST_URI => {}/extra/path?a=b%20c",
                rung.url("printenv.pl")
            ),
        ] {
            let found = text.lines().any(|other| other == line);
            assert!(found, "{}: no line {line:?} in\n{text}", rung.name());
        }
        assert!(!text.contains("CONTENT_LENGTH"), "{}", rung.name());
        if rung != Rung::Auto {
            promises_api(&text, Rung::SHARED.contains(&rung));
        }
    }
}

/// Checks the variable MOD_PERL, which tells modules such as CGI.pm that mod_perl's API exists. A
/// script in a process of its own has no such API, so it must not have the variable.
#[track_caller]
fn promises_api(environment: &str, promised: bool) {
    assert_eq!(
        environment.contains("MOD_PERL => mod_perl/2"),
        promised,
        "{environment}"
    );
}

#[test]
fn environment_is_the_request_under_perl_script_and_not_under_modperl() {
    let server = guide();
    let request = |path: &str| Request::get(path).field("X-Mine", "1");
    let text = server.send(&request("/dumpenv?q=1")).expect(200);
    for line in [
        "QUERY_STRING => q=1",
        "HTTP_X_MINE => 1",
        "GUIDE_PLACE => here",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}:\n{text}");
    }
    promises_api(&text, true);
    let text = server.send(&request("/dumpenv-modperl?q=1")).expect(200);
    for name in ["QUERY_STRING", "HTTP_X_MINE", "GUIDE_PLACE"] {
        assert!(!text.contains(name), "{name} leaked:\n{text}");
    }
}
