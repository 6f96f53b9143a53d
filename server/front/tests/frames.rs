//! Tests HTTP/2 frame by frame (RFC 9113). A violation is refused with the right code. A flood of
//! frames ends its connection with a log line and does not affect other clients.

mod stand;

use stand::client::eventually;
use stand::frames::*;
use stand::Stand;
use std::io::Write;
use std::time::Duration;

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE: u32 = 6;
const REFUSED_STREAM: u32 = 7;
const COMPRESSION: u32 = 9;
const CALM: u32 = 11;

/// The expected reply.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    /// GOAWAY with this code.
    Goaway(u32),
    /// RST_STREAM or GOAWAY with this code: the RFC allows the server to end the connection.
    Refused(u32),
    /// GOAWAY with the RFC's code, or with PROTOCOL_ERROR, the library's substitute.
    Ended(u32),
    /// The stream or the connection is refused because of a frame after the end of the request.
    /// The response may come before the refusal.
    Behind,
    /// Any refusal, by an error of the stream or the connection, or by a 4xx.
    NotServed,
    /// A response on stream 1.
    Served,
    /// A frame of this type with these flags.
    Frame(u8, u8),
}
use Expected::*;

/// Reads frames up to the frame that decides. The server may answer a request before it reads the
/// next frame. Where a refusal is expected, a response therefore decides only if no frame follows.
fn outcome(client: &mut Client, wanted: Expected) -> String {
    let mut end = "the end".to_string();
    while let Some(frame) = client.next() {
        let code = |at: usize| {
            let bytes = frame.payload.get(at..at + 4);
            bytes.map_or(u32::MAX, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
        };
        if wanted == Frame(frame.kind, frame.flags) {
            return format!("{wanted:?}");
        }
        match frame.kind {
            GOAWAY if code(4) > 0 => return format!("{:?}", Goaway(code(4))),
            RST_STREAM => return format!("{:?}", Refused(code(0))),
            // The first field of a response is the status. The byte 0x88 stands for 200.
            HEADERS if frame.stream == 1 => {
                end = match frame.payload.first() {
                    Some(0x88) => format!("{Served:?}"),
                    _ => return "another status".into(),
                };
                if wanted == Served {
                    return end;
                }
            }
            _ => {}
        }
    }
    end
}

fn is_as_expected(expected: Expected, outcome: &str) -> bool {
    match expected {
        Refused(code) => {
            outcome == format!("{:?}", Refused(code)) || outcome == format!("{:?}", Goaway(code))
        }
        Ended(code) => [code, PROTOCOL]
            .map(|code| format!("{:?}", Goaway(code)))
            .contains(&outcome.to_string()),
        Behind => [STREAM_CLOSED, PROTOCOL]
            .iter()
            .any(|code| is_as_expected(Refused(*code), outcome)),
        NotServed => !outcome.starts_with("Served"),
        other => outcome == format!("{other:?}"),
    }
}

#[test]
fn each_rule_about_frames_is_kept() {
    let long = vec![0; 16_385];
    let mut late_headers = get(3);
    late_headers.extend(get(1));
    let open = frame(HEADERS, END_HEADERS, 1, &block(&[("content-length", "9")]));
    #[rustfmt::skip]
    let rows: Vec<(&str, Vec<Vec<u8>>, Expected)> = vec![
        ("a request", vec![get(1)], Served),
        ("4.1 a frame of a type nobody knows is ignored", vec![frame(0x77, 0xff, 0, b"x"), get(1)], Served),
        ("4.1 a reserved bit is ignored", vec![frame(HEADERS, WHOLE, 0x8000_0001, &block(&[]))], Served),
        ("4.1 flags without a meaning are ignored", vec![frame(HEADERS, WHOLE | 0xc2, 1, &block(&[]))], Served),
        ("4.2 longer than SETTINGS_MAX_FRAME_SIZE", vec![frame(DATA, 0, 1, &long)], Goaway(FRAME_SIZE)),
        ("4.2 long headers", vec![frame(HEADERS, WHOLE, 1, &long)], Goaway(FRAME_SIZE)),
        ("4.3 an index that is nowhere", vec![frame(HEADERS, WHOLE, 1, &[0xff, 0xff, 0x03])], Ended(COMPRESSION)),
        ("4.3 a string cut short", vec![frame(HEADERS, WHOLE, 1, &[0x82, 0x86, 0x44, 0x20, b'/'])], Ended(COMPRESSION)),
        ("4.3 another frame within a header block", vec![frame(HEADERS, END_STREAM, 1, &block(&[])), frame(PING, 0, 0, &[0; 8])], Goaway(PROTOCOL)),
        ("4.3 another stream within a header block", vec![frame(HEADERS, END_STREAM, 1, &block(&[])), frame(CONTINUATION, END_HEADERS, 3, &[])], Goaway(PROTOCOL)),
        ("5.1 DATA on an idle stream", vec![frame(DATA, END_STREAM, 1, b"x")], Refused(PROTOCOL)),
        ("5.1 RST_STREAM on an idle stream", vec![frame(RST_STREAM, 0, 1, &number(8))], Goaway(PROTOCOL)),
        ("5.1 WINDOW_UPDATE on an idle stream", vec![frame(WINDOW_UPDATE, 0, 1, &number(9))], Goaway(PROTOCOL)),
        ("5.1 DATA behind the end", vec![get(1), frame(DATA, END_STREAM, 1, b"x")], Behind),
        ("5.1 HEADERS behind the end", vec![get(1), get(1)], NotServed),
        ("5.1.1 an even stream", vec![get(2)], Goaway(PROTOCOL)),
        ("5.1.1 a smaller stream than before", vec![late_headers], Goaway(PROTOCOL)),
        ("6.1 DATA without a stream", vec![frame(DATA, END_STREAM, 0, b"x")], Goaway(PROTOCOL)),
        ("6.1 more padding than payload", vec![open.clone(), frame(DATA, PADDED | END_STREAM, 1, &[9, 0, 0])], Goaway(PROTOCOL)),
        ("6.2 HEADERS without a stream", vec![get(0)], Goaway(PROTOCOL)),
        ("6.2 HEADERS with more padding than payload", vec![frame(HEADERS, WHOLE | PADDED, 1, &[200, 0x82])], Goaway(PROTOCOL)),
        ("6.2 HEADERS with a priority", vec![frame(HEADERS, WHOLE | WITH_PRIORITY, 1, &[&[0, 0, 0, 0, 16][..], &block(&[])].concat())], Served),
        ("6.3 PRIORITY without a stream", vec![frame(PRIORITY, 0, 0, &[0; 5])], Goaway(PROTOCOL)),
        ("6.3 PRIORITY of a wrong size", vec![frame(PRIORITY, 0, 1, &[0; 4])], Ended(FRAME_SIZE)),
        ("6.4 RST_STREAM without a stream", vec![frame(RST_STREAM, 0, 0, &number(8))], Goaway(PROTOCOL)),
        ("6.4 RST_STREAM of a wrong size", vec![get(1), frame(RST_STREAM, 0, 1, &[0; 3])], Ended(FRAME_SIZE)),
        ("6.5 SETTINGS on a stream", vec![frame(SETTINGS, 0, 1, &[])], Goaway(PROTOCOL)),
        ("6.5 SETTINGS of a wrong size", vec![frame(SETTINGS, 0, 0, &[0; 5])], Ended(FRAME_SIZE)),
        ("6.5 an acknowledgement with a payload", vec![frame(SETTINGS, ACK, 0, &[0; 6])], Ended(FRAME_SIZE)),
        ("6.5 SETTINGS are acknowledged", vec![], Frame(SETTINGS, ACK)),
        ("6.5.2 ENABLE_PUSH of 2", vec![setting(2, 2)], Goaway(PROTOCOL)),
        ("6.5.2 a window beyond its limit", vec![setting(4, 1 << 31)], Ended(FLOW_CONTROL)),
        ("6.5.2 too small a frame size", vec![setting(5, 16_383)], Goaway(PROTOCOL)),
        ("6.5.2 too large a frame size", vec![setting(5, 1 << 24)], Goaway(PROTOCOL)),
        ("6.5.2 a setting nobody knows", vec![setting(0x7777, 1), get(1)], Served),
        ("6.6 PUSH_PROMISE from a client", vec![get(1), frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])], Goaway(PROTOCOL)),
        ("6.7 PING is answered", vec![frame(PING, 0, 0, b"12345678")], Frame(PING, ACK)),
        ("6.7 PING on a stream", vec![frame(PING, 0, 1, &[0; 8])], Goaway(PROTOCOL)),
        ("6.7 PING of a wrong size", vec![frame(PING, 0, 0, &[0; 7])], Ended(FRAME_SIZE)),
        ("6.8 GOAWAY on a stream", vec![frame(GOAWAY, 0, 1, &[0; 8])], Goaway(PROTOCOL)),
        ("6.9 no increment of the connection", vec![frame(WINDOW_UPDATE, 0, 0, &number(0))], Goaway(PROTOCOL)),
        ("6.9 no increment of a stream", vec![open.clone(), frame(WINDOW_UPDATE, 0, 1, &number(0))], Refused(PROTOCOL)),
        ("6.9 WINDOW_UPDATE of a wrong size", vec![frame(WINDOW_UPDATE, 0, 0, &[0; 3])], Ended(FRAME_SIZE)),
        ("6.9.1 a window that overflows", vec![frame(WINDOW_UPDATE, 0, 0, &number(0x7fff_ffff))], Goaway(FLOW_CONTROL)),
        ("6.9.1 a stream's window that overflows", vec![open.clone(), frame(WINDOW_UPDATE, 0, 1, &number(0x7fff_ffff))], Refused(FLOW_CONTROL)),
        ("6.10 CONTINUATION behind nothing", vec![frame(CONTINUATION, END_HEADERS, 1, &block(&[]))], Goaway(PROTOCOL)),
        ("6.10 CONTINUATION behind the end of headers", vec![get(1), frame(CONTINUATION, END_HEADERS, 1, &[])], Goaway(PROTOCOL)),
        ("6.10 CONTINUATION", vec![frame(HEADERS, END_STREAM, 1, &[0x82]), frame(CONTINUATION, END_HEADERS, 1, &block(&[])[1..])], Served),
        ("8.1 trailers", vec![open.clone(), frame(DATA, 0, 1, b"123456789"), frame(HEADERS, WHOLE, 1, &field("x", "y"))], Served),
        ("8.1 trailers that do not end", vec![open.clone(), frame(HEADERS, END_HEADERS, 1, &field("x", "y"))], NotServed),
        ("8.1 less body than its length", vec![open.clone(), frame(DATA, END_STREAM, 1, b"1234")], Refused(PROTOCOL)),
        ("8.1 more body than its length", vec![open, frame(DATA, END_STREAM, 1, b"1234567890")], Refused(PROTOCOL)),
        ("8.2 a name in upper case", vec![with(&[("X-A", "b")])], NotServed),
        ("8.2.1 a line feed in a value", vec![with(&[("x-a", "b\nc: d")])], NotServed),
        ("8.2.1 a NUL in a value", vec![with(&[("x-a", "b\0")])], NotServed),
        ("8.2.1 a blank in a name", vec![with(&[("x a", "b")])], NotServed),
        ("8.2.2 Connection", vec![with(&[("connection", "close")])], NotServed),
        ("8.2.2 Transfer-Encoding", vec![with(&[("transfer-encoding", "chunked")])], NotServed),
        ("8.2.2 TE other than trailers", vec![with(&[("te", "gzip")])], NotServed),
        ("8.2.2 TE of trailers", vec![with(&[("te", "trailers")])], Served),
        ("8.3 an unknown pseudo-field", vec![with(&[(":x", "y")])], NotServed),
        ("8.3 a pseudo-field of responses", vec![with(&[(":status", "200")])], NotServed),
        ("8.3 a pseudo-field behind a field", vec![bare(&[(":method", "GET"), (":scheme", "http"), ("x", "y"), (":path", "/"), (":authority", "x")])], NotServed),
        ("8.3.1 no method", vec![bare(&[(":scheme", "http"), (":path", "/file.txt"), (":authority", "x")])], NotServed),
        ("8.3.1 no scheme", vec![bare(&[(":method", "GET"), (":path", "/file.txt"), (":authority", "x")])], NotServed),
        ("8.3.1 no path", vec![bare(&[(":method", "GET"), (":scheme", "http"), (":authority", "x")])], NotServed),
        ("8.3.1 an empty path", vec![bare(&[(":method", "GET"), (":scheme", "http"), (":path", ""), (":authority", "x")])], NotServed),
        ("8.3.1 two paths", vec![with(&[(":path", "/")])], NotServed),
        ("8.3.1 neither authority nor host", vec![bare(&[(":method", "GET"), (":scheme", "http"), (":path", "/file.txt")])], NotServed),
        ("8.3.1 userinfo in the authority", vec![bare(&[(":method", "GET"), (":scheme", "http"), (":path", "/file.txt"), (":authority", "u@x")])], NotServed),
        ("8.5 CONNECT", vec![bare(&[(":method", "CONNECT"), (":authority", "x:1")])], NotServed),
        ("a path that is no path", vec![bare(&[(":method", "GET"), (":scheme", "http"), (":path", "file.txt"), (":authority", "x")])], NotServed),
    ];
    let stand = Stand::plain();
    let mut wrong = Vec::new();
    for (name, frames, expected) in rows {
        let mut client = Client::open(&stand);
        // One write: the server may answer a request before the next write arrives.
        client.send(&frames.concat());
        // The server may send nothing here, so the client ends its side to get an answer. Elsewhere
        // both sides stay open, because HTTP/2 has no half-closed connections.
        if expected == NotServed {
            let _ = client.0.shutdown(std::net::Shutdown::Write);
        }
        let outcome = outcome(&mut client, expected);
        if !is_as_expected(expected, &outcome) {
            wrong.push(format!("{name}: expected {expected:?}, got {outcome}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut client = Client::open(&stand);
    client.send(&get(1));
    assert_eq!(
        outcome(&mut client, Served),
        "Served",
        "others are served as before"
    );
}

/// The bytes of each round of a flood.
type Rounds = Box<dyn FnMut(u32) -> Vec<u8>>;

/// Sends until the server closes the connection. Returns the server's last reply.
fn flood(stand: &Stand, mut next: impl FnMut(u32) -> Vec<u8>) -> String {
    let mut client = Client::open(stand);
    let mut reading = Client(client.0.try_clone().expect("a second handle"));
    let reader = std::thread::spawn(move || {
        while let Some(frame) = reading.next() {
            if frame.kind == GOAWAY {
                let code = &frame.payload[4..8];
                return u32::from_be_bytes([code[0], code[1], code[2], code[3]]);
            }
        }
        0
    });
    for round in 0..20_000 {
        if reader.is_finished() || client.0.write_all(&next(round)).is_err() {
            break;
        }
    }
    let code = reader.join().expect("no panic");
    format!("{:?}", Goaway(code))
}

#[test]
fn a_flood_ends_its_connection_with_a_log_line_and_nobody_elses() {
    let stand = Stand::plain();
    let reset = |stream: u32| [get(stream), frame(RST_STREAM, 0, stream, &number(8))].concat();
    let rows: Vec<(&str, Rounds, &str)> = vec![
        (
            "rapid reset",
            Box::new(move |n| reset(2 * n + 1)),
            "HTTP/2: 127.0.0.1: ",
        ),
        (
            "PING",
            Box::new(|_| frame(PING, 0, 0, &[0; 8])),
            "more control frames than requests warrant",
        ),
        (
            "SETTINGS",
            Box::new(|_| setting(4, 65_535)),
            "more control frames than requests warrant",
        ),
        (
            "PRIORITY",
            Box::new(|_| frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 1])),
            "more control frames than requests warrant",
        ),
        (
            "unknown frames",
            Box::new(|_| frame(0x66, 0, 0, &[])),
            "more control frames than requests warrant",
        ),
        (
            "empty DATA",
            Box::new(|n| match n {
                0 => frame(HEADERS, END_HEADERS, 1, &block(&[])),
                _ => frame(DATA, 0, 1, &[]),
            }),
            "HTTP/2: 127.0.0.1: ",
        ),
        (
            "CONTINUATION",
            Box::new(|n| match n {
                0 => frame(HEADERS, END_STREAM, 1, &block(&[])),
                _ => frame(CONTINUATION, 0, 1, &field("x", "y")),
            }),
            "HTTP/2: 127.0.0.1: ",
        ),
    ];
    for (name, next, words) in rows {
        let before = stand.errors().len();
        assert_eq!(flood(&stand, next), format!("{:?}", Goaway(CALM)), "{name}");
        eventually("a log line", || stand.errors().len() > before);
        let said = stand.errors()[before..].to_string();
        assert!(said.contains(words), "{name}: {said}");
        let mut other = Client::open(&stand);
        other.send(&get(1));
        assert_eq!(outcome(&mut other, Served), "Served", "after {name}");
    }
}

#[test]
fn a_header_bomb_is_refused_by_count_and_by_what_it_unpacks_to() {
    let stand = Stand::plain();
    let few: Vec<u8> = (0..200)
        .flat_map(|n| field(&format!("x-{n}"), "y"))
        .collect();
    let mut client = Client::open(&stand);
    client.send(&frame(HEADERS, WHOLE, 1, &[block(&[]), few].concat()));
    assert_eq!(outcome(&mut client, Served), "another status", "200 fields");
    // One long value enters the table, and each further byte repeats it: 4 KB mean megabytes.
    let mut bomb = block(&[]);
    bomb.extend_from_slice(&[0x40, 1, b'a', 0x7f, 0xa1, 0x1e]);
    bomb.extend_from_slice(&[b'b'; 4000]);
    bomb.extend_from_slice(&[0xbe; 4000]);
    let mut client = Client::open(&stand);
    client.send(&frame(HEADERS, WHOLE, 1, &bomb));
    let said = outcome(&mut client, Served);
    assert!(is_as_expected(NotServed, &said), "{said}");
    let mut other = Client::open(&stand);
    other.send(&get(1));
    assert_eq!(outcome(&mut other, Served), "Served");
}

#[test]
fn more_streams_than_allowed_are_refused_and_a_window_that_stays_shut_is_given_up() {
    let stand = Stand::new(|site| site.limits.write_timeout = Duration::from_millis(500));
    let mut client = Client::open(&stand);
    client.send(&setting(4, 0));
    (0..200).for_each(|n| client.send(&get(2 * n + 1)));
    let (mut refused, mut given_up) = (0, 0);
    while refused + given_up < 200 {
        let Some(frame) = client.next() else { break };
        match (frame.kind, &frame.payload[..]) {
            (RST_STREAM, [0, 0, 0, code]) if u32::from(*code) == REFUSED_STREAM => refused += 1,
            (RST_STREAM, _) => given_up += 1,
            _ => {}
        }
    }
    assert_eq!((refused, given_up), (72, 128));
}
