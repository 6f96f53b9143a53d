//! The request of the slice that runs, and what all requests share.
#![allow(unsafe_code)] // functions that Lua calls are given nothing but where to look

use crate::refusal::Refusal;
use crate::visit::{Source, Visit, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::mem::transmute;
use std::rc::Rc;

/// What a slice is about. It may be used by one function at a time.
#[derive(Clone, Copy)]
pub struct Lent {
    pub visit: *mut Visit,
    pub source: Option<*const dyn Source>,
}

pub struct Current {
    /// Between slices there is none.
    lent: Cell<Option<Lent>>,
    pub world: Rc<dyn World>,
    /// `lighty.status`: numbers that outlive requests.
    pub counters: RefCell<BTreeMap<Vec<u8>, i64>>,
    end: Cell<End>,
}

/// How the run that ended just now did so.
#[derive(Clone, Copy, Default)]
pub struct End {
    /// The number its script returned.
    pub code: Option<i64>,
    /// What the script was given is as new again.
    pub is_clean: bool,
}

impl Current {
    pub fn new(world: Rc<dyn World>) -> Current {
        Current {
            lent: Cell::new(None),
            world,
            counters: RefCell::default(),
            end: Cell::default(),
        }
    }

    /// Runs a slice on a visit.
    pub fn lend<R>(
        &self,
        visit: &mut Visit,
        source: Option<&dyn Source>,
        slice: impl FnOnce() -> R,
    ) -> R {
        self.end.set(End::default());
        // SAFETY: only the lifetime is changed, which is that of this call: it is forgotten below.
        let source =
            source.map(|source| unsafe { transmute::<&dyn Source, *const dyn Source>(source) });
        self.lent.set(Some(Lent { visit, source }));
        let result = slice();
        self.lent.set(None);
        result
    }

    pub fn lent(&self) -> Option<Lent> {
        self.lent.get()
    }

    /// Calls `what` with the request; `None` outside of slices. `what` calls no script.
    pub fn with<R>(&self, what: impl FnOnce(&mut Visit, Option<&dyn Source>) -> R) -> Option<R> {
        // SAFETY: `lend` holds the only other references, and waits; nothing that is called meanwhile gets here.
        self.lent()
            .map(|lent| unsafe { what(&mut *lent.visit, lent.source.map(|source| &*source)) })
    }

    pub fn note_end(&self, end: End) {
        self.end.set(end);
    }

    pub fn end(&self) -> End {
        self.end.get()
    }
}

impl Visit {
    /// Calls `what` where a script adds so many bytes.
    pub fn adding<R>(
        &mut self,
        bytes: usize,
        what: impl FnOnce(&mut Visit) -> R,
    ) -> Result<R, Refusal> {
        match self.holds(bytes) {
            true => Ok(what(self)),
            false => Err(Refusal::NoMemory),
        }
    }
}
