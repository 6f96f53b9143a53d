//! Tests TLS: certificates and their renewal, client certificates, variables for programs,
//! refusals.

mod client;
mod expressions;
mod pair;
mod revocation;
mod sni_policy;

use client::Client;
use mehari_harness::{eventually, needs_machine, processes, Builder, Connection, Server, PATIENCE};
use pair::{parameters, Pair};
use rcgen::CertificateParams;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, HandshakeKind};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const ENVIRONMENT: &str = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\";\n\
    print \"$_=$ENV{$_}\\n\" for sort grep /SSL|HTTPS|SCHEME/, keys %ENV;\n";

/// Returns a site on a TLS port with the certificate of `site.example`.
fn secure(own: &Pair) -> Builder {
    Server::builder()
        .file("tls/site.crt", &own.certificate.pem())
        .file("tls/site.key", &own.key.serialize_pem())
        .file("htdocs/page.html", "a page")
        .file("scripts/environment.pl", ENVIRONMENT)
        .ladder()
        .conf("SSLCertificateFile tls/site.crt\nSSLCertificateKeyFile tls/site.key\n")
        .without_listen()
        .args(&["--listen", "https://127.0.0.1:0"])
}

#[test]
fn handshakes_are_made_on_a_thread_if_there_is_one() {
    let own = Pair::of("site.example");
    for (threads, most) in [("1", 0), ("3", 2)] {
        let conf = format!("FrontThreads {threads}\n");
        let server = secure(&own).conf(&conf).start();
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let client = Client::new(&[version], None);
            for _ in 0..3 {
                let (page, _) = client.ask(&server, "/page.html").expect("a page");
                assert!(page.ends_with("a page"), "{page}");
            }
        }
        let names = processes::threads(server.pid());
        let found = names.iter().filter(|name| name.starts_with("compute-"));
        let found = found.count();
        assert!(found <= most && (found > 0) == (most > 0), "{names:?}");
    }
}

#[test]
fn pages_and_programs_are_served_in_both_versions_and_sessions_resume() {
    let own = Pair::of("site.example");
    let server = secure(&own).conf("SSLOptions +StdEnvVars\n").start();
    for (version, name) in [
        (&rustls::version::TLS13, "TLSv1.3"),
        (&rustls::version::TLS12, "TLSv1.2"),
    ] {
        let client = Client::new(&[version], None);
        let (page, first) = client.ask(&server, "/page.html").expect("a page");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("a page"),
            "{page}"
        );
        assert_eq!(first.handshake_kind(), Some(HandshakeKind::Full), "{name}");
        let (told, second) = client
            .ask(&server, "/registry/environment.pl")
            .expect("variables");
        assert_eq!(
            second.handshake_kind(),
            Some(HandshakeKind::Resumed),
            "{name}"
        );
        for line in [
            "HTTPS=on",
            "REQUEST_SCHEME=https",
            "SSL_TLS_SNI=site.example",
            &format!("SSL_PROTOCOL={name}"),
            "SSL_SESSION_RESUMED=Resumed",
            "SSL_CLIENT_VERIFY=NONE",
            "SSL_CIPHER_USEKEYSIZE=256",
        ] {
            assert!(
                told.contains(&format!("{line}\n")),
                "{name}: {line} is not in {told}"
            );
        }
    }
}

#[test]
fn variables_except_two_are_set_only_where_configured() {
    let server = secure(&Pair::of("site.example")).start();
    let (told, _) = Client::plain()
        .ask(&server, "/cgi/environment.pl")
        .expect("variables");
    let all = "HTTPS=on\nREQUEST_SCHEME=https\nSSL_TLS_SNI=site.example\n";
    assert!(told.contains(all), "{told}");
    assert_eq!(told.matches("SSL_").count(), 1, "{told}");
}

#[test]
fn certificate_of_another_key_is_reported_at_the_start_with_both_files() {
    let (own, other) = (Pair::of("site.example"), Pair::of("other.example"));
    let builder = secure(&own).file("tls/site.key", &other.key.serialize_pem());
    let log = builder.try_start().err().expect("it does not start").text();
    assert!(
        log.contains("/tls/site.crt and SSLCertificateKeyFile"),
        "{log}"
    );
    assert!(log.contains("/tls/site.key do not match"), "{log}");
}

#[test]
fn unusable_file_is_reported_by_name() {
    let own = Pair::of("site.example");
    let rows = [
        (
            "tls/site.crt",
            "no PEM",
            "SSLCertificateFile",
            "the file has no certificate in PEM",
        ),
        (
            "tls/site.key",
            &own.certificate.pem(),
            "SSLCertificateKeyFile",
            "the file has no key in PEM",
        ),
    ];
    for (file, text, directive, reason) in rows {
        let log = secure(&own)
            .file(file, text)
            .try_start()
            .err()
            .expect(file)
            .text();
        assert!(
            log.contains(directive) && log.contains(file) && log.contains(reason),
            "{log}"
        );
    }
    let builder = secure(&own).conf("SSLStaplingFile tls/missing.ocsp\n");
    let log = builder.try_start().err().expect("no staple").text();
    assert!(log.contains("tls/missing.ocsp: No such file"), "{log}");
    let builder = secure(&own).conf("SSLVerifyClient require\n");
    let log = builder.try_start().err().expect("nobody to ask").text();
    assert!(
        log.contains("SSLVerifyClient needs SSLCACertificateFile"),
        "{log}"
    );
}

#[test]
fn expired_certificate_is_reported_and_still_used() {
    let of = |change: fn(&mut CertificateParams)| {
        let mut parameters = parameters("site.example");
        change(&mut parameters);
        Pair::self_signed(parameters)
    };
    let old = of(|parameters| parameters.not_after = rcgen::date_time_ymd(2020, 2, 3));
    let server = secure(&old).start();
    server.log.expect("tls/site.crt: it expired on Feb  3");
    let (text, _) = Client::plain().ask(&server, "/page.html").expect("shown");
    assert!(text.ends_with("a page"), "{text}");
    let early = of(|parameters| parameters.not_before = rcgen::date_time_ymd(2090, 1, 1));
    let server = secure(&early).start();
    server.log.expect("tls/site.crt: it is not valid before");
    // A certificate that expires much later causes no warning.
    let server = secure(&Pair::of("site.example")).start();
    assert!(
        !server.log.text().contains("site.crt"),
        "{}",
        server.log.text()
    );
}

#[test]
fn renewed_certificate_is_used_without_a_restart_and_a_bad_one_never() {
    let first = Pair::of("site.example");
    let server = secure(&first).start();
    let client = Client::plain();
    client.ask(&server, "/page.html").expect("a page");
    assert_eq!(Client::shown(&server), Some(first.der()));
    let second = Pair::of("site.example");
    server.site.write("tls/site.crt", &second.certificate.pem());
    // Nothing changes until the matching key exists too. The reload command reports this at once.
    let refused = server.control(&["reload"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("do not match"),
        "{said}"
    );
    assert_eq!(Client::shown(&server), Some(first.der()));
    server
        .site
        .write("tls/site.key", &second.key.serialize_pem());
    assert!(server.control(&["reload"]).status.success());
    assert_eq!(Client::shown(&server), Some(second.der()));
    let (_, connection) = client.ask(&server, "/page.html").expect("a page");
    assert_eq!(connection.handshake_kind(), Some(HandshakeKind::Resumed));
    // If the files change, the server loads the new certificate without a command.
    let third = Pair::of("site.example");
    server.site.write("tls/site.crt", &third.certificate.pem());
    server
        .site
        .write("tls/site.key", &third.key.serialize_pem());
    assert!(eventually(PATIENCE, || Client::shown(&server) == Some(third.der())));
}

#[test]
fn authorities_of_clients_come_from_the_hashed_names_of_a_folder() {
    let authority = Pair::authority();
    let other = Pair::authority();
    let site = |name: &str, conf: &str| {
        secure(&Pair::of("site.example"))
            .file("tls/other.pem", &other.certificate.pem())
            .file(name, &authority.certificate.pem())
            .conf("SSLVerifyClient require\nSSLCACertificatePath tls/clients\n")
            .conf(conf)
    };
    let server = site("tls/clients/0a1b2c3d.0", "").start();
    let versions = &[&rustls::version::TLS13];
    let known = Client::new(
        versions,
        Some(&Pair::signed_by("camel.example", &authority)),
    );
    let stranger = Client::new(versions, Some(&Pair::of("stranger.example")));
    let (text, _) = known.ask(&server, "/page.html").expect("known");
    assert!(text.ends_with("a page"), "{text}");
    assert!(
        stranger.ask(&server, "/page.html").is_err(),
        "a stranger is let in"
    );
    // The file and the folder count together.
    let server = site(
        "tls/clients/0a1b2c3d.0",
        "SSLCACertificateFile tls/other.pem\n",
    )
    .start();
    assert!(known.ask(&server, "/page.html").is_ok());
    let builder = site("tls/clients/authority.pem", "");
    let log = builder.try_start().err().expect("no hashed name").text();
    assert!(
        log.contains("SSLCACertificatePath") && log.contains("openssl rehash"),
        "{log}"
    );
}

#[test]
fn programs_learn_the_certificate_that_a_client_has_sent() {
    let authority = Pair::authority();
    let own = Pair::of("site.example");
    let known = Pair::signed_by("camel.example", &authority);
    let stranger = Pair::of("stranger.example");
    let server = secure(&own)
        .file("tls/clients.pem", &authority.certificate.pem())
        .conf("SSLVerifyClient require\nSSLCACertificateFile tls/clients.pem\nSSLOptions +StdEnvVars +ExportCertData\n")
        .start();
    let versions = &[&rustls::version::TLS13];
    assert!(
        Client::plain().ask(&server, "/page.html").is_err(),
        "nobody is let in"
    );
    let answer = Client::new(versions, Some(&stranger)).ask(&server, "/page.html");
    assert!(answer.is_err(), "a stranger is let in");
    let (told, _) = Client::new(versions, Some(&known))
        .ask(&server, "/registry/environment.pl")
        .expect("variables");
    for line in [
        "SSL_CLIENT_VERIFY=SUCCESS",
        "SSL_CLIENT_S_DN=O=Caravan\\, Ltd,CN=camel.example",
        "SSL_CLIENT_S_DN_O=Caravan, Ltd",
        "SSL_CLIENT_I_DN_CN=authority.example",
        "SSL_CLIENT_M_SERIAL=0ABC",
        "SSL_CLIENT_SAN_DNS_0=camel.example",
        "SSL_CLIENT_CERT=-----BEGIN CERTIFICATE-----",
    ] {
        assert!(
            told.contains(&format!("{line}\n")),
            "{line} is not in {told}"
        );
    }
}

#[test]
fn http2_is_chosen_in_the_handshake_unless_protocols_forbids_it() {
    let own = Pair::of("site.example");
    for (line, expected) in [("", "h2"), ("Protocols http/1.1\n", "http/1.1")] {
        let server = secure(&own).conf(line).start();
        let mut client = Client::plain();
        client.0.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from("site.example").expect("a name");
        let connection = ClientConnection::new(Arc::new(client.0), name).expect("a client");
        let socket = TcpStream::connect(server.address).expect("it listens");
        let mut stream = rustls::StreamOwned::new(connection, socket);
        stream.flush().expect("a handshake");
        while stream.conn.is_handshaking() {
            stream
                .conn
                .complete_io(&mut stream.sock)
                .expect("a handshake");
        }
        assert_eq!(stream.conn.alpn_protocol(), Some(expected.as_bytes()));
        if expected == "h2" {
            stream
                .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
                .expect("sent");
            let mut frame = [0; 9];
            stream.read_exact(&mut frame).expect("a frame");
            assert_eq!(frame[3], 4, "SETTINGS come first");
        }
    }
}

#[test]
fn plain_http_on_the_tls_port_gets_an_error_and_a_silent_client_is_closed() {
    let own = Pair::of("site.example");
    let server = secure(&own)
        .conf("RequestReadTimeout handshake=1\n")
        .start();
    let mut plain = server.connect();
    plain.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = plain.read_answer("GET").expect("an answer");
    assert!(answer.expect(400).contains("This port speaks TLS"));
    let mut halves = [
        Connection::open(server.address),
        Connection::open(server.address),
    ];
    halves[1].write(b"\x16\x03\x01\x02\x00\x01\x00");
    for half in &mut halves {
        // Without the directive the server waits twice as long.
        assert!(half.patience(PATIENCE / 2).is_closed_by_server());
    }
    assert!(Client::plain().ask(&server, "/page.html").is_ok());
}

#[test]
fn hsts_is_sent_and_paths_that_require_tls_are_refused_without_it() {
    let own = Pair::of("site.example");
    let conf = "StrictTransportSecurity 31536000 includeSubDomains\n\
                <Location /page.html>\nSSLRequireSSL\n</Location>\n";
    let line = "\r\nStrict-Transport-Security: max-age=31536000; includeSubDomains\r\n";
    let server = secure(&own).conf(conf).start();
    for path in ["/page.html", "/registry/environment.pl", "/nothing"] {
        let (answer, _) = Client::plain().ask(&server, path).expect("an answer");
        assert!(answer.contains(line), "{path}: {answer}");
    }
    let server = Server::builder()
        .file("htdocs/page.html", "a page")
        .conf(conf)
        .start();
    let answer = server.get("/page.html");
    answer.expect(403);
    assert_eq!(answer.field("strict-transport-security"), None);
}

#[test]
fn each_virtual_host_has_its_certificate_and_its_rules_about_clients() {
    let authority = Pair::authority();
    let (own, other) = (Pair::of("site.example"), Pair::of("other.example"));
    let known = Pair::signed_by("camel.example", &authority);
    let host = |name: &str, lines: &str| {
        format!(
            "<VirtualHost *:*>\nServerName {name}\nDocumentRoot {name}\n{lines}</VirtualHost>\n"
        )
    };
    let closed = "SSLCertificateFile tls/other.crt\nSSLCertificateKeyFile tls/other.key\n\
                  SSLVerifyClient require\nSSLCACertificateFile tls/clients.pem\n";
    let server = secure(&own)
        .file("tls/other.crt", &other.certificate.pem())
        .file("tls/other.key", &other.key.serialize_pem())
        .file("tls/clients.pem", &authority.certificate.pem())
        .file("site.example/page.html", "the first")
        .file("other.example/page.html", "the other")
        .conf(&host("site.example", ""))
        .conf(&host("other.example", closed))
        .start();
    let plain = Client::plain();
    let with = Client::new(&[&rustls::version::TLS13], Some(&known));
    let shown = |connection: &ClientConnection| {
        let shown = connection.peer_certificates().expect("certificates");
        shown[0].clone().into_owned()
    };
    let (page, connection) = plain.ask(&server, "/page.html").expect("a page");
    assert!(
        page.ends_with("the first") && shown(&connection) == own.der(),
        "{page}"
    );
    let asked = with.ask_host(&server, "other.example", "other.example", "/page.html");
    let (page, connection) = asked.expect("a page");
    assert!(
        page.ends_with("the other") && shown(&connection) == other.der(),
        "{page}"
    );
    // A client must not avoid one host's rules by way of another host, not even with a session
    // ticket.
    assert!(plain
        .ask_host(&server, "other.example", "other.example", "/page.html")
        .is_err());
    let asked = plain.ask_host(&server, "site.example", "other.example", "/page.html");
    let (page, _) = asked.expect("an answer");
    assert!(
        page.starts_with("HTTP/1.1 421 Misdirected Request\r\n"),
        "{page}"
    );
    let asked = plain.ask_host(&server, "unknown.example", "site.example", "/page.html");
    let (page, connection) = asked.expect("a page");
    assert!(
        page.ends_with("the first") && shown(&connection) == own.der(),
        "{page}"
    );
}

#[test]
fn key_that_only_root_may_read_is_used_by_a_server_of_another_user_and_after_a_reload() {
    needs_machine!(
        rustix::process::geteuid().is_root(),
        "only root can start a server that becomes another user"
    );
    needs_machine!(
        mehari_harness::binary::is_open_to_others(),
        "the checkout lies where other users may not go"
    );
    let own = Pair::of("site.example");
    let spy = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\";\n\
        for ('@ROOT@/tls/site.key', \"/proc/$ENV{QUERY_STRING}/mem\") { print open(my $file, '<', $_) ? \"read $_\" : \"$!\", \"\\n\" }\n";
    let builder = secure(&own).file("scripts/spy.pl", spy);
    let key = builder.folder_of("tls/site.key");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(key, private).expect("own file");
    let server = builder
        .fill_in(&["scripts/spy.pl"], &[])
        .conf("User www-data\n")
        .start();
    let spied = format!("/registry/spy.pl?{}", server.pid());
    let (told, _) = Client::plain().ask(&server, &spied).expect("an answer");
    assert!(
        told.ends_with("Permission denied\nPermission denied\n"),
        "{told}"
    );
    let output = server.control(&["reload"]);
    assert!(output.status.success(), "{output:?}");
    let warned = "the certificates in use stay until a restart";
    let came = eventually(PATIENCE, || server.log.text().contains(warned));
    assert!(came, "{}", server.log.text());
    assert_eq!(Client::shown(&server), Some(own.der()));
}

/// Opens a connection whose client sends nothing after the handshake. `protocol`: what ALPN offers.
fn silent_after_handshake(server: &Server, protocol: &str) -> (TcpStream, ClientConnection) {
    let mut client = Client::plain();
    client.0.alpn_protocols = vec![protocol.into()];
    let name = ServerName::try_from("site.example").expect("a name");
    let mut connection = ClientConnection::new(Arc::new(client.0), name).expect("a client");
    let mut socket = TcpStream::connect(server.address).expect("a connection");
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).expect("a handshake");
    }
    (socket, connection)
}

#[test]
fn clients_that_send_nothing_before_or_after_the_handshake_make_room() {
    let own = Pair::of("site.example");
    let server = secure(&own).conf("MaxConnections 9\n").start();
    let open = || server.status()["front"]["open_connections"].as_u64();
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(silent_after_handshake(&server, "http/1.1"));
        held.push(silent_after_handshake(&server, "h2"));
    }
    let silent: Vec<TcpStream> = (0..3)
        .map(|_| TcpStream::connect(server.address).expect("a connection"))
        .collect();
    assert!(eventually(PATIENCE, || open() == Some(9)), "{:?}", open());
    for number in 0..12 {
        let asked = Client::plain().ask(&server, "/page.html");
        let (page, _) = asked.unwrap_or_else(|error| panic!("request {number}: {error}"));
        assert!(page.ends_with("a page"), "{page}");
        held.push(silent_after_handshake(&server, "h2"));
    }
    drop((held, silent));
}
