//! Sends malformed HTTP/1 requests. Each gets the expected status at once, and the connection is
//! closed.

mod stand;

use stand::client::Client;
use stand::Stand;

/// The name of each row, the request, and the expected status. If the name begins with `~`, the
/// request is valid, so the table also detects a front that refuses everything.
const ROWS: &[(&str, &[u8], u16)] = &[
    ("~plain", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~1.0 without Host", b"GET / HTTP/1.0\r\n\r\n", 200),
    ("~one empty line before", b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~absolute", b"GET http://b/file.txt HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~absolute without path", b"GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~absolute with a query only", b"GET http://b?x HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~version 1.2", b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 200),
    ("~server options", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~port", b"GET / HTTP/1.1\r\nHost: a:80\r\n\r\n", 200),
    ("~v6", b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200),
    ("~blank value", b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", 200),
    ("~tab in value", b"GET / HTTP/1.1\r\nHost:\ta\t\r\nX: a\tb\r\n\r\n", 200),
    ("~high bytes in value", b"GET / HTTP/1.1\r\nHost: a\r\nX: \xe9\r\n\r\n", 200),
    ("~zero length", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 200),
    ("~chunks", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200),
    ("~chunks, any case", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n1;a=b\r\nx\r\n0\r\nT: v\r\n\r\n", 200),
    // framing
    ("both lengths", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("both lengths, other order", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400),
    ("two lengths that differ", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
    ("two lengths that agree", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
    ("list of lengths", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
    ("signed length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
    ("negative length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
    ("hexadecimal length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx", 400),
    ("length with a blank", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 0\r\n\r\nx", 400),
    ("length with an underscore", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n", 400),
    ("length with 0xa0", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \xa01\r\n\r\nx", 400),
    ("empty length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
    ("huge length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
    ("other coding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("coding list", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("identity", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
    ("obscured coding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    ("quoted coding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 501),
    ("coding with 0x0b", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("two codings", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("empty coding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 400),
    ("coding in 1.0", b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("chunk size not a number", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ("chunk size with a sign", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n0\r\n\r\n", 400),
    ("chunk size with 0x", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n", 400),
    ("chunk size too long", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000000\r\n", 400),
    ("chunk ends with LF", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n", 400),
    ("chunk longer than it says", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n", 400),
    ("chunk extension with LF", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\n", 400),
    ("chunk extension with NUL", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a\0\r\nx\r\n0\r\n\r\n", 400),
    ("trailer that is no field", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nGET / HTTP/1.1\r\n\r\n", 400),
    // the head
    ("folded line", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
    ("folded with a tab", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n", 400),
    ("folded first line", b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("blank before the colon", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("tab before the colon", b"GET / HTTP/1.1\r\nHost: a\r\nX\t: a\r\n\r\n", 400),
    ("empty name", b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
    ("no colon", b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    ("name in brackets", b"GET / HTTP/1.1\r\nHost: a\r\n(X): b\r\n\r\n", 400),
    ("high byte in a name", b"GET / HTTP/1.1\r\nHost: a\r\nX\xe9: b\r\n\r\n", 400),
    ("NUL in a name", b"GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n", 400),
    ("NUL in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", 400),
    ("NUL in the target", b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("control byte in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\x01c\r\n\r\n", 400),
    ("DEL in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\x7fc\r\n\r\n", 400),
    ("CR in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", 400),
    ("CR alone ends lines", b"GET / HTTP/1.1\rHost: a\r\r", 400),
    ("LF alone ends lines", b"GET / HTTP/1.1\nHost: a\n\n", 400),
    ("LF alone ends one line", b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
    ("LF alone ends the head", b"GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
    ("LF first", b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("two empty lines first", b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("blank first", b" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ("only NUL", b"\0\0\0\0", 400),
    // the request line
    ("no version", b"GET /\r\nHost: a\r\n\r\n", 400),
    ("no target", b"GET HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("two blanks", b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("tab between", b"GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("blank at the end", b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    ("four words", b"GET / x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("method with a colon", b"GE:T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("method in brackets", b"(GET) / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("version 2", b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("version 1", b"GET / HTTP/1\r\nHost: a\r\n\r\n", 400),
    ("version 01.1", b"GET / HTTP/01.1\r\nHost: a\r\n\r\n", 400),
    ("version in lower case", b"GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("another protocol", b"GET / ICAP/1.0\r\nHost: a\r\n\r\n", 400),
    ("fragment", b"GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("relative target", b"GET file.txt HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("another scheme", b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("userinfo", b"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("star for GET", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("TRACE", b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("CONNECT", b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("CONNECT to a path", b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    // Host
    ("no Host", b"GET / HTTP/1.1\r\n\r\n", 400),
    ("two Hosts", b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("empty Host", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ("Host with a path", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("Host with userinfo", b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
    ("Host with a blank", b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("Host list", b"GET / HTTP/1.1\r\nHost: a, b c\r\n\r\n", 400),
    ("Host port no number", b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400),
    ("~Host with a final point", b"GET / HTTP/1.1\r\nHost: a.example.\r\n\r\n", 200),
    ("~Host of IPv4", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200),
    ("~Host that begins with a digit", b"GET / HTTP/1.1\r\nHost: 3com.example\r\n\r\n", 200),
    ("Host of a point", b"GET / HTTP/1.1\r\nHost: .\r\n\r\n", 400),
    ("Host of points", b"GET / HTTP/1.1\r\nHost: ..\r\n\r\n", 400),
    ("Host with an empty label", b"GET / HTTP/1.1\r\nHost: a..b\r\n\r\n", 400),
    ("Host with a point first", b"GET / HTTP/1.1\r\nHost: .a\r\n\r\n", 400),
    ("Host with a hyphen first", b"GET / HTTP/1.1\r\nHost: -a\r\n\r\n", 400),
    ("Host with a hyphen last", b"GET / HTTP/1.1\r\nHost: a-.b\r\n\r\n", 400),
    ("Host with a percent sign", b"GET / HTTP/1.1\r\nHost: a%2eb\r\n\r\n", 400),
    ("Host with a quote", b"GET / HTTP/1.1\r\nHost: a'b\r\n\r\n", 400),
    ("Host of half an address", b"GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n", 400),
    ("Host of an octal address", b"GET / HTTP/1.1\r\nHost: 0127.0.0.1\r\n\r\n", 400),
    ("Host of a number", b"GET / HTTP/1.1\r\nHost: 2130706433\r\n\r\n", 400),
    ("Host v6 of nothing", b"GET / HTTP/1.1\r\nHost: [:::]\r\n\r\n", 400),
    ("Host port 0", b"GET / HTTP/1.1\r\nHost: a:0\r\n\r\n", 400),
    ("an absolute target with points for a host", b"GET http://../ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // fields that may occur only once
    ("two types", b"POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Type: a/b\r\nContent-Type: a/b\r\nContent-Length: 0\r\n\r\n", 400),
    ("two credentials", b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTph\r\nauthorization: Basic YTpi\r\n\r\n", 400),
    ("two expectations", b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 417),
    ("Host v6 open", b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400),
    // the path
    ("dots", b"GET /../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("~dots that stay inside", b"GET /folder/../file.txt HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~dots that stay inside, encoded", b"GET /folder/%2e%2e/x/.%2E/file.txt HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("~dots behind slashes", b"GET /folder//..//file.txt HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("dots with a parameter", b"GET /folder/..;x/file.txt HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("dots behind an encoded slash", b"GET /folder%2f..%2ffile.txt HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("dots inside", b"GET /folder/../../x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("~dots at the end", b"GET /folder/.. HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ("dots encoded", b"GET /%2e%2e%2fetc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("dots half encoded", b"GET /.%2e/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("backslash dots", b"GET /..\\x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("backslash dots encoded", b"GET /..%5c..%5cx HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("overlong slash", b"GET /..%c0%af HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("overlong dots", b"GET /%c0%ae%c0%ae/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("overlong slash raw", b"GET /a\xc0\xafb HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("NUL encoded", b"GET /file.txt%00.pl HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CR LF encoded", b"GET /%0d%0aX:y HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("half an escape", b"GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("no escape", b"GET /%xy HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("dots absolute", b"GET http://a/../x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // Expect
    ("other expectation", b"GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
];

#[test]
fn each_malformed_request_gets_its_status_and_a_closed_connection() {
    let stand = Stand::plain();
    let mut wrong = Vec::new();
    for (name, bytes, status) in ROWS {
        let mut client = stand.client();
        client.send(bytes);
        let (answered, head) = client.head();
        let right = name.starts_with('~');
        if answered != *status
            || (right == head.contains("Connection: close") && !name.contains("1.0"))
        {
            wrong.push(format!("{name}: {answered} instead of {status}: {head}"));
        }
        if !right {
            client.rest();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sends the same requests one byte at a time. The results must be the same.
#[test]
fn requests_read_the_same_a_byte_at_a_time() {
    let stand = Stand::plain();
    std::thread::scope(|scope| {
        for rows in ROWS.chunks(ROWS.len().div_ceil(8)) {
            let stand = &stand;
            scope.spawn(move || {
                for (name, bytes, status) in rows {
                    let mut client = stand.client();
                    client.socket.set_nodelay(true).expect("a socket");
                    for byte in *bytes {
                        client.send([*byte]);
                    }
                    assert_eq!(client.head().0, *status, "{name}");
                }
            });
        }
    });
}

#[test]
fn nothing_after_a_refused_request_is_answered() {
    let stand = Stand::plain();
    for (name, bytes, _) in ROWS.iter().filter(|(name, ..)| !name.starts_with('~')) {
        let mut client = stand.client();
        client.send(bytes);
        client.send(b"\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
        client.rest();
        let lines = stand.logged.access.lock().expect("one user");
        assert!(
            !lines.iter().any(|line| line.contains("/smuggled")),
            "{name}"
        );
    }
}

#[test]
fn limits_have_their_own_answers() {
    let stand = Stand::new(|site| {
        site.limits.request_line = 100;
        site.limits.field_size = 100;
        site.limits.fields = 10;
        site.limits.header_size = 500;
        site.main.base.limits.body = 1000;
    });
    let long = "x".repeat(101);
    let fields = |count: usize| "X: y\r\n".repeat(count);
    let wide = format!("X: {}\r\n", "y".repeat(90)).repeat(6);
    let chunk = format!("3e8\r\n{}\r\n", "z".repeat(1000));
    let rows = [
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (format!("GET /{long}"), 414),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(10)), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{wide}\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(9)), 200),
        ("POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n".into(), 413),
        (format!("POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}1\r\nx\r\n0\r\n\r\n"), 413),
        (format!("POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n"), 200),
        (format!("POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}\r\n", fields(11)), 431),
    ];
    for (request, status) in rows {
        let mut client = Client::connect(stand.address);
        client.send(&request);
        assert_eq!(client.head().0, status, "{request}");
        if status != 200 {
            client.rest();
        }
    }
}
