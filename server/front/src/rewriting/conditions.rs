//! Evaluates the conditions of a rule, and gives conditions and targets their values.

use crate::request::variables::{ExpressionVariables, Match};
use mehari_config::{Check, Escape, Groups, RewriteCondition, VariableSource};
use std::borrow::Cow;

use super::Run;

/// A [`Match`] that owns its text.
pub(super) struct OwnedMatch {
    text: Vec<u8>,
    groups: Groups,
}

impl OwnedMatch {
    pub(super) fn borrow(&self) -> Match<'_> {
        Match {
            text: &self.text,
            groups: &self.groups,
        }
    }
}

/// What the conditions of a rule leave to the rule if they are true.
pub(super) struct TrueConditions<'c> {
    /// The last condition that matched a pattern.
    pub(super) last: Option<OwnedMatch>,
    /// The request fields that made conditions true.
    pub(super) fields: Vec<Cow<'c, str>>,
}

impl Run<'_> {
    pub(super) fn facts_for<'s>(
        &'s self,
        groups: Match<'s>,
        condition: Option<Match<'s>>,
        escape: Option<&'s Escape>,
    ) -> ExpressionVariables<'s> {
        let outer = &self.variables;
        let facts = ExpressionVariables {
            rule_state: Some(&self.rule_state),
            query: &self.query,
            groups: Some(groups),
            condition,
            escape,
            path: if outer.file.is_empty() {
                Some(&self.subject)
            } else {
                outer.path
            },
            ..ExpressionVariables::new(outer.request, outer.host, None, outer.maps)
        }
        .at(outer);
        match &self.file {
            Some(file) => ExpressionVariables { file, ..facts },
            None => facts,
        }
    }

    /// Evaluates the conditions of a rule. `None`: the conditions are false.
    pub(super) fn conditions<'c>(
        &self,
        conditions: &'c [RewriteCondition],
        matched: Match<'_>,
    ) -> Option<TrueConditions<'c>> {
        let mut fields = Vec::new();
        let mut last: Option<OwnedMatch> = None;
        let mut rest = conditions.iter();
        while let Some(condition) = rest.next() {
            let known = last.as_ref().map(OwnedMatch::borrow);
            let variables = self.facts_for(matched, known, None);
            let (holds, groups) = check(condition, &variables);
            // The fields that an expression reads count whether or not the rule applies.
            if !condition.unvaried {
                let read = variables.varying.take();
                self.variables.varying.borrow_mut().extend(read);
            }
            if groups.is_some() {
                last = groups;
            }
            if holds {
                // Like Apache, names only the fields that the request has.
                let read = condition.fields().into_iter();
                fields.extend(read.filter(|name| self.variables.has_field(name)));
            }
            match (holds, condition.or_next) {
                (true, true) => {
                    // The remaining conditions of this OR group are skipped.
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
        Some(TrueConditions { last, fields })
    }
}

impl<'s> ExpressionVariables<'s> {
    /// Takes the file and the variables from `outer`.
    fn at(mut self, outer: &ExpressionVariables<'s>) -> ExpressionVariables<'s> {
        self.file = outer.file;
        self.path_info = outer.path_info;
        self.set_env = outer.set_env;
        self.perl_env = outer.perl_env;
        self
    }
}

fn check(
    condition: &RewriteCondition,
    variables: &ExpressionVariables,
) -> (bool, Option<OwnedMatch>) {
    let subject = condition.subject.of(variables);
    let (holds, matched) = match &condition.check {
        Check::Match(pattern) => {
            let groups = pattern.groups(&subject);
            (groups.is_some(), groups.map(|groups| (subject, groups)))
        }
        Check::File(test) => (
            test.passes(&subject, variables as &dyn VariableSource),
            None,
        ),
        Check::Path => (variables.admits(&subject, None), None),
        Check::Compare(comparison) => (comparison.holds(&subject), None),
        // As in Apache, a true expression without groups empties the groups of earlier conditions.
        Check::Expression(expression) => {
            let (holds, matched) = expression.evaluate(variables);
            (holds, Some(matched.unwrap_or_default()))
        }
    };
    let matched = matched.filter(|_| holds && !condition.negated);
    (
        holds != condition.negated,
        matched.map(|(text, groups)| OwnedMatch { text, groups }),
    )
}
