use super::*;

#[derive(Default)]
struct ReceivedResponse {
    heads: Vec<u16>,
    body: Vec<u8>,
}

impl Listener for ReceivedResponse {
    fn head(&mut self, head: &Head, bytes: &[u8]) {
        assert_eq!(bytes.len(), head.length);
        self.heads.push(head.status);
    }
    fn body(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

/// Feeds `bytes` in pieces of `step`. Returns the reader, the received parts, and the number of
/// bytes after which the response was complete.
fn read_in_steps(
    bytes: &[u8],
    step: usize,
) -> Result<(Reader, ReceivedResponse, Option<usize>), Fault> {
    let (mut reader, mut heard) = (Reader::new(), ReceivedResponse::default());
    let mut at = 0;
    for piece in bytes.chunks(step) {
        let progress = reader.feed(piece, &mut heard)?;
        at += progress.consumed;
        if progress.complete {
            return Ok((reader, heard, Some(at)));
        }
    }
    Ok((reader, heard, None))
}

const WHOLE: &[(&str, u16, &str, bool)] = &[
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true),
    ("HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, "", true),
    ("HTTP/1.0 404 Not Found\r\nContent-Length: 2\r\n\r\nno", 404, "no", false),
    ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", 200, "x", true),
    ("HTTP/1.1 200 OK\r\nConnection: a, CLOSE\r\nContent-Length: 1\r\n\r\nx", 200, "x", false),
    ("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", 204, "", true),
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\ny", 201, "y", true),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n3;a=b\r\n, y\r\n0\r\nX: y\r\n\r\n",
        200,
        "hello, y",
        true,
    ),
];

#[test]
fn responses_are_read_alike_in_pieces_of_any_size() {
    for (text, status, body, persistent) in WHOLE {
        for step in 1..=text.len() {
            let (reader, heard, complete) = read_in_steps(text.as_bytes(), step).expect(text);
            assert_eq!(complete, Some(text.len()), "{text} by {step}");
            assert_eq!(heard.heads, [*status]);
            assert_eq!(heard.body, body.as_bytes(), "{text} by {step}");
            let facts = reader.facts();
            assert_eq!(
                (facts.status, facts.persistent),
                (*status, *persistent),
                "{text}"
            );
            assert_eq!(facts.body_bytes, body.len() as u64);
            assert_eq!(
                facts.head_bytes + facts.body_bytes + facts.framing_bytes,
                text.len() as u64
            );
        }
    }
}

#[test]
fn bytes_after_the_response_are_not_read() {
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 500";
    let (_, _, complete) = read_in_steps(text, text.len()).expect("a good response");
    assert_eq!(complete, Some(text.len() - 12));
}

#[test]
fn a_response_without_length_ends_when_the_connection_ends() {
    let (mut reader, heard, complete) =
        read_in_steps(b"HTTP/1.1 200 OK\r\n\r\nsome", 7).expect("a good response");
    assert_eq!(complete, None);
    assert_eq!(heard.body, b"some");
    assert!(reader.end() && !reader.facts().persistent);
}

#[test]
fn broken_framing_is_a_fault() {
    for (text, fault) in [
        ("HTTP/2 200 OK\r\n\r\n", Fault::StatusLine),
        ("SSH-2.0-x", Fault::StatusLine),
        ("HTTP/1.1 2x0 OK\r\n\r\n", Fault::StatusLine),
        ("HTTP/1.1 2000 OK\r\n\r\n", Fault::StatusLine),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Fault::Field),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            Fault::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            Fault::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            Fault::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            Fault::Chunk,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            Fault::Chunk,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            Fault::Chunk,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            Fault::Chunk,
        ),
    ] {
        assert_eq!(
            read_in_steps(text.as_bytes(), 3).err(),
            Some(fault),
            "{text}"
        );
    }
    let endless = [
        b"HTTP/1.1 200 OK\r\nX: ".to_vec(),
        vec![b'x'; 2 * LARGEST_HEAD],
    ]
    .concat();
    assert_eq!(
        read_in_steps(&endless, 1024).err(),
        Some(Fault::HeadTooLarge)
    );
}
