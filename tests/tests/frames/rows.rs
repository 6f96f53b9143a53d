//! Lists frames of a client, and the expected replies.

use crate::wire::StreamOutcome::*;
use crate::wire::*;

/// Returns a GET request with these fields. They replace fields of the same name.
fn asking(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(fields))
}

fn with(extra: &[(&str, &str)]) -> Vec<u8> {
    asking(&[GET, extra].concat())
}

fn without(name: &str) -> Vec<u8> {
    let rest: Vec<_> = GET
        .iter()
        .copied()
        .filter(|field| field.0 != name)
        .collect();
    asking(&rest)
}

/// Returns all rows. In some cases the crate `h2` reports PROTOCOL_ERROR where RFC 9113 has a more
/// specific code (FRAME_SIZE_ERROR, COMPRESSION_ERROR). For malformed fields the crate ends the
/// whole connection, which section 5.4.2 allows.
pub fn rows() -> Vec<(&'static str, Vec<u8>, StreamOutcome)> {
    let ping = |length: usize, stream| frame(PING, 0, stream, &vec![0; length]);
    let window = |stream, by: u32| frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let both = |first: Vec<u8>, second: Vec<u8>| [first, second].concat();
    vec![
        ("a request", get(1), Status(200)),
        ("a stream further on", get(7), Status(200)),
        (
            "HEAD",
            asking(&[(":method", "HEAD"), GET[1], GET[2], GET[3]]),
            Status(200),
        ),
        (
            "one that is not there",
            asking(&[GET[0], GET[1], (":path", "/none"), GET[3]]),
            Status(404),
        ),
        (
            "Host instead of :authority",
            asking(&[GET[0], GET[1], GET[2], ("host", "x")]),
            Status(200),
        ),
        (
            "Host that says the same as :authority",
            with(&[("host", "X")]),
            Status(200),
        ),
        ("te: trailers", with(&[("te", "trailers")]), Status(200)),
        (
            "frames of an unknown kind",
            both(frame(0x42, 0xff, 0, b"?"), get(1)),
            Status(200),
        ),
        (
            "settings that are not known",
            both(settings(&[(0x99, 7)]), get(1)),
            Status(200),
        ),
        (
            "priorities",
            both(frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 7]), get(1)),
            Status(200),
        ),
        (
            "a head in two pieces",
            {
                let all = block(GET);
                both(
                    frame(HEADERS, END_STREAM, 1, &all[..5]),
                    frame(CONTINUATION, END_HEADERS, 1, &all[5..]),
                )
            },
            Status(200),
        ),
        (
            "padding",
            {
                let padded = [&[3][..], &block(GET), &[0; 3]].concat();
                frame(HEADERS, PADDED | END_STREAM | END_HEADERS, 1, &padded)
            },
            Status(200),
        ),
        // Frames in the wrong place or of the wrong size.
        ("a stream of even number", get(2), GoAway(PROTOCOL_ERROR)),
        (
            "a stream that lies behind",
            both(get(5), get(3)),
            GoAway(PROTOCOL_ERROR),
        ),
        ("HEADERS for the connection", get(0), GoAway(PROTOCOL_ERROR)),
        (
            "DATA for the connection",
            frame(DATA, 0, 0, b"?"),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "DATA before HEADERS",
            frame(DATA, 0, 1, b"?"),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "CONTINUATION of nothing",
            frame(CONTINUATION, END_HEADERS, 1, &block(GET)),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "something within a head",
            both(frame(HEADERS, END_STREAM, 1, &block(GET)), ping(8, 0)),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "padding beyond the frame",
            frame(HEADERS, PADDED | END_STREAM | END_HEADERS, 1, &[200, 0x82]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "PUSH_PROMISE",
            frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "RST_STREAM of an idle stream",
            frame(RST_STREAM, 0, 1, &[0; 4]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "RST_STREAM for the connection",
            frame(RST_STREAM, 0, 0, &[0; 4]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "RST_STREAM of another size",
            both(get(1), frame(RST_STREAM, 0, 1, &[0; 3])),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "SETTINGS for a stream",
            frame(SETTINGS, 0, 1, &[]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "SETTINGS of another size",
            frame(SETTINGS, 0, 0, &[0; 5]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "SETTINGS that say yes and more",
            frame(SETTINGS, ACK, 0, &[0; 6]),
            GoAway(PROTOCOL_ERROR),
        ),
        ("ENABLE_PUSH 2", settings(&[(2, 2)]), GoAway(PROTOCOL_ERROR)),
        (
            "a window beyond all windows",
            settings(&[(4, 1 << 31)]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "frames that are too small",
            settings(&[(5, 16_383)]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "frames that are too large",
            settings(&[(5, 1 << 24)]),
            GoAway(PROTOCOL_ERROR),
        ),
        ("PING for a stream", ping(8, 1), GoAway(PROTOCOL_ERROR)),
        ("PING of another size", ping(7, 0), GoAway(PROTOCOL_ERROR)),
        (
            "GOAWAY for a stream",
            frame(GOAWAY, 0, 1, &[0; 8]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "WINDOW_UPDATE by nothing",
            window(0, 0),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "WINDOW_UPDATE of an idle stream",
            window(1, 1),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "WINDOW_UPDATE of another size",
            frame(WINDOW_UPDATE, 0, 0, &[0; 3]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "WINDOW_UPDATE beyond all windows",
            both(window(0, 0x7fff_ffff), window(0, 0x7fff_ffff)),
            GoAway(FLOW_CONTROL_ERROR),
        ),
        (
            "a frame beyond SETTINGS_MAX_FRAME_SIZE",
            both(open(1), frame(DATA, 0, 1, &[0; 16_385])),
            GoAway(FRAME_SIZE_ERROR),
        ),
        // Header sections.
        (
            "an index nobody set",
            frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0xff, 0x7f]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "index 0",
            frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0x80]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "a table beyond what was granted",
            frame(
                HEADERS,
                END_STREAM | END_HEADERS,
                1,
                &[0x3f, 0xff, 0xff, 0x03],
            ),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "a string beyond its block",
            frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0x10, 0x40, b'a']),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "a name in capitals",
            with(&[("X-A", "1")]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "a field about the connection",
            with(&[("connection", "close")]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "transfer-encoding",
            with(&[("transfer-encoding", "chunked")]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "te of another kind",
            with(&[("te", "gzip")]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "a pseudo-field nobody knows",
            with(&[(":other", "1")]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "a pseudo-field of responses",
            with(&[(":status", "200")]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "a pseudo-field behind a field",
            asking(&[("x-a", "1"), GET[0], GET[1], GET[2], GET[3]]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "two methods",
            with(&[(":method", "GET")]),
            Reset(PROTOCOL_ERROR),
        ),
        ("no method", without(":method"), Reset(PROTOCOL_ERROR)),
        ("no scheme", without(":scheme"), Reset(PROTOCOL_ERROR)),
        ("no path", without(":path"), Reset(PROTOCOL_ERROR)),
        (
            "an empty path",
            asking(&[GET[0], GET[1], (":path", ""), GET[3]]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "two Hosts instead of :authority",
            asking(&[GET[0], GET[1], GET[2], ("host", "x"), ("host", "x")]),
            Status(400),
        ),
        (
            "Host that says something else than :authority",
            with(&[("host", "other")]),
            Status(400),
        ),
        (
            "two types",
            with(&[("content-type", "a/b"), ("content-type", "a/b")]),
            Status(400),
        ),
        (
            "two credentials",
            with(&[
                ("authorization", "Basic YTph"),
                ("authorization", "Basic YTpi"),
            ]),
            Status(400),
        ),
        (
            "two lengths",
            with(&[("content-length", "0"), ("content-length", "0")]),
            Status(400),
        ),
        (
            "an expectation that is not known",
            with(&[("expect", "miracle")]),
            Status(417),
        ),
        ("no host at all", without(":authority"), Status(400)),
        (
            "a host that is none",
            asking(&[GET[0], GET[1], GET[2], (":authority", "x/y")]),
            Reset(PROTOCOL_ERROR),
        ),
        (
            "CR LF in a value",
            with(&[("x-a", "1\r\nX-B: 2")]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "NUL in a value",
            with(&[("x-a", "1\0")]),
            GoAway(PROTOCOL_ERROR),
        ),
        (
            "TRACE",
            asking(&[(":method", "TRACE"), GET[1], GET[2], GET[3]]),
            Status(405),
        ),
        (
            "two points in the path",
            asking(&[GET[0], GET[1], (":path", "/a/../ten.txt"), GET[3]]),
            Status(200),
        ),
        (
            "two points above the root",
            asking(&[GET[0], GET[1], (":path", "/a/../../ten.txt"), GET[3]]),
            Status(400),
        ),
    ]
}
