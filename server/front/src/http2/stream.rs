//! One stream: a request and its response.

use crate::deadline::{Phase, Seat};
use crate::dispatch::Dispatch;
use crate::gate::{self, Admission};
use crate::http1::head::check_host;
use crate::log::Ending;
use crate::page;
use crate::problem::{bad, Problem};
use crate::proxied;
use crate::request::{Peer, Protocol, Request, Table};
use crate::shared::Shared;
use crate::spool::Spooled;
use crate::traffic::Verdict;
use crate::turn::Turn;
use crate::uploads::Upload;
use crate::work::{self, Work};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::RecvStream;
use http::request::Parts;
use mehari_config::ConnectionLimits;
use mehari_pool::Body;
use std::rc::Rc;
use std::time::Duration;

/// The stream is over: reset by the client, late, or the connection is gone.
pub struct Gone;

pub struct Stream<D: Dispatch> {
    pub(super) shared: Rc<Shared<D>>,
    pub(super) peer: Rc<Peer>,
    pub(super) seat: Seat,
    pub(super) respond: SendResponse<Bytes>,
    /// Whose progress is kept while it is read.
    pub(super) tracked: Option<Rc<Upload>>,
}

/// The head of a request, with what HTTP/2 says elsewhere put where programs look for it.
pub(super) struct Head {
    pub method: http::Method,
    pub target: String,
    host: Vec<u8>,
    cookie: Vec<u8>,
    /// Fields as they were sent, crumbs of cookies one by one.
    count: usize,
    fields: http::HeaderMap,
}

impl<D: Dispatch> Stream<D> {
    pub fn new(shared: Rc<Shared<D>>, peer: Rc<Peer>, respond: SendResponse<Bytes>) -> Stream<D> {
        let seat = shared.streams.enter(&shared.clock);
        seat.enter(&shared.clock, Phase::Work, Duration::MAX);
        Stream {
            shared,
            peer,
            seat,
            respond,
            tracked: None,
        }
    }

    pub async fn serve(mut self, request: http::Request<RecvStream>) {
        let (parts, body) = request.into_parts();
        let mut turn = Turn::begin(&self.shared, Protocol::Http2, parts.method == "HEAD");
        let head = Head::new(parts);
        turn.host = self.shared.host(&self.peer, &head.host);
        if let Some(rule) = &self.shared.site().remote_address {
            let table = head.fields();
            let fields = table.as_slice().iter().copied();
            turn.client = proxied::client(rule, &self.peer, fields).map(Box::new);
        }
        if self.answer(&mut turn, &head, body).await.is_err() {
            self.respond.send_reset(h2::Reason::CANCEL);
            turn.ends = Ending::Aborted;
        } else {
            turn.ends = Ending::Kept;
        }
        let line = (head.method.as_str().as_bytes(), head.target.as_bytes());
        turn.end(
            &self.shared,
            &self.peer,
            Some(line),
            head.fields().as_slice().iter().copied(),
        );
    }

    async fn answer(&mut self, turn: &mut Turn, head: &Head, body: RecvStream) -> Result<(), Gone> {
        let mut work = self.work(turn, head, body).await?;
        loop {
            work = match work {
                Work::Answer(answer) => return self.send_answer(turn, head, answer).await,
                Work::Elsewhere(target, status) => {
                    self.go_elsewhere(turn, head, target, status).await
                }
                Work::Backend(mut backend) => {
                    let sent = self.send_backend(turn, head, &mut backend).await;
                    turn.credit(&backend);
                    match sent? {
                        None => return Ok(()),
                        Some(work) => work,
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
        if !turn.lead_to(target, status, head.target.as_bytes()) {
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
        let asked = head.target.as_bytes();
        gate::admit(&self.shared, turn, asked, |turn, remarks| {
            self.with_request(turn, head, |request| {
                gate::pass(&self.shared, request, remarks)
            })
        })
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
        if head.target == "*" {
            return match head.method == "OPTIONS" {
                true => Ok(Work::Answer(work::server_options())),
                false => refuse(self, turn, bad("* is for OPTIONS")),
            };
        }
        if let Err(problem) = work::check_trust(&self.shared, &self.peer, turn.host) {
            return refuse(self, turn, problem);
        }
        let route = match self.ask(turn, head).await {
            Ok(Admission::To(route)) => route,
            Ok(Admission::Answer(answer)) => return Ok(Work::Answer(answer)),
            Ok(Admission::Status(status)) => return Ok(self.page(turn, head, status)),
            Err(problem) => return refuse(self, turn, problem),
        };
        turn.note_route(&self.shared, &route);
        let method = head.method.as_str().as_bytes();
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
        if route.settings.track_uploads {
            let size = head.fields.get("content-length");
            let size = size.and_then(|size| size.to_str().ok()?.parse().ok());
            let track = |request: &Request<'_>| {
                work::track(&self.shared, request, size.unwrap_or_default())
            };
            turn.upload = self.with_request(turn, head, track);
            self.tracked.clone_from(&turn.upload);
        }
        let spooled = match work::wants_body(&route) {
            true => self.read_body(body, route.settings.body_limit).await?,
            false => Ok(Spooled::Memory(Vec::new())),
        };
        let spooled = match spooled {
            Ok(spooled) => {
                turn.received += spooled.length();
                spooled
            }
            Err(problem) => return refuse(self, turn, problem),
        };
        self.seat
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

    pub(super) fn with_request<R>(
        &self,
        turn: &Turn,
        head: &Head,
        what: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let notes = turn.notes.as_deref();
        let fields = match notes.and_then(|notes| notes.fields.as_ref()) {
            None => head.fields(),
            Some(changed) => changed
                .iter()
                .map(|(name, value)| (&name[..], &value[..]))
                .collect(),
        };
        what(&Request {
            method: match (&turn.redirect, turn.is_head) {
                (Some(redirect), false) if !redirect.keeps_request => b"GET",
                _ => head.method.as_str().as_bytes(),
            },
            asked_method: head.method.as_str().as_bytes(),
            target: head.target.as_bytes(),
            resource: match &turn.redirect {
                Some(redirect) => &redirect.target,
                None => head.target.as_bytes(),
            },
            redirect: turn.redirect.as_ref(),
            protocol: turn.protocol,
            fields: fields.as_slice(),
            host: &head.host,
            peer: turn.client(&self.peer),
            virtual_host: turn.host,
            notes,
            id: turn.id,
        })
    }
}

impl Head {
    /// `:authority` counts instead of Host; a cookie sent in pieces is one (RFC 9113 section 8.2.3).
    fn new(mut parts: Parts) -> Head {
        let count = parts.headers.len();
        let host = match parts.uri.authority() {
            Some(authority) => authority.as_str().as_bytes().to_vec(),
            None => match parts.headers.get("host") {
                Some(host) => host.as_bytes().to_vec(),
                None => Vec::new(),
            },
        };
        parts.headers.remove("host");
        let crumbs: Vec<&[u8]> = parts
            .headers
            .get_all("cookie")
            .iter()
            .map(|crumb| crumb.as_bytes())
            .collect();
        let cookie = crumbs.join(&b"; "[..]);
        parts.headers.remove("cookie");
        let target = parts
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        Head {
            method: parts.method,
            target: target.to_string(),
            host,
            cookie,
            count,
            fields: parts.headers,
        }
    }

    fn fields(&self) -> Table<'_> {
        let mut table = Table::new();
        if !self.host.is_empty() {
            table.push((b"host", &self.host));
        }
        if !self.cookie.is_empty() {
            table.push((b"cookie", &self.cookie));
        }
        for (name, value) in &self.fields {
            table.push((name.as_str().as_bytes(), value.as_bytes()));
        }
        table
    }

    /// The limits that HTTP/1 checks while it reads.
    fn check(&self, limits: &ConnectionLimits) -> Result<(), Problem> {
        work::check_method(self.method.as_str().as_bytes())?;
        if self.target.len() > limits.request_line {
            return Err(Problem::malformed(414, "the target is too long"));
        }
        if self.count > limits.fields {
            return Err(Problem::malformed(431, "too many header fields"));
        }
        let too_long = |(_, value): (_, &http::HeaderValue)| value.len() > limits.field_size;
        if self.cookie.len() > limits.field_size || self.fields.iter().any(too_long) {
            return Err(Problem::malformed(431, "a header field is too long"));
        }
        match self.host.is_empty() {
            true => Err(bad("neither :authority nor Host")),
            false => check_host(&self.host),
        }
    }
}
