//! Tests that certificates are revoked on command, and replaced before or after that.

use super::authority::{free_ports, Authority, Plan};
use super::client::Client;
use super::{load, site, wait_for_certificates, IN_USE};
use mehari_harness::{needs, Server};

const KEY_COMPROMISE: u64 = 1;

/// Returns the serial number of the certificate in DER, in hexadecimal digits, and whether the
/// certificate is Pebble's. The number is the first field after the version.
fn serial(der: &[u8]) -> String {
    const VERSION: [u8; 5] = [0xa0, 3, 2, 1, 2];
    let at = der
        .windows(VERSION.len())
        .position(|bytes| bytes == VERSION);
    let number = &der[at.expect("version 3") + VERSION.len()..];
    assert_eq!(number[0], 2, "an INTEGER");
    let bytes = &number[2..2 + usize::from(number[1])];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shown_serial(server: &Server) -> String {
    serial(&Client::shown(server).expect("a certificate"))
}

/// Runs `mehari certificate revoke` with these words. Returns standard output and error, and
/// whether the command succeeded.
fn revoke(server: &Server, words: &[&str]) -> (String, bool) {
    let output = server.control(&[&["certificate", "revoke"], words].concat());
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    (text, output.status.success())
}

#[test]
fn certificates_are_issued_renewed_and_revoked_under_load_without_a_failed_request() {
    needs!("pebble", "curl");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let plan = Plan {
        lifetime: 30,
        ..Plan::of(http, tls)
    };
    let authority = Authority::start(plan);
    let conf = authority.conf(&store.path().join("md")) + "MDRenewWindow 90%\n";
    let server = site(http, tls, &conf).start();
    let mut revoked = String::new();
    // The load begins before the first certificate is there.
    let seen = load::around(&server, || {
        wait_for_certificates(&server, 3);
        revoked = shown_serial(&server);
        let (text, is_done) = revoke(&server, &["site.example", "--reason", "key-compromise"]);
        assert!(is_done, "{text}{}", server.log.text());
        assert!(text.contains("is revoked: a new one is in use"), "{text}");
        let after = server.log.count(IN_USE);
        wait_for_certificates(&server, after + 1);
    });
    assert_eq!(seen.failures, Vec::<String>::new(), "{}", server.log.text());
    assert!(seen.alone > 0 && seen.kept > 0 && seen.http2 > 0);
    // The self-signed one, three of the authority, the one after the revocation, and one more.
    assert!(seen.certificates.len() >= 4, "{}", seen.certificates.len());
    // The certificate may have been renewed between the look at it and the command.
    let serials = seen.certificates.iter().map(|der| serial(der));
    let is_revoked = |serial: &String| {
        serial.len() > 20
            && server
                .log
                .count(&format!("has revoked the certificate {serial}"))
                > 0
    };
    let found: Vec<String> = serials.filter(is_revoked).chain([revoked]).collect();
    let states = found.iter().map(|serial| authority.says_of(serial));
    assert!(states
        .into_iter()
        .any(|one| one == ("Revoked".into(), Some(KEY_COMPROMISE))));
    assert_eq!(server.log.count("the next try"), 0, "{}", server.log.text());
    eprintln!(
        "{} requests on connections of their own, {} on kept ones, {} of HTTP/2: 0 failed",
        seen.alone, seen.kept, seen.http2
    );
}

#[test]
fn a_new_certificate_is_in_use_before_the_old_one_is_revoked() {
    needs!("pebble", "curl");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md")) + "ServerAlias www.site.example\n";
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    let before = shown_serial(&server);
    // Any name of the domain stands for the whole domain.
    let (text, is_done) = revoke(&server, &["WWW.site.example"]);
    assert!(is_done && text.contains(&before), "{text}");
    let after = shown_serial(&server);
    assert_ne!(before, after);
    assert_eq!(authority.says_of(&before), ("Revoked".into(), Some(0)));
    assert_eq!(authority.says_of(&after).0, "Valid");
    server
        .log
        .expect(&format!("has revoked the certificate {before}"));
    let log = server.log.text();
    let place = |words: &str| log.rfind(words).unwrap_or_else(|| panic!("{words}: {log}"));
    assert!(place(IN_USE) < place(&format!("has revoked the certificate {before}")));
    assert!(server.status()["managed"][0]["revoking"].is_null());
}

#[test]
fn a_wish_to_revoke_survives_an_authority_that_is_down_and_a_restart() {
    needs!("pebble", "curl");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let mut authority = Authority::start(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md"));
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    let before = shown_serial(&server);
    authority.stop();
    let (text, is_done) = revoke(&server, &["site.example"]);
    assert!(!is_done && text.contains("not done yet: "), "{text}");
    assert_eq!(server.status()["managed"][0]["revoking"], before);
    let status = server.control(&["status"]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        status.contains(&format!("to be revoked and replaced: {before}")),
        "{status}"
    );
    drop(server);
    // Pebble forgets its accounts and certificates when it ends, so it refuses the revocation.
    authority.run();
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    assert_ne!(shown_serial(&server), before);
    server.log.expect("the next try is in");
    assert_eq!(server.status()["managed"][0]["revoking"], before);
    let (text, is_done) = revoke(&server, &["site.example"]);
    assert!(
        !is_done && text.contains("is still to be revoked"),
        "{text}"
    );
}

#[test]
fn a_certificate_is_revoked_at_once_and_replaced_later() {
    needs!("pebble", "curl");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md"));
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    let before = shown_serial(&server);
    let (text, is_done) = revoke(&server, &["site.example", "--at-once"]);
    assert!(is_done, "{text}");
    wait_for_certificates(&server, 2);
    let log = server.log.text();
    let place = |words: &str| log.rfind(words).unwrap_or_else(|| panic!("{words}: {log}"));
    assert!(place(&format!("has revoked the certificate {before}")) < place(IN_USE));
    assert_eq!(authority.says_of(&before).0, "Revoked");
    assert_eq!(authority.says_of(&shown_serial(&server)).0, "Valid");
}

#[test]
fn a_certificate_without_a_successor_stays_in_use_and_status_tells() {
    needs!("pebble", "curl");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md"));
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    let before = shown_serial(&server);
    server.site.write(
        "httpd.conf",
        &server
            .site
            .read("httpd.conf")
            .replace("MDRetryDelay 1\n", "MDRetryDelay 1\nMDRenewMode manual\n"),
    );
    assert!(
        server.control(&["reload"]).status.success(),
        "{}",
        server.log.text()
    );
    let (text, is_done) = revoke(&server, &["site.example"]);
    assert!(is_done && text.contains("it stays in use"), "{text}");
    assert_eq!(shown_serial(&server), before);
    assert_eq!(authority.says_of(&before).0, "Revoked");
    assert_eq!(server.status()["managed"][0]["revoking"], before);
}

#[test]
fn bad_names_and_reasons_are_one_line() {
    let [http, tls] = free_ports();
    let conf = "MDCertificateAgreement accepted\nMDRenewMode manual\n";
    let server = site(http, tls, conf).start();
    for (words, line) in [
        (
            vec!["other.example"],
            "expected a managed domain (site.example), not `other.example`",
        ),
        (vec!["site.example"], "site.example has no certificate yet"),
        (
            vec!["../etc"],
            "expected a host name such as www.example.org, not `../etc`",
        ),
        (
            vec!["site.example", "--reason", "key-compromised"],
            "key-compromise",
        ),
        (vec![], "NAME"),
    ] {
        let (text, is_done) = revoke(&server, &words);
        assert!(!is_done && text.contains(line), "{words:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
    let none = Server::builder().conf("ServerName site.example\n").start();
    let (text, is_done) = revoke(&none, &["site.example"]);
    assert!(
        !is_done && text.contains("this server has no managed certificates"),
        "{text}"
    );
}
