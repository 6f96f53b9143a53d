//! Evaluates the configuration's rules in Apache's order: the server's rewriting (`rewrite`), the
//! search for the handler (`route`), who may come (`access`), and the rules of the place
//! (`fixups`).
//!
//! `evaluation` runs these stages in turn. If a stage needs something first (a name, a password, a
//! file from the disk), or if a rule leads to another path, [`apply`] repeats the evaluation.

mod evaluation;
mod left;
pub(super) mod needs;
mod variables;
mod within;

use crate::content::Answer;
use crate::pipeline::access::challenge;
use crate::pipeline::{RequestContext, RequestSource};
use crate::request::rule_state::Stage;
use crate::request::{path_of, query_of, Redirect, RedirectCause, REDIRECTS};
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{LogLevel, Settings};
use mehari_http::problem::Problem;
use std::rc::Rc;
use std::sync::Arc;

pub(super) use evaluation::variables_of;
pub use evaluation::{route_again, Evaluation};
pub use left::{answer_worker, move_request, noted_place};
pub use needs::{Need, UncheckedPassword, QUESTIONS};
pub use within::{evaluate_subrequest, Placed};

/// The result of one evaluation.
pub enum Decision {
    /// The handler may run.
    To(Rc<Route>),
    Answer(Arc<Settings>, Answer),
    /// The page of a status.
    Status(Option<Arc<Settings>>, u16),
    /// Evaluate again for another path and query.
    Led(RedirectTarget),
    /// Evaluate again when this is known.
    Needs(Need),
}

/// The target of an internal redirect.
#[derive(Default)]
pub struct RedirectTarget {
    pub target: Vec<u8>,
    /// Whether the request stays the same and only its target changes, as rules of the host do.
    /// Otherwise the target is that of an internal redirect.
    pub in_place: bool,
    /// The undecoded path that the request leaves, if the path is not that of the request's target:
    /// the path of a folder's index.
    pub left: Option<Vec<u8>>,
}

/// The result of all evaluations.
pub enum Admission {
    To(Rc<Route>),
    Answer(Answer),
    /// The page of a status.
    Status(u16),
}

/// Evaluates the rules until they have decided. `asked` is the target as sent.
///
/// # Errors
/// The request is refused before any rule is asked.
pub async fn apply(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
) -> Result<Admission, Problem> {
    apply_from(Stage::Server, shared, context, asked, source).await
}

/// Does the same without the stages before `from`, which have decided already.
async fn apply_from(
    mut from: Stage,
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
) -> Result<Admission, Problem> {
    loop {
        let mut rule_state = context.rule_state.clone();
        let decision =
            evaluation::evaluate(shared, &source.request(context), &mut rule_state, from);
        // If the rules are evaluated again, their notes are dropped.
        if !matches!(decision, Ok(Decision::Needs(_))) {
            context.rule_state = rule_state;
        }
        match decision? {
            Decision::To(route) => return Ok(Admission::To(route)),
            Decision::Answer(settings, answer) => {
                context.settings = Some(settings);
                return Ok(Admission::Answer(answer));
            }
            Decision::Status(settings, status) => {
                return Ok(refuse(shared, context, settings, status, asked))
            }
            Decision::Led(to) => {
                from = Stage::Server;
                match (to.in_place, &mut context.rule_state) {
                    (false, Some(state)) => state.restart_rules(context.redirect.as_ref()),
                    (true, Some(state)) if state.query.is_some() => {
                        state.query = Some(query_of(&to.target).to_vec());
                    }
                    _ => {}
                }
                let redirect = redirect_to(context.redirect.take(), to, asked);
                if redirect.count > REDIRECTS {
                    context.log(shared, LogLevel::Error, asked, "rewritten too often");
                    return Ok(Admission::Status(500));
                }
                context.redirect = Some(redirect);
            }
            Decision::Needs(need) => {
                let met = needs::meet(shared, context, asked, need).await;
                context.mark("wait for a name, a password or a file");
                if let Err(refusal) = met {
                    return Ok(refuse(
                        shared,
                        context,
                        refusal.settings,
                        refusal.status,
                        asked,
                    ));
                }
            }
        }
    }
}

fn refuse(
    shared: &Shared,
    context: &mut RequestContext,
    settings: Option<Arc<Settings>>,
    status: u16,
    asked: &[u8],
) -> Admission {
    if let (401, Some(settings)) = (status, &settings) {
        let state = context.rule_state.get_or_insert_with(Default::default);
        let said = &settings.rules.authentication;
        let lines = challenge(shared, said, state.identity.stale);
        state.challenge_anew(lines.as_bytes());
    }
    if status == 403 {
        context.log(
            shared,
            LogLevel::Error,
            asked,
            "client denied by the configuration",
        );
    }
    if let (500, Some(settings)) = (status, &settings) {
        let require = settings.rules.require.as_ref();
        if require.is_none() {
            let text = "AuthType without Require admits no user";
            context.log(shared, LogLevel::Error, asked, text);
        }
        if require.is_some_and(|rule| rule.asks_user()) {
            let text = "Require needs a user, but users cannot be authenticated here; expected AuthType Basic or Digest, AuthName and AuthUserFile";
            context.log(shared, LogLevel::Error, asked, text);
        }
    }
    if settings.is_some() {
        context.settings = settings;
    }
    Admission::Status(status)
}

/// Returns the redirect of the same request to another target. Method and body stay.
pub fn redirect_to(redirect: Option<Redirect>, to: RedirectTarget, asked: &[u8]) -> Redirect {
    let mut redirect = redirect.unwrap_or(Redirect {
        target: asked.to_vec(),
        from: None,
        status: 200,
        count: 0,
        cause: RedirectCause::Rule,
    });
    let before = std::mem::replace(&mut redirect.target, to.target);
    if !to.in_place {
        // Like in Apache, the earlier path has the query of the new target.
        let query = &redirect.target[path_of(&redirect.target).len()..];
        let left = to.left.as_deref().unwrap_or(path_of(&before));
        redirect.from = Some([left, query].concat());
    }
    redirect.count += 1;
    redirect
}
