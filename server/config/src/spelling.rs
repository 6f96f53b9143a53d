//! The settings of mod_speling: whether a name that no file has is corrected.

/// `CheckSpelling`, `CheckCaseOnly` and `CheckBasenameMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Spelling {
    /// `CheckSpelling`: a path without a file leads to files with similar names.
    pub checked: bool,
    /// `CheckCaseOnly`: a similar name differs only in upper and lower case.
    pub case_only: bool,
    /// `CheckBasenameMatch`: a name that differs only in its suffixes is similar too.
    pub basenames: bool,
}

impl Default for Spelling {
    fn default() -> Spelling {
        Spelling {
            checked: false,
            case_only: false,
            basenames: true,
        }
    }
}

impl Spelling {
    pub(crate) fn is_default(&self) -> bool {
        *self == Spelling::default()
    }
}
