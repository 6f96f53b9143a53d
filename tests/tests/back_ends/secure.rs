//! Tests back ends of `https://`: certificates that are accepted, messages about refused
//! certificates, and that no byte is sent in clear text.

use crate::builder;
use mehari_harness::{Request, Server};
use rcgen::{CertificateParams, IsCa, Issuer, KeyPair};
use std::io::{Read, Write};
use std::net::TcpListener;

pub struct Pair {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
    pub parameters: CertificateParams,
}

pub fn parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![name.to_string()]).expect("a name");
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    parameters
}

pub fn authority() -> Pair {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = parameters("authority.example");
    parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = parameters.self_signed(&key).expect("a certificate");
    Pair {
        certificate,
        key,
        parameters,
    }
}

pub fn signed(parameters: CertificateParams, authority: &Pair) -> Pair {
    let key = KeyPair::generate().expect("a key");
    let issuer = Issuer::from_params(&authority.parameters, &authority.key);
    let certificate = parameters.signed_by(&key, &issuer);
    Pair {
        certificate: certificate.expect("a certificate"),
        key,
        parameters,
    }
}

/// Starts a TLS back end: another Mehari, whose script prints what it knows of its client.
pub fn behind_tls(own: &Pair, authority: &Pair, more: &str) -> Server {
    const SAY: &str = "#!/usr/bin/perl\nread STDIN, my $body, $ENV{CONTENT_LENGTH} || 0;\n\
        print \"Content-type: text/plain\\n\\n$ENV{REQUEST_METHOD} $ENV{HTTPS} $ENV{SSL_CLIENT_S_DN_CN} \", length $body;\n";
    Server::builder()
        .file("site.pem", &own.certificate.pem())
        .file("site.key", &own.key.serialize_pem())
        .file("ca.pem", &authority.certificate.pem())
        .file("scripts/say", SAY)
        .file("htdocs/large", &"x".repeat(3_000_000))
        .ladder()
        .conf(
            "SSLCertificateFile site.pem\nSSLCertificateKeyFile site.key\nSSLOptions \
             +StdEnvVars\nKeepAliveTimeout 1\n",
        )
        .conf(more)
        .without_listen()
        .args(&["--listen", "https://127.0.0.1:0"])
        .start()
}

#[test]
fn back_end_with_a_certificate_of_a_trusted_authority_is_accepted() {
    let authority = authority();
    let own = signed(parameters("localhost"), &authority);
    let client = signed(parameters("front.example"), &authority);
    let back_end = behind_tls(&own, &authority, "");
    let port = back_end.port();
    let url = format!("https://localhost:{port}");
    let server = builder(&format!(
        "SSLProxyEngine On\nSSLProxyCACertificateFile ca.pem\nProxyPass / {url}/\n"
    ))
    .file("ca.pem", &authority.certificate.pem())
    .start();
    for _ in 0..3 {
        let answer = server.get("/registry/say");
        assert_eq!(answer.expect(200), "GET on  0");
    }
    let sent = server.send(&Request::post("/registry/say", vec![b'x'; 1_500_000]));
    assert_eq!(sent.expect(200), "POST on  1500000");
    assert_eq!(server.get("/large").expect(200).len(), 3_000_000);
    // A back end that requires a client certificate.
    let strict = behind_tls(
        &own,
        &authority,
        "SSLVerifyClient require\nSSLCACertificateFile ca.pem\n",
    );
    let conf = format!(
        "SSLProxyCACertificateFile ca.pem\nProxyPass / https://localhost:{}/\n",
        strict.port()
    );
    let nameless = builder(&conf)
        .file("ca.pem", &authority.certificate.pem())
        .start();
    assert_eq!(nameless.get("/registry/say").status, 502);
    let own = [client.certificate.pem(), client.key.serialize_pem()].concat();
    let named = builder(&conf)
        .conf("SSLProxyMachineCertificateFile own.pem\n")
        .file("ca.pem", &authority.certificate.pem())
        .file("own.pem", &own)
        .start();
    let text = named.get("/registry/say").expect(200);
    assert_eq!(text, "GET on front.example 0");
}

#[test]
fn bad_certificate_of_a_back_end_is_logged_and_answered_502() {
    let known = authority();
    let unknown = authority();
    let mut old = parameters("localhost");
    old.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let cases = [
        (
            "signed by a stranger",
            signed(parameters("localhost"), &unknown),
            "no trusted authority has signed it",
        ),
        (
            "for another name",
            signed(parameters("other.example"), &known),
            "it is for another name",
        ),
        ("expired", signed(old, &known), "it has expired"),
    ];
    for (name, own, told) in cases {
        let back_end = behind_tls(&own, &known, "");
        let url = format!("https://localhost:{}", back_end.port());
        let conf = format!("SSLProxyCACertificateFile ca.pem\nProxyPass / {url}/\n");
        let server = builder(&conf)
            .file("ca.pem", &known.certificate.pem())
            .start();
        assert_eq!(server.get("/registry/say").status, 502, "{name}");
        server.log.expect(told);
    }
}

#[test]
fn configuration_decides_what_is_checked_in_a_certificate() {
    let stranger = authority();
    let own = signed(parameters("other.example"), &stranger);
    let back_end = behind_tls(&own, &stranger, "");
    let url = format!("https://localhost:{}", back_end.port());
    for conf in [
        "SSLProxyVerify none\n",
        "SSLProxyCheckPeerName Off\nSSLProxyCACertificateFile ca.pem\n",
    ] {
        let server = builder(&format!("{conf}ProxyPass / {url}/\n"))
            .file("ca.pem", &stranger.certificate.pem())
            .start();
        assert_eq!(
            server.get("/registry/say").expect(200),
            "GET on  0",
            "{conf}"
        );
    }
    let conf = format!("SSLProxyCACertificateFile missing.pem\nProxyPass / {url}/\n");
    let Err(log) = builder(&conf).try_start() else {
        panic!("it starts");
    };
    assert!(
        log.text().contains("SSLProxyCACertificateFile"),
        "{}",
        log.text()
    );
    assert!(log.text().contains("missing.pem"), "{}", log.text());
}

#[test]
fn request_for_a_tls_back_end_is_never_sent_in_clear_text() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut bytes = [0; 64];
        let count = stream.read(&mut bytes).expect("a greeting");
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        bytes[..count].to_vec()
    });
    let conf = format!("SSLProxyVerify none\nProxyPass / https://{address}/\n");
    let server = builder(&conf).start();
    assert_eq!(server.get("/secret").status, 502);
    server
        .log
        .expect("the TLS handshake with the back end failed");
    assert_eq!(heard.join().expect("it heard")[0], 0x16, "a handshake");
}
