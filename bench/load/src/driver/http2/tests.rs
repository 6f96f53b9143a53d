use super::frame::FLAG_PADDED;
use super::*;
use crate::driver::link::{Flight, Job};
use crate::moment::Moment;

#[derive(Default)]
struct ReceivedParts(Vec<u16>, Vec<u8>);

impl Listener for ReceivedParts {
    fn head(&mut self, stream: &Stream, _block: &[u8]) {
        self.0.push(stream.facts.status);
    }
    fn body(&mut self, _stream: &Stream, piece: &[u8]) {
        self.1.extend_from_slice(piece);
    }
}

fn flight() -> Flight {
    let job = Job {
        request: 0,
        visit: None,
        intended: Moment::ZERO,
        permitted: Moment::ZERO,
    };
    Flight::new(job, Moment::ZERO, false, 0)
}

fn frame_of(kind: FrameType, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

/// Returns a response with settings, ping, an interim head, a final head in two frames, padded data
/// and trailers.
fn conversation() -> Vec<u8> {
    let settings = [0, 3, 0, 0, 0, 7, 0, 4, 0, 0, 0, 2];
    [
        frame_of(FrameType::SETTINGS, 0, 0, &settings),
        frame_of(FrameType::PING, 0, 0, b"12345678"),
        frame_of(FrameType::HEADERS, FLAG_END_HEADERS, 1, b"\x08\x03103"),
        frame_of(FrameType::HEADERS, 0, 1, b"\x20\x88"),
        frame_of(
            FrameType::CONTINUATION,
            FLAG_END_HEADERS,
            1,
            b"\x0f\x27\x01x",
        ),
        frame_of(FrameType::DATA, FLAG_PADDED, 1, b"\x03hellopad"),
        frame_of(FrameType::DATA, 0, 1, b", you"),
        frame_of(
            FrameType::HEADERS,
            FLAG_END_HEADERS | FLAG_END_STREAM,
            1,
            b"\x00\x01a\x01b",
        ),
    ]
    .concat()
}

#[test]
fn a_response_is_read_alike_in_pieces_of_any_size() {
    let bytes = conversation();
    for step in 1..=bytes.len() {
        let (mut http2, mut heard) = (Http2::new(), ReceivedParts::default());
        http2.start(flight(), &Block::default(), b"");
        let mut answered = 0;
        for mut piece in bytes.chunks(step) {
            while let Some(ended) = http2.feed(&mut piece, &mut heard).expect("good frames") {
                assert!(
                    matches!(ended, EndedStream::Answered(stream) if stream.facts.body_bytes == 10)
                );
                answered += 1;
            }
        }
        assert_eq!((answered, heard.0.as_slice()), (1, &[200][..]), "by {step}");
        assert_eq!(heard.1, b"hello, you");
        assert!(http2.has_room(6, 100) && !http2.has_room(7, 100));
    }
}

#[test]
fn a_request_body_stays_within_the_windows() {
    let mut http2 = Http2::new();
    http2.was_sent(http2.unsent().len());
    http2.start(flight(), &Block::default(), &[b'x'; 100_000]);
    let first = http2.unsent().len();
    assert!((65_535..66_000).contains(&first), "{first}");
    let mut more = &[
        frame_of(FrameType::WINDOW_UPDATE, 0, 0, &100_000u32.to_be_bytes()),
        frame_of(FrameType::WINDOW_UPDATE, 0, 1, &100_000u32.to_be_bytes()),
    ]
    .concat()[..];
    assert!(http2
        .feed(&mut more, &mut ReceivedParts::default())
        .expect("good frames")
        .is_none());
    assert!(http2.unsent().len() > 100_000);
}

#[test]
fn broken_frames_are_faults() {
    for wrong in [
        frame_of(
            FrameType::PUSH_PROMISE,
            FLAG_END_HEADERS,
            1,
            b"\0\0\0\x02\x82",
        ),
        frame_of(FrameType::CONTINUATION, 0, 1, b""),
        frame_of(
            FrameType::HEADERS,
            FLAG_END_HEADERS,
            1,
            b"\xff\xff\xff\xff\xff\xff",
        ),
        frame_of(FrameType::HEADERS, FLAG_END_HEADERS, 1, b"\xbe"),
        frame_of(FrameType::DATA, FLAG_PADDED, 1, b"\x09a"),
        vec![0xff; 9],
    ] {
        let mut http2 = Http2::new();
        http2.start(flight(), &Block::default(), b"");
        assert!(
            http2
                .feed(&mut &wrong[..], &mut ReceivedParts::default())
                .is_err(),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_field_of_the_static_table_takes_one_byte() {
    let mut out = Vec::new();
    hpack::field(&mut out, ":method", "GET");
    hpack::field(&mut out, "cookie", "a");
    hpack::field(&mut out, "x", "y");
    assert_eq!(out, b"\x82\x0f\x11\x01a\x00\x01x\x01y");
    assert_eq!(
        hpack::as_text(b"\x88\x0f\x27\x01n"),
        "HTTP/2 200\r\nserver: n\r\n\r\n"
    );
}

fn fields(path: &str) -> crate::request::Fields {
    crate::request::Fields {
        method: "GET".into(),
        path: path.into(),
        authority: "a".into(),
        others: vec![("x".into(), "y".into())],
    }
}

#[test]
fn common_fields_are_entered_once_and_then_sent_as_numbers() {
    let blocks = hpack::requests([fields("/1"), fields("/2")].iter(), false);
    assert_eq!(
        blocks[0].first,
        b"\x82\x86\x41\x01a\x04\x02/1\x40\x01x\x01y"
    );
    assert_eq!(blocks[1].later, b"\x82\x86\xbf\x04\x02/2\xbe");
    assert_eq!(
        blocks[0].plain,
        b"\x82\x86\x01\x01a\x04\x02/1\x00\x01x\x01y"
    );
    let alone = hpack::requests([fields("/1")].iter(), false);
    assert_eq!(alone[0].later, b"\x82\x86\xc0\xbf\xbe");
}

#[test]
fn a_server_without_a_table_gets_plain_fields() {
    let blocks = hpack::requests([fields("/")].iter(), false);
    let mut http2 = Http2::new();
    http2.start(flight(), &blocks[0], b"");
    let mut settings = &frame_of(FrameType::SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0])[..];
    assert!(http2
        .feed(&mut settings, &mut ReceivedParts::default())
        .expect("good frames")
        .is_none());
    for prefix in [&b"\x20"[..], b""] {
        http2.was_sent(http2.unsent().len());
        http2.start(flight(), &blocks[0], b"");
        let expected = [prefix, &blocks[0].plain].concat();
        assert_eq!(&http2.unsent()[frame::HEADER_LENGTH..], expected);
    }
}
