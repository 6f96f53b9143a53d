//! Applies `Redirect`, `RedirectMatch` and the like.

use crate::content::page;
use crate::pipeline::rules::{Decision, Evaluation};
use crate::request::canonical::absolute;
use crate::request::Request;
use mehari_config::{is_url, LogLevel, Matched, Nothing, RedirectRule, Rest, Settings, Text};
use mehari_text::percent;
use std::sync::Arc;

impl Evaluation<'_> {
    /// Returns the decision of the first rule that matches the path.
    pub(in crate::pipeline) fn redirect(
        &self,
        rules: &[Arc<RedirectRule>],
        path: &[u8],
        settings: &Arc<Settings>,
    ) -> Option<Decision> {
        let mut met = rules.iter();
        let (rule, rest) = met.find_map(|rule| Some((rule, rule.matches(path)?)))?;
        let Some(to) = &rule.to else {
            return Some(Decision::Status(Some(settings.clone()), rule.status));
        };
        let target = target(to, rest, path);
        Some(self.redirected_to(settings, rule.status, target))
    }

    /// Returns the redirect to a URL or a path. The request's query follows a target without a
    /// query.
    pub(super) fn redirected_to(
        &self,
        settings: &Arc<Settings>,
        status: u16,
        mut target: Vec<u8>,
    ) -> Decision {
        if !target.starts_with(b"/") && !is_url(&target) {
            self.log_no_url(&target);
            return Decision::Status(None, 500);
        }
        if !target.contains(&b'?') {
            target = joined(self.request, &target, self.request.query());
        }
        let location = if settings.rules.relative_redirects {
            target
        } else {
            absolute(self.request, &self.host.names, target)
        };
        redirected(settings.clone(), status, location)
    }

    fn log_no_url(&self, target: &[u8]) {
        let request = self.request;
        let text = format!(
            "{}: Redirect leads to `{}`, which is neither a URL nor a path",
            request.target.escape_ascii(),
            target.escape_ascii()
        );
        let journal = &self.shared.journal;
        journal.error(
            request.virtual_host,
            LogLevel::Error,
            request.origin(),
            &text,
        );
    }
}

/// Returns the target to which a rule redirects the path.
fn target(to: &Text, rest: Rest<'_>, path: &[u8]) -> Vec<u8> {
    let groups = match rest {
        Rest::Behind(rest) => return [to.of(&Nothing), escaped_path(rest)].concat(),
        Rest::Groups(groups) => groups,
    };
    let variables = Matched {
        variables: &Nothing,
        groups: Some((path.into(), *groups)),
    };
    escaped(&to.of(&variables))
}

/// Returns the path with the query. An empty query is kept if the request has an empty query too.
pub fn joined(request: &Request<'_>, path: &[u8], query: &[u8]) -> Vec<u8> {
    if query.is_empty() && !request.has_query() {
        path.to_vec()
    } else {
        [path, b"?", query].concat()
    }
}

/// Escapes the target of a redirect as Apache does: its path, and not its query or fragment.
pub(super) fn escaped(target: &[u8]) -> Vec<u8> {
    let end = memchr::memchr2(b'?', b'#', target).unwrap_or(target.len());
    [&escaped_path(&target[..end]), &target[end..]].concat()
}

/// Escapes a path with lower-case digits, as Apache does.
fn escaped_path(path: &[u8]) -> Vec<u8> {
    escaped_unless(|byte| percent::OF_PATHS.has(byte), path)
}

fn escaped_unless(may_stand: impl Fn(u8) -> bool, bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if may_stand(byte) {
            escaped.push(byte)
        } else {
            percent::push_lower(byte, &mut escaped)
        }
    }
    escaped
}

/// Returns the redirect. Bytes that may not stand in a field are escaped.
pub(in crate::pipeline) fn redirected(
    settings: Arc<Settings>,
    status: u16,
    location: Vec<u8>,
) -> Decision {
    let location = escaped_unless(|byte| byte > b' ' && byte != 0x7f, &location);
    Decision::Answer(settings, page::redirect(status, &location))
}
