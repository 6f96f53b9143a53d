//! The arguments of `ForceLanguagePriority` and `MultiviewsMatch`. The directives parse them, and
//! `settings` merges them.

/// `ForceLanguagePriority`: when `LanguagePriority` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ForcedLanguages {
    /// `Prefer`: chooses among variants of the same quality, instead of a response 300.
    pub prefer: bool,
    /// `Fallback`: chooses a variant if no variant has an acceptable language, instead of a
    /// response 406.
    pub fallback: bool,
}

impl Default for ForcedLanguages {
    fn default() -> ForcedLanguages {
        ForcedLanguages {
            prefer: true,
            fallback: false,
        }
    }
}

/// `MultiviewsMatch`: the suffixes that a request need not name, besides those of types, languages,
/// character sets and codings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct SkippedSuffixes {
    pub all: bool,
    pub of_handlers: bool,
    pub of_filters: bool,
}
