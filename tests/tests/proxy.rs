//! Back ends over HTTP: what they are told, who is chosen, and what they may do wrong.

use mehari_harness::back_end::answer;
use mehari_harness::crowd::Crowd;
use mehari_harness::{eventually, BackEnd, Builder, Request, Server, PATIENCE};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::time::{Duration, Instant};

/// A server that needs no Perl worker but one.
fn builder(conf: &str) -> Builder {
    let common = "StartServers 1\nMaxRequestWorkers 1\n";
    Server::builder().conf(common).conf(conf)
}

fn balancer(members: &[&BackEnd], parameters: &str, set: &str) -> Server {
    builder(&balancer_conf(members, parameters, set)).start()
}

fn balancer_conf(members: &[&BackEnd], parameters: &str, set: &str) -> String {
    let mut conf = String::from("<Proxy balancer://pool>\n");
    for member in members {
        conf.push_str(&format!("BalancerMember {} {parameters}\n", member.url()));
    }
    if !set.is_empty() {
        conf.push_str(&format!("ProxySet {set}\n"));
    }
    conf + "</Proxy>\nProxyPass / balancer://pool/\n"
}

/// What `mehari status` says of the members.
fn members(server: &Server) -> Vec<serde_json::Value> {
    let status = server.status();
    status["back_ends"][0]["members"]
        .as_array()
        .expect("members")
        .clone()
}

#[test]
fn a_back_end_is_asked_for_its_own_path_and_told_of_the_client() {
    let back_end = BackEnd::start(|heard, stream| {
        let text = format!("{}body {}", heard.head, heard.body.len());
        stream.write_all(&answer(&text)).is_ok()
    });
    let url = back_end.url();
    let server = builder(&format!(
        "ProxyPass /app/no !\nProxyPass /app/ {url}/inner/\n\
         <Location /kept>\nProxyPass {url}\nProxyPreserveHost On\nProxyForwarded replace\n</Location>\n\
         ProxyPassMatch ^/old/(\\w+)$ {url}/new/$1\n"
    ))
    .file("htdocs/app/no", "a file")
    .start();
    let said = server
        .send(
            &Request::get("/app/a%20b/c;d?q=%2F")
                .field("X-Forwarded-For", "10.1.1.1")
                .field("Keep-Alive", "5")
                .field("X-Hop", "gone")
                .field("Connection", "x-hop-not, Hop")
                .field("Hop", "gone too")
                .field("Proxy", "http://evil/"),
        )
        .expect(200);
    assert!(
        said.starts_with("GET /inner/a%20b/c;d?q=%2F HTTP/1.1\r\n"),
        "{said}"
    );
    let host = format!("Host: {}\r\n", back_end.address);
    assert!(said.contains(&host), "{said}");
    assert!(
        said.contains("X-Forwarded-For: 10.1.1.1, 127.0.0.1\r\n"),
        "{said}"
    );
    assert!(said.contains("X-Forwarded-Proto: http\r\n"), "{said}");
    for gone in ["Keep-Alive", "\nHop", "Proxy:", "Connection"] {
        assert!(!said.contains(gone), "{gone}: {said}");
    }
    let said = server
        .send(&Request::get("/kept/x").field("X-Forwarded-For", "10.1.1.1"))
        .expect(200);
    assert!(said.starts_with("GET /x HTTP/1.1\r\n"), "{said}");
    assert!(
        said.contains(&format!("Host: {}\r\n", server.address)),
        "{said}"
    );
    assert!(said.contains("X-Forwarded-For: 127.0.0.1\r\n"), "{said}");
    assert!(server
        .get("/old/page")
        .expect(200)
        .starts_with("GET /new/page "));
    assert_eq!(server.get("/app/no").expect(200), "a file");
    let large = vec![b'x'; 3_000_000];
    let said = server
        .send(&Request::post("/app/", large).chunked())
        .expect(200);
    assert!(said.ends_with("body 3000000"), "{said}");
    assert!(said.contains("Content-Length: 3000000\r\n"), "{said}");
    drop(back_end);
}

#[test]
fn connections_are_kept_and_bodiless_answers_leave_them_usable() {
    let back_end = BackEnd::start(|heard, stream| {
        let said: &[u8] = match heard.head.split(' ').nth(1) {
            Some("/none") => b"HTTP/1.1 204 No Content\r\n\r\n",
            Some("/same") => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
            _ if heard.head.starts_with("HEAD") => b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
            Some("/chunks") => {
                b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: y\r\n\r\n"
            }
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: 5\r\nConnection: X-Own\r\nX-Own: 1\r\n\r\nok",
        };
        stream.write_all(said).is_ok()
    });
    let server = builder(&format!("ProxyPass / {}/\n", back_end.url())).start();
    let mut client = server.connect();
    for (method, target, status, body) in [
        ("GET", "/", 200, "ok"),
        ("HEAD", "/", 200, ""),
        ("GET", "/none", 204, ""),
        ("GET", "/same", 304, ""),
        ("GET", "/chunks", 200, "abc"),
        ("GET", "/", 200, "ok"),
    ] {
        let answer = client
            .send(&Request::new(method, target))
            .expect("an answer");
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{method} {target}"
        );
        assert_eq!(answer.field("keep-alive"), None);
        assert_eq!(answer.field("x-own"), None);
        if target == "/chunks" {
            assert_eq!(answer.interim, [103]);
        }
    }
    assert_eq!(back_end.connections(), 1, "one connection served all");
    drop(back_end);
}

#[test]
fn what_is_not_an_answer_is_answered_502_and_disturbs_nobody() {
    const BAD: [(&str, &[u8]); 12] = [
        ("no byte", b""),
        ("no HTTP", b"hello\r\n\r\n"),
        ("half a head", b"HTTP/1.1 200 OK\r\nA: b"),
        (
            "both lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        ),
        (
            "a length that is none",
            b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab",
        ),
        (
            "an unknown coding",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab",
        ),
        ("a folded line", b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"),
        ("a NUL", b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"),
        (
            "a status out of range",
            b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "101 unasked",
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        ),
        (
            "interim without end",
            b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 103 Early\r\n\r\n",
        ),
    ];
    let mut conf = String::new();
    let back_ends: Vec<BackEnd> = BAD
        .iter()
        .map(|(_, bytes)| BackEnd::saying(bytes))
        .collect();
    for (index, back_end) in back_ends.iter().enumerate() {
        conf.push_str(&format!(
            "ProxyPass /bad/{index} {} retry=0\n",
            back_end.url()
        ));
    }
    // Header lines without end, and header fields without number.
    let endless = BackEnd::start(|heard, stream| {
        let line: &[u8] = match heard.head.contains("/long") {
            true => b"xxxxxxxxxxxxxxxx",
            false => b"A: b\r\n",
        };
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        for _ in 0..1_000_000 {
            if stream.write_all(line).is_err() {
                return false;
            }
        }
        let _ = stream.write_all(b"\r\n\r\n");
        false
    });
    conf.push_str(&format!("ProxyPass /endless {} retry=0\n", endless.url()));
    let server = builder(&conf).file("htdocs/well", "well").start();
    for (index, (name, _)) in BAD.iter().enumerate() {
        let status = server.get(&format!("/bad/{index}")).status;
        assert_eq!(status, 502, "{name}");
        assert_eq!(server.get("/well").expect(200), "well");
    }
    for target in ["/endless/long", "/endless/many"] {
        assert_eq!(server.get(target).status, 502, "{target}");
    }
    server.log.expect("its head is too long");
    server
        .log
        .expect("both Transfer-Encoding and Content-Length");
    server.log.expect("closed the connection without an answer");
    drop(endless);
}

#[test]
fn a_client_can_tell_an_answer_that_was_cut_off() {
    const CUT: [(&str, &[u8]); 4] = [
        (
            "too short",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        ),
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
fn a_silent_back_end_costs_its_request_the_time_limit_and_nobody_else() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let silent = BackEnd::start(move |_, _| {
        let _ = held.lock().expect("no panic").recv();
        false
    });
    let server = builder(&format!(
        "ProxyTimeout 1\nProxyPass /silent {}\n",
        silent.url()
    ))
    .file("htdocs/well", "well")
    .start();
    let began = Instant::now();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.get("/silent").status);
        assert_eq!(server.get("/well").expect(200), "well");
        waiting.join().expect("no panic")
    });
    assert_eq!(waiting, 504);
    assert!(began.elapsed() < Duration::from_secs(5));
    drop(release);
    drop(silent);
}

#[test]
fn a_kept_connection_that_was_closed_meanwhile_loses_no_request() {
    // Says that it keeps the connection, and closes it.
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

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound")
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
fn a_request_that_waits_too_long_is_answered_503_and_costs_no_back_end() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, (go, may_go)) = (asked.clone(), mpsc::channel::<()>());
    let may_go = Mutex::new(may_go);
    let back_end = BackEnd::start(move |_, stream| {
        count.fetch_add(1, Ordering::Relaxed);
        let _ = may_go.lock().expect("no panic").recv();
        stream.write_all(&answer("ok")).is_ok()
    });
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
    // HTTP/2 in clear text would pass every rule by.
    let h2c = Request::get("/")
        .field("Upgrade", "h2c")
        .field("Connection", "Upgrade, HTTP2-Settings");
    assert_eq!(server.send(&h2c).expect(200), "no upgrade");
    drop(back_end);
}

#[test]
fn what_a_back_end_says_bit_by_bit_goes_on_at_once() {
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
fn a_slow_client_holds_no_back_end_and_one_that_goes_frees_it() {
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

#[test]
fn fields_that_name_the_back_end_are_rewritten_and_its_errors_replaced() {
    let back_end = BackEnd::start(|heard, stream| {
        let host = heard.field("host").unwrap_or_default();
        let said = match heard.head.split(' ').nth(1) {
            Some("/missing") => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nmine".to_string(),
            _ => format!("HTTP/1.1 302 Found\r\nLocation: http://{host}/x?y\r\nSet-Cookie: a=b; Path=/z\r\nContent-Length: 0\r\n\r\n"),
        };
        stream.write_all(said.as_bytes()).is_ok()
    });
    let url = back_end.url();
    let server = builder(&format!(
        "ProxyPass /app {url}\nProxyPassReverse /app {url}\nProxyPassReverseCookiePath / /app/\nProxyErrorOverride On 404\nErrorDocument 404 \"ours\"\n"
    ))
    .start();
    let answer = server.get("/app/moved");
    assert_eq!(answer.field("location").as_deref(), Some("/app/x?y"));
    assert_eq!(
        answer.field("set-cookie").as_deref(),
        Some("a=b; Path=/app/z")
    );
    assert_eq!(server.get("/app/missing").expect(404), "ours");
    drop(back_end);
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
fn a_member_that_fails_its_health_check_gets_no_request() {
    let well = Arc::new(AtomicBool::new(true));
    let is_well = well.clone();
    let moody = BackEnd::start(move |heard, stream| {
        let said = match heard.head.starts_with("GET /health ") && !is_well.load(Ordering::Relaxed)
        {
            true => b"HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n".to_vec(),
            false => answer("moody"),
        };
        stream.write_all(&said).is_ok()
    });
    let steady = BackEnd::start(|_, stream| stream.write_all(&answer("steady")).is_ok());
    let server = balancer(
        &[&moody, &steady],
        "",
        "lbmethod=sqf hcinterval=100ms hcuri=/health hcfails=2",
    );
    assert!(eventually(PATIENCE, || server.get("/").text() == "moody"));
    well.store(false, Ordering::Relaxed);
    server.log.expect("fails its health check: answered 500");
    for _ in 0..20 {
        assert_eq!(server.get("/").expect(200), "steady");
    }
    well.store(true, Ordering::Relaxed);
    server.log.expect("passes its health check again");
    assert!(eventually(PATIENCE, || server.get("/").text() == "moody"));
    drop((moody, steady));
}

#[test]
fn back_ends_that_come_and_go_and_reloads_under_load_lose_nothing() {
    let start = |address: Option<SocketAddr>| {
        let answering = |_: mehari_harness::back_end::Heard, stream: &mut std::net::TcpStream| {
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
            // Killed, then there again: the placeholder is dropped at once.
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

#[test]
fn a_program_has_a_file_sent_from_allowed_folders_only() {
    let back_end = BackEnd::start(|heard, stream| {
        let target = heard.head.split(' ').nth(1).unwrap_or_default();
        let named = target.trim_start_matches("/back");
        let said = format!("HTTP/1.1 200 OK\r\nX-Sendfile: /files{named}\r\nContent-Type: text/x-own\r\nContent-Length: 4\r\n\r\njunk");
        stream.write_all(said.as_bytes()).is_ok()
    });
    let script = "#!/usr/bin/perl\nmy ($field, $value) = split /=/, $ENV{QUERY_STRING}, 2;\n\
        print \"Content-Type: text/x-script\\nX-Keep: 1\\n$field: $value\\n\\nnot this\";\n";
    let server = Server::builder()
        .file("scripts/send.pl", script)
        .file("private/page.txt", "0123456789")
        .file("secret.txt", "secret")
        .conf(&format!(
            "Alias /scripts @ROOT@/scripts\nAlias /inner @ROOT@/private\n\
             <Location /scripts>\nSetHandler perl-script\nOptions +ExecCGI\nXSendFile On\nXSendFilePath @ROOT@/private\n</Location>\n\
             <Location /inner>\nRequire all denied\n</Location>\n\
             <Location /off>\nSetHandler perl-script\n</Location>\n\
             ProxyPass /back {}/back\n",
            back_end.url()
        ))
        .start();
    let root = server.site.root().to_string_lossy().into_owned();
    let ask = |query: String| server.get(&format!("/scripts/send.pl?{query}"));
    for query in [
        format!("X-Sendfile={root}/private/page.txt"),
        "X-Sendfile=page.txt".to_string(),
        format!("X-LIGHTTPD-send-file={root}/private/page.txt"),
        "X-Accel-Redirect=/inner/page.txt".to_string(),
    ] {
        let answer = ask(query.clone());
        assert_eq!(answer.expect(200), "0123456789", "{query}");
        assert_eq!(
            answer.field("content-type").as_deref(),
            Some("text/x-script")
        );
        assert_eq!(answer.field("x-keep").as_deref(), Some("1"));
        assert_eq!(answer.field("x-sendfile"), None);
        assert!(answer.field("etag").is_some());
    }
    let part = Request::get("/scripts/send.pl?X-Sendfile=page.txt").field("Range", "bytes=2-4");
    assert_eq!(server.send(&part).expect(206), "234");
    assert_eq!(server.get("/inner/page.txt").status, 403);
    std::os::unix::fs::symlink(format!("{root}/secret.txt"), format!("{root}/private/link"))
        .expect("a link");
    for (query, status) in [
        (format!("X-Sendfile={root}/secret.txt"), 403),
        ("X-Sendfile=link".to_string(), 403),
        ("X-Sendfile=/etc/passwd".to_string(), 403),
        (format!("X-Sendfile={root}/private/../secret.txt"), 500),
        ("X-Sendfile=missing".to_string(), 404),
        ("X-Sendfile=".to_string(), 500),
    ] {
        assert_eq!(ask(query.clone()).status, status, "{query}");
    }
    server.log.expect("is in no folder of XSendFilePath");
    // Where it is off, the field goes on: it may be meant for a server before us.
    let answer = server.get("/back/x");
    assert_eq!(answer.expect(200), "junk");
    assert_eq!(answer.field("x-sendfile").as_deref(), Some("/files/x"));
    drop(back_end);
}

#[test]
fn a_request_that_perl_looked_at_first_reaches_the_back_end_with_its_body() {
    let back_end = BackEnd::start(|heard, stream| {
        let sum: usize = heard.body.iter().map(|&byte| usize::from(byte)).sum();
        stream
            .write_all(&answer(&format!("{} {sum}", heard.body.len())))
            .is_ok()
    });
    let module = "package Door;\nuse Apache2::Const -compile => qw(OK FORBIDDEN);\n\
        sub look { $_[0]->method eq 'PUT' ? Apache2::Const::FORBIDDEN : Apache2::Const::OK }\n1;\n";
    let server = builder(&format!(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Door\nProxyPass /app {}\n\
         <Location /app>\nPerlAccessHandler Door::look\n</Location>\n",
        back_end.url()
    ))
    .file("lib/Door.pm", module)
    .start();
    for size in [1, 1000, 300_000] {
        let request = Request::post("/app/x", vec![3; size]);
        let expected = format!("{size} {}", 3 * size);
        assert_eq!(server.send(&request).expect(200), expected);
    }
    assert_eq!(server.get("/app/x").expect(200), "0 0");
    assert_eq!(
        server.send(&Request::new("PUT", "/app/x").body("x")).status,
        403
    );
    drop(back_end);
}
