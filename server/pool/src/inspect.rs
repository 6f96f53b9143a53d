//! Has a worker or a zygote inspected, for `mehari inspect` and the console.
//!
//! The process forks a twin, which answers and ends (`process/inspection.c` in `perl/xs`). The
//! order names a socket in the abstract namespace, to which the twin connects. The socket's name
//! is random, so no other process can answer.

use crate::inner::Pool;
use crate::zygote::Zygote;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};

/// How long a worker may go on with its request before it takes the order.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two looks whether the process still lives.
const LOOK: Duration = Duration::from_millis(200);

/// The process to inspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspected {
    /// The idle worker that has served most requests. If all workers are busy, one of them. The
    /// zygote if there is no worker.
    Any,
    /// The zygote of the main server.
    Zygote,
    /// A worker or a zygote with this number.
    Process(u32),
}

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error("expected the number of a worker or a zygote of this server, not {0}")]
    NoPerl(u32),
    #[error("the server has no Perl process now")]
    Nothing,
    #[error("another inspection of worker {0} waits already")]
    Waits(u32),
    #[error("process {0} ended before it could be inspected")]
    Ended(u32),
    #[error(
        "worker {0} has been busy for {1} seconds; a worker is inspected between two requests"
    )]
    Busy(u32, u64),
    #[error("the inspection cannot be ordered: {0}")]
    Failed(#[from] io::Error),
}

/// The process that was chosen.
enum Chosen {
    Worker { index: usize, pid: u32 },
    Zygote(Rc<Zygote>, u32),
}

impl Chosen {
    fn pid(&self) -> u32 {
        match self {
            Chosen::Worker { pid, .. } | Chosen::Zygote(_, pid) => *pid,
        }
    }
}

impl Pool {
    /// Orders an inspection. Returns the stream on which the twin answers.
    ///
    /// # Errors
    ///
    /// There is no such process, or it ends or stays busy.
    pub async fn inspect(
        &self,
        whom: Inspected,
        question: &str,
    ) -> Result<UnixStream, InspectError> {
        let chosen = self.choose_inspected(whom)?;
        let name = random_name()?;
        let address = SocketAddr::from_abstract_name(&name)?;
        let listener = StdListener::bind_addr(&address)?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let order = format!("{name} {question}");
        match &chosen {
            Chosen::Worker { index, pid } => self.order_worker(*index, *pid, &order)?,
            Chosen::Zygote(zygote, _) => zygote.ask_inspection(order.as_bytes()).await?,
        }
        let answer = self.await_twin(&listener, &chosen).await;
        if answer.is_err() {
            self.withdraw_order(&chosen);
        }
        answer
    }

    fn choose_inspected(&self, whom: Inspected) -> Result<Chosen, InspectError> {
        let inner = self.borrow();
        let workers = || {
            let all = inner.workers.iter().enumerate();
            all.filter_map(|(index, worker)| Some((index, worker.as_ref()?)))
                .filter(|(_, worker)| worker.pid > 1)
        };
        let zygotes = || {
            let current = inner.current;
            let mut all: Vec<_> = inner.generations.iter().collect();
            all.sort_by_key(|it| it.number != current);
            let loaded = all.into_iter().flat_map(|it| &it.zygotes);
            loaded.filter_map(|it| {
                let zygote = it.zygote.clone()?;
                let pid = zygote.pid()?;
                Some(Chosen::Zygote(zygote, pid))
            })
        };
        let chosen = match whom {
            Inspected::Any => workers()
                .filter(|(_, worker)| worker.is_serving())
                .min_by_key(|(_, worker)| (worker.depth(), std::cmp::Reverse(worker.served)))
                .map(|(index, worker)| Chosen::Worker {
                    index,
                    pid: worker.pid,
                })
                .or_else(|| zygotes().next()),
            Inspected::Zygote => zygotes().next(),
            Inspected::Process(pid) => workers()
                .find(|(_, worker)| worker.pid == pid)
                .map(|(index, _)| Chosen::Worker { index, pid })
                .or_else(|| zygotes().find(|zygote| zygote.pid() == pid)),
        };
        chosen.ok_or(match whom {
            Inspected::Process(pid) => InspectError::NoPerl(pid),
            _ => InspectError::Nothing,
        })
    }

    fn order_worker(&self, index: usize, pid: u32, order: &str) -> Result<(), InspectError> {
        let mut inner = self.borrow();
        let worker = inner.worker(index).ok_or(InspectError::Ended(pid))?;
        if worker.mailbox.inspect(order) {
            Ok(())
        } else {
            Err(InspectError::Waits(pid))
        }
    }

    fn withdraw_order(&self, chosen: &Chosen) {
        if let Chosen::Worker { index, pid } = chosen {
            let mut inner = self.borrow();
            if let Some(worker) = inner.worker(*index).filter(|it| it.pid == *pid) {
                worker.mailbox.withdraw_inspection();
            }
        }
    }

    /// Waits for the twin's connection while the process lives.
    async fn await_twin(
        &self,
        listener: &UnixListener,
        chosen: &Chosen,
    ) -> Result<UnixStream, InspectError> {
        let (begun, pid) = (Instant::now(), chosen.pid());
        loop {
            match tokio::time::timeout(LOOK, listener.accept()).await {
                Ok(accepted) => return Ok(accepted?.0),
                Err(_) if !crate::program::kill_one(pid, 0) => {
                    return Err(InspectError::Ended(pid))
                }
                Err(_) if begun.elapsed() > PATIENCE => {
                    return Err(InspectError::Busy(pid, PATIENCE.as_secs()))
                }
                Err(_) => {}
            }
        }
    }
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut name = String::from("mehari-inspection-");
    for byte in bytes {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}
