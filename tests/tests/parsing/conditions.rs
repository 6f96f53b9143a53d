//! Tests conditional requests for a file (RFC 9110 section 13): each field alone, and the
//! precedence between fields.

use mehari_harness::Request;

#[test]
fn conditions_are_evaluated_in_their_order() {
    let server = crate::server();
    let mut connection = server.connect();
    let whole = connection
        .send(&Request::get("/ten.txt"))
        .expect("an answer");
    let tag = whole.field("etag").expect("an ETag");
    let date = whole.field("last-modified").expect("a date");
    let (old, new) = (
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 2038 23:59:59 GMT",
    );
    let weak = format!("W/{tag}");
    let list = format!("\"a\", {tag} , \"b\"");
    let (tag, weak, list, date) = (&tag[..], &weak[..], &list[..], &date[..]);
    let rows: &[(&[(&str, &str)], u16)] = &[
        (&[("If-None-Match", tag)], 304),
        (&[("If-None-Match", weak)], 304),
        (&[("If-None-Match", list)], 304),
        (&[("If-None-Match", "*")], 304),
        (&[("If-None-Match", "\"other\"")], 200),
        // Repeated fields: a list, or a field that may occur only once.
        (
            &[("If-None-Match", "\"other\""), ("If-None-Match", tag)],
            304,
        ),
        (
            &[("If-None-Match", tag), ("If-None-Match", "\"other\"")],
            304,
        ),
        (
            &[("If-None-Match", "\"other\""), ("If-None-Match", "*")],
            200,
        ),
        (&[("If-Match", tag), ("If-Match", "\"other\"")], 200),
        (
            &[("If-Modified-Since", new), ("If-Modified-Since", new)],
            200,
        ),
        (
            &[("If-Unmodified-Since", old), ("If-Unmodified-Since", old)],
            200,
        ),
        (
            &[("Range", "bytes=0-3"), ("If-Range", tag), ("If-Range", tag)],
            200,
        ),
        (&[("Range", "bytes=0-3"), ("Range", "bytes=0-3")], 200),
        (&[("Range", "bytes=0-3"), ("Range", "bytes=5-6")], 200),
        (&[("If-None-Match", "nonsense")], 200),
        (&[("If-Modified-Since", date)], 304),
        // As in Apache, a date in the future does not count.
        (&[("If-Modified-Since", new)], 200),
        (&[("If-Modified-Since", old)], 200),
        (&[("If-Modified-Since", "yesterday")], 200),
        (&[("If-Modified-Since", "")], 200),
        (&[("If-Match", tag)], 200),
        (&[("If-Match", "*")], 200),
        (&[("If-Match", list)], 200),
        (&[("If-Match", weak)], 412),
        (&[("If-Match", "\"other\"")], 412),
        (&[("If-Unmodified-Since", date)], 200),
        (&[("If-Unmodified-Since", old)], 412),
        (&[("If-Unmodified-Since", "yesterday")], 200),
        // Of each pair, the first field has precedence.
        (
            &[("If-None-Match", "\"other\""), ("If-Modified-Since", date)],
            200,
        ),
        (&[("If-None-Match", tag), ("If-Modified-Since", old)], 304),
        (&[("If-Match", tag), ("If-Unmodified-Since", old)], 200),
        (&[("If-Match", "\"other\""), ("If-None-Match", tag)], 412),
        (&[("If-None-Match", tag), ("Range", "bytes=0-3")], 304),
        (&[("If-Match", "\"other\""), ("Range", "bytes=0-3")], 412),
    ];
    for (fields, status) in rows {
        for method in ["GET", "HEAD"] {
            let request = Request::new(method, "/ten.txt");
            let request = fields
                .iter()
                .fold(request, |request, (name, value)| request.field(name, value));
            let answer = connection.send(&request).expect("an answer");
            assert_eq!(answer.status, *status, "{method} {fields:?}");
            if *status == 304 {
                assert_eq!(answer.field("etag").as_deref(), Some(tag), "{fields:?}");
                assert_eq!(answer.field("content-length").unwrap_or("10".into()), "10");
            }
        }
    }
}
