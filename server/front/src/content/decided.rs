//! Which coding the last client got that asked for a file, for the next one that says the same: most of them do.

use crate::content::resource::Resource;
use mehari_config::{Coding, Settings};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// What is longer is decided each time.
const LONGEST: usize = 256;

/// `None`: the file has no filter. `Some(None)`: it has, and this client gets it plain.
pub type Choice = Option<Option<Coding>>;

/// Beside the target of a file: its neighbours count, too.
#[derive(Debug, Default)]
pub struct Decided(RefCell<Option<Decision>>);

#[derive(Debug)]
struct Decision {
    settings: Arc<Settings>,
    resource: Weak<Resource>,
    accepted: Vec<u8>,
    choice: Choice,
}

impl Decided {
    /// The choice of one who accepts this, where settings and file are the same: `decide` makes it.
    pub fn choice(
        &self,
        settings: &Arc<Settings>,
        resource: &Rc<Resource>,
        accepted: &[u8],
        decide: impl FnOnce() -> Choice,
    ) -> Choice {
        let mut last = self.0.borrow_mut();
        let same = |last: &&Decision| {
            Arc::ptr_eq(&last.settings, settings)
                && last.resource.as_ptr() == Rc::as_ptr(resource)
                && last.accepted == accepted
        };
        if let Some(last) = last.as_ref().filter(same) {
            return last.choice;
        }
        let choice = decide();
        if accepted.len() <= LONGEST {
            *last = Some(Decision {
                settings: settings.clone(),
                resource: Rc::downgrade(resource),
                accepted: accepted.to_vec(),
                choice,
            });
        }
        choice
    }
}
