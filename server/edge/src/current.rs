//! Holds the request of the running slice, and the state that all requests share.
#![allow(unsafe_code)] // functions that Lua calls get a raw pointer to the request

use crate::refusal::Refusal;
use crate::visit::{Source, Visit, World};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::mem::transmute;
use std::rc::Rc;

/// The request of the running slice. Only one function at a time may use the request.
#[derive(Clone, Copy)]
pub struct Lent {
    pub visit: *mut Visit,
    pub source: Option<*const dyn Source>,
}

pub struct Current {
    /// `None` between slices.
    lent: Cell<Option<Lent>>,
    pub world: Rc<dyn World>,
    /// The numbers of `lighty.status`, which outlive requests. `None`: another interpreter keeps
    /// them.
    counters: Option<RefCell<BTreeMap<Vec<u8>, i64>>>,
    /// Whether a script asked for counters that this interpreter does not have.
    missed_counters: Cell<bool>,
    end: Cell<End>,
}

/// The end of the last run.
#[derive(Clone, Copy, Default)]
pub struct End {
    /// The number that the script returned.
    pub code: Option<i64>,
    /// Whether the objects given to the script are in their initial state again.
    pub is_clean: bool,
}

impl Current {
    pub fn new(world: Rc<dyn World>, has_counters: bool) -> Current {
        Current {
            lent: Cell::new(None),
            world,
            counters: has_counters.then(RefCell::default),
            missed_counters: Cell::new(false),
            end: Cell::default(),
        }
    }

    /// Runs a slice of a script on a visit.
    pub fn with_visit<R>(
        &self,
        visit: &mut Visit,
        source: Option<&dyn Source>,
        slice: impl FnOnce() -> R,
    ) -> R {
        self.end.set(End::default());
        // SAFETY: the call changes only the lifetime. The pointer lives as long as this function,
        // which clears it below.
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

    /// Calls `what` with the request. Returns `None` outside of slices. `what` must not call a
    /// script.
    pub fn with<R>(&self, what: impl FnOnce(&mut Visit, Option<&dyn Source>) -> R) -> Option<R> {
        // SAFETY: `with_visit` holds the only other references and waits. Nothing that `what` calls
        // comes here again.
        self.lent()
            .map(|lent| unsafe { what(&mut *lent.visit, lent.source.map(|source| &*source)) })
    }

    /// Returns the counters of `lighty.status`.
    ///
    /// # Errors
    ///
    /// This interpreter does not keep them. The run then counts for nothing.
    pub fn counters(&self) -> mlua::Result<RefMut<'_, BTreeMap<Vec<u8>, i64>>> {
        let Some(counters) = &self.counters else {
            self.missed_counters.set(true);
            let text = "another thread keeps the counters";
            return Err(mlua::Error::RuntimeError(text.into()));
        };
        Ok(counters.borrow_mut())
    }

    /// Returns whether a script has missed the counters since the last call.
    pub fn take_missed_counters(&self) -> bool {
        self.missed_counters.take()
    }

    pub fn note_end(&self, end: End) {
        self.end.set(end);
    }

    pub fn end(&self) -> End {
        self.end.get()
    }
}

impl Visit {
    /// Calls `what`, which adds `bytes` bytes to the visit for the script.
    ///
    /// # Errors
    ///
    /// `NoMemory` if the visit has no room for the bytes.
    pub fn with_room_for<R>(
        &mut self,
        bytes: usize,
        what: impl FnOnce(&mut Visit) -> R,
    ) -> Result<R, Refusal> {
        if self.holds(bytes) {
            Ok(what(self))
        } else {
            Err(Refusal::NoMemory)
        }
    }
}
