//! Tests health checks: the parameters of Apache's mod_proxy_hcheck, and what a failed check does.

use crate::{balancer, builder};
use mehari_harness::back_end::answer;
use mehari_harness::{eventually, BackEnd, Server, PATIENCE};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;

#[test]
fn a_member_that_fails_its_health_check_gets_no_request() {
    let well = Arc::new(AtomicBool::new(true));
    let is_well = well.clone();
    let moody = BackEnd::start(move |heard, stream| {
        let said = if heard.head.starts_with("GET /health ") && !is_well.load(Ordering::Relaxed) {
            b"HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n".to_vec()
        } else {
            answer("moody")
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

/// Starts a back end that tells the first line and the Host of each check, and answers it with what
/// `says` returns. It answers other requests with its name.
fn checked(
    name: &'static str,
    says: impl Fn() -> Vec<u8> + Send + Sync + 'static,
) -> (BackEnd, Receiver<String>) {
    let (heard, lines) = channel();
    let back_end = BackEnd::start(move |request, stream| {
        let is_check = request.field("User-Agent") == Some("Mehari (health check)");
        if !is_check {
            return stream.write_all(&answer(name)).is_ok();
        }
        let line = request.head.lines().next().unwrap_or_default();
        let _ = heard.send(line.to_string());
        stream.write_all(&says()).is_ok()
    });
    (back_end, lines)
}

fn pool(lines: &str, members: &[String]) -> Server {
    let members: String = members
        .iter()
        .map(|member| format!("BalancerMember {member}\n"))
        .collect();
    builder(&format!(
        "{lines}\n<Proxy balancer://pool>\n{members}ProxySet lbmethod=byrequests\n</Proxy>\nProxyPass / balancer://pool/\n"
    ))
    .start()
}

#[test]
fn each_member_is_asked_as_its_line_says() {
    let rows = [
        ("", "hcmethod=GET hcuri=/up", "GET /up HTTP/1.0"),
        ("", "hcmethod=GET11 hcuri=/up?a=1", "GET /up?a=1 HTTP/1.1"),
        ("", "hcmethod=HEAD", "HEAD / HTTP/1.0"),
        ("", "hcmethod=head11 hcuri=/up", "HEAD /up HTTP/1.1"),
        ("", "hcmethod=OPTIONS", "OPTIONS * HTTP/1.0"),
        ("", "hcmethod=OPTIONS11", "OPTIONS * HTTP/1.1"),
        ("", "hcuri=/up", "GET /up HTTP/1.1"),
        ("/base", "hcmethod=GET hcuri=/up", "GET /base/up HTTP/1.0"),
        ("", "hctemplate=web", "HEAD /of-template HTTP/1.0"),
        ("", "hctemplate=web hcuri=/own", "HEAD /own HTTP/1.0"),
    ];
    let answering = || b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
    let all: Vec<_> = rows.iter().map(|_| checked("any", answering)).collect();
    let silent = checked("silent", answering);
    let mut members: Vec<_> = std::iter::zip(&rows, &all)
        .map(|((path, parameters, _), (back_end, _))| {
            format!("{}{path} hcinterval=100ms {parameters}", back_end.url())
        })
        .collect();
    members.push(format!("{} hcmethod=None hcinterval=100ms", silent.0.url()));
    let server = pool(
        "ProxyHCTemplate web hcmethod=HEAD hcuri=/of-template",
        &members,
    );
    for ((_, parameters, expected), (_, lines)) in std::iter::zip(&rows, &all) {
        let line = lines.recv_timeout(PATIENCE).expect(parameters);
        assert_eq!(line, *expected, "{parameters}");
    }
    assert!(
        silent.1.try_recv().is_err(),
        "a member with hcmethod=None is not checked"
    );
    drop(server);
}

#[test]
fn expression_decides_whether_a_response_is_that_of_a_healthy_member() {
    let in_maintenance = Arc::new(AtomicBool::new(false));
    let is_closed = in_maintenance.clone();
    // The word stands in two chunks.
    let says = move || {
        let page = if is_closed.load(Ordering::Relaxed) {
            "5\r\nmaint\r\n6\r\nenance\r\n0\r\n\r\n"
        } else {
            "4\r\nopen\r\n0\r\n\r\n"
        };
        format!("HTTP/1.1 404 None\r\nX-State: well\r\nTransfer-Encoding: chunked\r\n\r\n{page}")
            .into_bytes()
    };
    let (moody, _lines) = checked("moody", says);
    let (steady, _more) = checked("steady", || answer("well"));
    let server = pool(
        "ProxyHCExpr open {%{REQUEST_STATUS} =~ /^[24]/ && %{resp:X-State} == 'well' && tolower(hc('body')) !~ /maintenance/}\n\
         ProxyHCExpr found {%{REQUEST_STATUS} -eq 200}",
        &[
            format!("{} hcmethod=GET11 hcuri=/ hcinterval=100ms hcexpr=open", moody.url()),
            format!("{} hcmethod=GET hcinterval=100ms hcexpr=found", steady.url()),
        ],
    );
    assert!(eventually(PATIENCE, || server.get("/").text() == "moody"));
    in_maintenance.store(true, Ordering::Relaxed);
    server
        .log
        .expect("fails its health check: answered 404, and");
    for _ in 0..10 {
        assert_eq!(server.get("/").expect(200), "steady");
    }
    in_maintenance.store(false, Ordering::Relaxed);
    server.log.expect("passes its health check again");
    assert!(eventually(PATIENCE, || server.get("/").text() == "moody"));
    drop((moody, steady));
}
