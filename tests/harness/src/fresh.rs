//! Runs a script in a new perl process as CGI/1.1 (RFC 3875) says. The rungs must give the same
//! response.

use crate::answer::Essence;
use crate::head::position;
use crate::Rung;
use crate::{Answer, Request};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// What the process printed and how it ended.
#[derive(Debug, Clone)]
pub struct Fresh {
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub status: ExitStatus,
}

/// Runs `script` as the only script of its interpreter.
pub fn run(script: &Path, rung: Rung, request: &Request) -> Fresh {
    let folder = script.parent().expect("a script lies in a folder");
    let name = script
        .file_name()
        .expect("a script has a name")
        .to_string_lossy();
    // Signals that the tester ignores (nohup) must not be ignored for the script. As under Apache,
    // SIGPIPE is.
    let mut command = Command::new("/usr/bin/env");
    command
        .args(["--default-signal", "--ignore-signal=PIPE"])
        .arg(script)
        .current_dir(folder)
        .env_clear()
        .envs(environment(&rung.url(&name), script, request))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    // A script need not read its input, so a write may fail.
    let mut stdin = child.stdin.take().expect("it was piped");
    let body = request.body.clone().unwrap_or_default();
    let _ = stdin.write_all(&body);
    drop(stdin);
    let output = child.wait_with_output().expect("it is our child");
    Fresh {
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status,
    }
}

fn environment(url: &str, script: &Path, request: &Request) -> Vec<(String, String)> {
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let mut all = vec![
        ("GATEWAY_INTERFACE", "CGI/1.1".to_owned()),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("REQUEST_METHOD", request.method.clone()),
        ("QUERY_STRING", query.to_owned()),
        ("REQUEST_URI", request.target.clone()),
        ("SCRIPT_NAME", url.to_owned()),
        ("SCRIPT_FILENAME", script.to_string_lossy().into_owned()),
        ("SERVER_PROTOCOL", "HTTP/1.1".to_owned()),
        ("SERVER_NAME", "127.0.0.1".to_owned()),
        ("REMOTE_ADDR", "127.0.0.1".to_owned()),
        ("PATH_INFO", path.strip_prefix(url).unwrap_or("").to_owned()),
    ];
    if let Some(body) = &request.body {
        all.push(("CONTENT_LENGTH", body.len().to_string()));
    }
    let mut all: Vec<_> = all
        .into_iter()
        .filter(|(name, value)| *name != "PATH_INFO" || !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    for (name, value) in &request.fields {
        let name = name.to_ascii_uppercase().replace('-', "_");
        match name.as_str() {
            "CONTENT_TYPE" => all.push((name, value.clone())),
            _ => all.push((format!("HTTP_{name}"), value.clone())),
        }
    }
    all
}

impl Fresh {
    /// Returns the response that was printed, or `None` if there is no valid header block.
    pub fn essence(&self) -> Option<Essence> {
        let (head, body) = split(&self.stdout)?;
        let mut essence = Essence {
            status: 200,
            fields: Vec::new(),
            body: body.to_vec(),
        };
        for line in head.split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let colon = line.iter().position(|&byte| byte == b':')?;
            let name = String::from_utf8(line[..colon].to_ascii_lowercase()).ok()?;
            let value = line[colon + 1..].trim_ascii().to_vec();
            if name == "status" {
                essence.status = std::str::from_utf8(value.get(..3)?).ok()?.parse().ok()?;
                continue;
            }
            if name == "location" && essence.status == 200 {
                essence.status = 302;
            }
            essence.fields.push((name, value));
        }
        essence.fields.sort_by(|a, b| a.0.cmp(&b.0));
        Some(essence)
    }

    /// Returns whether a server that isolates its scripts may give this response.
    pub fn allows(&self, answer: &Answer) -> bool {
        let got = answer.essence();
        let is_error = matches!(got.status, 500 | 502);
        match self.essence() {
            // If a script prints no valid header section, the server sends its own error page.
            None => is_error,
            // The script was killed before its end. The client must be able to see this, or must
            // get all bytes that the script has written.
            Some(essence) if self.was_killed() => !answer.complete || is_error || got == essence,
            Some(essence) => answer.complete && got == essence,
        }
    }

    /// Returns whether a signal ended the process.
    pub fn was_killed(&self) -> bool {
        self.status.signal().is_some()
    }
}

/// Splits the output into the header block and the body. LF and CRLF may be mixed.
fn split(output: &[u8]) -> Option<(&[u8], &[u8])> {
    let lf = position(output, b"\n\n").map(|at| (at, at + 2));
    let crlf = position(output, b"\n\r\n").map(|at| (at, at + 3));
    let (end, rest) = [lf, crlf].into_iter().flatten().min()?;
    Some((&output[..end], &output[rest..]))
}
