//! Tests faulty back ends over each protocol. A fault fails only the request in which it happens,
//! and the log gives the reason.

use crate::builder;
use crate::speech::{record, Program, Speech, Stream, ALL};
use mehari_harness::{Connection, Request, Server, PATIENCE};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The expected response to the client.
#[derive(Debug, Clone, Copy)]
enum Then {
    Refused(u16),
    /// Status 200, and a body that the client can recognise as incomplete.
    Cut,
    /// `Cut` or a 502. How the bytes arrive decides which.
    Failed,
    Whole(&'static str),
}
use Then::{Cut, Failed, Refused, Whole};

/// The name, the back end's bytes, whether the protocol's end of a response follows, the expected
/// response, and words in the log.
type Row = (&'static str, &'static [u8], bool, Then, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("nothing", b"", false, Refused(502), "closed the connection without an answer"),
    ("half a line", b"HTTP/1.1 20", false, Refused(502), "ended within its response"),
    ("half a head", b"HTTP/1.1 200 OK\r\nA: b", false, Refused(502), "ended within its response"),
    ("half a body", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", false, Cut, "ended within its response"),
    ("less than its length", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", true, Cut, "ended within its response"),
    ("more than its length", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", true, Whole("abc"), ""),
    ("garbage", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\r\n\r\n", true, Refused(502), ""),
    ("another protocol", b"220 mail.example ESMTP\r\n\r\n", true, Refused(502), ""),
    ("both lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true, Refused(502), ""),
    ("two lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", true, Refused(502), "Content-Length"),
    ("a length twice", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", true, Whole("ok"), ""),
    ("a list of lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab", true, Refused(502), "Content-Length"),
    ("a length beyond all", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nab", true, Refused(502), "Content-Length"),
    ("a coding of its own", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", true, Refused(502), "Transfer-Encoding"),
    ("a folded line", b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", true, Refused(502), ""),
    ("NUL in a value", b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", true, Refused(502), ""),
    ("NUL in a name", b"HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n", true, Refused(502), ""),
    ("CR in a value", b"HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: x=y\r\n\r\n", true, Refused(502), ""),
    ("a blank before the colon", b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", true, Refused(502), ""),
    ("a status out of range", b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", true, Refused(502), "status"),
    ("a protocol nobody asked for", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", true, Refused(502), ""),
    ("lines that end with LF alone", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", true, Whole("ok"), ""),
];

/// A fault that needs code.
type Deed = fn(Speech, &mut dyn Stream) -> bool;

const ENDLESS: &[(&str, Deed, &str)] = &[
    (
        "a line of 1 GiB",
        |speech, stream| pour(speech, stream, b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 8192]),
        "too long",
    ),
    (
        "fields of 1 GiB",
        |speech, stream| {
            pour(
                speech,
                stream,
                b"HTTP/1.1 200 OK\r\n",
                &b"A: b\r\n".repeat(1000),
            )
        },
        "",
    ),
    (
        "interim answers of 1 GiB",
        |speech, stream| {
            let many = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100);
            pour(speech, stream, b"", &many)
        },
        "",
    ),
];

/// The number of bytes of an endless response that the back end could write.
static POURED: AtomicUsize = AtomicUsize::new(0);

fn pour(speech: Speech, stream: &mut dyn Stream, first: &[u8], more: &[u8]) -> bool {
    let mut poured = 0;
    let mut part = speech.part(first);
    while poured < 1 << 30 && stream.write_all(&part).is_ok() {
        poured += part.len();
        part = speech.part(more);
    }
    POURED.fetch_max(poured, Ordering::Relaxed);
    false
}

/// Returns the number of the fault that a request asks for.
fn asked(request: &[u8]) -> usize {
    let text = String::from_utf8_lossy(request);
    let (_, rest) = text.split_once("/deed/").expect("a deed");
    let digits = rest.split(|byte: char| !byte.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .expect("its number")
}

fn tls() -> Arc<rustls::ServerConfig> {
    let own =
        rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key);
    Arc::new(config.expect("they belong together"))
}

/// Starts a back end of each protocol, and a server before them. A request for `/http/deed/NUMBER`
/// chooses the fault.
fn behind(
    parameters: &str,
    deed: impl Fn(Speech, usize, &mut dyn Stream) -> bool + Clone + Send + Sync + 'static,
) -> (Vec<Program>, Server) {
    let mut conf = String::from("SSLProxyVerify none\n");
    let mut start = |speech: Speech| {
        let deed = deed.clone();
        let tls = (speech == Speech::Https).then(tls);
        let program = Program::start(speech, tls, move |request, stream| {
            deed(speech, asked(request), stream)
        });
        let (scheme, address) = (speech.scheme(), program.address);
        conf.push_str(&format!(
            "ProxyPass /{scheme}/ {scheme}://{address}/ retry=0 {parameters}\n"
        ));
        program
    };
    let programs = ALL.into_iter().map(&mut start).collect();
    (programs, builder(&conf).file("htdocs/well", "well").start())
}

/// Requests a fault on a connection of its own, and checks the response. The next request must be
/// answered in any case.
fn ask(server: &Server, speech: Speech, number: usize, (name, then, words): (&str, Then, &str)) {
    let name = format!("{name}, by {speech:?}");
    let path = format!("/{}/deed/{number}", speech.scheme());
    let mut client: Connection = server.connect();
    let answer = client.send(&Request::get(&path));
    let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (status, complete) = (answer.status, answer.complete);
    match then {
        Refused(expected) => assert_eq!((status, complete), (expected, true), "{name}"),
        Cut => assert_eq!((status, complete), (200, false), "{name}"),
        Failed => assert!(
            matches!((status, complete), (502..=504, true) | (200, false)),
            "{name}: {status} {complete}"
        ),
        Whole(text) => assert_eq!(
            (status, complete, answer.text().as_str()),
            (200, true, text),
            "{name}"
        ),
    }
    if complete {
        let next = client.send(&Request::get("/well"));
        assert_eq!(next.expect("an answer").expect(200), "well", "{name}");
    }
    if !matches!(then, Whole(_)) {
        let told =
            |line: &str| line.contains("[req ") && line.contains(&path) && line.contains(words);
        let line = server.log.wait_for(PATIENCE, told);
        assert!(
            line.is_some(),
            "{name}: no line with {words:?} in\n{}",
            server.log.text()
        );
    }
}

#[test]
fn fault_of_a_back_end_fails_only_its_request_and_is_logged() {
    let (_programs, server) = behind("", |speech, number, stream| {
        let (_, said, ends, ..) = ROWS[number];
        let mut bytes = speech.part(said);
        if ends {
            bytes.extend_from_slice(&speech.end());
        }
        let _ = stream.write_all(&bytes);
        false
    });
    std::thread::scope(|scope| {
        for speech in ALL {
            let server = &server;
            scope.spawn(move || {
                for (number, (name, _, _, then, words)) in ROWS.iter().enumerate() {
                    ask(server, speech, number, (name, *then, words));
                }
            });
        }
    });
}

#[test]
fn endless_response_of_a_back_end_is_abandoned() {
    let (programs, server) = behind("", |speech, number, stream| {
        ENDLESS[number].1(speech, stream)
    });
    for speech in ALL {
        for (number, (name, _, words)) in ENDLESS.iter().enumerate() {
            ask(&server, speech, number, (name, Refused(502), words));
        }
    }
    assert!(
        programs.iter().all(Program::is_left),
        "every connection is closed"
    );
    // Socket buffers hold some megabytes. The server itself reads no more than the limit of a
    // header section.
    let poured = POURED.load(Ordering::Relaxed);
    assert!(poured < 64 << 20, "{poured} bytes were taken");
}

#[test]
fn silent_back_end_is_abandoned_after_the_time_limit() {
    const SILENT: [(&str, &[u8], Then); 3] = [
        ("not a byte", b"", Refused(504)),
        ("half a head", b"HTTP/1.1 200 OK\r\nA: b", Refused(504)),
        (
            "half a body",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
            Failed,
        ),
    ];
    let (_programs, server) = behind("timeout=1", |speech, number, stream| {
        let _ = stream.write_all(&speech.part(SILENT[number].1));
        let _ = stream.flush();
        // Waits until the other side closes.
        let _ = stream.read(&mut [0]);
        false
    });
    std::thread::scope(|scope| {
        for speech in ALL {
            for (number, (name, _, then)) in SILENT.iter().enumerate() {
                let (server, row) = (&server, (*name, *then, "silent for too long"));
                scope.spawn(move || ask(server, speech, number, row));
            }
        }
    });
}

#[test]
fn records_that_do_not_belong_to_the_response_are_refused() {
    const HEAD: &[u8] = b"Content-Type: text/plain\r\n\r\nhalf";
    let end = || record(3, 1, &[0; 8], 0);
    let good = || record(6, 1, HEAD, 0);
    let rows: Vec<(&str, Vec<u8>, Then)> = vec![
        ("an unknown kind", record(42, 1, b"x", 0), Refused(502)),
        ("a kind of ours", record(5, 1, b"x", 0), Refused(502)),
        (
            "a kind of the connection",
            record(11, 0, &[9; 8], 0),
            Refused(502),
        ),
        ("another request", record(6, 2, HEAD, 0), Refused(502)),
        (
            "another version",
            [&[2][..], &good()[1..]].concat(),
            Refused(502),
        ),
        (
            "an end of another length",
            record(3, 1, &[0; 7], 0),
            Refused(502),
        ),
        (
            "a role it does not know",
            record(3, 1, &[0, 0, 0, 0, 3, 0, 0, 0], 0),
            Refused(502),
        ),
        (
            "an end that is not its own",
            [good(), record(3, 2, &[0; 8], 0)].concat(),
            Failed,
        ),
        (
            "padding that takes the end with it",
            [record(6, 1, HEAD, 200), end()].concat(),
            Failed,
        ),
        (
            "an end whose padding does not come",
            [good(), record(3, 1, &[0; 8], 9)].concat(),
            Failed,
        ),
        (
            "kinds without end",
            [good(), record(99, 1, b"", 0).repeat(5000)].concat(),
            Failed,
        ),
    ];
    let said: Vec<Vec<u8>> = rows.iter().map(|row| row.1.clone()).collect();
    let (_programs, server) = behind("", move |_, number, stream| {
        let _ = stream.write_all(&said[number]);
        false
    });
    for (number, (name, _, then)) in rows.iter().enumerate() {
        ask(&server, Speech::Fcgi, number, (name, *then, ""));
    }
}

/// The time limit is for the response: other messages of a back end do not extend it.
#[test]
fn program_that_sends_everything_but_a_response_exceeds_the_time_limit() {
    let padded = [record(7, 1, b"", 255), vec![0; 255]].concat();
    let deeds: [(&str, Vec<u8>, Vec<u8>); 4] = [
        ("errors", Vec::new(), record(7, 1, b"oh no\n", 0)),
        ("empty records", Vec::new(), record(7, 1, b"", 0)),
        ("padding", Vec::new(), padded),
        (
            "errors amid the body",
            record(6, 1, b"Content-Type: text/plain\r\n\r\nabc", 0),
            record(7, 1, b"oh no\n", 0),
        ),
    ];
    let names = deeds.clone().map(|(name, ..)| name);
    let (programs, server) = behind("timeout=1", move |_, number, stream| {
        let (_, first, more) = &deeds[number];
        let _ = stream.write_all(first);
        let more = more.repeat(100);
        while stream.write_all(&more).is_ok() {}
        false
    });
    for (number, name) in names.into_iter().enumerate() {
        let answer = server.get(&format!("/fcgi/deed/{number}"));
        match number {
            3 => assert!(!answer.complete, "{name}"),
            _ => assert_eq!(answer.status, 504, "{name}"),
        }
        assert_eq!(server.get("/well").expect(200), "well", "{name}");
    }
    assert!(programs.iter().all(Program::is_left));
    server.log.expect("more errors, which are not logged");
}

#[test]
fn back_end_that_does_not_finish_its_handshake_exceeds_the_time_limit() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("its address");
    let server = builder(&format!(
        "SSLProxyVerify none\nProxyTimeout 1\n\
         ProxyPass /silent https://{address}/ connectiontimeout=300 retry=0\n"
    ))
    .start();
    assert!(matches!(server.get("/silent").status, 503 | 504));
    drop(silent);
}
