//! A stand: a front on its own thread, which serves a directory of the test. The stand replaces the
//! Perl workers.
#![allow(dead_code)]

pub mod client;
pub mod frames;
pub mod pool;
pub mod site;

use mehari_cgi::{Cgi, Limits};
use mehari_config::{LogLevel, LogTarget, Site};
use mehari_front::{AccessEntry, Front, Handle, Journal, Listener, Origin, Stats, Stop};
use mehari_observe::ErrorLog;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::{mpsc, Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// The logs. An access line is `status method target bytes`.
#[derive(Clone, Default)]
pub struct Logged {
    pub access: Arc<Mutex<Vec<String>>>,
    pub errors: Arc<Mutex<Vec<String>>>,
}

impl Journal for Logged {
    fn access(&self, _: u32, entry: &AccessEntry<'_>) {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let line = format!(
            "{} {} {} {}",
            entry.status,
            text(entry.method),
            text(entry.target),
            entry.bytes
        );
        self.access.lock().expect("one user").push(line);
    }

    fn error(&self, _: u32, _: LogLevel, _: Origin, text: &str) {
        self.errors.lock().expect("one user").push(text.to_string());
    }
}

pub struct Stand {
    pub address: SocketAddr,
    pub root: PathBuf,
    pub logged: Logged,
    pub heard: Arc<Mutex<Vec<String>>>,
    pub freed: Arc<AtomicUsize>,
    pub stop: watch::Sender<Stop>,
    asking: tokio::sync::mpsc::UnboundedSender<StandCommand>,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

enum StandCommand {
    Stats(mpsc::Sender<Stats>),
    Replace(Arc<Site>, mpsc::Sender<()>),
}

impl Stand {
    /// Makes a directory with scripts and files, and starts a front for it. `arrange` changes the
    /// site first.
    pub fn new(arrange: impl FnOnce(&mut Site)) -> Stand {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_path_buf();
        furnish(&root);
        let mut site = site::site(&root);
        arrange(&mut site);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        rustix::net::sockopt::set_tcp_nodelay(&listener, true).expect("a socket");
        let address = listener.local_addr().expect("bound");
        let (stop, stopped) = watch::channel(Stop::No);
        let (asking, questions) = tokio::sync::mpsc::unbounded_channel();
        let logged = Logged::default();
        let perl = pool::StandIn::default();
        let heard = perl.heard.clone();
        let freed = perl.freed.clone();
        let journal = logged.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let listeners = vec![Listener::from(listener)];
            let front = Front::new(Arc::new(site), perl, cgi(), listeners, Rc::new(journal));
            let answering = answer(front.handle(), questions);
            runtime.block_on(async {
                tokio::select! {
                    served = front.run(stopped) => served.expect("the front runs"),
                    () = answering => {}
                }
            });
        });
        Stand {
            address,
            root,
            logged,
            heard,
            freed,
            stop,
            asking,
            thread: Some(thread),
            _folder: folder,
        }
    }

    pub fn plain() -> Stand {
        Stand::new(|_| {})
    }

    pub fn client(&self) -> client::Client {
        client::Client::connect(self.address)
    }

    pub fn stats(&self) -> Stats {
        let (asked, answered) = mpsc::channel();
        assert!(self.asking.send(StandCommand::Stats(asked)).is_ok());
        answered.recv().expect("the front answers")
    }

    pub fn replace_site(&self, site: Site) {
        let (asked, answered) = mpsc::channel();
        assert!(self
            .asking
            .send(StandCommand::Replace(Arc::new(site), asked))
            .is_ok());
        answered.recv().expect("the front answers")
    }

    pub fn errors(&self) -> String {
        self.logged.errors.lock().expect("one user").join("\n")
    }

    /// Waits until a line of the access log contains this text.
    pub fn wait_for_access(&self, part: &str) {
        client::eventually(&format!("an access line with {part:?}"), || {
            let lines = self.logged.access.lock().expect("one user");
            lines.iter().any(|line| line.contains(part))
        });
    }

    /// Stops the front gracefully and waits for its end.
    pub fn finish(&mut self) {
        let _ = self.stop.send(Stop::Gracefully);
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "the front panicked");
        }
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        let _ = self.stop.send(Stop::Now);
        if !std::thread::panicking() {
            self.join();
        }
    }
}

/// Makes the CGI handler. No script of these tests is a CGI program, because the CGI handler has
/// its own tests.
pub fn cgi() -> Cgi {
    let limits = Limits {
        processes: 1,
        queue: 1,
        queue_timeout: std::time::Duration::from_secs(1),
    };
    let log = ErrorLog::open(&LogTarget::Off, LogLevel::Error).expect("no log");
    Cgi::new(limits, "Mehari", log)
}

async fn answer(handle: Handle, mut questions: tokio::sync::mpsc::UnboundedReceiver<StandCommand>) {
    while let Some(question) = questions.recv().await {
        match question {
            StandCommand::Stats(asked) => {
                let _ = asked.send(handle.stats());
            }
            StandCommand::Replace(site, asked) => {
                handle.replace_site(site);
                let _ = asked.send(());
            }
        }
    }
    std::future::pending().await
}

const SCRIPTS: [&str; 19] = [
    "page", "away", "circle", "hints", "hello", "unsized", "stream", "long", "short", "split",
    "nobody", "big", "died", "busy", "half", "silent", "queued", "flood", "echo",
];

fn furnish(root: &Path) {
    let write = |name: &str, text: &[u8]| std::fs::write(root.join(name), text).expect("written");
    for script in SCRIPTS {
        write(&format!("{script}.pl"), b"#!/usr/bin/perl\n");
    }
    write("index.html", b"the index\n");
    write("file.txt", b"0123456789");
    write("empty.txt", b"");
    write("large.bin", &vec![b'x'; 3_000_000]);
    std::fs::create_dir_all(root.join("folder/.well-known")).expect("a folder");
    std::fs::create_dir(root.join(".well-known")).expect("a folder");
    write(".well-known/token", b"token");
    write("folder/inside.html", b"inside\n");
    write(".htaccess", b"secret");
    write("file.txt~", b"secret");
}
