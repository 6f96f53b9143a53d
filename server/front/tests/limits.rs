//! Tests time limits, number limits and stops: slow clients, a full server, shutdown.

mod stand;

use mehari_front::Stop;
use stand::client::{eventually, Client};
use stand::Stand;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn slow_clients_are_told_or_closed() {
    let stand = Stand::new(|site| {
        site.limits.header_timeout = SHORT;
        site.limits.body_timeout = SHORT;
        site.limits.keep_alive = Some(SHORT);
    });
    let mut silent = stand.client();
    silent.expect_close();
    let mut idle = stand.client();
    assert_eq!(idle.get("/file.txt").status, 200);
    idle.expect_close();
    let mut head = stand.client();
    head.send("GET / HTTP/1.1\r\nHo");
    assert_eq!(head.response(false).status, 408);
    head.expect_close();
    let mut second = stand.client();
    assert_eq!(second.get("/file.txt").status, 200);
    second.send("GET / HTTP/1.1\r\nHo");
    assert_eq!(second.response(false).status, 408);
    let mut body = stand.client();
    body.send("POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(body.response(false).status, 408);
    body.expect_close();
    let mut chunks = stand.client();
    chunks.send("POST /echo.pl HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal");
    assert_eq!(chunks.response(false).status, 408);
}

#[test]
fn a_body_that_trickles_ends() {
    let stand = Stand::new(|site| site.limits.body_timeout = SHORT);
    let framings = [
        "Content-Length: 1000\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nfff\r\n",
    ];
    for framing in framings {
        let mut client = stand.client();
        client.send(format!("POST /echo.pl HTTP/1.1\r\nHost: a\r\n{framing}"));
        eventually("it has begun", || stand.stats().active_requests == 1);
        eventually("it ends", || {
            client.send("x");
            std::thread::sleep(SHORT / 6);
            stand.stats().active_requests == 0
        });
        assert_eq!(client.response(false).status, 408);
    }
}

#[test]
fn a_client_that_reads_nothing_is_closed() {
    let stand = Stand::new(|site| site.limits.write_timeout = SHORT);
    for path in ["/large.bin", "/big.pl"] {
        let mut client = stand.client();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        client.send(request.repeat(20));
        eventually("it is given up", || stand.stats().open_connections == 0);
    }
}

#[test]
fn at_the_limit_an_idle_connection_makes_room_and_without_one_a_client_is_told() {
    let stand = Stand::new(|site| {
        site.limits.connections = 2;
        site.limits.keep_alive = Some(Duration::from_secs(60));
    });
    let mut first = stand.client();
    assert_eq!(first.get("/file.txt").status, 200);
    let mut second = stand.client();
    second.send("GET /silent.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("one works", || stand.stats().active_requests == 1);
    let mut third = stand.client();
    assert_eq!(third.get("/file.txt").status, 200);
    first.expect_close();
    third.send("GET /silent.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("two work", || stand.stats().active_requests == 2);
    let mut fourth = stand.client();
    let response = fourth.response(false);
    assert_eq!(
        (response.status, response.field("retry-after")),
        (503, Some("1"))
    );
    fourth.expect_close();
    assert_eq!(stand.stats().refused_connections, 1);
}

#[test]
fn keep_alive_ends_after_its_number_of_requests() {
    let stand = Stand::new(|site| site.limits.keep_alive_requests = 3);
    let mut client = stand.client();
    for _ in 0..2 {
        assert_eq!(client.get("/file.txt").field("connection"), None);
    }
    assert_eq!(client.get("/file.txt").field("connection"), Some("close"));
    client.expect_close();
    let stand = Stand::new(|site| site.limits.keep_alive = None);
    let mut client = stand.client();
    assert_eq!(client.get("/file.txt").field("connection"), Some("close"));
    client.expect_close();
}

#[test]
fn a_graceful_stop_closes_the_idle_and_finishes_the_rest() {
    let mut stand = Stand::new(|site| site.limits.keep_alive = Some(Duration::from_secs(60)));
    let mut idle = stand.client();
    assert_eq!(idle.get("/file.txt").status, 200);
    let mut busy = stand.client();
    busy.send("POST /echo.pl HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nha");
    eventually("one works", || stand.stats().active_requests == 1);
    stand.stop.send(Stop::Gracefully).expect("a front");
    idle.expect_close();
    busy.send("lf");
    let response = busy.response(false);
    assert!(response.text().contains("memory 4 "), "{}", response.text());
    busy.expect_close();
    stand.finish();
}

#[test]
fn a_stop_does_not_wait_beyond_its_deadline() {
    let mut stand = Stand::new(|site| site.workers_mut().stop_timeout = SHORT);
    let mut client = stand.client();
    client.send("GET /silent.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("one works", || stand.stats().active_requests == 1);
    stand.finish();
    client.expect_close();
}

#[test]
fn two_hundred_clients_at_once_are_all_answered() {
    let stand = Stand::plain();
    let mut clients: Vec<Client> = (0..200).map(|_| stand.client()).collect();
    for _ in 0..5 {
        for client in &mut clients {
            client.send("GET /stream.pl HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        for client in &mut clients {
            assert_eq!(client.response(false).text(), "one two three\n");
        }
    }
    drop(clients);
    eventually("all are gone", || stand.stats().open_connections == 0);
    assert_eq!(stand.stats().requests, 1000);
}

#[test]
fn clients_that_do_not_read_hold_no_worker() {
    let stand = Stand::plain();
    let mut clients: Vec<Client> = (0..50).map(|_| stand.client()).collect();
    for client in &mut clients {
        client.send("GET /page.pl HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    eventually("all workers are free", || {
        stand.freed.load(Ordering::SeqCst) == 50
    });
    assert_eq!(stand.stats().open_connections, 50);
    for client in &mut clients {
        assert_eq!(client.response(false).body.len(), 1 << 20);
    }
}
