//! Tests slow senders: `RequestReadTimeout` with its rates, and a tool that makes slow attacks.

use mehari_harness::{needs, Connection, Server};
use std::process::Command;
use std::time::Duration;

fn server() -> Server {
    Server::builder()
        .file("scripts/length.pl", "#!/usr/bin/perl\nread STDIN, my $body, $ENV{CONTENT_LENGTH};\nprint \"Content-type: text/plain\\n\\n\", length $body;\n")
        .file("htdocs/page", "a page")
        .ladder()
        .conf("RequestReadTimeout header=1-2,MinRate=500 body=1,MinRate=1000\n")
        .start()
}

/// Sends a piece ten times a second until the server answers. Returns the status.
fn trickle(mut connection: Connection, begin: &str, piece: &str, pieces: usize) -> u16 {
    connection.write(begin.as_bytes());
    for _ in 0..pieces {
        connection.patience(Duration::from_millis(100));
        match connection.fill() {
            Err(_) => connection.write(piece.as_bytes()),
            Ok(_) => break,
        };
    }
    connection.patience(Duration::from_secs(10));
    connection.read_answer("POST").expect("an answer").status
}

#[test]
fn client_below_the_rate_gets_408_and_client_at_the_rate_is_served() {
    let server = server();
    let head = "GET /page HTTP/1.1\r\nHost: x\r\n";
    let post = "POST /registry/length.pl HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n";
    let (slow, fast) = ("X-A: 1\r\n", format!("X-A: {}\r\n", "a".repeat(100)));
    let cases: [(&str, String, &str, usize, u16); 4] = [
        ("header", head.into(), slow, 100, 408),
        // Fifteen pieces take a second and a half, which is longer than the limit without a rate.
        ("header at its rate", head.into(), &fast, 15, 200),
        ("body", post.into(), "0123456789", 400, 408),
        ("body at its rate", post.into(), &"x".repeat(250), 16, 200),
    ];
    let statuses: Vec<(&str, u16, u16)> = std::thread::scope(|scope| {
        let asked = cases.map(|(name, begin, piece, pieces, expected)| {
            let connection = server.connect();
            let piece = piece.to_string();
            let thread = scope.spawn(move || {
                // A head needs an end. The pieces of a body complete the body.
                if name.starts_with("header at") {
                    finish(connection, &begin, &piece, pieces)
                } else {
                    trickle(connection, &begin, &piece, pieces)
                }
            });
            (name, thread, expected)
        });
        asked
            .map(|(name, thread, expected)| (name, thread.join().expect("no panic"), expected))
            .into()
    });
    for (name, status, expected) in statuses {
        assert_eq!(status, expected, "{name}");
    }
    server
        .log
        .expect("its header comes too slowly (RequestReadTimeout): 408");
    server
        .log
        .expect("its body comes too slowly (RequestReadTimeout): 408");
    let status = server.status();
    assert_eq!(status["front"]["traffic_rules"]["too_slow"], 2, "{status}");
}

fn finish(mut connection: Connection, begin: &str, piece: &str, pieces: usize) -> u16 {
    connection.write(begin.as_bytes());
    for _ in 0..pieces {
        connection.patience(Duration::from_millis(100));
        assert!(connection.fill().is_err(), "nothing is said before the end");
        connection.write(piece.as_bytes());
    }
    connection.write(b"\r\n").patience(Duration::from_secs(10));
    connection.read_answer("GET").expect("an answer").status
}

/// slowhttptest runs its four attacks at the same time, each with 200 connections. All other
/// clients are served meanwhile.
#[test]
fn slowhttptest_delays_no_other_client() {
    needs!("slowhttptest");
    let server = Server::builder()
        .file(
            "scripts/hello.pl",
            "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\nhello\";\n",
        )
        .file("htdocs/large", &"x".repeat(1_000_000))
        .ladder()
        .conf(
            "RequestReadTimeout header=2 body=2\nTimeout 10\nStartServers 2\nMaxRequestWorkers 2\n",
        )
        .start();
    let url = format!("http://{}/registry/hello.pl", server.address);
    let large = format!("http://{}/large", server.address);
    let modes: [&[&str]; 4] = [
        &["-H", "-i", "1", "-u", &url],
        &["-B", "-i", "1", "-s", "8192", "-u", &url],
        &["-R", "-u", &large],
        &[
            "-X", "-w", "1", "-y", "2", "-z", "1", "-n", "1", "-u", &large,
        ],
    ];
    let mut attackers: Vec<_> = modes
        .iter()
        .map(|mode| {
            let mut command = Command::new("slowhttptest");
            command
                .args(["-c", "200", "-r", "200", "-l", "3", "-p", "2"])
                .args(*mode);
            command.stdout(std::process::Stdio::null());
            command.stderr(std::process::Stdio::null());
            command.spawn().expect("it was found")
        })
        .collect();
    let mut answered = 0;
    while attackers
        .iter_mut()
        .any(|one| matches!(one.try_wait(), Ok(None)))
    {
        assert_eq!(server.get("/registry/hello.pl").expect(200), "hello");
        answered += 1;
    }
    assert!(answered > 20, "{answered} requests while it lasted");
    let open = || server.status()["front"]["open_connections"].as_u64();
    assert!(
        mehari_harness::eventually(mehari_harness::PATIENCE, || open() == Some(0)),
        "connections that stay: {:?}",
        open()
    );
}
