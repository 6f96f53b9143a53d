//! Describes the output settings: compression and the response cache.

use mehari_config::{CacheRules, Coding, Compression, Settings};

use super::meaning::Page;

/// Describes the settings of a scope that differ from `base`. Without `base`, describes all
/// settings.
pub(super) fn lines(page: &mut Page, settings: &Settings, base: Option<&Settings>) {
    let is_as_outside =
        |same: fn(&Settings, &Settings) -> bool| base.is_some_and(|base| same(base, settings));
    if !is_as_outside(|one, other| one.output.compression == other.output.compression) {
        compression(page, &settings.output.compression, base.is_some());
    }
    if !is_as_outside(|one, other| one.cache == other.cache) {
        cache(page, &settings.cache, base.is_some());
    }
}

fn compression(page: &mut Page, rules: &Compression, differs: bool) {
    let names = |codings: &[Coding]| {
        let names: Vec<&str> = codings.iter().map(|coding| coding.name()).collect();
        if names.is_empty() {
            "not compressed".to_string()
        } else {
            names.join(", ")
        }
    };
    if !rules.always.is_empty() {
        page.line(
            "compressed",
            format!("everything: {}", names(&rules.always)),
        );
    }
    for (media_type, codings) in &rules.by_type {
        page.line("compressed", format!("{media_type}: {}", names(codings)));
    }
    for (suffix, codings) in &rules.by_suffix {
        page.line("compressed", format!(".{suffix}: {}", names(codings)));
    }
    let says_nothing =
        rules.always.is_empty() && rules.by_type.is_empty() && rules.by_suffix.is_empty();
    if differs && says_nothing {
        page.line("compressed", "nothing");
    }
}

fn cache(page: &mut Page, rules: &CacheRules, differs: bool) {
    for (place, is_cached) in &rules.places {
        let not = if *is_cached { "" } else { "not " };
        page.line("cached", format!("{not}{place}"));
    }
    if !rules.is_off() {
        page.line(
            "fresh for",
            format!(
                "{:?} where a response does not say, {:?} at most",
                rules.default_expire, rules.max_expire
            ),
        );
    } else if differs {
        page.line("cached", "nothing");
    }
}
