//! Tests ranges of a file of ten bytes (RFC 9110 section 14): satisfiable, ignored and
//! unsatisfiable ranges.

use mehari_harness::{Connection, Request};

/// The field Range, and the expected status, Content-Range and body.
const ROWS: &[(&str, u16, &str, &str)] = &[
    ("bytes=0-3", 206, "bytes 0-3/10", "0123"),
    ("bytes=3-6", 206, "bytes 3-6/10", "3456"),
    ("bytes=9-9", 206, "bytes 9-9/10", "9"),
    ("bytes=0-", 206, "bytes 0-9/10", "0123456789"),
    ("bytes=3-", 206, "bytes 3-9/10", "3456789"),
    ("bytes=-3", 206, "bytes 7-9/10", "789"),
    ("bytes=-10", 206, "bytes 0-9/10", "0123456789"),
    ("bytes=-99", 206, "bytes 0-9/10", "0123456789"),
    ("bytes=5-99", 206, "bytes 5-9/10", "56789"),
    ("bytes=5-99999999999999999999", 206, "bytes 5-9/10", "56789"),
    ("BYTES=0-3", 206, "bytes 0-3/10", "0123"),
    ("bytes=0-3,", 206, "bytes 0-3/10", "0123"),
    ("bytes=,0-3", 206, "bytes 0-3/10", "0123"),
    ("bytes= 0-3 ", 206, "bytes 0-3/10", "0123"),
    ("bytes=0-3,20-", 206, "bytes 0-3/10", "0123"),
    // Unsatisfiable.
    ("bytes=10-", 416, "bytes */10", ""),
    ("bytes=10-12", 416, "bytes */10", ""),
    ("bytes=99999999999999999999-", 416, "bytes */10", ""),
    ("bytes=-0", 416, "bytes */10", ""),
    ("bytes=20-,30-40", 416, "bytes */10", ""),
    // Invalid ranges: the response is the whole file, as without a field Range.
    ("bytes=5-3", 200, "", "0123456789"),
    ("bytes=", 200, "", "0123456789"),
    ("bytes=-", 200, "", "0123456789"),
    ("bytes=a-b", 200, "", "0123456789"),
    ("bytes=1", 200, "", "0123456789"),
    ("bytes=1-2-3", 200, "", "0123456789"),
    ("bytes=--3", 200, "", "0123456789"),
    ("bytes=+1-2", 200, "", "0123456789"),
    ("bytes=0x1-2", 200, "", "0123456789"),
    ("bytes 0-3", 200, "", "0123456789"),
    ("byte=0-3", 200, "", "0123456789"),
    ("lines=0-3", 200, "", "0123456789"),
    ("0-3", 200, "", "0123456789"),
    ("=0-3", 200, "", "0123456789"),
];

fn ask(connection: &mut Connection, fields: &[(&str, &str)]) -> mehari_harness::Answer {
    let request = Request::get("/ten.txt");
    let request = fields
        .iter()
        .fold(request, |request, (name, value)| request.field(name, value));
    connection.send(&request).expect("an answer")
}

#[test]
fn single_ranges_have_the_expected_results() {
    let server = crate::server();
    let mut connection = server.connect();
    for (range, status, said, text) in ROWS {
        let answer = ask(&mut connection, &[("Range", range)]);
        assert_eq!(answer.status, *status, "{range}");
        assert_eq!(
            answer.field("content-range").unwrap_or_default(),
            *said,
            "{range}"
        );
        if *status != 416 {
            assert_eq!(answer.text(), *text, "{range}");
        }
    }
}

#[test]
fn several_ranges_are_sent_in_parts_and_too_many_are_ignored() {
    let server = crate::server();
    let mut connection = server.connect();
    let answer = ask(&mut connection, &[("Range", "bytes=0-1,4-5")]);
    let kind = answer.field("content-type").expect("a type");
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .expect("parts")
        .to_owned();
    let text = answer.expect(206);
    for part in [
        "Content-Range: bytes 0-1/10\r\n\r\n01\r\n",
        "Content-Range: bytes 4-5/10\r\n\r\n45\r\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.ends_with(&format!("--{boundary}--\r\n")), "{text}");
    let flood = format!("bytes={}", vec!["0-"; 500].join(","));
    let answer = ask(&mut connection, &[("Range", &flood)]);
    assert!(
        answer.body.len() <= 20,
        "{} bytes for a file of ten",
        answer.body.len()
    );
}

#[test]
fn range_of_another_version_gives_the_whole_file() {
    let server = crate::server();
    let mut connection = server.connect();
    let whole = ask(&mut connection, &[]);
    let tag = whole.field("etag").expect("an ETag");
    let date = whole.field("last-modified").expect("a date");
    for (version, status) in [
        (tag.as_str(), 206),
        ("\"other\"", 200),
        ("W/\"other\"", 200),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 200),
        ("nonsense", 200),
    ] {
        let answer = ask(
            &mut connection,
            &[("Range", "bytes=0-3"), ("If-Range", version)],
        );
        assert_eq!(answer.status, status, "{version}");
    }
    // A date is a strong validator only after the second that it names is over (RFC 9110 section
    // 8.8.2.2).
    let answer = ask(
        &mut connection,
        &[("Range", "bytes=0-3"), ("If-Range", &date)],
    );
    assert!(matches!(answer.status, 200 | 206), "{}", answer.status);
    let answer = connection.send(&Request::new("HEAD", "/ten.txt").field("Range", "bytes=0-3"));
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 206, "as in Apache");
    assert_eq!(answer.text(), "");
}
