//! Generations: one zygote and its workers each. A new one takes over only when it has loaded.

use crate::call::Fault;
use crate::inner::{Inner, Pool};
use crate::perl_side::PerlSide;
use crate::policy::Plan;
use crate::readiness::readable;
use crate::worker::{State, Worker};
use crate::zygote::{kill_group, kill_one, next_message, Zygote};
use mehari_config::{LogLevel, Site};
use mehari_observe::{ErrorLog, Origin};
use mehari_wire::layout::control;
use mehari_wire::{Mailbox, Message};
use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};

/// Why a generation does not serve.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    PerlSide(#[from] crate::perl_side::Error),
    #[error("the zygote cannot be started with {interpreter}: {reason}")]
    Spawn {
        interpreter: String,
        reason: io::Error,
    },
    #[error("{} of what is preloaded failed:\n{}", .0.len(), .0.join("\n"))]
    Preload(Vec<String>),
    #[error("the zygote ended while it loaded; its last words are in the error log")]
    Died,
    #[error("no worker could be started: {0}")]
    Fork(String),
    #[error("a reload is under way already")]
    Busy,
    #[error(transparent)]
    System(#[from] io::Error),
}

pub(crate) struct Generation {
    pub number: u32,
    pub zygote: Option<Rc<Zygote>>,
    pub site: Arc<Site>,
    pub failed_forks: u32,
    /// Files the zygote loaded that are not perl's own.
    pub loaded: Vec<PathBuf>,
}

/// Whoever listens to the zygote holds it too: it must be told, or it would live on.
impl Drop for Generation {
    fn drop(&mut self) {
        if let Some(zygote) = &self.zygote {
            zygote.control.get_ref().hang_up();
        }
    }
}

impl Pool {
    /// Builds the pool and its first generation; answers when its workers are ready.
    pub async fn start(site: Arc<Site>, plan: Plan, log: ErrorLog) -> Result<Pool, LoadError> {
        let pool = Pool::new(site.clone(), plan, log)?;
        pool.attach();
        let number = pool.load(site).await?;
        pool.take_over(number);
        tokio::task::spawn_local(pool.clone().watch_depth());
        pool.measure().await;
        tokio::task::spawn_local(pool.clone().keep_time());
        tokio::task::spawn_local(pool.clone().keep_measure());
        tokio::task::spawn_local(keep_bell(pool.clone()));
        Ok(pool)
    }

    /// Loads the next generation beside the running one and rolls over to it. On an error nothing changed.
    pub async fn reload(&self, site: Arc<Site>, plan: Plan) -> Result<u32, LoadError> {
        let number = self.load(site.clone()).await?;
        {
            let mut inner = self.borrow();
            inner.site = site;
            inner.plan = plan;
        }
        self.take_over(number);
        Ok(number)
    }

    async fn load(&self, site: Arc<Site>) -> Result<u32, LoadError> {
        let number = {
            let mut inner = self.borrow();
            let loading = inner
                .generations
                .iter()
                .any(|generation| generation.number > inner.current);
            if loading {
                return Err(LoadError::Busy);
            }
            let number = inner.next_generation;
            inner.next_generation += 1;
            inner.generations.push(Generation {
                number,
                zygote: None,
                site: site.clone(),
                failed_forks: 0,
                loaded: Vec::new(),
            });
            number
        };
        let loaded = match self.start_zygote(number, &site).await {
            Ok(()) => self.start_workers(number).await,
            Err(error) => Err(error),
        };
        if let Err(error) = loaded {
            self.discard(number);
            return Err(error);
        }
        Ok(number)
    }

    /// Spawns a zygote, has it load everything, and begins to listen to it.
    async fn start_zygote(&self, number: u32, site: &Site) -> Result<(), LoadError> {
        let interpreter = site.perl.interpreter.clone();
        let perl = tokio::task::spawn_blocking(move || PerlSide::ensure(&interpreter))
            .await
            .map_err(io::Error::other)??;
        let (zygote, stderr) =
            Zygote::spawn(site, &perl, &self.borrow().bell).map_err(|reason| LoadError::Spawn {
                interpreter: site.perl.interpreter.display().to_string(),
                reason,
            })?;
        if let Some(stderr) = stderr {
            let log = self.borrow().log.clone();
            tokio::task::spawn_local(copy_lines(stderr, log, zygote.pid()));
        }
        for preload in &site.perl.preloads {
            zygote.send_preload(preload).map_err(|_| LoadError::Died)?;
        }
        zygote.ask_ready().map_err(|_| LoadError::Died)?;
        let mut failures = Vec::new();
        let mut loaded = Vec::new();
        loop {
            match next_message(&zygote.control).await? {
                None => return Err(LoadError::Died),
                Some(message) if message.head.kind == control::READY => break,
                Some(message) if message.head.kind == control::FAILED => {
                    failures.push(String::from_utf8_lossy(&message.text).trim_end().to_owned());
                }
                Some(message) if message.head.kind == control::LOADED => {
                    loaded.push(PathBuf::from(OsString::from_vec(message.text)));
                }
                Some(_) => {}
            }
        }
        if !failures.is_empty() {
            return Err(LoadError::Preload(failures));
        }
        let zygote = Rc::new(zygote);
        if let Some(generation) = self.borrow().generation(number) {
            generation.zygote = Some(zygote.clone());
            generation.loaded = loaded;
        }
        tokio::task::spawn_local(listen(self.clone(), number, zygote));
        Ok(())
    }

    async fn start_workers(&self, number: u32) -> Result<(), LoadError> {
        let wanted = {
            let mut inner = self.borrow();
            let wanted = inner.plan.start;
            for _ in 0..wanted {
                inner.fork_worker(number);
            }
            wanted as usize
        };
        loop {
            let changed = self.0.changed.notified();
            let (ready, failed) = {
                let mut inner = self.borrow();
                let ready = inner.count(number, |worker| worker.is_serving());
                let failed = inner
                    .generation(number)
                    .map_or(1, |generation| generation.failed_forks);
                (ready, failed)
            };
            if ready >= wanted {
                return Ok(());
            }
            if failed > 0 {
                return Err(LoadError::Fork(
                    "fork failed in the zygote; the error log says why".to_owned(),
                ));
            }
            changed.await;
        }
    }

    /// New requests go to this generation; the workers of others finish what they hold.
    fn take_over(&self, number: u32) {
        let mut inner = self.borrow();
        inner.current = number;
        inner.idle.clear();
        for index in 0..inner.workers.len() {
            let Some(worker) = inner.worker(index) else {
                continue;
            };
            worker.in_idle = false;
            if worker.generation == number {
                inner.worker_is_free(index);
            } else {
                inner.retire(index);
            }
        }
        inner.drop_ended_generations();
        inner.feed();
        inner.flush_wakes();
    }

    fn discard(&self, number: u32) {
        let mut inner = self.borrow();
        for index in 0..inner.workers.len() {
            if inner
                .worker(index)
                .is_some_and(|worker| worker.generation == number)
            {
                inner.retire(index);
            }
        }
        inner
            .generations
            .retain(|generation| generation.number != number);
    }

    /// Waits until no request is under way, or the deadline. True: all were finished.
    pub async fn drained(&self, deadline: Duration) -> bool {
        let until = Instant::now() + deadline;
        while self.under_way() > 0 {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        true
    }

    /// Ends every worker and zygote and waits for them. Requests still under way are lost: `drained` comes first.
    pub async fn end(&self) {
        let mut waited_for = Vec::new();
        {
            let mut inner = self.borrow();
            inner.stopping = true;
            inner.current = 0;
            for worker in inner.workers.iter_mut().flatten() {
                waited_for.push(worker.pid);
                worker.state = State::Retiring;
                worker.dismiss();
                if !worker.held.is_empty() {
                    worker.signal_group(libc::SIGKILL);
                }
            }
        }
        // A zygote reaps its workers, so it is told to end after them.
        gone(&waited_for, PATIENCE).await;
        let zygotes = {
            let mut inner = self.borrow();
            let generations = std::mem::take(&mut inner.generations);
            generations
                .iter()
                .filter_map(|generation| generation.zygote.as_ref()?.pid())
                .collect::<Vec<_>>()
        };
        waited_for.extend(zygotes);
        if !gone(&waited_for, PATIENCE).await {
            for pid in waited_for {
                kill_group(pid, libc::SIGKILL);
            }
        }
        self.detach();
    }
}

/// How long processes that were told to end may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until none of the processes is left, or the time is over. True: none is.
async fn gone(pids: &[u32], patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while pids.iter().any(|pid| kill_one(*pid, 0)) {
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}

impl Inner {
    pub fn generation(&mut self, number: u32) -> Option<&mut Generation> {
        self.generations
            .iter_mut()
            .find(|generation| generation.number == number)
    }

    pub fn count(&self, number: u32, which: impl Fn(&Worker) -> bool) -> usize {
        self.workers
            .iter()
            .flatten()
            .filter(|worker| worker.generation == number && which(worker))
            .count()
    }

    /// Asks the generation's zygote for one more worker.
    pub fn fork_worker(&mut self, number: u32) {
        let Some(zygote) = self
            .generation(number)
            .and_then(|generation| generation.zygote.clone())
        else {
            return;
        };
        if let Err(error) = self.try_fork_worker(number, &zygote) {
            self.log
                .error(format_args!("a worker cannot be started: {error}"));
            if let Some(generation) = self.generation(number) {
                generation.failed_forks += 1;
            }
        }
    }

    fn try_fork_worker(&mut self, number: u32, zygote: &Zygote) -> io::Result<()> {
        let mailbox = Mailbox::create()?;
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let index = self
            .workers
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.workers.len());
        zygote.ask_worker(index as u32, mailbox.file(), &theirs)?;
        let limit = self.request_limit();
        let worker = Worker {
            mailbox,
            socket: Some(ours),
            pid: 0,
            generation: number,
            state: State::Starting,
            held: VecDeque::new(),
            head_since: Instant::now(),
            waited: Duration::ZERO,
            needs_wake: false,
            in_idle: false,
            warned: None,
            killed: None,
            served: 0,
            limit,
            replacement_asked: false,
            started: Instant::now(),
        };
        if index == self.workers.len() {
            self.workers.push(Some(worker));
        } else {
            self.workers[index] = Some(worker);
        }
        self.totals.workers_started += 1;
        Ok(())
    }

    /// The worker gets nothing more; it ends when it has finished what it holds.
    pub fn retire(&mut self, index: usize) {
        self.idle.retain(|idle| *idle != index);
        self.take_back_all(index, Instant::now());
        let Some(worker) = self.worker(index) else {
            return;
        };
        worker.in_idle = false;
        worker.state = State::Retiring;
        if worker.held.is_empty() {
            worker.dismiss();
        }
    }

    /// Called for a process that has ended, however that came to be known; once is enough.
    pub fn worker_ended(&mut self, index: usize) {
        self.worker_ended_with(index, Fault::WorkerDied);
    }

    fn worker_ended_with(&mut self, index: usize, fault: Fault) {
        self.drain_worker(index);
        self.idle.retain(|idle| *idle != index);
        let Some(mut worker) = self.workers.get_mut(index).and_then(Option::take) else {
            return;
        };
        let begun = worker
            .held
            .len()
            .saturating_sub(worker.mailbox.waiting() as usize);
        let unstarted = worker.held.split_off(begun.min(worker.held.len()));
        if worker.state == State::Serving || !worker.held.is_empty() {
            self.totals.workers_died += 1;
            worker.signal_group(libc::SIGKILL);
        }
        for held in &worker.held {
            if !held.answered {
                self.log.log(
                    LogLevel::Error,
                    Origin {
                        request: Some(held.request_id),
                        worker: Some(worker.pid),
                        ..Origin::default()
                    },
                    format_args!("the worker died during the request"),
                );
                self.fail(held.ticket, fault);
            }
        }
        for held in unstarted.into_iter().rev() {
            self.requeue(&mut worker, held);
        }
        self.drop_ended_generations();
        self.keep_workers(Instant::now());
        self.feed();
    }

    /// A request its dead worker never began goes to the front of the queue.
    fn requeue(&mut self, worker: &mut Worker, held: crate::worker::Held) {
        if !worker.mailbox.take_back() {
            self.fail(held.ticket, Fault::WorkerDied);
            return;
        }
        let frame = worker.mailbox.taken_back_slot()[..held.frame_length].to_vec();
        self.put_back(held, frame);
    }

    /// The zygotes of generations that no longer serve and have no workers left.
    fn drop_ended_generations(&mut self) {
        let current = self.current;
        let busy: Vec<u32> = self
            .workers
            .iter()
            .flatten()
            .map(|worker| worker.generation)
            .collect();
        self.generations
            .retain(|generation| generation.number >= current || busy.contains(&generation.number));
    }

    fn index_of(&self, pid: u32) -> Option<usize> {
        self.workers
            .iter()
            .position(|worker| worker.as_ref().is_some_and(|worker| worker.pid == pid))
    }

    fn forked(&mut self, index: usize, message: &Message) -> Option<u32> {
        let pid = u32::try_from(message.head.pid).ok().filter(|pid| *pid > 1);
        let Some(pid) = pid else {
            let reason = String::from_utf8_lossy(&message.text).into_owned();
            self.log
                .error(format_args!("the zygote could not fork a worker: {reason}"));
            let number = self
                .workers
                .get_mut(index)
                .and_then(Option::take)
                .map(|worker| worker.generation);
            if let Some(generation) = number.and_then(|number| self.generation(number)) {
                generation.failed_forks += 1;
            }
            return None;
        };
        let worker = self.worker(index)?;
        worker.pid = pid;
        if worker.state == State::Retiring {
            return Some(pid);
        }
        worker.state = State::Serving;
        let number = worker.generation;
        self.retire_replaced(number, index);
        self.worker_is_free(index);
        self.feed();
        Some(pid)
    }

    /// The new worker is ready: one that asked for a replacement may go.
    fn retire_replaced(&mut self, number: u32, new: usize) {
        let replaced = self.workers.iter().enumerate().position(|(index, worker)| {
            index != new
                && worker.as_ref().is_some_and(|worker| {
                    worker.generation == number && worker.replacement_asked && worker.is_serving()
                })
        });
        if let Some(index) = replaced {
            self.retire(index);
        }
    }

    fn report_end(&mut self, pid: u32, status: i32) {
        let index = self.index_of(pid);
        let expected = index
            .and_then(|index| self.worker(index))
            .is_some_and(|worker| worker.state == State::Retiring);
        let (signal, code) = (status & 0x7f, status >> 8 & 0xff);
        let origin = Origin {
            worker: Some(pid),
            ..Origin::default()
        };
        match (signal, code, expected) {
            (0, 0, true) => {}
            (0, code, _) => self.log.log(
                LogLevel::Warn,
                origin,
                format_args!("worker {pid} ended with status {code}"),
            ),
            (signal, _, _) => self.log.log(
                LogLevel::Error,
                origin,
                format_args!("worker {pid} was ended by signal {signal}"),
            ),
        }
        if let Some(index) = index {
            let fault = if signal == 0 {
                Fault::WorkerDied
            } else {
                Fault::WorkerKilled(signal)
            };
            self.worker_ended_with(index, fault);
        }
    }
}

/// Hears what a zygote reports. When it is gone and its generation still serves, another is started.
async fn listen(pool: Pool, number: u32, zygote: Rc<Zygote>) {
    while let Ok(Some(message)) = next_message(&zygote.control).await {
        match message.head.kind {
            control::FORKED => {
                let index = message.head.slot as usize;
                let pid = pool.borrow().forked(index, &message);
                if let Some(pid) = pid {
                    tokio::task::spawn_local(watch_process(pool.clone(), pid));
                }
            }
            control::ENDED => {
                if let Ok(pid) = u32::try_from(message.head.pid) {
                    pool.borrow().report_end(pid, message.head.status);
                }
            }
            _ => {}
        }
        pool.borrow().flush_wakes();
        pool.0.changed.notify_waiters();
    }
    zygote_is_gone(pool, number).await;
}

async fn zygote_is_gone(pool: Pool, number: u32) {
    let site = {
        let mut inner = pool.borrow();
        let (current, stopping) = (inner.current, inner.stopping);
        let Some(generation) = inner.generation(number) else {
            return;
        };
        generation.zygote = None;
        generation.failed_forks += 1;
        let site = generation.site.clone();
        if stopping || number != current {
            drop(inner);
            pool.0.changed.notify_waiters();
            return;
        }
        inner
            .log
            .error(format_args!("the zygote of generation {number} is gone: its workers go on, another zygote is started"));
        site
    };
    let mut pause = Duration::from_millis(100);
    loop {
        match Box::pin(pool.start_zygote(number, &site)).await {
            Ok(()) => break,
            Err(error) => pool.borrow().log.error(format_args!(
                "the zygote could not be started again: {error}"
            )),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(10));
        let still_wanted = {
            let mut inner = pool.borrow();
            !inner.stopping && inner.current == number && inner.generation(number).is_some()
        };
        if !still_wanted {
            return;
        }
    }
    let mut inner = pool.borrow();
    if let Some(generation) = inner.generation(number) {
        generation.failed_forks = 0;
    }
    inner
        .log
        .notice(format_args!("the zygote of generation {number} is back"));
}

/// Knows of a worker's end even when its zygote is gone and cannot report it.
async fn watch_process(pool: Pool, pid: u32) {
    let handle = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .and_then(|pid| {
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
        });
    if let Some(watch) = handle.and_then(|handle| readable(handle).ok()) {
        let _ = watch.readable().await;
    }
    // The zygote's report carries the reason; it usually comes at once.
    for _ in 0..3 {
        if pool.borrow().index_of(pid).is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut inner = pool.borrow();
    if let Some(index) = inner.index_of(pid) {
        inner.worker_ended(index);
        inner.flush_wakes();
    }
    drop(inner);
    pool.0.changed.notify_waiters();
}

/// Keeps the bell's event registered: a worker that rings wakes the runtime, whose parking then looks.
async fn keep_bell(pool: Pool) {
    let event = pool.borrow().bell.event_file().try_clone_to_owned();
    let Ok(event) = event else { return };
    if let Ok(_registered) = readable(event) {
        std::future::pending::<()>().await;
    }
}

/// What the zygote and its workers write to descriptor 2 themselves.
async fn copy_lines(stderr: tokio::process::ChildStderr, log: ErrorLog, pid: Option<u32>) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    let origin = Origin {
        pid,
        ..Origin::default()
    };
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        log.log_bytes(LogLevel::Error, origin, line.trim_ascii_end());
        line.clear();
    }
}
