//! The header rules of a place, applied to the head of a response.

use super::RequestContext;
use crate::filters::header_rules;
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::shared::Shared;

/// A response before the rules of its place.
pub struct Unruled<'a> {
    pub status: u16,
    pub lines: [&'a [u8]; 2],
    /// The server's own page of an error, or its redirect: as in Apache, `Header` without `always`
    /// is not for these. What a handler says itself is changed, whatever its status.
    pub is_of_server: bool,
}

/// The header lines of a response, each `Name: value\r\n`, after all that the configuration says about
/// them; `None`: nothing.
pub fn of_response<'r>(
    shared: &Shared,
    context: &RequestContext,
    request: impl FnOnce() -> Request<'r>,
    Unruled {
        status,
        lines,
        is_of_server,
    }: Unruled<'_>,
) -> Option<Vec<u8>> {
    let site = shared.site();
    let host = site.host(context.host);
    // What a rule of the host refuses has got to no place yet.
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
    if noted.is_empty() && set.is_empty() && !rules.look_at_response() {
        return None;
    }
    let all = [lines[0], lines[1], noted].concat();
    let request = request();
    let state = context.rule_state.as_deref();
    let mut facts = ExpressionVariables::new(&request, host, state, &shared.lookups.maps);
    facts.status = status;
    facts.lines = &all;
    facts.came = context.time;
    facts.lasted = context.time.elapsed().unwrap_or_default();
    facts.set_env = &settings.programs.set_env;
    Some(header_rules::change_response(
        rules,
        is_of_server,
        &facts,
        set,
    ))
}
