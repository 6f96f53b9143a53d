//! Chooses a variant: by Apache's own order of qualities, or by RFC 2296 if the client asks for
//! that.

use super::preferences::{AcceptEntry, Negotiate, Preferences};
use super::quality::{is_identity, Rated, LATIN_1};
use super::{Variant, PROGRAM};
use mehari_config::ForcedLanguages;

/// What decides about the choice besides the client's fields.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// Whether the method is GET or HEAD. Only these are negotiated transparently (RFC 2295).
    pub is_get: bool,
    /// Whether the path goes on behind the resource's name.
    pub has_path_info: bool,
    /// Whether a program is the best variant, because the request has input for a program.
    pub prefers_programs: bool,
    /// The languages of `LanguagePriority`. The next field is `ForceLanguagePriority`.
    pub priority: &'a [String],
    pub forced: ForcedLanguages,
    /// The variable `prefer-language`.
    pub language: Option<&'a str>,
    pub codings: Codings,
}

/// Which variants with a content coding may be chosen: the variables `no-gzip` and
/// `gzip-only-text/html` decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codings {
    #[default]
    All,
    None,
    OfHtml,
}

/// The result of a negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The index of the best variant. `None` if the client gets the list of variants.
    pub variant: Option<usize>,
    /// Whether the resource is negotiated transparently (RFC 2295).
    pub is_transparent: bool,
    /// Whether the response lists the variants in the field Alternates.
    pub has_alternates: bool,
    /// The status if there is no variant: 300 for clients that choose themselves, otherwise 406.
    pub status: u16,
}

/// The part of the request by which all variants are rated.
pub(super) struct Asked<'a> {
    pub preferences: &'a Preferences,
    pub circumstances: &'a Circumstances<'a>,
    pub types: Vec<AcceptEntry>,
    pub weakens_wildcards: bool,
    pub is_exact: bool,
    /// Whether any variant has a language.
    pub has_languages: bool,
}

/// Chooses among the variants. They are sorted by source quality and name, or as in their type map.
pub fn choose(
    variants: &[Variant],
    preferences: &Preferences,
    circumstances: &Circumstances<'_>,
) -> Choice {
    let is_neighbour =
        |variant: &Variant| variant.body.is_none() && memchr::memchr(b'/', &variant.name).is_none();
    let is_transparent =
        circumstances.is_get && !circumstances.has_path_info && variants.iter().all(is_neighbour);
    let said = preferences.negotiate.filter(|_| is_transparent);
    let may_choose = said.is_none_or(|said| said.may_choose);
    let said = said.unwrap_or_default();
    let asked = Asked::of(variants, preferences, circumstances, said);
    let best = asked.best(variants, may_choose, said.by_rvsa);
    let status = match best {
        Some(_) => 200,
        None if said.is_transparent => 300,
        None => 406,
    };
    Choice {
        variant: best,
        is_transparent,
        has_alternates: said.is_transparent || best.is_none(),
        status,
    }
}

impl<'a> Asked<'a> {
    fn of(
        variants: &[Variant],
        preferences: &'a Preferences,
        circumstances: &'a Circumstances<'a>,
        said: Negotiate,
    ) -> Asked<'a> {
        let entry = |name: &str, quality| AcceptEntry {
            name: name.to_string(),
            quality,
            level: 0.0,
            charset: String::new(),
        };
        let types = preferences.types.clone();
        let mut types = types.unwrap_or_else(|| vec![entry("*/*", 1.0)]);
        let of_program = match (said.by_rvsa, circumstances.prefers_programs) {
            (true, _) => 0.0,
            (_, true) => 2.0,
            _ => 0.001,
        };
        types.push(entry(PROGRAM, of_program));
        Asked {
            preferences,
            circumstances,
            types,
            weakens_wildcards: !said.is_exact && !preferences.has_type_qualities(),
            is_exact: said.is_exact,
            has_languages: variants.iter().any(|variant| !variant.languages.is_empty()),
        }
    }

    /// Returns the best variant, if any variant is acceptable.
    fn best(&self, variants: &[Variant], may_choose: bool, by_rvsa: bool) -> Option<usize> {
        let mut rated = vec![Rated::default(); variants.len()];
        let preferred = self.circumstances.language;
        if preferred.is_some() {
            let best = self.best_of(variants, &mut rated, preferred, by_rvsa);
            if best.is_some() && may_choose {
                return best;
            }
        }
        let best = self.best_of(variants, &mut rated, None, by_rvsa);
        best.filter(|_| may_choose)
    }

    /// Returns the best variant of the language, or of all languages.
    fn best_of(
        &self,
        variants: &[Variant],
        rated: &mut [Rated],
        language: Option<&str>,
        by_rvsa: bool,
    ) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (at, variant) in variants.iter().enumerate() {
            let is_meant = |language| variant.languages.iter().any(|tag| tag == language);
            if self.is_left_out(variant) || !language.is_none_or(is_meant) {
                continue;
            }
            let own = &mut rated[at];
            own.rate_type(variant, self);
            match language {
                Some(_) => (own.language, own.is_definite) = (1.0, true),
                None => own.rate_language(variant, self),
            }
            own.rate_encoding(variant, self);
            own.rate_charset(variant, self);
            let candidate = Candidate {
                variant,
                rated: &rated[at],
            };
            let before = best.map(|best| Candidate {
                variant: &variants[best],
                rated: &rated[best],
            });
            let is_better = if by_rvsa {
                candidate.is_better_by_rvsa(before)
            } else {
                candidate.is_better(before)
            };
            if is_better {
                best = Some(at);
            }
        }
        best.filter(|best| !by_rvsa || rated[*best].is_definite)
    }

    fn is_left_out(&self, variant: &Variant) -> bool {
        let coding = variant.encoding.as_deref();
        let is_coded = coding.is_some_and(|coding| !is_identity(coding) && coding != "identity");
        is_coded
            && match self.circumstances.codings {
                Codings::All => false,
                Codings::None => true,
                Codings::OfHtml => !variant.media_type.starts_with("text/html"),
            }
    }
}

/// A variant and its qualities.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    variant: &'a Variant,
    rated: &'a Rated,
}

impl Candidate<'_> {
    fn quality(&self) -> f32 {
        self.rated.type_quality * self.variant.source_quality
    }

    fn is_acceptable(&self) -> bool {
        let rated = self.rated;
        let all = [
            rated.encoding,
            rated.language,
            rated.charset,
            self.quality(),
        ];
        all.iter().all(|quality| *quality != 0.0)
    }

    /// Compares in Apache's order: type, language, level of the type, character set, coding,
    /// length.
    fn is_better(self, best: Option<Candidate<'_>>) -> bool {
        if !self.is_acceptable() {
            return false;
        }
        let Some(best) = best else {
            return true;
        };
        let (own, other) = (self.rated, best.rated);
        let place = |rated: &Rated| rated.language_place.unwrap_or(usize::MAX);
        let (length, other_length) = (self.variant.length, best.variant.length);
        None.or(decides(self.quality(), best.quality()))
            .or(decides(own.language, other.language))
            .or(decides(place(other), place(own)))
            .or(self.better_level(best))
            .or(self.better_charset(best))
            .or(decides(own.encoding, other.encoding))
            .unwrap_or(length < other_length)
    }

    /// Compares levels within a type. The highest level that the client names is best. If the
    /// client names none, the lowest level is best.
    fn better_level(self, best: Candidate<'_>) -> Option<bool> {
        let (own, other) = (self.variant, best.variant);
        let are_comparable = if own.is_html() {
            other.is_html()
        } else {
            own.media_type == other.media_type
        };
        if !are_comparable {
            return None;
        }
        let by_client = decides(self.rated.level, best.rated.level);
        by_client.or(decides(other.level, own.level))
    }

    /// Compares character sets. Of two equally good ones, one other than ISO-8859-1 is better.
    fn better_charset(self, best: Candidate<'_>) -> Option<bool> {
        let is_other = |variant: &Variant| !matches!(variant.charset.as_str(), "" | LATIN_1);
        let by_client = decides(self.rated.charset, best.rated.charset);
        by_client.or((is_other(self.variant) && !is_other(best.variant)).then_some(true))
    }

    /// Compares the products of the qualities (RFC 2296 section 3.3). If the products are equal,
    /// the codings decide.
    fn is_better_by_rvsa(self, best: Option<Candidate<'_>>) -> bool {
        let product = |candidate: Candidate<'_>| {
            candidate.quality() * candidate.rated.charset * candidate.rated.language
        };
        let own = product(self);
        if self.rated.encoding == 0.0 || own <= 0.0 {
            return false;
        }
        let Some(best) = best else {
            return true;
        };
        decides(own, product(best)).unwrap_or(self.rated.encoding > best.rated.encoding)
    }
}

/// Returns whether `own` is greater, or `None` if the values are equal.
fn decides<T: PartialOrd>(own: T, other: T) -> Option<bool> {
    (own != other).then(|| own > other)
}
