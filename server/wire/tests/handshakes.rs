//! Tests the mailbox's two handshakes with a model checker. The checker tries every interleaving of
//! a front and a worker, with the reorderings of the memory model.
//!
//! The checker treats a `SeqCst` access as acquire or release only. Each side of a model therefore
//! has a fence in place of its pair of `SeqCst` accesses. If one of the fences is removed, the
//! models fail.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p mehari-wire --test handshakes`.
#![cfg(loom)]

use loom::sync::atomic::Ordering::{Acquire, SeqCst};
use loom::sync::atomic::{fence, AtomicU32, AtomicU64};
use loom::sync::Arc;
use loom::thread;
use mehari_wire::handshake::{after_submit, after_take, after_take_back, submitted, taken};

fn change(word: &AtomicU64, next: impl Fn(u64) -> Option<u64>) -> bool {
    word.fetch_update(SeqCst, Acquire, next).is_ok()
}

/// A submitted request is either run by the worker or taken back by the front, exactly once.
#[test]
fn a_request_is_either_taken_or_taken_back() {
    loom::model(|| {
        let word = Arc::new(AtomicU64::new(0));
        change(&word, |word| Some(after_submit(word)));
        change(&word, |word| Some(after_submit(word)));
        let worker = {
            let word = word.clone();
            thread::spawn(move || (0..2).filter(|_| change(&word, after_take)).count())
        };
        let back = (0..2).filter(|_| change(&word, after_take_back)).count();
        let run = worker.join().expect("the worker ends");
        assert_eq!(run + back, 2);
        let end = word.load(SeqCst);
        assert_eq!(submitted(end), taken(end));
    });
}

/// The front publishes a request and then reads the sleep flag. The worker sets the sleep flag and
/// then looks for work. At least one side sees the other side's write.
#[test]
fn a_worker_never_sleeps_while_a_request_is_published() {
    loom::model(|| {
        let word = Arc::new(AtomicU64::new(0));
        let sleeps = Arc::new(AtomicU32::new(0));
        let worker = {
            let (word, sleeps) = (word.clone(), sleeps.clone());
            thread::spawn(move || {
                sleeps.store(1, SeqCst);
                fence(SeqCst);
                let now = word.load(SeqCst);
                submitted(now) != taken(now)
            })
        };
        change(&word, |word| Some(after_submit(word)));
        fence(SeqCst);
        let woken = sleeps.load(SeqCst) == 1 && sleeps.swap(0, SeqCst) == 1;
        let saw_work = worker.join().expect("the worker ends");
        assert!(woken || saw_work, "the worker sleeps and nobody wakes it");
    });
}

/// The worker writes a record and then reads the front's sleep flag. The front sets its sleep flag
/// and then looks for records.
#[test]
fn the_front_never_parks_while_a_record_is_written() {
    loom::model(|| {
        let written = Arc::new(AtomicU64::new(0));
        let front_sleeps = Arc::new(AtomicU32::new(0));
        let worker = {
            let (written, front_sleeps) = (written.clone(), front_sleeps.clone());
            thread::spawn(move || {
                written.store(8, SeqCst);
                fence(SeqCst);
                front_sleeps.load(SeqCst) == 1 && front_sleeps.swap(0, SeqCst) == 1
            })
        };
        front_sleeps.store(1, SeqCst);
        fence(SeqCst);
        let saw_record = written.load(SeqCst) == 8;
        let rung = worker.join().expect("the worker ends");
        assert!(rung || saw_record, "the front parks and nobody rings");
    });
}
