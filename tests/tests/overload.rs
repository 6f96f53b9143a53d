//! Tests a server with more requests than workers: queues, refusals, streams, clients that leave.

use mehari_harness::scripts::{is_well, let_go, nap, plain, simple, workers, UNTIL_LET_GO};
use mehari_harness::{eventually, processes, Answer, Connection, Request, Rung, Server, PATIENCE};
use std::time::{Duration, Instant};

#[test]
fn gigabyte_of_output_streams_through_without_growing_the_front() {
    const SIZE: usize = 1 << 30;
    let text = "my $piece = 'x' x 65536; print $piece for 1 .. 16384;";
    let server = Server::builder()
        .file("scripts/big.pl", &plain(text))
        .ladder()
        .start();
    for rung in [Rung::Cgi, Rung::Fork, Rung::Registry] {
        let mut connection = server.connect();
        connection.patience(Duration::from_secs(60));
        connection.write(&Request::get(&rung.url("big.pl")).closing().bytes());
        let mut received = 0;
        loop {
            let count = connection.fill().expect("the response goes on");
            if count == 0 {
                break;
            }
            received += count;
            connection.forget(count);
        }
        // The framing of chunks and the head add some bytes to the output.
        assert!(received >= SIZE, "{}: only {received} bytes", rung.name());
        assert!(
            received < SIZE + SIZE / 100,
            "{}: {received} bytes",
            rung.name()
        );
        let peak = processes::kilobytes(server.pid(), "VmHWM").expect("the front runs");
        assert!(
            peak < 300_000,
            "{}: the front grew to {peak} kB",
            rung.name()
        );
    }
}

#[test]
fn slow_reader_of_a_large_response_holds_no_other_request() {
    let server = simple(2).start();
    server
        .site
        .write("scripts/big.pl", &plain("print 'x' x 65536 for 1 .. 1600;"));
    let mut slow = server.connect();
    slow.write(&Request::get("/registry/big.pl").bytes());
    slow.fill().expect("the response begins");
    for _ in 0..50 {
        assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    }
    let answer = slow.read_answer("GET").expect("the rest comes");
    assert_eq!(answer.body.len(), 65536 * 1600);
}

#[test]
fn request_of_a_client_that_left_the_queue_is_never_run() {
    let server = simple(1).start();
    let (mut first, _) = nap(&server, Rung::Registry, "first");
    for name in ["left1", "left2", "left3"] {
        let mut gone = server.connect();
        gone.write(&Request::get(&format!("/registry/nap.pl?{name}")).bytes());
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut last = server.connect();
    last.write(&Request::get("/registry/hello.pl").bytes());
    assert_eq!(
        first.read_answer("GET").expect("an answer").expect(200),
        "rested"
    );
    assert_eq!(
        last.read_answer("GET").expect("an answer").expect(200),
        "Hello"
    );
    for name in ["left1", "left2", "left3"] {
        let note = server.site.read(&format!("htdocs/napping.{name}"));
        assert_eq!(note, "", "{name} was run though nobody waited for it");
    }
}

#[test]
fn full_queue_answers_503_with_retry_after_and_files_go_on() {
    let server = Server::builder()
        .file(
            "scripts/nap.pl",
            &plain(&format!("{UNTIL_LET_GO} print 'rested';")),
        )
        .file("htdocs/file.txt", "a file\n")
        .ladder()
        .conf(&workers(1))
        .conf("WorkerQueue 4\n")
        .start();
    let mut waiting: Vec<Connection> = (0..12)
        .map(|_| {
            let mut connection = server.connect();
            connection.write(&Request::get("/registry/nap.pl").bytes());
            connection
        })
        .collect();
    assert_eq!(server.get("/file.txt").expect(200), "a file\n");
    // No script is released before all requests have arrived.
    let refused = || server.status()["pool"]["totals"]["refused"].as_u64() >= Some(3);
    assert!(eventually(PATIENCE, refused), "{}", server.status());
    let_go(&server);
    let answers: Vec<Answer> = waiting
        .iter_mut()
        .map(|connection| connection.read_answer("GET").expect("an answer"))
        .collect();
    let refused: Vec<&Answer> = answers
        .iter()
        .filter(|answer| answer.status == 503)
        .collect();
    let served = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(served + refused.len(), 12);
    // One request runs, four wait in the queue, and the worker's mailbox may hold up to four more.
    assert!((5..=9).contains(&served), "{served} were served");
    for answer in refused {
        let after = answer
            .field("retry-after")
            .expect("503 says when to come back");
        assert!(after.parse::<u32>().is_ok(), "Retry-After: {after}");
    }
}

#[test]
fn request_that_waited_too_long_in_the_queue_answers_503() {
    let server = Server::builder()
        .file(
            "scripts/nap.pl",
            &plain(&format!("open my $f, '>', qq{{$ENV{{DOCUMENT_ROOT}}/begun}}; {UNTIL_LET_GO} print 'rested';")),
        )
        .file(
            "scripts/ran.pl",
            &plain(
                "open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/ran}; print $f 1; close $f; print 'ran';",
            ),
        )
        .ladder()
        .conf(&workers(1))
        .conf("WorkerQueueTimeout 1\n")
        .start();
    let mut first = server.connect();
    first.write(&Request::get("/registry/nap.pl").bytes());
    let begun = server.site.path("htdocs/begun");
    assert!(eventually(PATIENCE, || begun.exists()));
    let answer = server.get("/registry/ran.pl");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.field("retry-after").is_some());
    let_go(&server);
    assert_eq!(
        first.read_answer("GET").expect("an answer").expect(200),
        "rested"
    );
    assert_eq!(
        server.site.read("htdocs/ran"),
        "",
        "it was run after it was refused"
    );
}

#[test]
fn error_document_of_an_overload_says_when_to_come_back() {
    let server = Server::builder()
        .file(
            "scripts/nap.pl",
            &plain(&format!(
                "warn qq{{begun\\n}}; {UNTIL_LET_GO} print 'rested';"
            )),
        )
        .file("scripts/ran.pl", &plain("print 'ran';"))
        .file(
            "scripts/busy.pl",
            "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\n\nbusy};",
        )
        .file(
            "htdocs/busy.shtml",
            "busy<!--#if expr=\"true\" --><!--#endif -->",
        )
        .file("htdocs/busy.html", "busy")
        .ladder()
        .conf(&workers(1))
        .conf(
            "WorkerQueueTimeout 1\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n\
             <Directory htdocs>\nOptions +Includes\n</Directory>\n\
             <Location /registry>\nErrorDocument 503 /busy.html\n</Location>\n\
             <Location /perlrun>\nErrorDocument 503 /busy.shtml\n</Location>\n\
             <Location /registry/ran.pl/program>\nErrorDocument 503 /cgi/busy.pl\n</Location>\n\
             <Location /registry/ran.pl/again>\nErrorDocument 503 /registry/busy.pl\n</Location>\n",
        )
        .start();
    let mut first = server.connect();
    first.write(&Request::get("/registry/nap.pl").bytes());
    server.log.expect("begun");
    for (path, is_own) in [
        ("/registry/ran.pl", false),
        ("/registry/ran.pl/program", false),
        ("/perlrun/ran.pl", false),
        ("/registry/ran.pl/again", true),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 503, "{path}: {}", answer.text());
        assert_eq!(
            answer.text() == "busy",
            !is_own,
            "{path}: {}",
            answer.text()
        );
        let times: Vec<_> = answer.all("retry-after");
        assert_eq!(times.len(), 1, "{path}: Retry-After: {times:?}");
    }
    let_go(&server);
    let answer = first.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), "rested");
}

#[test]
fn reaching_max_clients_is_logged_in_the_words_of_the_guide_once_a_minute() {
    const WORDS: &str =
        "server reached MaxClients setting, consider raising the MaxClients setting";
    let server = simple(1).start();
    let begun = Instant::now();
    for _ in 0..3 {
        let mut waiting: Vec<Connection> = (0..4)
            .map(|_| {
                let mut connection = server.connect();
                connection.write(&Request::get("/registry/nap.pl?x").bytes());
                connection
            })
            .collect();
        for connection in &mut waiting[..1] {
            assert_eq!(
                connection.read_answer("GET").expect("an answer").status,
                200
            );
        }
    }
    server.log.expect(WORDS);
    let told = server.log.count(WORDS) as u64;
    let minutes = begun.elapsed().as_secs() / 60;
    assert!(told <= 1 + minutes, "{}", server.log.text());
}

#[test]
fn aborted_clients_leave_nothing_busy() {
    let server = simple(2).start();
    for _ in 0..200 {
        let mut connection = server.connect();
        connection.write(&Request::get("/registry/hello.pl").bytes());
    }
    for _ in 0..50 {
        let mut connection = server.connect();
        connection.write(
            b"POST /registry/hello.pl HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
        );
    }
    is_well(&server);
    // The harness counts descriptors at the end of the test. Here the front must use no more CPU
    // time.
    let rests = eventually(PATIENCE, || {
        let before = ticks(server.pid());
        std::thread::sleep(Duration::from_millis(300));
        ticks(server.pid()) - before <= 3
    });
    assert!(rests, "the front goes on working with nothing to do");
}

/// Returns the CPU time of a process in ticks of 10 ms.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the front runs");
    let (_, tail) = stat.rsplit_once(')').expect("stat has a name");
    // These are fields 14 and 15 of proc(5). `tail` begins with field 3.
    tail.split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum()
}

#[test]
fn server_out_of_descriptors_closes_idle_connections_and_says_so_once() {
    let mut server = Server::builder()
        .file("htdocs/file.txt", "text")
        .conf("MaxConnections 4096\nKeepAliveTimeout 60\n")
        .start();
    let room = rustix::process::Rlimit {
        current: Some(100),
        maximum: Some(1024),
    };
    let pid = rustix::process::Pid::from_raw(server.pid());
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, room).expect("a limit");
    let mut kept = Vec::new();
    for number in 0..150 {
        let mut connection = server.connect();
        let answer = connection.send(&Request::get("/file.txt"));
        assert!(
            answer.is_ok_and(|answer| answer.status == 200),
            "connection {number}\n{}",
            server.log.text()
        );
        kept.push(connection);
    }
    assert_eq!(server.log.count("accepting a connection"), 1);
    drop(kept);
    server.rebase();
}

#[test]
fn clients_that_send_nothing_make_room_and_those_that_have_begun_a_request_do_not() {
    let server = Server::builder()
        .file("htdocs/file.txt", "text")
        .conf("MaxConnections 20\nRequestReadTimeout header=60\n")
        .start();
    let open = |count: u64| {
        let is = || server.status()["front"]["open_connections"].as_u64() == Some(count);
        assert!(eventually(PATIENCE, is), "{}", server.status()["front"]);
    };
    let mut begun: Vec<_> = (0..5).map(|_| server.connect()).collect();
    for connection in &mut begun {
        connection.write(b"GET /file.txt HTTP/1.1\r\nHo");
    }
    open(5);
    let mut silent: Vec<_> = (0..15).map(|_| server.connect()).collect();
    open(20);
    let mut kept = Vec::new();
    for number in 0..30 {
        let mut connection = server.connect();
        let answer = connection.send(&Request::get("/file.txt"));
        let status = answer.map(|answer| answer.status);
        assert!(matches!(status, Ok(200)), "connection {number}: {status:?}");
        kept.push(connection);
    }
    for connection in &mut begun {
        connection.write(b"st: localhost\r\n\r\n");
        let answer = connection.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), "text");
    }
    assert!(silent
        .iter_mut()
        .all(|connection| connection.is_closed_by_server()));
}

/// If the response was sent before the request has ended, the end wakes no connection and the front
/// goes on sleeping. Requests that the worker gets meanwhile must still be answered when they are
/// done, and not only at the next timer tick.
#[test]
fn queued_requests_follow_one_another_without_a_pause() {
    const EACH: usize = 30;
    // The scripts do the same work: `late.pl` after its response, while the front sleeps, and
    // `early.pl` before its response, which wakes the front.
    let pause = "Time::HiRes::usleep(2_000)";
    let late = format!(
        "use Time::HiRes (); print 'done'; $_[0]->pool->cleanup_register(sub {{ {pause} }});"
    );
    let early = format!("use Time::HiRes (); {pause}; print 'done';");
    let server = Server::builder()
        .file("scripts/late.pl", &plain(&late))
        .file("scripts/early.pl", &plain(&early))
        .ladder()
        .conf(&workers(1))
        .conf("WorkerDepth 1\n")
        .start();
    let all_are_answered = |name: &str| {
        let address = Rung::Registry.url(name);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        assert_eq!(server.get(&address).expect(200), "done");
                    }
                });
            }
        });
        start.elapsed()
    };
    all_are_answered("early.pl");
    // With a pause until each tick, `late.pl` would take seven times as long, and twice as long on
    // a loaded machine.
    let without_a_pause = || 2 * all_are_answered("late.pl") < 3 * all_are_answered("early.pl");
    assert!(eventually(PATIENCE, without_a_pause));
}

#[test]
fn requests_behind_slow_ones_are_taken_back_and_soon_not_put_there() {
    const EACH: u64 = 60;
    let script = plain("select undef, undef, undef, 0.005; print 'rested';");
    let server = simple(8).file("scripts/short-nap.pl", &script).start();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut connection = server.connect();
                for _ in 0..EACH {
                    connection.write(&Request::get("/registry/short-nap.pl").bytes());
                    let answer = connection.read_answer("GET").expect("an answer");
                    assert_eq!(answer.expect(200), "rested");
                }
            });
        }
    });
    // For the pool, a worker that runs `nap.pl` is a busy core. There are enough workers for all
    // requests.
    let totals = server.status()["pool"]["totals"].clone();
    let taken_back = totals["taken_back"].as_u64().expect("a count");
    assert!(taken_back > 0, "none was: {totals}");
    assert!(taken_back < 8 * EACH / 2, "too many were: {totals}");
}
