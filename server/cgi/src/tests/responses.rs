//! Tests the response that is made from the output of a program.

use super::*;

#[tokio::test]
async fn a_document_is_passed_on() {
    let rig = Rig::new();
    let script = rig.perl(
        "hello.cgi",
        r#"print "Status: 404 Nope\r\nContent-Type: text/plain\r\n\r\nhello"; print ", world";"#,
    );
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(response.head.status, 404);
    assert_eq!(response.head.lines, b"Content-Type: text/plain\r\n");
    assert_eq!(response.text(), "hello, world");
    assert_eq!(response.end, Ok(()));
    rig.quiet().await;
}

#[tokio::test]
async fn a_head_in_many_pieces_is_put_together() {
    let rig = Rig::new();
    let script = rig.perl(
        "slow.cgi",
        r#"for (split //, "X-A: b\r\n\r\nbody") { syswrite STDOUT, $_; select undef, undef, undef, 0.002 }"#,
    );
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(response.head.lines, b"X-A: b\r\n");
    assert_eq!(response.text(), "body");
}

#[tokio::test]
async fn a_large_body_streams_in_bounded_memory() {
    let rig = Rig::new();
    let script = rig.perl(
        "large.cgi",
        r#"print "A: b\n\n"; my $part = "x" x 65536; print $part for 1 .. 3200;"#,
    );
    let mut exchange = rig.start(&script, Request::default()).expect("starts");
    head(&mut exchange).await.expect("a head");
    let before = resident_kib();
    let (mut total, mut most) = (0usize, 0);
    let end = read(&mut exchange, |part| {
        total += part.len();
        most = most.max(resident_kib());
    })
    .await;
    assert_eq!((end, total), (Ok(()), 3200 * 65_536));
    assert!(most < before + 64 * 1024, "{before} KiB grew to {most} KiB");
    assert!(exchange.is_complete());
}

fn resident_kib() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("VmRSS")
}

#[tokio::test]
async fn the_program_waits_while_its_output_is_not_read() {
    let rig = Rig::new();
    let done = rig.path("done");
    let script = rig.perl(
        "waits.cgi",
        &format!(
            r#"print "A: b\n\n"; print "x" x 1000 for 1 .. 1000; open my $f, ">", "{}"; print $f "1\n";"#,
            done.display()
        ),
    );
    // This is less time than the pause below. The client's time is not charged to the program.
    let request = Request {
        timeout: Duration::from_millis(3000),
        ..Request::default()
    };
    let mut exchange = rig.start(&script, request).expect("starts");
    head(&mut exchange).await.expect("a head");
    tokio::time::sleep(Duration::from_millis(3500)).await;
    assert!(!done.exists(), "a pipe holds no megabyte");
    let mut total = 0;
    let end = read(&mut exchange, |part| total += part.len()).await;
    assert_eq!((end, total), (Ok(()), 1_000_000));
    appears(&done).await;
}

#[tokio::test]
async fn a_local_location_is_returned_to_the_caller() {
    let rig = Rig::new();
    let mark = rig.path("mark");
    let script = rig.perl(
        "there.cgi",
        &format!(
            r#"print "Location: /there?a=1\n\n"; print "x" x 200000; open my $f, ">", "{}"; print $f "1\n";"#,
            mark.display()
        ),
    );
    let mut exchange = rig.start(&script, Request::default()).expect("starts");
    let answer = head(&mut exchange).await;
    assert_eq!(
        answer,
        Ok(ScriptHead::internal_redirect(b"/there?a=1".to_vec(), b""))
    );
    drop(exchange);
    // The program finishes its work after the redirect.
    appears(&mark).await;
    rig.quiet().await;
}

#[tokio::test]
async fn an_nph_script_gives_its_own_status_line() {
    let rig = Rig::new();
    let script = rig.perl(
        "nph-a.cgi",
        r#"print "HTTP/1.0 402 Pay\r\nConnection: close\r\nX-A: b\r\n\r\nbody";"#,
    );
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(response.head.status, 402);
    assert_eq!(response.head.lines, b"X-A: b\r\n");
    assert_eq!(response.text(), "body");
    let plain = rig.perl("nph-b.cgi", r#"print "X-A: b\r\n\r\nbody";"#);
    assert_eq!(rig.get(&plain).await.err(), Some(Fault::BadHeader));
    rig.logged("an nph- script starts with `HTTP/1.1 200 OK`, got `X-A: b`")
        .await;
}

#[tokio::test]
async fn content_length_bounds_the_body() {
    let rig = Rig::new();
    let long = rig.perl("long.cgi", r#"print "Content-Length: 3\n\nabcdef";"#);
    let response = rig.get(&long).await.expect("a response");
    assert_eq!((response.text().as_str(), response.end), ("abc", Ok(())));
    rig.logged("printed more than its Content-Length").await;
    let short = rig.perl("short.cgi", r#"print "Content-Length: 9\n\nabc";"#);
    let response = rig.get(&short).await.expect("a head");
    assert_eq!(response.end, Err(Fault::WorkerDied));
    rig.logged("ended 6 bytes short of its Content-Length")
        .await;
    let none = rig.perl("none.cgi", r#"print "Content-Length: 0\n\n";"#);
    let response = rig.get(&none).await.expect("a response");
    assert_eq!((response.text().as_str(), response.end), ("", Ok(())));
    rig.quiet().await;
}

#[tokio::test]
async fn stderr_reaches_the_log_line_by_line() {
    let rig = Rig::new();
    let script = rig.perl(
        "warns.cgi",
        r#"print STDERR "first\nsec"; print STDERR "ond \x1b[0m\nlast"; print "A: b\n\nok";"#,
    );
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(response.text(), "ok");
    let log = rig.logged("last").await;
    for text in ["first", "second \\x1b[0m", "last"] {
        let line = log.lines().find(|line| line.ends_with(text));
        let line = line.expect("its own line");
        assert!(
            line.contains("[error] [pid ") && line.contains("] [req 4711] [client 127.0.0.2] ")
        );
        assert!(!line.contains(&format!("[pid {}]", std::process::id())));
    }
}

#[tokio::test]
async fn endless_stderr_is_read_but_not_all_logged() {
    let rig = Rig::new();
    let script = rig.perl(
        "noisy.cgi",
        r#"print STDERR "line $_ of a noisy program\n" for 1 .. 100_000; print "A: b\n\nok";"#,
    );
    let response = rig.get(&script).await.expect("a response");
    assert_eq!(response.text(), "ok");
    let log = rig
        .logged("bytes more of this program's messages are not logged")
        .await;
    let last = log.lines().next_back().unwrap_or_default();
    // The program writes 2,988,895 bytes. The log keeps 262,144 of them.
    assert!(last.contains("(2726751 bytes more"), "{last}");
    let size = std::fs::metadata(rig.path("error.log"))
        .expect("a log")
        .len();
    assert!(size < 2 << 20, "{size} bytes");
}

#[tokio::test]
async fn programs_beyond_the_limit_wait_their_turn() {
    let rig = Rig::with(Limits {
        processes: 1,
        queue: 1,
        queue_timeout: PATIENCE,
    });
    let script = rig.shell("turn.cgi", "echo; read line < \"$0.gate\"; echo ok\n");
    let gate = rig.fifo("turn.cgi.gate");
    let mut first = rig.start(&script, Request::default()).expect("runs");
    head(&mut first).await.expect("a head");
    let mut second = rig.start(&script, Request::default()).expect("waits");
    let third = rig.start(&script, Request::default()).err();
    assert!(matches!(third, Some(StartError::Busy)));
    let waits = poll_fn(|cx| std::task::Poll::Ready(second.poll_head(cx).is_pending()));
    assert!(waits.await && second.worker().is_none());
    let (opened, read_first) = tokio::join!(open(&gate), read(&mut first, |_| ()));
    assert_eq!((opened, read_first), ((), Ok(())));
    head(&mut second).await.expect("its turn came");
    assert!(second.queued() > Duration::ZERO);
    let (opened, read_second) = tokio::join!(open(&gate), read(&mut second, |_| ()));
    assert_eq!((opened, read_second), ((), Ok(())));
}

#[tokio::test]
async fn a_request_that_waits_too_long_for_its_turn_is_refused() {
    let rig = Rig::with(Limits {
        processes: 1,
        queue: 1,
        queue_timeout: Duration::from_millis(50),
    });
    let script = rig.shell("sleep.cgi", "echo; exec sleep 600\n");
    let mut first = rig.start(&script, Request::default()).expect("runs");
    head(&mut first).await.expect("a head");
    assert_eq!(rig.get(&script).await.err(), Some(Fault::QueueTimedOut));
    drop(first);
    rig.quiet().await;
}
