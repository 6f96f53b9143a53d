//! Whatever arrives, our words and refusals are those that the `httparse` crate comes to, which reads as strictly.

use super::*;
use crate::http1::head::Head;
use crate::http1::scan::Scan;
use mehari_config::Site;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Debug, PartialEq, Eq)]
struct Words {
    method: Vec<u8>,
    target: Vec<u8>,
    version: Version,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// `None`: it does not get so far.
fn ours(head: &[u8]) -> Option<Result<Words, Problem>> {
    let mut scan = Scan::default();
    if !matches!(scan.advance(head, &Site::defaults().limits), Ok(true)) {
        return None;
    }
    let mut read = Head::default();
    let is_right = read.parse(head, &scan).is_ok();
    let mut lines = scan.lines().map(|line| &head[line]);
    let first = request_line(lines.next().expect("a request line"));
    Some(first.and_then(|first| {
        let fields =
            lines.map(|line| field_line(line).map(|(name, value)| (name.into(), value.into())));
        let words = Words {
            method: first.method.into(),
            target: first.target.into(),
            version: first.version,
            fields: fields.collect::<Result<_, Problem>>()?,
        };
        if is_right {
            let fields = read.fields.iter();
            let fields = fields.map(|(name, value)| (name.of(head).into(), value.of(head).into()));
            assert_eq!(fields.collect::<Vec<_>>(), words.fields);
            assert_eq!(read.method.of(head), words.method);
        }
        Ok(words)
    }))
}

fn theirs(head: &[u8]) -> Result<Words, Problem> {
    use httparse::Error;
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(status) => assert!(status.is_complete()),
        Err(Error::HeaderName) => return Err(bad("a header name is not a token")),
        Err(Error::HeaderValue) => return Err(bad("a header value has a control byte")),
        Err(Error::NewLine) => return Err(bad("a line ends without CR LF")),
        Err(Error::Version) if says_other_version(head) => {
            return Err(Problem::malformed(505, "an HTTP version we do not speak"))
        }
        Err(Error::Version) => return Err(bad("the version is not HTTP/1.0 or HTTP/1.1")),
        Err(_) => return Err(bad("the request line is not method, target, version")),
    }
    let fields = request.headers.iter();
    Ok(Words {
        method: request.method.expect("a method").into(),
        target: request.path.expect("a target").into(),
        version: match request.version {
            Some(0) => Version::Http10,
            _ => Version::Http11,
        },
        fields: fields
            .map(|field| (field.name.into(), field.value.into()))
            .collect(),
    })
}

fn says_other_version(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\r\n").unwrap_or(head);
    names_other_version(head.split(|&byte| byte == b'\r').next().unwrap_or(head))
}

const PIECES: &[&[u8]] = &[
    b"GET",
    b"POST",
    b"get",
    b" ",
    b" ",
    b"/",
    b"/a?b",
    b"*",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"HTTP/1.",
    b"HTTP/11",
    b"\r\n",
    b"\r\n",
    b"\r\n",
    b"\r",
    b"\t",
    b":",
    b": ",
    b"Host: a",
    b"X-Long: abcdefghijklmnopqrstuvwxyz",
    b"x",
    b"\0",
    b"\x7f",
    b"\x1f",
    b"\xe9",
    "\u{e9}".as_bytes(),
    b"\"",
    b"(",
    b"=\\",
];

const RIGHT: &[u8] = b"GET /some/path?query=1 HTTP/1.1\r\nHost: www.example.org:8080\r\nUser-Agent: a b c/1.0 (d; e)\r\n\
    Accept:\t*/*;q=0.5 \r\nX-Empty:\r\nX-Blank: \t \r\nX-Wide: \xe9\xff\r\n\r\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn pieces_in_any_order_are_read_as_httparse_reads_them(pieces in vec(select(PIECES), 0..16)) {
        let line = [b"GET / HTTP/1.1\r\n", &pieces.concat()[..], b"\r\n\r\n"].concat();
        let all = [&pieces.concat()[..], b"\r\n\r\n"].concat();
        for head in [line, all] {
            if let Some(ours) = ours(&head) {
                prop_assert_eq!(ours, theirs(&head), "{}", head.escape_ascii());
            }
        }
    }

    #[test]
    fn a_head_with_other_bytes_is_read_as_httparse_reads_it(
        changes in vec((0..RIGHT.len() - 4, any::<u8>()), 0..3)
    ) {
        let mut head = RIGHT.to_vec();
        for (at, byte) in changes {
            head[at] = byte;
        }
        if let Some(ours) = ours(&head) {
            // What follows an empty line in the middle is the next request.
            prop_assert_eq!(ours, theirs(&head), "{}", head.escape_ascii());
        }
    }
}
