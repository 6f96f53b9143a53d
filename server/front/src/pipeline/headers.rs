//! Applies the header rules of a place to the head of a response.

use super::RequestContext;
use crate::filters::header_rules::{self, KnownTables, Tables, FORCE_NO_VARY};
use crate::handlers::perl;
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::shared::Shared;
use mehari_cache::field;
use mehari_config::{Host, Settings};
use mehari_http::range::with_media_type;
use mehari_pool::TableMarks;

/// A response before the rules of its place.
pub struct Unruled<'a> {
    pub status: u16,
    pub lines: [&'a [u8]; 2],
    pub tables: Tables,
    pub marks: &'a TableMarks,
    /// Whether the response has several Vary fields. Like Apache, the front joins them.
    pub repeats_vary: bool,
    /// The media type of the whole representation if the response has several ranges of it. The
    /// rules apply to this type, as in Apache.
    pub type_of_parts: Option<&'a [u8]>,
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
        marks,
        repeats_vary,
        type_of_parts,
    }: Unruled<'_>,
) -> Option<Vec<u8>> {
    let site = shared.site();
    let host = site.host(context.host);
    // A request that the host's rules refuse has no place yet.
    let settings = match tables {
        Tables::Server => context.settings_of_own_page(),
        Tables::Handler | Tables::Script => context.settings.as_deref(),
    };
    let settings = settings.unwrap_or(&host.base);
    let noted = context
        .rule_state
        .as_deref()
        .map_or(&[][..], |state| &state.lines);
    // As in Apache, an error page does not say on which fields its refusal depends.
    let varying = match context.rule_state.as_deref() {
        Some(state) if tables != Tables::Server => &state.varying[..],
        _ => &[],
    };
    let rules = &settings.rules;
    let set = context
        .rule_state
        .as_deref()
        .map_or(&[][..], |state| &state.edge.fields);
    let is_ruled = !noted.is_empty()
        || !varying.is_empty()
        || !set.is_empty()
        || repeats_vary
        || forbids_vary(context, settings, host)
        || rules.examines_response();
    if !is_ruled {
        return None;
    }
    let mut all = [lines[0], lines[1], noted].concat();
    let own_type = type_of_parts.map(|media_type| {
        let own_type = field(&all, "content-type").map(<[u8]>::to_vec);
        all = with_media_type(&all, media_type);
        own_type.unwrap_or_default()
    });
    let request = request();
    let state = context.rule_state.as_deref();
    let mut variables = ExpressionVariables::new(&request, host, state, &shared.lookups.maps);
    variables.status = status;
    variables.lines = &all;
    variables.came = context.time;
    variables.lasted = context.time.elapsed().unwrap_or_default();
    variables.set_env = &settings.programs.set_env;
    variables.perl_env = perl_env(context, host);
    if let Some(route) = context.route.as_deref() {
        variables.path = route.led_path();
        variables.file = &route.file;
        variables.path_info = &route.path_info;
    }
    *variables.varying.borrow_mut() = varying.to_vec();
    let tables = KnownTables {
        kind: tables,
        marks,
        noted: noted.iter().filter(|byte| **byte == b'\n').count(),
    };
    let changed = header_rules::change_response(rules, tables, &variables, set);
    let notes = variables.notes.take();
    if !notes.is_empty() {
        // A page of an error has a response of its own, whose notes do not count.
        context.record.notes.set(notes.into()).ok();
    }
    Some(match own_type {
        None => changed,
        Some(own_type) => with_media_type(&changed, &own_type),
    })
}

/// Whether a rule has set `force-no-vary`, with which Apache sends no Vary.
fn forbids_vary(context: &RequestContext, settings: &Settings, host: &Host) -> bool {
    let noted = context.rule_state.as_deref();
    let mut set = settings.programs.set_env.iter();
    noted.is_some_and(|state| state.variable(FORCE_NO_VARY.as_bytes()).is_some())
        || set.any(|(name, _)| name == FORCE_NO_VARY)
        || (perl_env(context, host).iter()).any(|(name, _)| name == FORCE_NO_VARY)
}

fn perl_env<'s>(context: &'s RequestContext, host: &'s Host) -> &'s [(String, String)] {
    let route = context.route.as_deref();
    route.map_or(&[], |route| perl::set_variables(route, host))
}
