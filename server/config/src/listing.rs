//! The settings of mod_autoindex: which entries a listing of a folder leaves out.

use crate::glob;

/// `IndexIgnore` and `IndexOptions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ListingSettings {
    /// `IndexIgnore`: shell patterns of names.
    pub ignored: Vec<String>,
    /// `IndexOptions ShowForbidden`: entries that the client may not read are listed too.
    pub shows_forbidden: bool,
}

/// One change to the settings of listings.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum ListingChange {
    Ignore(Vec<String>),
    /// `IndexIgnoreReset On`: the patterns of outer sections do not count.
    ForgetIgnored,
    /// `IndexOptions`. `clear` removes the options of outer sections. `None`: the line does not
    /// name ShowForbidden.
    Options {
        clear: bool,
        shows_forbidden: Option<bool>,
    },
}

impl ListingSettings {
    pub(crate) fn is_default(&self) -> bool {
        *self == ListingSettings::default()
    }

    /// Tells whether `IndexIgnore` names an entry. As in Apache, only the part of a pattern behind
    /// its last slash counts.
    pub fn ignores(&self, name: &[u8]) -> bool {
        self.ignored.iter().any(|pattern| {
            let pattern = pattern.rsplit('/').next().unwrap_or(pattern);
            glob::matches(pattern.as_bytes(), name)
        })
    }

    pub(crate) fn change(&mut self, change: &ListingChange) {
        match change {
            ListingChange::Ignore(names) => self.ignored.extend_from_slice(names),
            ListingChange::ForgetIgnored => self.ignored.clear(),
            ListingChange::Options {
                clear,
                shows_forbidden,
            } => {
                let inherited = self.shows_forbidden && !clear;
                self.shows_forbidden = shows_forbidden.unwrap_or(inherited);
            }
        }
    }
}
