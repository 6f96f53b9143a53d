//! The settings of content negotiation: which variant of a resource is preferred (mod_negotiation)
//! and which suffixes MultiViews may skip (mod_mime's `MultiviewsMatch`).

use crate::{Change, ForcedLanguages, SkippedSuffixes};

/// Preferences among the variants of a resource.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Negotiation {
    /// `LanguagePriority`: language tags, the preferred one first.
    #[serde(rename = "language_priority")]
    pub languages: Vec<String>,
    /// `ForceLanguagePriority`
    #[serde(rename = "force_language_priority")]
    pub forced: ForcedLanguages,
    #[serde(rename = "multiviews_match")]
    pub skipped: SkippedSuffixes,
}

impl Negotiation {
    /// Applies one section's changes. The lists of all lines of a section are joined. The joined
    /// lists replace those of outer sections.
    pub(super) fn apply(&mut self, changes: &[Change]) {
        let mut languages_begun = false;
        let mut forced_begun = false;
        for change in changes {
            match change {
                Change::LanguagePriority(tags) => {
                    if !languages_begun {
                        self.languages.clear();
                    }
                    languages_begun = true;
                    self.languages.extend_from_slice(tags);
                }
                Change::ForceLanguagePriority(forced) => {
                    let own = if forced_begun { self.forced } else { *forced };
                    forced_begun = true;
                    self.forced = ForcedLanguages {
                        prefer: own.prefer || forced.prefer,
                        fallback: own.fallback || forced.fallback,
                    };
                }
                Change::MultiviewsMatch(skipped) => self.skipped = *skipped,
                _ => {}
            }
        }
    }
}
