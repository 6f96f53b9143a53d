//! Keeps parsed pages with server-side includes. `page` parses a page, `arriving` parses a page
//! that arrives in pieces, and `condition` parses the expression of `#if`.
//!
//! `handlers::ssi` processes the elements.

pub mod arriving;
pub mod condition;
pub mod page;

use super::resource::Resource;
use super::stat::stat;
use mehari_config::Settings;
use page::Page;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// The most kept pages.
const PAGES: usize = 1024;
/// The most bytes of kept pages.
const PAGES_BYTES: usize = 64 << 20;

/// The parsed pages. A page is kept while its file is unchanged.
#[derive(Default)]
pub struct Pages {
    known: RefCell<HashMap<Vec<u8>, ParsedPage>>,
    bytes: Cell<usize>,
}

/// The file, whether conditions have the older syntax, and the parsed page.
type ParsedPage = (Weak<Resource>, bool, Rc<Page>);

impl Pages {
    pub fn known(&self, resource: &Rc<Resource>, legacy: bool) -> Option<Rc<Page>> {
        let pages = self.known.borrow();
        let (of, how, page) = pages.get(resource.path())?;
        let same = of.upgrade().is_some_and(|of| Rc::ptr_eq(&of, resource));
        (same && *how == legacy).then(|| page.clone())
    }

    pub fn keep(&self, resource: &Rc<Resource>, legacy: bool, page: Rc<Page>) {
        let mut pages = self.known.borrow_mut();
        let bytes = self.bytes.get() + page.source.len();
        let is_full = pages.len() >= PAGES || bytes > PAGES_BYTES;
        if is_full {
            pages.clear();
        }
        self.bytes
            .set(if is_full { page.source.len() } else { bytes });
        let kept = (Rc::downgrade(resource), legacy, page);
        pages.insert(resource.path().to_vec(), kept);
    }
}

/// Returns whether includes are configured for a file, so that the file must be parsed.
pub fn are_for(settings: &Settings, resource: &Resource) -> bool {
    let includes = &settings.output.includes;
    !includes.are_off()
        && includes.are_for(resource.path(), resource.media_type(), || {
            mode(resource.path())
        })
}

pub fn mode(file: &[u8]) -> u32 {
    stat(file).map_or(0, |(_, stat)| stat.st_mode)
}
