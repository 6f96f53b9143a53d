//! One stream: a request and its response.

use super::head::Head;
use super::outgoing::Outgoing;
use crate::cache::{self, Step};
use crate::deadline::{Phase, Seat};
use crate::dispatch::Dispatch;
use crate::gate::{self, Admission};
use crate::handler::lua::{self, LateRequest};
use crate::log::Ending;
use crate::page;
use crate::problem::{bad, Problem};
use crate::proxied;
use crate::request::{Field, Peer, Protocol, Request, Table};
use crate::route::Route;
use crate::shared::Shared;
use crate::spool::Spooled;
use crate::traffic::Verdict;
use crate::turn::Turn;
use crate::uploads::Upload;
use crate::work::{self, Work};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use mehari_pool::Body;
use std::cell::OnceCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

/// The stream is over: reset by the client, late, or the connection is gone.
pub struct Gone;

pub struct Stream<D: Dispatch> {
    pub(super) shared: Rc<Shared<D>>,
    pub(super) peer: Rc<Peer>,
    seat: OnceCell<Seat>,
    /// What all streams of its connection have on their way.
    pub(super) outgoing: Rc<Outgoing>,
    pub(super) respond: SendResponse<Bytes>,
    /// Whose progress is kept while it is read.
    pub(super) tracked: Option<Rc<Upload>>,
}

/// What is left to be done for a request.
pub(super) enum Next<D: Dispatch> {
    /// All of it: the request's body is still with the client.
    Ask(RecvStream),
    Work(Work<D>),
    /// Its head is sent; these bytes are not, and end it.
    Rest(SendStream<Bytes>, Bytes),
}

/// A request that is being answered. However that ends, it has its line in the access log.
struct Answering<D: Dispatch> {
    stream: Stream<D>,
    turn: Turn,
    head: Head,
}

impl<D: Dispatch> Answering<D> {
    fn begin(stream: Stream<D>, head: Head) -> Answering<D> {
        let (shared, peer) = (&stream.shared, &stream.peer);
        let mut turn = Turn::begin(shared, Protocol::Http2, head.method() == b"HEAD");
        turn.host = shared.host(peer, head.host());
        if let Some(rule) = &shared.site().remote_address {
            let table: Table = head.fields().collect();
            let fields = table.as_slice().iter().copied();
            turn.client = proxied::client(rule, peer, fields).map(Box::new);
        }
        Answering { stream, turn, head }
    }

    fn end(mut self, ended: Result<(), Gone>) {
        match ended {
            Ok(()) => self.turn.ends = Ending::Kept,
            Err(Gone) => self.stream.respond.send_reset(h2::Reason::CANCEL),
        }
    }
}

impl<D: Dispatch> Drop for Answering<D> {
    fn drop(&mut self) {
        let Answering { stream, turn, head } = self;
        let line = (head.method(), head.target());
        let mut fields = Table::new();
        head.fields().for_each(|field| fields.push(field));
        let fields = fields.as_slice().iter().copied();
        turn.end(&stream.shared, &stream.peer, Some(line), fields);
    }
}

impl<D: Dispatch> Stream<D> {
    pub fn new(
        shared: Rc<Shared<D>>,
        peer: Rc<Peer>,
        outgoing: Rc<Outgoing>,
        respond: SendResponse<Bytes>,
    ) -> Stream<D> {
        Stream {
            shared,
            peer,
            outgoing,
            seat: OnceCell::new(),
            respond,
            tracked: None,
        }
    }

    /// Its place among those that wait: what is answered at once needs none.
    pub(super) fn seat(&self) -> &Seat {
        self.seat.get_or_init(|| {
            let seat = self.shared.streams.enter(&self.shared.clock);
            seat.enter(&self.shared.clock, Phase::Work, Duration::MAX);
            seat
        })
    }

    /// Answers if that can be done at once; else, what is left to be done.
    pub fn begin(self, request: http::Request<RecvStream>) -> Option<impl Future<Output = ()>> {
        let (parts, body) = request.into_parts();
        let mut answering = Answering::begin(self, Head::new(parts));
        let Answering { stream, turn, head } = &mut answering;
        let next = match stream.plain_work(turn, head) {
            None => Ok(Some(Next::Ask(body))),
            Some(Work::Answer(answer)) => stream.send_at_once(turn, head, answer),
            Some(work) => Ok(Some(Next::Work(work))),
        };
        match next {
            Ok(Some(next)) => Some(async move {
                let Answering { stream, turn, head } = &mut answering;
                let ended = stream.go_on(turn, head, next).await;
                answering.end(ended);
            }),
            Ok(None) => {
                answering.end(Ok(()));
                None
            }
            Err(gone) => {
                answering.end(Err(gone));
                None
            }
        }
    }

    async fn go_on(&mut self, turn: &mut Turn, head: &Head, next: Next<D>) -> Result<(), Gone> {
        let mut work = match next {
            Next::Ask(body) => self.work(turn, head, body).await?,
            Next::Work(work) => work,
            Next::Rest(mut stream, bytes) => {
                return self.send(turn, &mut stream, bytes, true).await
            }
        };
        loop {
            work = match work {
                Work::Answer(answer) => return self.send_answer(turn, head, answer).await,
                Work::Elsewhere(target, status) => {
                    self.go_elsewhere(turn, head, target, status).await
                }
                Work::Backend(mut backend) => {
                    let sent = self.send_backend(turn, head, &mut backend).await;
                    turn.credit(&mut backend);
                    match sent? {
                        None => return Ok(()),
                        Some(work) => {
                            turn.hear(backend, &work);
                            work
                        }
                    }
                }
            }
        }
    }

    /// An internal redirect: the same request, without its body, for another path.
    async fn go_elsewhere(
        &self,
        turn: &mut Turn,
        head: &Head,
        target: Vec<u8>,
        status: u16,
    ) -> Work<D> {
        if !turn.lead_to(target, status, head.target()) {
            self.log(turn, head, "redirected within the server too often");
            return Work::Answer(page::answer(500, None));
        }
        match self.ask(turn, head).await {
            Err(problem) => self.page(turn, head, problem.status),
            Ok(Admission::To(route)) => {
                turn.note_route(&self.shared, &route);
                self.with_request(turn, head, |request| {
                    work::begin_elsewhere(&self.shared, request, &route)
                })
            }
            Ok(Admission::Answer(answer)) => Work::Answer(answer),
            Ok(Admission::Status(status)) => self.page(turn, head, status),
        }
    }

    /// Asks the rules.
    async fn ask(&self, turn: &mut Turn, head: &Head) -> Result<Admission, Problem> {
        let asked = head.target();
        let shared = &self.shared;
        lua::admit(
            shared,
            turn,
            asked,
            |turn, remarks| {
                self.with_request(turn, head, |request| gate::pass(shared, request, remarks))
            },
            |turn, what| self.with_late_request(turn, head, what),
        )
        .await
    }

    async fn work(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        body: RecvStream,
    ) -> Result<Work<D>, Gone> {
        let site = self.shared.site();
        let refuse = |stream: &Self, turn: &Turn, problem: Problem| {
            Ok(stream.with_request(turn, head, |request| {
                work::refusal(
                    &stream.shared,
                    request,
                    turn.settings.as_deref(),
                    problem.status,
                )
            }))
        };
        if let Err(problem) = head.check(&site.limits) {
            return refuse(self, turn, problem);
        }
        if head.target() == b"*" {
            return match head.method() == b"OPTIONS" {
                true => Ok(Work::Answer(work::server_options())),
                false => refuse(self, turn, bad("* is for OPTIONS")),
            };
        }
        if let Err(problem) = work::check_trust(&self.shared, &self.peer, turn.host) {
            return refuse(self, turn, problem);
        }
        let body = match self.shared.lua.is_used() {
            false => Some(body),
            true => match self.read_for_scripts(turn, head.length(), body).await? {
                Ok(rest) => rest,
                Err(problem) => return refuse(self, turn, problem),
            },
        };
        let route = match self.ask(turn, head).await {
            Ok(Admission::To(route)) => route,
            Ok(Admission::Answer(answer)) => return Ok(Work::Answer(answer)),
            Ok(Admission::Status(status)) => return Ok(self.page(turn, head, status)),
            Err(problem) => return refuse(self, turn, problem),
        };
        turn.note_route(&self.shared, &route);
        let method = head.method();
        match work::admit(&self.shared, turn, method, &self.peer) {
            Verdict::Pass => {}
            Verdict::Wait(time) => tokio::time::sleep(time).await,
            Verdict::Refused(status, after) => {
                return Ok(self.with_request(turn, head, |request| {
                    let settings = turn.settings.as_deref();
                    work::come_back(&self.shared, request, settings, (status, after))
                }));
            }
        }
        if !route.settings.cache.is_off() {
            if let Some(work) = self.consult_cache(turn, head, &route).await {
                return Ok(work);
            }
        }
        if route.settings.track_uploads {
            let track = |request: &Request<'_>| work::track(&self.shared, request, head.length());
            turn.upload = self.with_request(turn, head, track);
            self.tracked.clone_from(&turn.upload);
        }
        let spooled = match work::wants_body(&route) {
            true => {
                let limit = route.settings.body_limit;
                self.read_body(turn, body, limit).await?
            }
            false => Ok(Spooled::Memory(Vec::new())),
        };
        let spooled = match spooled {
            Ok(spooled) => {
                turn.received += spooled.length();
                spooled
            }
            Err(problem) => return refuse(self, turn, problem),
        };
        self.seat()
            .enter(&self.shared.clock, Phase::Work, Duration::MAX);
        let memory;
        let body = match spooled {
            Spooled::File(file, length) => Body::File(file.into(), length),
            Spooled::Memory(bytes) => {
                memory = bytes;
                match memory.is_empty() {
                    true => Body::Empty,
                    false => Body::Memory(&memory),
                }
            }
        };
        Ok(self.with_request(turn, head, |request| {
            work::begin(&self.shared, request, &route, body)
        }))
    }

    /// What the response cache has for the request; `None`: the program is asked.
    async fn consult_cache(
        &self,
        turn: &mut Turn,
        head: &Head,
        route: &Rc<Route>,
    ) -> Option<Work<D>> {
        let question = |request: &Request<'_>| cache::Question::of(&self.shared, request, route);
        let mut question = self.with_request(turn, head, question)?;
        loop {
            let step = self.with_request(turn, head, |request| {
                cache::step(&self.shared, turn, request, route, &mut question)
            });
            match step {
                Step::Pass => return None,
                Step::Answer(work) => return Some(work),
                Step::Wait(others) => others.await,
                Step::Ask(mut lease) => {
                    let fields = self.with_request(turn, head, |request| lease.fields(request));
                    lease.change_fields(turn, fields);
                    turn.lease = Some(lease);
                    return None;
                }
            }
        }
    }

    pub(super) fn with_request<R>(
        &self,
        turn: &Turn,
        head: &Head,
        what: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let mut fields = Table::new();
        put_fields(&mut fields, turn, head);
        what(&self.request(turn, head, &fields))
    }

    /// The same where it may not be asked for.
    pub(super) fn with_late_request(
        &self,
        turn: &Turn,
        head: &Head,
        what: &mut dyn FnMut(&LateRequest<'_>),
    ) {
        let (fields, request) = (OnceCell::new(), OnceCell::new());
        let filled = || {
            let mut fields = Table::new();
            put_fields(&mut fields, turn, head);
            fields
        };
        what(&|| request.get_or_init(|| self.request(turn, head, fields.get_or_init(filled))));
    }

    fn request<'t>(
        &'t self,
        turn: &'t Turn,
        head: &'t Head,
        fields: &'t [Field<'t>],
    ) -> Request<'t> {
        Request {
            method: match (&turn.redirect, turn.is_head) {
                (Some(redirect), false) if !redirect.keeps_request => b"GET",
                _ => head.method(),
            },
            asked_method: head.method(),
            target: head.target(),
            resource: match &turn.redirect {
                Some(redirect) => &redirect.target,
                None => head.target(),
            },
            redirect: turn.redirect.as_ref(),
            protocol: turn.protocol,
            fields,
            host: head.host(),
            peer: turn.client(&self.peer),
            virtual_host: turn.host,
            notes: turn.notes.as_deref(),
            id: turn.id,
        }
    }
}

/// The request's fields.
fn put_fields<'t>(fields: &mut Table<'t>, turn: &'t Turn, head: &'t Head) {
    let notes = turn.notes.as_deref();
    match notes.and_then(|notes| notes.fields.as_ref()) {
        None => head.fields().for_each(|field| fields.push(field)),
        Some(changed) => changed
            .iter()
            .for_each(|(name, value)| fields.push((name, value))),
    }
}
