//! The front's end of one worker's mailbox.
//!
//! The worker can write every byte of it. So the front keeps what it knows itself (what it has submitted, how far it has
//! read, how far the worker was) and holds every position it finds against that: what cannot be is [`Corrupt`].

use crate::handshake;
use crate::layout::{self, Request, MAGIC, MAILBOX_SIZE, SLOTS, SLOTS_OFFSET, SLOT_SIZE, VERSION};
use crate::memory::Memory;
use crate::ring::{Corrupt, Record};
use rustix::fd::BorrowedFd;
use std::cell::Cell;
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

pub struct Mailbox {
    memory: Memory,
    known: Known,
}

/// Where both sides were when the front last looked or wrote. Counts wrap.
#[derive(Default)]
struct Known {
    submitted: Cell<u32>,
    taken: Cell<u32>,
    /// Requests whose end has been read; the first one held is the next.
    finished: Cell<u32>,
    written: Cell<u64>,
    read: Cell<u64>,
}

/// A sound worker changes the word once for each request it has; who changes it more often means no good.
const CHANGES_MEANWHILE: usize = 4 * SLOTS as usize;

impl Mailbox {
    pub fn create() -> io::Result<Mailbox> {
        let memory = Memory::create("mehari-mailbox", MAILBOX_SIZE)?;
        let head = memory.at(0, std::mem::size_of::<layout::Mailbox>());
        // SAFETY: nobody else has the file yet; the mapping is zeroed and aligned.
        unsafe {
            let head = head.cast::<layout::Mailbox>();
            (*head).magic = MAGIC;
            (*head).version = VERSION;
        }
        Ok(Mailbox {
            memory,
            known: Known::default(),
        })
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    fn words(&self) -> &layout::Mailbox {
        let head = self.memory.at(0, std::mem::size_of::<layout::Mailbox>());
        // SAFETY: aligned, inside the mapping; all that changes in it is atomic.
        unsafe { &*head.cast::<layout::Mailbox>() }
    }

    /// The bytes of the slot the next submission uses. The caller has fewer than `SLOTS` requests in it.
    pub fn next_slot(&mut self) -> &mut [u8] {
        self.slot(self.known.submitted.get() % SLOTS)
    }

    /// The bytes of the last submission, after it was taken back.
    pub fn taken_back_slot(&mut self) -> &mut [u8] {
        self.next_slot()
    }

    /// The bytes of the first request that has not ended.
    pub fn first_slot(&mut self) -> &mut [u8] {
        self.slot(self.known.finished.get() % SLOTS)
    }

    /// The first request's end has been read: its slot is free.
    pub fn finish_first(&self) {
        let finished = self.known.finished.get();
        self.known.finished.set(finished.wrapping_add(1));
    }

    fn slot(&mut self, index: u32) -> &mut [u8] {
        let at = self
            .memory
            .at(SLOTS_OFFSET + index as usize * SLOT_SIZE, SLOT_SIZE);
        // SAFETY: inside the mapping; a sound worker does not touch a slot that is not submitted, and a
        // broken one can change bytes only: nothing here depends on their value.
        unsafe { std::slice::from_raw_parts_mut(at, SLOT_SIZE) }
    }

    /// Publishes the slot just filled. The worker is woken by `wake`, later.
    pub fn submit(&self) -> Result<(), Corrupt> {
        self.change(|word| Some(handshake::after_submit(word)))
            .map(drop)
    }

    /// Takes the last submission back, unless the worker has it.
    pub fn take_back(&self) -> Result<bool, Corrupt> {
        self.change(handshake::after_take_back)
    }

    fn change(&self, next: impl Fn(u64) -> Option<u64>) -> Result<bool, Corrupt> {
        let word = &self.words().word.0;
        let mut now = word.load(SeqCst);
        for _ in 0..CHANGES_MEANWHILE {
            self.check(now)?;
            let Some(wanted) = next(now) else {
                return Ok(false);
            };
            match word.compare_exchange(now, wanted, SeqCst, SeqCst) {
                Ok(_) => {
                    self.known.submitted.set(handshake::submitted(wanted));
                    return Ok(true);
                }
                Err(other) => now = other,
            }
        }
        Err(Corrupt)
    }

    /// What the front submitted is its own to know; the worker has taken what it has ended and what it had before, and
    /// no more than there is.
    fn check(&self, word: u64) -> Result<(), Corrupt> {
        let (submitted, taken) = (handshake::submitted(word), handshake::taken(word));
        let since_end = |count: u32| count.wrapping_sub(self.known.finished.get());
        let is_sound = submitted == self.known.submitted.get()
            && since_end(taken) <= since_end(submitted)
            && taken.wrapping_sub(self.known.taken.get()) <= SLOTS;
        if !is_sound {
            return Err(Corrupt);
        }
        self.known.taken.set(taken);
        Ok(())
    }

    /// Requests submitted that the worker has not begun.
    pub fn waiting(&self) -> Result<u32, Corrupt> {
        let word = self.words().word.0.load(SeqCst);
        self.check(word)?;
        Ok(handshake::submitted(word).wrapping_sub(handshake::taken(word)))
    }

    /// Wakes the worker if it sleeps. True: a system call was made.
    pub fn wake(&self) -> bool {
        let sleeps = &self.words().worker_sleeps.0;
        if sleeps.load(SeqCst) != 1 || sleeps.swap(0, SeqCst) != 1 {
            return false;
        }
        futex_wake(sleeps);
        true
    }

    /// Wakes the worker so that it looks whether its socket is closed.
    pub fn wake_always(&self) {
        let sleeps = &self.words().worker_sleeps.0;
        sleeps.store(0, SeqCst);
        futex_wake(sleeps);
    }

    /// Bytes the worker has written and the front has not read. What cannot be is `Corrupt`: more than there is room for,
    /// less than there was, or another place for the front than it is at.
    pub fn unread(&self) -> Result<u64, Corrupt> {
        let written = self.words().ring_written.0.load(SeqCst);
        let read = self.known.read.get();
        let unread = written.wrapping_sub(read);
        let before = self.known.written.get().wrapping_sub(read);
        let is_sound = unread <= layout::RING_SIZE as u64
            && unread >= before
            && self.words().ring_read.0.load(Relaxed) == read;
        if !is_sound {
            return Err(Corrupt);
        }
        self.known.written.set(written);
        Ok(unread)
    }

    /// The next record, its payload appended to `into`; `None`: there is none. The room it took is
    /// free again only after `release`.
    pub fn next_record(&self, into: &mut Vec<u8>) -> Result<Option<Record>, Corrupt> {
        let unread = self.unread()?;
        if unread == 0 {
            return Ok(None);
        }
        let read = self.known.read.get();
        let ring = self.memory.at(layout::RING_OFFSET, layout::RING_SIZE);
        // SAFETY: the ring is inside the mapping for its whole size.
        let record = unsafe { crate::ring::read(ring, read, unread, into)? };
        let next = read.wrapping_add(record.size);
        self.known.read.set(next);
        self.words().ring_read.0.store(next, SeqCst);
        Ok(Some(record))
    }

    /// Wakes a worker that waits for room in the ring.
    pub fn release(&self) {
        let waits = &self.words().worker_waits_for_room.0;
        if waits.load(SeqCst) == 1 && waits.swap(0, SeqCst) == 1 {
            futex_wake(waits);
        }
    }

    /// The process that serves for the worker, by what the worker says; 0: none.
    pub fn child(&self) -> u32 {
        self.words().scoreboard.0.child.load(Relaxed)
    }

    /// Where the answer to the worker's question goes. The worker waits, and reads it after `answer`.
    pub fn answer_room(&mut self) -> &mut [u8] {
        let at = self.memory.at(layout::ANSWER_OFFSET, layout::ANSWER_SIZE);
        // SAFETY: inside the mapping; a sound worker does not touch it before it is answered, and a broken one can
        // change bytes only.
        unsafe { std::slice::from_raw_parts_mut(at, layout::ANSWER_SIZE) }
    }

    /// The answer is there.
    pub fn answer(&self) {
        let answered = &self.words().answered.0;
        answered.fetch_add(1, SeqCst);
        futex_wake(answered);
    }

    /// What the worker says it is doing: state, request, requests finished.
    pub fn scoreboard(&self) -> (u32, u64, u64) {
        let board = &self.words().scoreboard.0;
        (
            board.state.load(Relaxed),
            board.request_id.load(Relaxed),
            board.finished.load(Relaxed),
        )
    }
}

/// The request header at the start of a slot.
pub fn write_request(slot: &mut [u8], request: &Request) {
    let size = std::mem::size_of::<Request>();
    assert!(slot.len() >= size);
    // SAFETY: `Request` is plain integers without padding that matters; the slot is long enough.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (request as *const Request).cast::<u8>(),
            slot.as_mut_ptr(),
            size,
        );
    }
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the address of a live atomic; FUTEX_WAKE does not touch memory. Not PRIVATE: another process waits.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1);
    }
}

/// The request at the start of a frame; `None`: it is too short to be one.
pub fn read_request(frame: &[u8]) -> Option<Request> {
    let size = std::mem::size_of::<Request>();
    // SAFETY: long enough, read without regard to alignment, and of integers every value is one.
    (frame.len() >= size).then(|| unsafe { std::ptr::read_unaligned(frame.as_ptr().cast()) })
}
