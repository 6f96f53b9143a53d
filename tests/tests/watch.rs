//! Tests a developer's `mehari serve --watch`: a first load that fails, changed templates and new
//! modules, and the lines of both logs on a terminal.

use mehari_harness::log::Log;
use mehari_harness::site::Site;
use mehari_harness::{binary, eventually, Request, Server, PATIENCE};
use rustix::process::{kill_process, Pid, Signal};
use std::process::{Child, Command, Stdio};

/// An application that uses a module and keeps a template in memory, as template engines do.
const APP: &str = "use lib 'lib';\nuse Greeting;\nopen my $in, '<', 'views/page.html' or die $!;\n\
                   my $page = do { local $/; <$in> };\n\
                   sub { [200, ['Content-Type' => 'text/plain'], [Greeting::text(), $page]] }\n";

fn greeting(text: &str) -> String {
    format!("package Greeting;\nsub text {{ '{text}' }}\n1;\n")
}

/// A server that has not become ready, with its output.
struct Starting {
    child: Child,
    stdout: Log,
    stderr: Log,
}

impl Starting {
    fn of(site: &Site, words: &[&str]) -> Starting {
        let mut command = Command::new(binary::mehari());
        command.arg("serve").args(words);
        command.args(["--watch", "--listen", "127.0.0.1:0", "--control"]);
        command.arg(site.path("control")).current_dir(site.root());
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        Starting {
            stdout: Log::follow(child.stdout.take().expect("it was piped")),
            stderr: Log::follow(child.stderr.take().expect("it was piped")),
            child,
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it runs");
    }

    #[track_caller]
    fn ends_well(mut self) {
        let mut status = None;
        let ended = eventually(PATIENCE, || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        assert!(ended, "{}", self.stderr.text());
        assert!(status.is_some_and(|status| status.success()), "{status:?}");
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gives the body of `/` of a server that has printed its line of readiness.
fn body(ready: &str) -> String {
    let address = ready
        .rsplit_once("http://")
        .expect("an address")
        .1
        .trim_end_matches('/');
    let address = address.parse().expect("an address");
    let mut connection = mehari_harness::Connection::open(address);
    let request = Request::get("/").closing();
    connection.send(&request).expect("an answer").text()
}

#[test]
fn first_load_that_fails_is_tried_again_after_a_change() {
    let site = Site::new();
    site.write("views/page.html", " page");
    site.write("lib/Greeting.pm", "package Greeting;\nthis is no perl\n");
    site.write("app.psgi", APP);
    let server = Starting::of(&site, &["app.psgi"]);
    server.stderr.expect("lib/Greeting.pm line 2");
    let said = server.stderr.expect("waits for a change");
    let root = site.root().canonicalize().expect("a folder");
    assert!(said.contains(&root.display().to_string()), "{said}");
    assert_eq!(server.stdout.text(), "");
    site.replace("lib/Greeting.pm", &greeting("hello"));
    let ready = server.stdout.expect("serving ");
    assert_eq!(body(&ready), "hello page");
    server.signal(Signal::Term);
    server.ends_well();
}

#[test]
fn configuration_that_fails_first_is_read_again_after_a_change() {
    let site = Site::new();
    site.write("httpd.conf", "KeepAlife On\n");
    let server = Starting::of(&site, &["-f", "httpd.conf"]);
    server.stderr.expect("KeepAlife");
    server.stderr.expect("waits for a change");
    site.replace("httpd.conf", "KeepAlive On\n");
    server.stdout.expect("serving ");
    server.signal(Signal::Term);
    server.ends_well();
}

#[test]
fn signal_ends_a_server_that_waits_for_its_first_load() {
    for signal in [Signal::Int, Signal::Term] {
        let site = Site::new();
        site.write("app.psgi", "no application here(\n");
        let server = Starting::of(&site, &["app.psgi"]);
        server.stderr.expect("waits for a change");
        server.signal(signal);
        server.ends_well();
    }
}

#[test]
fn port_that_is_in_use_ends_a_watched_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let site = Site::new();
    site.write("app.psgi", "sub { [200, [], []] }\n");
    let mut command = Command::new(binary::mehari());
    command.args(["serve", "app.psgi", "--watch", "-p", &port]);
    let output = command.current_dir(site.root()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("another program already listens"), "{said}");
    assert!(!said.contains("waits"), "{said}");
}

#[test]
fn changed_templates_and_modules_that_were_never_loaded_lead_to_a_new_generation() {
    let server = Server::builder()
        .file("views/page.html", " one")
        .file("lib/Greeting.pm", &greeting("hello"))
        .file("app.psgi", APP)
        .dir("app.psgi")
        .args(&["--watch"])
        .start();
    let shows = |text: &str| {
        let is_live = eventually(PATIENCE, || server.get("/").expect(200) == text);
        assert!(is_live, "{text} is not live:\n{}", server.log.text());
    };
    shows("hello one");
    server.site.replace("views/page.html", " two");
    shows("hello two");
    // The new module is broken, so no generation has loaded it when it is mended.
    server
        .site
        .write("lib/Extra.pm", "package Extra;\nthis is no perl\n");
    let app = format!("use lib 'lib';\nuse Extra;\n{APP}");
    server.site.replace("app.psgi", &app);
    server.log.expect("Extra.pm line 2");
    shows("hello two");
    server.site.replace("views/page.html", " three");
    let mended = "package Extra;\n1;\n";
    server.site.replace("lib/Extra.pm", mended);
    shows("hello three");
}

#[test]
fn lines_on_a_terminal_are_short_and_coloured_unless_no_color_is_set() {
    for (no_color, is_coloured) in [("", true), ("1", false)] {
        let site = Site::new();
        let app = "sub { warn qq{a word\\n}; [404, ['Content-Type' => 'text/plain'], ['no']] }\n";
        site.write("app.psgi", app);
        let command = format!(
            "exec {} serve app.psgi --listen 127.0.0.1:0 --control control",
            binary::mehari().display()
        );
        // `script` gives the program a terminal.
        let mut script = Command::new("script");
        script.args(["-qefc", &command, "/dev/null"]);
        script.env("NO_COLOR", no_color).env("TERM", "xterm");
        script.current_dir(site.root()).stdin(Stdio::null());
        script.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn().expect("util-linux is installed");
        let log = Log::follow(child.stdout.take().expect("it was piped"));
        let ready = log.expect("serving ").trim_end().to_owned();
        assert_eq!(body(&ready), "no");
        let warned = log.expect("a word");
        let answered = log.expect("GET /");
        assert_eq!(warned.contains("\x1b["), is_coloured, "{warned:?}");
        assert_eq!(answered.contains("\x1b["), is_coloured, "{answered:?}");
        if !is_coloured {
            let words: Vec<&str> = answered.split_whitespace().collect();
            assert_eq!(words[1..4], ["404", "GET", "/"], "{answered}");
            assert_eq!(words[0].len(), "20:25:01.123".len(), "{answered}");
            let words: Vec<&str> = warned.split_whitespace().collect();
            assert_eq!((words[1], &words[3..]), ("error", &["a", "word"][..]));
            assert_eq!(
                words[2],
                answered.split_whitespace().last().expect("a number")
            );
        }
        let stop = ["stop", "--control", "control"];
        let stopped = Command::new(binary::mehari())
            .args(stop)
            .current_dir(site.root())
            .status();
        assert!(stopped.is_ok_and(|status| status.success()));
        child.wait().expect("a child");
    }
}
