//! Applies `<Proxy>` and `<ProxyMatch>` sections. Their lines apply to the paths that are proxied
//! to a matching URL.

use super::{Draft, Reader};
use crate::environment::{ProxiedUrls, ProxySection};
use crate::problem::Fault;
use crate::{Change, HandlerName, PassFrom, Proxied, Requirement, Scope, Section};

/// Applies the lines of each section to the paths that are proxied to its URLs. As in Apache, the
/// lines of `<Location>` sections override them.
pub(super) fn apply(draft: &mut Draft, proxied: &[ProxySection]) {
    let mut whole = Vec::new();
    for ProxySection { urls, changes, .. } in proxied {
        let passes = draft.host.mapping.passes.iter();
        let meant = passes.filter(|pass| pass.to.as_ref().is_some_and(|to| is_at(to, urls)));
        whole.extend(meant.map(|pass| Section {
            scope: match &pass.from {
                PassFrom::Prefix(path) => Scope::Location(path.clone()),
                PassFrom::Match(pattern) => Scope::LocationMatch(pattern.clone()),
            },
            within: None,
            changes: changes.clone(),
        }));
    }
    for section in &mut draft.host.sections {
        let leading = |change: &Change, urls| matches!(change, Change::SetHandler(HandlerName::Proxy(to)) if is_at(to, urls));
        let meant = proxied.iter().filter(|one| {
            let mut changes = section.changes.iter();
            changes.any(|change| leading(change, &one.urls))
        });
        let before: Vec<Change> = meant.flat_map(|one| one.changes.clone()).collect();
        section.changes.splice(..0, before);
    }
    draft.host.sections.splice(..0, whole);
}

/// Tells whether the section applies to the back end's URL. The URL must begin with the section's
/// URL, so a final `*` of the section's URL has no effect.
fn is_at(to: &Proxied, urls: &ProxiedUrls) -> bool {
    let path = to.to.as_deref().unwrap_or("/");
    covers(urls, &format!("{}{path}", to.upstream))
}

fn covers(urls: &ProxiedUrls, whole: &str) -> bool {
    match urls {
        ProxiedUrls::Below(url) => whole
            .to_ascii_lowercase()
            .starts_with(url.trim_end_matches('*')),
        ProxiedUrls::Matching(pattern) => pattern.matches(whole.as_bytes()),
    }
}

impl Reader<'_> {
    /// Refuses a section that may keep clients from the target of a rule with the flag `P`. The
    /// path of such a rule is known only when a request comes, so the section cannot apply to it.
    pub(super) fn check_proxied_rules(&mut self) {
        let mut faults = Vec::new();
        let drafts = self.hosts.iter().chain([&self.main]);
        let lists = drafts.flat_map(|draft| {
            let sections = draft.host.sections.iter();
            sections
                .map(|section| &section.changes)
                .chain([&draft.base])
        });
        let rules: Vec<&str> = lists.flatten().filter_map(target).collect();
        for section in &self.environment.proxied {
            let is_open = section.changes.iter().all(admits_everybody);
            if !is_open && rules.iter().any(|url| covers(&section.urls, url)) {
                let message = "these lines do not apply to the target of a RewriteRule with the \
                               flag P; expected them in <Location>, or ProxyPass instead";
                faults.push((section.file.clone(), Fault::new(section.at, message)));
            }
        }
        for (file, fault) in faults {
            self.file = file;
            self.refuse(fault);
        }
    }
}

/// Returns the back end of a rule with the flag `P`.
fn target(change: &Change) -> Option<&str> {
    match change {
        Change::RewriteRule(rule) => Some(&rule.back_end.as_ref()?.upstream),
        _ => None,
    }
}

fn admits_everybody(change: &Change) -> bool {
    matches!(
        change,
        Change::Require(Requirement::All(true))
            | Change::Order(None, _)
            | Change::Allow(None, crate::From::All)
    )
}
