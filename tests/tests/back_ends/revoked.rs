//! Tests the authorities of a folder, revocation lists and chains for `https://` back ends. Each
//! row must end as it ends in Apache.

use crate::builder;
use crate::secure::{authority, behind_tls, parameters, signed, Pair};
use mehari_harness::{apache, needs};
use rcgen::{CertificateRevocationListParams, IsCa, Issuer, KeyIdMethod, RevokedCertParams};
use std::process::Command;

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
    let issuer = Issuer::from_params(&authority.parameters, &authority.key);
    let list = list.signed_by(&issuer).expect("a list");
    list.pem().expect("PEM")
}

/// The lines, and whether the back end is believed. The folder `known` has the back end's
/// authority, `strange` another. `own`, `other` and `old` have lists of the authority: one that
/// revokes the back end, one that does not, and one that has expired.
const ROWS: [(&str, bool); 10] = [
    ("SSLProxyCACertificatePath known", true),
    ("SSLProxyCACertificatePath strange", false),
    (
        "SSLProxyCACertificatePath strange\nSSLProxyCACertificateFile known/one.pem",
        true,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationPath own\n\
         SSLProxyCARevocationCheck chain",
        false,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationFile own/one.pem\n\
         SSLProxyCARevocationCheck leaf",
        false,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationFile own/one.pem\n\
         SSLProxyCARevocationCheck none",
        true,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationPath other\n\
         SSLProxyCARevocationCheck chain",
        true,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationPath old\n\
         SSLProxyCARevocationCheck chain",
        false,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationPath stranger\n\
         SSLProxyCARevocationCheck chain",
        false,
    ),
    (
        "SSLProxyCACertificatePath known\nSSLProxyCARevocationPath stranger\n\
         SSLProxyCARevocationCheck chain no_crl_for_cert_ok",
        true,
    ),
];

const FRONT: &str = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n\
    SSLProxyEngine On\nSSLProxyVerify require\n";

#[test]
fn folders_and_lists_decide_about_back_ends_as_in_apache() {
    needs!("openssl");
    let known = authority();
    let mut strange = parameters("strange.example");
    strange.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let strange = signed(strange, &known);
    let mut own = parameters("localhost");
    own.serial_number = Some(OWN.to_vec().into());
    let own = signed(own, &known);
    let back_end = behind_tls(&own, &known, "");
    let files = [
        ("known", known.certificate.pem()),
        ("strange", strange.certificate.pem()),
        ("own", list(&known, OWN, 2090)),
        ("other", list(&known, OTHER, 2090)),
        ("old", list(&known, OTHER, 2021)),
        ("stranger", list(&strange, OTHER, 2090)),
    ];
    let mut wrong = Vec::new();
    for (lines, is_believed) in ROWS {
        let pass = format!("ProxyPass / https://localhost:{}/\n", back_end.port());
        let site = || {
            let site = builder(FRONT).conf(&format!("{lines}\n{pass}"));
            files.iter().fold(site, |site, (name, pem)| {
                let site = site.file(&format!("{name}/one.pem"), pem);
                let mut command = Command::new("openssl");
                let status = command.arg("rehash").arg(site.folder_of(name)).status();
                assert!(status.expect("openssl runs").success());
                site
            })
        };
        for server in apache::beside(site) {
            let answer = server.get("/registry/say");
            let expected = if is_believed { 200..=200 } else { 500..=502 };
            if !expected.contains(&answer.status) {
                let log = server.log.text();
                wrong.push(format!("{lines}: {}\n{log}", answer.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reason_for_which_a_revoked_back_end_is_refused_is_logged() {
    let known = authority();
    let mut own = parameters("localhost");
    own.serial_number = Some(OWN.to_vec().into());
    let back_end = behind_tls(&signed(own, &known), &known, "");
    for (revoked, year, told) in [
        (OWN, 2090, "it has been revoked"),
        (
            OTHER,
            2021,
            "the revocation list of its authority has expired",
        ),
    ] {
        let conf = format!(
            "SSLProxyCACertificateFile ca.pem\nSSLProxyCARevocationFile list.pem\n\
             ProxyPass / https://localhost:{}/\n",
            back_end.port()
        );
        let server = builder(&conf)
            .file("ca.pem", &known.certificate.pem())
            .file("list.pem", &list(&known, revoked, year))
            .start();
        assert_eq!(server.get("/registry/say").status, 502, "{told}");
        server.log.expect(told);
    }
    let conf = format!(
        "SSLProxyCARevocationCheck leaf\nSSLProxyCACertificateFile ca.pem\n\
         ProxyPass / https://localhost:{}/\n",
        back_end.port()
    );
    let refused = builder(&conf).file("ca.pem", &known.certificate.pem());
    let log = refused.try_start().err().expect("no list").text();
    assert!(log.contains("SSLProxyCARevocationCheck needs"), "{log}");
}

#[test]
fn certificates_between_the_servers_own_and_the_root_are_sent_to_back_ends() {
    let root = authority();
    let mut between = parameters("between.example");
    between.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let between = signed(between, &root);
    let own = signed(parameters("front.example"), &between);
    let lines = "SSLVerifyClient require\nSSLCACertificateFile ca.pem\n";
    let back_end = behind_tls(&signed(parameters("localhost"), &root), &root, lines);
    for (chain, is_known) in [
        ("", false),
        ("SSLProxyMachineCertificateChainFile between.pem\n", true),
    ] {
        let site = || {
            let identity = [own.certificate.pem(), own.key.serialize_pem()].concat();
            builder(FRONT)
                .conf(&format!(
                    "SSLProxyCACertificateFile ca.pem\nSSLProxyMachineCertificateFile own.pem\n\
                     {chain}ProxyPass / https://localhost:{}/\n",
                    back_end.port()
                ))
                .file("ca.pem", &root.certificate.pem())
                .file("between.pem", &between.certificate.pem())
                .file("own.pem", &identity)
        };
        for server in apache::beside(site) {
            let answer = server.get("/registry/say");
            assert_eq!(answer.status == 200, is_known, "{chain}: {}", answer.status);
        }
    }
}
