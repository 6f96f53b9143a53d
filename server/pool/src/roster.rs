//! Workers come and go: asked for, reported by their zygote, replaced, retired.

use crate::inner::Inner;
use crate::worker::{State, Worker};
use crate::zygote::Zygote;
use mehari_wire::{Mailbox, Message};
use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

impl Inner {
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
            wrote_what_cannot_be: false,
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

    pub fn index_of(&self, pid: u32) -> Option<usize> {
        self.workers
            .iter()
            .position(|worker| worker.as_ref().is_some_and(|worker| worker.pid == pid))
    }

    pub fn forked(&mut self, index: usize, message: &Message) -> Option<u32> {
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
}
