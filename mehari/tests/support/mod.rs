//! Runs a small site on loopback, and runs the program `mehari` against it.

// Each test program uses only a part of this module.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::time::Duration;

/// Starts a site that answers every path with the path itself. A path with `slow` is answered after
/// 5 ms, a path with `missing` with 404, and a path with `count` differently each time.
pub fn site() -> SocketAddr {
    site_that(usual)
}

/// Starts a site that answers every request with the result of `answer`. Each connection has a
/// thread.
pub fn site_that(answer: fn(&ReceivedRequest) -> Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || converse(stream, answer));
        }
    });
    address
}

pub struct ReceivedRequest {
    pub path: String,
    pub cookies: String,
    pub number: usize,
    pub body: String,
    /// The port of the site.
    pub port: u16,
}

pub struct Answer {
    pub status: &'static str,
    /// The header lines, each with its line end.
    pub headers: String,
    pub body: String,
}

fn usual(asked: &ReceivedRequest) -> Answer {
    let (path, number) = (&asked.path, asked.number);
    if path.contains("slow") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = if path.contains("missing") {
        "404 Not Found"
    } else {
        "200 OK"
    };
    let body = if path.contains("count") {
        format!("{path} {number} {:?}", std::time::SystemTime::now())
    } else {
        path.to_owned()
    };
    Answer {
        status,
        headers: String::new(),
        body,
    }
}

fn converse(stream: TcpStream, answer: fn(&ReceivedRequest) -> Answer) -> Option<()> {
    let port = stream.local_addr().ok()?.port();
    stream.set_nodelay(true).ok()?;
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    for number in 0.. {
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let (mut line, mut length, mut cookies) = (String::new(), 0, String::new());
        while reader.read_line(&mut line).ok()? > 2 {
            let (name, value) = line.split_once(':')?;
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
            if name.eq_ignore_ascii_case("cookie") {
                cookies = value.trim().to_owned();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let Answer {
            status,
            headers,
            body,
        } = answer(&ReceivedRequest {
            path: first.split(' ').nth(1)?.to_owned(),
            cookies,
            number,
            body: String::from_utf8(body).ok()?,
            port,
        });
        let length = body.len();
        let body = if first.starts_with("HEAD ") {
            ""
        } else {
            &body
        };
        writer
            .write_all(
                format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
                    .as_bytes(),
            )
            .ok()?;
    }
    None
}

pub fn mehari() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mehari"))
}

pub fn run(arguments: &[&str]) -> Output {
    mehari().args(arguments).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Asserts status 2 and one line that contains `why`.
pub fn assert_refused(arguments: &[&str], why: &str) {
    let output = run(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    assert!(said.contains(why), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty());
}
