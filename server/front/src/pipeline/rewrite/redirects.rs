//! Applies `Redirect`, `RedirectMatch` and the like.

use crate::content::Answer;
use crate::pipeline::rules::{Decision, Evaluation};
use crate::request::canonical::{absolute, has_scheme};
use mehari_config::{Matched, Nothing, RedirectFrom, RedirectRule, Rest, Settings, Text};
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
        let mut target = target(rule, to, rest, path);
        if !target.contains(&b'?') {
            target = joined(&target, self.request.query());
        }
        let location = absolute(self.request, &self.host.names, target);
        Some(redirected(settings.clone(), rule.status, location))
    }
}

/// Returns the target to which a rule redirects the path.
fn target(rule: &RedirectRule, to: &Text, rest: Rest<'_>, path: &[u8]) -> Vec<u8> {
    let groups = match rest {
        Rest::Behind(rest) => return [to.of(&Nothing), percent::encode_path(rest)].concat(),
        Rest::Groups(groups) => groups,
    };
    let variables = Matched {
        variables: &Nothing,
        groups: Some((path.into(), *groups)),
    };
    let mut target = to.of(&variables);
    target.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    if matches!(rule.from, RedirectFrom::Match(_)) && !has_scheme(&target) {
        escaped_but_query(&target)
    } else {
        target
    }
}

pub fn joined(path: &[u8], query: &[u8]) -> Vec<u8> {
    if query.is_empty() {
        path.to_vec()
    } else {
        [path, b"?", query].concat()
    }
}

fn escaped_but_query(target: &[u8]) -> Vec<u8> {
    match memchr::memchr(b'?', target) {
        Some(at) => [&percent::encode_path(&target[..at]), &target[at..]].concat(),
        None => percent::encode_path(target),
    }
}

pub(in crate::pipeline) fn redirected(
    settings: Arc<Settings>,
    status: u16,
    location: Vec<u8>,
) -> Decision {
    let mut location = location;
    location.retain(|byte| *byte > b' ' && *byte != 0x7f);
    let lines = [b"Location: ", &location[..], b"\r\n"].concat();
    Decision::Answer(settings, Answer::new(status, lines))
}
