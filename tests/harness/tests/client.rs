//! Tests that the client accepts only what RFC 9112 allows.

use mehari_harness::{Connection, Request};
use std::io::Write;
use std::net::TcpListener;

/// Reads one response to `method` from a server that sends `bytes` and closes.
fn read(method: &str, bytes: &[u8]) -> std::io::Result<mehari_harness::Answer> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let bytes = bytes.to_vec();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client comes");
        stream.write_all(&bytes).expect("the client reads");
    });
    let answer = Connection::open(address).read_answer(method);
    server.join().expect("the server ends");
    answer
}

#[test]
fn well_framed_answers_are_read_whole() {
    for (method, bytes, status, body, complete) in [
        (
            "GET",
            &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..],
            200,
            "ok",
            true,
        ),
        (
            "GET",
            b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
            200,
            "",
            true,
        ),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            200,
            "ok",
            true,
        ),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
            200,
            "ok",
            true,
        ),
        (
            "GET",
            b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
            200,
            "until the end",
            true,
        ),
        (
            "HEAD",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            200,
            "",
            true,
        ),
        ("GET", b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, "", true),
        (
            "GET",
            b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            204,
            "",
            true,
        ),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut",
            200,
            "cut",
            false,
        ),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ncut",
            200,
            "cut",
            false,
        ),
    ] {
        let answer = read(method, bytes).expect("it is well framed");
        assert_eq!(
            (answer.status, answer.text().as_str(), answer.complete),
            (status, body, complete)
        );
    }
}

#[test]
fn wrongly_framed_answers_are_errors() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokXX0\r\n\r\n",
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: a\rb\r\n\r\n",
        b"Content-type: text/plain\r\n\r\nraw",
        b"",
    ] {
        let answer = read("GET", bytes);
        assert!(answer.is_err(), "{}: {answer:?}", bytes.escape_ascii());
    }
}

#[test]
fn requests_are_framed_by_length_or_by_chunks() {
    let by_length = Request::post("/x", "body").bytes();
    assert_eq!(
        String::from_utf8_lossy(&by_length),
        "POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\nbody"
    );
    let by_chunks = Request::post("/x", "body").chunked().bytes();
    assert!(by_chunks.ends_with(b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"));
}
