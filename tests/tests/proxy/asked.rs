//! Tests the request to a back end, and the response to the client.

use crate::builder;
use mehari_harness::back_end::answer;
use mehari_harness::{apache, needs, BackEnd, Request, Server};
use std::io::Write;
use std::process::Command;

#[test]
fn back_end_gets_its_own_path_and_the_clients_address() {
    let back_end = BackEnd::start(|heard, stream| {
        let text = format!("{}body {}", heard.head, heard.body.len());
        stream.write_all(&answer(&text)).is_ok()
    });
    let url = back_end.url();
    let server = builder(&format!(
        "ProxyPass /app/no !\nProxyPass /app/ {url}/inner/\n\
         <Location /kept>\nProxyPass {url}\nProxyPreserveHost On\nProxyForwarded replace\n</Location>\n\
         <Location /ruled>\nRequestHeader set X-Role guest\nProxyPass {url}\n</Location>\n\
         ProxyPassMatch ^/old/(\\w+)$ {url}/new/$1\n"
    ))
    .file("htdocs/app/no", "a file")
    .start();
    let said = server
        .send(
            &Request::get("/app/a%20b/c;d?q=%2F")
                .field("X-Forwarded-For", "10.1.1.1")
                .field("Keep-Alive", "5")
                .field("X-Hop", "gone")
                .field("Connection", "x-hop-not, Hop")
                .field("Hop", "gone too")
                .field("Connection", "close, Second")
                .field("Second", "gone as well")
                .field("Connection", "X-Named, Cookie,authorization , content-type")
                .field("X-Named", "gone")
                .field("Cookie", "gone=1")
                .field("Authorization", "Basic YTph")
                .field("Content-Type", "text/gone")
                .field("Proxy", "http://evil/"),
        )
        .expect(200);
    assert!(
        said.starts_with("GET /inner/a%20b/c;d?q=%2F HTTP/1.1\r\n"),
        "{said}"
    );
    let host = format!("Host: {}\r\n", back_end.address);
    assert!(said.contains(&host), "{said}");
    assert!(
        said.contains("X-Forwarded-For: 10.1.1.1, 127.0.0.1\r\n"),
        "{said}"
    );
    assert!(said.contains("X-Forwarded-Proto: http\r\n"), "{said}");
    for gone in [
        "Keep-Alive",
        "\nHop",
        "\nSecond",
        "\nX-Named",
        "\nCookie",
        "\nAuthorization",
        "\nContent-Type",
        "Proxy:",
        "Connection",
    ] {
        assert!(!said.contains(gone), "{gone}: {said}");
    }
    let said = server
        .send(&Request::get("/kept/x").field("X-Forwarded-For", "10.1.1.1"))
        .expect(200);
    assert!(said.starts_with("GET /x HTTP/1.1\r\n"), "{said}");
    assert!(
        said.contains(&format!("Host: {}\r\n", server.address)),
        "{said}"
    );
    assert!(said.contains("X-Forwarded-For: 127.0.0.1\r\n"), "{said}");
    // A client cannot remove what the configuration sets.
    let role = Request::get("/ruled/x")
        .field("X-Role", "admin")
        .field("Connection", "X-Role, X-Forwarded-For");
    let said = server.send(&role).expect(200);
    assert!(said.contains("X-Role: guest\r\n"), "{said}");
    assert!(said.contains("X-Forwarded-For: 127.0.0.1\r\n"), "{said}");
    assert!(server
        .get("/old/page")
        .expect(200)
        .starts_with("GET /new/page "));
    assert_eq!(server.get("/app/no").expect(200), "a file");
    let large = vec![b'x'; 3_000_000];
    let said = server
        .send(&Request::post("/app/", large).chunked())
        .expect(200);
    assert!(said.ends_with("body 3000000"), "{said}");
    assert!(said.contains("Content-Length: 3000000\r\n"), "{said}");
    drop(back_end);
}

#[test]
fn connections_are_kept_and_bodiless_answers_leave_them_usable() {
    let back_end = BackEnd::start(|heard, stream| {
        let said: &[u8] = match heard.head.split(' ').nth(1) {
            Some("/none") => b"HTTP/1.1 204 No Content\r\n\r\n",
            Some("/same") => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
            _ if heard.head.starts_with("HEAD") => b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
            Some("/chunks") => {
                b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: y\r\n\r\n"
            }
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: 5\r\nConnection: X-Own\r\nConnection: keep-alive\r\nX-Own: 1\r\n\r\nok",
        };
        stream.write_all(said).is_ok()
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let mut client = server.connect();
    for (method, target, status, body) in [
        ("GET", "/", 200, "ok"),
        ("HEAD", "/", 200, ""),
        ("GET", "/none", 204, ""),
        ("GET", "/same", 304, ""),
        ("GET", "/chunks", 200, "abc"),
        ("GET", "/", 200, "ok"),
    ] {
        let answer = client
            .send(&Request::new(method, target))
            .expect("an answer");
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{method} {target}"
        );
        assert_eq!(answer.field("keep-alive"), None);
        assert_eq!(answer.field("x-own"), None);
        if target == "/chunks" {
            assert_eq!(answer.interim, [103]);
        }
    }
    assert_eq!(back_end.connections(), 1, "one connection served all");
    drop(back_end);
}

#[test]
fn fields_that_name_the_back_end_are_rewritten_and_its_errors_replaced() {
    let back_end = BackEnd::start(|heard, stream| {
        let host = heard.field("host").unwrap_or_default();
        let said = match heard.head.split(' ').nth(1) {
            Some("/missing") => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nmine".to_string(),
            _ => format!("HTTP/1.1 302 Found\r\nLocation: http://{host}/x?y\r\nSet-Cookie: a=b; Path=/z\r\nContent-Length: 0\r\n\r\n"),
        };
        stream.write_all(said.as_bytes()).is_ok()
    });
    let url = back_end.url();
    let server = builder(&format!(
        "ProxyPass /app {url}\nProxyPassReverse /app {url}\nProxyPassReverseCookiePath / /app/\nProxyErrorOverride On 404\nErrorDocument 404 \"ours\"\n"
    ))
    .start();
    let answer = server.get("/app/moved");
    assert_eq!(answer.field("location").as_deref(), Some("/app/x?y"));
    assert_eq!(
        answer.field("set-cookie").as_deref(),
        Some("a=b; Path=/app/")
    );
    assert_eq!(server.get("/app/missing").expect(404), "ours");
    drop(back_end);
}

#[test]
fn request_with_perl_handlers_reaches_the_back_end_with_its_body() {
    let back_end = BackEnd::start(|heard, stream| {
        let sum: usize = heard.body.iter().map(|&byte| usize::from(byte)).sum();
        stream
            .write_all(&answer(&format!("{} {sum}", heard.body.len())))
            .is_ok()
    });
    let module = "package Door;\nuse Apache2::Const -compile => qw(OK FORBIDDEN);\n\
        sub look { $_[0]->method eq 'PUT' ? Apache2::Const::FORBIDDEN : Apache2::Const::OK }\n1;\n";
    let server = builder(&format!(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Door\nProxyPass /app {}\n\
         <Location /app>\nPerlAccessHandler Door::look\n</Location>\n",
        back_end.url()
    ))
    .file("lib/Door.pm", module)
    .start();
    for size in [1, 1000, 300_000] {
        let request = Request::post("/app/x", vec![3; size]);
        let expected = format!("{size} {}", 3 * size);
        assert_eq!(server.send(&request).expect(200), expected);
    }
    assert_eq!(server.get("/app/x").expect(200), "0 0");
    assert_eq!(
        server.send(&Request::new("PUT", "/app/x").body("x")).status,
        403
    );
    drop(back_end);
}

/// A Content-Length in an interim response breaks a stream of HTTP/2.
#[test]
fn interim_response_has_no_content_length() {
    needs!("curl");
    let back_end = BackEnd::saying(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 5\r\nKeep-Alive: 5\r\n\r\n\
          HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    );
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    for protocol in ["--http1.1", "--http2-prior-knowledge"] {
        let url = format!("http://{}/", server.address);
        let output = Command::new("curl")
            .args(["-si", "-m", "60", protocol, &url])
            .output();
        let output = output.expect("curl runs").stdout;
        let said = String::from_utf8_lossy(&output).to_lowercase();
        let (interim, rest) = said.split_once("\r\n\r\n").unwrap_or_default();
        assert!(interim.contains(" 103"), "{protocol}: {said}");
        assert!(interim.contains("link: </a>"), "{protocol}: {said}");
        assert!(!interim.contains("content-length"), "{protocol}: {said}");
        assert!(!interim.contains("keep-alive"), "{protocol}: {said}");
        assert!(
            rest.contains(" 200") && rest.ends_with("ok"),
            "{protocol}: {said}"
        );
    }
    drop(back_end);
}

#[test]
fn client_that_expects_100_gets_it_before_the_response() {
    needs!("curl");
    let back_end = BackEnd::start(|heard, stream| {
        let text = format!("body {}", heard.body.len());
        stream.write_all(&answer(&text)).is_ok()
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    for protocol in ["--http1.1", "--http2-prior-knowledge"] {
        let url = format!("http://{}/", server.address);
        let output = Command::new("curl")
            .args(["-si", "-m", "60", protocol, &url])
            .args(["-H", "Expect: 100-continue", "--data", "a body"])
            .output();
        let output = output.expect("curl runs").stdout;
        let said = String::from_utf8_lossy(&output);
        assert!(said.contains(" 100"), "{protocol}: {said}");
        assert!(said.ends_with("body 6"), "{protocol}: {said}");
    }
    drop(back_end);
}

#[test]
fn a_length_that_is_impossible_is_answered_502_as_in_apache() {
    let back_end = BackEnd::start(|request, stream| {
        let target = request.head.split(' ').nth(1).unwrap_or_default();
        let length = target.trim_start_matches('/');
        let text =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\nok");
        let _ = stream.write_all(text.as_bytes());
        false
    });
    let url = back_end.url();
    let servers = apache::beside(|| Server::builder().conf(&format!("ProxyPass /back {url}\n")));
    for server in servers {
        for (length, status) in [
            ("2", 200),
            ("18446744073709551615", 502),
            ("9223372036854775808", 502),
            ("99999999999999999999999", 502),
            ("-1", 502),
            ("+2", 502),
            ("two", 502),
            ("0x2", 502),
        ] {
            let answer = server.get(&format!("/back/{length}"));
            assert_eq!(answer.status, status, "{length}");
        }
    }
}
