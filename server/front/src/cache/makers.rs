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
    /// Whether a later maker has made the page.
    is_outdated: bool,
}

/// The makers of the page for which a request must wait. Several requests make the page if the
/// first of them has exceeded the limit.
pub struct Awaited {
    key: Rc<[u8]>,
    makers: Vec<AwaitedMaker>,
    /// When the last of the makers has begun.
    pub since: Instant,
}

struct AwaitedMaker {
    number: u64,
    revision: u32,
    /// The status with which the maker fails, or 0.
    failure: Rc<Cell<u16>>,
}

impl Awaited {
    /// Returns the cells that hold the status with which a maker fails, or 0.
    pub fn failures(&self) -> Vec<Rc<Cell<u16>>> {
        let failures = self.makers.iter().map(|maker| maker.failure.clone());
        failures.collect()
    }
}

impl Maker {
    fn makes_page_for(&self, asked: &[Field<'_>]) -> bool {
        let variant = self.variant.as_ref();
        variant.is_none_or(|variant| vary::fits(variant, asked))
    }

    fn awaited(&self) -> AwaitedMaker {
        AwaitedMaker {
            number: self.number,
            revision: self.revision,
            failure: self.failure.clone(),
        }
    }

    fn wake_all(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl Makers {
    /// Registers a request with these fields as a maker of a page, and returns its number.
    /// `stored`: the fields that a stored variant of the page names.
    ///
    /// # Errors
    ///
    /// Another request makes the page, and the last such request has not exceeded `limit`.
    pub fn take(
        &self,
        key: &Rc<[u8]>,
        asked: &[Field<'_>],
        stored: Option<&Varied>,
        limit: Duration,
    ) -> Result<u64, Awaited> {
        let mut by_key = self.by_key.borrow_mut();
        let makers = by_key.entry(key.clone()).or_default();
        let fitting = || makers.iter().filter(|maker| maker.makes_page_for(asked));
        if let Some(last) = fitting().next_back() {
            if last.since.elapsed() < limit {
                return Err(Awaited {
                    key: key.clone(),
                    makers: fitting().map(Maker::awaited).collect(),
                    since: last.since,
                });
            }
        }
        let known = makers.iter().find_map(|maker| maker.variant.as_ref());
        let variant = stored.or(known).map(|names| vary::of(names, asked));
        let number = self.count.get() + 1;
        self.count.set(number);
        makers.push(Maker {
            number,
            since: Instant::now(),
            variant,
            revision: 0,
            waiting: Vec::new(),
            failure: Rc::default(),
            is_outdated: false,
        });
        Ok(number)
    }

    /// Whether a later maker has made the page of this maker.
    pub fn is_outdated(&self, key: &[u8], number: u64) -> bool {
        self.with(key, number, |maker| maker.is_outdated) == Some(true)
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

    /// Notes that a maker has made its page. The responses of earlier makers are not stored if they
    /// may be for the same variant.
    pub fn outdate_earlier(&self, key: &[u8], number: u64) {
        let Some(made) = self.with(key, number, |maker| maker.variant.clone()) else {
            return;
        };
        let mut by_key = self.by_key.borrow_mut();
        let makers = by_key.get_mut(key).into_iter().flatten();
        let may_be_made = |maker: &&mut Maker| maker.variant.is_none() || maker.variant == made;
        let earlier = makers.filter(|maker| maker.number < number && may_be_made(maker));
        earlier.for_each(|maker| maker.is_outdated = true);
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

    /// Waits until one of the makers has ended, has failed, or makes another variant than before.
    pub fn wait(self: &Rc<Makers>, awaited: Awaited) -> impl Future<Output = ()> {
        let makers = self.clone();
        poll_fn(move |cx| {
            let waits = |known: &AwaitedMaker| {
                let waits = makers.with(&awaited.key, known.number, |maker| {
                    maker.waiting.push(cx.waker().clone());
                    known.failure.get() == 0 && maker.revision == known.revision
                });
                waits.unwrap_or(false)
            };
            if awaited.makers.iter().all(waits) {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
    }

    fn with<R>(&self, key: &[u8], number: u64, with: impl FnOnce(&mut Maker) -> R) -> Option<R> {
        let mut by_key = self.by_key.borrow_mut();
        let mut makers = by_key.get_mut(key)?.iter_mut();
        makers.find(|maker| maker.number == number).map(with)
    }
}
