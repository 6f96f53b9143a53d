//! Tests how bodies pass the server: upgraded connections, streamed responses, slow clients,
//! truncated responses.

use crate::builder;
use mehari_harness::back_end::answer;
use mehari_harness::{eventually, BackEnd, Request, PATIENCE};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Mutex};

#[test]
fn client_can_recognise_a_response_that_was_cut_off() {
    const CUT: [(&str, &[u8]); 3] = [
        (
            "no last chunk",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ),
        (
            "a bad chunk",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
        ),
        (
            "a chunk that lies",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n",
        ),
    ];
    let back_ends: Vec<BackEnd> = CUT
        .iter()
        .map(|(_, bytes)| BackEnd::saying(bytes))
        .collect();
    let mut conf = String::new();
    for (index, back_end) in back_ends.iter().enumerate() {
        conf.push_str(&format!("ProxyPass /cut/{index} {}\n", back_end.url()));
    }
    let server = builder(&conf).start();
    for (index, (name, _)) in CUT.iter().enumerate() {
        let answer = server.get(&format!("/cut/{index}"));
        assert_eq!(answer.status, 200, "{name}");
        assert!(!answer.complete, "{name}: {:?}", answer.text());
    }
    server.log.expect("the back end ended within its response");
}

#[test]
fn an_upgraded_connection_carries_bytes_both_ways_until_either_side_ends() {
    let back_end = BackEnd::start(|heard, stream| {
        if heard.field("upgrade") != Some("websocket")
            || heard.field("connection") != Some("Upgrade")
        {
            let _ = stream.write_all(&answer("no upgrade"));
            return true;
        }
        let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nearly");
        let mut piece = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            let said = piece[..count].to_ascii_uppercase();
            if stream.write_all(&said).is_err() || said.ends_with(b"BYE") {
                break;
            }
        }
        false
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let asking = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\r\n";
    let mut client = server.connect();
    client.write(format!("GET /ws HTTP/1.1\r\nHost: x\r\n{asking}").as_bytes());
    let expect = |client: &mut mehari_harness::Connection, words: &[u8]| {
        while !client.unread().ends_with(words) {
            assert!(
                client.fill().expect("readable") > 0,
                "{:?}",
                client.unread().escape_ascii().to_string()
            );
        }
    };
    expect(&mut client, b"early");
    let head = String::from_utf8_lossy(client.unread()).into_owned();
    assert!(
        head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"),
        "{head}"
    );
    assert!(head.contains("Sec-WebSocket-Accept: x\r\n"), "{head}");
    client.write(b"hello");
    expect(&mut client, b"HELLO");
    client.write(b"bye");
    expect(&mut client, b"BYE");
    assert!(eventually(PATIENCE, || matches!(client.fill(), Ok(0))));
    // HTTP/2 in clear text would bypass every rule.
    let h2c = Request::get("/")
        .field("Upgrade", "h2c")
        .field("Connection", "Upgrade, HTTP2-Settings");
    assert_eq!(server.send(&h2c).expect(200), "no upgrade");
    drop(back_end);
}

#[test]
fn each_part_of_a_back_ends_response_is_sent_at_once() {
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let back_end = BackEnd::start(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
        let _ = may_go.lock().expect("no panic").recv();
        stream.write_all(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n").is_ok()
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let mut client = server.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    while !String::from_utf8_lossy(client.unread()).contains("data: 1") {
        assert!(client.fill().expect("readable") > 0);
    }
    go.send(()).expect("the back end waits");
    assert_eq!(
        client.read_answer("GET").expect("all of it").text(),
        "data: 1\n\ndata: 2\n\n"
    );
    drop(back_end);
}

#[test]
fn slow_client_holds_no_back_end_and_a_client_that_leaves_frees_it() {
    const SIZE: usize = 20_000_000;
    let done = Arc::new(AtomicBool::new(false));
    let broken = Arc::new(AtomicBool::new(false));
    let (finished, ended) = (done.clone(), broken.clone());
    let back_end = BackEnd::start(move |heard, stream| {
        if heard.head.contains("/endless") {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(&[b'x'; 65536]).is_ok() {}
            ended.store(true, Ordering::Relaxed);
            return false;
        }
        let _ = stream
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes());
        let sent = stream.write_all(&vec![b'x'; SIZE]).is_ok();
        finished.store(sent, Ordering::Relaxed);
        sent
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let mut client = server.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        eventually(PATIENCE, || done.load(Ordering::Relaxed)),
        "the back end is rid of it"
    );
    let answer = client.read_answer("GET").expect("all of it");
    assert_eq!((answer.body.len(), answer.complete), (SIZE, true));
    let mut gone = server.connect();
    gone.write(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(gone.fill().expect("readable") > 0);
    drop(gone);
    assert!(
        eventually(PATIENCE, || broken.load(Ordering::Relaxed)),
        "the back end is let go"
    );
    drop(back_end);
}
