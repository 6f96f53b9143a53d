//! Tests a server without work: it wakes rarely, and does not delay the next requests.

use mehari_harness::scripts::{plain, simple};
use mehari_harness::{eventually, Request, Server, PATIENCE};
use std::time::Duration;

/// Returns the number of voluntary context switches of the front's threads. Each wake-up ends with
/// one.
fn sleeps(server: &Server) -> u64 {
    let tasks = format!("/proc/{}/task", server.pid());
    std::fs::read_dir(tasks)
        .expect("the server's threads")
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
        .filter_map(|status| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        })
        .sum()
}

#[test]
fn idle_server_wakes_about_twice_a_second() {
    let server = simple(2).start();
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    let sleeps_in = |time: Duration| {
        let before = sleeps(&server);
        std::thread::sleep(time);
        sleeps(&server) - before
    };
    // The server comes to rest only after the request's connection is closed and spare workers have
    // ended.
    let rests = || sleeps_in(Duration::from_secs(4)) <= 12;
    assert!(eventually(PATIENCE, rests), "it never rests");
}

#[test]
fn time_limits_hold_after_a_rest() {
    let server = simple(2)
        .file("scripts/spin.pl", &plain("1 while 1;"))
        .conf("Timeout 1\n")
        .start();
    for _ in 0..2 {
        assert!(eventually(PATIENCE, || server.busy() == 0));
        std::thread::sleep(Duration::from_millis(300));
        server.get("/registry/spin.pl").expect(504);
    }
}

#[test]
fn more_workers_start_for_a_burst_after_a_rest() {
    let nap = "select undef, undef, undef, 0.5; print qq{$$};";
    let mut server = simple(4)
        .file("scripts/pid.pl", &plain(nap))
        .conf("StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\n")
        .start();
    std::thread::sleep(Duration::from_millis(300));
    let mut connections: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.write(&Request::get("/registry/pid.pl").bytes());
    }
    let pids: std::collections::BTreeSet<String> = connections
        .iter_mut()
        .map(|connection| connection.read_answer("GET").expect("an answer"))
        .map(|answer| answer.expect(200).to_owned())
        .collect();
    assert!(pids.len() > 1, "one worker served all: {pids:?}");
    // The new spare workers stay for a while.
    server.rebase();
}
