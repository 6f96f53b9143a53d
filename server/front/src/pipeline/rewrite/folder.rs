//! Carries out the `RewriteRule`s of a folder. These rules see the part of the file's path behind
//! the folder, and redirect the request to another path.

use super::redirects::{joined, redirected};
use super::{back_end, in_place, may_run, resource_of, Subject};
use crate::pipeline::rules::{Decision, Evaluation, RedirectTarget};
use crate::request::canonical::has_scheme;
use crate::request::rule_state::{Destination, RuleState};
use crate::request::virtual_root::document_root;
use crate::rewriting::Rewritten;
use crate::routing::{Route, RouteOutcome};
use mehari_config::Phase;
use mehari_http::path::{resolved, Path};

impl Evaluation<'_> {
    /// Runs the `RewriteRule`s of a folder. `None`: the request continues.
    pub(in crate::pipeline) fn rewrite_in_folder(
        &self,
        route: &Route,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let settings = &route.settings;
        let rewriting = &settings.rules.rewriting;
        // An index or a fallback has a path of its own.
        let own = route.led_path().unwrap_or(&path.merged);
        let mapping = rule_state.as_ref().map(|state| &state.mapping);
        let is_finished = mapping.is_some_and(|mapping| {
            matches!(
                mapping.destination,
                Some(Destination::BackEnd(_) | Destination::BackEndOfFolder(_))
            ) || mapping.rewritten_in_folder.as_deref() == Some(own)
        });
        if is_finished {
            return None;
        }
        let file = [&route.file[..], &route.path_info].concat();
        let folder = rewriting
            .folder
            .as_ref()
            .map(|folder| folder.as_os_str().as_encoded_bytes());
        let behind = folder.and_then(|folder| file.strip_prefix(folder));
        let as_folder = folder.and_then(|folder| folder.strip_suffix(b"/"));
        // The folder itself was requested without the final slash.
        if Some(&file[..]) == as_folder && !rewriting.allows_no_slash() {
            return None;
        }
        if settings.refuses_rewriting() {
            return Some(Decision::Status(Some(settings.clone()), 403));
        }
        if !may_run(rewriting, rule_state) {
            return None;
        }
        let subject = match behind {
            Some(behind) => behind.to_vec(),
            None => file.clone(),
        };
        let base = self.base(rewriting.base.as_deref(), path, &subject);
        let mut variables = self.variables(route, settings, (None, Phase::Fixup));
        variables.path = Some(&path.merged);
        let subject = Subject {
            text: subject,
            base: &base,
        };
        let rewritten = match self.run_rules(variables, subject, rewriting, rule_state) {
            Ok(rewritten) => rewritten,
            Err(need) => return Some(Decision::Needs(need)),
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
            // As in Apache, the redirect to the final slash outweighs another path.
            Rewritten::Path { .. } if lacks_slash(route) => None,
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
                let proxied = back_end(upstream, path, &asked);
                state.mapping.destination = Some(Destination::BackEndOfFolder(proxied));
                in_place(self.request, self.request.path().to_vec(), &query).or_else(|| {
                    // The target stays, but the request is routed again.
                    let target = self.request.resource.to_vec();
                    Some(Decision::Led(RedirectTarget {
                        target,
                        in_place: true,
                        ..Default::default()
                    }))
                })
            }
            Rewritten::Path {
                path: new, query, ..
            } => {
                let new = below(new);
                let root = document_root(self.host, rule_state.as_deref());
                let root = root.strip_suffix(b"/").unwrap_or(root);
                let is_same = new == file;
                // As in Apache, a path of the disk below the document root is a path of a URL.
                let url = match (&rewriting.base, new.strip_prefix(root)) {
                    (None, Some(below)) if below.starts_with(b"/") => below,
                    _ => &new,
                };
                let Some(new) = resolved(url) else {
                    return Some(Decision::Status(Some(settings.clone()), 403));
                };
                if is_same || new == own {
                    // The rules lead to the same path. Like in Apache, they have then finished.
                    let state = rule_state.get_or_insert_with(Default::default);
                    state.mapping.rewritten_in_folder = Some(own.to_vec());
                    return in_place(self.request, self.request.path().to_vec(), &query);
                }
                Some(Decision::Led(RedirectTarget {
                    target: joined(self.request, &resource_of(self.host, &new), &query),
                    in_place: false,
                    ..Default::default()
                }))
            }
        }
    }

    /// Returns the URL path to which relative targets are appended: `RewriteBase`, or the request's
    /// path without the part that the rules see.
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

/// Whether the route is that of a folder that is redirected to its path with the final slash.
fn lacks_slash(route: &Route) -> bool {
    matches!(&route.outcome, RouteOutcome::Moved(folder) if folder.keeps_query)
}
