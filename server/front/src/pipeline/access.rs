//! The access stage: evaluates the rules of `crate::access` until they have decided, and does the
//! work that they need (checks a password, resolves a name, reads a file).

use crate::content::Answer;
use crate::pipeline::{RequestContext, RequestSource};
use crate::request::rule_state::{Checked, LookedUp};
use crate::request::{path_of, query_of, Redirect, REDIRECTS};
use crate::routing::{self, Route};
use crate::shared::Shared;
use mehari_auth::passwords::Outcome;
use mehari_config::{LogLevel, Phase, RewriteMap, Settings};
use mehari_http::problem::Problem;
use mehari_resolve::names;
use std::rc::Rc;
use std::sync::Arc;

use crate::access::{self, challenge, joined, Decision, Lead};

/// The most lookups of map programs per request.
const QUESTIONS: usize = 32;

/// The result of the access phase.
pub enum Admission {
    To(Rc<Route>),
    Answer(Answer),
    /// The page of a status.
    Status(u16),
}

/// Evaluates the access phase until it has decided. `asked` is the target as sent.
///
/// # Errors
/// The request is refused before any rule is asked.
pub async fn admit(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    source: &impl RequestSource,
) -> Result<Admission, Problem> {
    loop {
        let mut rule_state = context.rule_state.take();
        let before = rule_state.clone();
        let passage = access::evaluate(shared, &source.request(context), &mut rule_state);
        context.rule_state = match &passage {
            // The rules are evaluated again, so their notes are dropped.
            Ok(
                Decision::Check(..)
                | Decision::ReadUsers(_)
                | Decision::LookUp { .. }
                | Decision::Resolve(_)
                | Decision::Fetch(_)
                | Decision::WarmWatches(_),
            ) => before,
            _ => rule_state,
        };
        match passage? {
            Decision::To(route) => return Ok(Admission::To(route)),
            Decision::Answer(settings, answer) => {
                context.settings = Some(settings);
                return Ok(Admission::Answer(answer));
            }
            Decision::Status(settings, status) => {
                return Ok(refuse(shared, context, settings, status, asked))
            }
            Decision::Led(to) => {
                if let (false, Some(state)) = (to.in_place, &mut context.rule_state) {
                    state.begin_anew(context.redirect.as_ref());
                }
                let redirect = lead(context.redirect.take(), to, asked);
                if redirect.count > REDIRECTS {
                    context.log(shared, LogLevel::Error, asked, "rewritten too often");
                    return Ok(Admission::Status(500));
                }
                context.redirect = Some(redirect);
            }
            Decision::LookUp { map, key } => {
                if let Err(text) = look_up(shared, context, map, key).await {
                    context.log(shared, LogLevel::Error, asked, &text);
                    return Ok(Admission::Status(500));
                }
            }
            Decision::ReadUsers(file) => shared.users.digests.users.read(&file).await,
            Decision::Resolve(question) => {
                let answer = shared.lookups.names.ask(&question).await;
                if let names::Question::Home(name) = &question {
                    routing::homes::remember(name, &answer);
                }
                if *answer == names::Answer::Failed {
                    let text = format!("no answer from the resolver about {question}");
                    context.log(shared, LogLevel::Warn, asked, &text);
                }
                let state = context.rule_state.get_or_insert_with(Default::default);
                state.learn(question, answer);
            }
            Decision::Fetch(file) => {
                shared.content.files.readers.look_at(file).await;
                let state = context.rule_state.get_or_insert_with(Default::default);
                state.fetched = true;
            }
            Decision::WarmWatches(file) => {
                let warmer = shared.routing.watcher.warmer.clone();
                shared
                    .content
                    .files
                    .readers
                    .warm(warmer, file.clone())
                    .await;
                shared.routing.watcher.note_warmed(&file);
            }
            Decision::Check(settings, file, credentials) => {
                let right = match shared.users.passwords.check(&file, &credentials).await {
                    Outcome::Right => true,
                    Outcome::Wrong => false,
                    Outcome::Busy => {
                        return Ok(refuse(shared, context, Some(settings), 503, asked))
                    }
                    Outcome::Unreadable => {
                        let text = format!("AuthUserFile {} cannot be read", file.display());
                        context.log(shared, LogLevel::Error, asked, &text);
                        return Ok(refuse(shared, context, Some(settings), 500, asked));
                    }
                };
                // A Perl handler may know other passwords.
                if !right && settings.perl.of(Phase::Authen).is_empty() {
                    let user = credentials.user.escape_ascii();
                    let text = format!("user {user}: not in AuthUserFile, or another password");
                    context.log(shared, LogLevel::Error, asked, &text);
                }
                let state = context.rule_state.get_or_insert_with(Default::default);
                state.checked.push(Checked {
                    user_file: file,
                    credentials,
                    right,
                });
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
        let lines = challenge(shared, said, state.stale);
        state.lines.extend_from_slice(lines.as_bytes());
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
            let text = "AuthType says how users are known, and no Require who of them may come";
            context.log(shared, LogLevel::Error, asked, text);
        }
        if require.is_some_and(|rule| rule.asks_user()) {
            let text = "Require asks for a user, and nothing says how one is known; expected AuthType Basic or Digest, AuthName and AuthUserFile";
            context.log(shared, LogLevel::Error, asked, text);
        }
    }
    if settings.is_some() {
        context.settings = settings;
    }
    Admission::Status(status)
}

/// Notes the answer of a map's program.
async fn look_up(
    shared: &Shared,
    context: &mut RequestContext,
    map: String,
    key: Vec<u8>,
) -> Result<(), String> {
    let site = shared.site();
    let Some(RewriteMap::Program(command)) = site.host(context.host).rules.maps.get(&map) else {
        return Err(format!("there is no map `{map}` any more"));
    };
    let state = context.rule_state.get_or_insert_with(Default::default);
    if state.looked_up.len() >= QUESTIONS {
        return Err(format!("rules ask map `{map}` without end"));
    }
    let said = shared.lookups.maps.ask(command, &key).await;
    let value = said.map_err(|trouble| format!("the program of RewriteMap {map} {trouble}"))?;
    state.looked_up.push(LookedUp { map, key, value });
    Ok(())
}

/// The same request for another target. Method and body stay.
pub fn lead(redirect: Option<Redirect>, to: Lead, asked: &[u8]) -> Redirect {
    let mut redirect = redirect.unwrap_or(Redirect {
        target: asked.to_vec(),
        from: None,
        status: 200,
        count: 0,
        keeps_request: true,
    });
    let before = std::mem::replace(&mut redirect.target, to.target);
    if !to.in_place {
        // As in Apache: the earlier path, with the query that the rules have left.
        redirect.from = Some(joined(path_of(&before), query_of(&redirect.target)));
    }
    redirect.count += 1;
    redirect
}
