//! The requests that make pages. While a request makes a page, the other requests for the page
//! wait.
//!
//! Only requests for the same variant wait for each other, as far as the page's `Vary` is known:
//! from a stored variant, or from the head of a response that is arriving.

use mehari_cache::{vary, Field, Varied};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{poll_fn, Future};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub struct Makers {
    by_key: RefCell<HashMap<Rc<[u8]>, Vec<Maker>>>,
    /// How many requests have become the maker of a page.
    count: Cell<u64>,
}

/// A request that has a program make a page.
struct Maker {
    number: u64,
    since: Instant,
    /// The fields of the request that `Vary` names. `None`: Vary is not known yet.
    variant: Option<Varied>,
    /// How often the variant has changed.
    revision: u32,
    waiting: Vec<Waker>,
    /// The status with which the program failed. The waiting requests read it. 0: the program has
    /// not failed.
    failure: Rc<Cell<u16>>,
}

/// The maker for which a request must wait.
pub struct Awaited {
    key: Rc<[u8]>,
    number: u64,
    revision: u32,
    /// When the maker has begun.
    pub since: Instant,
    /// The status with which the maker fails, or 0.
    pub failure: Rc<Cell<u16>>,
}

impl Maker {
    fn makes_page_for(&self, asked: &[Field<'_>]) -> bool {
        let variant = self.variant.as_ref();
        variant.is_none_or(|variant| vary::fits(variant, asked))
    }

    fn wake_all(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl Makers {
    /// Registers a request with these fields as the maker of a page, and returns its number. A
    /// maker that exceeds `limit` is replaced. `stored`: the fields that a stored variant of the
    /// page names.
    ///
    /// # Errors
    ///
    /// Another request makes the page and has not exceeded `limit`.
    pub fn take(
        &self,
        key: &Rc<[u8]>,
        asked: &[Field<'_>],
        stored: Option<&Varied>,
        limit: Duration,
    ) -> Result<u64, Awaited> {
        let mut by_key = self.by_key.borrow_mut();
        let makers = by_key.entry(key.clone()).or_default();
        let number = self.count.get() + 1;
        let mut all = makers.iter_mut();
        if let Some(maker) = all.find(|maker| maker.makes_page_for(asked)) {
            if maker.since.elapsed() < limit {
                return Err(Awaited {
                    key: key.clone(),
                    number: maker.number,
                    revision: maker.revision,
                    since: maker.since,
                    failure: maker.failure.clone(),
                });
            }
            (maker.number, maker.since) = (number, Instant::now());
        } else {
            let known = makers.iter().find_map(|maker| maker.variant.as_ref());
            let variant = stored.or(known).map(|names| vary::of(names, asked));
            makers.push(Maker {
                number,
                since: Instant::now(),
                variant,
                revision: 0,
                waiting: Vec::new(),
                failure: Rc::default(),
            });
        }
        self.count.set(number);
        Ok(number)
    }

    /// Whether the request with this number is still a maker of the page.
    pub fn is_making(&self, key: &[u8], number: u64) -> bool {
        self.with(key, number, |_| ()).is_some()
    }

    /// Notes the variant that a maker makes. Requests for other variants stop waiting.
    pub fn note_variant(&self, key: &[u8], number: u64, variant: &Varied) {
        self.with(key, number, |maker| {
            if maker.variant.as_ref() != Some(variant) {
                maker.variant = Some(variant.clone());
                maker.revision += 1;
                maker.wake_all();
            }
        });
    }

    /// Notes that the program has failed for a maker. All requests that wait for it get the same
    /// status.
    pub fn fail(&self, key: &[u8], number: u64, status: u16) {
        self.with(key, number, |maker| {
            std::mem::take(&mut maker.failure).set(status);
            maker.wake_all();
        });
    }

    /// Removes a maker. The waiting requests look for the page again.
    pub fn give_back(&self, key: &[u8], number: u64) {
        self.with(key, number, Maker::wake_all);
        let mut by_key = self.by_key.borrow_mut();
        if let Some(makers) = by_key.get_mut(key) {
            makers.retain(|maker| maker.number != number);
            if makers.is_empty() {
                by_key.remove(key);
            }
        }
    }

    /// Waits until a maker has ended, has failed, or makes another variant than before.
    pub fn wait(self: &Rc<Makers>, awaited: Awaited) -> impl Future<Output = ()> {
        let makers = self.clone();
        poll_fn(move |cx| {
            let waits = makers.with(&awaited.key, awaited.number, |maker| {
                let waits = awaited.failure.get() == 0 && maker.revision == awaited.revision;
                if waits {
                    maker.waiting.push(cx.waker().clone());
                }
                waits
            });
            match waits {
                Some(true) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
    }

    fn with<R>(&self, key: &[u8], number: u64, with: impl FnOnce(&mut Maker) -> R) -> Option<R> {
        let mut by_key = self.by_key.borrow_mut();
        let mut makers = by_key.get_mut(key)?.iter_mut();
        makers.find(|maker| maker.number == number).map(with)
    }
}
