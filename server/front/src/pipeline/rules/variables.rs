//! Sets variables from properties of the request: `SetEnvIf`, `BrowserMatch` and the like.

use super::Evaluation;
use crate::request::rule_state::RuleState;
use crate::request::variables::{ExpressionVariables, Match};
use crate::routing::Route;
use mehari_config::{Groups, Pattern, Phase, Piece, VariableRule, VariableSource, When};
use std::sync::Arc;

impl Evaluation<'_> {
    /// Evaluates these rules. Each rule sees the variables of earlier rules.
    pub fn set_variables(
        &self,
        rules: &[Arc<VariableRule>],
        route: Option<&Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) {
        let mut varying = Vec::new();
        for rule in rules {
            let state = rule_state.as_deref();
            let mut variables =
                ExpressionVariables::new(self.request, self.host, state, &self.shared.lookups.maps);
            if let Some(route) = route {
                variables.file = &route.file;
                variables.perl_env = self.host.perl_env(&route.settings, Phase::HeaderParser);
            }
            let (text, groups) = match &rule.when {
                When::Expression(expression) => {
                    let (holds, matched) = expression.evaluate(&variables);
                    varying.extend(variables.varying.take());
                    if !holds {
                        continue;
                    }
                    matched.unwrap_or_default()
                }
                When::Attribute(name, pattern) => {
                    match matched(attribute(name, &variables), pattern) {
                        Some(matched) => matched,
                        None => continue,
                    }
                }
                When::FieldNamed(names, pattern) => {
                    match matched(variables.last_field(names), pattern) {
                        Some(matched) => matched,
                        None => continue,
                    }
                }
            };
            variables.groups = Some(Match {
                text: &text,
                groups: &groups,
            });
            let sets = rule
                .sets
                .iter()
                .map(|(name, value)| (name, value.as_ref().map(|text| text.of(&variables))));
            let sets: Vec<_> = sets.collect();
            let state = rule_state.get_or_insert_with(Default::default);
            for (name, value) in sets {
                match value {
                    Some(value) => state.set(name.as_bytes(), value),
                    None => state.unset(name.as_bytes()),
                }
            }
        }
        RuleState::note_varying(rule_state, varying);
    }
}

fn matched(text: Vec<u8>, pattern: &Pattern) -> Option<(Vec<u8>, Groups)> {
    let groups = pattern.groups(&text)?;
    Some((text, groups))
}

/// Returns the value that `SetEnvIf` tests. The name is one of the directive's own (such as
/// Remote_Addr), a field of the request, or a variable.
fn attribute(name: &str, variables: &ExpressionVariables) -> Vec<u8> {
    let variable = match name.to_ascii_lowercase().as_str() {
        "remote_addr" => "REMOTE_ADDR",
        "remote_host" => "REMOTE_HOST",
        "server_addr" => "SERVER_ADDR",
        "request_method" => "REQUEST_METHOD",
        "request_protocol" => "SERVER_PROTOCOL",
        "request_uri" => "REQUEST_URI",
        _ => {
            let mut text = Vec::new();
            variables.put(&Piece::Field(name.to_string()), &mut text);
            return if text.is_empty() {
                variables.environment(name).unwrap_or_default()
            } else {
                text
            };
        }
    };
    let mut text = Vec::new();
    variables.put(&Piece::Variable(variable.to_string()), &mut text);
    text
}
