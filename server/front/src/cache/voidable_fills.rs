//! Lists the responses that are about to be stored. A purge voids these responses too.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

#[derive(Default)]
pub struct Fills(Rc<RefCell<Vec<RunningFill>>>);

struct RunningFill {
    key: Rc<[u8]>,
    fill: Weak<Cell<bool>>,
}

/// A response that will be stored unless a purge voids it.
pub struct Fill {
    fills: Rc<RefCell<Vec<RunningFill>>>,
    is_void: Rc<Cell<bool>>,
}

impl Fills {
    pub fn begin(&self, key: &Rc<[u8]>) -> Fill {
        let is_void = Rc::new(Cell::new(false));
        self.0.borrow_mut().push(RunningFill {
            key: key.clone(),
            fill: Rc::downgrade(&is_void),
        });
        Fill {
            fills: self.0.clone(),
            is_void,
        }
    }

    /// Voids the responses for whose keys `is_meant` returns true.
    pub fn void(&self, is_meant: impl Fn(&[u8]) -> bool) {
        for entry in self.0.borrow().iter().filter(|entry| is_meant(&entry.key)) {
            if let Some(is_void) = entry.fill.upgrade() {
                is_void.set(true);
            }
        }
    }
}

impl Fill {
    pub fn is_void(&self) -> bool {
        self.is_void.get()
    }
}

impl Drop for Fill {
    fn drop(&mut self) {
        let own = Rc::as_ptr(&self.is_void);
        self.fills
            .borrow_mut()
            .retain(|entry| entry.fill.as_ptr() != own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_on_its_way_is_void() {
        let fills = Fills::default();
        let (one, other): (Rc<[u8]>, Rc<[u8]>) = (b"one"[..].into(), b"other"[..].into());
        let (first, second) = (fills.begin(&one), fills.begin(&other));
        fills.void(|key| key == b"one");
        let later = fills.begin(&one);
        assert!(first.is_void() && !second.is_void() && !later.is_void());
        drop((first, second, later));
        assert!(fills.0.borrow().is_empty());
    }
}
