//! Applies `<Proxy>` and `<ProxyMatch>` sections. Their lines apply to the paths that are proxied
//! to a matching URL.

use super::{Draft, Reader};
use crate::environment::{ProxiedUrls, ProxySection};
use crate::problem::Fault;
use crate::{Change, HandlerName, PassFrom, Pattern, Proxied, Requirement, Scope, Section};

/// Applies the lines of each section to the paths that are proxied to its URLs. As in Apache, the
/// lines of `<Location>` sections override them.
pub(super) fn apply(draft: &mut Draft, proxied: &[ProxySection]) {
    let mut whole = Vec::new();
    for ProxySection { urls, changes, .. } in proxied {
        let passes = draft.host.mapping.passes.iter();
        let passes = passes.filter_map(|pass| pass.to.as_deref());
        let meant = passes
            .filter(|to| is_at(to, urls))
            .map(|to| match &to.from {
                PassFrom::Prefix(path) => Scope::Location(path.clone()),
                PassFrom::Match(pattern) => Scope::LocationMatch(pattern.clone()),
            });
        let parts = targets(draft).into_iter().filter_map(|to| part(to, urls));
        whole.extend(meant.chain(parts).map(|scope| Section {
            scope,
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

/// Returns all back ends of a host: those of `ProxyPass`, and those of handlers.
fn targets(draft: &Draft) -> Vec<&Proxied> {
    let passes = draft.host.mapping.passes.iter();
    let sections = draft.host.sections.iter();
    let handlers = sections.flat_map(|section| &section.changes);
    let of_handlers = handlers.filter_map(|change| match change {
        Change::SetHandler(HandlerName::Proxy(to)) => Some(&**to),
        _ => None,
    });
    let of_passes = passes.filter_map(|pass| pass.to.as_deref());
    of_passes.chain(of_handlers).collect()
}

/// Tells whether the section applies to the back end's URL. The URL must begin with the section's
/// URL, so a final `*` of the section's URL has no effect.
fn is_at(to: &Proxied, urls: &ProxiedUrls) -> bool {
    covers(urls, &url_of(to))
}

fn url_of(to: &Proxied) -> String {
    format!("{}{}", to.upstream, to.to.as_deref().unwrap_or("/"))
}

/// Returns the paths that are proxied to the URLs of a section, if the section's URL lies below the
/// back end's URL. `None`: it does not, or the paths cannot be told.
fn part(to: &Proxied, urls: &ProxiedUrls) -> Option<Scope> {
    let (PassFrom::Prefix(from), ProxiedUrls::Below(url)) = (&to.from, urls) else {
        return None;
    };
    let below = url.trim_end_matches('*');
    let rest = below.strip_prefix(&url_of(to).to_ascii_lowercase())?;
    // The path of a handler's back end is the request's.
    let start = if to.to.is_some() { from } else { "/" };
    let text = format!("^{}", regex::escape(&format!("{start}{rest}")));
    let pattern = Pattern::caseless(&text).ok()?;
    (!rest.is_empty()).then_some(Scope::LocationMatch(pattern))
}

/// Whether some of the paths that are proxied to a back end may have URLs of the section, although
/// it cannot be told which.
fn may_apply(to: &Proxied, urls: &ProxiedUrls) -> bool {
    if is_at(to, urls) || part(to, urls).is_some() {
        return false;
    }
    let upstream = to.upstream.to_ascii_lowercase();
    match urls {
        ProxiedUrls::Below(url) => {
            matches!(to.from, PassFrom::Match(_)) && url.starts_with(&upstream)
        }
        ProxiedUrls::Matching(pattern) => {
            let host = upstream
                .split_once("://")
                .map_or(&*upstream, |(_, host)| host);
            let text = pattern.as_str().replace('\\', "");
            text.to_ascii_lowercase().contains(host)
        }
    }
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
    /// Refuses a section that may keep clients from the target of a rule with the flag `P`, or from
    /// an unknown part of a back end. The path of such a rule is known only when a request comes,
    /// so the section cannot apply to it.
    pub(super) fn check_proxied_rules(&mut self) {
        let mut faults = Vec::new();
        let drafts = || self.hosts.iter().chain([&self.main]);
        let targets: Vec<&Proxied> = drafts().flat_map(targets).collect();
        let lists = drafts().flat_map(|draft| {
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
            if !is_open && targets.iter().any(|to| may_apply(to, &section.urls)) {
                let message = "it cannot be told to which paths of a ProxyPass these lines apply; \
                               expected them in <Location> or <LocationMatch>";
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
