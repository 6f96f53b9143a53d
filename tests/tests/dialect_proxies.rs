//! Tests which client is taken for the client behind proxies: the directives of mod_remoteip. Each
//! response must equal Apache's.

use mehari_harness::{apache, Builder, Pair, Request, Server};

const ADDRESS: &str =
    "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n$ENV{REMOTE_ADDR}\\n};\n";

fn site(lines: &str) -> Builder {
    Server::builder()
        .ladder()
        .file("scripts/address.pl", ADDRESS)
        .file(
            "internal.txt",
            "# the site's own\n127.0.0.1 10.0.0.0/8 # and these\n\n2001:db8::1\n",
        )
        .file("trusted.txt", "192.0.2.0/24\n127.0.0.1\n")
        .conf(lines)
        .conf("RemoteIPHeader X-Forwarded-For\n")
}

/// The lines, the field, and the client.
const ROWS: [(&str, &str, &str); 21] = [
    (
        "RemoteIPInternalProxy 127.0.0.1",
        "192.0.2.9:4000",
        "127.0.0.1",
    ),
    (
        "RemoteIPInternalProxy 127.0.0.1",
        "[2001:db8::1]:4000",
        "127.0.0.1",
    ),
    (
        "RemoteIPInternalProxy 127.0.0.1",
        "[2001:db8::1]",
        "127.0.0.1",
    ),
    (
        "RemoteIPInternalProxy 127.0.0.1",
        "192.0.2.9, nonsense",
        "127.0.0.1",
    ),
    ("RemoteIPInternalProxy 127.0.0.1", "192.0.2.9,", "127.0.0.1"),
    (
        "RemoteIPInternalProxy 127.0.0.1",
        "::ffff:192.0.2.9",
        "192.0.2.9",
    ),
    ("RemoteIPInternalProxy 127.0.0.1", "10.1.2.3", "10.1.2.3"),
    ("RemoteIPInternalProxy 127.0.0.1", "fe80::1", "fe80::1"),
    ("RemoteIPTrustedProxy 127.0.0.1", "10.1.2.3", "127.0.0.1"),
    ("RemoteIPTrustedProxy 127.0.0.1", "172.31.0.1", "127.0.0.1"),
    ("RemoteIPTrustedProxy 127.0.0.1", "169.254.1.1", "127.0.0.1"),
    ("RemoteIPTrustedProxy 127.0.0.1", "127.0.0.9", "127.0.0.1"),
    ("RemoteIPTrustedProxy 127.0.0.1", "fe80::1", "127.0.0.1"),
    (
        "RemoteIPTrustedProxy 127.0.0.1",
        "198.51.100.7",
        "198.51.100.7",
    ),
    (
        "RemoteIPTrustedProxy 127.0.0.1",
        "2001:db8::7",
        "2001:db8::7",
    ),
    (
        "RemoteIPTrustedProxy 127.0.0.1 192.0.2.0/24",
        "10.0.0.1, 192.0.2.5",
        "192.0.2.5",
    ),
    (
        "RemoteIPInternalProxy 127.0.0.1\nRemoteIPTrustedProxy 192.0.2.0/24",
        "10.0.0.1, 192.0.2.5",
        "192.0.2.5",
    ),
    (
        "RemoteIPInternalProxyList internal.txt",
        "8.8.8.8, 10.0.0.1",
        "8.8.8.8",
    ),
    (
        "RemoteIPInternalProxyList internal.txt",
        "8.8.8.8, 11.0.0.1",
        "11.0.0.1",
    ),
    (
        "RemoteIPTrustedProxyList trusted.txt",
        "8.8.8.8, 192.0.2.9",
        "8.8.8.8",
    ),
    (
        "RemoteIPTrustedProxyList trusted.txt",
        "10.0.0.1",
        "127.0.0.1",
    ),
];

#[test]
fn the_client_is_the_one_that_apache_takes() {
    let mut lines: Vec<&str> = ROWS.iter().map(|(lines, ..)| *lines).collect();
    lines.dedup();
    for conf in lines {
        let mut pair = Pair::start(|| site(&format!("{conf}\n")));
        for (_, field, client) in ROWS.iter().filter(|(lines, ..)| *lines == conf) {
            let request = Request::get("/cgi/address.pl").field("X-Forwarded-For", field);
            let said = pair.send(&request).expect(200);
            assert_eq!(said.trim(), *client, "{conf}: {field}");
        }
    }
}

#[test]
fn clients_that_are_excepted_connect_without_a_proxy_header() {
    let header = b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n";
    let request = Request::get("/cgi/address.pl").closing().bytes();
    for (lines, with_header, answer) in [
        (
            "RemoteIPProxyProtocolExceptions 10.0.0.1 127.0.0.0/8\n",
            false,
            "127.0.0.1",
        ),
        (
            "RemoteIPProxyProtocolExceptions 10.0.0.1\n",
            true,
            "192.0.2.1",
        ),
    ] {
        let conf = format!("RemoteIPProxyProtocol On\n{lines}");
        for server in apache::beside(|| site(&conf)) {
            let mut connection = server.connect();
            if with_header {
                connection.write(header);
            }
            connection.write(&request);
            let said = connection
                .read_answer("GET")
                .expect("an answer")
                .expect(200);
            assert_eq!(said.trim(), answer, "{lines}");
        }
    }
    let conf = "RemoteIPProxyProtocol On\nRemoteIPProxyProtocolExceptions 10.0.0.1\n";
    let server = site(conf).start();
    let mut connection = server.connect();
    connection.write(&request);
    assert!(
        connection.is_closed_by_server(),
        "127.0.0.1 is not excepted"
    );
}

#[test]
fn a_list_that_cannot_be_used_is_a_problem_with_its_line() {
    for (name, text, expected) in [
        (
            "missing.txt",
            "RemoteIPInternalProxyList gone.txt\n",
            "gone.txt: No such file",
        ),
        (
            "names.txt",
            "RemoteIPTrustedProxyList names.txt\n",
            "names.txt:2, not `example.com`",
        ),
    ] {
        let builder = site(text).file(name, "10.0.0.1\nexample.com\n");
        let log = builder.try_start().err().expect(name).text();
        assert!(log.contains(expected), "{log}");
    }
}
