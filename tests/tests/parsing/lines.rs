//! Request lines: method, target, version, and what may stand before them (RFC 9112 sections 2 and 3).

use crate::{hold, Row, Then::*, TEN};

const ROWS: &[Row] = &[
    // Versions decide whether the connection is kept.
    ("HTTP/1.1", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
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
    ("HTTP/2.0", b"GET /ten.txt HTTP/2.0\r\nHost: x\r\n\r\n", Refused(505)),
    ("HTTP/5.3", b"GET /ten.txt HTTP/5.3\r\nHost: x\r\n\r\n", Refused(505)),
    ("HTTP/1.2", b"GET /ten.txt HTTP/1.2\r\nHost: x\r\n\r\n", Refused(505)),
    ("a version of two digits", b"GET /ten.txt HTTP/1.10\r\nHost: x\r\n\r\n", Refused(400)),
    ("a version with zeros", b"GET /ten.txt HTTP/01.01\r\nHost: x\r\n\r\n", Refused(400)),
    ("a version without a point", b"GET /ten.txt HTTP/11\r\nHost: x\r\n\r\n", Refused(400)),
    ("a version in small letters", b"GET /ten.txt http/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("another protocol", b"GET /ten.txt XTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("blanks behind the version", b"GET /ten.txt HTTP/1.1 \r\nHost: x\r\n\r\n", Refused(400)),
    ("a word behind the version", b"GET /ten.txt HTTP/1.1 x\r\nHost: x\r\n\r\n", Refused(400)),
    // Blanks and line ends.
    ("two blanks before the target", b"GET  /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("two blanks behind the target", b"GET /ten.txt  HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a tab for a blank", b"GET\t/ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a vertical tab for a blank", b"GET /ten.txt\x0bHTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a blank before the method", b" GET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a blank in the target", b"GET /ten .txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("an empty line before", b"\r\nGET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
    ("two empty lines before", b"\r\n\r\nGET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a bare LF before", b"\nGET /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("LF alone behind the line", b"GET /ten.txt HTTP/1.1\nHost: x\r\n\r\n", Refused(400)),
    ("LF alone everywhere", b"GET /ten.txt HTTP/1.1\nHost: x\n\n", Refused(400)),
    ("CR alone behind the line", b"GET /ten.txt HTTP/1.1\rHost: x\r\n\r\n", Refused(400)),
    ("CR CR LF", b"GET /ten.txt HTTP/1.1\r\r\nHost: x\r\n\r\n", Refused(400)),
    // Methods.
    ("HEAD", b"HEAD /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "")),
    ("a method nobody knows", b"BREW /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(405, "")),
    ("a method in small letters", b"get /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(405, "")),
    ("a method that begins as one", b"GETS /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(405, "")),
    ("a method that is no token", b"GE(T /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("TRACE", b"TRACE /ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(405)),
    ("CONNECT", b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", Refused(405)),
    ("a method of its own for a script", b"PURGE /registry/say HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "PURGE||x|-|")),
    // Forms of the target.
    ("OPTIONS *", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "")),
    ("GET *", b"GET * HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("an address", b"GET http://other/registry/say?q HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "GET|q|other|-|")),
    ("an address in capitals", b"GET HTTP://other/registry/say HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "GET||other|-|")),
    ("an address without a path", b"GET http://other HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(403, "")),
    ("an address and no Host", b"GET http://other/ten.txt HTTP/1.1\r\n\r\n", Refused(400)),
    ("an address with a name in it", b"GET http://me@other/ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("an address of nobody", b"GET http:///ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("an address of another kind", b"GET ftp://other/ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a host and a port", b"GET other:80 HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("no slash", b"GET ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("only a query", b"GET ?q HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a fragment", b"GET /ten.txt#part HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a fragment in the query", b"GET /ten.txt?a#b HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("an empty query", b"GET /registry/say? HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "GET||x|-|")),
    ("a question mark in the query", b"GET /registry/say?a?b HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "GET|a?b|x|-|")),
    ("a query that is not decoded", b"GET /registry/say?%2e%2e+&%zz HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, "GET|%2e%2e+&%zz|x|-|")),
    // Paths.
    ("encoded letters", b"GET /t%65n%2Etxt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
    ("encoded twice", b"GET /t%2565n.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(404, "")),
    ("an encoded question mark", b"GET /ten.txt%3Fq HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(404, "")),
    ("an encoded slash", b"GET /registry%2Fsay HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(404, "")),
    ("two slashes", b"GET //ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
    ("a segment of one point", b"GET /./ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(200, TEN)),
    ("a segment of two points", b"GET /registry/../ten.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("an encoded end of a line", b"GET /ten.txt%0d%0aX-A:%201 HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("a control byte", b"GET /ten\x01.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("DEL", b"GET /ten\x7f.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("raw Latin-1", b"GET /t\xebn.txt HTTP/1.1\r\nHost: x\r\n\r\n", Refused(400)),
    ("raw UTF-8", b"GET /t\xc3\xabn.txt HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(404, "")),
    ("something behind a file", b"GET /ten.txt/more HTTP/1.1\r\nHost: x\r\n\r\n", Keeps(404, "")),
    // Several at once.
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
fn request_lines() {
    hold(ROWS);
}
