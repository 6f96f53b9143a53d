//! Tests requests that Perl answers: the input of a script, and the response from its output.

mod stand;

use stand::client::eventually;
use stand::Stand;

#[test]
fn a_program_is_given_the_request_without_what_could_mislead_it() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let text = client
        .ask(
            "GET /echo.pl/a%20b//c?x=%20y HTTP/1.1\r\nHost: front.example:81\r\nProxy: evil\r\n\
             X_Y: 1\r\nX-Y: 2\r\nX-y: 3\r\nConnection: keep-alive, X-Y\r\nTE: trailers\r\n\
             Keep-Alive: 5\r\nCookie: a=b\r\nAuthorization: Basic x\r\n\r\n",
        )
        .text();
    assert_eq!(
        text,
        "method GET\ntarget /echo.pl/a%20b//c?x=%20y\nscript /echo.pl\ninfo /a b/c\nquery x=%20y\n\
         server front.example\nHost: front.example:81\nX-Y: 2\nX-y: 3\nCookie: a=b\n\
         Authorization: Basic x\nno body\n"
    );
    let text = client
        .ask("GET http://other/echo.pl HTTP/1.1\r\nHost: front.example\r\n\r\n")
        .text();
    assert!(text.contains("target /echo.pl\n"), "{text}");
    assert!(text.contains("server other\nHost: other\n"), "{text}");
}

#[test]
fn many_fields_all_arrive() {
    let stand = Stand::plain();
    let fields: String = (0..90)
        .map(|number| format!("X-{number}: {number}\r\n"))
        .collect();
    let request = format!("GET /echo.pl HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let text = stand.client().ask(&request).text();
    for number in 0..90 {
        assert!(text.contains(&format!("X-{number}: {number}\n")), "{text}");
    }
}

#[test]
fn what_a_program_says_is_framed_for_the_client() {
    let stand = Stand::plain();
    let rows = [
        ("/hello.pl", "HTTP/1.1", "hello\n", Some("6"), None),
        ("/unsized.pl", "HTTP/1.1", "hello\n", Some("6"), None),
        ("/unsized.pl", "HTTP/1.0", "hello\n", Some("6"), None),
        (
            "/stream.pl",
            "HTTP/1.1",
            "one two three\n",
            None,
            Some("chunked"),
        ),
        ("/stream.pl", "HTTP/1.0", "one two three\n", None, None),
        ("/long.pl", "HTTP/1.1", "hel", Some("3"), None),
        ("/nobody.pl", "HTTP/1.1", "", None, None),
    ];
    for (path, version, body, length, coding) in rows {
        let mut client = stand.client();
        let response = client.ask(&format!("GET {path} {version}\r\nHost: a\r\n\r\n"));
        assert_eq!(response.text(), body, "{path} {version}");
        assert_eq!(response.field("content-length"), length, "{path} {version}");
        assert_eq!(
            response.field("transfer-encoding"),
            coding,
            "{path} {version}"
        );
    }
    assert!(stand
        .errors()
        .contains("/long.pl: the program sent more than its Content-Length"));
}

#[test]
fn a_large_response_arrives_whole_and_in_order() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let body = client.get("/big.pl").body;
    assert_eq!(body.len(), 64 * 65536);
    assert!(body.chunks(16).all(|line| line == b"0123456789abcdef"));
}

#[test]
fn a_response_that_is_cut_off_ends_its_connection() {
    let stand = Stand::plain();
    for (path, remark) in [
        ("/short.pl", "the program sent less than its Content-Length"),
        ("/half.pl", "cut off within its response: the worker died"),
    ] {
        let mut client = stand.client();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let rest = String::from_utf8(client.rest()).expect("text");
        assert!(rest.starts_with("HTTP/1.1 200 OK\r\n"), "{rest}");
        assert!(!rest.contains("\r\n0\r\n"), "no end was feigned: {rest}");
        assert!(
            stand.errors().contains(&format!("{path}: {remark}")),
            "{}",
            stand.errors()
        );
    }
}

#[test]
fn a_header_line_that_splits_the_response_is_answered_500() {
    let stand = Stand::plain();
    let response = stand.client().get("/split.pl");
    assert_eq!(response.status, 500);
    assert!(!response.head.contains("Evil"), "{}", response.head);
    assert!(stand
        .errors()
        .contains("/split.pl: the program's response has a line feed inside"));
}

#[test]
fn faults_have_their_status() {
    let stand = Stand::plain();
    let mut client = stand.client();
    assert_eq!(client.get("/died.pl").status, 502);
    let busy = client.get("/busy.pl");
    assert_eq!((busy.status, busy.field("retry-after")), (503, Some("1")));
    assert_eq!(
        client.get("/file.txt").status,
        200,
        "files are served all the same"
    );
    let page = client.ask("GET /died.pl HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n");
    assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
}

#[test]
fn a_client_that_resets_takes_its_request_with_it() {
    let stand = Stand::plain();
    let mut client = stand.client();
    client.send("GET /silent.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the request is under way", || {
        stand.stats().active_requests == 1
    });
    let no_time = rustix::net::sockopt::set_socket_linger;
    no_time(&client.socket, Some(std::time::Duration::ZERO)).expect("a socket");
    drop(client);
    eventually("the request is given up", || {
        stand.stats().active_requests == 0
    });
    stand.wait_for_access("499 GET /silent.pl");
}

#[test]
fn a_client_that_ends_while_its_request_waits_in_the_queue_is_given_up() {
    let stand = Stand::plain();
    let mut client = stand.client();
    client.send("GET /queued.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    client.half_close();
    stand.wait_for_access("499 GET /queued.pl");
    client.expect_close();
}

#[test]
fn an_error_document_takes_the_place_of_the_page() {
    let stand = Stand::new(|site| {
        site.main.base.error_documents = vec![
            (404, "Nothing here".into()),
            (502, "/folder/inside.html".into()),
            (503, "https://status.example/".into()),
        ];
    });
    let mut client = stand.client();
    let missing = client.get("/none.txt");
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (404, "Nothing here")
    );
    let died = client.get("/died.pl");
    assert_eq!((died.status, died.text().as_str()), (502, "inside\n"));
    let busy = client.get("/busy.pl");
    assert_eq!(
        (busy.status, busy.field("location")),
        (302, Some("https://status.example/"))
    );
}

#[test]
fn a_local_redirect_is_followed_within_the_server() {
    let stand = Stand::plain();
    let request = "POST /away.pl/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    let mut client = stand.client();
    let text = client.ask(request).text();
    assert_eq!(
        text,
        "method GET\ntarget /away.pl/x?y\nscript /echo.pl\ninfo /info\nquery from=away\n\
         server a\nREDIRECT_STATUS=200\nREDIRECT_URL=/away.pl/x\nREDIRECT_QUERY_STRING=y\nHost: a\nno body\n"
    );
    assert_eq!(client.get("/circle.pl").status, 500);
    assert!(stand
        .errors()
        .contains("/circle.pl: redirected within the server too often"));
    assert_eq!(client.get("/file.txt").status, 200);
}

#[test]
fn an_error_document_may_be_a_program_and_keeps_the_status() {
    let stand = Stand::new(|site| {
        site.main.base.error_documents =
            vec![(404, "/echo.pl?missing".into()), (502, "/died.pl".into())];
    });
    let mut client = stand.client();
    let missing = client.get("/none.txt?x");
    assert_eq!(missing.status, 404);
    let text = missing.text();
    assert!(
        text.contains("REDIRECT_STATUS=404\nREDIRECT_URL=/none.txt\n"),
        "{text}"
    );
    assert!(text.contains("query missing\n"), "{text}");
    assert_eq!(client.get("/died.pl").status, 502, "no circle");
}

#[test]
fn a_response_cut_off_before_its_close_ends_in_a_reset() {
    use std::io::Read;
    let stand = Stand::plain();
    let mut client = stand.client();
    client.send("GET /half.pl HTTP/1.0\r\n\r\n");
    let mut said = Vec::new();
    let end = client.socket.read_to_end(&mut said);
    let end = end.expect_err("a close that says all is well");
    assert_eq!(end.kind(), std::io::ErrorKind::ConnectionReset);
    client = stand.client();
    client.send("GET /stream.pl HTTP/1.0\r\n\r\n");
    let end = client.socket.read_to_end(&mut said);
    end.expect("a normal close of a complete response");
}

#[test]
fn early_hints_come_before_the_response() {
    let stand = Stand::plain();
    let mut client = stand.client();
    client.send("GET /hints.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    let (status, head) = client.head();
    assert_eq!(status, 103);
    assert!(
        head.contains("\r\nLink: </style.css>; rel=preload\r\n\r\n"),
        "{head}"
    );
    assert_eq!(client.response(false).text(), "hello\n");
    client.send("GET /hints.pl HTTP/1.0\r\n\r\n");
    assert_eq!(client.head().0, 200);
}
