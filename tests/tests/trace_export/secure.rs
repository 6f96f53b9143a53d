//! Collectors of `https://`: kept connections, and certificates that are not accepted.

use crate::collector::Collector;
use crate::{counted, site, METRICS};
use mehari_harness::{eventually, Server, PATIENCE};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::net::TcpListener;

struct Authority {
    parameters: CertificateParams,
    key: KeyPair,
    /// Its certificate in PEM.
    pem: String,
}

fn parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    let named = &mut parameters.distinguished_name;
    named.push(DnType::CommonName, name);
    parameters
}

impl Authority {
    fn make(name: &str) -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = parameters(name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).expect("a certificate");
        Authority {
            parameters,
            key,
            pem: certificate.pem(),
        }
    }

    /// Starts a server that gives the requests of TLS clients to a collector.
    fn secure(&self, collector: &Collector, own: CertificateParams) -> Server {
        let key = KeyPair::generate().expect("a key");
        let issuer = Issuer::from_params(&self.parameters, &self.key);
        let certificate = own.signed_by(&key, &issuer).expect("a certificate");
        Server::builder()
            .file("site.pem", &certificate.pem())
            .file("site.key", &key.serialize_pem())
            .conf("SSLCertificateFile site.pem\nSSLCertificateKeyFile site.key\n")
            .conf("LogFormat \"%k %U\" kept\nCustomLog @ROOT@/kept.log kept\n")
            .conf(&format!("ProxyPass / {}/\n", collector.back_end.url()))
            .without_listen()
            .args(&["--listen", "https://127.0.0.1:0"])
            .start()
    }
}

fn conf(port: u16) -> String {
    format!("TraceExport https://localhost:{port} every=1 ca=ca.pem timeout=5\n{METRICS}")
}

#[test]
fn collector_with_a_certificate_of_the_named_authority_gets_spans_on_one_connection() {
    let authority = Authority::make("authority.example");
    let collector = Collector::start();
    let mut secure = authority.secure(&collector, parameters("localhost"));
    let server = site(&conf(secure.port())).file("ca.pem", &authority.pem);
    let server = server.start();
    for number in 1..=2 {
        server.get("/page.txt").expect(200);
        collector.wait_for(number);
    }
    let kept = || std::fs::read_to_string(secure.site.path("kept.log")).unwrap_or_default();
    let is_kept = || kept() == "0 /v1/traces\n1 /v1/traces\n";
    assert!(eventually(PATIENCE, is_kept), "{}", kept());
    assert_eq!(server.log.count("TraceExport"), 0, "{}", server.log.text());
    drop(server);
    secure.may_keep_what_it_has();
}

#[test]
fn collector_with_another_certificate_gets_no_spans() {
    let (known, unknown) = (
        Authority::make("known.example"),
        Authority::make("unknown.example"),
    );
    let mut old = parameters("localhost");
    old.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let cases = [
        (&unknown, parameters("localhost"), "UnknownIssuer"),
        (&known, parameters("other.example"), "not valid for name"),
        (&known, old, "expired"),
    ];
    for (signer, own, told) in cases {
        let collector = Collector::start();
        let secure = signer.secure(&collector, own);
        let server = site(&conf(secure.port())).file("ca.pem", &known.pem);
        let server = server.start();
        for _ in 0..20 {
            server.get("/page.txt").expect(200);
        }
        server.log.expect("invalid peer certificate");
        let text = server.log.text();
        assert!(text.contains(told), "{told}: {text}");
        assert_eq!(server.log.count("TraceExport"), 1, "{text}");
        assert_eq!((collector.requests(), counted(&server, "sent")), (0, 0));
    }
}

#[test]
fn collectors_that_do_not_speak_tls_delay_no_request() {
    let authority = Authority::make("authority.example");
    let plain = Collector::start();
    // Nobody accepts these connections.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let ports = [
        plain.back_end.address.port(),
        silent.local_addr().expect("an address").port(),
    ];
    for port in ports {
        let conf = conf(port).replace("timeout=5", "timeout=200ms");
        let server = site(&conf).file("ca.pem", &authority.pem).start();
        for _ in 0..20 {
            server.get("/page.txt").expect(200);
        }
        server.log.expect("spans are dropped until");
        server.get("/page.txt").expect(200);
        assert_eq!((plain.requests(), counted(&server, "sent")), (0, 0));
    }
}

#[test]
fn authorities_that_cannot_be_read_are_found_at_the_start() {
    for (text, told) in [
        (None, "ca.pem"),
        (Some("no certificate"), "no certificate in PEM"),
    ] {
        let mut builder = site(&conf(4318));
        if let Some(text) = text {
            builder = builder.file("ca.pem", text);
        }
        let log = builder.try_start().err().expect("it does not start");
        log.expect("TraceExport: ca=");
        assert!(log.text().contains(told), "{}", log.text());
    }
}
