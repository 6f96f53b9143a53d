//! Keeps buffers so that later connections use them again. With one connection per request,
//! allocating new buffers would cost more than reading the request.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

/// Unused values of one kind.
pub type Pool<T> = RefCell<Vec<T>>;

/// The largest number of values in a pool.
const KEPT: usize = 256;

/// Takes a value from the pool. Returns `None` if the pool is empty.
pub fn take<T>(spares: &'static LocalKey<Pool<T>>) -> Option<T> {
    // A thread that is ending has lost its pool already.
    let taken = spares.try_with(|spares| spares.borrow_mut().pop());
    taken.ok().flatten()
}

/// Puts a value into the pool.
pub fn give<T>(spares: &'static LocalKey<Pool<T>>, thing: T) {
    let _ = spares.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.len() < KEPT {
            spares.push(thing);
        }
    });
}

/// The first capacity of a buffer. Most heads and small responses fit into this many bytes.
const INITIAL: usize = 2048;
/// Buffers with a larger capacity are freed instead of kept.
const LARGEST: usize = 8 * 1024;

thread_local! {
    static BUFFERS: Pool<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A byte buffer that returns its memory to the pool when it is dropped.
#[derive(Debug, Default)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// Returns an empty buffer with capacity. The default buffer has no capacity.
    #[inline]
    pub fn with_room() -> Buffer {
        Buffer(take(&BUFFERS).unwrap_or_else(|| Vec::with_capacity(INITIAL)))
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Buffer {
        Buffer(bytes)
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;
    #[inline]
    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if (INITIAL..=LARGEST).contains(&self.0.capacity()) {
            self.0.clear();
            give(&BUFFERS, std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_unless_it_grew_large() {
        let mut buffer = Buffer::with_room();
        buffer.extend_from_slice(b"x");
        let place = buffer.as_ptr();
        drop(buffer);
        let again = Buffer::with_room();
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        drop(again);
        let mut large = Buffer::with_room();
        large.reserve(2 * LARGEST);
        drop(large);
        assert!(Buffer::with_room().capacity() <= LARGEST);
    }

    thread_local! {
        static WORDS: Pool<String> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn take_returns_given_values_and_a_full_pool_drops_further_values() {
        assert_eq!(take(&WORDS), None);
        give(&WORDS, "one".into());
        assert_eq!(take(&WORDS).as_deref(), Some("one"));
        for _ in 0..=KEPT {
            give(&WORDS, String::new());
        }
        assert_eq!(WORDS.with_borrow(Vec::len), KEPT);
    }
}
