//! Remembers the coding that the last client got for a file, because most clients send the same
//! Accept-Encoding.

use crate::content::resource::Resource;
use mehari_config::{Coding, Settings};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The longest Accept-Encoding that is remembered, in bytes.
const LONGEST: usize = 256;

/// `None`: the file has no filter. `Some(None)`: the client gets the file uncompressed.
pub type Choice = Option<Option<Coding>>;

/// The last choice for a file. The file's target keeps it, because the choice depends on the file's
/// neighbours too.
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
    /// Returns the choice for this field. `decide` is called only if the field, the settings or the
    /// file differ from the last call's.
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
