//! The front's side of a launcher: the process that starts the zygotes of a `<PerlPool>` with its
//! own user or cgroup.
//!
//! The launcher starts while the server is still root, and becomes the pool's user before it takes
//! the first order (`launcher/serve.rs`). It stays for all generations of the pool. The front may
//! neither signal nor look into processes of another user, so the launcher does both.

pub mod orders;
pub mod serve;

use crate::memory::ProcessMemory;
use crate::readiness::{next_message, register_both_ways};
use mehari_config::Site;
use mehari_wire::{parts, ControlSocket, Message};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::process::Child;
use tokio::sync::{oneshot, Notify};

/// The launchers of a server by the names of their pools.
pub type Launchers = BTreeMap<String, Rc<Launcher>>;

/// Returns the launcher of the pool whose Perl has this number.
pub(crate) fn launcher_of(launchers: &Launchers, site: &Site, perl: usize) -> Option<Rc<Launcher>> {
    launchers.get(&site.pool_of(perl)?.name).cloned()
}

/// How long a launcher may take to become the pool's user.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a look at the memory of a pool's processes may take.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// The processes of a pool with their memory.
type Memories = HashMap<u32, ProcessMemory>;

/// One answer that the front waits for.
enum Waiting {
    Start(oneshot::Sender<Result<u32, String>>),
    Memory(oneshot::Sender<Memories>, Memories),
}

/// A running launcher. It ends its zygotes that are left, and then itself, when this is dropped.
pub struct Launcher {
    link: Rc<Link>,
    /// The process. The runtime awaits its end.
    _process: Child,
}

/// The connection with the launcher, which the task that reads the messages shares.
struct Link {
    socket: AsyncFd<ControlSocket>,
    last_order: Cell<u32>,
    waiting: RefCell<BTreeMap<u32, Waiting>>,
    /// The zygotes that the launcher has started and that have not ended.
    zygotes: RefCell<BTreeSet<u32>>,
    changed: Notify,
    has_ended: Cell<bool>,
}

impl Launcher {
    /// Makes the socket between the front and a launcher. Returns the front's end first.
    ///
    /// # Errors
    ///
    /// The error of socketpair(2).
    pub fn socket() -> io::Result<(ControlSocket, OwnedFd)> {
        ControlSocket::pair()
    }

    /// Waits until the process is ready to take orders. `socket`: the front's end.
    ///
    /// # Errors
    ///
    /// What the launcher says: it cannot become the pool's user, or cannot join the cgroup.
    pub async fn attach(socket: ControlSocket, process: Child) -> Result<Rc<Launcher>, String> {
        let told = |error: io::Error| format!("its launcher: {error}");
        let link = Rc::new(Link {
            socket: register_both_ways(socket).map_err(told)?,
            last_order: Cell::new(0),
            waiting: RefCell::default(),
            zygotes: RefCell::default(),
            changed: Notify::new(),
            has_ended: Cell::new(false),
        });
        let first = tokio::time::timeout(PATIENCE, next_message(&link.socket)).await;
        match first {
            Ok(Ok(Some(message))) if message.head.kind == orders::READY => {}
            Ok(Ok(Some(message))) => {
                return Err(String::from_utf8_lossy(&message.text).into_owned())
            }
            Ok(Ok(None)) => return Err("its launcher ended at once".to_owned()),
            Ok(Err(error)) => return Err(told(error)),
            Err(_) => return Err("its launcher does not answer".to_owned()),
        }
        let listening = link.clone();
        tokio::task::spawn_local(async move {
            while let Ok(Some(message)) = next_message(&listening.socket).await {
                listening.take(message);
            }
            listening.note_end();
        });
        Ok(Rc::new(Launcher {
            link,
            _process: process,
        }))
    }

    /// Starts a zygote. Returns its process number.
    pub(crate) async fn start(
        &self,
        order: &[u8],
        files: [BorrowedFd<'_>; 4],
    ) -> Result<u32, String> {
        let (sender, started) = oneshot::channel();
        let number = self.link.expect(Waiting::Start(sender))?;
        let all: Vec<_> = parts(order).collect();
        for (status, part) in all {
            // The descriptors come with the last part.
            let files = if status == 0 { &files[..] } else { &[] };
            let send = |socket: &ControlSocket| {
                socket.send_part(orders::START, number, status, part, files)
            };
            let sent = self.link.socket.async_io(Interest::WRITABLE, send).await;
            sent.map_err(|error| format!("the pool's launcher: {error}"))?;
        }
        started.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Sends a signal to a process of the pool, or to its group (`orders::GROUP`). The kernel
    /// refuses signals to processes of other users.
    pub(crate) fn signal(&self, order: u32, pid: u32, signal: i32) {
        let text = format!("{pid} {signal}");
        let socket = self.link.socket.get_ref();
        // A launcher that its own pool has stopped cannot be told.
        let _ = socket.send_part(order, 0, 0, text.as_bytes(), &[]);
    }

    /// Returns the memory of a process and of all processes below it, except of those in `not`.
    pub(crate) async fn memory(&self, pid: u32, not: &[u32]) -> HashMap<u32, ProcessMemory> {
        let (sender, answer) = oneshot::channel();
        let Ok(number) = self.link.expect(Waiting::Memory(sender, HashMap::new())) else {
            return HashMap::new();
        };
        let text: Vec<String> = [pid].iter().chain(not).map(u32::to_string).collect();
        let text = text.join(" ");
        let (_, text) = parts(text.as_bytes()).next().unwrap_or_default();
        let sent = self
            .link
            .socket
            .get_ref()
            .send_part(orders::MEMORY, number, 0, text, &[]);
        let answered = match sent {
            Ok(()) => tokio::time::timeout(LOOK_TIME, answer).await,
            Err(_) => return HashMap::new(),
        };
        self.link.waiting.borrow_mut().remove(&number);
        answered.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Completes when the zygote has ended.
    pub(crate) async fn wait_for(&self, pid: u32) {
        loop {
            let changed = self.link.changed.notified();
            if !self.link.zygotes.borrow().contains(&pid) {
                return;
            }
            changed.await;
        }
    }

    /// Ends the launcher and waits for its end.
    pub(crate) async fn end(&self) {
        self.link.socket.get_ref().hang_up();
        loop {
            let changed = self.link.changed.notified();
            if self.link.has_ended.get() {
                return;
            }
            changed.await;
        }
    }

    /// Whether the zygote has not ended.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.link.zygotes.borrow().contains(&pid)
    }
}

impl Link {
    fn expect(&self, waiting: Waiting) -> Result<u32, String> {
        if self.has_ended.get() {
            return Err(gone());
        }
        let number = self.last_order.get().wrapping_add(1);
        self.last_order.set(number);
        self.waiting.borrow_mut().insert(number, waiting);
        Ok(number)
    }

    fn take(&self, message: Message) {
        let number = message.head.slot;
        let text = String::from_utf8_lossy(&message.text);
        let mut waiting = self.waiting.borrow_mut();
        match message.head.kind {
            orders::STARTED | orders::FAILED => {
                let Some(Waiting::Start(sender)) = waiting.remove(&number) else {
                    return;
                };
                let pid = text.parse().ok().filter(|pid| *pid > 1);
                let started = match (message.head.kind, pid) {
                    (orders::STARTED, Some(pid)) => {
                        self.zygotes.borrow_mut().insert(pid);
                        Ok(pid)
                    }
                    _ => Err(text.into_owned()),
                };
                let _ = sender.send(started);
            }
            orders::ENDED => {
                let pid = text.parse().unwrap_or_default();
                self.zygotes.borrow_mut().remove(&pid);
                self.changed.notify_waiters();
            }
            orders::PROCESS => {
                if let Some(Waiting::Memory(_, known)) = waiting.get_mut(&number) {
                    let (pid, rollup) = text.split_once('\n').unwrap_or_default();
                    let memory = ProcessMemory::parse(rollup);
                    known.extend(pid.parse().ok().zip(memory));
                }
            }
            orders::MEMORY => {
                if let Some(Waiting::Memory(sender, known)) = waiting.remove(&number) {
                    let _ = sender.send(known);
                }
            }
            _ => {}
        }
    }

    fn note_end(&self) {
        self.has_ended.set(true);
        self.waiting.borrow_mut().clear();
        self.zygotes.borrow_mut().clear();
        self.changed.notify_waiters();
    }
}

/// Ends the launcher. The launcher then ends its zygotes that are left.
impl Drop for Launcher {
    fn drop(&mut self) {
        self.link.socket.get_ref().hang_up();
    }
}

fn gone() -> String {
    "the pool's launcher has ended; expected a restart of the server".to_owned()
}
