//! Tests real programs, run as the front runs them.

use super::*;
use mehari_observe::{LogLevel, LogTarget};
use mehari_pool::{
    AccessResult, ConnectionFacts, Fault, Head, Login, MappedPath, PerlSettings, RequestLine,
    ScriptEnvironment, Task, TimeLimits,
};
use std::future::poll_fn;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Instant;

mod environment;
mod faults;
mod responses;

/// How long a test waits before it fails. A passing test never waits so long, even on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(30);

struct Rig {
    folder: tempfile::TempDir,
    log: ErrorLog,
    cgi: Cgi,
}

/// A test's request: a plain GET with changes.
struct Request<'a> {
    method: &'a str,
    query: &'a str,
    fields: &'a [(&'a [u8], &'a [u8])],
    body: Body<'a>,
    timeout: Duration,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Request {
            method: "GET",
            query: "",
            fields: &[],
            body: Body::Empty,
            timeout: PATIENCE,
        }
    }
}

#[derive(Debug)]
struct Response {
    head: Head,
    body: Vec<u8>,
    /// How the body ended.
    end: Result<(), Fault>,
}

impl Response {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Rig {
    fn new() -> Rig {
        Rig::with(Limits {
            processes: 8,
            queue: 8,
            queue_timeout: PATIENCE,
        })
    }

    fn with(limits: Limits) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let target = LogTarget::File(folder.path().join("error.log"));
        let log = ErrorLog::open(&target, LogLevel::Debug).expect("a log");
        let cgi = Cgi::new(limits, "Mehari/test", log.clone());
        Rig { folder, log, cgi }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes an executable file.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        self.file(name, text, 0o755)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        path
    }

    fn perl(&self, name: &str, text: &str) -> PathBuf {
        self.script(name, &format!("#!/usr/bin/perl\n$| = 1;\n{text}"))
    }

    fn shell(&self, name: &str, text: &str) -> PathBuf {
        self.script(name, &format!("#!/bin/sh\n{text}"))
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        path
    }

    fn start(&self, file: &Path, request: Request<'_>) -> Result<CgiExchange, StartError> {
        let target = format!("/cgi-bin/a/x%20y?{}", request.query);
        let call = Call {
            task: Task::Script {
                rung: mehari_config::Rung::Cgi,
                file: file.as_os_str().as_bytes(),
            },
            line: RequestLine {
                method: request.method.as_bytes(),
                target: target.as_bytes(),
                query: request.query.as_bytes(),
                protocol: b"HTTP/1.1",
            },
            path: MappedPath {
                script_name: b"/cgi-bin/a",
                path_info: b"/x y",
                path_translated: b"/srv/www/x y",
                document_root: b"/srv/www",
                media_type: b"",
                coding: b"",
                languages: b"",
                folder: b"",
                folder_file: b"",
                folder_settings: b"",
                file_mark: 0,
                has_includes: false,
            },
            connection: ConnectionFacts {
                scheme: b"http",
                server_name: b"example.test",
                server_port: 8080,
                server_addr: b"127.0.0.1",
                remote_addr: b"127.0.0.2",
                remote_port: 40_000,
                number: 1,
                kept: 0,
            },
            fields: request.fields,
            environment: ScriptEnvironment {
                variables: &[(b"COLOUR", b"red")],
                set_env_count: 0,
                perl_set_env_count: 0,
                parse_headers: true,
                cgi_world: true,
            },
            settings: PerlSettings::default(),
            access: AccessResult {
                status: 0,
                known: 0,
                login: &Login::Unasked,
                challenge: b"",
            },
            led: Default::default(),
            server: 0,
            team: Default::default(),
            timeout: TimeLimits {
                hard: request.timeout,
                soft: None,
            },
            request_id: 4711,
            body: request.body,
            trace: None,
            log_level: None,
        };
        self.cgi.start(Program {
            call,
            file,
            admin: None,
            user: None,
            auth_type: None,
            authorization: false,
            limits: Vec::new(),
        })
    }

    async fn get(&self, file: &Path) -> Result<Response, Fault> {
        self.ask(file, Request::default()).await
    }

    async fn ask(&self, file: &Path, request: Request<'_>) -> Result<Response, Fault> {
        let mut exchange = self.start(file, request).expect("starts");
        match head(&mut exchange).await? {
            ScriptHead::Response(head) => {
                let mut body = Vec::new();
                let end = read(&mut exchange, |part| body.extend_from_slice(part)).await;
                Ok(Response { head, body, end })
            }
            other => panic!("not a response: {other:?}"),
        }
    }

    /// Waits until the log has a line with `text`, and returns the log.
    async fn logged(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            assert!(self.log.flush(PATIENCE));
            let log = std::fs::read_to_string(self.path("error.log")).expect("a log");
            if log.contains(text) {
                return log;
            }
            assert!(begun.elapsed() < PATIENCE, "no `{text}` in\n{log}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until no program is left, not even as a zombie.
    async fn quiet(&self) {
        let begun = Instant::now();
        while !self.cgi.shared.groups().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "a program is never reaped");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Releases the program that reads a line from this fifo.
async fn open(gate: &Path) {
    let gate = gate.to_path_buf();
    let opened = tokio::task::spawn_blocking(move || std::fs::write(gate, "go\n"));
    opened.await.expect("joined").expect("opened");
}

async fn head(exchange: &mut CgiExchange) -> Result<ScriptHead, Fault> {
    poll_fn(|cx| exchange.poll_head(cx)).await
}

async fn read(exchange: &mut CgiExchange, mut take: impl FnMut(&[u8])) -> Result<(), Fault> {
    let mut part = Vec::new();
    loop {
        part.clear();
        let more = poll_fn(|cx| exchange.poll_body(cx, &mut part, 65_536)).await?;
        assert!(part.len() <= 65_536, "more than asked for");
        take(&part);
        if !more {
            return Ok(());
        }
    }
}

/// Waits until the process has ended. A zombie of another parent counts as ended.
async fn gone(pid: &str) {
    let begun = Instant::now();
    let stat = format!("/proc/{}/stat", pid.trim());
    loop {
        match std::fs::read_to_string(&stat) {
            Err(_) => return,
            Ok(text) if text.contains(") Z ") => return,
            Ok(text) => assert!(begun.elapsed() < PATIENCE, "still there: {text}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the file has text, and returns the text.
async fn appears(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(begun.elapsed() < PATIENCE, "{} never came", path.display()),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
