//! Tests which member of a balancer serves a session, and the variables that tell the member. Each
//! response must equal Apache's.

use mehari_harness::back_end::answer;
use mehari_harness::{eventually, BackEnd, Builder, Pair, Request, Server, PATIENCE};
use std::io::Write;
use std::net::TcpListener;

/// The modules that only this test needs. Mehari ignores the lines.
const MODULES: &str = "\
    LoadModule slotmem_shm_module /usr/lib/apache2/modules/mod_slotmem_shm.so\n\
    LoadModule proxy_balancer_module /usr/lib/apache2/modules/mod_proxy_balancer.so\n\
    LoadModule lbmethod_byrequests_module /usr/lib/apache2/modules/mod_lbmethod_byrequests.so\n";

/// Fields that show the variables.
const SHOWN: &str = "\
    Header set X-Member \"%{BALANCER_NAME}e %{BALANCER_WORKER_NAME}e %{BALANCER_WORKER_ROUTE}e\"\n\
    Header set X-Changed \"%{BALANCER_ROUTE_CHANGED}e\"\n\
    Header set X-Session \"%{BALANCER_SESSION_STICKY}e %{BALANCER_SESSION_ROUTE}e\"\n";

fn named(name: &'static str) -> BackEnd {
    BackEnd::start(move |_, stream| stream.write_all(&answer(name)).is_ok())
}

/// Returns the URL of an address at which nothing listens.
fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("bound"))
}

fn site(lines: &str) -> Builder {
    Server::builder().conf(&format!("{MODULES}{lines}"))
}

fn with_cookie(target: &str, cookie: &str) -> Request {
    let request = Request::get(target);
    if cookie.is_empty() {
        request
    } else {
        request.field("Cookie", cookie)
    }
}

#[test]
fn session_goes_to_the_member_to_which_it_goes_in_apache() {
    let (one, two, spare) = (named("one"), named("two"), named("spare"));
    let (one_url, two_url, spare_url, dead) = (one.url(), two.url(), spare.url(), dead());
    let members = format!(
        "BalancerMember {one_url} route=r1\nBalancerMember {two_url} route=r2\n\
         BalancerMember {spare_url} route=r3 status=+H\n\
         BalancerMember {dead}/off route=r4 status=+D redirect=r2\n\
         BalancerMember {dead}/spare route=r5 status=+D redirect=r3\n"
    );
    let balancer = |name: &str, set: &str| {
        format!(
            "<Proxy balancer://{name}>\n{members}ProxySet {set}\n</Proxy>\n\
             ProxyPass /{name}/ balancer://{name}/\n"
        )
    };
    let lines = [
        balancer("plain", "stickysession=SID"),
        balancer("names", "stickysession=SID|sid scolonpathdelim=On"),
        balancer("bar", "stickysession=SID stickysessionsep=!"),
        SHOWN.to_owned(),
    ]
    .concat();
    let mut pair = Pair::start(|| site(&lines));
    let mut differences = Vec::new();
    for (path, cookie) in [
        ("/plain/x", "SID=a.r1"),
        ("/plain/x", "A=1; SID=a.r2"),
        ("/plain/x", "A=1,SID =a.r2,b"),
        ("/plain/x", "SID=a.r3"),
        ("/plain/x", "SID=a.r4"),
        ("/plain/x", "SID=a.r5"),
        ("/plain/x?SID=a.r2", "SID=a.r1"),
        ("/plain/x?a=b&SID=a.r2&c", ""),
        ("/plain/x;SID=a.r2?b", ""),
        ("/names/x;sid=a.r2;b", ""),
        ("/names/x?sid=a.r1", ""),
        ("/names/x?sid=a.r1&SID=a.r2", "SID=a.r2"),
        ("/names/x", "SID=a.r2"),
        ("/bar/x", "SID=a.b!r2"),
    ] {
        let request = with_cookie(path, cookie);
        differences.extend(pair.compare(&request).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // No route is found, so any member serves the request.
    for (path, cookie) in [
        ("/plain/x", ""),
        ("/plain/x", "SID=a.b.r2"),
        ("/plain/x", "SID=r2"),
        ("/plain/x", "sid=a.r2"),
        ("/names/x", "sid=a.r2"),
        ("/plain/x;SID=a.r2;b", ""),
        ("/bar/x", "SID=a.r2"),
    ] {
        let sent = with_cookie(path, cookie);
        for server in pair.servers() {
            let answer = server.send(&sent);
            let changed = answer.field("x-changed");
            assert_eq!(changed.as_deref(), Some("1"), "{path} {cookie}");
        }
    }
    drop((one, two, spare));
}

#[test]
fn the_documented_sticky_cookie_is_set_as_in_apache() {
    let one = named("one");
    let url = one.url();
    let lines = format!(
        "Header add Set-Cookie \"ROUTEID=.%{{BALANCER_WORKER_ROUTE}}e; path=/\" \
         env=BALANCER_ROUTE_CHANGED\n{SHOWN}\
         <Proxy balancer://pool>\nBalancerMember {url} route=r1\n\
         ProxySet stickysession=ROUTEID\n</Proxy>\nProxyPass /pool/ balancer://pool/\n\
         <Proxy balancer://loose>\nBalancerMember {url}/in\n</Proxy>\n\
         ProxyPass /loose/ balancer://loose/\nProxyPass /alone/ {url}/\n\
         CustomLog member.log \"%{{BALANCER_WORKER_NAME}}e %{{BALANCER_WORKER_ROUTE}}e\"\n"
    );
    let mut pair = Pair::start(|| site(&lines));
    let first = pair.get("/pool/x");
    assert_eq!(first.all("set-cookie"), ["ROUTEID=.r1; path=/"]);
    assert!(pair.get("/pool/x").all("set-cookie").is_empty());
    for path in ["/loose/x", "/alone/x"] {
        assert!(pair.get(path).all("set-cookie").is_empty());
    }
    for server in pair.servers() {
        let expected = format!("{url} r1\n{url} r1\n{url}/in \n- -\n");
        let is_there = || server.site.read("member.log") == expected;
        assert!(
            eventually(PATIENCE, is_there),
            "{}",
            server.site.read("member.log")
        );
    }
    drop(one);
}

#[test]
fn session_of_a_dead_member_is_refused_without_failover_as_in_apache() {
    let one = named("one");
    let (url, dead) = (one.url(), dead());
    let balancer = |name: &str, set: &str| {
        format!(
            "<Proxy balancer://{name}>\nBalancerMember {url} route=r1\n\
             BalancerMember {dead} route=r2\nProxySet stickysession=SID {set}\n</Proxy>\n\
             ProxyPass /{name}/ balancer://{name}/\n"
        )
    };
    let lines = balancer("stays", "nofailover=On") + &balancer("moves", "");
    let mut pair = Pair::start(|| site(&(lines.clone() + SHOWN)));
    for _ in 0..3 {
        let sent = |target: &str, cookie| with_cookie(target, cookie);
        assert_eq!(pair.send(&sent("/stays/x", "SID=a.r1")).text(), "one");
        for server in pair.servers() {
            server.send(&sent("/stays/x", "SID=a.r2")).expect(503);
        }
        assert_eq!(pair.send(&sent("/stays/x", "SID=a.r9")).text(), "one");
        assert_eq!(pair.send(&sent("/moves/x", "SID=a.r2")).text(), "one");
    }
    drop(one);
}

#[test]
fn member_with_a_status_of_failonstatus_is_avoided_as_in_apache() {
    let one = named("one");
    let ill = BackEnd::start(|_, stream| {
        let said = b"HTTP/1.1 503 Ill\r\nContent-Length: 3\r\n\r\nill";
        stream.write_all(said).is_ok()
    });
    let (url, ill_url) = (one.url(), ill.url());
    let lines = format!(
        "<Proxy balancer://pool>\nBalancerMember {url} route=r1\n\
         BalancerMember {ill_url} route=r2\n\
         ProxySet stickysession=SID failonstatus=500,503 failontimeout=On\n</Proxy>\n\
         ProxyPass /pool/ balancer://pool/\n\
         <Proxy balancer://alone>\nBalancerMember {ill_url}\nProxySet failonstatus=503\n</Proxy>\n\
         ProxyPass /alone/ balancer://alone/\n"
    );
    let mut pair = Pair::start(|| site(&lines));
    let of_ill = with_cookie("/pool/x", "SID=a.r2");
    assert_eq!(pair.send(&of_ill).expect(503), "ill");
    for _ in 0..4 {
        assert_eq!(pair.send(&of_ill).expect(200), "one");
        assert_eq!(pair.get("/alone/x").expect(503), "ill");
    }
    drop((one, ill));
}

#[test]
fn later_sets_serve_while_no_member_of_an_earlier_set_can_as_in_apache() {
    let (one, two) = (named("one"), named("two"));
    let (one_url, two_url, dead) = (one.url(), two.url(), dead());
    let lines = format!(
        "<Proxy balancer://first>\nBalancerMember {two_url} lbset=1\n\
         BalancerMember {one_url}\n</Proxy>\nProxyPass /first/ balancer://first/\n\
         <Proxy balancer://last>\nBalancerMember {two_url} lbset=2\n\
         BalancerMember {dead} lbset=0\n</Proxy>\nProxyPass /last/ balancer://last/\n"
    );
    let mut pair = Pair::start(|| site(&lines));
    for _ in 0..4 {
        assert_eq!(pair.get("/first/x").expect(200), "one");
        assert_eq!(pair.get("/last/x").expect(200), "two");
    }
    drop((one, two));
}

/// All parameters that Apache's documents name.
#[test]
fn all_documented_parameters_are_accepted() {
    let one = named("one");
    let url = one.url();
    let lines = format!(
        "<Proxy balancer://pool>\nBalancerMember {url} min=0 max=50 smax=10 acquire=300 \
         connectiontimeout=5 disablereuse=Off enablereuse=On flushpackets=auto flushwait=10 \
         iobuffersize=8192 responsefieldsize=8192 keepalive=On lbset=0 ping=1 loadfactor=2 \
         receivebuffersize=0 redirect=r2 retry=60 route=r1 status=-D timeout=30 ttl=60 \
         addressttl=10 upgrade=NONE\n\
         BalancerMember {url}/other status=+I route=r2\n\
         BalancerMember {url}/spare status=R\n\
         ProxySet lbmethod=byrequests maxattempts=1 nofailover=Off stickysession=A|a \
         stickysessionsep=. scolonpathdelim=On timeout=5 failonstatus=503 failontimeout=On \
         nonce=None growth=5 forcerecovery=On\n\
         </Proxy>\nProxyPass /pool/ balancer://pool/\n"
    );
    let mut pair = Pair::start(|| site(&lines));
    assert_eq!(pair.get("/pool/x").expect(200), "one");
    drop(one);
}
