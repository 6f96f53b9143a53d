//! Applies the header rules of a place to the head of a response.

use super::RequestContext;
use crate::filters::header_rules::{self, Tables};
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::shared::Shared;

/// A response before the rules of its place.
pub struct Unruled<'a> {
    pub status: u16,
    pub lines: [&'a [u8]; 2],
    pub tables: Tables,
}

/// Applies the configuration's rules to the header lines of a response, each `Name: value\r\n`.
/// `None`: the rules change nothing.
pub fn of_response<'r>(
    shared: &Shared,
    context: &RequestContext,
    request: impl FnOnce() -> Request<'r>,
    Unruled {
        status,
        lines,
        tables,
    }: Unruled<'_>,
) -> Option<Vec<u8>> {
    let site = shared.site();
    let host = site.host(context.host);
    // A request that the host's rules refuse has no place yet.
    let settings = context.settings.as_deref().unwrap_or(&host.base);
    let noted = context
        .rule_state
        .as_deref()
        .map_or(&[][..], |state| &state.lines);
    let rules = &settings.rules;
    let set = context
        .rule_state
        .as_deref()
        .map_or(&[][..], |state| &state.edge.fields);
    if noted.is_empty() && set.is_empty() && !rules.examines_response() {
        return None;
    }
    let all = [lines[0], lines[1], noted].concat();
    let request = request();
    let state = context.rule_state.as_deref();
    let mut variables = ExpressionVariables::new(&request, host, state, &shared.lookups.maps);
    variables.status = status;
    variables.lines = &all;
    variables.came = context.time;
    variables.lasted = context.time.elapsed().unwrap_or_default();
    variables.set_env = &settings.programs.set_env;
    Some(header_rules::change_response(
        rules, tables, &variables, set,
    ))
}
