//! Tests HTTP/1 with a client: framing, persistence, pipelining, expectations.

mod stand;

use stand::Stand;

#[test]
fn a_connection_is_kept_as_its_version_means() {
    let stand = Stand::plain();
    let rows = [
        ("HTTP/1.1", "", true),
        ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: x, CLOSE\r\n", false),
        ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: keep-alive\r\n", true),
        ("HTTP/1.0", "Connection: Keep-Alive, close\r\n", false),
    ];
    for path in ["/file.txt", "/hello.pl", "/unsized.pl", "/nothing"] {
        for (version, connection, kept) in rows {
            let mut client = stand.client();
            let request = format!("GET {path} {version}\r\nHost: a\r\n{connection}\r\n");
            let response = client.ask(&request);
            let says = response.field("connection");
            match (kept, version) {
                (true, "HTTP/1.0") => assert_eq!(says, Some("keep-alive"), "{request}"),
                (true, _) => assert_eq!(says, None, "{request}"),
                (false, _) => assert_eq!(says, Some("close"), "{request}"),
            }
            if kept {
                assert_eq!(client.ask(&request).status, response.status)
            } else {
                client.expect_close()
            }
        }
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let mut requests = String::new();
    for number in 0..200 {
        requests += &match number % 4 {
            0 => format!("GET /echo.pl?{number} HTTP/1.1\r\nHost: a\r\n\r\n"),
            1 => "GET /file.txt HTTP/1.1\r\nHost: a\r\n\r\n".to_string(),
            2 => format!(
                "POST /echo.pl?{number} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
            ),
            _ => format!(
                "POST /echo.pl?{number} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n0\r\n\r\n"
            ),
        };
    }
    client.send(requests);
    for number in 0..200 {
        let response = client.response(false);
        assert_eq!(response.status, 200);
        match number % 4 {
            1 => assert_eq!(response.text(), "0123456789"),
            kind => {
                let text = response.text();
                assert!(text.contains(&format!("query {number}\n")), "{text}");
                assert_eq!(text.contains("memory 3 "), kind != 0, "{text}");
            }
        }
    }
}

#[test]
fn a_client_that_half_closes_is_still_answered() {
    let stand = Stand::plain();
    for path in ["/file.txt", "/hello.pl", "/stream.pl"] {
        let mut client = stand.client();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.half_close();
        assert_eq!(client.response(false).status, 200, "{path}");
        client.expect_close();
    }
}

#[test]
fn a_body_is_invited_only_when_it_is_wanted() {
    let stand = Stand::new(|site| site.main.base.limits.body = 1000);
    let mut client = stand.client();
    let head = |path: &str, length: usize| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    client.send(head("/echo.pl", 4));
    assert_eq!(client.head().0, 100);
    client.send("body");
    assert!(client.response(false).text().contains("memory 4 "));
    client.send(head("/echo.pl", 4) + "body");
    assert_eq!(client.head().0, 200, "the body was there already");
    for (path, length, status) in [
        ("/echo.pl", 1001, 413),
        ("/file.txt", 4, 200),
        ("/none", 4, 404),
    ] {
        let mut client = stand.client();
        client.send(head(path, length));
        let (answered, said) = client.head();
        assert_eq!(answered, status, "{path}");
        assert!(said.contains("Connection: close"), "{said}");
    }
}

#[test]
fn bodies_of_every_size_arrive_whole() {
    let stand = Stand::new(|site| site.main.base.limits.body = 0);
    for length in [1, 4095, 4096, 65535, 65536, 65537, 300_000, 2_000_000] {
        let body: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
        let sum = stand::pool::sum(&body);
        let kind = if length > 65536 { "file" } else { "memory" };
        let expected = format!("{kind} {length} {sum:x}\n");
        let mut client = stand.client();
        client.send(format!(
            "POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
        ));
        client.send(&body);
        let text = client.response(false).text();
        assert!(text.ends_with(&expected), "{length}: {text}");
        client.send("POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for chunk in body.chunks(7000) {
            client.send(format!("{:x}\r\n", chunk.len()));
            client.send(chunk);
            client.send("\r\n");
        }
        client.send("0\r\nTrailer: x\r\n\r\n");
        let text = client.response(false).text();
        assert!(text.ends_with(&expected), "{length} in chunks: {text}");
        assert_eq!(
            client.get("/file.txt").text(),
            "0123456789",
            "the connection goes on"
        );
    }
}

#[test]
fn a_refused_body_still_lets_the_client_read_why() {
    let stand = Stand::new(|site| site.main.base.limits.body = 1000);
    let mut client = stand.client();
    client.send("POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
    client.send(vec![b'x'; 2_000_000]);
    let response = client.response(false);
    assert_eq!(
        (response.status, response.field("connection")),
        (413, Some("close"))
    );
    client.expect_close();
}

#[test]
fn a_small_body_that_nobody_reads_keeps_the_connection() {
    let stand = Stand::plain();
    let mut client = stand.client();
    for (method, status, allow) in [
        ("PUT", 405, Some("GET, HEAD, POST, OPTIONS")),
        ("POST", 200, None),
    ] {
        let request =
            format!("{method} /file.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
        let response = client.ask(&request);
        assert_eq!((response.status, response.field("allow")), (status, allow));
    }
    assert_eq!(client.get("/file.txt").status, 200);
}

#[test]
fn head_says_what_get_would_and_sends_no_body() {
    let stand = Stand::plain();
    let mut client = stand.client();
    for path in [
        "/file.txt",
        "/hello.pl",
        "/unsized.pl",
        "/stream.pl",
        "/nothing",
        "/large.bin",
    ] {
        let got = client.get(path);
        let asked = client.ask(&format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(asked.status, got.status);
        assert_eq!(
            asked.field("content-length"),
            got.field("content-length"),
            "{path}"
        );
        assert_eq!(
            asked.field("content-type"),
            got.field("content-type"),
            "{path}"
        );
    }
}

#[test]
fn responses_gathered_for_a_pipeline_outgrow_no_buffer() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let requests = "GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n".repeat(5);
    client.send(requests);
    for _ in 0..5 {
        assert_eq!(client.response(false).body.len(), 3_000_000);
    }
}

#[test]
fn a_unix_socket_is_served_as_well() {
    use mehari_front::{Front, Listener, Stop};
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file.txt"), "over a path").expect("written");
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
    let site = std::sync::Arc::new(stand::site::site(folder.path()));
    let (stop, stopped) = tokio::sync::watch::channel(Stop::No);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let journal = std::rc::Rc::new(stand::Logged::default());
        let front = Front::new(
            site,
            stand::pool::StandIn::default(),
            stand::cgi(),
            vec![Listener::from(listener)],
            journal,
        );
        runtime
            .expect("a runtime")
            .block_on(front.run(stopped))
            .expect("it runs");
    });
    let mut client = std::os::unix::net::UnixStream::connect(&path).expect("it listens");
    client
        .write_all(b"GET /file.txt HTTP/1.0\r\n\r\n")
        .expect("sent");
    let mut said = String::new();
    client.read_to_string(&mut said).expect("an answer");
    assert!(
        said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("over a path"),
        "{said}"
    );
    stop.send(Stop::Gracefully).expect("a front");
    thread.join().expect("no panic");
}
