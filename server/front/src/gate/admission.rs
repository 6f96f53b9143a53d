//! Asking the gate until it has decided: what it wants done meanwhile is done here.

use crate::answer::Answer;
use crate::dispatch::Dispatch;
use crate::names;
use crate::notes::{Checked, LookedUp};
use crate::passwords::Outcome;
use crate::problem::Problem;
use crate::request::{path_of, query_of, Redirect, REDIRECTS};
use crate::route::{self, Route};
use crate::shared::Shared;
use crate::turn::Turn;
use mehari_config::{LogLevel, Phase, RewriteMap, Settings};
use std::rc::Rc;
use std::sync::Arc;

use super::login::challenge;
use super::redirects::joined;
use super::{Lead, Passage, Remarks};

/// Keys that one request may have looked up by programs.
const QUESTIONS: usize = 32;

/// What the gate came to, once all it wanted done has been done.
pub enum Admission {
    To(Rc<Route>),
    Answer(Answer),
    /// The page of a status.
    Status(u16),
}

/// Asks [`pass`] (by `ask`, which knows the request) until it has decided. `asked` is the target as sent.
pub async fn admit<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    asked: &[u8],
    ask: impl Fn(&Turn, &mut Remarks) -> Result<Passage, Problem>,
) -> Result<Admission, Problem> {
    loop {
        let mut remarks = turn.notes.take();
        let before = remarks.clone();
        let passage = ask(turn, &mut remarks);
        turn.notes = match &passage {
            // All is asked again: what it noted would be there twice.
            Ok(
                Passage::Check(..)
                | Passage::ReadUsers(_)
                | Passage::LookUp { .. }
                | Passage::Resolve(_)
                | Passage::Fetch(_)
                | Passage::Scout(_),
            ) => before,
            _ => remarks,
        };
        match passage? {
            Passage::To(route) => return Ok(Admission::To(route)),
            Passage::Answer(settings, answer) => {
                turn.settings = Some(settings);
                return Ok(Admission::Answer(answer));
            }
            Passage::Status(settings, status) => {
                return Ok(refuse(shared, turn, settings, status, asked))
            }
            Passage::Led(to) => {
                if let (false, Some(notes)) = (to.in_place, &mut turn.notes) {
                    notes.begin_anew(turn.redirect.as_ref());
                }
                let redirect = lead(turn.redirect.take(), to, asked);
                if redirect.count > REDIRECTS {
                    turn.log(shared, LogLevel::Error, asked, "rewritten too often");
                    return Ok(Admission::Status(500));
                }
                turn.redirect = Some(redirect);
            }
            Passage::LookUp { map, key } => {
                if let Err(text) = look_up(shared, turn, map, key).await {
                    turn.log(shared, LogLevel::Error, asked, &text);
                    return Ok(Admission::Status(500));
                }
            }
            Passage::ReadUsers(file) => shared.digests.users.read(&file).await,
            Passage::Resolve(question) => {
                let answer = shared.names.ask(&question).await;
                if let names::Question::Home(name) = &question {
                    route::homes::remember(name, &answer);
                }
                if *answer == names::Answer::Failed {
                    let text = format!("no answer from the resolver about {question}");
                    turn.log(shared, LogLevel::Warn, asked, &text);
                }
                let notes = turn.notes.get_or_insert_with(Default::default);
                notes.learn(question, answer);
            }
            Passage::Fetch(file) => {
                shared.files.readers.look_at(file).await;
                let notes = turn.notes.get_or_insert_with(Default::default);
                notes.fetched = true;
            }
            Passage::Scout(file) => {
                let scout = shared.ground.scout.clone();
                shared.files.readers.go_ahead(scout, file.clone()).await;
                shared.ground.note_scouted(&file);
            }
            Passage::Check(settings, file, credentials) => {
                let right = match shared.passwords.check(&file, &credentials).await {
                    Outcome::Right => true,
                    Outcome::Wrong => false,
                    Outcome::Busy => return Ok(refuse(shared, turn, Some(settings), 503, asked)),
                    Outcome::Unreadable => {
                        let text = format!("AuthUserFile {} cannot be read", file.display());
                        turn.log(shared, LogLevel::Error, asked, &text);
                        return Ok(refuse(shared, turn, Some(settings), 500, asked));
                    }
                };
                // A handler of Perl's may know other passwords.
                if !right && settings.perl.of(Phase::Authen).is_empty() {
                    let user = credentials.user.escape_ascii();
                    let text = format!("user {user}: not in AuthUserFile, or another password");
                    turn.log(shared, LogLevel::Error, asked, &text);
                }
                let notes = turn.notes.get_or_insert_with(Default::default);
                notes.checked.push(Checked {
                    user_file: file,
                    credentials,
                    right,
                });
            }
        }
    }
}

fn refuse<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    settings: Option<Arc<Settings>>,
    status: u16,
    asked: &[u8],
) -> Admission {
    if let (401, Some(settings)) = (status, &settings) {
        let notes = turn.notes.get_or_insert_with(Default::default);
        let said = &settings.rules.authentication;
        let lines = challenge(shared, said, notes.stale);
        notes.lines.extend_from_slice(lines.as_bytes());
    }
    if status == 403 {
        turn.log(
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
            turn.log(shared, LogLevel::Error, asked, text);
        }
        if require.is_some_and(|rule| rule.asks_user()) {
            let text = "Require asks for a user, and nothing says how one is known; expected AuthType Basic or Digest, AuthName and AuthUserFile";
            turn.log(shared, LogLevel::Error, asked, text);
        }
    }
    if settings.is_some() {
        turn.settings = settings;
    }
    Admission::Status(status)
}

/// Notes what a map's program says of a key.
async fn look_up<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    map: String,
    key: Vec<u8>,
) -> Result<(), String> {
    let site = shared.site();
    let Some(RewriteMap::Program(command)) = site.host(turn.host).rules.maps.get(&map) else {
        return Err(format!("there is no map `{map}` any more"));
    };
    let notes = turn.notes.get_or_insert_with(Default::default);
    if notes.looked_up.len() >= QUESTIONS {
        return Err(format!("rules ask map `{map}` without end"));
    }
    let said = shared.maps.ask(command, &key).await;
    let value = said.map_err(|trouble| format!("the program of RewriteMap {map} {trouble}"))?;
    notes.looked_up.push(LookedUp { map, key, value });
    Ok(())
}

/// The same request, for another target: method and body stay.
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
        // As in Apache: the path as it was, with the query as the rules have left it.
        redirect.from = Some(joined(path_of(&before), query_of(&redirect.target)));
    }
    redirect.count += 1;
    redirect
}
