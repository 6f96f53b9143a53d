//! Keeps compressed forms of stored pages, so each page is compressed once per coding.
//!
//! The compressed pages form two generations. A page moves to the young generation when it is used.
//! When the young generation is full, the old generation is dropped and the young one becomes old.

use bytes::Bytes;
use mehari_config::Coding;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{poll_fn, Future};
use std::task::{Poll, Waker};

/// The page's number, the coding, and the compression level.
pub type CodedPageKey = (u64, Coding, u32);
/// A compressed page. `None`: compression does not make the page smaller.
pub type Coded = Option<Bytes>;

/// The bytes that count for each page in addition to its content.
const OVERHEAD: u64 = 64;

#[derive(Default)]
pub struct CodedPages {
    young: RefCell<HashMap<CodedPageKey, Coded>>,
    old: RefCell<HashMap<CodedPageKey, Coded>>,
    /// The pages that are being compressed, with the wakers of the requests that wait for them.
    making: RefCell<HashMap<CodedPageKey, Vec<Waker>>>,
    /// The bytes of the young generation. `most`: the limit for one generation.
    weight: Cell<u64>,
    most: Cell<u64>,
}

impl CodedPages {
    /// Sets the limit in bytes of both generations together.
    pub fn bound(&self, most: u64) {
        self.most.set(most / 2);
    }

    pub fn find(&self, kept: CodedPageKey) -> Option<Coded> {
        if let Some(bytes) = self.young.borrow().get(&kept) {
            return Some(bytes.clone());
        }
        let bytes = self.old.borrow_mut().remove(&kept)?;
        self.put(kept, bytes.clone());
        Some(bytes)
    }

    /// Returns the compressed page. The first request for a page compresses it with `make`, and
    /// other requests wait.
    pub async fn find_or_make(
        &self,
        kept: CodedPageKey,
        make: impl Future<Output = Coded>,
    ) -> Coded {
        poll_fn(|cx| match self.making.borrow_mut().get_mut(&kept) {
            Some(waiting) => {
                waiting.push(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
        .await;
        if let Some(known) = self.find(kept) {
            return known;
        }
        let _making = Making::begin(self, kept);
        let coded = make.await;
        self.put(kept, coded.clone());
        coded
    }

    pub fn put(&self, kept: CodedPageKey, bytes: Coded) {
        let weight = bytes.as_ref().map_or(0, Bytes::len) as u64 + OVERHEAD;
        if self.weight.get() + weight > self.most.get() {
            self.old.replace(self.young.take());
            self.weight.set(0);
        }
        self.weight.set(self.weight.get() + weight);
        self.young.borrow_mut().insert(kept, bytes);
    }
}

/// While this value lives, other requests wait for the page. The value is also dropped when the
/// client of the compressing request leaves.
struct Making<'p> {
    pages: &'p CodedPages,
    kept: CodedPageKey,
}

impl Making<'_> {
    fn begin(pages: &CodedPages, kept: CodedPageKey) -> Making<'_> {
        pages.making.borrow_mut().insert(kept, Vec::new());
        Making { pages, kept }
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let waiting = self.pages.making.borrow_mut().remove(&self.kept);
        waiting.into_iter().flatten().for_each(Waker::wake);
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
            pages.put(kept(number), Some(Bytes::from_static(&[0; 36])));
            assert!(pages.find(kept(0)).is_some(), "used all the time: {number}");
        }
        assert!(pages.find(kept(1)).is_none());
        let all = pages.young.borrow().len() + pages.old.borrow().len();
        assert!(all <= 20, "{all}");
    }

    /// Of three concurrent requests the first leaves before the page is compressed.
    #[tokio::test]
    async fn one_makes_what_many_want() {
        let pages = CodedPages::default();
        pages.bound(2000);
        let kept = (1, Coding::Gzip, 6);
        let made = Cell::new(0);
        let make = || async {
            made.set(made.get() + 1);
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            Some(Bytes::from_static(b"coded"))
        };
        let mut first = Box::pin(pages.find_or_make(kept, make()));
        let began = poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_pending())).await;
        assert!(began);
        let rest = async {
            tokio::join!(
                pages.find_or_make(kept, make()),
                pages.find_or_make(kept, make())
            )
        };
        let gone = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        let ((one, other), ()) = tokio::join!(rest, gone);
        assert_eq!(
            (one.as_deref(), other.as_deref()),
            (Some(&b"coded"[..]), Some(&b"coded"[..]))
        );
        assert_eq!(
            made.get(),
            2,
            "once for the client that left, and once for one of the others"
        );
    }
}
