//! The conditions of a rule, and the values for conditions and targets.

use crate::request::path_of;
use crate::request::variables::ExpressionVariables;
use mehari_config::{Check, Escape, Facts, Groups, RewriteCondition};
use mehari_http::path::Path;

use super::Run;

impl Run<'_> {
    pub(super) fn facts_for<'s>(
        &'s self,
        groups: (&'s [u8], &'s Groups),
        condition: Option<(&'s [u8], &'s Groups)>,
        escape: Option<&'s Escape>,
    ) -> ExpressionVariables<'s> {
        let outer = &self.facts;
        ExpressionVariables {
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
        .at(outer)
    }

    /// The groups of the last matching condition, and the request fields that made conditions true.
    /// `None`: they are false.
    #[allow(clippy::type_complexity)]
    pub(super) fn conditions<'c>(
        &self,
        conditions: &'c [RewriteCondition],
        matched: (&[u8], &Groups),
    ) -> Option<(Option<(Vec<u8>, Groups)>, Vec<&'c str>)> {
        let mut fields = Vec::new();
        let mut last: Option<(Vec<u8>, Groups)> = None;
        let mut rest = conditions.iter();
        while let Some(condition) = rest.next() {
            let known = last
                .as_ref()
                .map(|(text, groups)| (text.as_slice(), groups));
            let facts = self.facts_for(matched, known, None);
            let (holds, groups) = check(condition, &facts);
            if groups.is_some() {
                last = groups;
            }
            if holds {
                fields.extend(condition.fields());
            }
            match (holds, condition.or_next) {
                (true, true) => {
                    // The other conditions of this OR are skipped.
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
        Some((last, fields))
    }
}

impl<'s> ExpressionVariables<'s> {
    /// The file and variables of other facts.
    fn at(mut self, outer: &ExpressionVariables<'s>) -> ExpressionVariables<'s> {
        self.file = outer.file;
        self.path_info = outer.path_info;
        self.set_env = outer.set_env;
        self
    }
}

/// As a sub-request would be: only whether it is refused matters, not whether it exists.
fn is_open(target: &[u8], facts: &ExpressionVariables) -> bool {
    let Ok(path) = Path::decode(path_of(target)) else {
        return false;
    };
    let path = String::from_utf8_lossy(&path.merged);
    let file = facts.host.map(&path).file;
    !facts.host.settings(&path, Some(&file)).denied
}

fn check(
    condition: &RewriteCondition,
    facts: &ExpressionVariables,
) -> (bool, Option<(Vec<u8>, Groups)>) {
    let subject = condition.subject.of(facts);
    let (holds, groups) = match &condition.check {
        Check::Match(pattern) => {
            let groups = pattern.groups(&subject);
            (groups.is_some(), groups)
        }
        Check::File(test) => (test.passes(&subject, facts as &dyn Facts), None),
        Check::Path => (is_open(&subject, facts), None),
        Check::Compare(comparison) => (comparison.holds(&subject), None),
        Check::Expression(expression) => (expression.holds(facts), None),
    };
    let groups = groups.filter(|_| !condition.negated);
    (
        holds != condition.negated,
        groups.map(|groups| (subject, groups)),
    )
}
