//! Tests the demonstration site of `make serve`: every page, on every rung, must show what a
//! visitor expects.

use mehari_harness::binary::{is_open_to_others, mehari, workspace};
use mehari_harness::{needs, needs_machine, Connection, Request, Rung, Server};
use std::os::unix::fs::PermissionsExt;

fn demo() -> Server {
    let builder = Server::builder();
    let folder = builder.folder_of("demo");
    let conf = folder.join("mehari.conf");
    let builder = builder.copied(workspace().join("demo"), "demo");
    // Somebody may have used the demo in this checkout. The test must not see that guestbook.
    let _ = std::fs::remove_dir_all(folder.join(".data"));
    builder.args(&["-f", &conf.to_string_lossy()]).start()
}

#[test]
fn one_script_answers_on_every_rung_that_the_ladder_measures() {
    let server = demo();
    for rung in Rung::ALL.map(|rung| rung.name()) {
        let page = server.get(&format!("/{rung}/page.pl?visitor=Am%C3%A9lie"));
        assert!(page.expect(200).contains("Hello, Amélie."), "{rung}");
        assert!(
            page.field("x-process").is_some(),
            "{rung}: ladder.js counts processes"
        );
    }
}

#[test]
fn pages_and_what_they_lead_to_are_there() {
    let server = demo();
    for page in [
        "/",
        "/ladder.html",
        "/beside.html",
        "/psgi/",
        "/scripts/guestbook.pl",
    ] {
        let answer = server.get(page);
        let text = answer.expect(200);
        for address in addresses(&text) {
            let target = resolved(page, address);
            assert!(server.get(&target).status < 400, "{page} leads to {target}");
        }
    }
    for secret in [
        "/mehari.conf",
        "/app.psgi",
        "/lib/startup.pl",
        "/.data/guestbook.sqlite",
    ] {
        let status = server.get(secret).status;
        assert!(status == 403 || status == 404, "{secret}: {status}");
    }
}

/// Starts the demo as `make serve` does, with Apache's modules from this folder.
fn demo_beside_apache(modules: &str) -> Server {
    let builder = Server::builder().copied(workspace().join("demo"), "demo");
    let folder = builder.folder_of("demo");
    let start = folder.join("start");
    let serve = folder.join("lib/serve");
    let text = format!(
        "#!/bin/sh\nexec perl {} {} \"$@\"\n",
        serve.display(),
        mehari().display()
    );
    std::fs::write(&start, text).expect("a program");
    std::fs::set_permissions(&start, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let conf = folder.join("mehari.conf");
    builder
        .program(start)
        .env("MEHARI_DEMO_MODULES", modules)
        .args(&["-f", &conf.to_string_lossy()])
        .start()
}

#[test]
fn the_same_script_answers_here_and_under_apache() {
    needs!("apache2-bin", "libapache2-mod-perl2", "libcgi-pm-perl");
    needs_machine!(
        is_open_to_others(),
        "the checkout lies where Apache's user may not go"
    );
    let server = demo_beside_apache("/usr/lib/apache2/modules");
    let told = server.get("/scripts/apache.pl").expect(200);
    let address = told.strip_prefix("http://").expect("an address");
    let address = address.parse().expect("an address");
    for way in ["cgi", "perlrun", "registry"] {
        let request = Request::get(&format!("/{way}/page.pl?visitor=Kella"));
        let apache = Connection::open(address).send(&request.clone().closing());
        let apache = apache.expect("an answer");
        // The page reads these fields from another origin.
        assert_eq!(
            apache.field("access-control-allow-origin").as_deref(),
            Some("*")
        );
        let (here, apache) = (server.send(&request).expect(200), apache.expect(200));
        let own = |line: &&str| {
            let words = ["the process that ran it", "its perl started", "the time"];
            !words.iter().any(|word| line.contains(word))
        };
        let lines = |page: &str| {
            page.lines()
                .filter(own)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&here), lines(&apache), "{way}");
        assert!(here.contains("Hello, Kella."), "{here}");
    }
    for secret in [
        "/scripts/page.pl",
        "/lib/serve",
        "/mehari.conf",
        "/app.psgi",
    ] {
        let request = Request::get(secret).closing();
        let answer = Connection::open(address).send(&request).expect("an answer");
        assert_eq!(answer.status, 403, "{secret}");
    }
}

#[test]
fn demo_serves_without_apache_and_says_what_to_install() {
    let server = demo_beside_apache("/nowhere");
    let told = server.get("/scripts/apache.pl").expect(200);
    assert!(
        told.contains("apt install apache2-bin libapache2-mod-perl2"),
        "{told}"
    );
    server.get("/beside.html").expect(200);
}

#[test]
fn guestbook_takes_an_entry_and_shows_it() {
    let server = demo();
    let form = server.get("/scripts/guestbook.pl");
    let page = form.expect(200);
    let token = page
        .split_once("name=\"token\" value=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(token, _)| token)
        .expect("a form with a token");
    let cookie = form.field("set-cookie").expect("the token's other half");
    let cookie = cookie.split(';').next().unwrap_or_default();
    let body = format!("token={token}&name=Kella&message=%3Cb%3EAzul%3C%2Fb%3E");
    let post = Request::post("/scripts/guestbook.pl", body.into_bytes())
        .field("Content-Type", "application/x-www-form-urlencoded")
        .field("Cookie", cookie);
    let answer = server.send(&post);
    assert!(answer.status < 400, "{}", answer.text());
    let shown = server.get("/scripts/guestbook.pl");
    let shown = shown.expect(200);
    assert!(
        shown.contains("Kella") && shown.contains("&lt;b&gt;Azul&lt;/b&gt;"),
        "{shown}"
    );
}

#[test]
fn error_pages_look_like_the_site_and_their_links_lead_somewhere() {
    let server = demo();
    for (path, status) in [
        ("/no-such-page", 404),
        ("/psgi/no/<such>", 404),
        ("/lib/startup.pl", 403),
    ] {
        let answer = server.get(path);
        let text = answer.expect(status);
        assert!(
            text.contains("/style.css") && text.contains("<nav"),
            "{path}: {text}"
        );
        assert!(!text.contains("<such>"), "{text}");
        for address in addresses(&text) {
            let target = resolved(path, address);
            assert!(server.get(&target).status < 400, "{path} leads to {target}");
        }
    }
}

#[test]
fn script_that_dies_gets_the_sites_page() {
    let builder = Server::builder().copied(workspace().join("demo"), "demo");
    let folder = builder.folder_of("demo");
    let script = folder.join("scripts/dies.pl");
    std::fs::write(&script, "#!/usr/bin/perl\ndie 'secret';\n").expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let conf = folder.join("mehari.conf");
    let server = builder.args(&["-f", &conf.to_string_lossy()]).start();
    let answer = server.get("/registry/dies.pl");
    let text = answer.expect(500);
    assert!(
        text.contains("The script failed") && !text.contains("secret"),
        "{text}"
    );
}

fn addresses(page: &str) -> impl Iterator<Item = &str> {
    let parts = page
        .split("href=\"")
        .chain(page.split("src=\"").skip(1))
        .skip(1);
    parts.filter_map(|rest| rest.split_once('"').map(|(address, _)| address))
}

/// Resolves an address that is relative to the page's folder. `../` leads to the folder above.
fn resolved(page: &str, address: &str) -> String {
    if address.starts_with('/') {
        return address.to_owned();
    }
    let (folder, _) = page.rsplit_once('/').unwrap_or_default();
    match address.strip_prefix("../") {
        Some(rest) => format!("{}/{rest}", folder.rsplit_once('/').unwrap_or_default().0),
        None => format!("{folder}/{}", address.trim_start_matches("./")),
    }
}
