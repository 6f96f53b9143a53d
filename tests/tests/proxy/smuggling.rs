//! Tests request smuggling: no byte of a client ends a line of the request to the back end, and
//! each response goes to its own request.

use crate::builder;
use mehari_harness::back_end::answer;
use mehari_harness::{BackEnd, Request, PATIENCE};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{mpsc, Arc, Mutex};

#[test]
fn no_byte_of_a_client_ends_a_line_of_the_request_to_a_back_end() {
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = heads.clone();
    let back_end = BackEnd::start(move |heard, stream| {
        seen.lock().expect("no panic").push(heard.head);
        stream.write_all(&answer("ok")).is_ok()
    });
    let server = builder(&format!(
        "RewriteEngine On\n\
         RewriteRule ^/query/(.*)$ /app/?id=$1 [PT]\n\
         RewriteRule ^/proxied/(.*)$ {url}/app/?id=$1 [P]\n\
         RewriteRule ^/variable/(.*)$ /app/ [PT,E=ASKED:$1]\n\
         SetEnvIf Request_URI ^/named/(.*)$ NAMED=$1\n\
         RequestHeader set X-Asked %{{ASKED}}e env=ASKED\n\
         RequestHeader set X-Named %{{NAMED}}e env=NAMED\n\
         ProxyPass /app/ {url}/\n\
         ProxyPass /named/ {url}/\n",
        url = back_end.url()
    ))
    .start();
    for place in ["query", "proxied", "variable", "named"] {
        for bytes in [
            "%0d%0aX-Own:%20y",
            "%0aX-Own:%20y",
            "%0dX-Own:%20y",
            "%20HTTP/1.1%0d%0aX-Own:%20y",
        ] {
            let answer = server.get(&format!("/{place}/a{bytes}"));
            assert!(
                matches!(answer.status, 200 | 400 | 403 | 404 | 500),
                "{place}: {}",
                answer.status
            );
        }
    }
    let heads = heads.lock().expect("no panic").clone();
    for head in &heads {
        let first = head.lines().next().unwrap_or_default();
        assert_eq!(first.split(' ').count(), 3, "{head}");
        let own = head
            .split(['\r', '\n'])
            .any(|line| line.starts_with("X-Own"));
        assert!(!own, "a line of the client's own: {}", head.escape_debug());
        assert_eq!(
            head.matches('\r').count(),
            head.matches("\r\n").count(),
            "{}",
            head.escape_debug()
        );
    }
    drop(back_end);
}

#[test]
fn bytes_after_a_back_ends_response_are_not_sent_to_any_client() {
    // Each back end sends a response and then bytes that could pass for the next one.
    const STOLEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen";
    let (go, may_go) = mpsc::channel::<()>();
    let (said, is_said) = mpsc::channel();
    let late = Mutex::new((may_go, said));
    let back_end = BackEnd::start(move |heard, stream| {
        let mut words = heard.head.split([' ', '?']);
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        let first: &[u8] = match (method, path) {
            ("HEAD", _) => b"HTTP/1.1 200 OK\r\nContent-Length: 57\r\n\r\n",
            (_, "/same") => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 57\r\n\r\n",
            (_, "/none") => b"HTTP/1.1 204 No Content\r\n\r\n",
            (_, "/zero") => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            (_, "/chunks") => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            (_, "/late") => {
                // The bytes come after the end of the response, when the client has it, and before
                // the next request.
                stream.set_nodelay(true).expect("no delay");
                let _ = stream.write_all(&answer("mine"));
                let (may_go, said) = &*late.lock().expect("no panic");
                let _ = may_go.recv();
                let kept = stream.write_all(STOLEN.as_bytes()).is_ok();
                let _ = said.send(());
                return kept;
            }
            _ => return stream.write_all(&answer("mine")).is_ok(),
        };
        stream
            .write_all(&[first, STOLEN.as_bytes()].concat())
            .is_ok()
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    for path in ["/same", "/none", "/zero", "/chunks", "/head"] {
        for _ in 0..20 {
            let request = match path {
                "/head" => Request::new("HEAD", path),
                _ => Request::get(path),
            };
            let status = server.send(&request).status;
            assert!(matches!(status, 200 | 204 | 304), "{path}: {status}");
            assert_eq!(server.get("/own").expect(200), "mine", "behind {path}");
        }
    }
    assert_eq!(server.get("/late").expect(200), "mine");
    let connections = back_end.connections();
    go.send(()).expect("the back end waits");
    is_said.recv().expect("it has come");
    assert_eq!(server.get("/own").expect(200), "mine");
    assert_eq!(
        back_end.connections(),
        connections + 1,
        "the connection with the late bytes is not used again"
    );
    drop(back_end);
}

#[test]
fn back_end_that_answers_before_it_reads_still_gets_the_body() {
    const LENGTH: usize = 16 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let (go, may_go) = mpsc::channel::<()>();
    // The back end works like a filter: it sends the head at once, then the body as it arrives.
    let filter = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let early = read_head(&mut stream);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("taken");
        may_go.recv().expect("the client has the head");
        stream.write_all(&early).expect("taken");
        echo(&mut stream, LENGTH - early.len())
    });
    let server = builder(&format!("ProxyPass / http://{address}/\n")).start();
    let mut client = TcpStream::connect(server.address).expect("connected");
    client.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n");
    client.write_all(head.as_bytes()).expect("taken");
    let body: Vec<u8> = (0..LENGTH).map(|at| (at / 1000) as u8).collect();
    client.write_all(&body).expect("taken");
    let mut back = read_head(&mut client);
    go.send(()).expect("the back end waits");
    let missing = LENGTH - back.len();
    let rest = (&mut client).take(missing as u64).read_to_end(&mut back);
    assert!(
        rest.is_ok(),
        "{} bytes of {LENGTH}, then {rest:?}",
        back.len()
    );
    assert!(back == body, "{} bytes came back", back.len());
    assert_eq!(
        filter.join().expect("no panic"),
        0,
        "bytes that did not come"
    );
}

#[test]
fn protocol_change_in_the_middle_of_a_request_is_refused() {
    // The back end would take the rest of the body as the first bytes of the new protocol.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let hasty = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        read_head(&mut stream);
        let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n";
        stream.write_all(head).expect("taken");
        // The connection stays open and unread until the end.
        stream
    });
    let server = builder(&format!("ProxyPass / http://{address}/\n")).start();
    let upgrade = Request::post("/", vec![b'x'; 16 << 20]).field("Upgrade", "x");
    let mut client = server.connect();
    let answer = client.send(&upgrade.field("Connection", "Upgrade"));
    assert_eq!(answer.expect("an answer").status, 502);
    server.log.expect("a change of protocol amid the request");
    drop(hasty.join().expect("no panic"));
}

/// Reads a head and returns the bytes after it.
fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).expect("a head");
        assert!(count > 0, "no head");
        bytes.extend_from_slice(&piece[..count]);
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            return bytes.split_off(at + 4);
        }
    }
}

/// Echoes up to `left` bytes. Returns the number of bytes that did not arrive.
fn echo(stream: &mut TcpStream, mut left: usize) -> usize {
    let mut piece = [0; 64 * 1024];
    while left > 0 {
        match stream.read(&mut piece) {
            Ok(count @ 1..) if stream.write_all(&piece[..count]).is_ok() => left -= count,
            _ => break,
        }
    }
    left
}
