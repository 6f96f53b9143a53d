//! Tests requests that wait for a member of a balancer.

use crate::{balancer, balancer_conf, builder};
use mehari_harness::back_end::answer;
use mehari_harness::{eventually, BackEnd, PATIENCE};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};

/// Starts a back end that answers a request each time the test says so. Also returns the counter of
/// its requests.
fn patient() -> (BackEnd, Arc<AtomicUsize>, mpsc::Sender<()>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, (go, may_go)) = (asked.clone(), mpsc::channel::<()>());
    let may_go = Mutex::new(may_go);
    let back_end = BackEnd::start(move |_, stream| {
        count.fetch_add(1, Ordering::Relaxed);
        let _ = may_go.lock().expect("no panic").recv();
        stream.write_all(&answer("ok")).is_ok()
    });
    (back_end, asked, go)
}

#[test]
fn requests_that_wait_for_a_busy_member_are_served_in_order_and_bounded() {
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let (go, may_go) = mpsc::channel::<()>();
    let (seen, may_go) = (order.clone(), Mutex::new(may_go));
    let back_end = BackEnd::start(move |heard, stream| {
        let target = heard.head.split(' ').nth(1).unwrap_or_default().to_string();
        seen.lock().expect("no panic").push(target);
        let _ = may_go.lock().expect("no panic").recv();
        stream.write_all(&answer("ok")).is_ok()
    });
    let server = balancer(&[&back_end], "max=1", "backlog=3 timeout=20");
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for number in 0..4 {
            let server = &server;
            clients.push(scope.spawn(move || server.get(&format!("/{number}")).status));
            let waiting = |status: &serde_json::Value| {
                status["back_ends"][0]["waiting"].as_u64() == Some(number)
            };
            assert!(eventually(PATIENCE, || waiting(&server.status())
                && order.lock().expect("no panic").len() == 1));
        }
        let refused = server.get("/5");
        assert_eq!(refused.status, 503);
        assert_eq!(refused.field("retry-after").as_deref(), Some("1"));
        for _ in 0..4 {
            go.send(()).expect("the back end waits");
        }
        for client in clients {
            assert_eq!(client.join().expect("no panic"), 200);
        }
    });
    let order = order.lock().expect("no panic").clone();
    assert_eq!(order, ["/0", "/1", "/2", "/3"]);
    drop(back_end);
}

#[test]
fn request_that_waits_too_long_is_answered_503_and_reaches_no_back_end() {
    let (back_end, asked, go) = patient();
    let server = balancer(&[&back_end], "max=1", "timeout=1");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.get("/").status);
        assert!(eventually(PATIENCE, || asked.load(Ordering::Relaxed) == 1));
        assert_eq!(server.get("/").status, 503);
        go.send(()).expect("the back end waits");
        assert_eq!(first.join().expect("no panic"), 200);
    });
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    drop(back_end);
}

#[test]
fn reload_that_shortens_the_wait_applies_to_later_requests() {
    let (back_end, asked, go) = patient();
    let waits = |seconds| balancer_conf(&[&back_end], "max=1", &format!("timeout={seconds}"));
    let server = builder("Include pool.conf\n")
        .file("pool.conf", &waits(600))
        .start();
    let waiting = |count| server.status()["back_ends"][0]["waiting"].as_u64() == Some(count);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.get("/first").status);
        assert!(eventually(PATIENCE, || asked.load(Ordering::Relaxed) == 1));
        let early = scope.spawn(|| server.get("/early").status);
        assert!(eventually(PATIENCE, || waiting(1)));
        server.site.replace("pool.conf", &waits(1));
        assert!(server.control(&["reload"]).status.success());
        assert_eq!(server.get("/late").status, 503, "it may wait for a second");
        assert!(waiting(1), "who came before it waits on");
        for _ in 0..2 {
            go.send(()).expect("the back end waits");
        }
        assert_eq!(first.join().expect("no panic"), 200);
        assert_eq!(early.join().expect("no panic"), 200);
    });
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    drop(back_end);
}
