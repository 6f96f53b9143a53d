//! Starts a server for one run, and ends it. The server is ready when it prints its URL, or when a
//! known URL accepts connections. It is ended with TERM and, if it does not obey, with KILL. The
//! server leads a process group, so all processes that it starts end with it.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mehari_load::Url;
use rustix::process::{kill_process_group, waitpgid, Pid, Signal, WaitOptions};

use super::{interrupt, Failure};

pub struct Server {
    child: Child,
    group: Pid,
    /// The last part of the server's stderr.
    said: Arc<Mutex<String>>,
    /// The URL to request.
    pub url: String,
}

/// The time between TERM and KILL.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);
const MOST_SAID: usize = 2_000;

impl Server {
    /// Starts `command` in a shell. `url` is the URL that the command serves, or a path to append
    /// to the URL that it prints.
    pub fn start(command: &str, url: &str, timeout: Duration) -> Result<Server, Failure> {
        let known = url.starts_with("http://") || url.starts_with("https://");
        if known && is_accepting(url) {
            return Err(Failure::Failed(format!(
                "another server already serves at {url}; `{command}` was not started"
            )));
        }
        // The shell's orphans become children of this process, which can then reap them at once.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|cause| Failure::Failed(format!("cannot start `{command}`: {cause}")))?;
        let group = Pid::from_child(&child);
        interrupt::remember(Some(group));
        let said = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = child.stderr.take() {
            keep_end(stderr, said.clone());
        }
        let printed = child.stdout.take().map(urls_of);
        let mut server = Server {
            child,
            group,
            said,
            url: url.to_owned(),
        };
        server.await_readiness(command, known, printed, timeout)?;
        Ok(server)
    }

    fn await_readiness(
        &mut self,
        command: &str,
        known: bool,
        printed: Option<Receiver<String>>,
        timeout: Duration,
    ) -> Result<(), Failure> {
        let begin = Instant::now();
        while begin.elapsed() < timeout {
            if known {
                if is_accepting(&self.url) {
                    return Ok(());
                }
                std::thread::sleep(PAUSE);
            } else if let Some(printed) = &printed {
                match printed.recv_timeout(PAUSE) {
                    Ok(base) => {
                        self.url = joined(&base, &self.url);
                        return Ok(());
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => std::thread::sleep(PAUSE),
                }
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.never_ready(&format!("`{command}` ended with {status}")));
            }
        }
        let expected = if known {
            format!("accept at {}", self.url)
        } else {
            "print a line with an http:// URL (or give --url)".into()
        };
        let waited = timeout.as_secs_f64();
        Err(self.never_ready(&format!("`{command}` did not {expected} within {waited} s")))
    }

    /// Returns whether no process of the group is left, not even a zombie.
    fn has_ended(&self) -> bool {
        loop {
            match waitpgid(self.group, WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn never_ready(&self, what: &str) -> Failure {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => Failure::Failed(format!("{what}; it said: {line}")),
            None => Failure::Failed(what.to_owned()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process_group(self.group, Signal::Term);
        let begin = Instant::now();
        // Reaps the shell's children too: see `start`.
        while !self.has_ended() && begin.elapsed() < PATIENCE {
            std::thread::sleep(PAUSE);
        }
        let _ = kill_process_group(self.group, Signal::Kill);
        while !self.has_ended() {
            std::thread::sleep(PAUSE);
        }
        interrupt::remember(None);
    }
}

fn is_accepting(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let endpoint = (url.endpoint.host.as_str(), url.endpoint.port);
    let Ok(addresses) = endpoint.to_socket_addrs() else {
        return false;
    };
    addresses
        .into_iter()
        .any(|address| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
}

/// Sends the first printed URL to the receiver. Continues to read, so the server never blocks on
/// its output.
fn urls_of(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
            if let Some(url) = url_in(&String::from_utf8_lossy(&line)) {
                let _ = sender.send(url);
            }
            line.clear();
        }
    });
    receiver
}

fn keep_end(stderr: impl Read + Send + 'static, said: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut stderr = stderr;
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut piece) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(&String::from_utf8_lossy(&piece[..count]));
            let cut = said.len().saturating_sub(MOST_SAID);
            let cut = (cut..=said.len()).find(|at| said.is_char_boundary(*at));
            said.drain(..cut.unwrap_or(0));
        }
    });
}

/// Returns the http URL in a line of output, without surrounding punctuation.
fn url_in(line: &str) -> Option<String> {
    let start = line.find("http://").or_else(|| line.find("https://"))?;
    let url: &str = line[start..]
        .split(|mark: char| mark.is_whitespace() || "\"'<>),".contains(mark))
        .next()?;
    let url = url.trim_end_matches(['.', ';', ':']);
    // Some servers print the wildcard address. The loopback address reaches them.
    Some(
        url.replacen("://0.0.0.0", "://127.0.0.1", 1)
            .replacen("://[::]", "://[::1]", 1),
    )
}

/// Returns the URL of `path` at the origin of `base`, or `base` itself if the path is `/`.
fn joined(base: &str, path: &str) -> String {
    if path == "/" {
        return base.to_owned();
    }
    let authority = base.find("://").map_or(0, |at| at + 3);
    let end = base[authority..]
        .find('/')
        .map_or(base.len(), |at| authority + at);
    format!("{}/{}", &base[..end], path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_found_in_what_servers_print() {
        for (line, url) in [
            (
                "mehari: serving http://127.0.0.1:8080/\n",
                Some("http://127.0.0.1:8080/"),
            ),
            (
                "Listening at: http://0.0.0.0:5000 (12)",
                Some("http://127.0.0.1:5000"),
            ),
            ("ready, see <http://[::]:80/x>.", Some("http://[::1]:80/x")),
            ("starting", None),
        ] {
            assert_eq!(url_in(line).as_deref(), url);
        }
    }

    #[test]
    fn paths_replace_the_path_of_the_printed_url() {
        assert_eq!(joined("http://a:1/x", "/"), "http://a:1/x");
        assert_eq!(
            joined("http://a:1/x", "/perl/h.pl?q"),
            "http://a:1/perl/h.pl?q"
        );
        assert_eq!(joined("http://a:1", "y"), "http://a:1/y");
    }
}
