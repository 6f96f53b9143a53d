//! Tests SCGI and uwsgi back ends. This module reads and writes their bytes itself.

use crate::builder;
use mehari_harness::Request;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

type Variables = BTreeMap<String, String>;

/// Starts a program that answers each connection once, after `read` has read the request.
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
