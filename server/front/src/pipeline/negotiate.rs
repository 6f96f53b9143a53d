//! Runs the negotiation stage (Apache's mod_negotiation): chooses among the variants of a resource,
//! after the access stage has admitted the request.
//!
//! `rules::evaluation` calls [`Evaluation::negotiate`]. A chosen file of the folder takes the
//! resource's place, and a chosen entry of a type map becomes an internal redirect. `start` calls
//! [`respond`] for the list of variants (300, 406) and for the content that a type map itself
//! contains.

mod offer;
mod respond;

use super::rules::{Decision, Evaluation, Need, RedirectTarget};
use crate::request::rule_state::RuleState;
use crate::request::{Protocol, Request};
use crate::routing::variants::Variants;
use crate::routing::{Route, RouteOutcome};
use mehari_http::negotiation::{fields, Variant};
use mehari_text::percent;
use offer::Offer;
pub use respond::{choices_page, respond};
use std::time::SystemTime;

/// Where the request continues after the negotiation.
pub enum Negotiated {
    /// The route stays as it is.
    Here,
    /// No variant is acceptable: the response has this status.
    Nothing(u16),
    /// The same request continues for a file of the folder: path and query, and the file if a rule
    /// has mapped the path.
    At(Vec<u8>, Option<Vec<u8>>),
    /// The request continues as an internal redirect.
    To(RedirectTarget),
    /// The chosen variant has variants itself, which RFC 2295 forbids (506).
    Endless,
    /// Something must be known first.
    Waits(Need),
}

/// Whether a client may get a variant.
enum Access {
    Open,
    Refused,
    /// The variant has variants itself.
    Varies,
}

impl Evaluation<'_> {
    /// Chooses a variant and notes what the response says about the choice.
    pub(super) fn negotiate(
        &self,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Negotiated {
        let RouteOutcome::Negotiated(variants) = &route.outcome else {
            return Negotiated::Here;
        };
        for name in &variants.guarded {
            let target = beside(self.request, route, &percent::encode_path(name));
            match self.look(target, route, name, rule_state) {
                Ok(Access::Open | Access::Varies) => {}
                Ok(Access::Refused) => {
                    let state = rule_state.get_or_insert_with(Default::default);
                    state.mapping.refused_variants.push(name.clone());
                }
                Err(need) => return Negotiated::Waits(need),
            }
        }
        let offer = Offer::of(
            self.shared,
            self.request,
            rule_state.as_deref(),
            route,
            variants,
        );
        if offer.all.is_empty() {
            return Negotiated::Nothing(404);
        }
        let variant = offer.choice.variant.map(|at| &offer.all[at]);
        let to = variant.map(|variant| target(self.request, route, variant));
        if let (true, Some(target)) = (variants.is_map && offer.choice.is_transparent, &to) {
            match self.look(target.clone(), route, b"", rule_state) {
                Ok(Access::Open) => {}
                Ok(Access::Varies) => return Negotiated::Endless,
                Ok(Access::Refused) => {
                    return Negotiated::To(RedirectTarget {
                        target: target.clone(),
                        in_place: false,
                        ..Default::default()
                    })
                }
                Err(need) => return Negotiated::Waits(need),
            }
        }
        let state = rule_state.get_or_insert_with(Default::default);
        self.note_fields(route, &offer, state);
        let (Some(variant), Some(target)) = (variant, to) else {
            return Negotiated::Nothing(offer.choice.status);
        };
        if !variants.is_map {
            let file = state
                .mapping
                .file()
                .is_some()
                .then(|| neighbour(&route.file, &variant.name));
            return Negotiated::At(target, file);
        }
        // If Perl's handlers run for the map itself, the redirect follows afterwards.
        if variant.body.is_some() || route.settings.runs_phases() {
            return Negotiated::Here;
        }
        Negotiated::To(RedirectTarget {
            target,
            in_place: false,
            ..Default::default()
        })
    }

    /// Finds out whether the client may get a variant. The error is what must be known first.
    fn look(
        &self,
        target: Vec<u8>,
        route: &Route,
        name: &[u8],
        rule_state: &Option<Box<RuleState>>,
    ) -> Result<Access, Need> {
        let mut own = rule_state.clone();
        let is_mapped = own
            .as_deref()
            .is_some_and(|state| state.mapping.file().is_some());
        let file = (is_mapped && !name.is_empty()).then(|| neighbour(&route.file, name));
        let found = self.at_variant(target, file, &mut own, |evaluation, own| {
            let route = evaluation.find_route(own)?;
            let route = evaluation.settle(route, own)?;
            Ok((evaluation.check_access(&route, own), route))
        });
        Ok(match found {
            Ok((Some(Decision::Needs(need)), _)) => return Err(need),
            Ok((None, route)) => match route.outcome {
                RouteOutcome::Negotiated(_) => Access::Varies,
                RouteOutcome::Refused(_) => Access::Refused,
                _ => Access::Open,
            },
            _ => Access::Refused,
        })
    }

    /// Notes the fields with which the response describes the negotiation.
    fn note_fields(&self, route: &Route, offer: &Offer<'_>, state: &mut RuleState) {
        // Perl's handlers may still refuse the request, and the client must then not learn the
        // names.
        let is_secret = route.settings.is_decided_after_perl();
        let names = |line: &&str| line.starts_with("Alternates") || line.starts_with("Content-L");
        let lines = fields(&offer.all, &offer.choice);
        for line in lines
            .split_inclusive('\n')
            .filter(|line| !(is_secret && names(line)))
        {
            state.say_once(line.as_bytes());
        }
        let is_old = self.request.protocol == Protocol::Http10;
        if is_old && is_map(route) && !self.host.mapping.caches_negotiated {
            let now = httpdate::fmt_http_date(SystemTime::now());
            state.say_once(format!("Expires: {now}\r\n").as_bytes());
        }
    }
}

/// Returns the path and query of a variant, which lies in the folder of the route's file.
fn target(request: &Request<'_>, route: &Route, variant: &Variant) -> Vec<u8> {
    if is_map(route) {
        return beside(request, route, &variant.name);
    }
    beside(request, route, &percent::encode_path(&variant.name))
}

/// Returns the encoded path and query of a name in the folder of the route's file.
fn beside(request: &Request<'_>, route: &Route, name: &[u8]) -> Vec<u8> {
    let slash = memchr::memrchr(b'/', &route.script_name).map_or(0, |slash| slash + 1);
    let place = percent::encode_path(&route.script_name[..slash]);
    let mut target = [&place, name, &percent::encode_path(&route.path_info)].concat();
    if let Some(mark) = memchr::memchr(b'?', request.resource) {
        target.extend_from_slice(&request.resource[mark..]);
    }
    target
}

fn neighbour(file: &[u8], name: &[u8]) -> Vec<u8> {
    let slash = memchr::memrchr(b'/', file).map_or(0, |slash| slash + 1);
    [&file[..slash], name].concat()
}

fn is_map(route: &Route) -> bool {
    matches!(
        &route.outcome,
        RouteOutcome::Negotiated(Variants { is_map: true, .. })
    )
}
