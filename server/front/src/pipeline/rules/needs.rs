//! Finds out what rules need before they can decide: the answer of a `RewriteMap` program, a name,
//! a user file, the check of a password, or metadata from the disk.
//!
//! The event loop serves other requests meanwhile. An answer is kept in the request's rule state or
//! in a table of the front, and the next evaluation finds it there.

use crate::pipeline::RequestContext;
use crate::request::rule_state::{Checked, LookedUp};
use crate::routing::{self, similar::MissingFile};
use crate::shared::Shared;
use mehari_auth::passwords::{Credentials, PasswordCheck};
use mehari_config::{LogLevel, Phase, RewriteMap, Settings};
use mehari_resolve::names;
use std::path::PathBuf;
use std::sync::Arc;

/// The most questions to `RewriteMap` programs per request.
pub const QUESTIONS: usize = 32;

/// What rules must know before they can decide.
pub enum Need {
    /// The answer of a `RewriteMap` program for this key.
    LookUp { map: String, key: Vec<u8> },
    /// The content of this user file.
    ReadUsers(PathBuf),
    /// The answer of the resolver.
    Resolve(names::Query),
    /// This path's metadata, which a thread reads from the disk.
    Fetch(Vec<u8>),
    /// A watch on the folder of this file, which a thread prepares.
    WarmWatches(Vec<u8>),
    /// The names that are similar to a missing name, which a thread reads from the folder.
    FindSimilar(MissingFile),
    /// Whether this password is correct.
    Check(UncheckedPassword),
}

/// A password to check in a user file.
pub struct UncheckedPassword {
    pub settings: Arc<Settings>,
    pub user_file: PathBuf,
    pub credentials: Credentials,
}

/// The refusal of a request because something cannot be found out.
pub struct Refusal {
    pub settings: Option<Arc<Settings>>,
    pub status: u16,
}

/// Finds out what rules need. `asked` is the request's target as sent.
pub async fn meet(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    need: Need,
) -> Result<(), Refusal> {
    match need {
        Need::LookUp { map, key } => {
            if let Err(text) = look_up(shared, context, map, key).await {
                context.log(shared, LogLevel::Error, asked, &text);
                return Err(Refusal {
                    settings: None,
                    status: 500,
                });
            }
        }
        Need::ReadUsers(file) => shared.users.digests.users.read(&file).await,
        Need::Resolve(query) => resolve(shared, context, asked, query).await,
        Need::Fetch(file) => {
            shared.content.files.readers.read_metadata(file).await;
            let state = context.rule_state.get_or_insert_with(Default::default);
            state.mapping.fetched = true;
        }
        Need::WarmWatches(file) => {
            let (watcher, readers) = (&shared.routing.watcher, &shared.content.files.readers);
            readers.warm(watcher.warmer.clone(), file.clone()).await;
            watcher.note_warmed(&file);
        }
        Need::FindSimilar(missing) => {
            let readers = &shared.content.files.readers;
            let found = readers.find(move || missing.similar_names()).await;
            let state = context.rule_state.get_or_insert_with(Default::default);
            state.mapping.similar = Some(Arc::new(found.unwrap_or_default()));
        }
        Need::Check(check) => return check_password(shared, context, asked, check).await,
    }
    Ok(())
}

/// Asks the resolver and notes the answer.
async fn resolve(shared: &Shared, context: &mut RequestContext, asked: &[u8], query: names::Query) {
    let answer = shared.lookups.names.ask(&query).await;
    if let names::Query::Home(name) = &query {
        routing::homes::remember(name, &answer);
    }
    if *answer == names::Answer::Failed {
        let text = format!("no answer from the resolver about {query}");
        context.log(shared, LogLevel::Warn, asked, &text);
    }
    let state = context.rule_state.get_or_insert_with(Default::default);
    state.identity.learn(query, answer);
}

/// Checks a password and notes the result.
async fn check_password(
    shared: &Shared,
    context: &mut RequestContext,
    asked: &[u8],
    check: UncheckedPassword,
) -> Result<(), Refusal> {
    let UncheckedPassword {
        settings,
        user_file,
        credentials,
    } = check;
    let refusal = |settings, status| {
        Err(Refusal {
            settings: Some(settings),
            status,
        })
    };
    let right = match shared.users.passwords.check(&user_file, &credentials).await {
        PasswordCheck::Right => true,
        PasswordCheck::Wrong => false,
        PasswordCheck::Busy => return refusal(settings, 503),
        PasswordCheck::Unreadable => {
            let text = format!("AuthUserFile {} cannot be read", user_file.display());
            context.log(shared, LogLevel::Error, asked, &text);
            return refusal(settings, 500);
        }
    };
    // A Perl handler may know further users and passwords.
    if !right && settings.perl.of(Phase::Authen).is_empty() {
        let user = credentials.user.escape_ascii();
        let text = format!("user {user}: not in AuthUserFile, or another password");
        context.log(shared, LogLevel::Error, asked, &text);
    }
    let state = context.rule_state.get_or_insert_with(Default::default);
    state.identity.checked.push(Checked {
        user_file,
        credentials,
        right,
    });
    Ok(())
}

/// Asks a `RewriteMap` program and notes the answer.
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
        return Err(format!("rules look up map `{map}` too often"));
    }
    let said = shared.lookups.maps.ask(command, &key).await;
    let value = said.map_err(|trouble| format!("the program of RewriteMap {map} {trouble}"))?;
    state.looked_up.push(LookedUp { map, key, value });
    Ok(())
}
