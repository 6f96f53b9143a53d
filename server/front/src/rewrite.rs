//! Running `RewriteRule`s: over the path of a request, or over what of it lies behind a folder.

use crate::facts::RequestFacts;
use crate::notes::Notes;
use mehari_config::{
    escaped, Check, Facts, Flags, Groups, RewriteCondition, RewriteRule, Rewriting,
};
use std::sync::Arc;

/// Rules run at most, `[N]` and all.
const MOST_RUNS: u32 = 100_000;

/// What the rules came to.
#[derive(Debug, PartialEq)]
pub enum Rewritten {
    Unchanged,
    /// Another path, and the query that goes with it. In a folder it may be relative to that.
    Path {
        path: Vec<u8>,
        query: Vec<u8>,
        /// `[PT]`: it is a URL path, for aliases to map.
        pass_through: bool,
        /// The first segment stands in the rule, so that it may be a folder of the disk.
        fixed_start: bool,
    },
    Redirect {
        status: u16,
        location: Vec<u8>,
    },
    Status(u16),
    /// `[P]`: an address elsewhere.
    Proxy(Vec<u8>),
}

/// A request on its way through the rules.
pub struct Run<'a> {
    pub facts: RequestFacts<'a>,
    /// What the patterns see.
    pub subject: Vec<u8>,
    pub query: Vec<u8>,
    /// Variables and cookies are put here.
    pub notes: Notes,
}

impl Run<'_> {
    pub fn through(&mut self, rewriting: &Rewriting) -> Rewritten {
        let rules = &rewriting.rules;
        let mut changed = None;
        let mut at = 0;
        let mut rounds = 0;
        let mut runs = 0;
        while let Some(rule) = rules.get(at) {
            runs += 1;
            if runs > MOST_RUNS {
                return Rewritten::Status(500);
            }
            let Some(applied) = self.apply(rule) else {
                at = behind_chain(rules, at);
                continue;
            };
            let flags = &rule.flags;
            match applied {
                Applied::Nothing => {}
                Applied::Path {
                    pass_through,
                    fixed_start,
                } => {
                    changed = Some((pass_through, fixed_start));
                }
                Applied::End(outcome) => return outcome,
            }
            if flags.end {
                self.notes.ended = true;
            }
            if flags.last || flags.end || flags.pass_through {
                break;
            }
            match flags.next {
                Some(most) if rounds < most => {
                    rounds += 1;
                    at = 0;
                }
                Some(_) => return Rewritten::Status(500),
                None => at += 1 + flags.skip as usize,
            }
        }
        match changed {
            None => Rewritten::Unchanged,
            Some((pass_through, fixed_start)) => Rewritten::Path {
                path: std::mem::take(&mut self.subject),
                query: std::mem::take(&mut self.query),
                pass_through,
                fixed_start,
            },
        }
    }

    /// `None`: the rule is not about this request.
    fn apply(&mut self, rule: &RewriteRule) -> Option<Applied> {
        let subject = self.subject.clone();
        let groups = match (rule.pattern.groups(&subject), rule.negated) {
            (Some(groups), false) => groups,
            (None, true) => Groups::default(),
            _ => return None,
        };
        let matched = (subject.as_slice(), &groups);
        let condition = self.conditions(&rule.conditions, matched)?;
        let condition = condition
            .as_ref()
            .map(|(text, groups)| (text.as_slice(), groups));
        let flags = &rule.flags;
        self.note(flags, matched, condition);
        if flags.forbidden {
            return Some(Applied::End(Rewritten::Status(403)));
        }
        if flags.gone {
            return Some(Applied::End(Rewritten::Status(410)));
        }
        let status = flags.redirect;
        if let Some(status) = status.filter(|status| !(300..400).contains(status)) {
            return Some(Applied::End(Rewritten::Status(status)));
        }
        let Some(substitution) = &rule.substitution else {
            return Some(match status {
                Some(status) => {
                    let path = self.subject.clone();
                    Applied::End(self.redirect(status, path, flags))
                }
                None => Applied::Nothing,
            });
        };
        let facts = self.facts_for(matched, condition, flags.escape_groups);
        let mut target = substitution.of(&facts);
        let literal = substitution.pieces().first();
        let fixed_start = matches!(literal, Some(mehari_config::Piece::Literal(start))
            if start.len() > 1 && start[1..].contains(&b'/'));
        self.take_query(&mut target, flags);
        if flags.proxy {
            return Some(Applied::End(Rewritten::Proxy(with_query(
                target,
                &self.query,
            ))));
        }
        let elsewhere = has_scheme(&target);
        if status.is_some() || elsewhere {
            return Some(Applied::End(self.redirect(
                status.unwrap_or(302),
                target,
                flags,
            )));
        }
        self.subject = target;
        Some(Applied::Path {
            pass_through: flags.pass_through,
            fixed_start,
        })
    }

    fn facts_for<'s>(
        &'s self,
        groups: (&'s [u8], &'s Groups),
        condition: Option<(&'s [u8], &'s Groups)>,
        escape_groups: bool,
    ) -> RequestFacts<'s> {
        let outer = &self.facts;
        RequestFacts {
            notes: Some(&self.notes),
            query: &self.query,
            groups: Some(groups),
            condition,
            escape_groups,
            path: match outer.file.is_empty() {
                true => &self.subject,
                false => outer.path,
            },
            ..RequestFacts::new(outer.request, outer.host, None, outer.maps)
        }
        .at(outer)
    }

    /// The groups of the last condition that matched; `None`: they do not hold.
    #[allow(clippy::type_complexity)]
    fn conditions(
        &self,
        conditions: &[RewriteCondition],
        matched: (&[u8], &Groups),
    ) -> Option<Option<(Vec<u8>, Groups)>> {
        let mut last: Option<(Vec<u8>, Groups)> = None;
        let mut rest = conditions.iter();
        while let Some(condition) = rest.next() {
            let known = last
                .as_ref()
                .map(|(text, groups)| (text.as_slice(), groups));
            let facts = self.facts_for(matched, known, false);
            let (holds, groups) = check(condition, &facts);
            if groups.is_some() {
                last = groups;
            }
            match (holds, condition.or_next) {
                (true, true) => {
                    // The others of this OR need not be asked.
                    for skipped in rest.by_ref() {
                        if !skipped.or_next {
                            break;
                        }
                    }
                }
                (true, false) | (false, true) => {}
                (false, false) => return None,
            }
        }
        Some(last)
    }

    fn note(
        &mut self,
        flags: &Flags,
        matched: (&[u8], &Groups),
        condition: Option<(&[u8], &Groups)>,
    ) {
        if flags.environment.is_empty() && flags.cookies.is_empty() {
            return;
        }
        let facts = self.facts_for(matched, condition, false);
        let set = flags
            .environment
            .iter()
            .map(|(name, text)| (name.clone(), text.as_ref().map(|text| text.of(&facts))));
        let set: Vec<_> = set.collect();
        let cookies: Vec<Vec<u8>> = flags.cookies.iter().map(|text| text.of(&facts)).collect();
        for (name, value) in set {
            match value {
                Some(value) => self.notes.set(name.as_bytes(), value),
                None => self.notes.unset(name.as_bytes()),
            }
        }
        for cookie in cookies {
            push_cookie(&cookie, &mut self.notes.lines);
        }
    }

    /// What follows a `?` of the target takes the place of the query, or comes before it.
    fn take_query(&mut self, target: &mut Vec<u8>, flags: &Flags) {
        let at = match flags.query_last {
            true => memchr::memrchr(b'?', target),
            false => memchr::memchr(b'?', target),
        };
        let own = at.map(|at| {
            let own = target[at + 1..].to_vec();
            target.truncate(at);
            own
        });
        match own {
            None if flags.discard_query => self.query.clear(),
            None => {}
            Some(own) if flags.append_query && !self.query.is_empty() => {
                let before = std::mem::replace(&mut self.query, own);
                if !self.query.is_empty() {
                    self.query.push(b'&');
                }
                self.query.extend_from_slice(&before);
            }
            Some(own) => self.query = own,
        }
    }

    fn redirect(&self, status: u16, target: Vec<u8>, flags: &Flags) -> Rewritten {
        let mut location = match flags.no_escape {
            true => target,
            false => escape_target(&target),
        };
        location = with_query(location, &self.query);
        location.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        Rewritten::Redirect { status, location }
    }
}

impl<'s> RequestFacts<'s> {
    /// The file and variables of other facts.
    fn at(mut self, outer: &RequestFacts<'s>) -> RequestFacts<'s> {
        self.file = outer.file;
        self.path_info = outer.path_info;
        self.set_env = outer.set_env;
        self
    }
}

enum Applied {
    Nothing,
    Path {
        pass_through: bool,
        fixed_start: bool,
    },
    End(Rewritten),
}

/// The next rule that is not chained to the one at `at`.
fn behind_chain(rules: &[Arc<RewriteRule>], mut at: usize) -> usize {
    while rules.get(at).is_some_and(|rule| rule.flags.chain) {
        at += 1;
    }
    at + 1
}

fn check(condition: &RewriteCondition, facts: &RequestFacts) -> (bool, Option<(Vec<u8>, Groups)>) {
    let subject = condition.subject.of(facts);
    let (holds, groups) = match &condition.check {
        Check::Match(pattern) => {
            let groups = pattern.groups(&subject);
            (groups.is_some(), groups)
        }
        Check::File(test) => (test.passes(&subject, facts as &dyn Facts), None),
        Check::Compare(comparison) => (comparison.holds(&subject), None),
        Check::Expression(expression) => (expression.holds(facts), None),
    };
    let groups = groups.filter(|_| !condition.negated);
    (
        holds != condition.negated,
        groups.map(|groups| (subject, groups)),
    )
}

pub fn has_scheme(target: &[u8]) -> bool {
    let colon = memchr::memmem::find(target, b"://");
    colon.is_some_and(|at| at > 0 && target[..at].iter().all(u8::is_ascii_alphanumeric))
}

fn with_query(mut target: Vec<u8>, query: &[u8]) -> Vec<u8> {
    if !query.is_empty() {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    target
}

/// The path escaped, scheme and host left alone; a fragment too.
fn escape_target(target: &[u8]) -> Vec<u8> {
    let start = match has_scheme(target) {
        true => {
            let host = memchr::memmem::find(target, b"://").map_or(0, |at| at + 3);
            memchr::memchr(b'/', &target[host..]).map_or(target.len(), |at| host + at)
        }
        false => 0,
    };
    let (host, path) = target.split_at(start);
    let (path, fragment) = match memchr::memchr(b'#', path) {
        Some(at) => path.split_at(at),
        None => (path, &[][..]),
    };
    [host, &escaped(path), fragment].concat()
}

/// `NAME:VALUE:DOMAIN[:LIFETIME[:PATH[:SECURE[:HTTPONLY[:SAMESITE]]]]]`; another first character parts them too.
fn push_cookie(text: &[u8], lines: &mut Vec<u8>) {
    let (mark, text) = match text.first() {
        Some(b';') => (b';', &text[1..]),
        _ => (b':', text),
    };
    let mut parts = text.split(|byte| *byte == mark);
    let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
        return;
    };
    let mut cookie = [b"Set-Cookie: ", name, b"=", value].concat();
    let (domain, lifetime, path) = (parts.next(), parts.next(), parts.next());
    let mut attribute = |start: &str, value: Option<&[u8]>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            cookie.extend_from_slice(start.as_bytes());
            cookie.extend_from_slice(value);
        }
    };
    attribute(
        "; path=",
        Some(path.filter(|path| !path.is_empty()).unwrap_or(b"/")),
    );
    attribute("; domain=", domain.filter(|domain| *domain != b"-"));
    let minutes = lifetime.and_then(|text| std::str::from_utf8(text).ok()?.parse::<u64>().ok());
    if let Some(minutes) = minutes.filter(|minutes| *minutes > 0) {
        attribute(
            "; Max-Age=",
            Some(minutes.saturating_mul(60).to_string().as_bytes()),
        );
    }
    let is_on = |text: Option<&[u8]>, word: &str| {
        text.is_some_and(|text| {
            text.eq_ignore_ascii_case(word.as_bytes()) || text == b"1" || text == b"true"
        })
    };
    let (secure, http_only, same_site) = (parts.next(), parts.next(), parts.next());
    if is_on(secure, "secure") {
        attribute("; ", Some(b"secure"));
    }
    if is_on(http_only, "HttpOnly") {
        attribute("; ", Some(b"HttpOnly"));
    }
    attribute("; SameSite=", same_site);
    cookie.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    lines.extend_from_slice(&cookie);
    lines.extend_from_slice(b"\r\n");
}
