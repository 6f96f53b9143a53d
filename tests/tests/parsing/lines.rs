//! Tests request lines: method, target, version, and bytes before them (RFC 9112 sections 2 and 3).

use crate::{hold, Row, Then::*, TEN};

/// A request that begins with this line and has a Host.
macro_rules! begin {
    ($line:literal) => {
        concat!($line, "\r\nHost: x\r\n\r\n").as_bytes()
    };
}

const ROWS: &[Row] = &[
    // Versions decide whether the connection is kept.
    ("HTTP/1.1", begin!("GET /ten.txt HTTP/1.1"), Keeps(200, TEN)),
    ("HTTP/1.1 that closes", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", Closes(200, TEN)),
    ("close in other letters", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: ClOsE\r\n\r\n", Closes(200, TEN)),
    ("close in a list", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, x ,close\r\n\r\n", Closes(200, TEN)),
    ("close in a second field", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", Closes(200, TEN)),
    ("a word that contains close", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: closed\r\n\r\n", Keeps(200, TEN)),
    ("HTTP/1.0", b"GET /ten.txt HTTP/1.0\r\n\r\n", Closes(200, TEN)),
    ("HTTP/1.0 that stays", b"GET /ten.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Keeps(200, TEN)),
    ("HTTP/1.0 that stays and closes", b"GET /ten.txt HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", Closes(200, TEN)),
    ("no version", b"GET /ten.txt\r\n\r\n", Refused(400)),
    ("HTTP/0.9 on one line", b"GET /ten.txt\n", Refused(400)),
    ("HTTP/2.0", begin!("GET /ten.txt HTTP/2.0"), Refused(505)),
    ("HTTP/5.3", begin!("GET /ten.txt HTTP/5.3"), Refused(505)),
    ("HTTP/1.2", begin!("GET /ten.txt HTTP/1.2"), Keeps(200, TEN)),
    ("HTTP/1.9 behind an empty line", b"\r\nGET /ten.txt HTTP/1.9\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
    ("HTTP/1.2 that closes", b"GET /ten.txt HTTP/1.2\r\nHost: x\r\nConnection: close\r\n\r\n", Closes(200, TEN)),
    ("HTTP/1.2 without Host", b"GET /ten.txt HTTP/1.2\r\n\r\n", Refused(400)),
    ("HTTP/1.2 with another fault", begin!("GET  /ten.txt HTTP/1.2"), Refused(400)),
    ("a version of two digits", begin!("GET /ten.txt HTTP/1.10"), Refused(400)),
    ("a version with zeros", begin!("GET /ten.txt HTTP/01.01"), Refused(400)),
    ("a version without a point", begin!("GET /ten.txt HTTP/11"), Refused(400)),
    ("a version in small letters", begin!("GET /ten.txt http/1.1"), Refused(400)),
    ("another protocol", begin!("GET /ten.txt XTTP/1.1"), Refused(400)),
    ("blanks behind the version", begin!("GET /ten.txt HTTP/1.1 "), Refused(400)),
    ("a word behind the version", begin!("GET /ten.txt HTTP/1.1 x"), Refused(400)),
    // Blanks and line ends.
    ("two blanks before the target", begin!("GET  /ten.txt HTTP/1.1"), Refused(400)),
    ("two blanks behind the target", begin!("GET /ten.txt  HTTP/1.1"), Refused(400)),
    ("a tab for a blank", begin!("GET\t/ten.txt HTTP/1.1"), Refused(400)),
    ("a vertical tab for a blank", begin!("GET /ten.txt\x0bHTTP/1.1"), Refused(400)),
    ("a blank before the method", begin!(" GET /ten.txt HTTP/1.1"), Refused(400)),
    ("a blank in the target", begin!("GET /ten .txt HTTP/1.1"), Refused(400)),
    ("an empty line before", b"\r\nGET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
    ("two empty lines before", b"\r\n\r\nGET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a bare LF before", begin!("\nGET /ten.txt HTTP/1.1"), Refused(400)),
    ("LF alone behind the line", b"GET /ten.txt HTTP/1.1\nHost: x\r\n\r\n", Refused(400)),
    ("LF alone everywhere", b"GET /ten.txt HTTP/1.1\nHost: x\n\n", Refused(400)),
    ("CR alone behind the line", b"GET /ten.txt HTTP/1.1\rHost: x\r\n\r\n", Refused(400)),
    ("CR CR LF", begin!("GET /ten.txt HTTP/1.1\r"), Refused(400)),
    // Methods.
    ("HEAD", begin!("HEAD /ten.txt HTTP/1.1"), Keeps(200, "")),
    ("a method nobody knows", begin!("BREW /ten.txt HTTP/1.1"), Keeps(501, "")),
    ("a method in small letters", begin!("get /ten.txt HTTP/1.1"), Keeps(501, "")),
    ("a method that begins as one", begin!("GETS /ten.txt HTTP/1.1"), Keeps(501, "")),
    ("a method that is no token", begin!("GE(T /ten.txt HTTP/1.1"), Refused(400)),
    ("TRACE", begin!("TRACE /ten.txt HTTP/1.1"), Refused(405)),
    ("CONNECT", b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", Refused(405)),
    ("a method of its own for a script", begin!("PURGE /registry/say HTTP/1.1"), Keeps(200, "PURGE||x|-|")),
    // Forms of the target.
    ("OPTIONS *", begin!("OPTIONS * HTTP/1.1"), Keeps(200, "")),
    ("GET *", begin!("GET * HTTP/1.1"), Refused(400)),
    ("an address", begin!("GET http://other/registry/say?q HTTP/1.1"), Keeps(200, "GET|q|other|-|")),
    ("an address in capitals", begin!("GET HTTP://other/registry/say HTTP/1.1"), Keeps(200, "GET||other|-|")),
    ("an address without a path", begin!("GET http://other HTTP/1.1"), Keeps(403, "")),
    ("an address without a path and with a query", begin!("GET http://other?x=1 HTTP/1.1"), Keeps(403, "")),
    ("the same for a script", begin!("GET http://root?x=1 HTTP/1.1"), Keeps(200, "GET|x=1|root|-|")),
    ("an address and no Host", b"GET http://other/ten.txt HTTP/1.1\r\n\r\n", Refused(400)),
    ("an address with a name in it", begin!("GET http://me@other/ten.txt HTTP/1.1"), Refused(400)),
    ("an address of nobody", begin!("GET http:///ten.txt HTTP/1.1"), Refused(400)),
    ("an address of another kind", begin!("GET ftp://other/ten.txt HTTP/1.1"), Refused(400)),
    ("a host and a port", begin!("GET other:80 HTTP/1.1"), Refused(400)),
    ("no slash", begin!("GET ten.txt HTTP/1.1"), Refused(400)),
    ("only a query", begin!("GET ?q HTTP/1.1"), Refused(400)),
    ("a fragment", begin!("GET /ten.txt#part HTTP/1.1"), Refused(400)),
    ("a fragment in the query", begin!("GET /ten.txt?a#b HTTP/1.1"), Refused(400)),
    ("an empty query", begin!("GET /registry/say? HTTP/1.1"), Keeps(200, "GET||x|-|")),
    ("a question mark in the query", begin!("GET /registry/say?a?b HTTP/1.1"), Keeps(200, "GET|a?b|x|-|")),
    ("a query that is not decoded", begin!("GET /registry/say?%2e%2e+&%zz HTTP/1.1"), Keeps(200, "GET|%2e%2e+&%zz|x|-|")),
    // Paths.
    ("encoded letters", begin!("GET /t%65n%2Etxt HTTP/1.1"), Keeps(200, TEN)),
    ("encoded twice", begin!("GET /t%2565n.txt HTTP/1.1"), Keeps(404, "")),
    ("an encoded question mark", begin!("GET /ten.txt%3Fq HTTP/1.1"), Keeps(404, "")),
    ("an encoded slash", begin!("GET /registry%2Fsay HTTP/1.1"), Keeps(404, "")),
    ("two slashes", begin!("GET //ten.txt HTTP/1.1"), Keeps(200, TEN)),
    ("a segment of one point", begin!("GET /./ten.txt HTTP/1.1"), Keeps(200, TEN)),
    ("a segment of two points", begin!("GET /registry/../ten.txt HTTP/1.1"), Keeps(200, TEN)),
    ("two points above the root", begin!("GET /registry/../../ten.txt HTTP/1.1"), Refused(400)),
    ("an encoded end of a line", begin!("GET /ten.txt%0d%0aX-A:%201 HTTP/1.1"), Refused(400)),
    ("a control byte", begin!("GET /ten\x01.txt HTTP/1.1"), Refused(400)),
    ("DEL", begin!("GET /ten\x7f.txt HTTP/1.1"), Refused(400)),
    ("raw Latin-1", b"GET /t\xebn.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("raw UTF-8", b"GET /t\xc3\xabn.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(404, "")),
    ("something behind a file", begin!("GET /ten.txt/more HTTP/1.1"), Keeps(404, "")),
    // Several requests at once.
    (
        "two in one piece",
        b"GET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\nGET /registry/say?2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        Answers(&[(200, TEN), (200, "GET|2|x|-|")]),
    ),
    (
        "nothing is answered behind a close",
        b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n",
        Closes(200, TEN),
    ),
    (
        "a bad one behind a good one",
        b"GET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\nGET /ten.txt HTTP/1.1\r\n\r\n",
        Answers(&[(200, TEN), (400, "")]),
    ),
    (
        "an empty line between two",
        b"GET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n\r\nGET /ten.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        Answers(&[(200, TEN), (200, TEN)]),
    ),
];

#[test]
fn request_lines_have_the_expected_results() {
    hold(ROWS);
}
