//! Tests a worker that writes arbitrary bytes into its mailbox. The front notices, and reads or
//! runs nothing twice.

use mehari_wire::layout::{self, RECORD_LIMIT, RING_OFFSET, RING_SIZE, SLOTS};
use mehari_wire::{handshake, Corrupt, Mailbox};
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

/// The worker's end of the mailbox: the file of its memory.
struct Worker(File);

impl Worker {
    fn of(mailbox: &Mailbox) -> Worker {
        let file = mailbox.file().try_clone_to_owned();
        Worker(File::from(file.expect("a descriptor")))
    }

    fn get(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, at as u64).expect("within");
        u64::from_ne_bytes(bytes)
    }

    fn set(&self, at: usize, value: u64) {
        self.0
            .write_all_at(&value.to_ne_bytes(), at as u64)
            .expect("within");
    }

    fn take(&self) {
        let word = handshake::after_take(self.get(WORD)).expect("one is there");
        self.set(WORD, word);
    }

    /// Writes a `LOG` record with eight bytes of text.
    fn put(&self, text: u64) {
        let written = self.get(WRITTEN);
        let header = 8u64 | u64::from(layout::record::LOG) << 32;
        for (place, value) in [(written, header), (written + 8, text)] {
            self.set(RING_OFFSET + place as usize % RING_SIZE, value);
        }
        self.set(WRITTEN, written + 16);
    }
}

const WORD: usize = offset_of!(layout::Mailbox, word);
const WRITTEN: usize = offset_of!(layout::Mailbox, ring_written);
const READ: usize = offset_of!(layout::Mailbox, ring_read);

/// Generates pseudo-random numbers, which are equal in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[test]
fn a_sound_worker_is_never_reported_as_corrupt() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut mailbox = Mailbox::create().expect("a memory file");
    let worker = Worker::of(&mailbox);
    let (mut held, mut taken, mut read, mut wrote) = (0u32, 0u32, 0u64, 0u64);
    for _ in 0..20_000 {
        match numbers.below(5) {
            0 if held < SLOTS => {
                mailbox.next_slot()[0] = 1;
                mailbox.submit().expect("sound");
                held += 1;
            }
            1 if taken == 0 && held > 0 => {
                worker.take();
                taken = 1;
            }
            2 if taken == 1 => {
                (held, taken) = (held - 1, 0);
                mailbox.finish_first();
            }
            3 => {
                let free = held > taken;
                assert_eq!(mailbox.take_back(), Ok(free));
                held -= u32::from(free);
            }
            4 => {
                worker.put(wrote);
                wrote += 1;
                let mut text = Vec::new();
                let record = mailbox.next_record(&mut text).expect("sound");
                assert_eq!(record.map(|record| record.length), Some(8));
                assert_eq!(text, read.to_ne_bytes());
                read += 1;
            }
            _ => {}
        }
        assert_eq!(mailbox.waiting(), Ok(held - taken));
    }
}

/// The front accepts an arbitrary word only if no request is counted twice, lost or invented.
#[test]
fn an_overwritten_word_is_accepted_only_if_it_is_possible() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for _ in 0..5_000 {
        let mailbox = Mailbox::create().expect("a memory file");
        let worker = Worker::of(&mailbox);
        let held = 1 + numbers.below(u64::from(SLOTS)) as u32;
        (0..held).for_each(|_| mailbox.submit().expect("sound"));
        let taken = numbers.below(u64::from(held) + 1) as u32;
        (0..taken).for_each(|_| worker.take());
        assert_eq!(mailbox.waiting(), Ok(held - taken));
        let near = |numbers: &mut Numbers| numbers.below(10) as u32;
        let (submitted, said) = match numbers.below(3) {
            0 => (numbers.next() as u32, numbers.next() as u32),
            1 => (held, near(&mut numbers).wrapping_sub(3)),
            _ => (near(&mut numbers).wrapping_sub(3), near(&mut numbers)),
        };
        worker.set(WORD, handshake::word(submitted, said));
        let could_be = submitted == held && said >= taken && said <= held;
        let waiting = mailbox.waiting();
        assert_eq!(
            waiting.is_ok(),
            could_be,
            "{submitted} {said} of {held} {taken}"
        );
        assert_eq!(mailbox.take_back().is_ok(), could_be);
        if !could_be {
            assert_eq!(mailbox.submit(), Err(Corrupt));
        }
    }
}

#[test]
fn a_record_is_never_read_twice() {
    for (place, value) in [(READ, 0), (WRITTEN, 16), (WRITTEN, 0), (READ, 1 << 40)] {
        let mailbox = Mailbox::create().expect("a memory file");
        let worker = Worker::of(&mailbox);
        (0..3).for_each(|text| worker.put(text));
        let mut text = Vec::new();
        for _ in 0..2 {
            assert!(matches!(mailbox.next_record(&mut text), Ok(Some(_))));
        }
        worker.set(place, value);
        assert_eq!(
            mailbox.next_record(&mut text),
            Err(Corrupt),
            "{place} {value}"
        );
    }
}

/// With random positions and bytes, each record lies within the written bytes, and the reading
/// ends.
#[test]
fn reading_ends_for_any_content_of_the_ring() {
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for _ in 0..300 {
        let mailbox = Mailbox::create().expect("a memory file");
        let worker = Worker::of(&mailbox);
        for at in 0..512 {
            let word = match numbers.below(3) {
                0 => numbers.below(64),
                1 => numbers.next(),
                _ => 0,
            };
            worker.set(RING_OFFSET + at * 8, word);
        }
        let mut total = 0;
        for _ in 0..4 {
            let written = match numbers.below(2) {
                0 => numbers.below(2 * RING_SIZE as u64),
                _ => numbers.next(),
            };
            worker.set(WRITTEN, written);
            let mut payload = Vec::new();
            while let Ok(Some(record)) = mailbox.next_record(&mut payload) {
                assert!(record.length <= RECORD_LIMIT && record.size >= 8);
                assert_eq!(payload.len(), record.length);
                payload.clear();
                total += record.size;
            }
            assert!(total <= 2 * RING_SIZE as u64, "{total}");
        }
    }
}
