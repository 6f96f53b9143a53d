//! Computes the qualities of a variant for one request: how well its type, language, character set
//! and coding fit the Accept fields. The numbers are those of Apache's mod_negotiation.

use super::choice::{Asked, Circumstances};
use super::preferences::AcceptEntry;
use super::Variant;

/// The quality of a variant without a language if other variants have a language.
const NO_LANGUAGE: f32 = 0.0001;
/// The quality of `en` for a client that wants only `en-us`.
const WIDER_LANGUAGE: f32 = 0.001;
/// The quality of a language by `ForceLanguagePriority Fallback`.
const FALLBACK: f32 = 0.0001;

/// The qualities of a variant for one request.
#[derive(Debug, Clone)]
pub(super) struct Rated {
    pub type_quality: f32,
    pub language: f32,
    pub charset: f32,
    pub encoding: f32,
    /// How exactly the type was named: 1 for `*/*`, 2 for `type/*`, 3 for the type itself.
    exactness: u8,
    /// The level of the type that the client accepts.
    pub level: f32,
    /// The index of the language in `LanguagePriority`.
    pub language_place: Option<usize>,
    /// Whether the fields decide exactly, without wildcards (RFC 2296 section 3.5).
    pub is_definite: bool,
}

impl Default for Rated {
    fn default() -> Rated {
        Rated {
            type_quality: 1.0,
            language: 1.0,
            charset: 1.0,
            encoding: 1.0,
            exactness: 0,
            level: 0.0,
            language_place: None,
            is_definite: true,
        }
    }
}

impl Rated {
    /// Rates the type. The most exact entry counts.
    pub(super) fn rate_type(&mut self, variant: &Variant, asked: &Asked<'_>) {
        let mut quality = 0.0;
        let mut is_definite = true;
        for entry in &asked.types {
            let before = self.exactness;
            if !self.matches_type(variant, entry) || before == self.exactness {
                continue;
            }
            // If the field has no qualities, wildcards count little.
            quality = match self.exactness {
                1 if asked.weakens_wildcards => 0.01,
                2 if asked.weakens_wildcards => 0.02,
                _ => entry.quality,
            };
            is_definite = self.exactness == 3;
        }
        self.type_quality = quality;
        self.is_definite &= is_definite;
    }

    fn matches_type(&mut self, variant: &Variant, entry: &AcceptEntry) -> bool {
        let own = variant.media_type.as_str();
        let name = entry.name.as_str();
        if name.starts_with('*') {
            self.exactness = self.exactness.max(1);
            return true;
        }
        let in_range = name
            .strip_suffix('*')
            .and_then(|range| range.get(..range.len().max(1) - 1));
        if in_range.is_some_and(|range| own.starts_with(range)) {
            self.exactness = self.exactness.max(2);
            return true;
        }
        let is_it = name == own || (name == "text/html" && variant.is_html());
        if is_it && entry.level >= variant.level {
            self.level = variant.level;
            self.exactness = 3;
            return true;
        }
        false
    }

    /// Rates the languages. For each language the longest matching range counts. Of several
    /// languages the best one counts.
    pub(super) fn rate_language(&mut self, variant: &Variant, asked: &Asked<'_>) {
        if variant.languages.is_empty() {
            if !asked.is_exact {
                self.language = if asked.has_languages {
                    NO_LANGUAGE
                } else {
                    1.0
                };
            }
            return;
        }
        match &asked.preferences.languages {
            None => self.is_definite = false,
            Some(ranges) => self.match_languages(variant, ranges, asked.is_exact),
        }
        self.force_language(variant, asked.circumstances);
    }

    fn match_languages(&mut self, variant: &Variant, ranges: &[AcceptEntry], is_exact: bool) {
        let star = ranges.iter().find(|range| range.name == "*");
        let mut best: Option<&AcceptEntry> = None;
        let mut by_star = false;
        let mut wider = 0.0;
        for tag in &variant.languages {
            let mut longest: Option<&AcceptEntry> = None;
            for range in ranges.iter().filter(|range| range.name != "*") {
                let behind = tag.strip_prefix(range.name.as_str());
                let fits = behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
                let length = longest.map_or(0, |longest| longest.name.len());
                if fits && range.name.len() > length {
                    longest = Some(range);
                }
                // A client that wants `en-us` takes `en` before anything that it does not name.
                let primary = range.name.split_once('-').map(|(primary, _)| primary);
                if longest.is_none()
                    && !is_exact
                    && primary.is_some_and(|primary| tag.starts_with(primary))
                {
                    wider = WIDER_LANGUAGE;
                }
            }
            best = match (best, longest) {
                (None, found) => found,
                (Some(best), Some(found)) if found.quality > best.quality => Some(found),
                (best, _) => best,
            };
            by_star |= longest.is_none() && star.is_some();
        }
        if let Some(star) = star.filter(|_| by_star) {
            if best.is_none_or(|best| star.quality > best.quality) {
                best = Some(star);
                self.is_definite = false;
            }
        }
        self.language = best.map_or(wider, |best| best.quality);
    }

    /// Applies `ForceLanguagePriority`.
    fn force_language(&mut self, variant: &Variant, circumstances: &Circumstances<'_>) {
        let forced = circumstances.forced;
        let prefers = forced.prefer && self.language_place.is_none();
        let falls_back = forced.fallback && self.language == 0.0;
        if !prefers && !falls_back {
            return;
        }
        let place = |tag: &String| {
            let mut known = circumstances.priority.iter();
            known.position(|known| tag.starts_with(known.as_str()))
        };
        let Some(place) = variant.languages.iter().filter_map(place).min() else {
            return;
        };
        if self.language != 0.0 {
            if forced.prefer {
                self.language_place = Some(place);
            }
        } else if forced.fallback {
            self.language_place = Some(place);
            self.language = FALLBACK;
            self.is_definite = false;
        }
    }

    pub(super) fn rate_charset(&mut self, variant: &Variant, asked: &Asked<'_>) {
        let Some(entries) = &asked.preferences.charsets else {
            self.is_definite &= variant.charset.is_empty();
            return;
        };
        let own = match variant.charset.as_str() {
            "" if !variant.is_text() || asked.is_exact => return,
            "" => LATIN_1,
            known => known,
        };
        self.charset = match named(entries, own, whole) {
            Named::It(quality) => quality,
            Named::Any(quality) => {
                self.is_definite = false;
                quality
            }
            Named::Not if own == LATIN_1 => 1.0,
            Named::Not => 0.0,
        };
    }

    pub(super) fn rate_encoding(&mut self, variant: &Variant, asked: &Asked<'_>) {
        let own = variant.encoding.as_deref().filter(|own| !is_identity(own));
        let Some(entries) = &asked.preferences.encodings else {
            self.encoding = if own.is_none() { 1.0 } else { 0.5 };
            return;
        };
        self.encoding = match named(entries, bare(own.unwrap_or("identity")), bare) {
            Named::It(quality) | Named::Any(quality) => quality,
            Named::Not if own.is_none() => NO_LANGUAGE,
            Named::Not => 0.0,
        };
    }
}

pub(super) const LATIN_1: &str = "iso-8859-1";

pub(super) fn is_identity(coding: &str) -> bool {
    matches!(coding, "" | "7bit" | "8bit" | "binary")
}

fn whole(name: &str) -> &str {
    name
}

/// Returns a coding's name without the prefix of an experimental name: `x-gzip` is `gzip`.
fn bare(name: &str) -> &str {
    name.strip_prefix("x-").unwrap_or(name)
}

/// How a field names something.
enum Named {
    It(f32),
    /// By `*`.
    Any(f32),
    Not,
}

fn named(entries: &[AcceptEntry], own: &str, bare: fn(&str) -> &str) -> Named {
    if let Some(entry) = entries.iter().find(|entry| bare(&entry.name) == own) {
        return Named::It(entry.quality);
    }
    let star = entries.iter().rev().find(|entry| entry.name == "*");
    star.map_or(Named::Not, |star| Named::Any(star.quality))
}
