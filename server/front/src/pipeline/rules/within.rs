//! Evaluates the rules of a place for a request that a worker makes within another request, for the
//! worker's request at another place, or for an entry of a listing.
//!
//! `subrequest` calls [`evaluate_subrequest`], which cannot wait. `listing` calls
//! [`Evaluation::place`]. As in Apache, the rules
//! of the fixup stage apply to sub-requests too, and another path to which they lead is an internal
//! redirect, which the worker follows when it runs the sub-request.

use super::evaluation::leaves_guard;
use super::{Decision, Evaluation, Need, UncheckedPassword};
use crate::content::Answer;
use crate::pipeline::index::IndexChoice;
use crate::pipeline::negotiate::Negotiated;
use crate::pipeline::rewrite::joined;
use crate::request::query_of;
use crate::request::rule_state::{Checked, RuleState};
use crate::request::Request;
use crate::routing::{Acting, Route, RouteOutcome};
use crate::shared::Shared;
use mehari_config::Handler;
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_pool::Origin;
use std::rc::Rc;

/// The decision of the rules.
pub enum Placed {
    /// What the route leads to responds.
    Here,
    /// The status of a refusal.
    Refused(u16),
    /// A redirect of the client.
    Answered(Answer),
    /// Another path responds, as after an internal redirect: path and query.
    Led(Vec<u8>),
    /// Evaluate again when this is known.
    Needs(Need),
}

type PlacedRoute = (Rc<Route>, Placed);

/// Evaluates the rules for a request about which a worker asks. Because the evaluation cannot wait,
/// a password that was not checked recently counts as wrong.
pub fn evaluate_subrequest(
    shared: &Shared,
    request: &Request<'_>,
    route: Rc<Route>,
    rule_state: &mut Option<Box<RuleState>>,
    origin: Origin,
) -> Result<PlacedRoute, Problem> {
    let site = shared.site();
    let evaluation = Evaluation {
        may_wait: false,
        ..Evaluation::new(shared, request, &site)
    };
    if origin == Origin::Same {
        evaluation.set_variables(&evaluation.host.rules.variables, None, rule_state);
    }
    evaluation.place(route, rule_state, origin)
}

impl Evaluation<'_> {
    /// Evaluates the rules at the place of the route. If a variant or an index is chosen, evaluates
    /// the rules of its place too.
    pub(in crate::pipeline) fn place(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
        origin: Origin,
    ) -> Result<PlacedRoute, Problem> {
        let route = self.settle(route, rule_state)?;
        let is_sub = origin.is_sub_request();
        if matches!(route.outcome, RouteOutcome::Acted(_)) && !is_sub {
            // The worker would send the file, because it finds no program at the file's place.
            return Ok((route, Placed::Refused(403)));
        }
        if let Some(refusal) = self.refusal(&route, rule_state) {
            return Ok((route, refusal));
        }
        match self.negotiate(&route, rule_state) {
            Negotiated::Nothing(status) if route.handler != Handler::TypeMap => {
                Ok((route, Placed::Refused(status)))
            }
            Negotiated::At(target, file) => {
                self.at_variant(target, file, rule_state, |evaluation, rule_state| {
                    let variant = evaluation.find_route(rule_state)?;
                    if leaves_guard(&route.settings, &variant, rule_state) {
                        return Ok((variant, Placed::Refused(403)));
                    }
                    evaluation.place(variant, rule_state, origin)
                })
            }
            Negotiated::To(to) if is_sub => Ok((route, Placed::Led(to.target))),
            Negotiated::Endless if is_sub => Ok((route, Placed::Refused(506))),
            Negotiated::Waits(_) if is_sub => Ok((route, Placed::Refused(403))),
            _ if is_sub => self.fix_up_within(route, rule_state, origin),
            _ => Ok((self.at_index(route, rule_state)?, Placed::Here)),
        }
    }

    /// Returns the refusal of the access rules, or what they need.
    fn refusal(
        &self,
        route: &Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Placed> {
        let mut stop = self.check_access(route, rule_state);
        stop = match stop {
            Some(Decision::Needs(need)) if self.may_wait => return Some(Placed::Needs(need)),
            stop => stop,
        };
        if let Some(Decision::Needs(Need::Check(check))) = stop {
            let UncheckedPassword {
                user_file,
                credentials,
                ..
            } = check;
            let state = rule_state.get_or_insert_with(Default::default);
            state.identity.checked.push(Checked {
                user_file,
                credentials,
                right: false,
            });
            stop = self.check_access(route, rule_state);
        }
        Some(Placed::Refused(match stop? {
            Decision::Status(_, status) => status,
            Decision::Needs(Need::ReadUsers(_)) => 401,
            _ => 403,
        }))
    }

    /// Applies the rules of the fixup stage to a sub-request, unless its worker asks for them after
    /// its handlers.
    fn fix_up_within(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
        origin: Origin,
    ) -> Result<PlacedRoute, Problem> {
        let path = Path::decode_as(self.request.path(), self.host.mapping.encoded_slashes())?;
        let is_indexed = matches!(route.outcome, RouteOutcome::Indexed);
        let is_left = origin == Origin::Within && route.settings.left_rules().fixups;
        let is_left = is_left
            && (!is_indexed || self.leads_before_perl(&route, &path, rule_state)?.is_some());
        if is_left {
            return Ok((route, Placed::Here));
        }
        let route = match self.apply_to_place(route.clone(), &path, rule_state)? {
            // The worker has decided about access to the place before these rules.
            Ok(new) if !route.settings.guards_as(&new.settings) => {
                return Ok((new, Placed::Refused(403)))
            }
            Ok(new) => new,
            Err(decision) => return self.follow(route, decision, rule_state, origin),
        };
        if is_indexed {
            return self.index_within(route, rule_state, origin);
        }
        if let Some(decision) = self.to_method_program(&route, &path, rule_state)? {
            return self.follow(route, decision, rule_state, origin);
        }
        self.change_fields(&route, rule_state);
        if let RouteOutcome::Acted(acting) = &route.outcome {
            let target = self.acting_target(acting, rule_state);
            return Ok((route, Placed::Led(target)));
        }
        Ok((route, Placed::Here))
    }

    /// Returns the path of the program of an `Action`. As in Apache, the program sees the name of
    /// the action as REDIRECT_HANDLER.
    fn acting_target(&self, acting: &Acting, rule_state: &mut Option<Box<RuleState>>) -> Vec<u8> {
        let state = rule_state.get_or_insert_with(Default::default);
        state.set(b"HANDLER", acting.name.clone().into_bytes());
        let path = [&acting.program[..], &acting.file].concat();
        joined(self.request, &path, self.request.query())
    }

    /// Leads a sub-request to the index of its folder.
    fn index_within(
        &self,
        folder: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
        origin: Origin,
    ) -> Result<PlacedRoute, Problem> {
        match self.choose_index(&folder, rule_state)? {
            IndexChoice::Nothing => Ok((self.without_index(rule_state)?, Placed::Here)),
            IndexChoice::Decided(decision) => self.follow(folder, decision, rule_state, origin),
            // The handlers of the folder do not run for the index.
            IndexChoice::At(_) if origin == Origin::Handled && folder.settings.runs_phases() => {
                Ok((folder, Placed::Refused(403)))
            }
            IndexChoice::At(target) => {
                self.at_variant(target, None, rule_state, |evaluation, rule_state| {
                    let index = evaluation.find_route(rule_state)?;
                    evaluation.place(index, rule_state, origin)
                })
            }
        }
    }

    /// Carries out a decision of the fixup stage.
    fn follow(
        &self,
        route: Rc<Route>,
        decision: Decision,
        rule_state: &mut Option<Box<RuleState>>,
        origin: Origin,
    ) -> Result<PlacedRoute, Problem> {
        Ok(match decision {
            Decision::To(route) => (route, Placed::Here),
            Decision::Answer(_, answer) => (route, Placed::Answered(answer)),
            Decision::Status(_, status) => (route, Placed::Refused(status)),
            Decision::Needs(need) => (route, Placed::Needs(need)),
            Decision::Led(to) if !to.in_place => {
                // As in Apache, the next resource gets the fields as this place changes them.
                self.change_fields(&route, rule_state);
                (route, Placed::Led(to.target))
            }
            // A rule has given another query or a back end to the request.
            Decision::Led(to) => {
                let state = rule_state.get_or_insert_with(Default::default);
                state.query = Some(query_of(&to.target).to_vec());
                return self.at_variant(to.target, None, rule_state, |evaluation, rule_state| {
                    let found = evaluation.find_route(rule_state)?;
                    if leaves_guard(&route.settings, &found, rule_state) {
                        return Ok((found, Placed::Refused(403)));
                    }
                    evaluation.place(found, rule_state, origin)
                });
            }
        })
    }
}
