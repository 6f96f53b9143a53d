//! Tests the recording proxy over real sockets.
#![allow(clippy::unwrap_used)]

mod session;

use mehari_record::session::har::decode;
use session::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[tokio::test]
async fn recording_holds_all_requests_and_answers_of_the_target() {
    let (site, address) = site().await;
    let archive = recorded_visit(address).await;
    assert_eq!(archive.log.version, "1.2");
    assert_eq!(archive.log.creator.name, "mehari record");
    let [login, home, echo] = &archive.log.entries[..] else {
        panic!("{} entries", archive.log.entries.len())
    };
    assert_eq!(
        login.request.url,
        format!("http://{address}/login?from=a%20b&x")
    );
    assert_eq!(login.request.query_string[0].value, "a b");
    assert_eq!(login.request.post_data.as_ref().unwrap().text, "name=joe");
    assert_eq!(login.response.status, 302);
    assert_eq!(
        login.response.redirect_url,
        format!("http://{address}/home")
    );
    assert_eq!(
        login.response.cookies[0].domain.as_deref(),
        Some("127.0.0.1")
    );
    assert_eq!(home.request.cookies[1].name, "theme");
    assert_eq!(home.response.content.text.as_deref(), Some("home"));
    assert!(home
        .request
        .headers
        .iter()
        .any(|h| h.name == "accept-encoding" && h.value == "identity"));
    let upload = echo.request.post_data.as_ref().unwrap();
    assert_eq!(upload.bytes().unwrap(), BINARY);
    let content = &echo.response.content;
    assert_eq!(content.encoding.as_deref(), Some("base64"));
    assert_eq!(
        decode(content.text.as_ref().unwrap(), Some("base64")).unwrap(),
        BINARY
    );
    for entry in &archive.log.entries {
        let timings = &entry.timings;
        assert!(
            timings.connect >= 0.0,
            "each came on a connection of its own"
        );
        let sum = timings.connect + timings.send + timings.wait + timings.receive;
        assert!((entry.time - sum).abs() < 1e-6 && entry.time > 0.0);
        assert!(entry.request.headers_size > 0 && entry.response.headers_size > 0);
        assert_eq!(entry.server_address.as_deref(), Some("127.0.0.1"));
    }
    let addressed = site.addressed.lock().unwrap();
    let own = format!("http://{address}");
    assert_eq!(
        addressed[..3],
        [address.to_string(), format!("{own}/start"), own]
    );
}

#[tokio::test]
async fn archive_has_every_field_that_har_1_2_requires() {
    let (_, address) = site().await;
    let archive = serde_json::to_value(recorded_visit(address).await).unwrap();
    let required = |value: &serde_json::Value, names: &[&str]| {
        for name in names {
            assert!(
                value.get(name).is_some_and(|v| !v.is_null()),
                "{name} in {value}"
            );
        }
    };
    for entry in archive["log"]["entries"].as_array().unwrap() {
        required(
            entry,
            &[
                "startedDateTime",
                "time",
                "request",
                "response",
                "cache",
                "timings",
            ],
        );
        required(
            &entry["request"],
            &[
                "method",
                "url",
                "httpVersion",
                "cookies",
                "headers",
                "queryString",
                "headersSize",
                "bodySize",
            ],
        );
        required(
            &entry["response"],
            &[
                "status",
                "statusText",
                "httpVersion",
                "cookies",
                "headers",
                "content",
                "redirectURL",
                "headersSize",
                "bodySize",
            ],
        );
        required(&entry["response"]["content"], &["size", "mimeType"]);
        required(&entry["timings"], &["send", "wait", "receive"]);
    }
}

#[tokio::test]
async fn pieces_of_an_answer_arrive_before_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (go_on, told) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await.unwrap();
        let first = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
        stream.write_all(first).await.unwrap();
        told.await.unwrap();
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    });
    let recording = record(address, 100).await;
    let mut client = TcpStream::connect(recording.address).await.unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"one\r\n") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    // The target sends the rest only now. If the proxy waited for the end of the answer, the test
    // would hang here.
    go_on.send(()).unwrap();
    while !seen.ends_with(b"0\r\n\r\n") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    let archive = recording.end().await;
    assert_eq!(
        archive.log.entries[0].response.content.text.as_deref(),
        Some("onetwo")
    );
}

#[tokio::test]
async fn answer_unfinished_at_the_end_of_the_recording_has_a_comment() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let recording = record(address, 100).await;
    let mut client = TcpStream::connect(recording.address).await.unwrap();
    client
        .write_all(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        .await
        .unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"half") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    let archive = recording.end().await;
    let entry = &archive.log.entries[0];
    assert_eq!(entry.response.content.size, 4);
    assert!(entry
        .comment
        .as_ref()
        .unwrap()
        .contains("did not come to its end"));
}

#[tokio::test]
async fn body_above_the_limit_is_forwarded_whole_and_not_kept() {
    let (_, address) = site().await;
    let recording = record(address, 1000).await;
    let answer = exchange(recording.address, "GET /large HTTP/1.1", b"").await;
    assert_eq!(answer.matches('x').count(), 300_000);
    let archive = recording.end().await;
    let content = &archive.log.entries[0].response.content;
    assert_eq!((content.size, &content.text), (300_000, &None));
}

#[tokio::test]
async fn missing_target_answers_502_and_gives_no_entry() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let recording = record(gone, 1000).await;
    let answer = exchange(recording.address, "GET / HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("cannot connect to http://127.0.0.1:"));
    assert!(recording.end().await.log.entries.is_empty());
}
