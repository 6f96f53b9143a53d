//! What can go wrong behind the front, and that it harms its own request only.

use mehari_harness::{eventually, processes, Answer, Connection, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const HEADER: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\n";

fn workers(count: u32) -> String {
    format!("StartServers {count}\nMinSpareServers {count}\nMaxSpareServers {count}\nMaxRequestWorkers {count}\n")
}

fn script(text: &str) -> String {
    format!("{HEADER}{text}\n")
}

/// A server with the scripts that most of these tests want.
fn server(count: u32, conf: &str) -> Server {
    Server::builder()
        .file("scripts/hello.pl", &script("print 'Hello';"))
        .file("scripts/pid.pl", &script("print $$;"))
        .file("scripts/nap.pl", &script("open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/napping.$ENV{QUERY_STRING}}; print $f $$; close $f; select undef, undef, undef, 2; print 'rested';"))
        .ladder()
        .conf(&workers(count))
        .conf(conf)
        .start()
}

/// Starts a request for nap.pl and waits until its script runs; the connection and the worker's pid.
fn nap(server: &Server, rung: Rung, name: &str) -> (Connection, i32) {
    let mut connection = server.connect();
    connection.write(&Request::get(&format!("{}?{name}", rung.url("nap.pl"))).bytes());
    let note = format!("htdocs/napping.{name}");
    let begun = eventually(PATIENCE, || !server.site.read(&note).is_empty());
    assert!(begun, "nap.pl did not begin:\n{}", server.log.text());
    let pid = server
        .site
        .read(&note)
        .parse()
        .expect("nap.pl writes its pid");
    (connection, pid)
}

fn is_well(server: &Server) {
    for rung in Rung::ALL {
        let answer = server.get(&rung.url("hello.pl"));
        assert_eq!(answer.expect(200), "Hello", "{}", rung.name());
    }
}

#[test]
fn killed_worker_costs_its_own_request_only() {
    let server = server(4, "");
    for rung in [Rung::Registry, Rung::PerlRun, Rung::Fork, Rung::Cgi] {
        let (mut other, _) = nap(&server, rung, "other");
        let (mut connection, pid) = nap(&server, rung, rung.name());
        processes::signal(pid, Signal::Kill);
        let answer = connection.read_answer("GET").expect("an answer");
        assert_eq!(answer.status, 502, "{}: {}", rung.name(), answer.text());
        let answer = other.read_answer("GET").expect("an answer");
        assert_eq!(answer.expect(200), "rested", "{}", rung.name());
        let line = server.log.expect(&pid.to_string());
        assert!(
            line.contains("signal 9") || line.contains("SIGKILL"),
            "{line}"
        );
        std::fs::remove_file(server.site.path("htdocs/napping.other")).expect("it was written");
    }
    is_well(&server);
    let replaced = eventually(PATIENCE, || server.workers().len() == 4);
    assert!(replaced, "workers: {:?}", server.workers());
}

#[test]
fn killed_workers_under_load_fail_only_what_they_were_running() {
    let server = server(4, "");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (outcome, killed) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut killed = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                if let Some(&pid) = server.workers().first() {
                    processes::signal(pid, Signal::Kill);
                    killed += 1;
                }
            }
            killed
        });
        let crowd = mehari_harness::crowd::Crowd {
            address: server.address,
            clients: 8,
            requests: 10_000,
            keep_alive: true,
        };
        let outcome = crowd.run(
            |_| Request::get("/registry/hello.pl"),
            |_, answer| answer.status == 200 && answer.body == b"Hello",
        );
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (outcome, killer.join().expect("the killer ends"))
    });
    assert!(
        killed > 0,
        "the load was over before a worker could be killed"
    );
    assert!(
        outcome.failed <= killed,
        "{} failed, {killed} workers killed: {:?}",
        outcome.failed,
        outcome.failures
    );
    assert!(
        outcome.failures.iter().all(|why| why.contains(": 502 ")),
        "{:?}",
        outcome.failures
    );
    is_well(&server);
}

#[test]
fn killed_zygote_is_replaced_while_everything_goes_on() {
    let server = server(2, "");
    let before = server.zygotes();
    assert_eq!(before.len(), 1, "one generation has one zygote");
    let (mut connection, _) = nap(&server, Rung::Registry, "a");
    processes::signal(before[0], Signal::Kill);
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
    let answer = connection.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), "rested");
    server.log.expect("zygote");
    let replaced = eventually(PATIENCE, || {
        let now = server.zygotes();
        now.len() == 1 && now != before
    });
    assert!(replaced, "zygotes: {:?}", server.zygotes());
    is_well(&server);
    // The new zygote can do its work: a worker that dies now is replaced.
    let pid = server
        .get("/registry/pid.pl")
        .expect(200)
        .parse()
        .expect("a pid");
    processes::signal(pid, Signal::Kill);
    let well = eventually(PATIENCE, || server.get("/registry/hello.pl").status == 200);
    assert!(well, "no worker came back");
}

#[test]
fn script_that_sleeps_for_ever_is_ended_with_504_and_its_stack_logged() {
    let text = "#!/usr/bin/perl\nsub inner {\n    sleep 1000 while 1;\n}\nsub outer {\n    inner();\n}\nouter();\n";
    let server = Server::builder()
        .file("scripts/forever.pl", text)
        .file(
            "scripts/spin.pl",
            "#!/usr/bin/perl\nsub busy {\n    1 while 1;\n}\nbusy();\n",
        )
        .file("scripts/hello.pl", &script("print 'Hello';"))
        .ladder()
        .conf(&workers(2))
        .conf("Timeout 2\n")
        .start();
    for name in ["forever.pl", "spin.pl"] {
        for rung in Rung::ALL {
            let start = Instant::now();
            let answer = server.get(&rung.url(name));
            assert_eq!(answer.status, 504, "{name} on {}", rung.name());
            assert!(start.elapsed() >= Duration::from_millis(1900));
        }
    }
    // `cgi` runs any program: what it was doing cannot be asked.
    for words in [
        "forever.pl line 3",
        "forever.pl line 6",
        "forever.pl line 8",
        "spin.pl line 3",
    ] {
        server.log.expect(words);
    }
    server.log.expect("inner");
    is_well(&server);
}

#[test]
fn timed_out_program_takes_its_children_with_it() {
    let note = "htdocs/child";
    let server = Server::builder()
        .file("scripts/parent.pl", &script("my $kid = fork; if (!$kid) { open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/child}; print $f $$; close $f; sleep 1000 } sleep 1000;"))
        .ladder()
        .conf("Timeout 2\n")
        .start();
    for rung in Rung::ISOLATED {
        assert_eq!(server.get(&rung.url("parent.pl")).status, 504);
        let pid: i32 = server
            .site
            .read(note)
            .parse()
            .expect("the child wrote its pid");
        let gone = eventually(PATIENCE, || !processes::is_alive(pid));
        assert!(gone, "{}: the child lives on", rung.name());
    }
}

/// Scripts that end badly, and the statuses that say so.
const BAD_ENDS: &[(&str, &str, &[u16], &str)] = &[
    (
        "segfault",
        "kill SEGV => $$; select undef, undef, undef, 5;",
        &[502],
        "signal 11",
    ),
    (
        "real segfault",
        "my $x = unpack 'p', pack 'Q', 8; print $x;",
        &[502],
        "signal 11",
    ),
    (
        "killed",
        "kill KILL => $$; select undef, undef, undef, 5;",
        &[502],
        "signal 9",
    ),
    (
        "aborts",
        "use POSIX (); POSIX::abort();",
        &[502],
        "signal 6",
    ),
    ("no header", "print 'no header at all';", &[500], "header"),
    ("nothing", "1;", &[500], "header"),
    (
        "header without end",
        "print \"Content-type: text/plain\\n\";",
        &[500],
        "header",
    ),
    (
        "not a field",
        "print \"Content-type: text/plain\\nthis is no field\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "space in a name",
        "print \"Bad Name: x\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "NUL in a value",
        "print \"Content-type: text/plain\\nX-A: a\\0b\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "CR in a value",
        "print \"Content-type: text/plain\\nX-A: a\\rX-B: b\\n\\nbody\";",
        &[500],
        "header",
    ),
    (
        "bad status",
        "print \"Status: maybe\\n\\nbody\";",
        &[500],
        "tatus",
    ),
    (
        "status out of range",
        "print \"Status: 99\\n\\nbody\";",
        &[500],
        "tatus",
    ),
    (
        "closes everything",
        "close STDOUT; close STDERR; close STDIN;",
        &[500],
        "header",
    ),
    ("_exit", "use POSIX (); POSIX::_exit(3);", &[500, 502], ""),
];

#[test]
fn script_that_ends_badly_gets_its_own_answer_on_every_rung() {
    let mut builder = Server::builder()
        .file("scripts/hello.pl", &script("print 'Hello';"))
        .ladder()
        .conf(&workers(2));
    for (number, (_, text, _, _)) in BAD_ENDS.iter().enumerate() {
        builder = builder.file(
            &format!("scripts/bad{number}.pl"),
            &format!("#!/usr/bin/perl\n{text}\n"),
        );
    }
    let server = builder.start();
    let mut wrong = Vec::new();
    for (number, (name, _, statuses, words)) in BAD_ENDS.iter().enumerate() {
        for rung in Rung::ALL {
            let before = server.log.lines().len();
            let answer = server.get(&rung.url(&format!("bad{number}.pl")));
            // mod_cgi answers a program that died without a word with 500; it may be 502 as well.
            let fits = statuses.contains(&answer.status)
                || rung == Rung::Cgi && [500, 502].contains(&answer.status);
            if !fits {
                wrong.push(format!(
                    "{name} on {}: {} {:?}",
                    rung.name(),
                    answer.status,
                    answer.text()
                ));
            }
            let logged = eventually(Duration::from_secs(5), || {
                server.log.lines()[before..]
                    .iter()
                    .any(|line| line.contains(words) && line.contains("bad"))
            });
            if !words.is_empty() && !logged {
                wrong.push(format!(
                    "{name} on {}: no {words:?} in {:?}",
                    rung.name(),
                    &server.log.lines()[before..]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    is_well(&server);
}

#[test]
fn field_of_a_handler_with_cr_or_lf_is_refused_with_500_and_a_log_line() {
    let module = "package Split;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse APR::Table ();\n\
        sub handler { my $r = shift; my %bad = (lf => \"a\\nX-Evil: 1\", cr => \"a\\rX-Evil: 1\", crlf => \"a\\r\\nX-Evil: 1\", nul => \"a\\0b\");\n\
        $r->content_type('text/plain'); $r->headers_out->set('X-Split' => $bad{$r->args}); $r->print('body'); return 0 }\n1;\n";
    let app = "sub { my $env = shift; [200, ['Content-Type', 'text/plain', 'X-Split', qq{a\\r\\nX-Evil: 1}], ['body']] };\n";
    let server = Server::builder()
        .file("lib/Split.pm", module)
        .file("app.psgi", app)
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Split\n<Location /split>\n    SetHandler modperl\n    PerlResponseHandler Split\n</Location>\n<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .start();
    for target in [
        "/split?lf",
        "/split?cr",
        "/split?crlf",
        "/split?nul",
        "/psgi",
    ] {
        let before = server.log.lines().len();
        let answer = server.get(target);
        assert_eq!(answer.status, 500, "{target}");
        assert_eq!(answer.all("x-evil"), Vec::<String>::new(), "{target}");
        let logged = eventually(PATIENCE, || {
            server.log.lines()[before..]
                .iter()
                .any(|line| line.contains("X-Split"))
        });
        assert!(logged, "{target}: {}", server.log.text());
    }
}

#[test]
fn script_that_dies_half_way_never_looks_complete() {
    let big = "print 'x' x 1000 for 1 .. 3000; die qq{half way\\n};";
    let server = Server::builder()
        .file("scripts/big.pl", &script(big))
        .file("scripts/killed.pl", &script("$| = 1; print 'x' x 1000 for 1 .. 3000; kill KILL => $$; select undef, undef, undef, 5;"))
        .file("scripts/hello.pl", &script("print 'Hello';"))
        .ladder()
        .start();
    for rung in Rung::ALL {
        let before = server.log.count("half way");
        let answer = server.get(&rung.url("big.pl"));
        assert!([200, 500].contains(&answer.status), "{}", answer.status);
        let told = eventually(PATIENCE, || server.log.count("half way") > before);
        assert!(told, "{}: the log does not say why", rung.name());
        // The process was killed: a client that got 200 must see that the body is not whole.
        let answer = server.get(&rung.url("killed.pl"));
        let cut = answer.status == 200 && !answer.complete;
        assert!(
            cut || answer.status == 502,
            "{}: {} complete",
            rung.name(),
            answer.status
        );
    }
    is_well(&server);
}

#[test]
fn gigabyte_of_output_streams_through_without_growing_the_front() {
    const SIZE: usize = 1 << 30;
    let text = "my $piece = 'x' x 65536; print $piece for 1 .. 16384;";
    let server = Server::builder()
        .file("scripts/big.pl", &script(text))
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
        // With the framing of chunks and a header it is a little more than what was printed.
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
    let server = server(2, "");
    server.site.write(
        "scripts/big.pl",
        &script("print 'x' x 65536 for 1 .. 1600;"),
    );
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
    let server = server(1, "");
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
            &script("select undef, undef, undef, 1; print 'rested';"),
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
    // One runs, four wait, and a worker may hold up to four that it has not begun.
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
            &script("select undef, undef, undef, 3; print 'rested';"),
        )
        .file(
            "scripts/ran.pl",
            &script(
                "open my $f, '>', qq{$ENV{DOCUMENT_ROOT}/ran}; print $f 1; close $f; print 'ran';",
            ),
        )
        .ladder()
        .conf(&workers(1))
        .conf("WorkerQueueTimeout 1\n")
        .start();
    let mut first = server.connect();
    first.write(&Request::get("/registry/nap.pl").bytes());
    std::thread::sleep(Duration::from_millis(200));
    let answer = server.get("/registry/ran.pl");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.field("retry-after").is_some());
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
fn reaching_max_clients_is_logged_in_the_words_of_the_guide_once_a_minute() {
    const WORDS: &str = "server reached MaxRequestWorkers setting, consider raising";
    let server = server(1, "");
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
    assert_eq!(server.log.count(WORDS), 1, "{}", server.log.text());
}

#[test]
fn aborted_clients_leave_nothing_busy() {
    let server = server(2, "");
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
    // The judge of the harness counts descriptors; here it is processor time that must come to rest.
    let rests = eventually(PATIENCE, || {
        let before = ticks(server.pid());
        std::thread::sleep(Duration::from_millis(300));
        ticks(server.pid()) - before <= 3
    });
    assert!(rests, "the front goes on working with nothing to do");
}

/// Processor time of a process, in ticks of 10 ms.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the front runs");
    let (_, tail) = stat.rsplit_once(')').expect("stat has a name");
    // Fields 14 and 15 of proc(5); the first here is the third there.
    tail.split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum()
}

#[test]
fn worker_retires_after_its_requests_without_failing_one() {
    let server = server(2, "MaxConnectionsPerChild 20\n");
    let mut seen = std::collections::HashSet::new();
    let mut connection = server.connect();
    for _ in 0..300 {
        let answer = connection
            .send(&Request::get("/registry/pid.pl"))
            .expect("an answer");
        seen.insert(answer.expect(200));
    }
    // 300 requests at 20 a worker, give or take a fifth: at least a dozen workers.
    assert!(seen.len() >= 12, "only {} workers served", seen.len());
    assert!(seen.len() <= 20, "{} workers served", seen.len());
}

#[test]
fn script_that_forks_and_exits_in_the_child_answers_once() {
    let server = Server::builder()
        .file(
            "scripts/fork.pl",
            &script("my $kid = fork; if (!$kid) { exit 0 } waitpid $kid, 0; print 'one answer';"),
        )
        .file(
            "scripts/fall.pl",
            &script("my $kid = fork; if ($kid) { waitpid $kid, 0; print 'one answer' }"),
        )
        .ladder()
        .conf(&workers(2))
        .start();
    for rung in Rung::ALL {
        for name in ["fork.pl", "fall.pl"] {
            let mut connection = server.connect();
            for _ in 0..5 {
                let answer = connection
                    .send(&Request::get(&rung.url(name)))
                    .expect("an answer");
                assert_eq!(
                    answer.expect(200),
                    "one answer",
                    "{name} on {}",
                    rung.name()
                );
            }
            assert_eq!(
                connection.unread(),
                b"",
                "{name} on {} answered twice",
                rung.name()
            );
        }
    }
    assert_eq!(server.workers().len(), 2, "a child became a worker");
}
