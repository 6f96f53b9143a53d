//! Starts the process that samples Perl all the time (`ProfileAlways`), starts it again if it ends,
//! and ends it with the server.

use super::journal::Logs;
use mehari_config::{AlwaysProfiled, Site};
use std::cell::RefCell;
use std::io;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::{spawn_local, JoinHandle};

/// The time between the end of a process and the start of the next.
const RESTART: Duration = Duration::from_secs(60);
/// How long the process may take to write its last samples.
const PATIENCE: Duration = Duration::from_secs(2);

pub struct Profiling {
    running: RefCell<Option<RunningSampler>>,
    logs: Rc<Logs>,
}

struct RunningSampler {
    settings: AlwaysProfiled,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Profiling {
    pub fn new(logs: Rc<Logs>) -> Profiling {
        Profiling {
            running: RefCell::new(None),
            logs,
        }
    }

    /// Starts or ends the process as the site says. A process with the same settings goes on.
    pub async fn follow(&self, site: &Site) {
        let wanted = site.process.always_profiled(&site.server_root);
        let is = self.running.borrow().as_ref().map(|it| it.settings.clone());
        if is == wanted {
            return;
        }
        self.end().await;
        if let Some(settings) = wanted {
            let (end, ended) = oneshot::channel();
            let task = spawn_local(keep_running(settings.clone(), self.logs.clone(), ended));
            self.running.replace(Some(RunningSampler {
                settings,
                end,
                task,
            }));
        }
    }

    /// Ends the process, and returns when it has ended.
    pub async fn end(&self) {
        let running = self.running.borrow_mut().take();
        if let Some(running) = running {
            let _ = running.end.send(());
            let _ = running.task.await;
        }
    }
}

async fn keep_running(settings: AlwaysProfiled, logs: Rc<Logs>, mut ended: oneshot::Receiver<()>) {
    loop {
        match start(&settings) {
            Ok(mut child) => {
                tokio::select! {
                    () = follow_to_its_end(&mut child, &logs) => {}
                    _ = &mut ended => return end(child).await,
                }
            }
            Err(error) => logs
                .error
                .error(format_args!("ProfileAlways: no sampling process: {error}")),
        }
        tokio::select! {
            () = tokio::time::sleep(RESTART) => {}
            _ = &mut ended => return,
        }
    }
}

/// Starts the process. Its standard input stays open until the server ends. Everything else of the
/// server is closed in it.
fn start(settings: &AlwaysProfiled) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("mehari")
        .arg("sampler")
        .arg(format!("--front={}", std::process::id()))
        .arg(format!("--rate={}", settings.rate))
        .arg(format!("--limit={}", settings.limit))
        .arg("--folder")
        .arg(&settings.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // The terminal's signals do not reach it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Logs what the process says, until it ends by itself.
async fn follow_to_its_end(child: &mut Child, logs: &Logs) {
    if let Some(errors) = child.stderr.take() {
        let mut lines = BufReader::new(errors).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            logs.error.warn(format_args!("ProfileAlways: {line}"));
        }
    }
    if let Ok(status) = child.wait().await {
        logs.error.warn(format_args!(
            "ProfileAlways: the sampling process has ended ({status}); the next starts in {} s",
            RESTART.as_secs()
        ));
    }
}

async fn end(mut child: Child) {
    drop(child.stdin.take());
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}
