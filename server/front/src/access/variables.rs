//! `SetEnvIf` and its relatives: variables from properties of the request.

use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{Facts, Groups, Host, Piece, VariableRule, When};
use std::sync::Arc;

use crate::request::rule_state::RuleState;

/// Evaluates `SetEnvIf` and its like. Each sees the variables of those before.
pub(super) fn set_variables(
    rules: &[Arc<VariableRule>],
    shared: &Shared,
    request: &Request<'_>,
    host: &Host,
    route: Option<&Route>,
    rule_state: &mut Option<Box<RuleState>>,
) {
    for rule in rules {
        let state = rule_state.as_deref();
        let mut facts = ExpressionVariables::new(request, host, state, &shared.lookups.maps);
        if let Some(route) = route {
            facts.file = &route.file;
            facts.set_env = &route.settings.programs.set_env;
        }
        let (text, groups) = match &rule.when {
            When::Expression(expression) => {
                if expression.holds(&facts) {
                    (Vec::new(), Groups::default())
                } else {
                    continue;
                }
            }
            When::Attribute(name, pattern) => {
                let text = attribute(name, &facts);
                match pattern.groups(&text) {
                    Some(groups) => (text, groups),
                    None => continue,
                }
            }
        };
        facts.groups = Some((&text, &groups));
        let sets = rule
            .sets
            .iter()
            .map(|(name, value)| (name, value.as_ref().map(|text| text.of(&facts))));
        let sets: Vec<_> = sets.collect();
        let state = rule_state.get_or_insert_with(Default::default);
        for (name, value) in sets {
            match value {
                Some(value) => state.set(name.as_bytes(), value),
                None => state.unset(name.as_bytes()),
            }
        }
    }
}

/// The value that `SetEnvIf` tests: one of its own names, a field of the request, or a variable.
fn attribute(name: &str, facts: &ExpressionVariables) -> Vec<u8> {
    let variable = match name.to_ascii_lowercase().as_str() {
        "remote_addr" => "REMOTE_ADDR",
        "remote_host" => "REMOTE_HOST",
        "server_addr" => "SERVER_ADDR",
        "request_method" => "REQUEST_METHOD",
        "request_protocol" => "SERVER_PROTOCOL",
        "request_uri" => "REQUEST_URI",
        _ => {
            let mut text = Vec::new();
            facts.put(&Piece::Field(name.to_string()), &mut text);
            return if text.is_empty() {
                facts.environment(name).unwrap_or_default()
            } else {
                text
            };
        }
    };
    let mut text = Vec::new();
    facts.put(&Piece::Variable(variable.to_string()), &mut text);
    text
}
