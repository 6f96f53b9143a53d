//! Tests back ends over TLS, SCGI and uwsgi, and the forwarding fields that a back end receives.

mod gateways;
mod misdeeds;
mod revoked;
mod secure;
mod speech;

use mehari_harness::{Builder, Request, Server};
use std::io::Write;

/// Returns a site with one Perl worker.
pub fn builder(conf: &str) -> Builder {
    let common = "StartServers 1\nMaxRequestWorkers 1\n";
    Server::builder().conf(common).conf(conf)
}

#[test]
fn forwarded_is_sent_only_where_it_is_configured() {
    let back_end = mehari_harness::BackEnd::start(|heard, stream| {
        let text = heard.field("forwarded").unwrap_or("-").to_string();
        let _ = stream.write_all(&mehari_harness::back_end::answer(&text));
        true
    });
    let url = back_end.url();
    let server = builder(&format!(
        "ProxyPass / {url}/\n<Location /add>\nProxyAddForwarded On\n</Location>\n\
         <Location /new>\nProxyAddForwarded On\nProxyForwarded replace\n</Location>\n"
    ))
    .start();
    let ours = "for=127.0.0.1;host=site.example;proto=http";
    let before = "for=192.0.2.60;proto=https";
    let get = |path: &str| {
        let mut request = Request::get(path).field("Forwarded", before);
        request.fields[0].1 = "site.example".into();
        server.send(&request).expect(200)
    };
    assert_eq!(get("/other"), before);
    assert_eq!(get("/add"), format!("{before}, {ours}"));
    assert_eq!(get("/new"), ours);
    drop(back_end);
}

#[test]
fn upgrade_that_a_back_end_refuses_is_an_ordinary_answer() {
    let back_end = mehari_harness::BackEnd::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        true
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let mut client = server.connect();
    let asking = Request::get("/ws")
        .field("Upgrade", "websocket")
        .field("Connection", "Upgrade");
    for _ in 0..2 {
        let answer = client.send(&asking).expect("an answer");
        assert_eq!(answer.expect(403), "no");
    }
    let plain = client.send(&Request::get("/")).expect("an answer");
    assert_eq!(plain.expect(403), "no", "the connection goes on");
    assert_eq!(back_end.connections(), 1, "and so does the other");
    drop(back_end);
}
