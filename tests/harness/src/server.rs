//! A server under test: started on a free port, followed, stopped, and judged.

use crate::client::{Connection, Request};
use crate::log::Log;
use crate::processes::{self, Pid};
use crate::site::Site;
use crate::{Answer, PATIENCE};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What the server is to be given before it starts.
#[derive(Default)]
pub struct Builder {
    site: Site,
    conf: Option<String>,
    path: Option<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    no_listen: bool,
    /// Another program in the place of mehari: how the harness is tested.
    program: Option<PathBuf>,
    /// Lines of the log that would otherwise fail the test.
    expected: Vec<String>,
    leaves_processes: bool,
}

impl Builder {
    /// Configuration in httpd.conf's language; `@ROOT@` stands for the folder of the site.
    pub fn conf(mut self, text: &str) -> Builder {
        let text = text.replace("@ROOT@", &self.site.root().to_string_lossy());
        self.conf.get_or_insert_with(String::new).push_str(&text);
        self
    }

    /// All rungs over the folder `scripts` of the site, each under its name.
    pub fn ladder(self) -> Builder {
        let text = crate::rungs::ladder(&self.site.path("scripts"));
        self.conf(&text)
    }

    /// `mehari serve PATH`: a folder, script or PSGI file of the site, without configuration.
    pub fn dir(mut self, name: &str) -> Builder {
        self.path = Some(self.site.path(name).to_string_lossy().into_owned());
        self
    }

    /// Copies a fixture folder into the scripts.
    pub fn fixtures(self, name: &str) -> Builder {
        self.site.copy(name, "scripts");
        self
    }

    pub fn file(self, name: &str, text: &str) -> Builder {
        self.site.write(name, text);
        self
    }

    pub fn args(mut self, words: &[&str]) -> Builder {
        self.arguments
            .extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Builder {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves `--listen` out: the test checks where the address comes from.
    pub fn without_listen(mut self) -> Builder {
        self.no_listen = true;
        self
    }

    pub fn program(mut self, path: impl Into<PathBuf>) -> Builder {
        self.program = Some(path.into());
        self
    }

    /// An `[alert]`, `[emerg]` or panic with these words is what the test is about.
    pub fn expect_alert(mut self, words: &str) -> Builder {
        self.expected.push(words.to_owned());
        self
    }

    /// The test's scripts detach children on purpose; the test itself sees to their end.
    pub fn leaves_processes(mut self) -> Builder {
        self.leaves_processes = true;
        self
    }

    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(log) => panic!("the server did not start:\n{}", log.text()),
        }
    }

    /// The log of a server that said no.
    pub fn try_start(mut self) -> Result<Server, Log> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("MEHARI_TEST_MARK={}-{number}", std::process::id());
        let mut command = self.command();
        let (name, value) = mark.split_once('=').expect("it has one");
        command
            .env(name, value)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        into_own_session(&mut command);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
        let stdout = Log::follow(child.stdout.take().expect("it was piped"));
        let log = Log::follow(child.stderr.take().expect("it was piped"));
        let mut server = Server {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            child,
            stdout,
            log,
            mark,
            base: BTreeMap::new(),
            expected: std::mem::take(&mut self.expected),
            leaves_processes: self.leaves_processes,
            stopped: false,
            conf_path: self.conf.as_ref().map(|_| self.site.path("httpd.conf")),
            site: self.site,
        };
        if !server.wait_until_ready() {
            server.stopped = true;
            server.kill_everything();
            return Err(server.log.clone());
        }
        server.base = server.descriptors();
        Ok(server)
    }

    fn command(&self) -> Command {
        let root = self.site.root();
        if crate::against_apache() {
            return crate::apache::command(&self.site, self.conf.as_deref().unwrap_or_default());
        }
        let program = self.program.clone();
        let mut command = Command::new(program.unwrap_or_else(crate::binary::mehari));
        command.arg("serve");
        if let Some(path) = &self.path {
            command.arg(path);
        }
        if let Some(text) = &self.conf {
            let text = format!(
                "ServerRoot {}\nDocumentRoot {}\n{text}",
                root.display(),
                self.site.path("htdocs").display()
            );
            command.arg("-f").arg(self.site.write("httpd.conf", &text));
        }
        if !self.no_listen {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(&self.arguments).current_dir(root);
        // What the tester's own shell sets is not part of any test.
        for name in ["PORT", "WEB_CONCURRENCY", "LANG", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(name);
        }
        command
    }
}

/// Puts the server into a session of its own, so that what it leaves behind can be found.
#[allow(unsafe_code)]
fn into_own_session(command: &mut Command) {
    // SAFETY: setsid is async-signal-safe and touches no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// A running server. Dropping it stops it and fails the test if it left anything behind.
pub struct Server {
    pub address: SocketAddr,
    /// Its stderr: the error log, and the access log when it goes there.
    pub log: Log,
    pub site: Site,
    child: Child,
    stdout: Log,
    mark: String,
    base: BTreeMap<String, usize>,
    expected: Vec<String>,
    leaves_processes: bool,
    stopped: bool,
    conf_path: Option<PathBuf>,
}

impl Server {
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The front's process id.
    pub fn pid(&self) -> Pid {
        self.child.id() as Pid
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends a request on a connection of its own.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Answer {
        let mut request = request.clone().closing();
        self.address(&mut request);
        match self.connect().send(&request) {
            Ok(answer) => answer,
            Err(error) => panic!(
                "{} {}: {error}\n{}",
                request.method,
                request.target,
                self.log.text()
            ),
        }
    }

    /// Completes a Host that does not say the port: without one a client means port 80.
    pub fn address(&self, request: &mut Request) {
        for (name, value) in &mut request.fields {
            if name == "Host" && value == "127.0.0.1" {
                *value = self.address.to_string();
            }
        }
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Answer {
        self.send(&Request::get(target))
    }

    pub fn signal(&self, signal: Signal) {
        processes::signal(self.pid(), signal);
    }

    /// Runs `mehari WORD...` against this server's control socket.
    pub fn control(&self, words: &[&str]) -> Output {
        let mut command = Command::new(crate::binary::mehari());
        command.args(words).current_dir(self.site.root());
        if let Some(path) = &self.conf_path {
            command.arg("-f").arg(path);
        }
        command.output().expect("mehari can be run")
    }

    /// `mehari status --json`, parsed.
    #[track_caller]
    pub fn status(&self) -> serde_json::Value {
        let output = self.control(&["status", "--json"]);
        assert!(
            output.status.success(),
            "status: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!(
                "status --json printed no JSON ({error}): {}",
                String::from_utf8_lossy(&output.stdout)
            )
        })
    }

    /// The zygotes: the front's children that run perl with `Mehari::Zygote`.
    pub fn zygotes(&self) -> Vec<Pid> {
        processes::all()
            .iter()
            .filter(|process| process.parent == self.pid() && process.state != 'Z')
            .map(|process| process.pid)
            .filter(|&pid| is_zygote(pid))
            .collect()
    }

    /// The workers: children of a zygote.
    pub fn workers(&self) -> Vec<Pid> {
        let zygotes = self.zygotes();
        processes::all()
            .iter()
            .filter(|process| zygotes.contains(&process.parent) && process.state != 'Z')
            .map(|process| process.pid)
            .collect()
    }

    /// The front's open descriptors by kind.
    pub fn descriptors(&self) -> BTreeMap<String, usize> {
        processes::descriptors(self.pid())
    }

    /// Takes the present descriptors as the ones the server must come back to.
    pub fn rebase(&mut self) {
        self.base = self.descriptors();
    }

    /// Waits for the server to end by itself; its exit status.
    pub fn wait(&mut self) -> Option<std::process::ExitStatus> {
        let mut status = None;
        crate::eventually(PATIENCE, || {
            status = self.child.try_wait().expect("it is our child");
            status.is_some()
        });
        if status.is_some() {
            self.stopped = true;
        }
        status
    }

    fn wait_until_ready(&mut self) -> bool {
        if crate::against_apache() {
            return match crate::apache::wait_until_ready(&self.site, &mut self.child) {
                Some(address) => {
                    self.address = address;
                    true
                }
                None => false,
            };
        }
        // A debug build that first compiles its XS takes its time.
        let deadline = std::time::Instant::now() + Duration::from_secs(120);
        loop {
            let step = Duration::from_millis(50);
            if let Some(line) = self.stdout.wait_for(step, |_| true) {
                self.address = serving_address(&line);
                return true;
            }
            let over = matches!(self.child.try_wait(), Ok(Some(_)));
            if over || std::time::Instant::now() > deadline {
                return false;
            }
        }
    }

    fn kill_everything(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in processes::belonging_to(self.pid(), &self.mark) {
            processes::signal(process.pid, Signal::Kill);
        }
    }

    /// Everything that is wrong with how the test's server ended.
    fn judge(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.stopped {
            self.judge_running(&mut faults);
            self.signal(Signal::Term);
            match self.wait() {
                None => faults.push("it did not stop on TERM".to_owned()),
                Some(status) if !status.success() => faults.push(format!("TERM: {status}")),
                Some(_) => {}
            }
        }
        if !self.leaves_processes {
            let mut left = Vec::new();
            crate::eventually(Duration::from_secs(5), || {
                left = processes::belonging_to(self.pid(), &self.mark);
                left.is_empty()
            });
            if !left.is_empty() {
                faults.push(format!("stray processes: {left:?}"));
            }
        }
        if !crate::against_apache() && self.stdout.lines().len() != 1 {
            faults.push(format!("stdout is not one line: {:?}", self.stdout.lines()));
        }
        for line in self.log.lines() {
            let is_bad = ALARMS.iter().any(|alarm| line.contains(alarm));
            if is_bad && !self.expected.iter().any(|words| line.contains(words)) {
                faults.push(format!("log: {line}"));
            }
        }
        faults
    }

    fn judge_running(&mut self, faults: &mut Vec<String>) {
        if let Ok(Some(status)) = self.child.try_wait() {
            self.stopped = true;
            faults.push(format!("it ended before it was stopped: {status}"));
            return;
        }
        if crate::against_apache() {
            return;
        }
        let mut now = BTreeMap::new();
        let settled = crate::eventually(Duration::from_secs(10), || {
            now = self.descriptors();
            !has_grown(&self.base, &now)
        });
        if !settled {
            faults.push(format!(
                "descriptors leaked: {:?} became {now:?}",
                self.base
            ));
        }
    }
}

const ALARMS: &[&str] = &["[alert]", "[emerg]", ":alert]", ":emerg]", "panicked at"];

/// Descriptors that come with a worker, so their number follows the spare policy.
const OF_A_WORKER: &[&str] = &["memfd", "eventfd", "pidfd"];

fn has_grown(base: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>) -> bool {
    now.iter()
        .filter(|(kind, _)| !OF_A_WORKER.contains(&kind.as_str()))
        .any(|(kind, count)| count > base.get(kind).unwrap_or(&0))
}

fn is_zygote(pid: Pid) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|line| crate::client::position(&line, b"Zygote").is_some())
}

fn serving_address(line: &str) -> SocketAddr {
    line.strip_prefix("mehari: serving http://")
        .and_then(|rest| rest.strip_suffix('/'))
        .and_then(|address| address.parse().ok())
        .unwrap_or_else(|| panic!("the line of readiness is {line:?}"))
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the server's log\n{}\n---", self.log.text());
            self.kill_everything();
            return;
        }
        let faults = self.judge();
        self.kill_everything();
        if !faults.is_empty() {
            panic!(
                "after the test: {}\n--- the server's log\n{}",
                faults.join("; "),
                self.log.text()
            );
        }
    }
}
