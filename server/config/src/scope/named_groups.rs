//! The variables that named groups of a section's pattern set.

use super::{RequestPlace, Scope};

/// The pattern of a `<LocationMatch>`, `<DirectoryMatch>` or `<FilesMatch>` with named groups.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NamedGroups {
    pub(crate) scope: Scope,
}

impl NamedGroups {
    /// Returns the variables that the groups of a match set: `MATCH_` and the name in upper case.
    pub fn variables(&self, place: RequestPlace<'_>) -> Vec<(String, Vec<u8>)> {
        let Some((pattern, text)) = self.scope.pattern_and_text(place) else {
            return Vec::new();
        };
        let named = pattern.named_groups(text).into_iter();
        named
            .map(|(name, value)| (format!("MATCH_{}", name.to_ascii_uppercase()), value))
            .collect()
    }
}
