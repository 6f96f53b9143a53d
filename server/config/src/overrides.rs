//! The directives that `AllowOverride` lets a .htaccess file use. The classes of directives are
//! bits.

pub const AUTH: u8 = 1;
pub const FILE_INFO: u8 = 2;
pub const INDEXES: u8 = 4;
pub const LIMIT: u8 = 8;
pub const OPTIONS: u8 = 16;
pub const ALL: u8 = 31;

/// The directives that a folder's .htaccess may use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// The allowed classes, as bits of this module.
    pub classes: u8,
    /// `AllowOverrideList`: further directives, in lower case.
    pub names: Vec<String>,
}

impl Overrides {
    /// Tells whether nothing is allowed (`AllowOverride None`). The file is then not read.
    pub fn is_none(&self) -> bool {
        self.classes == 0 && self.names.is_empty()
    }

    /// Tells whether a .htaccess file may use a directive of these classes.
    pub(crate) fn allow(&self, directive: &str, classes: u8) -> bool {
        let is_named = |name: &String| name.eq_ignore_ascii_case(directive);
        self.classes & classes != 0 || self.names.iter().any(is_named)
    }
}

/// Returns the bit of the class that the word names.
pub(crate) fn class(word: &str) -> Option<u8> {
    Some(match word.to_ascii_lowercase().as_str() {
        "none" => 0,
        "all" => ALL,
        "authconfig" => AUTH,
        "fileinfo" => FILE_INFO,
        "indexes" => INDEXES,
        "limit" => LIMIT,
        "options" => OPTIONS,
        lower if lower.starts_with("options=") => OPTIONS,
        lower if lower.starts_with("nonfatal=") => 0,
        _ => return None,
    })
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
