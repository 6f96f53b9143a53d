//! `mehari trace --calls`: the system calls of one request are those that its program makes, and
//! the server goes on as before.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Builder, Rung, Server};
use serde_json::Value;

/// Makes five stats of a missing file, three opens and reads of a file, and one write.
const CALLS: &str = "my $root = $ENV{DOCUMENT_ROOT};
for (1 .. 5) { die if -e \"$root/no-such-file\" }
for (1 .. 3) {
    open my $in, '<', \"$root/some-file\" or die $!;
    sysread $in, my $text, 100;
    close $in;
}
open my $out, '>', \"$root/new-file\" or die $!;
syswrite $out, 'four';
close $out;
print 'done';";

fn site() -> Builder {
    Server::builder()
        .ladder()
        .conf(&workers(2))
        .file("scripts/calls.pl", &plain(CALLS))
        .file("htdocs/some-file", "some text")
        .file("htdocs/page.txt", "a page")
}

fn traced(server: &Server, target: &str) -> Value {
    let url = format!("http://127.0.0.1:{}{target}", server.port());
    let output = server.control(&["trace", "--calls", &url, "--json"]);
    assert!(output.status.success(), "{target}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The calls of these names about a file whose path ends so.
fn about<'a>(traced: &'a Value, end: &str, names: &[&str]) -> Vec<&'a Value> {
    let files = traced["calls"]["files"].as_array().expect("a list");
    let is_it = |call: &&Value| {
        let name = call["name"].as_str().expect("a name");
        call["path"]
            .as_str()
            .is_some_and(|path| path.ends_with(end))
            && names.contains(&name)
    };
    files.iter().filter(is_it).collect()
}

const STATS: &[&str] = &["stat", "lstat", "newfstatat", "statx"];
const OPENS: &[&str] = &["open", "openat", "openat2"];

#[test]
fn calls_of_a_script_are_counted_with_their_files() {
    for rung in Rung::ALL {
        let server = site().start();
        let url = rung.url("calls.pl");
        server.get(&url).expect(200);
        let traced = traced(&server, &url);
        assert_eq!(traced["status"], 200, "{traced}");
        let stats = about(&traced, "/no-such-file", STATS);
        assert_eq!(stats.len(), 5, "{rung:?}: {traced}");
        for call in stats {
            assert_eq!(call["result"], "No such file or directory", "{call}");
            assert_eq!(call["failed"], true);
        }
        assert_eq!(
            about(&traced, "/some-file", OPENS).len(),
            3,
            "{rung:?}: {traced}"
        );
        let reads = about(&traced, "/some-file", &["read"]);
        let results: Vec<&Value> = reads.iter().map(|call| &call["result"]).collect();
        assert_eq!(results, ["9", "9", "9"], "{rung:?}");
        assert_eq!(about(&traced, "/new-file", OPENS).len(), 1, "{rung:?}");
        let writes = about(&traced, "/new-file", &["write"]);
        assert_eq!(writes.len(), 1, "{rung:?}");
        assert_eq!(writes[0]["result"], "4");
        assert_sums(&traced);
        // The server is as before.
        server.get(&url).expect(200);
    }
}

/// Checks that the sums by name contain each call about a file, and that the front took part.
fn assert_sums(traced: &Value) {
    let processes = traced["calls"]["processes"].as_array().expect("a list");
    assert!(
        processes.iter().any(|it| it["role"] == "server"),
        "{traced}"
    );
    for process in processes {
        for sum in process["calls"].as_array().expect("a list") {
            let files = traced["calls"]["files"].as_array().expect("a list");
            let same = files.iter().filter(|call| {
                call["process"] == process["process"] && call["name"] == sum["name"]
            });
            let counted = sum["count"].as_u64().expect("a number");
            assert!(same.count() as u64 <= counted, "{sum}");
            assert!(
                counted > 0 && sum["us"].as_f64().is_some_and(|us| us > 0.0),
                "{sum}"
            );
        }
    }
}

#[test]
fn server_answers_others_while_calls_are_watched_and_after() {
    let server = site().start();
    let url = format!("http://127.0.0.1:{}/registry/calls.pl", server.port());
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let words = ["trace", "--calls", &url, "--count", "5"];
            server.control(&words)
        });
        while !watching.is_finished() {
            assert_eq!(server.get("/page.txt").expect(200), "a page");
            server.get("/registry/calls.pl").expect(200);
        }
        let output = watching.join().expect("no panic");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            text.matches("while its calls were watched").count(),
            5,
            "{text}"
        );
        assert!(
            text.contains("\nserver ") && text.contains("\nworker "),
            "{text}"
        );
        assert!(
            text.contains("/no-such-file = No such file or directory"),
            "{text}"
        );
        assert!(text.contains("The quickest call took "), "{text}");
    });
    server.get("/registry/calls.pl").expect(200);
}

#[test]
fn file_without_perl_has_the_calls_of_the_server() {
    let server = site().start();
    let traced = traced(&server, "/page.txt");
    assert_eq!(traced["status"], 200);
    assert!(!about(&traced, "/page.txt", OPENS).is_empty(), "{traced}");
    assert_sums(&traced);
}

#[test]
fn command_that_is_killed_leaves_the_server_free() {
    let server = site()
        .file(
            "scripts/wait.pl",
            &plain(mehari_harness::scripts::UNTIL_LET_GO),
        )
        .start();
    let url = format!("http://127.0.0.1:{}/registry/wait.pl", server.port());
    let mut command = std::process::Command::new(mehari_harness::binary::mehari())
        .args(["trace", "--calls", &url, "--control"])
        .arg(server.site.path("control"))
        .spawn()
        .expect("mehari can be run");
    let is_traced = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
        status.is_ok_and(|text| !text.contains("TracerPid:\t0"))
    };
    assert!(mehari_harness::eventually(
        mehari_harness::PATIENCE,
        is_traced
    ));
    server.get("/page.txt").expect(200);
    command.kill().expect("it runs");
    command.wait().expect("its end");
    assert!(mehari_harness::eventually(mehari_harness::PATIENCE, || {
        !is_traced()
    }));
    mehari_harness::scripts::let_go(&server);
    server.get("/page.txt").expect(200);
    server.get("/registry/calls.pl").expect(200);
}

#[test]
fn watched_server_is_refused_in_one_line() {
    let server = site()
        .file(
            "scripts/wait.pl",
            &plain(mehari_harness::scripts::UNTIL_LET_GO),
        )
        .start();
    let url = format!("http://127.0.0.1:{}/registry/wait.pl", server.port());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.control(&["trace", "--calls", &url]));
        let is_traced = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
            status.is_ok_and(|text| !text.contains("TracerPid:\t0"))
        };
        assert!(mehari_harness::eventually(
            mehari_harness::PATIENCE,
            is_traced
        ));
        let second = server.control(&["trace", "--calls", &url]);
        mehari_harness::scripts::let_go(&server);
        let first = first.join().expect("no panic");
        assert!(first.status.success(), "{first:?}");
        let errors = String::from_utf8_lossy(&second.stderr);
        assert!(!second.status.success(), "{second:?}");
        assert!(
            errors.contains("the kernel forbids to watch process"),
            "{errors}"
        );
        assert_eq!(errors.trim_end().lines().count(), 1, "{errors}");
    });
}
