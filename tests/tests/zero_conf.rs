//! Tests `mehari serve PATH` without a configuration: scripts, files and missing paths.

use mehari_harness::scripts::plain;
use mehari_harness::{Request, Server};
use std::os::unix::fs::PermissionsExt;

const SAYS_PID: &str = "print \"$$\";";

fn tree() -> mehari_harness::Builder {
    Server::builder()
        .file("tree/index.html", "<p>home</p>\n")
        .file("tree/notes.txt", "0123456789\n")
        .file(
            "tree/page.pl",
            &plain("print 'page ', $ENV{PATH_INFO} // '-';"),
        )
        .file("tree/old.cgi", &plain("print 'old';"))
        .file("tree/tool", &plain("print 'tool';"))
        .file(
            "tree/shell.cgi",
            "#!/bin/sh\nprintf 'Content-type: text/plain\\n\\nshell %s' \"$QUERY_STRING\"\n",
        )
        .file("tree/sub/index.pl", &plain("print 'sub home';"))
        .file("tree/empty/notes.txt", "x")
        .file("tree/lib.pm", "package lib;\n1;\n")
        .dir("tree")
}

#[test]
fn scripts_run_and_other_files_are_sent() {
    let server = tree().start();
    for (target, content_type, body) in [
        ("/", "text/html", "<p>home</p>\n"),
        ("/index.html", "text/html", "<p>home</p>\n"),
        ("/notes.txt", "text/plain", "0123456789\n"),
        ("/page.pl", "text/plain", "page -"),
        ("/page.pl/more/path", "text/plain", "page /more/path"),
        ("/old.cgi", "text/plain", "old"),
        ("/tool", "text/plain", "tool"),
        ("/shell.cgi?words", "text/plain", "shell words"),
        ("/sub/", "text/plain", "sub home"),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.expect(200), body, "{target}");
        let kind = answer.field("content-type").unwrap_or_default();
        assert!(kind.starts_with(content_type), "{target}: {kind}");
    }
    for target in ["/missing", "/missing.pl", "/notes.txt/more", "/empty/"] {
        let status = server.get(target).status;
        assert!([403, 404].contains(&status), "{target}: {status}");
    }
    let slash = server.get("/sub");
    assert_eq!(slash.status, 301);
    assert!(slash
        .field("location")
        .is_some_and(|place| place.ends_with("/sub/")));
}

#[test]
fn source_of_a_script_is_never_sent() {
    let server = tree().start();
    let path = server.site.path("tree/page.pl");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("own file");
    for target in [
        "/page.pl",
        "/page.pl/",
        "/page%2epl",
        "/./page.pl",
        "//page.pl",
        "/page.pl%00",
        "/PAGE.PL",
    ] {
        let text = server.get(target).text();
        assert!(!text.contains("PATH_INFO"), "{target}: {text}");
    }
}

#[test]
fn files_have_ranges_conditions_and_heads() {
    let server = tree().start();
    let whole = server.get("/notes.txt");
    let tag = whole.field("etag").expect("a file has a tag");
    let changed = whole.field("last-modified").expect("a file has a time");
    for (name, value, status, body) in [
        ("Range", "bytes=2-4", 206, "234"),
        ("Range", "bytes=-3", 206, "89\n"),
        ("Range", "bytes=100-", 416, ""),
        ("If-None-Match", tag.as_str(), 304, ""),
        ("If-Modified-Since", changed.as_str(), 304, ""),
        ("If-None-Match", "\"another\"", 200, "0123456789\n"),
        ("If-Match", "\"another\"", 412, ""),
    ] {
        let answer = server.send(&Request::get("/notes.txt").field(name, value));
        assert_eq!(answer.status, status, "{name}: {value}");
        if status < 400 {
            assert_eq!(answer.text(), body, "{name}: {value}");
        }
    }
    let head = server.send(&Request::new("HEAD", "/notes.txt"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.field("content-length").as_deref(), Some("11"));
    let allowed = server.send(&Request::new("DELETE", "/notes.txt"));
    assert_eq!(allowed.status, 405);
}

#[test]
fn one_script_is_the_whole_site() {
    let server = Server::builder()
        .file(
            "tree/only.pl",
            &plain("print 'only ', $ENV{PATH_INFO} // '-';"),
        )
        .dir("tree/only.pl")
        .start();
    assert_eq!(server.get("/").expect(200), "only /");
    assert_eq!(server.get("/any/path").expect(200), "only /any/path");
}

#[test]
fn rung_of_the_command_line_is_the_one_used() {
    for (rung, persistent) in [
        ("registry", true),
        ("perlrun", true),
        ("fork", false),
        ("cgi", false),
    ] {
        let server = Server::builder()
            .file("tree/pid.pl", &plain(SAYS_PID))
            .dir("tree")
            .args(&["--rung", rung, "--workers", "1"])
            .start();
        let first = server.get("/pid.pl").expect(200);
        let second = server.get("/pid.pl").expect(200);
        assert_eq!(first == second, persistent, "{rung}: {first} and {second}");
    }
}

#[test]
fn lexical_of_a_file_is_fresh_under_zero_configuration() {
    let server = Server::builder()
        .file(
            "tree/count.pl",
            &plain("my $n = 0; sub up { print ++$n } up();"),
        )
        .dir("tree")
        .args(&["--workers", "1"])
        .start();
    for _ in 0..3 {
        assert_eq!(server.get("/count.pl").expect(200), "1");
    }
}

#[test]
fn application_of_the_current_folder_is_served_when_no_path_is_given() {
    let app = "sub { [200, ['Content-Type' => 'text/plain'], ['the application']] };\n";
    let folder = || {
        Server::builder()
            .file("app.psgi", app)
            .file("notes.txt", "notes")
    };
    let server = folder().start();
    assert_eq!(server.get("/notes.txt").expect(200), "the application");
    // The folder itself, when it is named, does not show the application's text.
    let server = folder().dir(".").start();
    assert_eq!(server.get("/notes.txt").expect(200), "notes");
    assert_eq!(server.get("/app.psgi").status, 404);
}

#[test]
fn address_of_plackup_that_begins_with_a_slash_is_a_socket_in_the_file_system() {
    let socket = tempfile::tempdir().expect("a folder");
    let path = socket.path().join("web").display().to_string();
    let server = tree().args(&["-l", &path]).start();
    assert!(
        server.ready_line().contains(&path),
        "{}",
        server.ready_line()
    );
}

#[test]
fn missing_path_is_named_with_the_neighbour_of_a_similar_name() {
    let log = Server::builder()
        .file("tree/app.psgi", "sub {}")
        .dir("tree/app.pgsi")
        .try_start()
        .err()
        .expect("there is nothing to serve");
    log.expect("No such file or directory");
    log.expect("tree/app.psgi`?");
}

#[test]
fn path_that_cannot_be_served_is_reported_in_one_line() {
    for (path, words) in [("tree/missing", "missing"), ("tree/notes.txt", "notes.txt")] {
        let log = Server::builder()
            .file("tree/notes.txt", "x")
            .dir(path)
            .try_start()
            .err()
            .expect("there is nothing to serve");
        let lines = log.lines();
        assert!(lines.iter().any(|line| line.contains(words)), "{lines:?}");
        assert!(lines.len() <= 3, "{lines:?}");
    }
}

#[test]
fn problems_of_a_configuration_are_reported_together() {
    let log = Server::builder()
        .conf("MaxRequestWorkerz 3\n<Location /x>\n    SetHandlr modperl\n</Location>\nKeepAlive Perhaps\n")
        .try_start()
        .err()
        .expect("it has three errors");
    let text = log.text();
    for words in [
        "MaxRequestWorkers",
        "SetHandler",
        "On or Off",
        "httpd.conf:3:",
        "httpd.conf:5:",
        "httpd.conf:7:",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}
