//! Tests that edge scripts can read small bodies, and that programs read the same bodies
//! afterwards.

use super::site;
use mehari_harness::{needs, Request, Server};
use std::io::Write;
use std::process::{Command, Stdio};

/// A Lua script that reports the body in a field. If the body is "edge", the script answers itself.
const BODY: &str = r#"
    local body = lighty.r.req_body
    local text = body.get()
    local seen = "<" .. tostring(text and text:sub(1, 20)) .. "> " .. body.len() .. " " .. tostring(body.collect())
    if text == "edge" then
        lighty.content = { seen }
        return 200
    end
    lighty.header["X-Seen"] = seen
"#;

/// A program that prints the length of the body, and the last bytes of the body.
const PROGRAM: &str = r#"#!/usr/bin/perl
local $/; my $body = <STDIN> // "";
print "Content-type: text/plain\n\n", length $body, " ", substr $body, -3;
"#;

/// The size of the longest body that the front holds in memory.
const SMALL: usize = 64 * 1024;

fn echo() -> Server {
    let conf = "LuaAttractRawURL lua/body.lua\n<Location /after>\nLuaAttractPhysicalPath lua/body.lua\n</Location>\n\
        <Location /tight>\nLimitRequestBody 10\n</Location>\nAlias /tight/ scripts/\nAlias /after/ scripts/\n\
        <Directory scripts>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n</Directory>\n";
    site(conf, &[("body", BODY)])
        .file("scripts/echo.pl", PROGRAM)
        .file("htdocs/page.txt", "page")
        .start()
}

#[test]
fn a_small_body_is_seen_at_the_edge_and_by_the_program() {
    let server = echo();
    let mut connection = server.connect();
    for (body, seen) in [
        ("".to_string(), "<> 0 true".to_string()),
        ("abc".to_string(), "<abc> 3 true".to_string()),
        (
            "x".repeat(SMALL),
            format!("<{}> {SMALL} true", "x".repeat(20)),
        ),
        // A larger body goes to a file, and only to programs.
        ("y".repeat(SMALL + 1), format!("<nil> {} false", SMALL + 1)),
    ] {
        let asked = Request::post("/after/echo.pl", body.as_bytes());
        let answer = connection.send(&asked).expect("an answer");
        let end = &body[body.len().saturating_sub(3)..];
        assert_eq!(answer.expect(200), format!("{} {end}", body.len()));
        assert_eq!(answer.field("x-seen").as_deref(), Some(&seen[..]));
    }
    let asked = Request::post("/after/echo.pl", *b"edge");
    let answer = connection.send(&asked).expect("an answer");
    assert_eq!(answer.expect(200), "<edge> 4 true");
    // A static file ignores the body, and the connection continues after it.
    let answer = connection.send(&Request::post("/tight/echo.pl", *b"longer than ten"));
    assert_eq!(answer.expect("an answer").status, 413);
    let mut connection = server.connect();
    for _ in 0..2 {
        let asked = Request::get("/page.txt");
        assert_eq!(
            connection.send(&asked).expect("an answer").expect(200),
            "page"
        );
    }
}

#[test]
fn small_bodies_are_seen_alike_over_both_protocols_and_framings() {
    needs!("curl");
    let server = echo();
    for (protocol, framing, seen) in [
        ("--http1.1", "", "<abcabc> 6 true"),
        ("--http1.1", "Transfer-Encoding: chunked", "<nil> 0 false"),
        ("--http1.1", "Expect: 100-continue", "<abcabc> 6 true"),
        ("--http2-prior-knowledge", "", "<abcabc> 6 true"),
    ] {
        let mut curl = Command::new("curl")
            .args(["-sS", "-i", protocol, "-H", framing, "--data-binary", "@-"])
            .arg(format!("http://{}/after/echo.pl", server.address))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("curl runs");
        let mut input = curl.stdin.take().expect("a pipe");
        input.write_all(b"abcabc").expect("written");
        drop(input);
        let said = curl.wait_with_output().expect("it ends").stdout;
        let said = String::from_utf8_lossy(&said).to_lowercase();
        assert!(
            said.contains(&format!("x-seen: {seen}\r\n")),
            "{protocol} {framing}: {said}"
        );
        assert!(said.ends_with("6 abc"), "{protocol} {framing}: {said}");
    }
}
