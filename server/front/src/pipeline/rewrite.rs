//! Runs the rewrite stage: the rules of the server or virtual host (`SetEnvIf`, `RewriteRule`,
//! `Redirect`). These rules see the path before it is mapped to a file.
//!
//! `crate::rewriting` runs `RewriteRule`s, and this stage carries out the result. `folder` does the
//! same for the rules of folders, in the fixup stage.

mod folder;
mod place;
mod redirects;

use super::rules::{variables_of, Decision, Evaluation, Need, RedirectTarget};
use crate::request::canonical::absolute;
use crate::request::rule_state::{Beginning, Destination, RuleState, Stage};
use crate::request::variables::ExpressionVariables;
use crate::request::virtual_root;
use crate::request::Request;
use crate::rewriting::{Rewritten, Run};
use crate::routing::with_slashes_as_sent;
use mehari_config::{EncodedSlashes, Host, PassFrom, PlaceRules, Proxied, Rewriting, Settings};
use mehari_http::path::{merge_slashes, resolved, Path};
use mehari_http::problem::Problem;
use mehari_text::percent;
use std::sync::Arc;

pub use redirects::joined;
pub(super) use redirects::redirected;

impl Evaluation<'_> {
    /// Evaluates the rules of the host. `SetEnvIf` and `RewriteRule` count once per resource.
    /// `None`: the request continues.
    pub(super) fn rewrite(
        &self,
        rule_state: &mut Option<Box<RuleState>>,
        from: Stage,
    ) -> Result<Option<Decision>, Problem> {
        let host = self.host;
        let path = Path::decode_as(self.request.path(), host.mapping.encoded_slashes())?;
        let settings = host.base_settings();
        let decided = |rule_state: &Option<Box<RuleState>>| {
            rule_state
                .as_ref()
                .and_then(|state| state.mapping.destination.clone())
        };
        if decided(rule_state).is_none() {
            if let Some(need) = self.looks_up(&settings, rule_state) {
                return Ok(Some(need));
            }
            // As in Apache, a sub-request has the variables of the request within which it is made.
            let is_within = rule_state.as_ref().is_some_and(|state| state.is_within);
            if from == Stage::Server && !is_within {
                self.at_stage(from, &settings, rule_state, |rule_state| {
                    self.set_variables(&host.rules.variables, None, rule_state);
                });
            }
            let stage = Stage::Translation;
            let (redirected, decision) =
                self.at_stage(stage, &settings, rule_state, |rule_state| {
                    let redirected = self.begin_at_place(&path, rule_state)?;
                    Ok((redirected, self.rewrite_path(&path, rule_state)))
                })?;
            // The section's redirect applies to a path that the rules leave or map to another path.
            let stays = match &decision {
                None => decided(rule_state).is_none(),
                Some(Decision::Led(_)) => is_mapped(&decided(rule_state)),
                Some(_) => false,
            };
            if let (true, Some(redirected)) = (stays, redirected) {
                return Ok(Some(self.unless_refused(&path, redirected)));
            }
            if let Some(decision) = decision {
                return Ok(Some(decision));
            }
        }
        // `Redirect` does not apply to a path that a rule has already mapped to a file or a back
        // end.
        if let Some(Destination::File(_) | Destination::BackEnd(_)) = decided(rule_state) {
            return Ok(None);
        }
        let settings = self.early_settings(&path, settings);
        let rules = &host.rules.redirects;
        let redirect = self.redirect(rules, &path.merged, &settings);
        if redirect.is_none() && !place::take_alias(rule_state) {
            if let Some(mapped) = virtual_root::map(host, self.request, &path.merged)? {
                let state = rule_state.get_or_insert_with(Default::default);
                state.mapping.take_virtual(mapped);
            }
        }
        Ok(redirect.map(|redirect| self.unless_refused(&path, redirect)))
    }

    /// Returns the decision of a rule, or 404 if the path contains `%2F` and the host does not
    /// allow this.
    fn unless_refused(&self, path: &Path, decision: Decision) -> Decision {
        if self.host.mapping.refuses(path.encoded_slash) {
            Decision::Status(None, 404)
        } else {
            decision
        }
    }

    /// Calls `with`, and notes what it changes if the stage is evaluated again after Perl's
    /// handlers.
    fn at_stage<T>(
        &self,
        stage: Stage,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
        with: impl FnOnce(&mut Option<Box<RuleState>>) -> T,
    ) -> T {
        if settings.left_rules().place == PlaceRules::Settled {
            return with(rule_state);
        }
        let before = variables_of(rule_state);
        let result = with(rule_state);
        let state = rule_state.get_or_insert_with(Default::default);
        state.note_stage(stage, &before);
        state.beginning = Some(Beginning(self.request.redirect.cloned()));
        result
    }

    /// Runs the `RewriteRule`s of the host and notes the result. `None`: the request continues.
    fn rewrite_path(
        &self,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let (request, host) = (self.request, self.host);
        let rewriting = &host.rules.rewriting;
        if !may_run(rewriting, rule_state) {
            return None;
        }
        let mut variables =
            ExpressionVariables::new(request, host, None, &self.shared.lookups.maps);
        variables.path = Some(&path.merged);
        self.name_script(path, rule_state);
        let subject = Subject {
            text: path.merged.clone(),
            base: b"/",
        };
        let rewritten = match self.run_rules(variables, subject, rewriting, rule_state) {
            Ok(rewritten) => rewritten,
            Err(need) => return Some(Decision::Needs(need)),
        };
        let (destination, new, query) = match rewritten {
            Rewritten::Unchanged => return None,
            // As in Apache, such a path is refused before any rule is asked.
            _ if host.mapping.refuses(path.encoded_slash) => {
                return Some(Decision::Status(None, 404))
            }
            Rewritten::Status(status) => return Some(Decision::Status(None, status)),
            Rewritten::Redirect { status, location } => {
                return Some(redirected(host.base_settings(), status, location));
            }
            Rewritten::Proxy {
                upstream,
                path: asked,
                query,
            } => {
                let proxied = back_end(upstream, path, &asked);
                (Destination::BackEnd(proxied), None, query)
            }
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
                // Hidden names in a URL path are checked later, when the path is mapped.
                (Some(new), true) => (Destination::Mapped, Some(new), query),
                (Some(_), false) if uncovers => return Some(Decision::Status(None, 404)),
                (Some(file), false) => {
                    // `..` is safe only below the document root.
                    let climbs = new.split(|byte| *byte == b'/').any(|part| part == b"..");
                    let file = file_of(host, merge_slashes(&file), fixed_start && !climbs);
                    (Destination::File(file), None, query)
                }
            },
        };
        let state = rule_state.get_or_insert_with(Default::default);
        state.mapping.destination = Some(destination);
        let resource = match new {
            Some(new) => resource_of(host, &new),
            None => request.path().to_vec(),
        };
        in_place(request, resource, &query)
    }

    /// Sets SCRIPT_URL and SCRIPT_URI to the path before any rule.
    fn name_script(&self, path: &Path, rule_state: &mut Option<Box<RuleState>>) {
        let state = rule_state.get_or_insert_with(Default::default);
        // As in Apache, a sub-request has the path of the client's request.
        if state.is_within && state.variable(b"SCRIPT_URL").is_some() {
            return;
        }
        let before = state.variable(b"REDIRECT_SCRIPT_URL");
        let url = before.unwrap_or(&path.merged).to_vec();
        state.set(
            b"SCRIPT_URI",
            absolute(self.request, &self.host.names, url.clone()),
        );
        state.set(b"SCRIPT_URL", url);
    }

    /// Runs `RewriteRule`s. The error is the question that a `RewriteMap` program must answer
    /// first.
    fn run_rules(
        &self,
        variables: ExpressionVariables<'_>,
        subject: Subject<'_>,
        rewriting: &Rewriting,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rewritten, Need> {
        let mut run = Run {
            query: variables.query.to_vec(),
            has_query: self.request.has_query(),
            variables,
            subject: subject.text,
            base: subject.base,
            folder: rewriting
                .folder
                .as_ref()
                .map_or(b"", |folder| folder.as_os_str().as_encoded_bytes()),
            file: None,
            rule_state: rule_state.as_deref().cloned().unwrap_or_default(),
        };
        let rewritten = run.run_rules(rewriting);
        let mut state = run.rule_state;
        for field in run.variables.varying.into_inner() {
            state.vary(&field);
        }
        if let Some((map, key)) = self.shared.lookups.maps.take_wanted() {
            return Err(Need::LookUp { map, key });
        }
        let has_changed = !matches!(rewritten, Rewritten::Unchanged);
        if rule_state.is_some() || has_changed || state.has_notes() {
            *rule_state = Some(Box::new(state));
        }
        Ok(rewritten)
    }
}

/// Returns the URL path for a decoded one. With `AllowEncodedSlashes NoDecode`, a decoded path
/// still has the `%2F` of the client.
fn resource_of(host: &Host, path: &[u8]) -> Vec<u8> {
    let encoded = percent::encode_path(path);
    match host.mapping.encoded_slashes() {
        EncodedSlashes::Kept => with_slashes_as_sent(&encoded),
        EncodedSlashes::Decoded | EncodedSlashes::Refused => encoded,
    }
}

fn is_mapped(destination: &Option<Destination>) -> bool {
    matches!(destination, Some(Destination::Mapped))
}

/// Returns a decision for the same request with another target, if the target differs.
fn in_place(request: &Request<'_>, path: Vec<u8>, query: &[u8]) -> Option<Decision> {
    let target = joined(request, &path, query);
    let has_changed = path != request.path() || query != request.query();
    has_changed.then_some(Decision::Led(RedirectTarget {
        target,
        in_place: true,
        ..Default::default()
    }))
}

fn may_run(rewriting: &Rewriting, rule_state: &Option<Box<RuleState>>) -> bool {
    rewriting.is_on() && !rule_state.as_ref().is_some_and(|state| state.ended)
}

/// A path as rules see it.
struct Subject<'a> {
    /// The text that patterns match.
    text: Vec<u8>,
    /// The URL path to which relative redirect targets are appended.
    base: &'a [u8],
}

/// Returns a back end that gets the rule's target in place of the whole path.
fn back_end(upstream: String, path: &Path, asked: &[u8]) -> Arc<Proxied> {
    let from = String::from_utf8_lossy(&path.merged).into_owned();
    Arc::new(Proxied {
        upstream,
        from: PassFrom::Prefix(from),
        to: Some(String::from_utf8_lossy(asked).into_owned()),
        raw: false,
    })
}

/// Returns the file of a rewritten path. The path is below the document root. As an exception, it
/// is a path of the disk if its first folder stands in the rule's text and exists only on the disk.
fn file_of(host: &Host, path: Vec<u8>, fixed_start: bool) -> Vec<u8> {
    let root = host.mapping.document_root.as_os_str().as_encoded_bytes();
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
