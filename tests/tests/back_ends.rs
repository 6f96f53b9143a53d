//! Back ends that are met in TLS, and those that speak SCGI or uwsgi.

use mehari_harness::{Builder, Request, Server};
use rcgen::{CertificateParams, IsCa, KeyPair};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

type Variables = BTreeMap<String, String>;

/// A server that needs no Perl worker but one.
fn builder(conf: &str) -> Builder {
    let common = "StartServers 1\nMaxRequestWorkers 1\n";
    Server::builder().conf(common).conf(conf)
}

struct Pair {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

fn parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![name.to_string()]).expect("a name");
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    parameters
}

fn authority() -> Pair {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = parameters("authority.example");
    parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = parameters.self_signed(&key).expect("a certificate");
    Pair { certificate, key }
}

fn signed(parameters: CertificateParams, authority: &Pair) -> Pair {
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.signed_by(&key, &authority.certificate, &authority.key);
    Pair {
        certificate: certificate.expect("a certificate"),
        key,
    }
}

/// A back end of TLS: another Mehari, whose script says what it knows of its client.
fn behind_tls(own: &Pair, authority: &Pair, more: &str) -> Server {
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
            "SSLCertificateFile site.pem\nSSLCertificateKeyFile site.key\nSSLOptions +StdEnvVars\nKeepAliveTimeout 1\n",
        )
        .conf(more)
        .without_listen()
        .args(&["--listen", "https://127.0.0.1:0"])
        .start()
}

#[test]
fn back_end_behind_tls_is_believed_when_somebody_we_trust_signed_its_name() {
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
    // One that wants to know whom it speaks with.
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
fn certificate_that_is_not_good_is_told_and_answered_502() {
    let known = authority();
    let unknown = authority();
    let mut old = parameters("localhost");
    old.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let cases = [
        (
            "signed by a stranger",
            signed(parameters("localhost"), &unknown),
            "nobody we trust has signed it",
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
fn configuration_decides_what_is_looked_at() {
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
fn plain_back_end_is_never_spoken_with_in_clear_text_where_tls_is_asked_for() {
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
    server.log.expect("does not speak TLS");
    assert_eq!(heard.join().expect("it heard")[0], 0x16, "a handshake");
}

/// A program that answers each connection once, after `read` has taken its request.
fn program(
    read: fn(&mut TcpStream) -> (Variables, Vec<u8>),
    answer: fn(&Variables, &[u8]) -> Vec<u8>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (variables, body) = read(&mut stream);
            let _ = stream.write_all(&answer(&variables, &body));
        }
    });
    address
}

fn exactly(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).expect("all of it");
    bytes
}

fn body(stream: &mut TcpStream, variables: &Variables) -> Vec<u8> {
    let length = variables["CONTENT_LENGTH"].parse().expect("a number");
    exactly(stream, length)
}

fn scgi(stream: &mut TcpStream) -> (Variables, Vec<u8>) {
    let mut length = String::new();
    loop {
        match exactly(stream, 1)[0] {
            b':' => break,
            digit => length.push(char::from(digit)),
        }
    }
    let block = exactly(stream, length.parse().expect("a number"));
    assert_eq!(exactly(stream, 1), b",");
    assert!(block.starts_with(b"CONTENT_LENGTH\0"), "it is the first");
    let text = String::from_utf8(block).expect("text");
    let words: Vec<&str> = text
        .strip_suffix('\0')
        .expect("an end")
        .split('\0')
        .collect();
    let pairs = words
        .chunks(2)
        .map(|pair| (pair[0].to_string(), pair[1].to_string()));
    let variables: BTreeMap<_, _> = pairs.collect();
    assert_eq!(variables["SCGI"], "1");
    let body = body(stream, &variables);
    (variables, body)
}

fn uwsgi(stream: &mut TcpStream) -> (Variables, Vec<u8>) {
    let head = exactly(stream, 4);
    assert_eq!((head[0], head[3]), (0, 0), "modifiers");
    let block = exactly(stream, usize::from(u16::from_le_bytes([head[1], head[2]])));
    let mut rest = &block[..];
    let mut word = || {
        let (length, behind) = rest.split_at(2);
        let length = u16::from_le_bytes([length[0], length[1]]);
        let (word, behind) = behind.split_at(usize::from(length));
        rest = behind;
        (String::from_utf8_lossy(word).into_owned(), rest.is_empty())
    };
    let mut variables = BTreeMap::new();
    loop {
        let (name, _) = word();
        let (value, last) = word();
        variables.insert(name, value);
        if last {
            break;
        }
    }
    let body = body(stream, &variables);
    (variables, body)
}

fn say(variables: &Variables, body: &[u8]) -> Vec<u8> {
    let of = |name: &str| variables.get(name).cloned().unwrap_or_default();
    let text = format!(
        "{} {} {} {}",
        of("REQUEST_METHOD"),
        of("SCRIPT_NAME"),
        of("PATH_INFO"),
        of("QUERY_STRING")
    );
    match of("QUERY_STRING").as_str() {
        "cut" => b"HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nabc".to_vec(),
        "nothing" => Vec::new(),
        "nonsense" => b"what?\r\n\r\n".to_vec(),
        "line" => format!("HTTP/1.1 201 Made\r\nX-Own: y\r\n\r\n{text}").into_bytes(),
        _ => format!(
            "Status: 202 Taken\r\nContent-Type: text/plain\r\n\r\n{text} {}",
            body.len()
        )
        .into_bytes(),
    }
}

#[test]
fn programs_that_speak_scgi_and_uwsgi_answer() {
    for (scheme, address) in [("scgi", program(scgi, say)), ("uwsgi", program(uwsgi, say))] {
        let server = builder(&format!("ProxyPass /app {scheme}://{address}/\n")).start();
        let answer = server.get("/app/one/two?x=1");
        assert_eq!(answer.expect(202), "GET /app /one/two x=1 0", "{scheme}");
        let sent = server.send(&Request::post("/app", vec![b'x'; 300_000]));
        assert_eq!(sent.expect(202), "POST /app   300000", "{scheme}");
        let line = server.get("/app?line");
        assert_eq!(line.field("x-own").as_deref(), Some("y"));
        assert_eq!(line.expect(201), "GET /app  line", "{scheme}");
        let cut = server.get("/app?cut");
        assert!(!cut.complete, "{scheme}");
        server.log.expect("the back end ended within its response");
        for query in ["nothing", "nonsense"] {
            assert_eq!(
                server.get(&format!("/app?{query}")).status,
                502,
                "{scheme} {query}"
            );
        }
        let head = server.send(&Request::new("HEAD", "/app"));
        assert_eq!((head.status, head.body.len()), (202, 0), "{scheme}");
    }
}

#[test]
fn request_that_does_not_fit_uwsgi_is_refused_before_it_is_sent() {
    let address = program(uwsgi, say);
    let server = builder(&format!(
        "LimitRequestFieldSize 100000\nLimitRequestHeader 200000\nProxyPass / uwsgi://{address}/\n"
    ))
    .start();
    let large = Request::get("/").field("X-Large", &"x".repeat(70_000));
    assert_eq!(server.send(&large).status, 431);
    assert_eq!(server.get("/").status, 202);
}

#[test]
fn forwarded_is_written_where_it_is_asked_for() {
    let back_end = mehari_harness::BackEnd::start(|heard, stream| {
        let text = heard.field("forwarded").unwrap_or("-").to_string();
        let _ = stream.write_all(&mehari_harness::back_end::answer(&text));
        true
    });
    let url = back_end.url();
    let server = builder(&format!(
        "ProxyPass / {url}/\n<Location /add>\nProxyAddForwarded On\n</Location>\n\
         <Location /new>\nProxyAddForwarded On\nProxyForwarded replace\n</Location>\n"
    ))
    .start();
    let ours = "for=127.0.0.1;host=site.example;proto=http";
    let before = "for=192.0.2.60;proto=https";
    let get = |path: &str| {
        let mut request = Request::get(path).field("Forwarded", before);
        request.fields[0].1 = "site.example".into();
        server.send(&request).expect(200)
    };
    assert_eq!(get("/other"), before);
    assert_eq!(get("/add"), format!("{before}, {ours}"));
    assert_eq!(get("/new"), ours);
    drop(back_end);
}

#[test]
fn upgrade_that_a_back_end_refuses_is_an_ordinary_answer() {
    let back_end = mehari_harness::BackEnd::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        true
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let mut client = server.connect();
    let asking = Request::get("/ws")
        .field("Upgrade", "websocket")
        .field("Connection", "Upgrade");
    for _ in 0..2 {
        let answer = client.send(&asking).expect("an answer");
        assert_eq!(answer.expect(403), "no");
    }
    let plain = client.send(&Request::get("/")).expect("an answer");
    assert_eq!(plain.expect(403), "no", "the connection goes on");
    assert_eq!(back_end.connections(), 1, "and so does the other");
    drop(back_end);
}
