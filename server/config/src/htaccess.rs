//! .htaccess files: read once and kept by the front.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::load::read_htaccess;
use crate::{overrides, Change, Host, Problems, Scope, Section, Site};

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

/// One .htaccess file.
#[derive(Debug)]
pub struct Htaccess {
    /// A number that no other reading has.
    pub(crate) serial: u64,
    /// The folder's changes, then its `<Files>`.
    pub(crate) sections: Vec<Section>,
}

/// The directives that a folder's .htaccess may use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Bits of [`overrides`].
    pub classes: u8,
    /// `AllowOverrideList`: further directives, in lower case.
    pub names: Vec<String>,
}

impl Overrides {
    /// `AllowOverride None`: the file is not read.
    pub fn is_none(&self) -> bool {
        self.classes == 0 && self.names.is_empty()
    }

    pub(crate) fn allow(&self, row: &crate::Directive) -> bool {
        self.classes & row.overrides != 0
            || self
                .names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(row.name))
    }
}

impl Host {
    /// Whether any section of this host has `AllowOverride`. Otherwise no folder is examined.
    pub fn allows_htaccess(&self) -> bool {
        let says = |change: &Change| match change {
            Change::AllowOverride(classes) => *classes != 0,
            Change::AllowOverrideList(names) => !names.is_empty(),
            _ => false,
        };
        self.sections
            .iter()
            .any(|section| section.changes.iter().any(says))
    }

    /// The directives that this folder's .htaccess may use.
    pub fn overrides(&self, folder: &Path) -> Overrides {
        let mut found: Vec<&Section> = self
            .sections
            .iter()
            .filter(|section| section.within.is_none())
            .filter(|section| {
                matches!(
                    section.scope,
                    Scope::Directory(_) | Scope::DirectoryMatch(_)
                )
            })
            .filter(|section| section.matches("", Some(&folder.join(""))))
            .collect();
        found.sort_by_key(|section| section.rank());
        let mut overrides = Overrides::default();
        for change in found.iter().flat_map(|section| &section.changes) {
            match change {
                Change::AllowOverride(classes) => overrides.classes = *classes,
                Change::AllowOverrideList(names) => overrides.names.clone_from(names),
                _ => {}
            }
        }
        overrides
    }
}

impl Site {
    /// Reads a folder's .htaccess. Problems name the file.
    pub fn read_htaccess(
        &self,
        file: &Path,
        folder: &Path,
        may: Overrides,
    ) -> Result<Htaccess, Problems> {
        let sections = read_htaccess(self, file, folder, may)?;
        Ok(Htaccess {
            serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
            sections,
        })
    }
}

/// The bit of a class of `AllowOverride`.
pub(crate) fn class(word: &str) -> Option<u8> {
    Some(match word.to_ascii_lowercase().as_str() {
        "none" => 0,
        "all" => overrides::ALL,
        "authconfig" => overrides::AUTH,
        "fileinfo" => overrides::FILE_INFO,
        "indexes" => overrides::INDEXES,
        "limit" => overrides::LIMIT,
        "options" => overrides::OPTIONS,
        lower if lower.starts_with("options=") => overrides::OPTIONS,
        lower if lower.starts_with("nonfatal=") => 0,
        _ => return None,
    })
}

/// `AuthConfig or Limit`.
pub(crate) fn class_names(classes: u8) -> String {
    let all = [
        (overrides::AUTH, "AuthConfig"),
        (overrides::FILE_INFO, "FileInfo"),
        (overrides::INDEXES, "Indexes"),
        (overrides::LIMIT, "Limit"),
        (overrides::OPTIONS, "Options"),
    ];
    let named = all.iter().filter(|(bit, _)| classes & bit != 0);
    let names: Vec<&str> = named.map(|(_, name)| *name).collect();
    names.join(" or ")
}

/// The section for a folder's .htaccess.
pub(crate) fn section(folder: &Path) -> Section {
    Section {
        scope: Scope::Directory(PathBuf::from(folder)),
        within: None,
        changes: Vec::new(),
    }
}
