//! Tests flow control (RFC 9113 section 5.2). The server sends exactly as much as the client's
//! window allows, however the client opens the window. Each stream of a connection is sent whole.

use crate::wire::*;
use crate::{server, TEN};

fn ask(stream: u32, path: &str) -> Vec<u8> {
    let fields = [GET[0], GET[1], (":path", path), GET[3]];
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(&fields))
}

fn grant(stream: u32, by: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

#[test]
fn a_response_comes_as_the_window_allows() {
    let server = server();
    // Setting 4 is SETTINGS_INITIAL_WINDOW_SIZE.
    let mut client = Client::greet(&server, &[(4, 4)]);
    client.write(&get(1));
    let first = client.until(DATA).expect("what the window has");
    assert_eq!(
        (&first.payload[..], first.flags & END_STREAM),
        (&b"0123"[..], 0)
    );
    client.write(&grant(1, 3));
    let second = client.until(DATA).expect("three more");
    assert_eq!(&second.payload, b"456");
    // An increase of the initial window increases each stream's window.
    client.write(&settings(&[(4, 100)]));
    let third = client.until(DATA).expect("the rest");
    assert_eq!(
        (&third.payload[..], third.flags & END_STREAM),
        (&b"789"[..], END_STREAM)
    );
}

#[test]
fn stream_without_a_window_delays_no_other_and_is_reset_in_time() {
    let server = mehari_harness::Server::builder()
        .file("htdocs/ten.txt", TEN)
        .conf("DocumentRoot @ROOT@/htdocs\nTimeout 1\n")
        .start();
    let mut client = Client::greet(&server, &[(4, 0)]);
    client.write(&get(1));
    assert_eq!(
        client.outcome(),
        StreamOutcome::Status(200),
        "the head needs no window"
    );
    let mut other = Client::greet(&server, &[]);
    other.write(&get(1));
    assert_eq!(other.outcome(), StreamOutcome::Status(200));
    let end = client.until(RST_STREAM).expect("an end");
    assert_eq!(end.stream, 1);
}

#[test]
fn data_beyond_the_window_are_an_error() {
    let server = server();
    let mut client = Client::greet(&server, &[]);
    client.write(&open(1));
    let full = frame(DATA, 0, 1, &[0; 16_384]);
    // The server's window is 256 KiB, and a request for a file reads nothing of the request's body.
    client.write(&full.repeat(80));
    let outcome = loop {
        match client.outcome() {
            StreamOutcome::Status(_) => {}
            other => break other,
        }
    };
    assert!(
        matches!(
            outcome,
            StreamOutcome::GoAway(FLOW_CONTROL_ERROR)
                | StreamOutcome::Reset(FLOW_CONTROL_ERROR | STREAM_CLOSED | 0)
        ),
        "{outcome:?}"
    );
}

#[test]
fn many_concurrent_streams_each_get_their_whole_response() {
    let server = server();
    let mut client = Client::greet(&server, &[(4, 1_000_000)]);
    client.write(&grant(0, 100_000_000));
    let streams: Vec<u32> = (0..100).map(|n| 2 * n + 1).collect();
    let asked: Vec<u8> = streams
        .iter()
        .flat_map(|&stream| {
            ask(
                stream,
                if stream % 4 == 1 {
                    "/large.txt"
                } else {
                    "/ten.txt"
                },
            )
        })
        .collect();
    client.write(&asked);
    let mut come = std::collections::HashMap::new();
    let mut ended = 0;
    while ended < streams.len() {
        let frame = client.read().expect("more");
        match frame.kind {
            HEADERS => assert_eq!(status(&frame.payload), 200),
            DATA => *come.entry(frame.stream).or_insert(0) += frame.payload.len(),
            RST_STREAM | GOAWAY => panic!("an end of {}", frame.stream),
            _ => {}
        }
        ended += usize::from(matches!(frame.kind, HEADERS | DATA) && frame.flags & END_STREAM != 0);
    }
    for stream in streams {
        let expected = if stream % 4 == 1 { 200_000 } else { TEN.len() };
        assert_eq!(come[&stream], expected, "stream {stream}");
    }
}
