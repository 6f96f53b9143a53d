//! Tests the upgrade: another program takes over the listening sockets and no request is lost.

use mehari_harness::crowd::Crowd;
use mehari_harness::scripts::{nap, simple};
use mehari_harness::{eventually, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns what `mehari upgrade` says, which must succeed.
#[track_caller]
fn upgraded(server: &Server) -> String {
    let output = server.control(&["upgrade"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}{complained}\n{}",
        server.log.text()
    );
    said
}

/// Returns what `mehari upgrade` complains about. The server's process must stay.
#[track_caller]
fn refused(server: &Server) -> String {
    let before = server.pid();
    let output = server.control(&["upgrade"]);
    assert_eq!(output.status.code(), Some(1), "the upgrade was to fail");
    assert_eq!(server.status()["pid"], before);
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn command_and_signal_replace_the_process_and_the_old_one_ends() {
    let mut server = simple(2).conf("PidFile @ROOT@/pid\n").start();
    let first = server.pid();
    let said = upgraded(&server);
    server.follow_upgrade();
    assert_ne!(server.pid(), first);
    assert_eq!(
        said,
        format!(
            "process {} serves; process {first} finishes its requests\n",
            server.pid()
        )
    );
    assert_eq!(server.site.read("pid"), format!("{}\n", server.pid()));
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    server.signal(Signal::Usr2);
    server.follow_upgrade();
    assert_eq!(server.site.read("pid"), format!("{}\n", server.pid()));
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    // The new process reloads like any other.
    assert!(server.control(&["reload"]).status.success());
    let pid_file = server.site.path("pid");
    server.signal(Signal::Term);
    assert!(eventually(PATIENCE, || !pid_file.exists()));
    assert!(eventually(PATIENCE, || !server
        .site
        .path("control")
        .exists()));
    assert!(!server.site.path("control.new").exists());
    assert!(server.successor_ends());
}

#[test]
fn request_under_way_is_finished_by_the_old_process_and_the_status_shows_both() {
    let mut server = simple(2).start();
    let before = server.pid();
    let (mut connection, _) = nap(&server, Rung::Registry, "x");
    upgraded(&server);
    let status = server.status();
    assert_ne!(status["pid"], before);
    assert_eq!(status["predecessor"]["pid"], before);
    let both = || server.status()["predecessor"]["active_requests"] == 1;
    assert!(eventually(PATIENCE, both), "{}", server.status());
    let text = server.control(&["status"]).stdout;
    let text = String::from_utf8_lossy(&text);
    let line = format!(
        "pid {before}, replaced by pid {}: 1 connections open",
        status["pid"]
    );
    assert!(text.contains(&line), "{text}");
    let answer = connection.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), "rested");
    assert_eq!(answer.field("connection").as_deref(), Some("close"));
    server.follow_upgrade();
    let alone = || server.status()["predecessor"].is_null();
    assert!(eventually(PATIENCE, alone), "{}", server.status());
}

#[test]
fn idle_connection_gets_one_more_answer_and_closes() {
    let mut server = simple(1).conf("KeepAliveTimeout 60\n").start();
    let mut connection = server.connect();
    let hello = Request::get("/registry/hello.pl");
    let answer = connection.send(&hello).expect("an answer");
    assert_eq!(answer.field("connection"), None);
    upgraded(&server);
    let answer = connection.send(&hello).expect("the connection is open");
    assert_eq!(answer.expect(200), "Hello");
    assert_eq!(answer.field("connection").as_deref(), Some("close"));
    server.follow_upgrade();
}

#[test]
fn changed_configuration_and_listen_lines_take_effect() {
    let mut server = simple(1)
        .without_listen()
        .conf("Listen 127.0.0.1:0\n")
        .start();
    let good = server.site.read("httpd.conf");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let more = format!("{good}\nListen {address}\nHeader set X-New yes\n");
    server.site.replace("httpd.conf", &more);
    upgraded(&server);
    server.follow_upgrade();
    let answer = server.get("/registry/hello.pl");
    assert_eq!(answer.field("x-new").as_deref(), Some("yes"));
    assert!(TcpStream::connect(address).is_ok());
    server.site.replace("httpd.conf", &good);
    upgraded(&server);
    server.follow_upgrade();
    let is_closed = TcpStream::connect(address).is_err();
    assert!(is_closed, "nobody listens there any more");
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    server.rebase();
}

#[test]
fn unix_socket_is_handed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listen = format!("unix:{}", path.display());
    let mut server = simple(1).args(&["--listen", &listen]).start();
    let file = || std::fs::metadata(&path).expect("the socket").ino();
    let before = file();
    upgraded(&server);
    server.follow_upgrade();
    assert_eq!(file(), before);
    let mut socket = UnixStream::connect(&path).expect("the same socket");
    let request = b"GET /registry/hello.pl HTTP/1.0\r\n\r\n";
    socket.write_all(request).expect("it is read");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("\r\n\r\nHello"), "{answer}");
}

#[test]
fn configuration_that_does_not_load_keeps_the_old_process() {
    let server = simple(1).start();
    let good = server.site.read("httpd.conf");
    server
        .site
        .replace("httpd.conf", &format!("{good}\nNoSuchDirective 1\n"));
    let said = refused(&server);
    assert!(said.contains("NoSuchDirective"), "{said}");
    server.log.expect("upgrade: ");
    let broken = format!("{good}\nPerlSwitches -I@ROOT@\nPerlModule NoSuchModule\n");
    server.site.replace("httpd.conf", &broken);
    let said = refused(&server);
    assert!(said.contains("NoSuchModule"), "{said}");
    assert!(said.contains("goes on"), "{said}");
    // No process of the attempts is left.
    let one = || server.zygotes().len() == 1;
    assert!(eventually(PATIENCE, one), "{:?}", server.zygotes());
}

#[test]
fn program_that_does_not_start_keeps_the_old_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("mehari");
    let real = mehari_harness::binary::mehari();
    std::os::unix::fs::symlink(&real, &program).expect("a link");
    let mut server = simple(1).program(&program).start();
    let put = |text: &str| {
        let _ = std::fs::remove_file(&program);
        std::fs::write(&program, text).expect("own folder");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("own file");
    };
    put("#!/bin/sh\nexit 3\n");
    let said = refused(&server);
    let name = program.display();
    let line = format!("{name} ended before it was ready (exit status: 3); process");
    assert!(said.contains(&line), "{said}");
    put("#!/bin/sh\nkill -9 $$\n");
    let said = refused(&server);
    assert!(
        said.contains("ended before it was ready (signal: 9"),
        "{said}"
    );
    put("this is no program");
    let said = refused(&server);
    assert!(
        said.contains("Exec format error") || said.contains("ended before"),
        "{said}"
    );
    std::fs::remove_file(&program).expect("it was there");
    let said = refused(&server);
    assert!(said.contains("No such file"), "{said}");
    // A program that says something else on the channel.
    let talk = "my ($n) = $ENV{MEHARI_UPGRADE} =~ /channel=(\\d+)/; open my $c, '>&=', $n; \
                syswrite $c, qq{hello\\n}; sleep 60";
    put(&format!("#!/usr/bin/perl\n{talk}\n"));
    let said = refused(&server);
    assert!(said.contains("is another program"), "{said}");
    std::fs::remove_file(&program).expect("it was there");
    std::os::unix::fs::symlink(&real, &program).expect("a link");
    upgraded(&server);
    server.follow_upgrade();
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
}

#[test]
fn stop_during_the_start_of_the_new_process_ends_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("mehari");
    let real = mehari_harness::binary::mehari();
    std::os::unix::fs::symlink(&real, &program).expect("a link");
    let mut server = simple(1).program(&program).start();
    std::fs::remove_file(&program).expect("it was there");
    let text = "#!/bin/sh\nexec sleep 600\n";
    std::fs::write(&program, text).expect("own folder");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("own file");
    server.signal(Signal::Usr2);
    server.log.expect("an upgrade: process");
    server.signal(Signal::Term);
    assert!(server.wait().is_some_and(|status| status.success()));
}

#[test]
fn service_manager_learns_of_the_new_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a time");
    let mut server = simple(1)
        .env("NOTIFY_SOCKET", &path.to_string_lossy())
        .start();
    let before = server.pid();
    upgraded(&server);
    server.follow_upgrade();
    manager.set_nonblocking(true).expect("a mode");
    let mut said = Vec::new();
    let mut text = [0; 512];
    while let Ok(count) = manager.recv(&mut text) {
        said.push(String::from_utf8_lossy(&text[..count]).into_owned());
    }
    let pid = server.pid();
    let [first, reloading, replaced, ready] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(*first, format!("READY=1\nMAINPID={before}"));
    assert!(reloading.starts_with("RELOADING=1\n"), "{reloading}");
    assert_eq!(*replaced, format!("MAINPID={pid}"));
    assert_eq!(*ready, format!("READY=1\nMAINPID={pid}"));
}

#[test]
fn half_a_handover_is_refused() {
    let site = mehari_harness::site::Site::new();
    site.write("htdocs/page.txt", "x");
    for (text, expected) in [
        (
            "listen=900",
            "descriptor 900, an inherited socket, is not open",
        ),
        (
            "listen",
            "MEHARI_UPGRADE has `listen`; expected KIND=DESCRIPTOR",
        ),
        (
            "listening=1",
            "MEHARI_UPGRADE has `listening=1`; expected KIND=DESCRIPTOR",
        ),
    ] {
        let output = std::process::Command::new(mehari_harness::binary::mehari())
            .arg("serve")
            .arg(site.path("htdocs"))
            .args(["--listen", "127.0.0.1:0", "--control"])
            .arg(site.path("control"))
            .env("MEHARI_UPGRADE", text)
            .output()
            .expect("mehari runs");
        assert_eq!(output.status.code(), Some(1), "{text}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, format!("mehari serve: {expected}\n"));
    }
}

/// Requests on kept and on new connections, with an upgrade, reloads and killed workers meanwhile.
fn upgrades_under_load(keep_alive: bool) {
    let mut server = simple(3)
        .conf("CustomLog @ROOT@/access.log \"%{X-Number}i %>s\"\n")
        .start();
    let crowd = Crowd {
        address: server.address,
        clients: 8,
        requests: 4_000,
        keep_alive,
    };
    let upgrades = AtomicUsize::new(0);
    let sent = AtomicUsize::new(0);
    let outcome = std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            crowd.run_until(
                || upgrades.load(Ordering::Relaxed) >= 2,
                |_| {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    Request::get("/registry/hello.pl").field("X-Number", &number.to_string())
                },
                |_, answer| answer.status == 200 && answer.text() == "Hello",
            )
        });
        for _ in 0..2 {
            assert!(server.control(&["reload"]).status.success());
            upgraded(&server);
            server.follow_upgrade();
            upgrades.fetch_add(1, Ordering::Relaxed);
        }
        busy.join().expect("the load ends")
    });
    assert_eq!(outcome.failed, 0, "{:?}", outcome.failures);
    let sent = sent.into_inner();
    assert_eq!(outcome.succeeded, sent);
    let lines = || server.site.read("access.log").lines().count();
    assert!(eventually(PATIENCE, || lines() >= sent));
    let text = server.site.read("access.log");
    let mut numbers: Vec<&str> = text.lines().collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!(
        (lines(), numbers.len()),
        (sent, sent),
        "one line for each request"
    );
}

#[test]
fn upgrades_lose_no_request_on_kept_connections() {
    upgrades_under_load(true);
}

#[test]
fn upgrades_lose_no_request_on_new_connections() {
    upgrades_under_load(false);
}
