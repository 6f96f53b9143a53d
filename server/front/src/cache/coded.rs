//! Kept pages in the codings their clients took, so that each is compressed once.
//!
//! Two generations: what is used moves to the young one, and when that is full the old one goes.

use bytes::Bytes;
use mehari_config::Coding;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// The page's number, the coding and its level.
pub type Kept = (u64, Coding, u32);

#[derive(Default)]
pub struct CodedPages {
    young: RefCell<HashMap<Kept, Bytes>>,
    old: RefCell<HashMap<Kept, Bytes>>,
    /// Bytes of the young, and how many they may be.
    weight: Cell<u64>,
    most: Cell<u64>,
}

impl CodedPages {
    /// Bytes of both generations together.
    pub fn bound(&self, most: u64) {
        self.most.set(most / 2);
    }

    pub fn find(&self, kept: Kept) -> Option<Bytes> {
        if let Some(bytes) = self.young.borrow().get(&kept) {
            return Some(bytes.clone());
        }
        let bytes = self.old.borrow_mut().remove(&kept)?;
        self.put(kept, bytes.clone());
        Some(bytes)
    }

    pub fn put(&self, kept: Kept, bytes: Bytes) {
        let weight = bytes.len() as u64;
        if self.weight.get() + weight > self.most.get() {
            self.old.replace(self.young.take());
            self.weight.set(0);
        }
        self.weight.set(self.weight.get() + weight);
        self.young.borrow_mut().insert(kept, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_within_the_bound() {
        let pages = CodedPages::default();
        pages.bound(2000);
        let kept = |number| (number, Coding::Gzip, 6);
        for number in 0..100 {
            pages.put(kept(number), Bytes::from_static(&[0; 100]));
            assert!(pages.find(kept(0)).is_some(), "used all the time: {number}");
        }
        assert!(pages.find(kept(1)).is_none());
        let all = pages.young.borrow().len() + pages.old.borrow().len();
        assert!(all <= 20, "{all}");
    }
}
