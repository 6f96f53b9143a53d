//! Applies `RewriteRule`s: those of the server or virtual host see the URL path before mapping;
//! those of folders see the part of the file's path behind the folder.

use crate::request::canonical::has_scheme;
use crate::request::rule_state::Destination;
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::rewriting::{Rewritten, Run};
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{Host, PassFrom, Proxied, Rewriting};
use mehari_http::path::{merge_slashes, resolved, Path};
use mehari_text::percent;
use std::sync::Arc;

use super::redirects::{joined, redirected};
use super::{AccessPhase, Decision, Lead};
use crate::request::canonical::absolute;
use crate::request::rule_state::RuleState;

/// The rules of the host, which run once per resource. Their result is noted. `None`: the request
/// continues.
pub(super) fn of_host(
    shared: &Shared,
    request: &Request<'_>,
    host: &Host,
    path: &Path,
    rule_state: &mut Option<Box<RuleState>>,
) -> Option<Decision> {
    let rewriting = &host.rules.rewriting;
    if !may_run(rewriting, rule_state) {
        return None;
    }
    let mut facts = ExpressionVariables::new(request, host, None, &shared.lookups.maps);
    facts.path = Some(&path.merged);
    name_script(request, host, path, rule_state);
    let place = (path.merged.clone(), &b"/"[..]);
    let rewritten = match run(shared, facts, place, rewriting, rule_state) {
        Ok(rewritten) => rewritten,
        Err(question) => return Some(question),
    };
    let (destination, new, query) = match rewritten {
        // No rule may make a slash of `%2F` where the host does not allow it.
        Rewritten::Proxy { .. } | Rewritten::Path { .. } if host.refuses(path.encoded_slash) => {
            return Some(Decision::Status(None, 404))
        }
        Rewritten::Unchanged => return None,
        Rewritten::Status(status) => return Some(Decision::Status(None, status)),
        Rewritten::Redirect { status, location } => {
            return Some(redirected(host.base_settings(), status, location));
        }
        Rewritten::Proxy {
            upstream,
            path: asked,
            query,
        } => (back_end(upstream, path, &asked), None, query),
        Rewritten::Path { path: new, .. } if !new.starts_with(b"/") => {
            return Some(Decision::Status(None, 400))
        }
        Rewritten::Path {
            path: new,
            query,
            pass_through,
            fixed_start,
            uncovers,
        } => match (resolved(&new), pass_through) {
            (None, _) => return Some(Decision::Status(None, 403)),
            // Hidden names in a URL path are checked when the path is mapped.
            (Some(new), true) => (Destination::Mapped, Some(new), query),
            (Some(_), false) if uncovers => return Some(Decision::Status(None, 404)),
            (Some(file), false) => {
                // `..` is only safe below the document root.
                let climbs = new.split(|byte| *byte == b'/').any(|part| part == b"..");
                let file = file_of(host, merge_slashes(&file), fixed_start && !climbs);
                (Destination::File(file), None, query)
            }
        },
    };
    rule_state.get_or_insert_with(Default::default).destination = Some(destination);
    let resource = match new {
        Some(new) => percent::encode_path(&new),
        None => request.path().to_vec(),
    };
    in_place(request, resource, &query)
}

/// SCRIPT_URL and SCRIPT_URI: the path before any rule.
fn name_script(
    request: &Request<'_>,
    host: &Host,
    path: &Path,
    rule_state: &mut Option<Box<RuleState>>,
) {
    let state = rule_state.get_or_insert_with(Default::default);
    let before = state.variable(b"REDIRECT_SCRIPT_URL");
    let url = before.unwrap_or(&path.merged).to_vec();
    state.set(b"SCRIPT_URI", absolute(request, host, url.clone()));
    state.set(b"SCRIPT_URL", url);
}

/// The same request with another target, if the target differs.
fn in_place(request: &Request<'_>, path: Vec<u8>, query: &[u8]) -> Option<Decision> {
    let target = joined(&path, query);
    let has_changed = path != request.path() || query != request.query();
    has_changed.then_some(Decision::Led(Lead {
        target,
        in_place: true,
    }))
}

fn may_run(rewriting: &Rewriting, rule_state: &Option<Box<RuleState>>) -> bool {
    rewriting.is_on() && !rule_state.as_ref().is_some_and(|state| state.ended)
}

/// Runs rules. An error names a program that must answer first.
fn run(
    shared: &Shared,
    facts: ExpressionVariables<'_>,
    (subject, base): (Vec<u8>, &[u8]),
    rewriting: &Rewriting,
    rule_state: &mut Option<Box<RuleState>>,
) -> Result<Rewritten, Decision> {
    let mut run = Run {
        query: facts.query.to_vec(),
        facts,
        subject,
        base,
        rule_state: rule_state.as_deref().cloned().unwrap_or_default(),
    };
    let rewritten = run.run_rules(rewriting);
    let state = run.rule_state;
    if let Some((map, key)) = shared.lookups.maps.take_wanted() {
        return Err(Decision::LookUp { map, key });
    }
    let has_changed = !matches!(rewritten, Rewritten::Unchanged);
    if rule_state.is_some() || has_changed || state.says_something() {
        *rule_state = Some(Box::new(state));
    }
    Ok(rewritten)
}

/// The rule's target in place of the whole path.
fn back_end(upstream: String, path: &Path, asked: &[u8]) -> Destination {
    let from = String::from_utf8_lossy(&path.merged).into_owned();
    Destination::BackEnd(Arc::new(Proxied {
        upstream,
        from: PassFrom::Prefix(from),
        to: Some(String::from_utf8_lossy(asked).into_owned()),
        raw: false,
    }))
}

/// The file of a rewritten path: below the document root, or on the disk itself if the rule's text
/// contains the first folder and only the disk has it.
fn file_of(host: &Host, path: Vec<u8>, fixed_start: bool) -> Vec<u8> {
    let root = host.document_root.as_os_str().as_encoded_bytes();
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let first = path[1..]
        .iter()
        .position(|byte| *byte == b'/')
        .map(|end| &path[..=end]);
    let exists = |name: &[u8]| crate::content::stat::stat(name).is_some();
    let below = |name: &[u8]| [root, name].concat();
    match first {
        Some(first) if fixed_start && !exists(&below(first)) && exists(first) => path,
        _ => below(&path),
    }
}

impl AccessPhase<'_> {
    /// Rules of a folder: they see the part behind the folder and redirect to another path.
    pub(super) fn rewrite(
        &self,
        route: &Route,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let settings = &route.settings;
        let rewriting = &settings.rules.rewriting;
        let destination = rule_state
            .as_ref()
            .and_then(|state| state.destination.as_ref());
        if !may_run(rewriting, rule_state) || matches!(destination, Some(Destination::BackEnd(_))) {
            return None;
        }
        let file = [&route.file[..], &route.path_info].concat();
        let folder = rewriting
            .folder
            .as_ref()
            .map(|folder| folder.as_os_str().as_encoded_bytes());
        let behind = folder.and_then(|folder| file.strip_prefix(folder));
        let as_folder = folder.and_then(|folder| folder.strip_suffix(b"/"));
        let subject = match behind {
            Some(behind) => behind.to_vec(),
            // The folder itself, without its slash.
            None if Some(&file[..]) == as_folder => Vec::new(),
            None => file,
        };
        let base = self.base(rewriting.base.as_deref(), path, &subject);
        let mut facts = self.facts(route, settings, None);
        facts.path = Some(&path.merged);
        let rewritten = match run(self.shared, facts, (subject, &base), rewriting, rule_state) {
            Ok(rewritten) => rewritten,
            Err(question) => return Some(question),
        };
        let below = |target: Vec<u8>| {
            if target.starts_with(b"/") || has_scheme(&target) {
                target
            } else {
                [&base[..], &target].concat()
            }
        };
        match rewritten {
            Rewritten::Unchanged => None,
            Rewritten::Status(status) => Some(Decision::Status(Some(settings.clone()), status)),
            Rewritten::Redirect { status, location } => {
                Some(redirected(settings.clone(), status, location))
            }
            Rewritten::Proxy {
                upstream,
                path: asked,
                query,
            } => {
                let state = rule_state.get_or_insert_with(Default::default);
                state.destination = Some(back_end(upstream, path, &asked));
                state.rewritten_in_folder = true;
                in_place(self.request, self.request.path().to_vec(), &query).or_else(|| {
                    // To be routed anew all the same.
                    let target = self.request.resource.to_vec();
                    Some(Decision::Led(Lead {
                        target,
                        in_place: true,
                    }))
                })
            }
            Rewritten::Path {
                path: new, query, ..
            } => {
                let Some(new) = resolved(&below(new)) else {
                    return Some(Decision::Status(Some(settings.clone()), 403));
                };
                if new == path.merged {
                    // A redirect to the same path: as in Apache the rules have finished.
                    let state = rule_state.get_or_insert_with(Default::default);
                    state.rewritten_in_folder = true;
                    return in_place(self.request, self.request.path().to_vec(), &query);
                }
                Some(Decision::Led(Lead {
                    target: joined(&percent::encode_path(&new), &query),
                    in_place: false,
                }))
            }
        }
    }

    /// The URL path to which relative targets are appended: `RewriteBase`, or the request's path
    /// without the part that the rules saw.
    fn base(&self, configured: Option<&str>, path: &Path, subject: &[u8]) -> Vec<u8> {
        let mut base = match configured {
            Some(base) => base.as_bytes().to_vec(),
            None => match path.merged.strip_suffix(subject) {
                Some(start) => start.to_vec(),
                None => {
                    let end = memchr::memrchr(b'/', &path.merged).unwrap_or(0);
                    path.merged[..end].to_vec()
                }
            },
        };
        if !base.ends_with(b"/") {
            base.push(b'/');
        }
        base
    }
}
