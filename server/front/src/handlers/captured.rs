//! Stores the response of a program in the cache on its way to the client.
//!
//! Only complete bodies are stored. If a body breaks off, is too long, or has another length than
//! announced, the cache is unchanged. If the client leaves early, the cache is unchanged too, and a
//! request that waits for the page asks the program itself.

use crate::cache::fill_lock::{FillLock, UNKEPT};
use crate::handlers::{Backend, Fault};
use mehari_cache::Page;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::SystemTime;

pub struct Captured {
    inner: Backend,
    /// `None`: the response has been stored, or will not be stored.
    open: Option<Open>,
}

struct Open {
    fill_lock: Box<FillLock>,
    page: Page,
    body: Vec<u8>,
    /// The lengths in bytes that a stored body may have.
    sizes: RangeInclusive<u64>,
    length: Option<u64>,
}

impl Captured {
    /// `sizes`: the lengths in bytes that a stored body may have. `length`: the announced length.
    pub fn new(
        inner: Backend,
        fill_lock: Box<FillLock>,
        page: Page,
        sizes: RangeInclusive<u64>,
        length: Option<u64>,
    ) -> Captured {
        let open = Open {
            fill_lock,
            page,
            body: Vec::new(),
            sizes,
            length,
        };
        Captured {
            inner,
            open: Some(open),
        }
    }

    pub fn inner(&self) -> &Backend {
        &self.inner
    }

    pub fn inner_mut(&mut self) -> &mut Backend {
        &mut self.inner
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        let before = into.len();
        let said = self.inner.poll_body(cx, into, room);
        let Some(open) = &mut self.open else {
            return said;
        };
        open.body.extend_from_slice(&into[before..]);
        let too_long = open.body.len() as u64 > *open.sizes.end();
        match said {
            Poll::Ready(Err(_)) => self.open = None,
            _ if too_long => {
                let store = &open.fill_lock.cache.store;
                store.refuse(&open.fill_lock.key, SystemTime::now(), UNKEPT);
                self.open = None;
            }
            Poll::Ready(Ok(false)) => {
                if let Some(open) = self.open.take() {
                    open.keep();
                }
            }
            _ => {}
        }
        said
    }
}

impl Open {
    fn keep(self) {
        let length = self.body.len() as u64;
        let is_whole = self.length.is_none_or(|said| said == length);
        if !is_whole || length < *self.sizes.start() {
            return;
        }
        let page = Page {
            body: self.body.into(),
            ..self.page
        };
        self.fill_lock.store(Rc::new(page));
    }
}
