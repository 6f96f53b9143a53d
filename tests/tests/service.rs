//! Tests the work with a service manager: sockets that it has opened, and notifications to it.

use mehari_harness::{eventually, needs, Connection, Request, Server, PATIENCE};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

#[test]
fn manager_is_notified_of_readiness_reloads_life_and_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a time");
    let hear = |words: &str| {
        let mut text = [0; 512];
        for _ in 0..200 {
            let count = manager
                .recv(&mut text)
                .unwrap_or_else(|error| panic!("{words}: {error}"));
            if String::from_utf8_lossy(&text[..count]).contains(words) {
                return;
            }
        }
        panic!("{words} was not said");
    };
    let mut server = Server::builder()
        .file("htdocs/page.txt", "x")
        .file("scripts/environment.pl", "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\", join ' ', grep /NOTIFY|WATCHDOG|LISTEN/, keys %ENV;\n")
        .ladder()
        .env("NOTIFY_SOCKET", &path.to_string_lossy())
        .env("WATCHDOG_USEC", "200000")
        .start();
    hear("READY=1");
    hear("WATCHDOG=1");
    hear("WATCHDOG=1");
    server.signal(Signal::Hup);
    hear("RELOADING=1\nMONOTONIC_USEC=");
    hear("READY=1");
    assert_eq!(server.get("/cgi/environment.pl").expect(200), "");
    server.signal(Signal::Term);
    hear("STOPPING=1");
    assert!(server.wait().is_some());
}

/// The harness closes all inherited descriptors, so this test starts the server itself.
#[test]
fn socket_that_was_open_before_is_served() {
    let site = mehari_harness::site::Site::new();
    site.write("htdocs/page.txt", "was here");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    // The queue of the socket holds clients that have connected before the start of the server.
    let mut early = Connection::open(address);
    early.write(&Request::get("/page.txt").bytes());
    // The server inherits a copy of the listener. exec closes the listener itself.
    let copy = rustix::io::dup(&listener).expect("a descriptor");
    let mut server = Command::new(mehari_harness::binary::mehari())
        .arg("serve")
        .arg(site.path("htdocs"))
        .arg("--control")
        .arg(site.path("control"))
        .env(
            "SERVER_STARTER_PORT",
            format!("{address}={}", copy.as_raw_fd()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("mehari runs");
    drop(copy);
    let mut line = String::new();
    let output = server.stdout.take().expect("it was piped");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let answer = early.read_answer("GET");
    rustix::process::kill_process(rustix::process::Pid::from_child(&server), Signal::Term)
        .expect("it runs");
    let status = server.wait().expect("it ends");
    assert_eq!(line, format!("mehari: serving http://{address}/\n"));
    assert_eq!(answer.expect("an answer").expect(200), "was here");
    assert!(status.success(), "{status}");
    // The next server finds the same socket open.
    assert!(eventually(PATIENCE, || Connection::try_open(address).is_ok()));
}

#[test]
fn descriptor_that_is_no_socket_is_reported() {
    for (given, words) in [
        ("8080=77", "descriptor 77, an inherited socket, is not open"),
        ("8080", "expected ADDRESS=DESCRIPTOR"),
    ] {
        let builder = Server::builder()
            .without_listen()
            .env("SERVER_STARTER_PORT", given);
        let log = builder.conf("").try_start().err();
        let log = log.expect("it does not start").text();
        assert!(log.contains(words), "{given}: {log}");
    }
}

/// systemd's exposure score of the unit: from 0 (nothing is allowed) to 10.
#[test]
fn unit_has_a_low_exposure_score() {
    needs!("systemd");
    let unit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../packaging/systemd/mehari.service"
    );
    let judged = std::process::Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--no-pager", "--threshold=20"])
        .arg(unit)
        .output();
    let judged = judged.expect("systemd-analyze runs");
    let text = String::from_utf8_lossy(&judged.stdout);
    assert!(text.contains("Overall exposure level"), "{text}");
    assert!(judged.status.success(), "above 2.0:\n{text}");
}
