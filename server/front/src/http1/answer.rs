//! Answering one request: from its head to the work it leads to, and on to whatever that leads to.

use super::body::Gathered;
use super::connection::{Connection, Current, Gone};
use super::head::Framing;
use crate::cache::{self, Step};
use crate::deadline::Phase;
use crate::dispatch::Dispatch;
use crate::gate::{self, Admission};
use crate::handler::lua::{self, LateRequest};
use crate::page;
use crate::problem::{bad, Problem};
use crate::request::{Field, Request, Table};
use crate::route::Route;
use crate::socket::Stream;
use crate::traffic::Verdict;
use crate::turn::Turn;
use crate::work::{self, Work};
use mehari_pool::Body;
use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

impl<S: Stream, D: Dispatch> Connection<S, D> {
    /// Routes, reads the body, has the work done and sends what comes of it.
    pub(super) async fn answer_in(&mut self, turn: &mut Current) -> Result<(), Gone> {
        let mut work = match self.is_for_a_path(turn) {
            Err(problem) => self.refusal(turn, problem),
            Ok(false) => {
                self.skip_body(turn).await?;
                Work::Answer(work::server_options())
            }
            Ok(true) => match self.work_at_once(turn) {
                Some(work) => work,
                None => self.admitted(turn).await?,
            },
        };
        loop {
            work = match work {
                Work::Answer(answer) => return self.send_answer(turn, answer).await,
                Work::Elsewhere(target, status) => self.go_elsewhere(turn, target, status).await,
                Work::Backend(mut backend) => {
                    let sent = self.send_backend(turn, &mut backend).await;
                    turn.credit(&mut backend);
                    match sent? {
                        None => return Ok(()),
                        Some(work) => {
                            turn.turn.hear(backend, &work);
                            work
                        }
                    }
                }
            }
        }
    }

    /// An internal redirect: the same request, without its body, for another path.
    async fn go_elsewhere(&self, turn: &mut Current, target: Vec<u8>, status: u16) -> Work<D> {
        let asked = self.head.target(self.input.bytes());
        if !turn.lead_to(target, status, asked) {
            self.log(turn, "redirected within the server too often");
            return Work::Answer(page::answer(500, None));
        }
        match self.ask(turn).await {
            Err(problem) => self.refusal(turn, problem),
            Ok(Admission::To(route)) => {
                turn.turn.note_route(&self.shared, &route);
                self.with_request(turn, |request| {
                    work::begin_elsewhere(&self.shared, request, &route)
                })
            }
            Ok(Admission::Answer(answer)) => Work::Answer(answer),
            Ok(Admission::Status(status)) => self.page_of(turn, status),
        }
    }

    /// Asks the rules.
    async fn ask(&self, turn: &mut Current) -> Result<Admission, Problem> {
        let asked = self.head.target(self.input.bytes());
        let shared = &self.shared;
        lua::admit(
            shared,
            &mut turn.turn,
            asked,
            |turn, remarks| self.with_request(turn, |request| gate::pass(shared, request, remarks)),
            |turn, what| self.with_late_request(turn, what),
        )
        .await
    }

    fn page_of(&self, turn: &Current, status: u16) -> Work<D> {
        self.with_request(turn, |request| {
            work::refusal(&self.shared, request, turn.settings.as_deref(), status)
        })
    }

    /// Asks the rules, and goes on with what they let through.
    async fn admitted(&mut self, turn: &mut Current) -> Result<Work<D>, Gone> {
        if self.shared.lua.is_used() {
            if let Err(problem) = self.read_for_scripts(turn).await? {
                return Ok(self.refusal(turn, problem));
            }
        }
        match self.ask(turn).await {
            Err(problem) => Ok(self.refusal(turn, problem)),
            Ok(Admission::To(route)) => self.work(turn, &route).await,
            Ok(Admission::Answer(answer)) => {
                self.skip_body(turn).await?;
                Ok(Work::Answer(answer))
            }
            Ok(Admission::Status(status)) => {
                self.skip_body(turn).await?;
                Ok(self.page_of(turn, status))
            }
        }
    }

    async fn work(&mut self, turn: &mut Current, route: &Rc<Route>) -> Result<Work<D>, Gone> {
        turn.turn.note_route(&self.shared, route);
        let method = self.head.method.of(self.input.bytes());
        match work::admit(&self.shared, &mut turn.turn, method, &self.peer) {
            Verdict::Pass => {}
            Verdict::Wait(time) => {
                let clock = &self.shared.clock;
                self.seat.enter(clock, Phase::Work, Duration::MAX);
                tokio::time::sleep(time).await;
            }
            Verdict::Refused(status, after) => {
                self.skip_body(turn).await?;
                let settings = turn.settings.clone();
                return Ok(self.with_request(turn, |request| {
                    let settings = settings.as_deref();
                    work::come_back(&self.shared, request, settings, (status, after))
                }));
            }
        }
        if !route.settings.cache.is_off() {
            if let Some(work) = self.consult_cache(turn, route).await? {
                return Ok(work);
            }
        }
        if route.settings.track_uploads {
            let size = match self.head.framing {
                Framing::Length(length) => length,
                _ => 0,
            };
            turn.upload =
                self.with_request(turn, |request| work::track(&self.shared, request, size));
            self.tracked.clone_from(&turn.upload);
        }
        let body = match work::wants_body(route) {
            true => self.read_body(route.settings.body_limit).await?,
            false => {
                self.skip_body(turn).await?;
                Ok(Gathered::Empty)
            }
        };
        Ok(match body {
            Err(problem) => self.refusal(turn, problem),
            Ok(gathered) => {
                turn.consumed = self.head.length + gathered.in_input();
                turn.received += gathered.length();
                self.enter_work();
                self.begin(turn, route, gathered)
            }
        })
    }

    /// From here on a program has its time.
    pub(super) fn enter_work(&self) {
        // One that is not watched is as soon as its answer does not come at once.
        let glance = match self.socket.is_unwatched() {
            true => Duration::ZERO,
            false => Duration::MAX,
        };
        self.seat.enter(&self.shared.clock, Phase::Work, glance);
    }

    /// What the response cache has for the request; `None`: the program is asked.
    async fn consult_cache(
        &mut self,
        turn: &mut Current,
        route: &Rc<Route>,
    ) -> Result<Option<Work<D>>, Gone> {
        let question = |request: &Request<'_>| cache::Question::of(&self.shared, request, route);
        let Some(mut question) = self.with_request(turn, question) else {
            return Ok(None);
        };
        loop {
            let step = self.with_request(turn, |request| {
                cache::step(&self.shared, turn, request, route, &mut question)
            });
            match step {
                Step::Pass => return Ok(None),
                Step::Answer(work) => {
                    self.skip_body(turn).await?;
                    return Ok(Some(work));
                }
                Step::Wait(others) => {
                    // Earlier answers do not wait.
                    self.flush().await?;
                    let clock = &self.shared.clock;
                    self.seat.enter(clock, Phase::Work, Duration::MAX);
                    others.await;
                }
                Step::Ask(mut lease) => {
                    let fields = self.with_request(turn, |request| lease.fields(request));
                    lease.change_fields(turn, fields);
                    turn.lease = Some(lease);
                    return Ok(None);
                }
            }
        }
    }

    /// False: `OPTIONS *`.
    fn is_for_a_path(&self, turn: &Current) -> Result<bool, Problem> {
        let bytes = self.input.bytes();
        let method = self.head.method.of(bytes);
        work::check_method(method)?;
        let target = self.head.target(bytes);
        if target == b"*" {
            return match method {
                b"OPTIONS" => Ok(false),
                _ => Err(bad("* is for OPTIONS")),
            };
        }
        work::check_trust(&self.shared, &self.peer, turn.host)?;
        Ok(true)
    }

    pub(super) fn begin(&self, turn: &Current, route: &Route, gathered: Gathered) -> Work<D> {
        let bytes = self.input.bytes();
        let body = match gathered {
            Gathered::Empty => Body::Empty,
            Gathered::InInput(length) => {
                Body::Memory(&bytes[self.head.length..self.head.length + length])
            }
            Gathered::Memory(ref memory) => Body::Memory(memory),
            Gathered::File(file, length) => Body::File(file.into(), length),
        };
        self.with_request(turn, |request| {
            work::begin(&self.shared, request, route, body)
        })
    }

    /// Calls `what` with the request as handlers see it.
    pub(super) fn with_request<R>(&self, turn: &Turn, what: impl FnOnce(&Request<'_>) -> R) -> R {
        let mut fields = Table::new();
        self.put_fields(&mut fields, turn);
        what(&self.request_of(turn, &fields))
    }

    /// The same where it may not be asked for.
    pub(super) fn with_late_request(&self, turn: &Turn, what: &mut dyn FnMut(&LateRequest<'_>)) {
        let (fields, request) = (OnceCell::new(), OnceCell::new());
        let filled = || {
            let mut fields = Table::new();
            self.put_fields(&mut fields, turn);
            fields
        };
        what(&|| request.get_or_init(|| self.request_of(turn, fields.get_or_init(filled))));
    }

    /// The request's fields, put where they stay: to move them costs more.
    fn put_fields<'t>(&'t self, fields: &mut Table<'t>, turn: &'t Turn) {
        let bytes = self.input.bytes();
        let notes = turn.notes.as_deref();
        match notes.and_then(|notes| notes.fields.as_ref()) {
            None => {
                let own = self.head.fields.iter();
                fields.extend(own.map(|(name, value)| (name.of(bytes), value.of(bytes))));
            }
            Some(changed) => {
                let changed = changed.iter();
                fields.extend(changed.map(|(name, value)| (&name[..], &value[..])));
            }
        }
    }

    fn request_of<'t>(&'t self, turn: &'t Turn, fields: &'t [Field<'t>]) -> Request<'t> {
        let bytes = self.input.bytes();
        Request {
            method: match (&turn.redirect, turn.is_head) {
                (Some(redirect), false) if !redirect.keeps_request => b"GET",
                _ => self.head.method.of(bytes),
            },
            asked_method: self.head.method.of(bytes),
            target: self.head.target(bytes),
            resource: match &turn.redirect {
                Some(redirect) => &redirect.target,
                None => self.head.target(bytes),
            },
            redirect: turn.redirect.as_ref(),
            protocol: turn.protocol,
            fields,
            host: self.head.host.map_or(&[], |host| host.of(bytes)),
            peer: turn.client(&self.peer),
            virtual_host: turn.host,
            notes: turn.notes.as_deref(),
            id: turn.id,
        }
    }

    /// The page of a problem found before the request's handler was.
    fn refusal(&self, turn: &mut Current, problem: Problem) -> Work<D> {
        turn.keep &= !problem.closes;
        turn.refused |= problem.closes;
        let turn = &*turn;
        self.with_request(turn, |request| {
            work::refusal(
                &self.shared,
                request,
                turn.settings.as_deref(),
                problem.status,
            )
        })
    }
}
