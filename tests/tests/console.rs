//! Tests the console: who may read it, what its answers allow a browser to do, and its figures.

use mehari_harness::scripts::{nap, plain, simple};
use mehari_harness::{binary, Answer, Connection, Request, Rung, Server};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// The command `mehari console` beside a server.
struct RunningConsole {
    child: Child,
    address: SocketAddr,
    /// The path with the token, with a slash at both ends.
    path: String,
}

impl RunningConsole {
    fn start(server: &Server) -> RunningConsole {
        let mut child = command(&["--no-browser"])
            .arg("--control")
            .arg(server.site.path("control"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("mehari can be run");
        let mut line = String::new();
        let out = child.stdout.take().expect("it was piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("mehari console: http://");
        let url = url.unwrap_or_else(|| panic!("no address: {line}"));
        let (address, path) = url.split_once('/').expect("a path");
        RunningConsole {
            child,
            address: address.parse().expect("an address"),
            path: format!("/{path}"),
        }
    }

    fn send(&self, request: Request) -> Answer {
        let request = request.host(&self.address.to_string()).closing();
        let answer = Connection::open(self.address).send(&request);
        answer.expect("an answer")
    }

    fn get(&self, below: &str) -> Answer {
        self.send(Request::get(&format!("{}{below}", self.path)))
    }

    /// Looks until the figures are as wanted. The console keeps a look for a moment.
    fn look(&self, below: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let mut told = Value::Null;
        let has_come = mehari_harness::eventually(mehari_harness::PATIENCE, || {
            told = self.figures(below);
            is_wanted(&told)
        });
        assert!(has_come, "{told}");
        told
    }

    fn figures(&self, below: &str) -> Value {
        let answer = self.get(below);
        let media_type = answer.field("content-type");
        assert_eq!(media_type.as_deref(), Some("application/json"), "{below}");
        serde_json::from_str(&answer.expect(200)).expect("JSON")
    }
}

impl Drop for RunningConsole {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(binary::mehari());
    command.arg("console").args(words);
    command
}

#[test]
fn without_the_token_or_with_another_host_nothing_is_shown() {
    let server = simple(2).start();
    let console = RunningConsole::start(&server);
    console.get("").expect(200);
    let wrong = console.path.replace(|c: char| c.is_ascii_digit(), "x");
    let half = &console.path[..console.path.len() / 2];
    for path in ["/", "/api/now", "/main.js", "/console.css", &wrong, half] {
        let answer = console.send(Request::get(path));
        let text = answer.expect(403);
        assert!(text.starts_with("Expected the address"), "{path}: {text}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example"] {
        let request = Request::get(&console.path).host(host).closing();
        let answer = Connection::open(console.address).send(&request);
        answer.expect("an answer").expect(403);
    }
    for method in ["POST", "PUT", "DELETE"] {
        let request = Request::new(method, &format!("{}api/now", console.path));
        console.send(request).expect(405);
    }
    console.get("api/secrets").expect(404);
    console.get("../../etc/passwd").expect(404);
}

#[test]
fn every_answer_forbids_foreign_and_inline_scripts() {
    let server = simple(2).start();
    let console = RunningConsole::start(&server);
    let pages = ["", "main.js", "console.css", "mark.svg", "api/now", "api/x"];
    let mut answers: Vec<Answer> = pages.iter().map(|below| console.get(below)).collect();
    answers.push(console.send(Request::get("/")));
    for answer in answers {
        let policy = answer.field("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.field(name).as_deref(), Some(value), "{name}");
        }
    }
    let page = console.get("").expect(200);
    assert!(
        !page.contains("<script>") && !page.contains("<style"),
        "{page}"
    );
}

#[test]
fn an_inspection_by_the_console_is_data_and_its_refusals_are_words() {
    let code = "package A; { no strict 'refs'; *{'A::<img src=x>'} = sub { 1 } } sub b { 5 }\n1;\n";
    let server = simple(1)
        .file("startup.pl", code)
        .conf("PerlRequire @ROOT@/startup.pl\n")
        .start();
    let console = RunningConsole::start(&server);
    let symbols = console.figures("api/inspect/any/symbols/A");
    assert!(symbols["rows"].to_string().contains("A::<img src=x>"));
    let source = console.figures("api/inspect/zygote/source/A%3A%3Ab");
    assert!(source["text"].as_str().is_some_and(|it| it.contains('5')));
    for (path, expected) in [
        ("any/stop", "expected one of modules"),
        ("any/symbols/A%0Astop", "printable characters"),
        ("any%20x/modules", "expected any, zygote"),
        ("1/modules", "not 1"),
        ("any/symbols/%ff", "UTF-8"),
        ("", "expected one of modules"),
    ] {
        let text = console.get(&format!("api/inspect/{path}")).expect(503);
        assert!(text.contains(expected), "{path}: {text}");
    }
    assert_eq!(console.figures("api/views")["views"][0]["word"], "modules");
}

#[test]
fn markup_of_a_running_request_arrives_as_data() {
    let server = simple(2).start();
    let console = RunningConsole::start(&server);
    let (_running, _) = nap(&server, Rung::Registry, "<img%20src=x>\"'&");
    let now = console.figures("api/now");
    let workers = now["pool"]["workers"].as_array().expect("workers");
    let busy = workers.iter().find(|it| it["state"] == "busy");
    let busy = busy.unwrap_or_else(|| panic!("no busy worker: {now}"));
    assert_eq!(busy["request"]["method"], "GET");
    let target = busy["request"]["target"].as_str().expect("a target");
    assert!(target.ends_with("?<img%20src=x>\"'&"), "{target}");
    assert_eq!(busy["request"]["client"], "127.0.0.1");
    let process = &now["processes"][busy["pid"].to_string()];
    assert!(process["resident"].as_u64() > Some(0), "{process}");
    assert!(now["machine"]["cores"].as_u64() > Some(0), "{now}");

    let told = console.figures(&format!("api/worker/{}", busy["pid"]));
    assert_eq!(told["worker"]["pid"], busy["pid"]);
    assert!(told["memory"]["pss"].as_u64() > Some(0), "{told}");
    let frames = told["stack"]["frames"].to_string();
    assert!(
        frames.contains("nap.pl") || frames.contains("sleep"),
        "{told}"
    );
    // A process that is no worker of this server is not shown.
    for other in [1, std::process::id()] {
        console.get(&format!("api/worker/{other}")).expect(503);
    }
}

#[test]
fn requests_count_while_the_console_looks() {
    let server = simple(2)
        .file("scripts/fails.pl", &plain("print 'x'; die 'planned';"))
        .start();
    let console = RunningConsole::start(&server);
    let before = console.figures("api/now");
    for _ in 0..5 {
        server.get("/registry/hello.pl").expect(200);
    }
    server.get("/missing").expect(404);
    let count = |now: &Value| now["watched"]["requests"].as_u64().expect("a count");
    let after = console.look("api/now", |now| count(now) - count(&before) == 6);
    let bytes = |now: &Value| now["watched"]["bytes"].as_u64().expect("a count");
    assert!(bytes(&after) - bytes(&before) >= 25, "{after}");
    assert_eq!(after["watched"]["classes"][1], 5, "{after}");
    assert_eq!(after["watched"]["classes"][3], 1, "{after}");
    for histogram in ["latency_us", "queue_wait_us"] {
        let buckets = after["watched"][histogram].as_array().expect("buckets");
        let sum: u64 = buckets.iter().filter_map(|it| it[1].as_u64()).sum();
        assert_eq!(sum, 6, "{histogram}");
    }
}

#[test]
fn memory_and_machine_name_the_servers_processes() {
    let server = simple(2).start();
    let console = RunningConsole::start(&server);
    let memory = console.figures("api/memory");
    let processes = memory["processes_of_server"].as_array().expect("a list");
    let pids: Vec<i64> = processes
        .iter()
        .filter_map(|it| it["pid"].as_i64())
        .collect();
    for worker in server.workers() {
        let pid = i64::from(worker);
        assert!(pids.contains(&pid), "{pid}: {memory}");
    }
    let machine = console.figures("api/machine");
    let all = machine["processes"].as_array().expect("a list");
    assert!(all.iter().any(|it| it["pid"] == server.pid()), "{machine}");
    assert!(machine["file_systems"].is_array(), "{machine}");
}

#[test]
fn compressed_pages_are_small_and_a_stopped_server_is_reported() {
    let mut server = simple(2).start();
    let console = RunningConsole::start(&server);
    let plain = console.get("main.js");
    let request =
        Request::get(&format!("{}main.js", console.path)).field("Accept-Encoding", "gzip");
    let packed = console.send(request);
    assert_eq!(packed.field("content-encoding").as_deref(), Some("gzip"));
    assert!(packed.body.len() < plain.body.len() && plain.field("content-encoding").is_none());
    server.signal(rustix::process::Signal::Int);
    let _ = server.wait();
    let answer = console.get("api/now");
    let told: Value = serde_json::from_str(&answer.expect(503)).expect("JSON");
    assert!(
        told["error"]
            .as_str()
            .is_some_and(|it| it.contains("no server")),
        "{told}"
    );
}

#[test]
fn console_without_a_server_or_with_a_wrong_port_says_so_in_one_line() {
    let server = simple(2).start();
    let control = server.site.path("control").display().to_string();
    let taken = server.address.port().to_string();
    let cases: [(&[&str], &str); 3] = [
        (&["--control", "/nowhere"], "no server answers at /nowhere"),
        (&["--control", &control, "--port", &taken], "port "),
        (&["--port", "70000"], "70000"),
    ];
    for (words, expected) in cases {
        let output = command(words).output().expect("mehari can be run");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(
            told.contains(expected) && told.lines().count() == 1,
            "{told}"
        );
    }
}

/// Runs `mehari top --once` and returns its output.
fn top(server: &Server, more: &[&str]) -> String {
    let words: Vec<&str> = ["top", "--once"].iter().chain(more).copied().collect();
    let output = server.control(&words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns a column of the table of workers. The table follows the only empty line.
fn column(text: &str, name: &str) -> Vec<String> {
    let (_, table) = text.split_once("\n\n").expect("a table");
    let mut lines = table.lines().map(|line| line.split_whitespace());
    let at = lines
        .next()
        .and_then(|mut head| head.position(|it| it == name));
    let at = at.unwrap_or_else(|| panic!("no column {name}: {text}"));
    lines
        .map(|mut words| words.nth(at).unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn top_prints_one_frame_sorted_by_any_column() {
    let server = simple(3).start();
    let (_running, _) = nap(&server, Rung::Registry, "top");
    let text = top(&server, &[]);
    assert!(
        text.starts_with(&format!("mehari {}, generation 1: ", server.pid())),
        "{text}"
    );
    assert!(text.contains("1 workers busy, 2 idle"), "{text}");
    assert!(text.contains("GET /registry/nap.pl?top"), "{text}");
    let states = column(&text, "state");
    assert_eq!(states, ["busy", "idle", "idle"], "{text}");
    let down = column(&top(&server, &["--sort", "pid"]), "pid");
    let mut up = column(&top(&server, &["--sort", "-pid"]), "pid");
    up.reverse();
    assert_eq!(down, up);
    let mut pids: Vec<u32> = down.iter().map(|it| it.parse().expect("a pid")).collect();
    assert!(pids.is_sorted_by(|one, next| one > next), "{pids:?}");
    pids.dedup();
    assert_eq!(pids.len(), 3);
}

#[test]
fn top_refuses_an_unknown_column_and_a_pipe_without_once() {
    let server = simple(2).start();
    for (words, expected) in [
        (
            &["top", "--once", "--sort", "memory"][..],
            "expected a column: pid, state",
        ),
        (&["top"][..], "expected a terminal; --once"),
    ] {
        let output = server.control(words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{told}"
        );
        assert!(
            told.contains(expected) && told.lines().count() == 1,
            "{told}"
        );
    }
}

#[test]
fn places_have_their_own_counts() {
    let server = simple(2).file("htdocs/page.txt", "0123456789").start();
    let console = RunningConsole::start(&server);
    console.figures("api/now");
    for query in ["a", "b", "c"] {
        server.get(&format!("/registry/hello.pl/<path>?{query}"));
    }
    server.get("/page.txt").expect(200);
    server.get("/<img%20src=x>").expect(404);
    let has = |told: &Value, path: &str| {
        let mut places = told["places"].as_array().expect("a list").iter();
        places.any(|it| it["path"] == path)
    };
    let told = console.look("api/places", |told| has(told, "/page.txt"));
    let places = told["places"].as_array().expect("a list");
    let place = |path: &str| {
        let found = places.iter().find(|it| it["path"] == path);
        found.unwrap_or_else(|| panic!("no {path}: {told}"))
    };
    assert_eq!(place("/registry/hello.pl/<path>")["requests"], 3);
    assert_eq!(place("/page.txt")["bytes"], 10);
    assert!(place("/page.txt")["p99_us"].as_u64() > Some(0));
    let missing = places.iter().find(|it| it["client_errors"] == 1);
    let missing = missing.and_then(|it| it["path"].as_str());
    assert!(missing.is_some_and(|it| it.contains("img")), "{told}");
}

#[test]
fn errors_are_grouped_by_line_with_their_last_request() {
    let script =
        plain("warn qq{row $ENV{QUERY_STRING} <b>\\e[31m} if $ENV{QUERY_STRING}; print 'ok';");
    let server = simple(2).file("scripts/warns.pl", &script).start();
    let console = RunningConsole::start(&server);
    for number in [1, 22, 333] {
        server
            .get(&format!("/registry/warns.pl?{number}"))
            .expect(200);
    }
    let mut group = Value::Null;
    let has_come = mehari_harness::eventually(mehari_harness::PATIENCE, || {
        let told = console.figures("api/errors");
        let all = told["errors"].as_array().expect("a list").clone();
        let is_ours = |it: &Value| {
            it["place"]
                .as_str()
                .is_some_and(|it| it.contains("warns.pl:"))
        };
        let mut ours = all.into_iter().filter(is_ours);
        group = ours.next().unwrap_or_default();
        assert_eq!(ours.count(), 0, "{told}");
        group["count"] == 3
    });
    assert!(has_come, "{group}");
    assert_eq!(group["request"], "GET /registry/warns.pl?333");
    let message = group["message"].as_str().expect("a message");
    assert!(message.starts_with("row 333 <b>\u{1b}[31m"), "{group}");
}

#[test]
fn history_survives_a_reload() {
    let server = simple(2).start();
    let console = RunningConsole::start(&server);
    let before = console.figures("api/history");
    let points = before["history"].as_array().expect("points").len();
    assert!(points >= 2, "{before}");
    server.get("/registry/hello.pl").expect(200);
    assert!(server.control(&["reload"]).status.success());
    let requests = |told: &Value| {
        let last = told["history"].as_array().and_then(|all| all.last());
        last.map(|it| it["requests"].clone())
    };
    let after = console.look("api/history", |told| requests(told) == Some(1.into()));
    assert_eq!(after["history"][0], before["history"][0]);
}
