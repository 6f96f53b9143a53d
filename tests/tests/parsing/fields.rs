//! Tests header fields: their syntax (RFC 9112 section 5), Host (section 3.2), Expect and Upgrade.

use crate::{hold, Row, Then::*, TEN};

/// A GET request for the file, and one for the script, with Host and these fields.
macro_rules! ten {
    ($fields:literal) => {
        concat!("GET /ten.txt HTTP/1.1\r\nHost: x\r\n", $fields, "\r\n\r\n").as_bytes()
    };
}
macro_rules! say {
    ($fields:literal) => {
        concat!(
            "GET /registry/say HTTP/1.1\r\nHost: x\r\n",
            $fields,
            "\r\n\r\n"
        )
        .as_bytes()
    };
}

const ROWS: &[Row] = &[
    // Syntax.
    ("no blank behind the colon", b"GET /registry/say HTTP/1.1\r\nHost:x\r\nX-A:1\r\n\r\n", Keeps(200, "GET||x|1|")),
    ("blanks around a value", say!("X-A: \t 1 2 \t "), Keeps(200, "GET||x|1 2|")),
    ("a tab in a value", say!("X-A: 1\t2"), Keeps(200, "GET||x|1\t2|")),
    ("an empty value", say!("X-A:"), Keeps(200, "GET||x||")),
    ("colons in a value", say!("X-A: a:b: c"), Keeps(200, "GET||x|a:b: c|")),
    ("names in any letters", b"GET /registry/say HTTP/1.1\r\nhOST: x\r\nx-a: 1\r\n\r\n", Keeps(200, "GET||x|1|")),
    ("two of a name are a list", say!("X-A: 1\r\nX-A: 2"), Keeps(200, "GET||x|1, 2|")),
    ("all bytes a token may have", ten!("!#$%&'*+-.^_`|~09azAZ: 1"), Keeps(200, TEN)),
    ("a blank before the colon", ten!("X-A : 1"), Refused(400)),
    ("a tab before the colon", ten!("X-A\t: 1"), Refused(400)),
    ("a blank before the first name", b"GET /ten.txt HTTP/1.1\r\n Host: x\r\n\r\n", Refused(400)),
    ("a folded value", ten!("X-A: 1\r\n\t2"), Refused(400)),
    ("a folded length", b"POST /registry/say HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 2\r\n\r\nab", Refused(400)),
    ("a bracket in a name", ten!("X(A): 1"), Refused(400)),
    ("a raw byte in a name", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nX-\xe4: 1\r\n\r\n", Refused(400)),
    ("NUL in a name", ten!("X-\0A: 1"), Refused(400)),
    ("NUL in a value", ten!("X-A: 1\x002"), Refused(400)),
    ("a control byte in a value", ten!("X-A: 1\x012"), Refused(400)),
    ("DEL in a value", ten!("X-A: 1\x7f2"), Refused(400)),
    ("CR in a value", ten!("X-A: 1\r2"), Refused(400)),
    ("LF at the end of a field", ten!("X-A: 1\nX-B: 2"), Refused(400)),
    ("no colon", ten!("X-A"), Refused(400)),
    ("no name", ten!(": 1"), Refused(400)),
    ("LF CR LF at the end", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\n\n\r\n", Refused(400)),
    // Host.
    ("Host with a port", b"GET /registry/say HTTP/1.1\r\nHost: x:80\r\n\r\n", Keeps(200, "GET||x:80|-|")),
    ("Host with an empty port", b"GET /ten.txt HTTP/1.1\r\nHost: x:\r\n\r\n", Keeps(200, TEN)),
    ("Host of IPv4", b"GET /ten.txt HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", Keeps(200, TEN)),
    ("Host of IPv6", b"GET /ten.txt HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", Keeps(200, TEN)),
    ("Host with a final point", b"GET /ten.txt HTTP/1.1\r\nHost: x.example.\r\n\r\n", Keeps(200, TEN)),
    ("Host with an underline", b"GET /ten.txt HTTP/1.1\r\nHost: x_y\r\n\r\n", Keeps(200, TEN)),
    ("no Host in HTTP/1.0", b"GET /registry/say HTTP/1.0\r\n\r\n", Closes(200, "GET||-|-|")),
    ("no Host", b"GET /ten.txt HTTP/1.1\r\n\r\n", Refused(400)),
    ("an empty Host", b"GET /ten.txt HTTP/1.1\r\nHost:\r\n\r\n", Refused(400)),
    ("two Hosts", ten!("Host: x"), Refused(400)),
    ("two Hosts in HTTP/1.0", b"GET /ten.txt HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", Refused(400)),
    ("Host with a path", b"GET /ten.txt HTTP/1.1\r\nHost: x/y\r\n\r\n", Refused(400)),
    ("Host with a backslash", b"GET /ten.txt HTTP/1.1\r\nHost: x\\y\r\n\r\n", Refused(400)),
    ("Host with a name before it", b"GET /ten.txt HTTP/1.1\r\nHost: me@x\r\n\r\n", Refused(400)),
    ("Host of two words", b"GET /ten.txt HTTP/1.1\r\nHost: x y\r\n\r\n", Refused(400)),
    ("Host with raw bytes", b"GET /ten.txt HTTP/1.1\r\nHost: x\xe4\r\n\r\n", Refused(400)),
    ("Host with brackets inside", b"GET /ten.txt HTTP/1.1\r\nHost: x[1]\r\n\r\n", Refused(400)),
    ("Host of half an IPv6 address", b"GET /ten.txt HTTP/1.1\r\nHost: [::1\r\n\r\n", Refused(400)),
    ("Host of IPv6 without brackets", b"GET /ten.txt HTTP/1.1\r\nHost: ::1\r\n\r\n", Refused(400)),
    ("Host with words behind brackets", b"GET /ten.txt HTTP/1.1\r\nHost: [::1]x:80\r\n\r\n", Refused(400)),
    ("Host with two ports", b"GET /ten.txt HTTP/1.1\r\nHost: x:80:80\r\n\r\n", Refused(400)),
    ("Host with a port that is a name", b"GET /ten.txt HTTP/1.1\r\nHost: x:http\r\n\r\n", Refused(400)),
    ("Host with a port beyond all ports", b"GET /ten.txt HTTP/1.1\r\nHost: x:65536\r\n\r\n", Refused(400)),
    ("Host with only a port", b"GET /ten.txt HTTP/1.1\r\nHost: :80\r\n\r\n", Refused(400)),
    // Expect and Upgrade.
    ("an expectation that is not known", ten!("Expect: miracle"), Refused(417)),
    ("100-continue without a body", ten!("Expect: 100-Continue"), Keeps(200, TEN)),
    ("100-continue in HTTP/1.0", b"POST /registry/say HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab", Closes(200, "POST||-|-|ab")),
    ("an upgrade to h2c", ten!("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"), Keeps(200, TEN)),
    ("an upgrade of a file to a WebSocket", ten!("Connection: Upgrade\r\nUpgrade: websocket"), Keeps(200, TEN)),
];

#[test]
fn header_fields_have_the_expected_results() {
    hold(ROWS);
}

#[test]
fn continue_is_sent_once_before_the_body_is_read() {
    let server = crate::server();
    let mut connection = server.connect();
    connection.write(b"POST /registry/say HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    while !connection.unread().ends_with(b"\r\n\r\n") {
        assert!(connection.fill().expect("an interim answer") > 0);
    }
    assert_eq!(connection.unread(), b"HTTP/1.1 100 Continue\r\n\r\n");
    connection.write(b"ab");
    let answer = connection.read_answer("POST").expect("an answer");
    assert_eq!(answer.interim, [100], "once");
    assert_eq!(answer.expect(200), "POST||x|-|ab");
}
