use super::*;

fn response(block: &str) -> Head {
    match parse(block.as_bytes(), Form::Parsed) {
        Ok(ScriptHead::Response(head)) => head,
        other => panic!("{block:?} is {other:?}"),
    }
}

fn refused(block: &[u8]) -> Malformed {
    parse(block, Form::Parsed).expect_err("refused")
}

#[test]
fn the_end_is_found_however_the_block_arrives() {
    for block in [
        "A: 1\nB: 2\n\n",
        "A: 1\r\nB: 2\r\n\r\n",
        "A: 1\nB: 2\n\r\n",
        "\n",
        "\r\n",
    ] {
        let bytes = [block.as_bytes(), b"body\n\nmore"].concat();
        let mut from = 0;
        for arrived in 0..=bytes.len() {
            let found = end(&bytes[..arrived], from);
            let expected = (arrived >= block.len()).then_some(block.len());
            assert_eq!(found, expected, "{block:?} after {arrived}");
            if found.is_none() {
                from = arrived;
            }
        }
    }
}

#[test]
fn a_plain_block_becomes_lines_and_status_200() {
    let head = response("Content-Type: text/html\nX-A:b\nX-A:  c \t\nEmpty:\n\n");
    assert_eq!(head.status, 200);
    assert_eq!(
        head.lines,
        b"Content-Type: text/html\r\nX-A: b\r\nX-A: c\r\nEmpty: \r\n"
    );
    assert_eq!(head.content_length, None);
    assert!(!head.has_date && !head.has_server);
}

#[test]
fn status_lengths_and_names_are_read_in_any_case() {
    let head =
        response("STATUS: 404 Not Found\r\ncontent-length: 12\r\ndate: x\r\nserver: y\r\n\r\n");
    assert_eq!((head.status, head.content_length), (404, Some(12)));
    assert!(head.has_date && head.has_server);
    assert_eq!(
        head.lines,
        b"content-length: 12\r\ndate: x\r\nserver: y\r\n"
    );
    assert_eq!(response("Status: 599\n\n").status, 599);
    assert_eq!(response("\n").status, 200);
}

#[test]
fn a_location_redirects() {
    let head = response("Location: http://example.test/\n\n");
    assert_eq!(head.status, 302);
    assert_eq!(head.lines, b"Location: http://example.test/\r\n");
    assert_eq!(response("Location: next.html\n\n").status, 302);
    let made = response("Status: 201 Created\nLocation: /made/1\n\n");
    assert_eq!(
        (made.status, &made.lines[..]),
        (201, &b"Location: /made/1\r\n"[..])
    );
    let local = parse(b"Location: /other?a=1\nX: y\n\n", Form::Parsed);
    assert_eq!(
        local,
        Ok(ScriptHead::LocalRedirect {
            target: b"/other?a=1".to_vec(),
            lines: b"X: y\r\n".to_vec(),
        })
    );
}

#[test]
fn fields_about_the_connection_are_dropped() {
    let head = response(
        "Connection: close\nKeep-Alive: 5\nTransfer-Encoding: identity\nUpgrade: x\nA: b\n\n",
    );
    assert_eq!(head.lines, b"A: b\r\n");
    let chunked = refused(b"Transfer-Encoding: chunked\n\n");
    assert_eq!(chunked, Malformed::TransferEncoding(b"chunked".to_vec()));
}

#[test]
fn a_status_line_is_read_with_and_without_nph() {
    let block = b"HTTP/1.0 403 Forbidden\r\nConnection: close\r\nA: b\r\n\r\n";
    for form in [Form::Parsed, Form::StatusLine] {
        let Ok(ScriptHead::Response(head)) = parse(block, form) else {
            panic!("refused as {form:?}");
        };
        assert_eq!((head.status, &head.lines[..]), (403, &b"A: b\r\n"[..]));
    }
    let missing = parse(b"A: b\n\n", Form::StatusLine);
    assert_eq!(missing, Err(Malformed::NoStatusLine(b"A: b".to_vec())));
    assert!(parse(b"\n", Form::StatusLine).is_err());
    let located = parse(b"HTTP/1.1 200 OK\nLocation: /a\n\n", Form::StatusLine);
    assert!(matches!(located, Ok(ScriptHead::Response(head)) if head.status == 200));
}

#[test]
fn a_line_that_is_no_header_field_is_refused_with_its_text() {
    for line in [
        "hello",
        "<html>",
        ": no name",
        "A B: c",
        "A : c",
        " A: c",
        "Ä: c",
        "A\0: c",
    ] {
        let block = format!("{line}\n\n");
        assert_eq!(
            refused(block.as_bytes()),
            Malformed::Line(line.as_bytes().to_vec())
        );
    }
    for value in ["a\rb", "a\0b", "a\x1bb", "a\x7fb"] {
        let block = format!("X-A: {value}\n\n");
        assert_eq!(
            refused(block.as_bytes()),
            Malformed::Control(b"X-A".to_vec())
        );
    }
    assert_eq!(
        response("X: caf\u{e9}\tx\n\n").lines,
        "X: caf\u{e9}\tx\r\n".as_bytes()
    );
}

#[test]
fn the_last_of_repeated_fields_counts_and_a_repeated_length_is_refused() {
    let head = response("Content-Type: a/b\nX: 1\ncontent-type: c/d\nStatus: 404\nStatus: 410\n\n");
    assert_eq!(head.lines, b"X: 1\r\ncontent-type: c/d\r\n");
    assert_eq!(head.status, 410);
    let head =
        response("Location: http://a/\nSet-Cookie: 1\nSet-Cookie: 2\nLocation: http://b/\n\n");
    assert_eq!(
        head.lines,
        b"Set-Cookie: 1\r\nSet-Cookie: 2\r\nLocation: http://b/\r\n"
    );
    assert_eq!(response("HTTP/1.1 200 OK\nStatus: 404\n\n").status, 404);
    let block = b"Content-Length: 1\ncontent-length: 2\n\n";
    assert_eq!(refused(block), Malformed::Twice("Content-Length"));
}

#[test]
fn an_invalid_status_or_length_is_refused() {
    for status in [
        "",
        "20",
        "2000",
        "abc",
        "199",
        "600",
        "100 Continue",
        "-20",
        "200x",
    ] {
        let block = format!("Status: {status}\n\n");
        assert_eq!(
            refused(block.as_bytes()),
            Malformed::Status(status.as_bytes().to_vec())
        );
    }
    for length in ["", "-1", "+1", "1 2", "0x10", "99999999999999999999"] {
        let block = format!("Content-Length: {length}\n\n");
        assert_eq!(
            refused(block.as_bytes()),
            Malformed::ContentLength(length.as_bytes().to_vec())
        );
    }
    for line in ["HTTP/1.1", "HTTP/ 200", "HTTP/1.1 OK", "HTTP/x 200 OK"] {
        let block = format!("{line}\n\n");
        assert!(
            matches!(refused(block.as_bytes()), Malformed::Status(_)),
            "{line}"
        );
    }
}

#[test]
fn a_block_that_is_too_long_is_refused() {
    let fit = format!("A: {}\n\n", "x".repeat(LONGEST - 5));
    assert_eq!(response(&fit).lines.len(), LONGEST);
    let long = format!("A: {}\n\n", "x".repeat(LONGEST - 4));
    assert_eq!(refused(long.as_bytes()), Malformed::TooLarge);
}

#[test]
fn a_refusal_says_what_was_expected() {
    let text = refused(b"hello, world\n\n").to_string();
    assert_eq!(text, "expected `Name: value`, got `hello, world`");
}
