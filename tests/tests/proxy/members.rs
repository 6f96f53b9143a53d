//! Tests the choice of a member: failed members, drained members, and sessions that stay on one
//! member.

use crate::{balancer, builder, members};
use mehari_harness::back_end::answer;
use mehari_harness::crowd::Crowd;
use mehari_harness::{apache, eventually, BackEnd, Request, PATIENCE};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_kept_connection_that_was_closed_meanwhile_loses_no_request() {
    // The back end announces that it keeps the connection, and closes it.
    let back_end = BackEnd::start(|_, stream| {
        let _ = stream.write_all(&answer("ok"));
        false
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    for number in 0..200 {
        assert_eq!(server.get(&format!("/{number}")).expect(200), "ok");
    }
    drop(back_end);
}

#[test]
fn a_member_that_refuses_is_passed_over_at_once_and_asked_again_later() {
    let good = BackEnd::start(|_, stream| stream.write_all(&answer("good")).is_ok());
    let address = free_address();
    let conf = format!(
        "<Proxy balancer://pool>\nBalancerMember {}\nBalancerMember http://{address}\nProxySet lbmethod=byrequests\n</Proxy>\nProxyPass / balancer://pool/\n",
        good.url()
    );
    let server = builder(&conf).start();
    for _ in 0..20 {
        assert_eq!(server.send(&Request::post("/", "x")).expect(200), "good");
    }
    let down = members(&server);
    assert!(
        down.iter().any(|member| member["state"] == "down"),
        "{down:?}"
    );
    let back = BackEnd::at(address, |_, stream| {
        stream.write_all(&answer("back")).is_ok()
    });
    assert!(eventually(PATIENCE, || server.get("/").text() == "back"));
    drop((back, good));
}

/// A page that ends its process must not make the other pages unavailable.
#[test]
fn a_member_that_closes_a_connection_without_a_response_is_not_avoided() {
    let back_end = BackEnd::start(|request, stream| {
        !request.head.contains("/ends") && stream.write_all(&answer("page")).is_ok()
    });
    let site = || builder(&format!("ProxyPass / {}/\n", back_end.url()));
    let servers = apache::beside(site);
    for server in &servers {
        for _ in 0..5 {
            server.get("/ends").expect(502);
            assert_eq!(server.get("/page").expect(200), "page");
        }
    }
    drop(back_end);
}

/// A back end that has never responded is not one that starts again, so no request waits for it.
#[test]
fn a_back_end_that_is_down_from_the_start_is_unavailable_as_in_apache() {
    let address = free_address();
    let site = || {
        builder(&format!(
            "ProxyPass /alone http://{address}/\nProxyPass /socket unix:@ROOT@/none|http://x/\n\
             <Location /place>\nProxyPass http://{address}/\n</Location>\n\
             RewriteEngine On\nRewriteRule ^/rule http://{address}/ [P]\n"
        ))
    };
    for server in apache::beside(site) {
        for path in ["/alone/", "/socket/", "/place/", "/rule"] {
            for request in [Request::get(path), Request::post(path, "x")] {
                assert_eq!(server.send(&request).status, 503, "{path}");
            }
        }
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound")
}

#[test]
fn a_session_sticks_to_the_member_its_cookie_names() {
    let [one, two] = ["one", "two"]
        .map(|name| BackEnd::start(move |_, stream| stream.write_all(&answer(name)).is_ok()));
    let conf = format!(
        "<Proxy balancer://pool>\nBalancerMember {} route=a\nBalancerMember {} route=b\nProxySet stickysession=SID\n</Proxy>\nProxyPass / balancer://pool/\n",
        one.url(), two.url()
    );
    let server = builder(&conf).start();
    for (cookie, expected) in [("x=1; SID=abc.b", "two"), ("SID=9.a", "one")] {
        for _ in 0..10 {
            let request = Request::get("/").field("Cookie", cookie);
            assert_eq!(server.send(&request).expect(200), expected);
        }
    }
    assert_eq!(server.get("/?SID=1.b").expect(200), "two");
    drop((one, two));
}

#[test]
fn a_member_can_be_drained_and_resumed_by_command() {
    let [one, two] = ["one", "two"]
        .map(|name| BackEnd::start(move |_, stream| stream.write_all(&answer(name)).is_ok()));
    let server = balancer(&[&one, &two], "", "lbmethod=sqf");
    let drained = server.control(&["drain", &one.url()]);
    assert!(drained.status.success(), "{drained:?}");
    for _ in 0..20 {
        assert_eq!(server.get("/").expect(200), "two");
    }
    let status = server.control(&["status"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        text.contains("draining") && text.contains(&two.url()),
        "{text}"
    );
    assert!(server.control(&["resume", &one.url()]).status.success());
    assert!(eventually(PATIENCE, || server.get("/").text() == "one"));
    let unknown = server.control(&["drain", "http://nowhere"]);
    assert_eq!(unknown.status.code(), Some(1));
    drop((one, two));
}

#[test]
fn back_ends_that_come_and_go_and_reloads_under_load_lose_nothing() {
    let start = |address: Option<SocketAddr>| {
        let answering = |_: mehari_harness::back_end::ReceivedRequest,
                         stream: &mut std::net::TcpStream| {
            stream.write_all(&answer("ok")).is_ok()
        };
        match address {
            None => BackEnd::start(answering),
            Some(address) => BackEnd::at(address, answering),
        }
    };
    let (one, two) = (start(None), start(None));
    let server = balancer(&[&one, &two], "retry=200ms", "lbmethod=sqf");
    let over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let crowd = Crowd {
                address: server.address,
                clients: 8,
                requests: 8_000,
                keep_alive: true,
            };
            let outcome = crowd.run(
                |number| Request::get(&format!("/{number}")),
                |_, answer| answer.status == 200 && answer.text() == "ok",
            );
            over.store(true, Ordering::Relaxed);
            outcome
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                server.control(&["reload"]);
            }
        });
        let mut pair = [one, two];
        let mut turn = 0;
        while !over.load(Ordering::Relaxed) {
            let address = pair[turn].address;
            // The back end is killed and started again. The placeholder is dropped at once.
            let placeholder = start(None);
            drop(std::mem::replace(&mut pair[turn], placeholder));
            std::thread::sleep(Duration::from_millis(30));
            pair[turn] = start(Some(address));
            std::thread::sleep(Duration::from_millis(120));
            turn = 1 - turn;
        }
        load.join().expect("no panic")
    });
    assert_eq!(outcome.failed, 0, "{:?}", outcome.failures);
}
