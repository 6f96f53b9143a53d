//! Tests malformed and hostile requests to a real script. The server answers 4xx and closes the
//! connection, and never hangs.

use mehari_harness::{against_apache, Request, Rung, Server};

const ENVIRONMENT: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\nprint map { \"$_=$ENV{$_}\\n\" } sort keys %ENV;\n";

fn server() -> Server {
    Server::builder()
        .file("scripts/env.pl", ENVIRONMENT)
        .file("scripts/data.txt", "a file beside the scripts\n")
        .file("htdocs/inside.txt", "inside\n")
        .file("outside.txt", "SECRET\n")
        .file("htdocs/.hidden", "SECRET\n")
        .ladder()
        .conf("<Location />\n    Require all granted\n</Location>\n")
        .start()
}

/// Requests that every server must refuse. `@` stands for the script's URL.
const REFUSED: &[(&str, &[u8])] = &[
    ("both lengths", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("two differing lengths", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhelloo"),
    ("a list of differing lengths", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 6\r\n\r\nhelloo"),
    ("a negative length", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
    ("a signed length", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello"),
    ("a length beyond counting", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n"),
    ("a hexadecimal length", b"POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nhello"),
    ("chunk size that is no number", b"POST @ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"),
    ("chunk size beyond counting", b"POST @ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n"),
    ("a signed chunk size", b"POST @ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"),
    ("chunk without its end", b"POST @ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n"),
    ("an unknown coding", b"POST @ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\nhello"),
    ("chunked that is not last", b"POST @ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    ("a folded field", b"GET @ HTTP/1.1\r\nHost: x\r\nX-A: one\r\n two\r\n\r\n"),
    ("space before the colon", b"GET @ HTTP/1.1\r\nHost : x\r\n\r\n"),
    ("space in a name", b"GET @ HTTP/1.1\r\nHost: x\r\nX A: 1\r\n\r\n"),
    ("field without a colon", b"GET @ HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n"),
    ("empty name", b"GET @ HTTP/1.1\r\nHost: x\r\n: 1\r\n\r\n"),
    ("NUL in a value", b"GET @ HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n"),
    ("NUL in the target", b"GET @?a\0b HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("encoded NUL in the path", b"GET @%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("bare CR in a value", b"GET @ HTTP/1.1\r\nHost: x\r\nX-A: a\rX-B: b\r\n\r\n"),
    ("no method", b" @ HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("no version", b"GET @ HTTP/x.y\r\nHost: x\r\n\r\n"),
    ("two spaces", b"GET  @ HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("no host", b"GET @ HTTP/1.1\r\n\r\n"),
    ("two hosts", b"GET @ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
    ("broken percent", b"GET @/%zz HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("cut percent", b"GET @/%4 HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("TLS where there is none", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
];

#[test]
fn malformed_request_gets_4xx_and_a_closed_connection() {
    let server = server();
    let mut wrong = Vec::new();
    for rung in [Rung::Cgi, Rung::Registry] {
        for (name, bytes) in REFUSED {
            let text = replace(bytes, &rung.url("env.pl"));
            let mut connection = server.connect();
            connection.write(&text);
            connection.half_close();
            match connection.read_answer("GET") {
                Ok(answer) if (400..600).contains(&answer.status) && answer.status != 500 => {
                    if !connection.is_closed_by_server() {
                        wrong.push(format!(
                            "{name}: {} but the connection stays",
                            answer.status
                        ));
                    }
                }
                Ok(answer) => wrong.push(format!("{name}: {} {:?}", answer.status, answer.text())),
                // Closing without a response is no refusal, because the client does not learn the
                // reason.
                Err(error) => wrong.push(format!("{name}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn replace(bytes: &[u8], url: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in bytes {
        match byte {
            b'@' => out.extend_from_slice(url.as_bytes()),
            _ => out.push(byte),
        }
    }
    out
}

#[test]
fn body_smuggled_behind_two_lengths_is_never_a_request() {
    let server = server();
    for framing in [
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\nContent-Length: 4\r\n",
    ] {
        let mut connection = server.connect();
        let smuggled = "5c\r\nGET /registry/env.pl?SMUGGLED HTTP/1.1\r\nHost: x\r\n\r\n0\r\n\r\n";
        connection.write(
            format!("POST /registry/env.pl HTTP/1.1\r\nHost: x\r\n{framing}\r\n{smuggled}")
                .as_bytes(),
        );
        connection.half_close();
        while connection.fill().expect("no hang") > 0 {}
        let text = String::from_utf8_lossy(connection.unread()).into_owned();
        assert!(!text.contains("SMUGGLED"), "{framing}: {text}");
        assert!(!text.starts_with("HTTP/1.1 2"), "{framing}: {text}");
    }
}

#[test]
fn proxy_field_never_becomes_a_variable() {
    let server = server();
    for rung in Rung::ALL {
        for name in ["Proxy", "PROXY", "proxy", "pRoXy"] {
            let request = Request::get(&rung.url("env.pl")).field(name, "http://evil.example/");
            let text = server.send(&request).expect(200);
            assert!(!text.contains("evil.example"), "{}: {text}", rung.name());
            assert!(!text.contains("HTTP_PROXY"), "{}: {text}", rung.name());
        }
    }
}

#[test]
fn underscore_in_a_name_never_stands_for_a_hyphen() {
    let server = server();
    for rung in Rung::ALL {
        let honest = Request::get(&rung.url("env.pl"))
            .field("X_User_Id", "forged")
            .field("X-User-Id", "real")
            .field("X_USER-ID", "forged")
            .field("Content_Length", "7");
        let text = server.send(&honest).expect(200);
        assert!(
            text.contains("HTTP_X_USER_ID=real\n"),
            "{}: {text}",
            rung.name()
        );
        assert!(!text.contains("forged"), "{}: {text}", rung.name());
        assert!(
            !text.contains("CONTENT_LENGTH=7"),
            "{}: {text}",
            rung.name()
        );
    }
}

#[test]
fn repeated_fields_are_joined_and_cookies_by_semicolon() {
    let server = server();
    for rung in Rung::ALL {
        let request = Request::get(&rung.url("env.pl"))
            .field("X-Many", "a")
            .field("x-many", "b")
            .field("Cookie", "one=1")
            .field("Cookie", "two=2");
        let text = server.send(&request).expect(200);
        assert!(
            text.contains("HTTP_X_MANY=a, b\n"),
            "{}: {text}",
            rung.name()
        );
        let joined = if against_apache() {
            "one=1, two=2"
        } else {
            "one=1; two=2"
        };
        assert!(
            text.contains(&format!("HTTP_COOKIE={joined}\n")),
            "{}: {text}",
            rung.name()
        );
    }
}

#[test]
fn credentials_are_not_put_into_the_environment() {
    let server = server();
    for rung in [
        Rung::Cgi,
        Rung::Fork,
        Rung::Rewind,
        Rung::Registry,
        Rung::PerlRun,
    ] {
        let request = Request::get(&rung.url("env.pl")).field("Authorization", "Basic c2VjcmV0");
        let text = server.send(&request).expect(200);
        assert!(!text.contains("c2VjcmV0"), "{}: {text}", rung.name());
    }
}

#[test]
fn no_spelling_of_dot_dot_reaches_a_file_outside() {
    let server = server();
    let steps = [
        "../",
        "%2e%2e/",
        "%2E%2E%2F",
        "..%2f",
        ".%2e/",
        "%2e./",
        "..%5c",
        "..\\",
        "%252e%252e%252f",
        "..;/",
        "%c0%ae%c0%ae/",
        "....//",
        "./../",
        "//../",
        "%uff0e%uff0e/",
        "..%00/",
    ];
    let mut places = vec![String::from("/"), String::from("/sub/")];
    places.extend(Rung::ALL.iter().map(|rung| format!("/{}/", rung.name())));
    for place in &places {
        for step in steps {
            for depth in 1..=8 {
                for file in [
                    "outside.txt",
                    "etc/passwd",
                    "scripts/data.txt",
                    "htdocs/.hidden",
                ] {
                    let target = format!("{place}{}{file}", step.repeat(depth));
                    let mut connection = server.connect();
                    connection.write(
                        format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                            .as_bytes(),
                    );
                    let answer = connection
                        .read_answer("GET")
                        .unwrap_or_else(|error| panic!("{target}: {error}"));
                    let text = answer.text();
                    assert!(
                        !text.contains("SECRET") && !text.contains("root:"),
                        "{target}: {text}"
                    );
                }
            }
        }
    }
    // A `..` that stays inside may be refused too. A plain path must not be refused.
    assert_eq!(server.get("/inside.txt").expect(200), "inside\n");
}

#[test]
fn dot_files_are_not_served() {
    let server = Server::builder()
        .file("tree/page.html", "<p>page</p>\n")
        .file("tree/.htpasswd", "SECRET")
        .file("tree/.git/config", "SECRET")
        .file("tree/page.html~", "SECRET")
        .file("tree/page.html.bak", "SECRET")
        .file("tree/#page.html#", "SECRET")
        .file("tree/.page.html.swp", "SECRET")
        .file("tree/run.pl~", "SECRET")
        .dir("tree")
        .start();
    assert_eq!(server.get("/page.html").expect(200), "<p>page</p>\n");
    for target in [
        "/.htpasswd",
        "/.git/config",
        "/page.html~",
        "/page.html.bak",
        "/%23page.html%23",
        "/.page.html.swp",
        "/run.pl~",
    ] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
}

#[test]
fn parts_that_are_too_long_get_their_status_and_never_a_hang() {
    let server = server();
    let url = "/registry/env.pl";
    let long = "x".repeat(200_000);
    let many = "X-A: 1\r\n".repeat(20_000);
    for (bytes, statuses) in [
        (
            format!("GET {url}?{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
            [414, 431],
        ),
        (
            format!("GET {url} HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n"),
            [431, 400],
        ),
        (
            format!("GET {url} HTTP/1.1\r\nHost: x\r\n{long}: 1\r\n\r\n"),
            [431, 400],
        ),
        (
            format!("GET {url} HTTP/1.1\r\nHost: x\r\n{many}\r\n"),
            [431, 400],
        ),
        (
            format!("{long} {url} HTTP/1.1\r\nHost: x\r\n\r\n"),
            [400, 414],
        ),
    ] {
        let mut connection = server.connect();
        connection.write(bytes.as_bytes());
        let shown = &bytes[..40];
        match connection.read_answer("GET") {
            Ok(answer) => assert!(
                statuses.contains(&answer.status),
                "{shown}: {}",
                answer.status
            ),
            Err(error) => panic!("{shown}: {error}"),
        }
        assert!(
            connection.is_closed_by_server(),
            "{shown}: the connection stays"
        );
    }
}

#[test]
fn body_beyond_the_limit_answers_413_without_reaching_perl() {
    let server = Server::builder()
        .file("scripts/ran.pl", "#!/usr/bin/perl\nopen my $f, '>', \"$ENV{DOCUMENT_ROOT}/ran\"; print $f 1; print \"Content-type: text/plain\\n\\nran\";\n")
        .ladder()
        .conf("LimitRequestBody 1000\n")
        .start();
    let url = "/registry/ran.pl";
    for request in [
        Request::post(url, vec![b'x'; 1001]),
        Request::post(url, vec![b'x'; 5000]).chunked(),
    ] {
        assert_eq!(server.send(&request).status, 413);
    }
    assert_eq!(server.site.read("htdocs/ran"), "", "the script was run");
    assert_eq!(
        server
            .send(&Request::post(url, vec![b'x'; 1000]))
            .expect(200),
        "ran"
    );
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::builder()
        .file("scripts/nap.pl", "#!/usr/bin/perl\nmy ($n) = $ENV{QUERY_STRING} =~ /(\\d+)/;\nselect undef, undef, undef, $n % 3 ? 0 : 0.1;\nprint \"Content-type: text/plain\\n\\n$n\";\n")
        .ladder()
        .start();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        let all: Vec<u8> = (0..20)
            .flat_map(|n| Request::get(&format!("{}?{n}", rung.url("nap.pl"))).bytes())
            .collect();
        connection.write(&all);
        for n in 0..20 {
            let answer = connection.read_answer("GET").expect("an answer");
            assert_eq!(answer.expect(200), n.to_string(), "{}", rung.name());
        }
    }
}

/// The body of a refused request is never taken for the next request, whatever refuses it: a
/// connection that a proxy shares among its clients would mix up their requests.
#[test]
fn body_of_a_refused_request_is_never_the_next_request() {
    let server = Server::builder()
        .file("htdocs/page.html", "page")
        .file("htdocs/broken/.htaccess", "NoSuchDirective\n")
        .file("htdocs/broken/page.html", "page")
        .file("htdocs/guarded/page.html", "page")
        .file("htdocs/folder/page.html", "page")
        .file("htdocs/led/page.html", "page")
        .file("users", "anna:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
        .conf(
            "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n\
             <Location /guarded>\nAuthType Basic\nAuthName area\nAuthUserFile @ROOT@/users\n\
             Require valid-user\n</Location>\n<Location /denied>\nRequire all denied\n</Location>\n\
             <Location /short>\nLimitRequestBody 1\n</Location>\n\
             <Location /loop>\nRewriteEngine On\nRewriteRule . /loop/again\n</Location>\n\
             ErrorDocument 404 /broken/page.html\nErrorDocument 405 /broken/page.html\n\
             RewriteEngine On\nRewriteRule ^/gone - [G]\nRewriteRule ^/led(.*) /broken$1\n\
             RewriteRule ^/away http://example.org/ [R]\nProxyPass /proxied http://127.0.0.1:1/\n\
             <Location /moved>\nRedirect 301 /page.html\n</Location>\n",
        )
        .start();
    let paths = [
        "/page.html",
        "/broken/page.html",
        "/broken/",
        "/broken",
        "/guarded/page.html",
        "/denied",
        "/short/x",
        "/loop/x",
        "/missing",
        "/gone",
        "/led/page.html",
        "/away",
        "/proxied/x",
        "/moved",
        "/folder",
        "/folder/",
        "/../x",
        "/%00",
        "/%2e%2e/x",
        "/.htaccess",
        "*",
        "/a%2fb",
    ];
    for path in paths {
        for method in [
            "POST", "PUT", "DELETE", "OPTIONS", "GET", "PROPFIND", "NONE",
        ] {
            for body in [
                "Content-Length: 3\r\n\r\nxyz",
                "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n",
            ] {
                let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{body}");
                let mut client = server.connect();
                client.write(
                    format!("{head}GET /page.html HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes(),
                );
                let first = client.read_answer(method).expect("an answer");
                match client.read_answer("GET") {
                    Ok(second) => assert_eq!(second.status, 200, "{head}\nafter {}", first.status),
                    Err(_) => assert_eq!(
                        first.field("connection").as_deref(),
                        Some("close"),
                        "{head}"
                    ),
                }
            }
        }
    }
}
