//! Applies `<Proxy URL>` and `<ProxyMatch REGEX>` sections. Their lines apply to the paths that are
//! proxied to a matching URL.

use super::Draft;
use crate::environment::ProxiedUrls;
use crate::{Change, HandlerName, PassFrom, Proxied, Scope, Section};

/// Applies the lines of each section to the paths that are proxied to its URLs.
pub(super) fn apply(draft: &mut Draft, proxied: &[(ProxiedUrls, Vec<Change>)]) {
    for (urls, changes) in proxied {
        for section in &mut draft.host.sections {
            if section.changes.iter().any(|change| leads_to(change, urls)) {
                section.changes.extend_from_slice(changes);
            }
        }
        let passes = draft.host.mapping.passes.iter();
        let meant = passes.filter(|pass| pass.to.as_ref().is_some_and(|to| is_at(to, urls)));
        let sections = meant.map(|pass| Section {
            scope: match &pass.from {
                PassFrom::Prefix(path) => Scope::Location(path.clone()),
                PassFrom::Match(pattern) => Scope::LocationMatch(pattern.clone()),
            },
            within: None,
            changes: changes.clone(),
        });
        let sections: Vec<Section> = sections.collect();
        draft.host.sections.extend(sections);
    }
}

fn leads_to(change: &Change, urls: &ProxiedUrls) -> bool {
    matches!(change, Change::SetHandler(HandlerName::Proxy(to)) if is_at(to, urls))
}

/// Tells whether the section applies to the back end's URL. The URL must begin with the section's
/// URL, so a final `*` of the section's URL has no effect.
fn is_at(to: &Proxied, urls: &ProxiedUrls) -> bool {
    let whole = format!("{}{}", to.upstream, to.to.as_deref().unwrap_or("/"));
    match urls {
        ProxiedUrls::Below(url) => whole
            .to_ascii_lowercase()
            .starts_with(url.trim_end_matches('*')),
        ProxiedUrls::Matching(pattern) => pattern.matches(whole.as_bytes()),
    }
}
