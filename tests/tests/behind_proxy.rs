//! Tests clients behind a proxy: the PROXY protocol and the header field of mod_remoteip. Both
//! count only where the configuration allows them.

use mehari_harness::scripts::{plain, simple};
use mehari_harness::{eventually, Request, Server, PATIENCE};

const ASK: &str = "print join ' ', @ENV{qw(REMOTE_ADDR REMOTE_PORT SERVER_ADDR SERVER_PORT)};";
const GET: &[u8] = b"GET /registry/ask.pl HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn start(conf: &str) -> Server {
    simple(2)
        .file("scripts/ask.pl", &plain(ASK))
        .conf(conf)
        .start()
}

#[test]
fn proxy_protocol_of_both_versions_gives_the_clients_address() {
    let server = start(
        "RemoteIPProxyProtocol On\nUseCanonicalPhysicalPort On\nRequestReadTimeout header=1\nCustomLog logs/access.log \"%a\"\n",
    );
    let mut v2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    v2.extend_from_slice(&[192, 0, 2, 7, 198, 51, 100, 1, 0x10, 0, 0, 80]);
    for (header, expected) in [
        (
            &b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"[..],
            "192.0.2.1 56324 198.51.100.1 443",
        ),
        (
            b"PROXY TCP6 2001:db8::1 2001:db8::2 9 80\r\n",
            "2001:db8::1 9 2001:db8::2 80",
        ),
        (&v2, "192.0.2.7 4096 198.51.100.1 80"),
    ] {
        let mut connection = server.connect();
        connection.write(header).write(GET);
        assert_eq!(
            connection
                .read_answer("GET")
                .expect("an answer")
                .expect(200),
            expected
        );
    }
    for wrong in [
        GET,
        b"PROXY TCP4 192.0.2.1\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
        b"PROXY",
    ] {
        let mut connection = server.connect();
        connection.write(wrong);
        assert!(connection.is_closed_by_server(), "{}", wrong.escape_ascii());
    }
    assert!(server
        .log
        .text()
        .contains("PROXY header of 127.0.0.1: not a PROXY header"));
    let logged = eventually(PATIENCE, || {
        server.site.read("logs/access.log").lines().count() == 3
    });
    assert!(logged, "{}", server.site.read("logs/access.log"));
    assert!(server
        .site
        .read("logs/access.log")
        .starts_with("192.0.2.1\n2001:db8::1\n"));
}

#[test]
fn only_the_header_of_a_trusted_proxy_gives_the_clients_address() {
    let ask = |server: &Server| {
        let request =
            Request::get("/registry/ask.pl").field("X-Forwarded-For", "6.6.6.6, 192.0.2.9");
        let text = server.send(&request).expect(200);
        text.split(' ').next().map(str::to_string)
    };
    let believing = start("RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.0/8\n");
    assert_eq!(ask(&believing).as_deref(), Some("192.0.2.9"));
    let other = start("RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 10.0.0.0/8\n");
    assert_eq!(ask(&other).as_deref(), Some("127.0.0.1"));
}
