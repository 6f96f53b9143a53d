//! Tests PSGI 1.1 with the real server: the whole Plack::Test::Suite, and each extension
//! separately.

use mehari_harness::scripts::let_go;
use mehari_harness::{binary, eventually, needs, Request, Server, PATIENCE};
use std::process::Command;

/// The number of tests in the suite of Plack 1.0050. A later Plack may have more.
const LEAST_SUITE_TESTS: usize = 36;

fn folder() -> std::path::PathBuf {
    binary::workspace().join("tests/psgi")
}

fn suite_passes_over(protocol: &str) {
    let app = folder().join("app.psgi");
    let server = Server::builder()
        .conf(&format!(
            "<Location />\n    SetHandler psgi\n    PSGIApp {}\n</Location>\n",
            app.display()
        ))
        .start();
    let output = Command::new("perl")
        .arg(folder().join("suite.pl"))
        .args([server.address.to_string(), protocol.to_owned()])
        .output()
        .expect("perl can be run");
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let passed = told.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(output.status.success(), "{told}\n{errors}");
    assert!(
        passed >= LEAST_SUITE_TESTS,
        "only {passed} tests ran:\n{told}"
    );
    assert!(
        !told.contains("# skip") && !told.contains("# SKIP"),
        "{told}"
    );
}

/// Starts `mehari serve app.psgi` with plackup's options and waits for the ready line.
#[test]
fn plackup_s_options_for_port_modules_and_environment_are_taken() {
    let site = mehari_harness::site::Site::new();
    site.write(
        "lib/Carried.pm",
        "package Carried; our $text = 'carried'; 1;",
    );
    site.write(
        "app.psgi",
        "use Carried; sub { [200, [], [\"$Carried::text $ENV{PLACK_ENV}\"]] }",
    );
    let mut server = Command::new(binary::mehari())
        .args([
            "serve", "app.psgi", "-p", "0", "--listen", ":0", "-I", "lib", "-E", "staging",
        ])
        .current_dir(site.root())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("mehari runs");
    let mut line = String::new();
    let out = server.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    let urls: Vec<&str> = line
        .strip_prefix("mehari: serving ")
        .expect("the ready line")
        .split_whitespace()
        .collect();
    assert_eq!(urls.len(), 2, "the line names every listener: {line}");
    for url in urls {
        let port = url.rsplit(':').next().expect("a port");
        let port: u16 = port.trim_end_matches('/').parse().expect("a number");
        let mut connection = mehari_harness::Connection::open(([127, 0, 0, 1], port).into());
        connection.write(&Request::get("/").bytes());
        assert_eq!(
            connection
                .read_answer("GET")
                .expect("an answer")
                .expect(200),
            "carried staging",
            "{url}"
        );
    }
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::Term).expect("it runs");
    assert!(server.wait().expect("it ends").success());
}

#[test]
fn plack_test_suite_passes_over_http_1() {
    suite_passes_over("http1");
}

#[test]
fn plack_test_suite_passes_over_http_2() {
    suite_passes_over("http2");
}

#[test]
fn plackup_runs_the_suite_through_the_mehari_handler() {
    let output = Command::new("perl")
        .arg(format!(
            "-I{}",
            binary::workspace().join("perl/lib").display()
        ))
        .args(["-MTest::More", "-MPlack::Test::Suite", "-e"])
        .arg("Plack::Test::Suite->run_server_tests('Mehari'); done_testing")
        .env("MEHARI_BIN", binary::mehari())
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .expect("perl can be run");
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{errors}");
    assert!(
        told.lines().filter(|line| line.starts_with("ok ")).count() >= LEAST_SUITE_TESTS,
        "{told}"
    );
}

fn features() -> Server {
    let text = std::fs::read_to_string(folder().join("features.psgi")).expect("the application");
    Server::builder()
        .file("features.psgi", &text)
        .dir("features.psgi")
        .start()
}

#[test]
fn environment_has_what_the_specification_asks() {
    let server = features();
    let request = Request::new("GET", "/env?a=b%20c")
        .field("X-Two-Words", "yes")
        .field("Proxy", "evil");
    let text = server.send(&request).expect(200);
    for line in [
        "REQUEST_METHOD=GET",
        "SCRIPT_NAME=",
        "PATH_INFO=/env",
        "REQUEST_URI=/env?a=b%20c",
        "QUERY_STRING=a=b%20c",
        "SERVER_PROTOCOL=HTTP/1.1",
        "SERVER_NAME=127.0.0.1",
        "REMOTE_ADDR=127.0.0.1",
        "HTTP_X_TWO_WORDS=yes",
        "psgi.version=1.1",
        "psgi.url_scheme=http",
        "psgi.multithread=",
        "psgi.multiprocess=1",
        "psgi.run_once=",
        "psgi.streaming=1",
        "psgi.nonblocking=",
        "psgix.input.buffered=1",
        "psgix.harakiri=1",
        "psgix.cleanup=1",
        "psgix.cleanup.handlers=",
        "psgix.informational=CODE",
        &format!("SERVER_PORT={}", server.port()),
    ] {
        let found = text.lines().any(|other| {
            let false_value =
                line.starts_with("psgi.") && line.ends_with('=') && other == format!("{line}0");
            other == line || false_value
        });
        assert!(found, "no line {line:?} in\n{text}");
    }
    assert!(
        !text.contains("psgix.io") && !text.contains("evil"),
        "{text}"
    );
}

#[test]
fn input_can_be_read_again_after_seeking() {
    let server = features();
    for size in [0usize, 10, 60_000, 70_000, 2_000_000] {
        for request in [
            Request::post("/input", vec![b'x'; size]),
            Request::post("/input", vec![b'x'; size]).chunked(),
        ] {
            assert_eq!(server.send(&request).expect(200), format!("{size} {size}"));
        }
    }
    let answer = server.send(&Request::post("/lines", "one\ntwo\nthree"));
    assert_eq!(answer.expect(200), "3 one\ntwo\nthree");
}

#[test]
fn every_kind_of_body_arrives() {
    let server = features();
    assert_eq!(server.get("/delayed").expect(200), "delayed");
    assert_eq!(server.get("/iterator").expect(200), "abc");
    let large = server.get("/large");
    assert!(
        large.complete && large.body.len() == 10_000_000,
        "{}",
        large.body.len()
    );
    let empty = server.get("/no-body");
    assert_eq!((empty.status, empty.body.len()), (204, 0));
    let cookies = server.get("/cookies");
    assert_eq!(cookies.all("set-cookie"), ["a=1", "b=2"]);
    let head = server.send(&Request::new("HEAD", "/large"));
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn streamed_parts_arrive_when_they_are_written() {
    let server = features();
    let mut connection = server.connect();
    let go = server.site.path("htdocs/go");
    connection.write(&Request::get(&format!("/stream?{}", go.display())).bytes());
    while !String::from_utf8_lossy(connection.unread()).contains("first") {
        assert_ne!(connection.fill().expect("a response"), 0);
    }
    let text = String::from_utf8_lossy(connection.unread()).into_owned();
    assert!(!text.contains("second"), "all came at once");
    let_go(&server);
    let answer = connection.read_answer("GET").expect("the rest");
    assert_eq!(answer.text(), "first\nsecond\n");
}

#[test]
fn cleanup_runs_after_the_client_has_its_answer() {
    let server = features();
    let file = server.site.path("htdocs/cleaned");
    let answer = server.get(&format!("/cleanup?file={}", file.display()));
    assert_eq!(answer.expect(200), "before the cleanup");
    assert!(!file.exists(), "the client had to wait for the cleanup");
    let cleaned = eventually(PATIENCE, || {
        server.site.read("htdocs/cleaned") == "cleaned\n"
    });
    assert!(cleaned, "the cleanup did not run");
}

#[test]
fn worker_that_commits_harakiri_is_replaced() {
    let server = features();
    let dead = server.get("/harakiri").expect(200);
    let pid: i32 = dead.parse().expect("a pid");
    let gone = eventually(PATIENCE, || !mehari_harness::processes::is_alive(pid));
    assert!(gone, "worker {pid} lives on");
    for _ in 0..20 {
        assert_ne!(server.get("/pid").expect(200), dead);
    }
}

#[test]
fn informational_response_comes_before_the_final_one() {
    let server = features();
    let answer = server.get("/hints");
    assert_eq!(answer.expect(200), "hinted");
    assert_eq!(answer.interim, [103]);
}

#[test]
fn failing_application_fails_only_its_own_request() {
    let server = features();
    server.get("/dies").expect(500);
    server.log.expect("the app dies here");
    server.get("/nonsense").expect(500);
    server.get("/wide").expect(500);
    let half = server.get("/dies-later");
    assert!(
        !half.complete || half.status == 500,
        "{} looks complete",
        half.status
    );
    server.log.expect("the app dies half way");
    let status = server.get("/exits").status;
    assert!([500, 502].contains(&status), "{status}");
    assert_eq!(server.get("/errors").expect(200), "said");
    server.log.expect("a word for the log");
    assert_eq!(server.get("/delayed").expect(200), "delayed");
}

/// A request reuses the environment hash of the previous request if nothing else refers to the
/// hash. The application's changes to the hash must not be visible then.
#[test]
fn change_of_an_environment_does_not_reach_the_next_request() {
    let text = std::fs::read_to_string(folder().join("keeps.psgi")).expect("the application");
    let server = Server::builder()
        .file("keeps.psgi", &text)
        .dir("keeps.psgi")
        .args(&["--workers", "1"])
        .start();
    let look = || {
        let request = Request::new("GET", "/look").field("X-One", "1");
        server.send(&request).expect(200)
    };
    let clean = look();
    let ways = server.get("/list").expect(200);
    assert!(ways.lines().count() > 20, "{ways}");
    for way in ways.lines() {
        let request = Request::new("GET", &format!("/{way}"))
            .field("X-One", "one")
            .field("X-Two", "two");
        let answer = server.send(&request);
        let expected = if matches!(way, "die" | "exit") {
            500
        } else {
            200
        };
        assert_eq!(answer.status, expected, "{way}: {}", answer.text());
        let after = look();
        let ended = after
            .lines()
            .find(|line| line.starts_with("ended="))
            .unwrap_or_default();
        let marks = match way {
            "add" | "die" => format!("ended={way}"),
            "object" => {
                "ended=object HTTP_X_ONE,object REMOTE_ADDR,object psgi.errors,object psgi.input"
                    .into()
            }
            _ => "ended=".into(),
        };
        if way == "bless" {
            assert!(ended.starts_with("ended="), "{after}");
        } else {
            assert_eq!(ended, marks, "{way}");
        }
        let rest = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with("ended="));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(rest(&after), rest(&clean), "after {way}");
    }
}

#[test]
fn chunked_body_has_a_content_length() {
    needs!("curl");
    let app = "sub { my $env = shift; read $env->{'psgi.input'}, my $body, 100;\n\
        [200, ['Content-Type' => 'text/plain'], [join ' ', map { $_ // '-' }\n\
        @$env{qw(CONTENT_LENGTH HTTP_TRANSFER_ENCODING)}, $body]] }\n";
    let server = Server::builder()
        .file("app.psgi", app)
        .dir("app.psgi")
        .start();
    for _ in 0..2 {
        let chunked = Request::post("/", "a=1&b=2").chunked();
        assert_eq!(server.send(&chunked).expect(200), "7 - a=1&b=2");
        assert_eq!(server.get("/").expect(200), "- - ");
        let plain = Request::post("/", "a=1");
        assert_eq!(server.send(&plain).expect(200), "3 - a=1");
    }
    let curl = Command::new("curl")
        .args(["-sS", "--http2-prior-knowledge", "-T", "-"])
        .arg(format!("http://{}/", server.address))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut curl = curl.expect("curl can be run");
    let mut body = curl.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut body, b"a=1&b").expect("read");
    drop(body);
    let told = curl.wait_with_output().expect("it ends").stdout;
    assert_eq!(String::from_utf8_lossy(&told), "5 - a=1&b");
}

/// An application that prints the names in %ENV, at load time and in the request.
const NAMES: &str = "my $loaded = join ' ', sort keys %ENV;\n\
    sub { [200, ['Content-Type' => 'text/plain'], [\"$loaded|\", join ' ', sort keys %ENV]] }\n";

#[test]
fn application_sees_only_the_passed_variables_of_the_servers_environment() {
    let server = |lines: Option<&str>, args: &[&str]| {
        let server = Server::builder().file("app.psgi", NAMES).args(args);
        let server = server
            .env("TZ", "UTC")
            .env("WANTED", "1")
            .env("OF_THE_SERVER", "1");
        match lines {
            None => server.dir("app.psgi"),
            Some(lines) => server.conf(&format!(
                "{lines}<Location />\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n"
            )),
        }
        .start()
    };
    let usual = "PATH PLACK_ENV TZ";
    let passed = "PATH PLACK_ENV TZ WANTED";
    for (server, names) in [
        (server(None, &[]), usual),
        (server(None, &["--pass-env", "WANTED"]), passed),
        (server(Some(""), &[]), usual),
        (server(Some("PerlPassEnv WANTED\n"), &[]), passed),
    ] {
        for _ in 0..2 {
            assert_eq!(server.get("/").expect(200), format!("{names}|{names}"));
        }
    }
}

/// Developers expect variables such as DATABASE_URL, but the server does not pass them on.
#[test]
fn missing_variable_that_ends_an_application_is_logged_with_the_option() {
    let app = "my $url = $ENV{DATABASE_URL} or die qq{DATABASE_URL is not set\n};\nsub { [200, [], [$url]] };\n";
    let builder = || Server::builder().file("app.psgi", app).dir("app.psgi");
    let hint = "`--pass-env DATABASE_URL` or `PerlPassEnv DATABASE_URL`";
    let with = |value: &str| builder().env("DATABASE_URL", value);
    let log = with("dbi:x").try_start().err().expect("it dies").text();
    assert!(
        log.contains("DATABASE_URL is not set") && log.contains(hint),
        "{log}"
    );
    let log = builder().try_start().err().expect("it dies").text();
    assert!(
        log.contains("DATABASE_URL is not set") && !log.contains(hint),
        "{log}"
    );
    let server = with("dbi:x").args(&["--pass-env", "DATABASE_URL"]).start();
    assert_eq!(server.get("/").expect(200), "dbi:x");
}

fn version(number: u32) -> String {
    format!("sub {{ [200, ['Content-Type' => 'text/plain'], ['{number}']] }}\n")
}

#[test]
fn changed_application_is_used_from_the_next_generation_on() {
    let app = Server::builder()
        .file("app.psgi", &version(1))
        .dir("app.psgi");
    let server = app.start();
    assert_eq!(server.get("/").expect(200), "1");
    for text in ["sub { [200, ['Content-Ty", ""] {
        server.site.replace("app.psgi", text);
        assert_eq!(server.get("/").expect(200), "1", "{text:?} was taken");
        assert!(!server.control(&["reload"]).status.success(), "{text:?}");
        assert_eq!(server.get("/").expect(200), "1", "{text:?} was taken");
    }
    server.site.replace("app.psgi", &version(2));
    assert_eq!(server.get("/").expect(200), "1");
    assert!(server.control(&["reload"]).status.success());
    assert_eq!(server.get("/").expect(200), "2");
}

#[test]
fn watched_application_that_is_half_copied_is_not_used() {
    let server = Server::builder()
        .file("app.psgi", &version(1))
        .dir("app.psgi")
        .args(&["--watch"])
        .start();
    assert_eq!(server.get("/").expect(200), "1");
    server.site.replace("app.psgi", "sub { [200, ['Content-Ty");
    server.log.expect("app.psgi line 1");
    assert_eq!(server.get("/").expect(200), "1");
    server.site.replace("app.psgi", &version(2));
    let live = eventually(PATIENCE, || server.get("/").expect(200) == "2");
    assert!(live, "the mended application is not live");
}
