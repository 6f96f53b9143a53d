//! The scripts before a request's handler: some see its URL, others the file that stands for.

use super::visit::{LateRequest, Seen};
use super::{content, outcome};
use crate::answer::{Answer, Content};
use crate::dispatch::Dispatch;
use crate::gate::{self, Admission, Lead, Passage, Remarks};
use crate::notes::Notes;
use crate::path::{merge_slashes, resolved};
use crate::problem::Problem;
use crate::request::{Redirect, REDIRECTS};
use crate::route::Route;
use crate::shared::Shared;
use crate::turn::Turn;
use mehari_config::{Host, LogLevel, Settings};
use mehari_edge::{Ended, Failure, Source, Stage, Visit};
use outcome::Led;
use std::path::PathBuf;
use std::sync::Arc;

/// Asks the gate, and the scripts before and behind it. `ask` and `look` know the request: the one asks
/// [`gate::pass`], the other makes something of it.
pub async fn admit<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    asked: &[u8],
    ask: impl Fn(&Turn, &mut Remarks) -> Result<Passage, Problem>,
    look: impl Fn(&Turn, &mut dyn FnMut(&LateRequest<'_>)),
) -> Result<Admission, Problem> {
    let within = |redirect: &Redirect| !redirect.keeps_request;
    if !shared.lua.is_used() || turn.redirect.as_ref().is_some_and(within) {
        return gate::admit(shared, turn, asked, ask).await;
    }
    let site = shared.site();
    let host = site.host(turn.host);
    let base = shared.lua.base(host);
    let mut attraction = Attraction {
        shared,
        host,
        asked,
        look,
        restarts: 0,
    };
    loop {
        let scripts = host.rules.lua.as_deref().unwrap_or_default();
        match attraction
            .ask(turn, Stage::RawUrl, scripts, &base, None)
            .await
        {
            Asked::GoOn => {}
            Asked::Again => continue,
            Asked::Admitted(admission) => return Ok(admission),
        }
        let mut admission = gate::admit(shared, turn, asked, &ask).await?;
        let Admission::To(route) = &admission else {
            return Ok(admission);
        };
        let scripts = route.settings.lua.physical_path.clone();
        if scripts.is_empty() {
            return Ok(admission);
        }
        let (settings, before) = (route.settings.clone(), led(turn));
        let route = route.clone();
        let asked_for =
            attraction.ask(turn, Stage::PhysicalPath, &scripts, &settings, Some(&route));
        match asked_for.await {
            Asked::GoOn => {}
            Asked::Again => continue,
            Asked::Admitted(admission) => return Ok(admission),
        }
        if led(turn) != before {
            admission = gate::admit(shared, turn, asked, &ask).await?;
        }
        return Ok(admission);
    }
}

/// Where the request leads: where a rule or a script led it, and the file.
fn led(turn: &Turn) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let target = turn
        .redirect
        .as_ref()
        .map(|redirect| redirect.target.clone());
    let mapped = turn
        .notes
        .as_ref()
        .and_then(|notes| notes.edge.mapped.clone());
    (target, mapped)
}

enum Asked {
    GoOn,
    Again,
    Admitted(Admission),
}

struct Attraction<'a, D: Dispatch, L> {
    shared: &'a Shared<D>,
    host: &'a Host,
    asked: &'a [u8],
    look: L,
    restarts: u32,
}

impl<D: Dispatch, L: Fn(&Turn, &mut dyn FnMut(&LateRequest<'_>))> Attraction<'_, D, L> {
    /// Asks one script after another, until one decides.
    async fn ask(
        &mut self,
        turn: &mut Turn,
        stage: Stage,
        scripts: &[PathBuf],
        settings: &Arc<Settings>,
        route: Option<&Route>,
    ) -> Asked {
        for file in scripts.iter() {
            let lua = &self.shared.lua;
            let visit = self.visit(turn, stage);
            let look = |what: &mut dyn FnMut(&dyn Source)| self.show(turn, route, what);
            let (ended, mut visit) = lua
                .run(&self.shared.clock, file, settings, visit, look)
                .await;
            self.log_printed(turn, &visit);
            let decided = match ended {
                Ok(Ended::Answer(status)) => {
                    outcome::note_request(&mut turn.notes, &visit);
                    turn.settings = Some(settings.clone());
                    let content = match visit.body.take() {
                        Some(pieces) => content::of(&self.shared.files, pieces).await.map(Some),
                        None => Ok(None),
                    };
                    Some(Asked::Admitted(self.answer(turn, status, &visit, content)))
                }
                Ok(Ended::Restart) => {
                    outcome::note(&mut turn.notes, &visit);
                    Some(self.restart(turn, &visit))
                }
                Ok(Ended::GoOn | Ended::Interim(_)) => {
                    outcome::note(&mut turn.notes, &visit);
                    self.lead(turn, outcome::led(&visit, stage))
                }
                Err(failure) => {
                    self.log(turn, &failure.text);
                    turn.settings = Some(settings.clone());
                    Some(Asked::Admitted(Admission::Status(failure.status)))
                }
            };
            lua.give_back(visit);
            if let Some(decided) = decided {
                return decided;
            }
        }
        Asked::GoOn
    }

    fn visit(&self, turn: &Turn, stage: Stage) -> Box<Visit> {
        let mut visit = self.shared.lua.new_visit(stage);
        visit.request_count = turn.kept;
        visit.began = Some(turn.time);
        visit
    }

    fn show(&self, turn: &Turn, route: Option<&Route>, what: &mut dyn FnMut(&dyn Source)) {
        let host = self.host;
        (self.look)(turn, &mut |request| {
            what(&Seen {
                request,
                host,
                route,
                body: turn.small_body.as_deref(),
            });
        });
    }

    /// The request as a script has changed it. Something: it is over.
    fn lead(&self, turn: &mut Turn, led: Led) -> Option<Asked> {
        if let Some(file) = led.file {
            let notes = turn.notes.get_or_insert_with(Default::default);
            // As folders' rules know it.
            let plain = resolved(&file).map(|file| merge_slashes(&file));
            notes.edge.mapped = Some(plain.unwrap_or(file));
        }
        let target = led.target?;
        if !target.starts_with(b"/") {
            self.log(
                turn,
                "a script leads to a path that does not begin with a slash",
            );
            return Some(Asked::Admitted(Admission::Status(500)));
        }
        let to = Lead {
            target,
            in_place: false,
        };
        let redirect = gate::lead(turn.redirect.take(), to, self.asked);
        if redirect.count > REDIRECTS {
            self.log(turn, "led on by scripts and rules too often");
            return Some(Asked::Admitted(Admission::Status(500)));
        }
        turn.redirect = Some(redirect);
        if let Some(notes) = &mut turn.notes {
            notes.led_on();
        }
        None
    }

    fn restart(&mut self, turn: &mut Turn, visit: &Visit) -> Asked {
        self.restarts += 1;
        if self.restarts > REDIRECTS {
            self.log(turn, "restarted by scripts too often");
            return Asked::Admitted(Admission::Status(500));
        }
        if let Some(notes) = &mut turn.notes {
            forget_mapping(notes);
        }
        let led = Led {
            target: outcome::restarted(visit),
            file: None,
        };
        self.lead(turn, led).unwrap_or(Asked::Again)
    }

    /// `content`: what the script has said of it.
    fn answer(
        &self,
        turn: &mut Turn,
        status: u16,
        visit: &Visit,
        content: Result<Option<Content>, Failure>,
    ) -> Admission {
        match content {
            Ok(None) if status >= 400 => {
                outcome::note_response(&mut turn.notes, visit);
                Admission::Status(status)
            }
            Ok(content) => Admission::Answer(Answer {
                status,
                lines: outcome::lines(visit),
                content: content.unwrap_or_else(Content::empty),
            }),
            Err(failure) => {
                self.log(turn, &failure.text);
                Admission::Status(failure.status)
            }
        }
    }

    fn log(&self, turn: &Turn, text: &str) {
        turn.log(self.shared, LogLevel::Error, self.asked, text);
    }

    fn log_printed(&self, turn: &Turn, visit: &Visit) {
        for line in &visit.printed {
            let text = line.escape_ascii().to_string();
            turn.log(self.shared, LogLevel::Notice, self.asked, &text);
        }
    }
}

/// What a script found on the way to a file that is not meant any more.
fn forget_mapping(notes: &mut Notes) {
    notes.edge.mapped = None;
}
