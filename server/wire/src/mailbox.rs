//! Implements the front's end of one worker's mailbox.
//!
//! The worker can write every byte of the mailbox. The front therefore keeps its own copy of what
//! it has submitted and read, and checks every position against this copy. An impossible position
//! is [`Corrupt`].

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
    known: Positions,
}

/// The positions of both sides when the front last looked or wrote. The counts wrap.
#[derive(Default)]
struct Positions {
    submitted: Cell<u32>,
    taken: Cell<u32>,
    /// The number of requests whose end the front has read. The slot of the next unfinished request
    /// follows from this count.
    finished: Cell<u32>,
    written: Cell<u64>,
    read: Cell<u64>,
}

/// How often the worker may change the word while the front makes one change. A sound worker
/// changes the word once per request.
const CHANGES_MEANWHILE: usize = 4 * SLOTS as usize;

impl Mailbox {
    /// Makes an empty mailbox in a memory file of its own.
    ///
    /// # Errors
    ///
    /// The error of making or mapping the memory file: no descriptor or no memory is left.
    pub fn create() -> io::Result<Mailbox> {
        let memory = Memory::create("mehari-mailbox", MAILBOX_SIZE)?;
        let head = memory.at(0, std::mem::size_of::<layout::Mailbox>());
        // SAFETY: no other process has the file yet, and the mapping is zeroed and aligned.
        unsafe {
            let head = head.cast::<layout::Mailbox>();
            (*head).magic = MAGIC;
            (*head).version = VERSION;
        }
        Ok(Mailbox {
            memory,
            known: Positions::default(),
        })
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    fn words(&self) -> &layout::Mailbox {
        let head = self.memory.at(0, std::mem::size_of::<layout::Mailbox>());
        // SAFETY: the address is aligned and inside the mapping, and everything that changes there
        // is atomic.
        unsafe { &*head.cast::<layout::Mailbox>() }
    }

    /// Returns the bytes of the slot for the next submission. The mailbox must hold fewer than
    /// `SLOTS` requests.
    pub fn next_slot(&mut self) -> &mut [u8] {
        self.slot(self.known.submitted.get() % SLOTS)
    }

    /// Returns the bytes of the last submission after [`Mailbox::take_back`].
    pub fn taken_back_slot(&mut self) -> &mut [u8] {
        self.next_slot()
    }

    /// Returns the bytes of the first request that has not ended.
    pub fn first_slot(&mut self) -> &mut [u8] {
        self.slot(self.known.finished.get() % SLOTS)
    }

    /// Frees the slot of the first request. The front has read the end of this request.
    pub fn finish_first(&self) {
        let finished = self.known.finished.get();
        self.known.finished.set(finished.wrapping_add(1));
    }

    fn slot(&mut self, index: u32) -> &mut [u8] {
        let at = self
            .memory
            .at(SLOTS_OFFSET + index as usize * SLOT_SIZE, SLOT_SIZE);
        // SAFETY: the slot is inside the mapping. A sound worker does not touch a slot that is not
        // submitted. A broken worker can change bytes only, and no caller depends on their values.
        unsafe { std::slice::from_raw_parts_mut(at, SLOT_SIZE) }
    }

    /// Publishes the slot that was just filled. [`Mailbox::wake`] wakes the worker later.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if the worker has written an impossible word.
    pub fn submit(&self) -> Result<(), Corrupt> {
        self.change(|word| Some(handshake::after_submit(word)))
            .map(drop)
    }

    /// Takes the last submission back. Returns false if the worker has taken the request already.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if the worker has written an impossible word.
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

    /// Checks the word. The submitted half must be the front's own count. The taken half must lie
    /// between the requests that have ended and the requests submitted, and must not go back.
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

    /// Returns the number of requests that the front has submitted and the worker has not begun.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if the worker has written an impossible word.
    pub fn waiting(&self) -> Result<u32, Corrupt> {
        let word = self.words().word.0.load(SeqCst);
        self.check(word)?;
        Ok(handshake::submitted(word).wrapping_sub(handshake::taken(word)))
    }

    /// Tells the worker that the client of its request has left. A request that the worker has not
    /// taken is not marked, because the front can take it back and give its number to the next one.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if the worker has written an impossible word.
    pub fn note_departure(&self) -> Result<(), Corrupt> {
        self.check(self.words().word.0.load(SeqCst))?;
        let first = self.known.finished.get();
        if self.known.taken.get() != first {
            let number = first.wrapping_add(1);
            self.words().departed.0.store(number, Relaxed);
        }
        Ok(())
    }

    /// Wakes the worker if the worker sleeps. Returns true if this took a system call.
    pub fn wake(&self) -> bool {
        let sleeps = &self.words().worker_sleeps.0;
        if sleeps.load(SeqCst) != 1 || sleeps.swap(0, SeqCst) != 1 {
            return false;
        }
        futex_wake(sleeps);
        true
    }

    /// Returns whether the worker sleeps because it has nothing to do.
    pub fn sleeps(&self) -> bool {
        self.words().worker_sleeps.0.load(SeqCst) == 1
    }

    /// Makes the worker look at its socket, which the caller has closed, before it sleeps again.
    pub fn tell_to_end(&self) {
        let sleeps = &self.words().worker_sleeps.0;
        sleeps.store(layout::SLEEPS_NO_MORE, SeqCst);
        futex_wake(sleeps);
    }

    /// Returns the number of bytes that the worker has written and the front has not read.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if the count exceeds the ring or shrinks, or if the worker has changed the
    /// front's reading position.
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

    /// Reads the next record and appends its payload to `into`. Returns `None` if the ring is
    /// empty. If the worker waits for room in the ring, the caller wakes the worker with
    /// [`Mailbox::release`].
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if a position or a length is impossible.
    pub fn next_record(&self, into: &mut Vec<u8>) -> Result<Option<Record>, Corrupt> {
        let unread = self.unread()?;
        if unread == 0 {
            return Ok(None);
        }
        let read = self.known.read.get();
        let ring = self.memory.at(layout::RING_OFFSET, layout::RING_SIZE);
        // SAFETY: the mapping holds the whole ring.
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

    /// Returns the worker's child on the rung `fork`, as the worker reports it, or 0.
    pub fn child(&self) -> u32 {
        self.words().scoreboard.0.child.load(Relaxed)
    }

    /// Returns the answer area. The worker waits, and reads the area after [`Mailbox::answer`].
    pub fn answer_room(&mut self) -> &mut [u8] {
        let at = self.memory.at(layout::ANSWER_OFFSET, layout::ANSWER_SIZE);
        // SAFETY: the area is inside the mapping. A sound worker does not touch the area before the
        // answer. A broken worker can change bytes only.
        unsafe { std::slice::from_raw_parts_mut(at, layout::ANSWER_SIZE) }
    }

    /// Tells the worker that the answer area is filled.
    pub fn answer(&self) {
        let answered = &self.words().answered.0;
        answered.fetch_add(1, SeqCst);
        futex_wake(answered);
    }

    /// Orders the worker to have itself inspected before its next request. Returns false if an
    /// order waits already, or if the text is too long.
    pub fn inspect(&self, order: &str) -> bool {
        let wanted = &self.words().inspection.0;
        if wanted.load(SeqCst) != 0 || order.len() >= layout::INSPECTION_SIZE {
            return false;
        }
        let at = self
            .memory
            .at(layout::INSPECTION_OFFSET, layout::INSPECTION_SIZE);
        // SAFETY: the area is inside the mapping and longer than the order. A sound worker does not
        // touch the area while no order waits. A broken worker can change bytes only.
        unsafe {
            std::ptr::copy_nonoverlapping(order.as_ptr(), at, order.len());
            at.add(order.len()).write(0);
        }
        wanted.store(1, SeqCst);
        self.wake();
        true
    }

    /// Withdraws the order. Returns false if the worker has taken the order.
    pub fn withdraw_inspection(&self) -> bool {
        self.words().inspection.0.swap(0, SeqCst) != 0
    }

    /// Returns the worker's report of itself: its state, its request, and the number of finished
    /// requests.
    pub fn scoreboard(&self) -> (u32, u64, u64) {
        let board = &self.words().scoreboard.0;
        (
            board.state.load(Relaxed),
            board.request_id.load(Relaxed),
            board.finished.load(Relaxed),
        )
    }
}

/// Writes the request header to the start of a slot.
///
/// # Panics
///
/// If the slot is shorter than a request header.
pub fn write_request(slot: &mut [u8], request: &Request) {
    let size = std::mem::size_of::<Request>();
    assert!(slot.len() >= size);
    // SAFETY: `Request` consists of integers, and the slot is long enough.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (request as *const Request).cast::<u8>(),
            slot.as_mut_ptr(),
            size,
        );
    }
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is a live atomic, and FUTEX_WAKE does not touch memory. The futex is not
    // PRIVATE because another process waits.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1);
    }
}

/// Reads the request header at the start of a frame. Returns `None` if the frame is too short.
pub fn read_request(frame: &[u8]) -> Option<Request> {
    let size = std::mem::size_of::<Request>();
    // SAFETY: the frame is long enough, the read needs no alignment, and every bit pattern is a
    // valid integer.
    (frame.len() >= size).then(|| unsafe { std::ptr::read_unaligned(frame.as_ptr().cast()) })
}
