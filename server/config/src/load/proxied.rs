//! `<Proxy URL>`: what it says of a back end's URL holds for the paths that lead there.

use super::Draft;
use crate::{Change, HandlerName, PassFrom, Proxied, Scope, Section};

/// Puts the lines of `<Proxy URL>` sections where requests are proxied to such a URL.
pub(super) fn apply(draft: &mut Draft, proxied: &[(String, Vec<Change>)]) {
    for (url, changes) in proxied {
        for section in &mut draft.host.sections {
            if section.changes.iter().any(|change| leads_to(change, url)) {
                section.changes.extend_from_slice(changes);
            }
        }
        let passes = draft.host.passes.iter();
        let meant = passes.filter(|pass| pass.to.as_ref().is_some_and(|to| is_at(to, url)));
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

fn leads_to(change: &Change, url: &str) -> bool {
    matches!(change, Change::SetHandler(HandlerName::Proxy(to)) if is_at(to, url))
}

/// `*` at the end of the section's URL stands for anything; so does nothing, as URLs are told by their beginning.
fn is_at(to: &Proxied, url: &str) -> bool {
    let whole = format!("{}{}", to.upstream, to.to.as_deref().unwrap_or("/"));
    whole
        .to_ascii_lowercase()
        .starts_with(url.trim_end_matches('*'))
}
