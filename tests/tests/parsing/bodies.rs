//! Tests where a body ends: lengths, chunks, and everything that two parsers could read differently
//! (RFC 9112 sections 6 and 7).

use crate::{hold, Row, Then::*, TEN};

/// A POST request to a script with two fields, followed by the bytes of the row.
macro_rules! post {
    ($rest:literal) => {
        concat!("POST /registry/say HTTP/1.1\r\nHost: x\r\n", $rest).as_bytes()
    };
}
macro_rules! chunks {
    ($rest:literal) => {
        concat!(
            "POST /registry/say HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            $rest
        )
        .as_bytes()
    };
}

const AB: &str = "POST||x|-|ab";
const NOTHING: &str = "POST||x|-|";

const LENGTHS: &[Row] = &[
    ("a length", post!("Content-Length: 2\r\n\r\nab"), Keeps(200, AB)),
    ("a length of nothing", post!("Content-Length: 0\r\n\r\n"), Keeps(200, NOTHING)),
    ("zeros before a length", post!("Content-Length: 0002\r\n\r\nab"), Keeps(200, AB)),
    ("blanks around a length", post!("Content-Length: \t2 \r\n\r\nab"), Keeps(200, AB)),
    ("neither length nor coding", post!("\r\n"), Keeps(200, NOTHING)),
    ("neither in HTTP/1.0", b"POST /registry/say HTTP/1.0\r\n\r\n", Closes(200, "POST||-|-|")),
    ("GET with a body", b"GET /registry/say HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", Keeps(200, "GET||x|-|ab")),
    ("GET of a file with a body", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", Keeps(200, TEN)),
    ("HEAD with a body", b"HEAD /ten.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", Keeps(200, "")),
    ("POST to a file", b"POST /ten.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", Keeps(200, TEN)),
    ("a body of one that is not there", b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", Keeps(404, "")),
    ("a request behind a body", post!("Content-Length: 2\r\n\r\nabGET /ten.txt HTTP/1.0\r\n\r\n"), Answers(&[(200, AB), (200, TEN)])),
    ("a body that reads as a request", post!("Content-Length: 18\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n"), Closes(200, "POST||x|-|GET / HTTP/1.1\r\n\r\n")),
    ("an empty length", post!("Content-Length:\r\n\r\n"), Refused(400)),
    ("a signed length", post!("Content-Length: +2\r\n\r\nab"), Refused(400)),
    ("a negative length", post!("Content-Length: -2\r\n\r\nab"), Refused(400)),
    ("less than nothing", post!("Content-Length: -0\r\n\r\n"), Refused(400)),
    ("a hexadecimal length", post!("Content-Length: 0x2\r\n\r\nab"), Refused(400)),
    ("a length with a point", post!("Content-Length: 2.0\r\n\r\nab"), Refused(400)),
    ("a length with an exponent", post!("Content-Length: 2e0\r\n\r\nab"), Refused(400)),
    ("a length and a word", post!("Content-Length: 2 bytes\r\n\r\nab"), Refused(400)),
    ("a length of two words", post!("Content-Length: 0 2\r\n\r\nab"), Refused(400)),
    ("a length in other digits", "POST /registry/say HTTP/1.1\r\nHost: x\r\nContent-Length: \u{662}\r\n\r\nab".as_bytes(), Refused(400)),
    ("a list of one length", post!("Content-Length: 2, 2\r\n\r\nab"), Refused(400)),
    ("the same length twice", post!("Content-Length: 2\r\nContent-Length: 2\r\n\r\nab"), Refused(400)),
    ("two lengths", post!("Content-Length: 2\r\ncontent-length: 3\r\n\r\nab"), Refused(400)),
    ("a length of 64 bits and one", post!("Content-Length: 18446744073709551616\r\n\r\n"), Refused(413)),
    ("both", post!("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), Refused(400)),
    ("both the other way", post!("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"), Refused(400)),
    ("both on a GET", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", Refused(400)),
];

const CODINGS: &[Row] = &[
    (
        "in other letters",
        post!("transfer-encoding: ChUnKeD\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
        Keeps(200, AB),
    ),
    (
        "identity",
        post!("Transfer-Encoding: identity\r\nConnection: close\r\n\r\n"),
        Refused(501),
    ),
    (
        "gzip before it",
        post!("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "gzip behind it",
        post!("Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "twice in a list",
        post!("Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "twice",
        post!("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refused(400),
    ),
    (
        "another behind it",
        post!("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
        Refused(400),
    ),
    (
        "an empty element before",
        post!("Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "an empty element behind",
        post!("Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "a parameter",
        post!("Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "in quotes",
        post!("Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "a letter before",
        post!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        Refused(501),
    ),
    (
        "a vertical tab before",
        post!("Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
        Refused(400),
    ),
    (
        "an empty value",
        post!("Transfer-Encoding:\r\n\r\n"),
        Refused(400),
    ),
    (
        "a blank before the colon",
        post!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        Refused(400),
    ),
    (
        "in HTTP/1.0",
        b"POST /registry/say HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Refused(400),
    ),
    (
        "an underline in its name",
        post!("Transfer_Encoding: chunked\r\nContent-Length: 2\r\n\r\nab"),
        Keeps(200, AB),
    ),
];

const CHUNKS: &[Row] = &[
    ("nothing", chunks!("0\r\n\r\n"), Keeps(200, NOTHING)),
    ("one", chunks!("2\r\nab\r\n0\r\n\r\n"), Keeps(200, AB)),
    ("two", chunks!("1\r\na\r\n1\r\nb\r\n0\r\n\r\n"), Keeps(200, AB)),
    ("sizes in either letters", chunks!("00A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"), Keeps(200, "POST||x|-|01234567890123456789")),
    ("an end of many zeros", chunks!("2\r\nab\r\n0000\r\n\r\n"), Keeps(200, AB)),
    ("an extension", chunks!("2;name=value\r\nab\r\n0;last\r\n\r\n"), Keeps(200, AB)),
    ("a quoted extension", chunks!("2;a=\"b;c\"\r\nab\r\n0\r\n\r\n"), Keeps(200, AB)),
    ("a trailer", chunks!("2\r\nab\r\n0\r\nX-A: late\r\n\r\n"), Keeps(200, AB)),
    ("a trailer that would change the framing", chunks!("2\r\nab\r\n0\r\nContent-Length: 50\r\nTransfer-Encoding: x\r\n\r\n"), Keeps(200, AB)),
    ("a request behind it", chunks!("2\r\nab\r\n0\r\n\r\nGET /ten.txt HTTP/1.0\r\n\r\n"), Answers(&[(200, AB), (200, TEN)])),
    ("chunks to a file", b"GET /ten.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", Keeps(200, TEN)),
    ("no size", chunks!("\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("a blank before the size", chunks!(" 2\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("a blank behind the size", chunks!("2 \r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("a tab behind the size", chunks!("2\t;x\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("a sign", chunks!("+2\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("less than nothing", chunks!("-2\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("0x", chunks!("0x2\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("an underline", chunks!("0_2\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("no digit", chunks!("g\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("a size of 64 bits and one", chunks!("10000000000000002\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("too many zeros", chunks!("00000000000000000002\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("LF behind the size", chunks!("2\nab\r\n0\r\n\r\n"), Refused(400)),
    ("CR behind the size", chunks!("2\rab\r\n0\r\n\r\n"), Refused(400)),
    ("LF behind the data", chunks!("2\r\nab\n0\r\n\r\n"), Refused(400)),
    ("CR behind the data", chunks!("2\r\nab\r0\r\n\r\n"), Refused(400)),
    ("nothing behind the data", chunks!("2\r\nab0\r\n\r\n"), Refused(400)),
    ("more data than said", chunks!("2\r\nabc\r\n0\r\n\r\n"), Refused(400)),
    ("less data than said", chunks!("3\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("LF in an extension", chunks!("2;x\nab\r\n0\r\n\r\n"), Refused(400)),
    ("CR in an extension", chunks!("2;x\ry\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("NUL in an extension", chunks!("2;\0\r\nab\r\n0\r\n\r\n"), Refused(400)),
    ("LF at the end", chunks!("2\r\nab\r\n0\n\n"), Refused(400)),
    ("a trailer that is no field", chunks!("2\r\nab\r\n0\r\nnonsense\r\n\r\n"), Refused(400)),
    ("a blank in a trailer's name", chunks!("2\r\nab\r\n0\r\nX A: 1\r\n\r\n"), Refused(400)),
    ("a folded trailer", chunks!("2\r\nab\r\n0\r\nX-A: 1\r\n 2\r\n\r\n"), Refused(400)),
    ("LF in a trailer", chunks!("2\r\nab\r\n0\r\nX-A: 1\n\r\n"), Refused(400)),
];

#[test]
fn content_lengths_have_the_expected_results() {
    hold(LENGTHS);
}

#[test]
fn transfer_codings_have_the_expected_results() {
    hold(CODINGS);
}

#[test]
fn chunked_bodies_have_the_expected_results() {
    hold(CHUNKS);
}

#[test]
fn endless_extensions_and_trailers_are_refused() {
    let server = crate::server();
    let start = "POST /registry/say HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (name, rest, status) in [
        ("an extension", format!("1;{}", "x".repeat(100_000)), 400),
        ("extensions", "1;x=y\r\na\r\n".repeat(20_000), 400),
        ("a trailer", format!("0\r\nX: {}", "x".repeat(300_000)), 431),
        (
            "trailers",
            format!("0\r\n{}", "X: 1\r\n".repeat(20_000)),
            431,
        ),
        ("a size", "0".repeat(100_000), 400),
    ] {
        let mut connection = server.connect();
        connection.write(start.as_bytes()).write(rest.as_bytes());
        let answer = connection.read_answer("POST");
        let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answer.status, status, "{name}");
        assert!(connection.is_closed_by_server(), "{name}");
    }
}

/// A request has the same meaning if it arrives in two pieces, wherever it is cut.
#[test]
fn request_in_two_pieces_has_the_same_meaning() {
    let server = crate::server();
    let whole = chunks!("2;x=1\r\nab\r\n0\r\nX-T: 1\r\n\r\n");
    for at in 1..whole.len() {
        let mut connection = server.connect();
        connection.write(&whole[..at]);
        std::thread::yield_now();
        connection.write(&whole[at..]);
        let answer = connection.read_answer("POST");
        let answer = answer.unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        assert_eq!(answer.expect(200), AB, "cut at {at}");
    }
}
