//! Defines the two handshakes of a mailbox as functions over atomics, so that a model checker can
//! run them.
//!
//! *Taking*: `word` holds {submitted, taken}. The front adds to the low half, and the worker adds
//! to the high half. The front may take back a request that is submitted and not taken.
//!
//! *Sleeping*: a side that is about to sleep first publishes its sleep flag and then looks for
//! work. A side that has published work then looks at the other side's sleep flag. All accesses are
//! `SeqCst`: with a weaker ordering one side can miss the other side's write.

/// Returns the number of requests submitted: the low half of the word.
pub fn submitted(word: u64) -> u32 {
    word as u32
}

/// Returns the number of requests taken: the high half of the word.
pub fn taken(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Joins both halves into one word.
pub fn word(submitted: u32, taken: u32) -> u64 {
    u64::from(taken) << 32 | u64::from(submitted)
}

/// Returns the word after one more submission. The low half wraps without touching the high half.
pub fn after_submit(of: u64) -> u64 {
    word(submitted(of).wrapping_add(1), taken(of))
}

/// Returns the word after the front takes back its last submission, or `None` if the worker has
/// taken all requests.
pub fn after_take_back(of: u64) -> Option<u64> {
    (submitted(of) != taken(of)).then(|| word(submitted(of).wrapping_sub(1), taken(of)))
}

/// Returns the word after the worker takes one request, or `None` if no request waits.
pub fn after_take(of: u64) -> Option<u64> {
    (submitted(of) != taken(of)).then(|| word(submitted(of), taken(of).wrapping_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_wraps_without_a_carry_into_the_other() {
        let full = word(u32::MAX, 7);
        assert_eq!(after_submit(full), word(0, 7));
        assert_eq!(after_take_back(word(0, 7)), Some(word(u32::MAX, 7)));
        assert_eq!(after_take(word(0, u32::MAX)), Some(word(0, 0)));
    }

    #[test]
    fn an_empty_mailbox_has_nothing_to_take_or_take_back() {
        assert_eq!(after_take(word(5, 5)), None);
        assert_eq!(after_take_back(word(5, 5)), None);
    }
}
