//! Tests HTTP/2 frame by frame (RFC 9113). A client's error ends the stream or the connection with
//! the right error code. A valid request is answered. A flood of frames ends the connection with a
//! line in the log.

mod flow;
mod rows;
mod unsent;
mod wire;

use mehari_harness::scripts::{plain, simple};
use mehari_harness::{eventually, Rung, Server, PATIENCE};
use wire::StreamOutcome::*;
use wire::*;

pub const TEN: &str = "0123456789";

pub fn server() -> Server {
    Server::builder()
        .file("htdocs/ten.txt", TEN)
        .file("htdocs/large.txt", &"x".repeat(200_000))
        .conf("DocumentRoot @ROOT@/htdocs\n<Location />\n    Require all granted\n</Location>\n")
        .start()
}

#[test]
fn each_frame_has_its_outcome() {
    let server = server();
    let mut wrong = Vec::new();
    for (name, bytes, expected) in rows::rows() {
        let mut client = Client::greet(&server, &[]);
        client.write(&bytes);
        let outcome = client.outcome();
        if outcome != expected {
            wrong.push(format!("{name}: {outcome:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn settings_and_pings_are_answered() {
    let server = server();
    let mut client = Client::greet(&server, &[]);
    let first = client.read().expect("a frame");
    assert_eq!(
        (first.kind, first.flags),
        (SETTINGS, 0),
        "SETTINGS come first"
    );
    let yes = client.until(SETTINGS).expect("an answer");
    assert_eq!((yes.flags, yes.payload.len()), (ACK, 0));
    client.write(&frame(PING, 0, 0, b"12345678"));
    let pong = client.until(PING).expect("an answer");
    assert_eq!((pong.flags, &pong.payload[..]), (ACK, &b"12345678"[..]));
    client
        .write(&frame(PING, ACK, 0, b"12345678"))
        .write(&get(1));
    assert_eq!(client.outcome(), Status(200), "nobody answers an answer");
}

#[test]
fn flood_ends_only_its_own_connection() {
    let server = Server::builder()
        .file("htdocs/ten.txt", TEN)
        .conf("DocumentRoot @ROOT@/htdocs\nLogLevel warn\n")
        .start();
    let reset = |stream| [get(stream), frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat();
    let floods: [(&str, Vec<u8>); 4] = [
        (
            "resets",
            (0..3_000).flat_map(|n| reset(2 * n + 1)).collect(),
        ),
        ("pings", frame(PING, 0, 0, &[0; 8]).repeat(3_000)),
        ("settings", settings(&[]).repeat(3_000)),
        ("continuations", {
            let pieces = frame(CONTINUATION, 0, 1, &[]).repeat(3_000);
            [frame(HEADERS, END_STREAM, 1, &block(GET)), pieces].concat()
        }),
    ];
    let mut bystander = Client::greet(&server, &[]);
    for (round, (name, bytes)) in floods.iter().enumerate() {
        let mut client = Client::greet(&server, &[]);
        client.write(bytes);
        let reason = client.until(GOAWAY).map(|frame| frame.number(4));
        // The server may close while the client still writes. The client may then not receive the
        // reason.
        assert!(
            matches!(reason, None | Some(ENHANCE_YOUR_CALM)),
            "{name}: {reason:?}"
        );
        bystander.write(&get(2 * round as u32 + 1));
        assert_eq!(bystander.outcome(), Status(200), "{name}");
    }
    let told = || server.log.count("the connection is ended") >= floods.len();
    let text = || server.log.text();
    assert!(eventually(PATIENCE, told), "each is told:\n{}", text());
}

/// One worker runs all scripts. A script that goes on for a client that has left would make the
/// next request wait.
#[test]
fn endless_script_ends_with_its_stream_or_connection() {
    let endless = plain("print 'x' x 1000 while 1;");
    let server = simple(1).file("scripts/endless.pl", &endless).start();
    for rung in Rung::ALL {
        let path = rung.url("endless.pl");
        let fields = [GET[0], GET[1], (":path", &path), GET[3]];
        let request = frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(&fields));
        for resets in [true, false] {
            let mut client = Client::greet(&server, &[]);
            client.write(&request);
            client.until(DATA).expect("the body begins");
            if resets {
                client.write(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
            } else {
                drop(client);
            }
            let answer = server.get("/registry/hello.pl");
            assert_eq!(answer.expect(200), "Hello", "{path}, a reset: {resets}");
        }
    }
}

/// A HEAD request's stream ends with the head, so a reset cannot show that the client has left.
#[test]
fn endless_script_of_a_head_request_ends_with_the_connection() {
    let server = simple(1)
        .file(
            "scripts/slow.pl",
            &plain("$| = 1; while (1) { print 'x' x 1000; select undef, undef, undef, 0.01 }"),
        )
        .file("scripts/fast.pl", &plain("print 'x' x 1000 while 1;"))
        .start();
    for name in ["slow.pl", "fast.pl"] {
        let mut client = Client::greet(&server, &[]);
        let path = Rung::Registry.url(name);
        let fields = [(":method", "HEAD"), GET[1], (":path", &path), GET[3]];
        client.write(&frame(
            HEADERS,
            END_STREAM | END_HEADERS,
            1,
            &block(&fields),
        ));
        let head = client.until(HEADERS).expect("a head");
        assert_eq!(status(&head.payload), 200);
        assert!(head.flags & END_STREAM != 0);
        drop(client);
        let next = server.get(&Rung::Registry.url("hello.pl"));
        assert_eq!(next.expect(200), "Hello", "{name}");
    }
}
