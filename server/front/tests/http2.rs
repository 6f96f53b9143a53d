//! Tests HTTP/2 with prior knowledge: the responses are the same as over HTTP/1, and the limits of
//! HTTP/2 hold.

mod stand;

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, Method, Request};
use stand::client::eventually;
use stand::frames;
use stand::Stand;
use std::time::Duration;

type Sender = SendRequest<Bytes>;

/// Connects a client to a stand and runs it for at most ten seconds.
fn with_client<F>(stand: &Stand, client: impl FnOnce(Sender) -> F)
where
    F: std::future::Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let socket = tokio::net::TcpStream::connect(stand.address)
            .await
            .expect("it listens");
        let (sender, connection) = h2::client::handshake(socket).await.expect("HTTP/2");
        let driver = tokio::spawn(connection);
        let patient = tokio::time::timeout(Duration::from_secs(10), client(sender));
        patient.await.expect("in time");
        driver.abort();
    });
}

fn request(method: Method, path: &str) -> Request<()> {
    let uri = format!("http://front.example{path}");
    Request::builder()
        .method(method)
        .uri(uri)
        .body(())
        .expect("a request")
}

/// Sends a request and returns the response's status, fields and body.
async fn ask(sender: &Sender, request: Request<()>, body: &[u8]) -> (u16, HeaderMap, Vec<u8>) {
    let mut sender = sender.clone().ready().await.expect("open");
    let (response, mut stream) = sender.send_request(request, body.is_empty()).expect("sent");
    if !body.is_empty() {
        stream
            .send_data(Bytes::copy_from_slice(body), true)
            .expect("sent");
    }
    let (parts, mut body) = response.await.expect("a response").into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.expect("a body");
        body.flow_control()
            .release_capacity(piece.len())
            .expect("open");
        bytes.extend_from_slice(&piece);
    }
    (parts.status.as_u16(), parts.headers, bytes)
}

#[test]
fn client_that_sends_no_more_is_answered_and_then_closed() {
    let stand = Stand::plain();
    for path in ["/file.txt", "/stream.pl", "/half.pl"] {
        let mut client = frames::Client::open(&stand);
        client.send(&frames::bare(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "x"),
        ]));
        client.0.shutdown(std::net::Shutdown::Write).expect("open");
        let mut ended = false;
        while let Some(frame) = client.next() {
            let is_last = frame.flags & frames::END_STREAM != 0 || frame.kind == frames::RST_STREAM;
            ended |= frame.stream == 1 && is_last;
        }
        assert!(ended, "{path}: closed before the end of its stream");
    }
}

#[test]
fn files_and_programs_answer_as_in_http1() {
    let stand = Stand::plain();
    with_client(&stand, |sender| async move {
        let rows: [(&str, u16, &[u8]); 9] = [
            ("/file.txt", 200, b"0123456789"),
            ("/hello.pl", 200, b"hello\n"),
            ("/stream.pl", 200, b"one two three\n"),
            ("/long.pl", 200, b"hel"),
            ("/nobody.pl", 204, b""),
            ("/folder?a", 301, b"<!DOCTYPE html>"),
            ("/split.pl", 500, b"<!DOCTYPE html>"),
            ("/died.pl", 502, b"<!DOCTYPE html>"),
            ("/%2e%2e/x", 400, b"<!DOCTYPE html>"),
        ];
        for (path, status, body) in rows {
            let (answered, fields, bytes) = ask(&sender, request(Method::GET, path), b"").await;
            assert_eq!(answered, status, "{path}");
            assert!(bytes.starts_with(body), "{path}: {}", bytes.escape_ascii());
            assert!(status >= 300 || bytes.len() == body.len(), "{path}");
            assert_eq!(fields["server"], "Mehari");
            assert!(fields.contains_key("date"));
        }
        let large = ask(&sender, request(Method::GET, "/large.bin"), b"").await;
        assert_eq!(large.2.len(), 3_000_000);
        let (status, fields, body) = ask(&sender, request(Method::HEAD, "/file.txt"), b"").await;
        assert_eq!(
            (status, &fields["content-length"], body.len()),
            (200, &"10".parse().expect("a value"), 0)
        );
        for method in [Method::TRACE, Method::DELETE] {
            assert_eq!(ask(&sender, request(method, "/file.txt"), b"").await.0, 405);
        }
    });
    assert!(stand
        .errors()
        .contains("/split.pl: the program's response has"));
}

#[test]
fn a_program_is_given_what_http1_would_have_given_it() {
    let stand = Stand::plain();
    with_client(&stand, |sender| async move {
        let mut asked = request(Method::POST, "/echo.pl/info?x");
        let fields = asked.headers_mut();
        for (name, value) in [
            ("cookie", "a=b"),
            ("x_y", "1"),
            ("proxy", "evil"),
            ("cookie", "c=d"),
        ] {
            fields.append(name, value.parse().expect("a value"));
        }
        let (_, _, body) = ask(&sender, asked, b"hi").await;
        assert_eq!(
            String::from_utf8(body).expect("text"),
            "method POST\ntarget /echo.pl/info?x\nscript /echo.pl\ninfo /info\nquery x\n\
             server front.example\nhost: front.example\ncookie: a=b; c=d\nmemory 2 2748\n"
        );
    });
}

#[test]
fn bodies_of_every_size_arrive_whole() {
    let stand = Stand::new(|site| site.main.base.limits.body = 1_000_000);
    with_client(&stand, |sender| async move {
        for length in [1, 65536, 65537, 200_000] {
            let body = vec![b'x'; length];
            let (_, _, said) = ask(&sender, request(Method::POST, "/echo.pl"), &body).await;
            let said = String::from_utf8(said).expect("text");
            let kind = if length > 65536 { "file" } else { "memory" };
            let sum = stand::pool::sum(&body);
            assert!(
                said.ends_with(&format!("{kind} {length} {sum:x}\n")),
                "{said}"
            );
        }
        let body = vec![b'x'; 1_000_001];
        assert_eq!(
            ask(&sender, request(Method::POST, "/echo.pl"), &body)
                .await
                .0,
            413
        );
        assert_eq!(
            ask(&sender, request(Method::GET, "/file.txt"), b"").await.0,
            200
        );
    });
}

#[test]
fn streams_are_answered_side_by_side() {
    let stand = Stand::plain();
    with_client(&stand, |sender| async move {
        let mut waiting = sender.clone();
        let (silent, _) = waiting
            .send_request(request(Method::GET, "/silent.pl"), true)
            .expect("sent");
        let mut asked = Vec::new();
        for _ in 0..100 {
            let sender = sender.clone();
            asked.push(tokio::spawn(async move {
                ask(&sender, request(Method::GET, "/stream.pl"), b"")
                    .await
                    .2
            }));
        }
        for answer in asked {
            assert_eq!(answer.await.expect("answered"), b"one two three\n");
        }
        drop(silent);
    });
    eventually("the reset stream is given up", || {
        stand.stats().active_requests == 0
    });
}

#[test]
fn limits_hold_for_streams() {
    let stand = Stand::new(|site| {
        site.limits.fields = 20;
        site.limits.field_size = 1000;
        site.limits.request_line = 200;
    });
    with_client(&stand, |sender| async move {
        let long = format!("/{}", "x".repeat(200));
        assert_eq!(ask(&sender, request(Method::GET, &long), b"").await.0, 414);
        let mut many = request(Method::GET, "/file.txt");
        for number in 0..21 {
            let name: http::HeaderName = format!("x-{number}").parse().expect("a name");
            many.headers_mut()
                .append(name, "y".parse().expect("a value"));
        }
        assert_eq!(ask(&sender, many, b"").await.0, 431);
        let mut crumbs = request(Method::GET, "/file.txt");
        for _ in 0..21 {
            crumbs
                .headers_mut()
                .append("cookie", "a=b".parse().expect("a value"));
        }
        assert_eq!(
            ask(&sender, crumbs, b"").await.0,
            431,
            "crumbs count one by one"
        );
        let mut wide = request(Method::GET, "/file.txt");
        wide.headers_mut()
            .append("x", "y".repeat(1001).parse().expect("a value"));
        assert_eq!(ask(&sender, wide, b"").await.0, 431);
    });
}

#[test]
fn a_client_that_grants_no_window_is_given_up() {
    let stand = Stand::new(|site| site.limits.write_timeout = Duration::from_millis(300));
    with_client(&stand, |sender| async move {
        let mut sender = sender.ready().await.expect("open");
        let (response, _) = sender
            .send_request(request(Method::GET, "/large.bin"), true)
            .expect("sent");
        let (_, mut body) = response.await.expect("a response").into_parts();
        let mut taken = 0;
        let error = loop {
            match body.data().await.expect("no end") {
                Ok(piece) => taken += piece.len(),
                Err(error) => break error,
            }
        };
        assert!(taken < 3_000_000);
        assert!(error.is_reset(), "{error}");
    });
}

#[test]
fn a_stop_says_goaway_and_finishes_the_streams_under_way() {
    let mut stand = Stand::new(|site| site.limits.keep_alive = Some(Duration::from_secs(60)));
    let stop = stand.stop.clone();
    with_client(&stand, |sender| async move {
        let mut other = sender.clone();
        let (response, mut body) = other
            .send_request(request(Method::POST, "/echo.pl"), false)
            .expect("sent");
        assert_eq!(
            ask(&sender, request(Method::GET, "/file.txt"), b"").await.0,
            200
        );
        stop.send(mehari_front::Stop::Gracefully).expect("a front");
        tokio::time::sleep(Duration::from_millis(50)).await;
        body.send_data(Bytes::from_static(b"hi"), true)
            .expect("sent");
        assert_eq!(response.await.expect("a response").status(), 200);
        let refused = async {
            while let Ok(mut ready) = sender.clone().ready().await {
                if ready
                    .send_request(request(Method::GET, "/file.txt"), true)
                    .is_err()
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        refused.await;
    });
    stand.finish();
}

#[test]
fn a_flood_of_resets_ends_the_connection() {
    let stand = Stand::plain();
    with_client(&stand, |sender| async move {
        for round in 0..100_000 {
            let Ok(mut ready) = sender.clone().ready().await else {
                return;
            };
            match ready.send_request(request(Method::GET, "/silent.pl"), true) {
                Ok((_, mut stream)) => stream.send_reset(h2::Reason::CANCEL),
                Err(_) => return,
            }
            if round % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        panic!("a hundred thousand resets were taken");
    });
    eventually("all of it is given up", || {
        stand.stats().active_requests == 0
    });
}
