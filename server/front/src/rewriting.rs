//! Runs `RewriteRule`s over the path of a request, or over the part of the path behind a folder.
//! `pipeline::rewrite` calls [`Run::run_rules`] and carries out the result.

mod conditions;
mod cookie;
mod outcome;
mod target;

use crate::request::rule_state::RuleState;
use crate::request::variables::{ExpressionVariables, Match};
use conditions::OwnedMatch;
use mehari_config::{Flags, Groups, RewriteRule, Rewriting, VariableSource};
use outcome::expanded;
use std::sync::Arc;
use target::is_external;

/// The most rules that are evaluated for a request, repetitions by `[N]` included.
const MOST_RUNS: u32 = 100_000;

/// The result of the rules.
#[derive(Debug, PartialEq)]
pub enum Rewritten {
    Unchanged,
    /// Another path and its query. In a folder it may be relative.
    Path {
        path: Vec<u8>,
        query: Vec<u8>,
        /// `[PT]`: the result is a URL path, to which aliases apply.
        pass_through: bool,
        /// Whether the first segment of the path stands in the rule's own text. The path may then
        /// be a file's path on the disk.
        fixed_start: bool,
        /// Whether a rule has made a name that begins with a dot from the client's text.
        uncovers: bool,
    },
    Redirect {
        status: u16,
        location: Vec<u8>,
    },
    Status(u16),
    /// `[P]`: the upstream, with the path and query for it.
    Proxy {
        upstream: String,
        path: Vec<u8>,
        query: Vec<u8>,
    },
}

/// A request on its way through the rules.
pub struct Run<'a> {
    pub variables: ExpressionVariables<'a>,
    /// The text that patterns match.
    pub subject: Vec<u8>,
    pub query: Vec<u8>,
    /// Whether the request has a query, which may be empty, and no rule has replaced this query.
    pub has_query: bool,
    /// Receives the variables and cookies that rules set.
    pub rule_state: RuleState,
    /// The URL path to which relative redirect targets are appended.
    pub base: &'a [u8],
    /// The folder of the rules with a final slash, and the file that earlier rules have made.
    pub folder: &'a [u8],
    pub file: Option<Vec<u8>>,
}

impl Run<'_> {
    pub fn run_rules(&mut self, rewriting: &Rewriting) -> Rewritten {
        let rules = &rewriting.rules;
        let sent_query = self.query.clone();
        let mut changed = None;
        // The last redirect. It counts if the subject is an external address after the last rule.
        let mut leaving = None;
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
                    uncovers,
                } => {
                    let before = changed.is_some_and(|(_, _, before)| before);
                    let still = before && target::has_hidden(&self.subject);
                    changed = Some((pass_through, fixed_start, uncovers || still));
                }
                Applied::Leaving { status, no_escape } => leaving = Some((status, no_escape)),
                Applied::End(outcome) => return outcome,
            }
            if flags.end {
                self.rule_state.ended = true;
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
        if let Some((status, no_escape)) = leaving.filter(|_| is_external(&self.subject)) {
            let is_plain = no_escape || self.query == sent_query;
            return self.redirect(status, no_escape, is_plain);
        }
        match changed {
            None => Rewritten::Unchanged,
            Some((pass_through, fixed_start, uncovers)) => Rewritten::Path {
                path: std::mem::take(&mut self.subject),
                query: std::mem::take(&mut self.query),
                pass_through,
                fixed_start,
                uncovers,
            },
        }
    }

    /// Applies one rule. `None`: the rule does not match.
    fn apply(&mut self, rule: &RewriteRule) -> Option<Applied> {
        let is_for_clients = rule.flags.no_subrequest || rule.flags.redirect.is_some();
        if is_for_clients && self.rule_state.is_within {
            return None;
        }
        let subject = self.subject.clone();
        let groups = match (rule.pattern.groups(&subject), rule.negated) {
            (Some(groups), false) => groups,
            (None, true) => Groups::default(),
            _ => return None,
        };
        let matched = Match {
            text: &subject,
            groups: &groups,
        };
        let conditions = self.conditions(&rule.conditions, matched)?;
        for name in conditions.fields {
            self.variables.note_varying(name);
        }
        let condition = conditions.last.as_ref().map(OwnedMatch::borrow);
        let flags = &rule.flags;
        let variables = self.facts_for(matched, condition, flags.escape.as_ref());
        let substitution = rule.substitution.as_ref();
        // As in Apache, the target does not see the variables that the rule itself sets.
        let expanded = substitution.map(|text| (text, expanded(text, &variables, flags)));
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
        let (substitution, mut target) = match expanded {
            // As in Apache, `-` leads nowhere, so `R` does not redirect here.
            None => return Some(Applied::Nothing),
            Some((_, None)) => return Some(Applied::End(Rewritten::Status(403))),
            Some((substitution, Some(target))) => (substitution, target),
        };
        let literal = substitution.pieces().first();
        let fixed_start = matches!(literal, Some(mehari_config::Piece::Literal(start))
            if start.len() > 1 && start[1..].contains(&b'/'))
            || flags.any_start;
        self.take_query(&mut target, flags);
        let leaves = rule.back_end.is_none() && (status.is_some() || is_external(&target));
        let is_escaped = leaves && !flags.no_escape;
        // A blank or a control character would later stand unescaped in request heads.
        if !is_escaped && self.query.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return Some(Applied::End(Rewritten::Status(403)));
        }
        if let Some(start) = &rule.back_end {
            return Some(Applied::End(self.proxy(start, &target, flags)));
        }
        if leaves {
            return Some(self.leave(status.unwrap_or(302), target, flags));
        }
        let root = self.variables.host.mapping.document_root.as_os_str();
        let root = root.as_encoded_bytes();
        let uncovers = target::uncovers(&target, &subject, substitution, root);
        self.lead_to(target);
        Some(Applied::Path {
            pass_through: flags.pass_through,
            fixed_start,
            uncovers,
        })
    }

    /// Makes `target` the text for the next rules. Without a slash at its beginning, it is a path
    /// below the folder of the rules, or below the root outside of folders.
    fn lead_to(&mut self, target: Vec<u8>) {
        let is_whole = target.starts_with(b"/");
        if self.variables.file.is_empty() {
            let slash: &[u8] = if is_whole { b"" } else { b"/" };
            self.subject = [slash, &target].concat();
            return;
        }
        let folder = if is_whole { b"" } else { self.folder };
        self.file = Some([folder, &target].concat());
        self.subject = target;
    }

    fn note(&mut self, flags: &Flags, matched: Match<'_>, condition: Option<Match<'_>>) {
        if let Some(forced) = &flags.forced {
            self.rule_state.mapping.forced.push(forced.clone());
        }
        for (name, text) in &flags.environment {
            let value = text.as_ref();
            let value = value.map(|text| text.of(&self.facts_for(matched, condition, None)));
            match value {
                Some(value) => self.rule_state.set(name.as_bytes(), value),
                None => self.rule_state.unset(name.as_bytes()),
            }
        }
        for text in &flags.cookies {
            let cookie = text.of(&self.facts_for(matched, condition, None));
            cookie::push(&cookie, &mut self.rule_state.lines);
        }
    }
}

enum Applied {
    Nothing,
    Path {
        pass_through: bool,
        fixed_start: bool,
        uncovers: bool,
    },
    /// The subject is an external address now.
    Leaving {
        status: u16,
        no_escape: bool,
    },
    End(Rewritten),
}

/// Returns the number of the first rule after the chain that contains rule `at`.
fn behind_chain(rules: &[Arc<RewriteRule>], mut at: usize) -> usize {
    while rules.get(at).is_some_and(|rule| rule.flags.chain) {
        at += 1;
    }
    at + 1
}
