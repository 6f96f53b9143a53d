//! Tests which hosts a connection may carry requests for (`SSLVHostSNIPolicy`). Each status must be
//! Apache's.

use super::*;
use mehari_harness::apache;

/// The hosts, each with what differs from the first one.
const HOSTS: [(&str, &str); 6] = [
    ("first.example", ""),
    ("same.example", ""),
    ("own.example", "own"),
    ("version.example", "SSLProtocol TLSv1.3"),
    (
        "ciphers.example",
        "SSLCipherSuite ECDHE-RSA-AES256-GCM-SHA384",
    ),
    (
        "asking.example",
        "SSLVerifyClient optional\nSSLCACertificateFile tls/roots.crt",
    ),
];

fn site(policy: &str, pairs: [&Pair; 2]) -> Builder {
    let mut builder = Server::builder()
        .file("htdocs/page.html", "a page")
        .file("tls/roots.crt", &pairs[1].certificate.pem())
        .conf(&format!(
            "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n{policy}\n\
             <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n"
        ));
    for (name, pair) in [("site", pairs[0]), ("own", pairs[1])] {
        builder = builder
            .file(&format!("tls/{name}.crt"), &pair.certificate.pem())
            .file(&format!("tls/{name}.key"), &pair.key.serialize_pem());
    }
    for (name, lines) in HOSTS {
        let (files, lines) = match lines {
            "own" => ("own", ""),
            lines => ("site", lines),
        };
        builder = builder.conf(&format!(
            "<VirtualHost *:*>\nServerName {name}\nSSLEngine On\n\
             SSLCertificateFile tls/{files}.crt\nSSLCertificateKeyFile tls/{files}.key\n{lines}\n\
             </VirtualHost>\n"
        ));
    }
    builder
        .without_listen()
        .args(&["--listen", "https://127.0.0.1:0"])
}

fn statuses(server: &Server) -> Vec<String> {
    let client = Client::plain();
    let mut all = Vec::new();
    for greeted in ["first.example", "asking.example", "unknown.example"] {
        let names = HOSTS.iter().map(|(name, _)| *name);
        for asked in names.chain(["unknown.example"]) {
            let (page, _) = client
                .ask_host(server, greeted, asked, "/page.html")
                .unwrap_or_else(|why| panic!("{greeted} {asked}: {why}"));
            let status = page.split(' ').nth(1).unwrap_or_default();
            all.push(format!("{greeted} {asked} {status}"));
        }
    }
    all
}

#[test]
fn connections_carry_requests_for_the_hosts_that_they_carry_in_apache() {
    let (one, other) = (Pair::of("first.example"), Pair::of("own.example"));
    for (policy, refuses) in [
        ("", true),
        ("SSLVHostSNIPolicy strict", true),
        ("SSLVHostSNIPolicy secure", true),
        ("SSLVHostSNIPolicy AuthOnly", true),
        ("SSLVHostSNIPolicy insecure", false),
    ] {
        let servers = apache::beside(|| site(policy, [&one, &other]));
        let all: Vec<Vec<String>> = servers.iter().map(statuses).collect();
        for other in &all[1..] {
            assert_eq!(all[0], *other, "{policy}");
        }
        let count = all[0].iter().filter(|line| line.ends_with(" 421")).count();
        assert_eq!(refuses, count > 0, "{policy}: {:?}", all[0]);
    }
}
