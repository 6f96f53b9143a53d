//! The header rules of a place, applied to the head of a response.

use super::RequestContext;
use crate::filters::header_rules;
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::shared::Shared;

/// The header lines of a response, each `Name: value\r\n`, after all that the configuration says about
/// them; `None`: nothing.
pub fn of_response<'r>(
    shared: &Shared,
    context: &RequestContext,
    request: impl FnOnce() -> Request<'r>,
    status: u16,
    lines: [&[u8]; 2],
) -> Option<Vec<u8>> {
    let settings = context.settings.as_deref()?;
    let noted = context
        .rule_state
        .as_deref()
        .map_or(&[][..], |state| &state.lines);
    let rules = &settings.rules;
    let set = context
        .rule_state
        .as_deref()
        .map_or(&[][..], |state| &state.edge.fields);
    if noted.is_empty() && set.is_empty() && !rules.look_at_response() {
        return None;
    }
    let all = [lines[0], lines[1], noted].concat();
    let site = shared.site();
    let host = site.host(context.host);
    let request = request();
    let state = context.rule_state.as_deref();
    let mut facts = ExpressionVariables::new(&request, host, state, &shared.lookups.maps);
    facts.status = status;
    facts.lines = &all;
    facts.came = context.time;
    facts.lasted = context.time.elapsed().unwrap_or_default();
    facts.set_env = &settings.programs.set_env;
    Some(header_rules::change_response(
        &rules.headers,
        &rules.expires,
        &facts,
        set,
    ))
}
