//! The launcher's own side: takes orders until the front closes the socket. The process has become
//! the pool's user before.
//!
//! The front is trusted. The zygotes, which run the pool's code as the same user, get neither the
//! socket nor a sight of this process's memory.

use super::orders;
use crate::memory::{descendants, ProcessMemory};
use crate::perl_side::PerlSide;
use crate::program::{kill_group, kill_one, start_program, ZygoteCommand};
use mehari_wire::{parts, receive_with_files, ControlSocket, Message};
use rustix::fd::OwnedFd;
use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the zygotes may take to end when the front has closed the socket.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest order in bytes. The front sends no longer order.
const LONGEST: usize = 16 << 20;

/// Takes orders until the front closes the socket. Then ends the zygotes that are left.
///
/// # Errors
///
/// The error of receiving an order.
pub fn serve(socket: OwnedFd) -> io::Result<()> {
    let launching = Launching {
        socket: Arc::new(ControlSocket::of(socket)),
        zygotes: Arc::default(),
    };
    launching.send(orders::READY, 0, b"");
    let (mut text, mut files) = (Vec::new(), Vec::new());
    while let Some((message, more)) = receive_with_files(&*launching.socket)? {
        text.extend_from_slice(&message.text);
        files.extend(more);
        if text.len() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if message.head.status == 0 {
            launching.take(&message, &text, std::mem::take(&mut files));
            text.clear();
        }
    }
    launching.end_zygotes();
    Ok(())
}

/// Sends why the process cannot be a launcher, in place of [`orders::READY`].
///
/// # Errors
///
/// The error of sending.
pub fn refuse(socket: OwnedFd, reason: &str) -> io::Result<()> {
    let (_, text) = parts(reason.as_bytes()).next().unwrap_or_default();
    ControlSocket::of(socket).send_part(orders::FAILED, 0, 0, text, &[])
}

struct Launching {
    socket: Arc<ControlSocket>,
    zygotes: Arc<Mutex<BTreeSet<u32>>>,
}

impl Launching {
    fn take(&self, message: &Message, text: &[u8], files: Vec<OwnedFd>) {
        let number = message.head.slot;
        match message.head.kind {
            orders::START => match self.start(text, files) {
                Ok(child) => {
                    let pid = child.id();
                    self.zygotes().insert(pid);
                    self.send(orders::STARTED, number, pid.to_string().as_bytes());
                    self.await_end(child);
                }
                Err(reason) => self.send(orders::FAILED, number, reason.as_bytes()),
            },
            orders::SIGNAL | orders::GROUP | orders::ZYGOTE => self.signal(message.head.kind, text),
            orders::MEMORY => self.read_memory(number, text),
            _ => {}
        }
    }

    fn start(&self, text: &[u8], files: Vec<OwnedFd>) -> Result<Child, String> {
        let command = ZygoteCommand::decode(text).ok_or("an order that cannot be read")?;
        let files: Result<[OwnedFd; 4], _> = files.try_into();
        let [control, page, event, stderr] =
            files.map_err(|_| "an order without its descriptors".to_owned())?;
        let side = PerlSide::ensure(command.interpreter.as_ref());
        let side = side.map_err(|error| error.to_string())?;
        let inherited = [control, page, event];
        let child = start_program(
            &command,
            &side,
            &inherited,
            Stdio::from(stderr),
            |mut program| program.spawn(),
        );
        child.map_err(|error| error.to_string())
    }

    /// Has a thread wait for the zygote, so that no zombie stays.
    fn await_end(&self, mut child: Child) {
        let (socket, zygotes) = (self.socket.clone(), self.zygotes.clone());
        std::thread::spawn(move || {
            let _ = child.wait();
            lock(&zygotes).remove(&child.id());
            let pid = child.id().to_string();
            let _ = socket.send_part(orders::ENDED, 0, 0, pid.as_bytes(), &[]);
        });
    }

    fn signal(&self, kind: u32, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let numbers = text
            .split_once(' ')
            .map(|(pid, signal)| (pid.parse(), signal.parse()));
        let Some((Ok(pid), Ok(signal))) = numbers else {
            return;
        };
        match kind {
            orders::GROUP => kill_group(pid, signal),
            orders::ZYGOTE if !self.zygotes().contains(&pid) => {}
            _ => drop(kill_one(pid, signal)),
        }
    }

    /// Answers with the memory of a process and of those below it.
    fn read_memory(&self, number: u32, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let mut pids = text.split(' ').filter_map(|pid| pid.parse::<u32>().ok());
        let first = pids.next();
        let left_out: Vec<u32> = pids.collect();
        let all = first.into_iter().flat_map(descendants);
        for pid in all.filter(|pid| !left_out.contains(pid)) {
            if let Ok(text) = ProcessMemory::text(pid) {
                let text = format!("{pid}\n{text}");
                self.send(orders::PROCESS, number, text.as_bytes());
            }
        }
        self.send(orders::MEMORY, number, b"");
    }

    fn send(&self, kind: u32, number: u32, text: &[u8]) {
        let (_, text) = parts(text).next().unwrap_or_default();
        // The front may have gone. The next order shows that.
        let _ = self.socket.send_part(kind, number, 0, text, &[]);
    }

    /// Waits for the zygotes, whose own sockets the front has closed. Kills those that stay.
    fn end_zygotes(&self) {
        let until = Instant::now() + PATIENCE;
        while !self.zygotes().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        for pid in self.zygotes().iter() {
            kill_group(*pid, libc::SIGKILL);
        }
    }

    fn zygotes(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        lock(&self.zygotes)
    }
}

fn lock(zygotes: &Mutex<BTreeSet<u32>>) -> MutexGuard<'_, BTreeSet<u32>> {
    zygotes.lock().unwrap_or_else(PoisonError::into_inner)
}
