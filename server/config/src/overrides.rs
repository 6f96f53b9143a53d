//! The directives that `AllowOverride` lets a .htaccess file use. The classes of directives are
//! bits.

use crate::option;

pub const AUTH: u8 = 1;
pub const FILE_INFO: u8 = 2;
pub const INDEXES: u8 = 4;
pub const LIMIT: u8 = 8;
pub const OPTIONS: u8 = 16;
pub const ALL: u8 = 31;

/// What an `AllowOverride` line says.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Override {
    /// The allowed classes, as bits of this module.
    pub classes: u8,
    /// The bits of [`crate::option`] that an `Options` line may change. `None`: the line does not
    /// say it, so the outer folder's line counts.
    pub options: Option<u8>,
    /// `Nonfatal=Unknown`: lines with unknown directives are skipped.
    pub skips_unknown: bool,
    /// `Nonfatal=Override`: lines with directives that are not allowed are skipped.
    pub skips_forbidden: bool,
}

/// The directives that a folder's .htaccess may use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub said: Override,
    /// `AllowOverrideList`: further directives, in lower case.
    pub names: Vec<String>,
}

impl Overrides {
    /// Tells whether nothing is allowed (`AllowOverride None`). The file is then not read.
    pub fn is_none(&self) -> bool {
        self.said.classes == 0 && self.names.is_empty()
    }

    /// Tells whether a .htaccess file may use a directive of these classes.
    pub(crate) fn allow(&self, directive: &str, classes: u8) -> bool {
        let is_named = |name: &String| name.eq_ignore_ascii_case(directive);
        self.said.classes & classes != 0 || self.names.iter().any(is_named)
    }
}

impl Override {
    /// Adds what a word of the line says. Returns false if the word is unknown.
    pub(crate) fn add(&mut self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        if let Some(kinds) = word.strip_prefix("nonfatal=") {
            self.skips_unknown |= ["unknown", "all"].contains(&kinds);
            self.skips_forbidden |= ["override", "all"].contains(&kinds);
            return ["unknown", "override", "all"].contains(&kinds);
        }
        if let Some(names) = word.strip_prefix("options=") {
            let options = names.split(',').map(option::named);
            let options = options.reduce(|all, one| Some(all? | one?)).flatten();
            self.options = options;
            self.classes |= OPTIONS;
            return options.is_some();
        }
        self.classes |= match word.as_str() {
            "none" => 0,
            "all" => ALL,
            "authconfig" => AUTH,
            "fileinfo" => FILE_INFO,
            "indexes" => INDEXES,
            "limit" => LIMIT,
            "options" => {
                // As in Apache, the word does not stand for the options that `Options All` leaves
                // out.
                self.options = Some(option::ALL);
                OPTIONS
            }
            _ => return false,
        };
        true
    }
}

/// Returns the names of the classes for a message: `AuthConfig or Limit`.
pub(crate) fn class_names(classes: u8) -> String {
    let all = [
        (AUTH, "AuthConfig"),
        (FILE_INFO, "FileInfo"),
        (INDEXES, "Indexes"),
        (LIMIT, "Limit"),
        (OPTIONS, "Options"),
    ];
    let named = all.iter().filter(|(bit, _)| classes & bit != 0);
    let names: Vec<&str> = named.map(|(_, name)| *name).collect();
    names.join(" or ")
}
