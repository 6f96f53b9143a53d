//! Evaluates rules for a request in the hands of Perl.
//!
//! `Settings::left_rules` tells which rules of a place read the request after Perl handlers that
//! may change it. The worker asks for them after its handlers: `SetEnvIf` and access rules only if
//! a handler has changed the request, `Require` again after users are authenticated, the rules of
//! the fixup stage always, because that stage has left them out. As in Apache, the rules then see
//! the request as the handlers have changed it. [`RuleState::place`] is the route of the request.
//!
//! The rules that choose the place may come after handlers too (`LeftRules::place`). The front has
//! evaluated them to find the handlers. If a handler that runs before the rules has changed the
//! request, the worker asks for them. The front takes back what they have found, evaluates them
//! again, and answers with the request at its place.

use super::evaluation::Evaluation;
use super::{needs, redirect_to, Admission, Decision, Need, RedirectTarget};
use crate::content::page::retry_after_line;
use crate::handlers::{perl, Backend};
use crate::pipeline::admit::traffic_verdict;
use crate::pipeline::{RequestContext, RequestSource};
use crate::request::query_of;
use crate::request::rule_state::{AccessFindings, Beginning, Destination, RuleState, Stage};
use crate::routing::Route;
use crate::shared::{traffic, Shared};
use mehari_http::problem::Problem;
use mehari_pool::{fixups, left, Body};
use std::rc::Rc;

/// What the worker does after the rules.
struct Verdict {
    /// A constant of [`fixups`], or the status that ends the request.
    status: u16,
    /// The target of an internal redirect.
    target: Option<Vec<u8>>,
    /// The header lines of a redirect.
    lines: Vec<u8>,
}

impl Verdict {
    fn of(status: u16) -> Verdict {
        Verdict {
            status,
            target: None,
            lines: Vec::new(),
        }
    }
}

/// Answers the worker that waits for the rules. `asked` is the request's target as sent.
pub async fn answer_worker(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
    (backend, left): (&Backend, u16),
) {
    let place = |context: &RequestContext| noted_place(context.rule_state.as_deref()?);
    let chosen = match context.declined.moved.take() {
        Some((target, None)) if left == left::TRANSLATION => Some(target),
        Some(moved) => {
            move_request(shared, context, asked, source, moved);
            None
        }
        None => None,
    };
    let Some(route) = place(context) else {
        return backend.answer_rules(None);
    };
    let verdict = match (stage(left), left) {
        (Some(from), _) => find_place(shared, context, asked, source, (from, chosen)).await,
        (None, left::LIMITS) => limit(shared, context, source).await,
        (None, _) => decide(shared, context, asked, source, (&route, left)).await,
    };
    context.mark("rules after Perl's handlers");
    let place = place(context).unwrap_or(route);
    let site = shared.site();
    let request = source.request(context);
    let state = request.rule_state;
    let known_for_user = state.map_or(0, |state| state.access.known_for_user);
    perl::with_call(&request, &place, &site, Body::Empty, |call| {
        // The call may now borrow from the verdict.
        let mut call = call;
        perl::leave_program(&mut call);
        // Without fields in the frame, the fields of the request stay.
        if left != left::FIXUPS || place.settings.rules.request_headers.is_empty() {
            call.fields = &[];
        }
        let is_verdict = matches!(left, left::FIXUPS | left::AUTHORIZATION | left::LIMITS);
        if is_verdict || verdict.status != fixups::GO_ON {
            call.access.status = verdict.status;
            call.access.challenge = &verdict.lines;
        }
        if left == left::AUTHORIZATION {
            call.access.known = known_for_user;
        }
        if let Some(target) = &verdict.target {
            call.line.target = target;
        }
        backend.answer_rules(Some(call));
    });
}

/// Evaluates the rules of the place until they have decided.
async fn decide(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
    (route, left): (&Rc<Route>, u16),
) -> Verdict {
    loop {
        match evaluate(shared, context, source, (route, left)) {
            Err(problem) => return Verdict::of(problem.status),
            Ok(Decision::Needs(need)) => {
                if let Err(status) = meet(shared, context, asked, need).await {
                    return Verdict::of(status);
                }
            }
            Ok(decision) if left == left::FIXUPS => {
                return verdict(shared, context, source, (route, decision))
            }
            Ok(_) => return Verdict::of(fixups::GO_ON),
        }
    }
}

/// Returns the first stage of the rules that choose the place, if the worker asks for these rules.
fn stage(left: u16) -> Option<Stage> {
    match left {
        left::READ => Some(Stage::Server),
        left::TRANSLATION => Some(Stage::Translation),
        left::STORAGE => Some(Stage::Place),
        _ => None,
    }
}

/// Finds the place again by the rules from a stage on. `chosen`: the target that a handler of the
/// translation phase has chosen.
async fn find_place(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
    (from, chosen): (Stage, Option<Vec<u8>>),
) -> Verdict {
    let state = context.rule_state.get_or_insert_with(Default::default);
    state.take_back_from(from);
    if let (true, Some(Beginning(redirect))) = (from < Stage::Place, &state.beginning) {
        context.redirect.clone_from(redirect);
    }
    if let Some(target) = chosen {
        let to = RedirectTarget {
            target,
            in_place: true,
            left: None,
        };
        context.redirect = Some(redirect_to(context.redirect.take(), to, asked));
    }
    match super::apply_from(from, shared, context, asked, source).await {
        Ok(Admission::To(place)) => {
            context.note_route(&place);
            note_place(context, place);
            Verdict::of(fixups::GO_ON)
        }
        Ok(Admission::Answer(answer)) => Verdict {
            lines: answer.lines().concat(),
            ..Verdict::of(answer.status)
        },
        Ok(Admission::Status(status)) => Verdict::of(status),
        Err(problem) => Verdict::of(problem.status),
    }
}

/// Applies the traffic rules of the place that handlers have found. The worker waits if the request
/// has to wait.
async fn limit(
    shared: &Shared,
    context: &mut RequestContext,
    source: &impl RequestSource,
) -> Verdict {
    let (method, client) = {
        let request = source.request(context);
        (request.asked_method.to_vec(), request.peer.remote_addr)
    };
    match traffic_verdict(shared, context, &method, &client) {
        traffic::Verdict::Pass => Verdict::of(fixups::GO_ON),
        traffic::Verdict::Wait(time) => {
            tokio::time::sleep(time).await;
            Verdict::of(fixups::GO_ON)
        }
        traffic::Verdict::Refused(refusal) => Verdict {
            lines: retry_after_line(refusal.retry_after).into_bytes(),
            ..Verdict::of(refusal.status)
        },
    }
}

/// Continues with the path that a handler of the translation phase has chosen.
pub fn move_request(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
    (target, file): (Vec<u8>, Option<Vec<u8>>),
) {
    let to = RedirectTarget {
        target,
        in_place: true,
        left: None,
    };
    context.redirect = Some(redirect_to(context.redirect.take(), to, asked));
    let mut rule_state = context.rule_state.take();
    let state = rule_state.get_or_insert_with(Default::default);
    state.mapping.destination = file.map(Destination::File);
    let place = {
        let site = shared.site();
        let request = source.request(context);
        let evaluation = Evaluation::new(shared, &request, &site);
        let place = evaluation.find_route(&rule_state);
        place.and_then(|place| evaluation.settle(place, &mut rule_state))
    };
    context.rule_state = rule_state;
    if let Ok(place) = place {
        context.settings = Some(place.settings.clone());
        note_place(context, place);
    }
}

async fn meet(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    need: Need,
) -> Result<(), u16> {
    let met = needs::meet(shared, context, asked, need).await;
    met.map_err(|refusal| refusal.status)
}

/// Evaluates the rules once. Unless something is needed first, notes the results.
fn evaluate(
    shared: &Shared,
    context: &mut RequestContext,
    source: &impl RequestSource,
    (route, left): (&Rc<Route>, u16),
) -> Result<Decision, Problem> {
    let mut rule_state = context.rule_state.clone();
    let decision = {
        let site = shared.site();
        let request = source.request(context);
        let evaluation = Evaluation::new(shared, &request, &site);
        match left {
            left::VARIABLES => {
                let state = rule_state.get_or_insert_with(Default::default);
                state.take_back(Stage::Place);
                evaluation.set_place_variables(&route.settings, route, &mut rule_state);
                Decision::To(route.clone())
            }
            left::ACCESS => {
                let state = rule_state.get_or_insert_with(Default::default);
                state.access = AccessFindings::default();
                match evaluation.prepare_worker_results(route, &mut rule_state) {
                    Ok(()) => Decision::To(route.clone()),
                    Err(decision) => decision,
                }
            }
            left::AUTHORIZATION => match evaluation.evaluate_for_user(route, &mut rule_state) {
                Ok(()) => Decision::To(route.clone()),
                Err(decision) => decision,
            },
            _ => evaluation.fix_up_after_handlers(route.clone(), &mut rule_state)?,
        }
    };
    if !matches!(decision, Decision::Needs(_)) {
        context.rule_state = rule_state;
    }
    Ok(decision)
}

fn verdict(
    shared: &Shared,
    context: &mut RequestContext,
    source: &impl RequestSource,
    (route, decision): (&Rc<Route>, Decision),
) -> Verdict {
    match decision {
        Decision::To(place) if Rc::ptr_eq(&place, route) => Verdict::of(fixups::GO_ON),
        // A rule has chosen another handler.
        Decision::To(place) => {
            let is_perls = place.is_perls();
            note_place(context, place);
            Verdict::of(if is_perls {
                fixups::GO_ON
            } else {
                fixups::HAND_BACK
            })
        }
        Decision::Led(to) if to.in_place => lead_in_place(shared, context, source, &to.target),
        Decision::Led(to) => Verdict {
            target: Some(to.target),
            ..Verdict::of(fixups::ELSEWHERE)
        },
        Decision::Answer(_, answer) => Verdict {
            lines: answer.lines().concat(),
            ..Verdict::of(answer.status)
        },
        Decision::Status(_, status) => Verdict::of(status),
        Decision::Needs(_) => Verdict::of(500),
    }
}

/// Notes the query or the back end that a rule has given to the request.
fn lead_in_place(
    shared: &Shared,
    context: &mut RequestContext,
    source: &impl RequestSource,
    target: &[u8],
) -> Verdict {
    let state = context.rule_state.get_or_insert_with(Default::default);
    state.query = Some(query_of(target).to_vec());
    let is_proxied = state.mapping.back_end().is_some();
    let mut rule_state = context.rule_state.clone();
    let (settled, is_changed) = {
        let site = shared.site();
        let request = source.request(context);
        let evaluation = Evaluation::new(shared, &request, &site);
        let place = rule_state.as_deref().and_then(noted_place);
        if let Some(place) = &place {
            evaluation.change_fields(place, &mut rule_state);
        }
        if is_proxied {
            (evaluation.find_route(&rule_state).ok(), true)
        } else {
            (None, false)
        }
    };
    context.rule_state = rule_state;
    match (settled, is_changed) {
        (Some(place), _) => {
            note_place(context, place);
            Verdict::of(fixups::HAND_BACK)
        }
        (None, true) => Verdict::of(500),
        (None, false) => Verdict::of(fixups::GO_ON),
    }
}

/// Returns the route that the fixup stage has noted.
pub fn noted_place(state: &RuleState) -> Option<Rc<Route>> {
    state.place.clone()?.downcast().ok()
}

fn note_place(context: &mut RequestContext, place: Rc<Route>) {
    let state: &mut RuleState = context.rule_state.get_or_insert_with(Default::default);
    state.place = Some(place);
}
