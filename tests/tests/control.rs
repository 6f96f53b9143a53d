//! Tests start, stop and status: signals, the control commands, logs, ports.

use mehari_harness::scripts::{nap, plain, simple, workers};
use mehari_harness::{binary, eventually, processes, Connection, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;

/// A script that reports its start, as `nap` expects, and then sleeps longer than any test runs.
const LONG_NAP: &str =
    "open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/napping.$ENV{QUERY_STRING}}; print $f $$; close $f; sleep 1000;";

#[test]
fn term_and_quit_let_running_requests_finish() {
    for signal in [Signal::Term, Signal::Quit] {
        for rung in [Rung::Registry, Rung::Fork, Rung::Cgi] {
            let mut server = simple(4).start();
            let mut idle = server.connect();
            idle.send(&Request::get("/registry/hello.pl"))
                .expect("an answer");
            let (mut connection, _) = nap(&server, rung, "x");
            server.signal(signal);
            // The server refuses new connections while it finishes the running request.
            let refuses = eventually(PATIENCE, || Connection::try_open(server.address).is_err());
            assert!(refuses, "{signal:?}: the server still accepts connections");
            let answer = connection.read_answer("GET").expect("an answer");
            assert_eq!(answer.expect(200), "rested", "{signal:?} {}", rung.name());
            assert!(idle.is_closed_by_server(), "an idle connection is closed");
            let status = server.wait().expect("it ends");
            assert!(status.success(), "{signal:?}: {status}");
        }
    }
}

#[test]
fn signal_during_the_start_ends_it_and_leaves_nothing_behind() {
    for signal in [Signal::Term, Signal::Int, Signal::Quit] {
        let builder = Server::builder();
        let root = builder.folder_of(".");
        let place = |name: &str| root.join(name);
        let start_up = "open my $f, '>', q{@ROOT@/pid}; print $f $$; close $f; sleep 1000; 1;";
        let conf =
            "Listen 127.0.0.1:0\nPidFile @ROOT@/server.pid\nPerlRequire @ROOT@/start_up.pl\n";
        let _site = builder
            .file("start_up.pl", start_up)
            .file("httpd.conf", conf)
            .fill_in(&["start_up.pl", "httpd.conf"], &[]);
        let mut server = std::process::Command::new(binary::mehari())
            .arg("serve")
            .arg("-f")
            .arg(place("httpd.conf"))
            .arg("--control")
            .arg(place("control"))
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the program runs");
        let zygote = || std::fs::read_to_string(place("pid")).unwrap_or_default();
        let loads = eventually(PATIENCE, || !zygote().is_empty());
        let pid = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process(pid, signal).expect("our child");
        assert!(loads && server.wait().expect("our child").success());
        for left in ["server.pid", "control"] {
            assert!(!place(left).exists(), "{signal:?}: {left} is left");
        }
        let zygote = zygote().parse().expect("a number");
        assert!(eventually(PATIENCE, || !processes::is_alive(zygote)));
    }
}

#[test]
fn int_stops_at_once() {
    // The running request would last longer than the test.
    let mut server = simple(4)
        .file("scripts/nap.pl", &plain(LONG_NAP))
        .conf("GracefulShutdownTimeout 600\n")
        .start();
    let (mut connection, _) = nap(&server, Rung::Registry, "x");
    server.signal(Signal::Int);
    let status = server.wait().expect("it ends");
    assert!(status.success() || status.code() == Some(130), "{status}");
    assert!(!connection
        .read_answer("GET")
        .is_ok_and(|answer| answer.status == 200));
}

#[test]
fn deadline_of_a_graceful_stop_is_kept() {
    let mut server = Server::builder()
        .file("scripts/long.pl", &plain(LONG_NAP))
        .ladder()
        .conf(&workers(4))
        .conf("GracefulShutdownTimeout 1\n")
        .start();
    for rung in [Rung::Registry, Rung::Fork, Rung::Cgi] {
        let mut connection = server.connect();
        connection.write(&Request::get(&rung.url("long.pl")).bytes());
    }
    let begun = eventually(PATIENCE, || !server.site.read("htdocs/napping.").is_empty());
    assert!(begun, "long.pl did not begin");
    server.signal(Signal::Term);
    assert!(server.wait().is_some(), "it does not end");
}

#[test]
fn stop_command_ends_the_server() {
    let mut server = simple(4).start();
    let output = server.control(&["stop"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let status = server.wait().expect("it ends");
    assert!(status.success(), "{status}");
    // The server has ended. The commands say this in their text and by their exit status.
    for words in [["stop"], ["reload"], ["status"]] {
        let output = server.control(&words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(!output.stderr.is_empty(), "{words:?} says nothing");
    }
}

#[test]
fn status_tells_the_front_and_every_worker() {
    let server = simple(4).start();
    let (mut connection, _) = nap(&server, Rung::Registry, "x");
    let status = server.status();
    assert_eq!(status["pid"], server.pid(), "{status}");
    let workers = status["pool"]["workers"]
        .as_array()
        .expect("a list of workers");
    let mut pids: Vec<i64> = workers
        .iter()
        .filter_map(|worker| worker["pid"].as_i64())
        .collect();
    let mut real: Vec<i64> = server.workers().into_iter().map(i64::from).collect();
    pids.sort_unstable();
    real.sort_unstable();
    assert_eq!(pids, real, "{status}");
    assert_eq!(server.busy(), 1, "{status}");
    assert_eq!(
        connection.read_answer("GET").expect("an answer").status,
        200
    );
    let rests = eventually(PATIENCE, || server.busy() == 0);
    assert!(rests, "{}", server.status());
    let text = server.control(&["status"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains(&server.pid().to_string()));
}

#[test]
fn usr1_reopens_the_logs() {
    let server = Server::builder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("scripts/die.pl", "die 'into the log';\n")
        .ladder()
        .conf("ErrorLog @ROOT@/logs/error.log\nCustomLog @ROOT@/logs/access.log combined\n")
        .start();
    let visit = |number: u32| {
        server.get(&format!("/registry/hello.pl?visit={number}"));
        server.get("/registry/die.pl");
    };
    let has =
        |name: &str, words: &str| eventually(PATIENCE, || server.site.read(name).contains(words));
    visit(1);
    assert!(has("logs/access.log", "visit=1") && has("logs/error.log", "into the log"));
    for name in ["access", "error"] {
        let from = server.site.path(&format!("logs/{name}.log"));
        std::fs::rename(from, server.site.path(&format!("logs/{name}.old"))).expect("own file");
    }
    server.signal(Signal::Usr1);
    let reopened = eventually(PATIENCE, || server.site.path("logs/access.log").exists());
    assert!(reopened, "the access log was not opened again");
    visit(2);
    assert!(has("logs/access.log", "visit=2") && has("logs/error.log", "into the log"));
    assert!(!server.site.read("logs/access.old").contains("visit=2"));
}

#[test]
fn port_and_web_concurrency_are_defaults() {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .expect("loopback has a free port");
    let server = Server::builder()
        .file("tree/pid.pl", &plain("print $$;"))
        .dir("tree")
        .env("PORT", &free.port().to_string())
        .env("WEB_CONCURRENCY", "3")
        .without_listen()
        .start();
    assert_eq!(server.port(), free.port());
    let three = eventually(PATIENCE, || server.workers().len() <= 3);
    assert!(three, "{:?}", server.workers());
    server.get("/pid.pl").expect(200);
}

#[test]
fn port_in_use_is_an_error_that_names_the_address() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let log = Server::builder()
        .file("tree/hello.pl", &plain("print 1;"))
        .dir("tree")
        .without_listen()
        .args(&["--listen", &address])
        .try_start()
        .err()
        .expect("the port is taken");
    assert!(log.text().contains(&address), "{}", log.text());
}
