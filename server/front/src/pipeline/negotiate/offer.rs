//! Makes the list of variants that a client may have, and chooses among them.

use super::is_map;
use crate::handlers::file::encoding;
use crate::request::rule_state::RuleState;
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::routing::variants::Variants;
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::Phase;
use mehari_http::negotiation::{choose, Choice, Circumstances, Codings, Preferences, Variant};
use std::borrow::Cow;

/// The variants that a client may have, and the choice among them.
pub(super) struct Offer<'v> {
    pub all: Cow<'v, [Variant]>,
    pub choice: Choice,
}

impl<'v> Offer<'v> {
    pub fn of(
        shared: &Shared,
        request: &Request<'_>,
        state: Option<&RuleState>,
        route: &Route,
        variants: &'v Variants,
    ) -> Offer<'v> {
        let refused = state.map_or(&[][..], |state| &state.mapping.refused_variants);
        let all = shown(variants, request, refused);
        let choice = choice(shared, request, state, route, &all);
        Offer { all, choice }
    }
}

/// Returns the variants that access rules do not refuse. Their codings have the names that the
/// client uses, for example `x-gzip` instead of `gzip`.
fn shown<'v>(
    variants: &'v Variants,
    request: &Request<'_>,
    refused: &[Vec<u8>],
) -> Cow<'v, [Variant]> {
    let is_named = |variant: &Variant| variant.encoding.is_some();
    let is_coded = !variants.is_map && variants.all.iter().any(is_named);
    if !is_coded && refused.is_empty() {
        return Cow::Borrowed(&variants.all);
    }
    let mut all = variants.all.clone();
    all.retain(|variant| !refused.contains(&variant.name));
    for coding in all
        .iter_mut()
        .filter_map(|variant| variant.encoding.as_mut())
    {
        if let Some(token) = encoding::token(request, coding).filter(|_| is_coded) {
            *coding = token;
        }
    }
    Cow::Owned(all)
}

fn choice(
    shared: &Shared,
    request: &Request<'_>,
    state: Option<&RuleState>,
    route: &Route,
    all: &[Variant],
) -> Choice {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    let mut variables = ExpressionVariables::new(request, host, state, &shared.lookups.maps);
    let last = if is_map(route) {
        variables.set_env = &route.settings.programs.set_env;
        Phase::Fixup
    } else {
        Phase::Type
    };
    variables.perl_env = host.perl_env(&route.settings, last);
    let language = variables.environment("prefer-language");
    let language = language.and_then(|language| String::from_utf8(language).ok());
    // Apache looks for the index of a folder with GET, whatever the method of the request.
    let is_index = request.path().ends_with(b"/") && route.path_info.is_empty();
    let is_get = is_index || matches!(request.method, b"GET" | b"HEAD");
    let has_query = memchr::memchr(b'?', request.resource).is_some();
    let has_path_info = !route.path_info.is_empty();
    let negotiation = &route.settings.negotiation;
    let codings = if variables.environment("no-gzip").is_some() {
        Codings::None
    } else if variables.environment("gzip-only-text/html").as_deref() == Some(b"1") {
        Codings::OfHtml
    } else {
        Codings::All
    };
    let circumstances = Circumstances {
        is_get,
        has_path_info,
        prefers_programs: !is_map(route) && (!is_get || has_query || has_path_info),
        priority: &negotiation.languages,
        forced: negotiation.forced,
        language: language.as_deref(),
        codings,
    };
    choose(all, &Preferences::of(request.fields.iter()), &circumstances)
}
