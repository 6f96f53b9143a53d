//! Tests that misbehaving programs harm only their own request.

use super::*;

#[tokio::test]
async fn a_program_without_a_head_is_named_in_the_log() {
    let rig = Rig::new();
    for (name, text) in [
        ("silent.cgi", "exit 0\n"),
        ("half.cgi", "printf 'Content-Type: text/plain\\nX-A'\n"),
        ("dies.cgi", "kill -SEGV $$\n"),
        ("fails.cgi", "echo oops >&2; exit 3\n"),
    ] {
        let script = rig.shell(name, text);
        assert_eq!(rig.get(&script).await.err(), Some(Fault::BadHeader));
        let line = format!("Premature end of script headers: {}", script.display());
        rig.logged(&line).await;
    }
    rig.logged("dies.cgi was killed by signal 11").await;
    let log = rig.logged("fails.cgi exited with status 3").await;
    assert!(log.contains("[req 4711] [client 127.0.0.2] oops"), "{log}");
    assert_eq!(Fault::BadHeader.status(), 500);
    rig.quiet().await;
}

#[tokio::test]
async fn a_malformed_head_is_refused_and_the_program_is_stopped() {
    let rig = Rig::new();
    for (name, text, why) in [
        ("text.cgi", "hello\\n\\n", "got `hello`"),
        (
            "twice.cgi",
            "Content-Length: 1\\nContent-Length: 2\\n\\n",
            "Content-Length came twice",
        ),
        (
            "control.cgi",
            "X-A: a\\rb\\n\\n",
            "the value of X-A holds a control character",
        ),
        (
            "nul.cgi",
            "X-A: a\\0b\\n\\n",
            "the value of X-A holds a control character",
        ),
    ] {
        let script = rig.perl(name, &format!("print \"{text}\"; sleep 600;"));
        assert_eq!(
            rig.get(&script).await.err(),
            Some(Fault::BadHeader),
            "{name}"
        );
        let log = rig.logged(why).await;
        let start = format!("malformed header from script '{}': ", script.display());
        assert!(log.contains(&start), "{log}");
    }
    rig.quiet().await;
}

#[tokio::test]
async fn an_endless_head_is_refused() {
    let rig = Rig::new();
    let script = rig.perl("endless.cgi", r#"print "X-A: b\n" while 1;"#);
    assert_eq!(rig.get(&script).await.err(), Some(Fault::BadHeader));
    rig.logged("the header block is longer than 65536 bytes")
        .await;
    rig.quiet().await;
}

#[tokio::test]
async fn a_program_that_is_killed_half_way_gives_an_incomplete_response() {
    let rig = Rig::new();
    let script = rig.shell("half.cgi", "echo; echo part; kill -KILL $$\n");
    let response = rig.get(&script).await.expect("a head");
    assert_eq!(response.text(), "part\n");
    assert_eq!(response.end, Err(Fault::WorkerDied));
    rig.logged("half.cgi was killed by signal 9").await;
    rig.quiet().await;
}

#[tokio::test]
async fn a_failed_exit_after_a_whole_response_is_only_logged() {
    let rig = Rig::new();
    let script = rig.shell("exit.cgi", "echo; echo whole; exit 7\n");
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(
        (response.text().as_str(), response.end),
        ("whole\n", Ok(()))
    );
    let log = rig.logged("exit.cgi exited with status 7").await;
    assert!(log.contains("[info] "));
    rig.quiet().await;
}

/// A script that starts a child process, writes both process numbers and sleeps. Both processes
/// ignore TERM.
const STUBBORN: &str = r#"
    trap '' TERM
    sleep 600 >/dev/null 2>&1 &
    echo "$! $$" > "$0.pids"
    echo; echo begun
    sleep 600
"#;

async fn pids(rig: &Rig, script: &str) -> Vec<String> {
    let text = appears(&rig.path(&format!("{script}.pids"))).await;
    text.split_whitespace().map(str::to_string).collect()
}

#[tokio::test]
async fn a_program_that_sleeps_for_ever_times_out_with_its_whole_group() {
    let rig = Rig::new();
    let script = rig.shell("sleeps.cgi", STUBBORN);
    let request = Request {
        timeout: Duration::from_millis(3000),
        ..Request::default()
    };
    let response = rig.ask(&script, request).await.expect("a head");
    assert_eq!(response.text(), "begun\n");
    assert_eq!(response.end, Err(Fault::TimedOut));
    rig.logged("sleeps.cgi ran longer than 3s and was stopped")
        .await;
    rig.quiet().await;
    for pid in pids(&rig, "sleeps.cgi").await {
        gone(&pid).await;
    }
}

#[tokio::test]
async fn a_program_without_output_times_out() {
    let rig = Rig::new();
    let script = rig.shell("mute.cgi", "exec sleep 600\n");
    let request = Request {
        timeout: Duration::from_millis(200),
        ..Request::default()
    };
    assert_eq!(rig.ask(&script, request).await.err(), Some(Fault::TimedOut));
    rig.quiet().await;
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_whole_group() {
    let rig = Rig::new();
    let script = rig.shell("left.cgi", STUBBORN);
    let mut exchange = rig.start(&script, Request::default()).expect("starts");
    head(&mut exchange).await.expect("a head");
    let pids = pids(&rig, "left.cgi").await;
    drop(exchange);
    for pid in pids {
        gone(&pid).await;
    }
    rig.quiet().await;
}

#[tokio::test]
async fn the_end_of_the_server_kills_running_programs() {
    let rig = Rig::new();
    let script = rig.shell("ends.cgi", STUBBORN);
    let mut exchange = rig.start(&script, Request::default()).expect("starts");
    head(&mut exchange).await.expect("a head");
    let pids = pids(&rig, "ends.cgi").await;
    rig.cgi.kill_all();
    for pid in pids {
        gone(&pid).await;
    }
    assert_eq!(read(&mut exchange, |_| ()).await, Err(Fault::WorkerDied));
}

#[test]
fn a_runtime_that_ends_leaves_no_program_behind() {
    let rig = Rig::new();
    let script = rig.shell("left.cgi", STUBBORN);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let (exchange, left) = runtime.block_on(async {
        let mut exchange = rig.start(&script, Request::default()).expect("starts");
        head(&mut exchange).await.expect("a head");
        (exchange, pids(&rig, "left.cgi").await)
    });
    drop(runtime);
    drop(exchange);
    assert!(rig.cgi.shared.groups().is_empty());
    let leader = &left[1];
    assert!(
        !Path::new(&format!("/proc/{leader}")).exists(),
        "not reaped"
    );
}

#[tokio::test]
async fn a_program_finishes_after_its_response_is_discarded() {
    let rig = Rig::new();
    let mark = rig.path("mark");
    let script = rig.perl(
        "head.cgi",
        &format!(
            r#"print "A: b\n\n"; print "x" x 1000 for 1 .. 1000; open my $f, ">", "{}"; print $f "1\n";"#,
            mark.display()
        ),
    );
    let mut exchange = rig.start(&script, Request::default()).expect("starts");
    head(&mut exchange).await.expect("a head");
    exchange.discard();
    appears(&mark).await;
    rig.quiet().await;
}

#[tokio::test]
async fn a_daemon_that_holds_stdout_delays_the_response_up_to_the_time_limit() {
    let rig = Rig::new();
    let pid = rig.path("pid");
    let script = rig.perl(
        "daemon.cgi",
        &format!(
            r#"use POSIX; print "A: b\n\nwhole"; exit if fork; setsid;
            open my $f, ">", "{}"; print $f "$$\n"; close $f; sleep 600;"#,
            pid.display()
        ),
    );
    let limit = Duration::from_secs(1);
    let request = Request {
        timeout: limit,
        ..Request::default()
    };
    let response = rig.ask(&script, request).await.expect("a response");
    assert_eq!((response.text().as_str(), response.end), ("whole", Ok(())));
    rig.quiet().await;
    // The process left the group on purpose and lives on, so this test ends it.
    let pid = appears(&pid).await.trim().parse().expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    let killed = rustix::process::kill_process(pid, rustix::process::Signal::Kill);
    assert_eq!(killed, Ok(()));
}

#[tokio::test]
async fn a_program_that_closes_stdout_answers_and_goes_on() {
    let rig = Rig::new();
    let (gate, mark) = (rig.fifo("gate"), rig.path("mark"));
    let text = format!(
        "echo; echo whole; exec >&-; read line < {}; echo 1 > {}\n",
        gate.display(),
        mark.display()
    );
    let script = rig.shell("closes.cgi", &text);
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(
        (response.text().as_str(), response.end),
        ("whole\n", Ok(()))
    );
    // The response is complete, although the program still waits at the gate.
    open(&gate).await;
    appears(&mark).await;
    rig.quiet().await;
}

#[tokio::test]
async fn a_file_that_is_not_a_program_is_refused_at_once() {
    let rig = Rig::new();
    let plain = rig.file("plain.cgi", "#!/bin/sh\necho\n", 0o644);
    for (path, status) in [
        (plain, 403),
        (rig.folder.path().to_path_buf(), 403),
        (rig.path("absent.cgi"), 404),
    ] {
        let error = rig.start(&path, Request::default()).err();
        assert_eq!(error.expect("refused").status(), status);
    }
}

#[tokio::test]
async fn a_failed_start_is_explained_in_the_log() {
    let rig = Rig::new();
    for (name, text, why) in [
        (
            "format.cgi",
            "no first line\n",
            "or a first line like `#!/usr/bin/perl`",
        ),
        (
            "missing.cgi",
            "#!/no/such/perl -w\n",
            "names `/no/such/perl`, which does not exist",
        ),
        (
            "crlf.cgi",
            "#!/bin/sh\r\necho\r\n",
            "`#!/bin/sh` ends in CR LF",
        ),
    ] {
        let script = rig.script(name, text);
        assert_eq!(
            rig.get(&script).await.err(),
            Some(Fault::CannotRun),
            "{name}"
        );
        let log = rig.logged(why).await;
        assert!(log.contains(&format!("cannot run {}", script.display())));
    }
    assert_eq!(Fault::CannotRun.status(), 500);
}
