//! Tests managed certificates with Pebble: both challenges, renewal and revocation under load,
//! OCSP, failures, the store, the process that keeps root, and bad input.

mod authority;
#[allow(dead_code)]
#[path = "../tls/client.rs"]
mod client;
mod load;
#[allow(dead_code)]
#[path = "../tls/pair.rs"]
mod pair;
mod process;
mod revocation;
mod stapling;

use authority::{free_ports, Authority, Plan};
use client::Client;
use mehari_harness::binary::is_open_to_others;
use mehari_harness::{
    eventually, needs, needs_machine, Builder, Connection, Request, Server, PATIENCE,
};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const IN_USE: &str = "site.example: a new certificate is in use";
const STORED: &str = "site.example: the stored certificate is in use";

/// Returns a site with one managed domain and an address each with and without TLS.
fn site(http: u16, tls: u16, conf: &str) -> Builder {
    Server::builder()
        .file("htdocs/page.html", "a page")
        .conf(&format!(
            "Listen 127.0.0.1:{tls} https\nListen 127.0.0.1:{http}\nServerName site.example\n\
             MDomain site.example\n{conf}"
        ))
        .without_listen()
}

/// Returns the issuer of the certificate that a new client gets.
fn issuer(server: &Server) -> String {
    let shown = Client::shown(server).expect("a certificate");
    // Pebble's names stand in the certificate as plain text.
    String::from_utf8_lossy(&shown).into_owned()
}

fn is_signed(server: &Server) -> bool {
    issuer(server).contains("Pebble Intermediate")
}

/// Waits until this many certificates have been put in use.
fn wait_for_certificates(server: &Server, count: usize) {
    let are_used = || server.log.count(IN_USE) >= count;
    assert!(eventually(PATIENCE, are_used), "{}", server.log.text());
}

fn plain(port: u16, request: &Request) -> mehari_harness::Answer {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut connection = Connection::open(address);
    connection
        .send(&request.clone().closing())
        .expect("an answer")
}

fn mode(file: &Path) -> u32 {
    let meta = file
        .metadata()
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    meta.permissions().mode() & 0o777
}

#[test]
fn certificate_by_http_01_is_stored_and_survives_a_restart_without_the_authority() {
    needs!("pebble");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let store = store.path().join("md");
    let mut authority = Authority::planned(Plan::of(http, tls));
    let conf = authority.conf(&store)
        + "MDCAChallenges http-01\n\
        <Location /metrics>\nSetHandler metrics\n</Location>\n";
    let server = site(http, tls, &conf).start();
    // Until there is a certificate, TLS works with a self-signed one and HTTP as ever.
    server.log.expect("site.example: localhost");
    assert!(!is_signed(&server));
    assert_eq!(
        plain(http, &Request::get("/page.html")).expect(200),
        "a page"
    );
    let waiting = &server.status()["managed"][0];
    assert!(
        waiting["expires"].is_null() && waiting["error"].is_string(),
        "{waiting}"
    );
    authority.run();
    server.log.expect(IN_USE);
    assert!(is_signed(&server));
    let status = &server.status()["managed"][0];
    assert!(
        status["renews"].as_u64() < status["expires"].as_u64(),
        "{status}"
    );
    let text = server.control(&["status"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("  site.example: ends 20"), "{text}");
    let metrics = plain(http, &Request::get("/metrics")).expect(200);
    let line = format!(
        "mehari_certificate_expiry_seconds{{domain=\"site.example\"}} {}\n",
        status["expires"]
    );
    assert!(metrics.contains(&line), "{metrics}");
    assert_eq!(mode(&store), 0o700);
    let file = store.join("domains/site.example.pem");
    assert_eq!(mode(&file), 0o600);
    let shown = Client::shown(&server);
    // The token is forgotten.
    let token = Request::get("/.well-known/acme-challenge/token");
    assert_eq!(plain(http, &token).status, 404);
    drop(server);
    authority.stop();
    let server = site(http, tls, &conf).start();
    assert_eq!(server.log.count(STORED), 1);
    assert_eq!(Client::shown(&server), shown);
    assert!(server.status()["managed"][0]["error"].is_null());
}

#[test]
fn certificate_by_tls_alpn_01_has_the_names_of_the_host() {
    needs!("pebble");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md"))
        + "ServerAlias www.site.example *.wild.example\nMDCAChallenges tls-alpn-01\n\
           MDPrivateKeys RSA 2048\n";
    let server = site(http, tls, &conf).start();
    server.log.expect("does not have the name *.wild.example");
    server.log.expect(IN_USE);
    let names = &server.status()["managed"][0]["names"];
    assert_eq!(
        names,
        &serde_json::json!(["site.example", "www.site.example"])
    );
    assert!(issuer(&server).contains("www.site.example"));
}

#[test]
fn refused_nonces_delay_the_certificate_at_most() {
    needs!("pebble");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let plan = Plan {
        refused_nonces: 30,
        ..Plan::of(http, tls)
    };
    let authority = Authority::start(plan);
    let server = site(http, tls, &authority.conf(&store.path().join("md"))).start();
    server.log.expect(IN_USE);
    assert!(is_signed(&server));
}

#[test]
fn a_rejected_challenge_leads_to_a_try_with_the_other_challenge() {
    needs!("pebble");
    let [http, tls, elsewhere] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    // The authority looks for http-01 where nobody listens.
    let authority = Authority::start(Plan::of(elsewhere, tls));
    let conf = authority.conf(&store.path().join("md")) + "MDCAChallenges http-01 tls-alpn-01\n";
    let server = site(http, tls, &conf).start();
    server.log.expect("site.example by http-01: ");
    server.log.expect(IN_USE);
    assert!(is_signed(&server));
}

#[test]
fn an_answer_that_is_no_acme_is_one_line_and_the_server_goes_on() {
    needs!("pebble");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let conf = authority
        .conf(&store.path().join("md"))
        .replace("/dir\n", "/no-directory\n");
    let server = site(http, tls, &conf).start();
    let line = server.log.expect("the next try is in 1 s");
    assert!(
        line.contains("managed certificate of site.example: "),
        "{line}"
    );
    server.log.expect("the next try is in 2 s");
    assert_eq!(
        plain(http, &Request::get("/page.html")).expect(200),
        "a page"
    );
}

#[test]
fn servers_that_share_a_store_share_the_certificate() {
    needs!("pebble");
    let [http, tls, other_http, other_tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let mut authority = Authority::planned(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md"));
    let one = site(http, tls, &conf).start();
    // The authority cannot reach the second server, so only the first gets a certificate.
    let other = site(other_http, other_tls, &conf).start();
    authority.run();
    one.log.expect(IN_USE);
    other.log.expect(IN_USE);
    assert_eq!(Client::shown(&one), Client::shown(&other));
}

#[test]
fn root_keeps_the_store_when_the_server_becomes_another_user() {
    needs!("pebble");
    let is_root = rustix::process::geteuid().is_root();
    needs_machine!(
        is_root,
        "only root can start a server that becomes another user"
    );
    needs_machine!(
        is_open_to_others(),
        "the checkout lies where other users may not go"
    );
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let folder = store.path().join("md");
    let authority = Authority::start(Plan {
        lifetime: 20,
        ..Plan::of(http, tls)
    });
    let conf = authority.conf(&folder) + "User www-data\nMDRenewWindow 90%\n";
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    wait_for_certificates(&server, 2);
    assert!(
        server.control(&["reload"]).status.success(),
        "{}",
        server.log.text()
    );
    let before = server.log.count(IN_USE);
    wait_for_certificates(&server, before + 1);
    // A process that dies is followed by one that can read the store, too.
    process::kill(&server);
    let before = server.log.count(IN_USE);
    wait_for_certificates(&server, before + 1);
    use std::os::unix::fs::MetadataExt;
    let file = folder
        .join("domains/site.example.pem")
        .metadata()
        .expect("stored");
    assert_eq!((file.uid(), file.mode() & 0o777), (0, 0o600));
}

#[test]
fn option_domain_serves_an_application_over_https() {
    needs!("pebble");
    let [http, tls] = free_ports();
    let data = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let root = authority.root().display().to_string();
    let (plain_address, tls_address) = (
        format!("http://127.0.0.1:{http}"),
        format!("https://127.0.0.1:{tls}"),
    );
    let app = "sub { [200, ['Content-Type', 'text/plain'], [$_[0]{'psgi.url_scheme'}]] }";
    let builder = Server::builder().file("app.psgi", app);
    let file = builder.folder_of("app.psgi").display().to_string();
    let server = builder
        .without_listen()
        .env("XDG_DATA_HOME", &data.path().display().to_string())
        .args(&[
            &file,
            "--domain",
            "site.example",
            "--authority",
            &authority.url(),
        ])
        .args(&[
            "--authority-roots",
            &root,
            "--listen",
            &tls_address,
            "--listen",
            &plain_address,
        ])
        .start();
    server.log.expect(IN_USE);
    let (text, _) = Client::plain().ask(&server, "/").expect("an answer");
    assert!(text.ends_with("https"), "{text}");
    assert_eq!(plain(http, &Request::get("/")).expect(200), "http");
}

#[test]
fn required_https_redirects_all_requests_but_challenges() {
    let [http, tls] = free_ports();
    let conf = "MDCertificateAgreement accepted\nMDRenewMode manual\nMDRequireHttps permanent\n";
    let server = site(http, tls, conf).start();
    for (asked, location) in [
        ("site.example", "https://site.example/page.html?a=b"),
        ("SITE.example:80", "https://site.example/page.html?a=b"),
        // Another name reaches this host, and is not repeated.
        ("elsewhere.example", "https://site.example/page.html?a=b"),
    ] {
        let request = Request::get("/page.html?a=b").host(asked);
        let answer = plain(http, &request);
        assert_eq!(answer.status, 301);
        assert_eq!(answer.field("Location").as_deref(), Some(location));
    }
    let form = Request::form("/page.html", "a=b").host("site.example");
    assert_eq!(plain(http, &form).status, 301);
    let (text, _) = Client::plain().ask(&server, "/page.html").expect("a page");
    assert!(
        text.contains("Strict-Transport-Security: max-age=15768000\r\n"),
        "{text}"
    );
}

#[test]
fn bad_input_is_one_line_with_what_was_expected() {
    for (conf, line) in [
        (
            "MDomain site.example\n",
            "expected `MDCertificateAgreement accepted`",
        ),
        (
            "MDomain *.site.example\n",
            "a wildcard needs dns-01, which is not done",
        ),
        (
            "MDomain 192.0.2.1\n",
            "an address cannot be a managed domain",
        ),
        (
            "MDomain ../etc\n",
            "expected a host name such as www.example.org, not `../etc`",
        ),
        (
            "MDomain a.example a.example\n",
            "expected each name once, not `a.example` again",
        ),
        ("MDomain manual\n", "expected at least one host name"),
        (
            "<MDomainSet a.example>\nServerName x\n</MDomainSet>\n",
            "cannot stand in <MDomainSet>",
        ),
        ("MDMembers a.example\n", "names stand in <MDomainSet>"),
        (
            "MDCertificateAuthority http://ca.example/\n",
            "the URL https://...",
        ),
        (
            "MDCAChallenges dns-01\n",
            "expected http-01 or tls-alpn-01, not `dns-01`",
        ),
        (
            "MDRenewWindow 0d\n",
            "expected 1% to 90%, or a time such as 30d, not `0d`",
        ),
        ("MDMustStaple on\n", "OCSP"),
        (
            "MDStaplingRenewWindow 0d\n",
            "expected 1% to 90%, or a time such as 30d, not `0d`",
        ),
    ] {
        let log = Server::builder()
            .conf(conf)
            .try_start()
            .err()
            .expect(conf)
            .text();
        assert!(log.contains(line), "{conf}: {log}");
    }
    let conf = "MDCertificateAgreement accepted\nMDomain nowhere.example\n";
    let server = Server::builder().conf(conf).start();
    server
        .log
        .expect("MDomain nowhere.example: no host without SSLCertificateFile has one");
}
