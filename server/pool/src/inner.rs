//! The pool's state, and the calls the front makes on it.

use crate::call::{Call, Fault, Oracle, Outcome};
use crate::exchange::{Exchange, Table, Ticket};
use crate::generation::Generation;
use crate::holding::Holding;
use crate::policy::Plan;
use crate::team::Team;
use crate::worker::{Tries, Worker};
use mehari_config::Site;
use mehari_observe::ErrorLog;
use mehari_wire::Bell;
use rustix::fd::OwnedFd;
use std::cell::{RefCell, RefMut};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The dispatcher of one site. Cheap to clone; not `Send`: it belongs to the front's thread.
#[derive(Clone)]
pub struct Pool(pub(crate) Rc<Shared>);

pub(crate) struct Shared {
    inner: RefCell<Inner>,
    /// Rung when workers or generations end: reloads and stops wait for it.
    pub changed: Notify,
}

/// A request no worker has yet, as the frame it will get.
pub(crate) struct Queued {
    pub ticket: Ticket,
    pub request_id: u64,
    pub frame: Vec<u8>,
    pub body_file: Option<OwnedFd>,
    pub timeout: Duration,
    pub since: Instant,
    pub tries: Tries,
}

pub(crate) struct Inner {
    pub site: Arc<Site>,
    /// The main server's first; as the current generation's site has them.
    pub teams: Vec<Team>,
    pub log: ErrorLog,
    /// Who knows what a path is; `None`: nobody.
    pub oracle: Option<Oracle>,
    pub bell: Rc<Bell>,
    pub exchanges: Table,
    /// By index; a place is reused when its worker has ended.
    pub workers: Vec<Option<Worker>>,
    pub holding: Holding,
    pub generations: Vec<Generation>,
    /// The generation new requests go to; 0: none is loaded.
    pub current: u32,
    pub next_generation: u32,
    pub stopping: bool,
    pub scratch: Vec<u8>,
    pub spare_frames: Vec<Vec<u8>>,
    /// Workers that can run at once beside the front.
    pub cores_for_workers: usize,
    /// Rung when a request is put behind another in a mailbox, by whomever: the take-back timer starts.
    pub deepened: Rc<Notify>,
    pub random: u64,
    pub totals: Totals,
}

/// Counts since the start, for the status page.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub struct Totals {
    pub requests: u64,
    pub queued: u64,
    pub taken_back: u64,
    pub refused: u64,
    pub timed_out: u64,
    pub workers_started: u64,
    pub workers_died: u64,
}

impl Pool {
    pub(crate) fn new(site: Arc<Site>, plans: Vec<Plan>, log: ErrorLog) -> io::Result<Pool> {
        let inner = Inner {
            teams: Team::all(&site, plans),
            site,
            log,
            oracle: None,
            bell: Rc::new(Bell::create()?),
            exchanges: Table::default(),
            workers: Vec::new(),
            holding: Holding::default(),
            generations: Vec::new(),
            current: 0,
            next_generation: 1,
            stopping: false,
            scratch: Vec::with_capacity(mehari_wire::layout::RECORD_LIMIT),
            spare_frames: Vec::new(),
            cores_for_workers: std::thread::available_parallelism()
                .map_or(1, |cores| cores.get().saturating_sub(1).max(1)),
            deepened: Rc::default(),
            random: u64::from(std::process::id()) << 32 | 0x9e37_79b9,
            totals: Totals::default(),
        };
        Ok(Pool(Rc::new(Shared {
            inner: RefCell::new(inner),
            changed: Notify::new(),
        })))
    }

    pub(crate) fn borrow(&self) -> RefMut<'_, Inner> {
        self.0.inner.borrow_mut()
    }

    /// Who answers what workers ask within a request.
    pub fn ask(&self, oracle: Oracle) {
        self.borrow().oracle = Some(oracle);
    }

    /// Takes a complete request. Never blocks: it goes to a worker, to the queue, or is refused in `poll_head`.
    pub fn submit(&self, call: Call<'_>) -> Exchange {
        let mut inner = self.borrow();
        let prints_head = call.parse_headers;
        let ticket = inner.exchanges.open(Instant::now());
        inner.totals.requests += 1;
        if let Err(fault) = inner.admit(ticket, call) {
            inner.totals.refused += 1;
            if let Some(arrived) = inner.exchanges.get(ticket) {
                arrived.fail(fault);
            }
        }
        drop(inner);
        Exchange {
            pool: self.clone(),
            ticket,
            tap: None,
            prints_head,
        }
    }

    /// Reads what one worker has written.
    pub(crate) fn drain(&self, worker: usize) {
        self.borrow().drain_worker(worker);
    }

    /// The client is gone: what has not begun is never run, what comes back is dropped.
    pub(crate) fn abandon(&self, ticket: Ticket) {
        let mut inner = self.borrow();
        let worker = inner.exchanges.get(ticket).and_then(|arrived| {
            if arrived.complete {
                None
            } else {
                arrived.worker
            }
        });
        for team in &mut inner.teams {
            team.queue.retain(|queued| queued.ticket != ticket);
        }
        inner.tell(ticket, Outcome::default());
        inner.exchanges.close(ticket);
        if let Some((index, _)) = worker {
            inner.forget_unstarted(index, ticket);
            // The ring may be full of what nobody reads any more.
            inner.drain_worker(index);
        }
    }

    /// Requests under way, waiting ones included.
    pub fn under_way(&self) -> usize {
        self.borrow().exchanges.open_count()
    }

    /// Files whose change means a new generation: the configuration's, and what the zygote loaded from the site's own folders.
    pub fn watched_files(&self) -> Vec<PathBuf> {
        let inner = self.borrow();
        let loaded = inner
            .generations
            .iter()
            .filter(|generation| generation.number == inner.current)
            .flat_map(|generation| generation.zygotes.iter())
            .flat_map(|loaded| loaded.files.iter().cloned());
        inner.site.files.iter().cloned().chain(loaded).collect()
    }

    /// From now on requests are refused; those under way go on.
    pub fn begin_stop(&self) {
        let mut inner = self.borrow();
        inner.stopping = true;
    }
}

impl Inner {
    pub fn worker(&mut self, index: usize) -> Option<&mut Worker> {
        self.workers.get_mut(index).and_then(Option::as_mut)
    }

    /// Tells the worker that waits for it what became of its request, once.
    pub fn tell(&mut self, ticket: Ticket, outcome: Outcome<'_>) {
        let listening = self.exchanges.get(ticket).filter(|arrived| arrived.listens);
        let Some(arrived) = listening else {
            return;
        };
        arrived.listens = false;
        let Some((index, _)) = arrived.worker else {
            return;
        };
        let Some(worker) = self.worker(index) else {
            return;
        };
        let is_its = |held: &crate::worker::Held| held.ticket == ticket;
        if worker.held.front().is_some_and(is_its) {
            crate::frame::put_outcome(outcome, worker.mailbox.answer_room());
            worker.mailbox.answer();
        }
    }

    pub fn fail(&mut self, ticket: Ticket, fault: Fault) {
        if let Some(arrived) = self.exchanges.get(ticket) {
            arrived.fail(fault);
        }
    }

    /// A small generator for jitter; nothing secret depends on it.
    pub fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
