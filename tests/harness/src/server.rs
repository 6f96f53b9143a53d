//! Runs a server under test.

mod builder;
mod upgraded;

pub use builder::Builder;

use crate::client::Connection;
use crate::log::Log;
use crate::processes::{self, Pid};
use crate::site::Site;
use crate::Request;
use crate::{Answer, PATIENCE};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A running server. When the value is dropped, the server is stopped, and the test fails if
/// anything is left behind.
pub struct Server {
    pub address: SocketAddr,
    /// The server's stderr: the error log, and the access log if it is not a file.
    pub log: Log,
    pub site: Site,
    pub(crate) child: Child,
    /// The process that has replaced `child` in an upgrade, and the number of upgrades.
    pub(crate) successor: Option<Pid>,
    pub(crate) upgrades: usize,
    pub(crate) stdout: Log,
    pub(crate) mark: String,
    pub(crate) base: BTreeMap<String, usize>,
    pub(crate) expected: Vec<String>,
    pub(crate) leaves_processes: bool,
    /// False until the line of readiness has arrived.
    pub(crate) ready: bool,
    pub(crate) stopped: bool,
    /// Whether the server is Apache.
    pub(crate) on_apache: bool,
}

impl Server {
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts the server. Returns the log if the server fails to start.
    pub(crate) fn launch(builder: Builder) -> Result<Server, Log> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let mut command = builder.command();
        command
            .envs(builder.environment.iter().cloned())
            .env("MEHARI_TEST_MARK", &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        crate::session::make_own(&mut command);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
        let mut server = Server {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            stdout: Log::follow(child.stdout.take().expect("it was piped")),
            log: Log::follow(child.stderr.take().expect("it was piped")),
            child,
            successor: None,
            upgrades: 0,
            mark: format!("MEHARI_TEST_MARK={mark}"),
            base: BTreeMap::new(),
            expected: builder.expected,
            leaves_processes: builder.leaves_processes,
            ready: false,
            stopped: false,
            on_apache: builder.on_apache || crate::against_apache(),
            site: builder.site,
        };
        server.ready = server.wait_until_ready();
        if server.ready {
            server.base = server.descriptors();
            return Ok(server);
        }
        let _ = server.child.kill();
        server.wait();
        Err(server.log.clone())
    }

    /// Returns the front's process number.
    pub fn pid(&self) -> Pid {
        self.successor.unwrap_or(self.child.id() as Pid)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the line of readiness, which names all addresses.
    pub fn ready_line(&self) -> String {
        self.stdout.lines().into_iter().next().unwrap_or_default()
    }

    /// Returns all URLs of the line of readiness, in the order of the configuration.
    pub fn urls(&self) -> Vec<String> {
        let line = self.ready_line();
        let words = line.split_whitespace();
        let urls = words.filter(|word| word.contains("://"));
        urls.map(str::to_owned).collect()
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends a request on a new connection.
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

    /// Adds the port to a Host field without a port, because such a field means port 80.
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
        command
            .args(words)
            .arg("--control")
            .arg(self.site.path("control"));
        command.output().expect("mehari can be run")
    }

    /// Runs `mehari status --json` and parses the result.
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

    /// Returns the number of busy workers that `mehari status` reports.
    #[track_caller]
    pub fn busy(&self) -> u64 {
        let status = self.status();
        status["pool"]["busy"]
            .as_u64()
            .unwrap_or_else(|| panic!("no count of busy workers: {status}"))
    }

    /// Returns the zygotes, which are found by their process names. Each generation has one.
    pub fn zygotes(&self) -> Vec<Pid> {
        self.family()
            .iter()
            .filter(|process| process.command == "mehari-zygote")
            .map(|process| process.pid)
            .collect()
    }

    /// Returns the workers: the children of a zygote except the templates and the stem. The names
    /// do not identify workers, because a script may rename its worker.
    pub fn workers(&self) -> Vec<Pid> {
        let zygotes = self.zygotes();
        self.family()
            .iter()
            .filter(|process| zygotes.contains(&process.parent))
            .filter(|process| !matches!(&*process.command, "mehari-template" | "mehari-stem"))
            .map(|process| process.pid)
            .collect()
    }

    pub(crate) fn family(&self) -> Vec<processes::Process> {
        processes::belonging_to(self.child.id() as Pid, &self.mark)
    }

    /// Counts the front's open descriptors by kind.
    pub fn descriptors(&self) -> BTreeMap<String, usize> {
        processes::descriptors(self.pid())
    }

    /// Takes the current numbers of descriptors as those to which the server must return at the
    /// end.
    pub fn rebase(&mut self) {
        self.base = self.descriptors();
    }

    /// Waits for the server to end by itself and returns its exit status.
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
        if self.on_apache {
            return match crate::httpd::wait_until_ready(&self.site, &mut self.child) {
                Some(address) => {
                    self.address = address;
                    true
                }
                None => false,
            };
        }
        // A first start may have to compile the XS.
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

    pub(crate) fn kill_everything(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in self.family() {
            processes::signal(process.pid, Signal::Kill);
        }
    }
}

fn serving_address(line: &str) -> SocketAddr {
    line.strip_prefix("mehari: serving http://")
        .or_else(|| line.strip_prefix("mehari: serving https://"))
        .and_then(|rest| rest.split('/').next())
        .and_then(|address| address.parse().ok())
        .unwrap_or_else(|| panic!("the line of readiness is {line:?}"))
}
