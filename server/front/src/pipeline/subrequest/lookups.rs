//! Asks `RewriteMap` programs for the rules of a worker's question. The evaluation of the rules
//! cannot wait, so the question is answered again with the program's answer.

use super::answer;
use crate::pipeline::rules::{Need, QUESTIONS};
use crate::request::rule_state::LookedUp;
use crate::request::Request;
use crate::shared::Shared;
use mehari_config::{LogLevel, RewriteMap, Site};
use mehari_observe::Origin;
use mehari_pool::{LaterResolver, SubrequestResolver};
use std::net::IpAddr;
use std::rc::{Rc, Weak};

/// What `RewriteMap` programs have answered about a question.
#[derive(Debug, Clone, Default)]
pub struct MapAnswers {
    known: Vec<LookedUp>,
    /// Whether no program is asked, so rules that need one refuse the request.
    is_final: bool,
}

impl MapAnswers {
    /// No program has answered, and none is asked.
    pub fn none() -> MapAnswers {
        MapAnswers {
            is_final: true,
            ..MapAnswers::default()
        }
    }

    pub fn known(&self) -> &[LookedUp] {
        &self.known
    }

    pub fn may_grow(&self) -> bool {
        !self.is_final
    }
}

/// A key for which a program must be asked before the rules can decide.
pub struct MapLookup {
    command: Vec<String>,
    map: String,
    key: Vec<u8>,
    request: LoggedRequest,
}

/// The request in question, for the log.
struct LoggedRequest {
    host: u32,
    client: Option<IpAddr>,
    target: Vec<u8>,
}

impl MapLookup {
    /// Returns the lookup that the rules need, if they need one.
    pub fn of(request: &Request<'_>, site: &Site, need: &Need) -> Option<MapLookup> {
        let Need::LookUp { map, key } = need else {
            return None;
        };
        let host = site.host(request.virtual_host);
        let RewriteMap::Program(command) = host.rules.maps.get(map)? else {
            return None;
        };
        Some(MapLookup {
            command: command.clone(),
            map: map.clone(),
            key: key.clone(),
            request: LoggedRequest {
                host: request.virtual_host,
                client: request.peer.remote_addr.ip(),
                target: request.target.to_vec(),
            },
        })
    }

    async fn ask(&self, shared: &Shared) -> Result<Option<Vec<u8>>, String> {
        let said = shared.lookups.maps.ask(&self.command, &self.key).await;
        said.map_err(|trouble| trouble.to_string())
    }
}

impl LoggedRequest {
    fn log(&self, shared: &Shared, text: &str) {
        let origin = Origin {
            client: self.client,
            ..Origin::default()
        };
        let text = format!("{}: {text}", self.target.escape_ascii());
        shared
            .journal
            .error(self.host, LogLevel::Error, origin, &text);
    }
}

/// Returns the function that answers questions while the front lives. `answers`: what programs have
/// answered about the question.
pub fn resolver(shared: Weak<Shared>, answers: MapAnswers) -> SubrequestResolver {
    SubrequestResolver::new(move |question, give| -> Option<LaterResolver> {
        let shared = shared.upgrade()?;
        let lookup = answer(&shared, question, &answers, give)?;
        let answers = answers.clone();
        Some(Box::pin(async move {
            let answers = look_up(&shared, lookup, answers).await;
            resolver(Rc::downgrade(&shared), answers)
        }))
    })
}

/// Asks the program, and returns all that is known then.
pub(super) async fn look_up(
    shared: &Shared,
    lookup: MapLookup,
    mut answers: MapAnswers,
) -> MapAnswers {
    let said = if answers.known.len() >= QUESTIONS {
        Err("is asked too often".to_owned())
    } else {
        lookup.ask(shared).await
    };
    let MapLookup {
        map, key, request, ..
    } = lookup;
    match said {
        Ok(value) => answers.known.push(LookedUp { map, key, value }),
        Err(trouble) => {
            request.log(
                shared,
                &format!("the program of RewriteMap {map} {trouble}"),
            );
            answers.is_final = true;
        }
    }
    answers
}
