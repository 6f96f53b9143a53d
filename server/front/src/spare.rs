//! What connections that ended leave for those that begin: with a connection for each request, making
//! their buffers anew would cost more than reading the request.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Things of one kind, each as good as new.
pub type Spares<T> = RefCell<Vec<T>>;

/// More than wait for one another at a time; beyond it they are freed.
const KEPT: usize = 256;

/// One that is left, if there is.
pub fn take<T>(spares: &'static LocalKey<Spares<T>>) -> Option<T> {
    // A thread that ends has none any more.
    let taken = spares.try_with(|spares| spares.borrow_mut().pop());
    taken.ok().flatten()
}

pub fn give<T>(spares: &'static LocalKey<Spares<T>>, thing: T) {
    let _ = spares.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.len() < KEPT {
            spares.push(thing);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static WORDS: Spares<String> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn what_is_given_is_taken_and_only_so_many_are_kept() {
        assert_eq!(take(&WORDS), None);
        give(&WORDS, "one".into());
        assert_eq!(take(&WORDS).as_deref(), Some("one"));
        for _ in 0..=KEPT {
            give(&WORDS, String::new());
        }
        assert_eq!(WORDS.with_borrow(Vec::len), KEPT);
    }
}
