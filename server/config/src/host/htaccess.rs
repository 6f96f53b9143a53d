//! A .htaccess file after it was read. The front reads each file once and keeps the result.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Host;
use crate::{Change, Overrides, RequestPlace, Scope, Section};

/// One .htaccess file.
#[derive(Debug)]
pub struct Htaccess {
    /// A number that is different for each reading of a file.
    pub(crate) serial: u64,
    /// The section of the folder itself, then the `<Files>` sections of the file.
    pub(crate) sections: Vec<Section>,
}

impl Htaccess {
    pub(crate) fn new(sections: Vec<Section>) -> Htaccess {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);
        Htaccess {
            serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
            sections,
        }
    }
}

impl Host {
    /// Tells whether any section of this host has `AllowOverride`. Otherwise no folder is searched
    /// for .htaccess files.
    pub fn allows_htaccess(&self) -> bool {
        let says = |change: &Change| match change {
            Change::AllowOverride(said) => said.classes != 0,
            Change::AllowOverrideList(names) => !names.is_empty(),
            _ => false,
        };
        self.sections
            .iter()
            .any(|section| section.changes.iter().any(says))
    }

    /// Returns the directives that this folder's .htaccess may use. As in Apache, only
    /// `<Directory>` sections say it.
    pub fn overrides(&self, folder: &Path) -> Overrides {
        let folder = folder.join("");
        let place = RequestPlace::of("", Some(&folder));
        let mut found: Vec<&Section> = self
            .sections
            .iter()
            .filter(|section| section.within.is_none())
            .filter(|section| matches!(section.scope, Scope::Directory(_)))
            .filter(|section| section.matches(place))
            .collect();
        found.sort_by_key(|section| section.rank());
        let mut overrides = Overrides::default();
        for change in found.iter().flat_map(|section| &section.changes) {
            match change {
                Change::AllowOverride(said) => {
                    let options = said.options.or(overrides.said.options);
                    overrides.said = said.clone();
                    overrides.said.options = options;
                }
                Change::AllowOverrideList(names) => overrides.names.clone_from(names),
                _ => {}
            }
        }
        overrides
    }
}
