//! Checks the front's reader of a mailbox against a malicious worker.

use mehari_wire::{layout, Mailbox};
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

const WRITTEN: usize = offset_of!(layout::Mailbox, ring_written);

/// Makes a mailbox. Returns it with the worker's side.
fn mailbox() -> (Mailbox, File) {
    let mailbox = Mailbox::create().expect("a memory file");
    let memory = mailbox.file().try_clone_to_owned().expect("a descriptor");
    (mailbox, File::from(memory))
}

/// Reads a ring with arbitrary content. The input begins with the length that the worker claims.
pub fn ring(input: &[u8]) {
    let Some((said, bytes)) = input.split_first_chunk::<8>() else {
        return;
    };
    let (mailbox, memory) = mailbox();
    let room = bytes.len().min(layout::RING_SIZE);
    memory
        .write_all_at(&bytes[..room], layout::RING_OFFSET as u64)
        .and_then(|()| memory.write_all_at(said, WRITTEN as u64))
        .expect("the memory file takes it");
    let (mut payload, mut total) = (Vec::new(), 0);
    while let Ok(Some(record)) = mailbox.next_record(&mut payload) {
        assert!(record.length <= layout::RECORD_LIMIT && record.size > 0);
        assert_eq!(payload.len(), record.length);
        total += record.size;
        assert!(
            total <= layout::RING_SIZE as u64,
            "more than the ring holds"
        );
        payload.clear();
    }
}

/// Runs steps of ten bytes each: the operation, the offset of the worker's write, and the written
/// bytes. The front must never report more waiting requests than were submitted, and never read a
/// byte twice.
pub fn positions(input: &[u8]) {
    const WORDS: [usize; 4] = [
        offset_of!(layout::Mailbox, word),
        WRITTEN,
        offset_of!(layout::Mailbox, ring_read),
        layout::RING_OFFSET,
    ];
    let (mut mailbox, memory) = mailbox();
    let (mut held, mut read, mut payload) = (0, 0, Vec::new());
    for step in input.chunks_exact(10).take(200) {
        match step[0] % 6 {
            0 if held < layout::SLOTS => held += u32::from(mailbox.submit().is_ok()),
            1 => held -= u32::from(mailbox.take_back() == Ok(true)),
            2 => assert!(mailbox.waiting().map_or(true, |waiting| waiting <= held)),
            3 => {
                payload.clear();
                if let Ok(Some(record)) = mailbox.next_record(&mut payload) {
                    assert_eq!(payload.len(), record.length);
                    read += record.size;
                }
            }
            4 if held > 0 => {
                mailbox.finish_first();
                held -= 1;
            }
            5 => {
                let place = WORDS[usize::from(step[1]) % WORDS.len()];
                let beside = 8 * (usize::from(step[1]) / WORDS.len());
                let at = place
                    + if place == layout::RING_OFFSET {
                        beside
                    } else {
                        0
                    };
                memory
                    .write_all_at(&step[2..], at as u64)
                    .expect("the memory file takes it");
            }
            _ => {}
        }
        assert!(mailbox.next_slot().len() == layout::SLOT_SIZE);
    }
    let rounds = input.len() as u64 / 10;
    assert!(read <= rounds * layout::RING_SIZE as u64, "read {read}");
}
