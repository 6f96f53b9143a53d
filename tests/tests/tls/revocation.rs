//! Tests revocation lists for clients' certificates. Each row must end as it ends in Apache.

use crate::client::Client;
use crate::pair::Pair;
use crate::secure;
use mehari_harness::{apache, needs, Builder};
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams};
use std::process::Command;

/// The serial number of the certificates that [`Pair::signed_by`] makes.
const OWN: [u8; 2] = [0x0a, 0xbc];
const OTHER: [u8; 2] = [0x0b, 0xcd];

/// Returns a list of an authority that revokes this number, until the end of this year.
fn list(authority: &Pair, revoked: [u8; 2], year: i32) -> String {
    let list = CertificateRevocationListParams {
        this_update: rcgen::date_time_ymd(2020, 1, 1),
        next_update: rcgen::date_time_ymd(year, 12, 31),
        crl_number: 1.into(),
        issuing_distribution_point: None,
        revoked_certs: vec![RevokedCertParams {
            serial_number: revoked.to_vec().into(),
            revocation_time: rcgen::date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        }],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    let list = list.signed_by(&authority.issuer()).expect("a list");
    list.pem().expect("PEM")
}

/// Returns a site that asks clients for certificates of the authority.
fn site(authority: &Pair, lines: &str) -> Builder {
    secure(&Pair::of("site.example"))
        .file("tls/clients.pem", &authority.certificate.pem())
        .conf(
            "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\nSSLEngine On\n\
             SSLVerifyClient require\nSSLCACertificateFile tls/clients.pem\n\
             <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n",
        )
        .conf(lines)
}

/// The list's authority (true: the client's), the revoked number, the year in which the list
/// expires, the lines, and whether the client is let in.
const ROWS: [(bool, [u8; 2], i32, &str, bool); 10] = [
    (true, OWN, 2090, "SSLCARevocationCheck chain", false),
    (true, OTHER, 2090, "SSLCARevocationCheck chain", true),
    (true, OWN, 2090, "SSLCARevocationCheck leaf", false),
    (true, OTHER, 2090, "SSLCARevocationCheck leaf", true),
    (true, OWN, 2090, "SSLCARevocationCheck none", true),
    (true, OTHER, 2021, "SSLCARevocationCheck chain", false),
    (true, OTHER, 2021, "SSLCARevocationCheck none", true),
    (false, OTHER, 2090, "SSLCARevocationCheck chain", false),
    (
        false,
        OTHER,
        2090,
        "SSLCARevocationCheck chain no_crl_for_cert_ok",
        true,
    ),
    (
        true,
        OWN,
        2090,
        "SSLCARevocationCheck chain no_crl_for_cert_ok",
        false,
    ),
];

#[test]
fn lists_refuse_the_clients_that_they_refuse_in_apache() {
    needs!("openssl");
    let (authority, other) = (Pair::authority(), Pair::named_authority("other.example"));
    let known = Pair::signed_by("camel.example", &authority);
    let client = Client::new(&[&rustls::version::TLS13], Some(&known));
    let mut wrong = Vec::new();
    for (own, revoked, year, check, is_let_in) in ROWS {
        let pem = list(if own { &authority } else { &other }, revoked, year);
        for place in [
            "SSLCARevocationFile tls/lists/one.pem",
            "SSLCARevocationPath tls/lists",
        ] {
            let build = || {
                let builder = site(&authority, &format!("{place}\n{check}\n"))
                    .file("tls/lists/one.pem", &pem);
                rehash(&builder.folder_of("tls/lists"));
                builder
            };
            for server in apache::beside(build) {
                let answer = client.ask(&server, "/page.html");
                let came_in = answer.is_ok_and(|(text, _)| text.ends_with("a page"));
                if came_in != is_let_in {
                    let log = server.log.text();
                    wrong.push(format!("{place} {check} {own} {revoked:?} {year}:\n{log}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Gives the files of a folder the names under which OpenSSL finds them.
fn rehash(folder: &std::path::Path) {
    let mut command = Command::new("openssl");
    let status = command.arg("rehash").arg(folder).status();
    assert!(status.expect("openssl runs").success());
}

#[test]
fn a_list_counts_without_a_check_and_a_check_needs_a_list() {
    let authority = Pair::authority();
    let known = Pair::signed_by("camel.example", &authority);
    let client = Client::new(&[&rustls::version::TLS13], Some(&known));
    let server = site(&authority, "SSLCARevocationFile tls/lists.pem\n")
        .file("tls/lists.pem", &list(&authority, OWN, 2090))
        .start();
    assert!(
        client.ask(&server, "/page.html").is_err(),
        "the list counts"
    );
    for (lines, words) in [
        ("SSLCARevocationCheck leaf", "SSLCARevocationCheck needs"),
        ("SSLCARevocationPath tls", "such as 9d66eef0.r0"),
        (
            "SSLCARevocationFile tls/clients.pem",
            "no revocation list in PEM",
        ),
    ] {
        let refused = site(&authority, &format!("{lines}\n")).try_start();
        let log = refused.err().expect(lines).text();
        assert!(log.contains(words), "{lines}: {log}");
    }
}
