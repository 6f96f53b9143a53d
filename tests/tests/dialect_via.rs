//! Tests the field Via of requests to back ends and of their responses. The fields are compared
//! with Apache's.

use mehari_harness::{BackEnd, Pair, Request, Server};
use std::io::Write;

/// Starts a back end that answers with the Via that it got, and with a Via of its own.
fn back_end() -> BackEnd {
    BackEnd::start(|request, stream| {
        let via = request.field("via").unwrap_or("none").to_owned();
        let length = via.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nVia: 1.0 before\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{via}"
        );
        let _ = stream.write_all(answer.as_bytes());
        false
    })
}

#[test]
fn proxy_via_writes_the_fields_that_apache_writes() {
    for rule in ["Off", "On", "Full", "Block"] {
        let behind = back_end();
        let conf = format!(
            "ServerName own.test\nProxyVia {rule}\nProxyPass /b/ {}/\n",
            behind.url()
        );
        let mut pair = Pair::start(|| Server::builder().conf(&conf)).mask(&[
            ("Apache/[0-9.]+", "SERVER"),
            ("Mehari/[0-9.]+", "SERVER"),
            (":[0-9]+", ":PORT"),
        ]);
        let first = pair.get("/b/x");
        let second = pair.send(&Request::get("/b/x").field("Via", "1.0 client"));
        let added = matches!(rule, "On" | "Full");
        assert_eq!(first.text().contains("1.1 own.test"), added, "{rule}");
        let kept = second.text().contains("1.0 client");
        assert_eq!(kept, rule != "Block", "{rule}: {}", second.text());
    }
}
