//! The exchange of one request with a back end. The front polls the exchange.
//!
//! The exchange finds a member, takes or opens a connection, sends the request and reads the
//! response. If a member fails and the request has had no effect, another member gets the request.
//! Connection and member become free when the last byte has arrived, even if the client has not
//! taken that byte.

mod recovery;
mod tracing;

use super::outgoing::Outgoing;
use super::reader::{Reader, Step};
use super::request_summary::RequestSummary;
use super::upstream_session::{UpstreamSession, READS};
use crate::handlers::{BackendHead, Fault};
use mehari_net::buffer_pool::Buffer;
use mehari_pool::Head;
use mehari_upstream::{Connecting, Connection, Fault as Trouble, Group, Lease, Route, Seeking};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// The most bytes of a body that are taken together with the head.
const EARLY: usize = 64 * 1024;

pub struct ProxyExchange {
    asked: RequestSummary,
    outgoing: Outgoing,
    reader: Reader,
    group: Rc<Group>,
    stage: Stage,
    interim: VecDeque<Head>,
    /// The part of the body that arrived with the head.
    early: Buffer,
    /// The error that follows the bytes in `early`.
    trouble: Option<Trouble>,
    /// The members with which this request has failed.
    tried: Vec<Rc<mehari_upstream::Member>>,
    /// The route of the request's session.
    route: Option<Route>,
    /// The variables of the request that tell which member of a balancer was chosen.
    variables: Vec<(&'static str, String)>,
    wait: Duration,
    begun: bool,
    /// How often the request was sent again although a member may already have read it.
    resent: usize,
    /// When the search for a member began.
    began: Option<Instant>,
}

enum Stage {
    Seeking(Seeking),
    Connecting(Lease, Connecting),
    Talking(UpstreamSession),
    /// The head has arrived, and the body follows.
    Body(UpstreamSession),
    /// The connection has changed its protocol.
    Upgraded(UpstreamSession),
    Over,
}

impl ProxyExchange {
    pub fn new(
        asked: RequestSummary,
        seeking: Seeking,
        outgoing: Outgoing,
        reader: Reader,
    ) -> ProxyExchange {
        let route = seeking.route();
        ProxyExchange {
            asked,
            outgoing,
            reader,
            group: seeking.group().clone(),
            stage: Stage::Seeking(seeking),
            interim: VecDeque::new(),
            early: Buffer::default(),
            trouble: None,
            tried: Vec::new(),
            route,
            variables: Vec::new(),
            wait: Duration::ZERO,
            begun: false,
            resent: 0,
            began: None,
        }
    }

    /// Returns the response's head. The head is ready only once.
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<BackendHead, Fault>> {
        loop {
            match &mut self.stage {
                Stage::Seeking(seeking) => {
                    let found = ready!(seeking.poll(cx));
                    self.wait += seeking.waited();
                    match found {
                        Ok(lease) => self.found(lease),
                        Err(trouble) => return Poll::Ready(Err(self.give_up(trouble))),
                    }
                }
                Stage::Connecting(_, connecting) => match ready!(connecting.poll(cx)) {
                    Ok(connection) => self.connected(connection),
                    Err(trouble) => {
                        if let Some(fault) = self.cannot_connect(trouble) {
                            return Poll::Ready(Err(fault));
                        }
                    }
                },
                Stage::Talking(_) => match ready!(self.poll_talk(cx)) {
                    Ok(BackendHead::Upgrade(_)) if !self.outgoing.is_sent() => {
                        let early = Trouble::Malformed("a change of protocol amid the request");
                        return Poll::Ready(Err(self.give_up(early)));
                    }
                    Ok(said) => return Poll::Ready(Ok(self.said(said))),
                    Err(trouble) => {
                        if let Some(fault) = self.recover(trouble) {
                            return Poll::Ready(Err(fault));
                        }
                    }
                },
                Stage::Body(_) | Stage::Upgraded(_) | Stage::Over => {
                    return Poll::Ready(Err(Trouble::Closed.into()))
                }
            }
        }
    }

    /// Returns the next interim head.
    pub fn take_interim(&mut self) -> Option<Head> {
        self.interim.pop_front()
    }

    /// Appends arrived parts of the body to `into`, at most about `room` bytes. `Ok(false)`: the
    /// body is complete.
    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        if !self.early.is_empty() {
            into.append(&mut self.early);
            return Poll::Ready(Ok(!self.is_complete()));
        }
        if let Some(trouble) = self.trouble.take() {
            return Poll::Ready(Err(self.give_up(trouble)));
        }
        let Stage::Body(talk) = &mut self.stage else {
            return Poll::Ready(match self.stage {
                Stage::Over => Ok(false),
                _ => Err(Trouble::Closed.into()),
            });
        };
        if !self.outgoing.is_sent() {
            // The member may need the rest of the request. An error of sending is ignored: if the
            // member needs the rest, its response shows the error.
            let _ = talk.poll_send(cx, &mut self.outgoing);
        }
        let step = ready!(talk.poll_body(cx, &mut self.reader, &self.asked, into, room));
        Poll::Ready(match step {
            Ok(Step::More | Step::Full) => Ok(true),
            Ok(Step::Done(reusable)) => {
                self.finish(reusable, Instant::now());
                Ok(false)
            }
            Err(trouble) => Err(self.give_up(trouble)),
        })
    }

    /// Returns whether everything has arrived, so that `poll_body` does not wait.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Whether the back end is a FastCGI program.
    pub fn is_program(&self) -> bool {
        matches!(self.reader, Reader::FastCgi(_))
    }

    pub fn speaks_http(&self) -> bool {
        matches!(self.reader, Reader::Http(_))
    }

    /// Returns whether a member has the request.
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Returns how long the request has waited for a member.
    pub fn queued(&self) -> Duration {
        self.wait
    }

    /// Returns the connection after an upgrade.
    pub fn take_tunnel(&mut self) -> Option<UpstreamSession> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Upgraded(talk) => Some(talk),
            other => {
                self.stage = other;
                None
            }
        }
    }

    pub fn tunnel_timeout(&self) -> Option<Duration> {
        self.asked.settings.proxy.tunnel_timeout
    }

    /// Returns the variables that tell which member was chosen, but only once.
    pub fn take_variables(&mut self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.variables)
    }

    /// Notes the variables of a balancer, as Apache names them.
    fn note_member(&mut self, lease: &Lease) {
        let settings = self.group.settings();
        if !settings.is_balancer() {
            return;
        }
        let member = lease.member().settings();
        let route = member.route.clone().unwrap_or_default();
        let is_changed = self
            .route
            .as_ref()
            .is_none_or(|asked| asked.name != route || route.is_empty());
        self.variables = vec![
            ("BALANCER_NAME", settings.name.clone()),
            ("BALANCER_WORKER_NAME", member.url()),
            ("BALANCER_WORKER_ROUTE", route),
        ];
        if settings.sticky().is_some() && is_changed {
            self.variables
                .push(("BALANCER_ROUTE_CHANGED", "1".to_owned()));
        }
        if let Some(asked) = &self.route {
            let session = [
                ("BALANCER_SESSION_STICKY", asked.session.clone()),
                ("BALANCER_SESSION_ROUTE", asked.name.clone()),
            ];
            self.variables.extend(session);
        }
    }

    fn found(&mut self, lease: Lease) {
        self.note_member(&lease);
        let since = lease.since();
        self.began.get_or_insert(since - self.wait);
        self.note_call(&lease);
        match lease.take_idle() {
            // A request that must not run twice needs a connection that is known to be open.
            Some(connection) if self.asked.idempotent || connection.socket.is_quiet() => {
                self.talk(lease, connection, since)
            }
            _ => {
                let connecting = lease.connect(self.patience(&lease));
                self.stage = Stage::Connecting(lease, connecting);
            }
        }
    }

    /// Returns how long the member may send nothing.
    fn patience(&self, lease: &Lease) -> Duration {
        let timeout = lease.member().settings().timeout;
        timeout.unwrap_or(self.asked.timeout)
    }

    fn connected(&mut self, connection: Connection) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Connecting(lease, _) => self.talk(lease, connection, Instant::now()),
            other => self.stage = other,
        }
    }

    fn talk(&mut self, lease: Lease, connection: Connection, now: Instant) {
        let member = lease.member().settings();
        self.outgoing.address(&member);
        self.reader.reset();
        self.begun = true;
        self.stage = Stage::Talking(UpstreamSession {
            limit: self.patience(&lease),
            lease,
            connection,
            member,
            taken: Some(now),
            armed: false,
        });
    }

    /// Sends the request and reads the head. A back end may respond before it has read the whole
    /// request.
    fn poll_talk(&mut self, cx: &mut Context<'_>) -> Poll<Result<BackendHead, Trouble>> {
        let Stage::Talking(talk) = &mut self.stage else {
            return Poll::Ready(Err(Trouble::Closed));
        };
        let broken = match talk.poll_send(cx, &mut self.outgoing) {
            Poll::Ready(Err(trouble)) => Some(trouble),
            _ => None,
        };
        for _ in 0..READS {
            let input = &mut talk.connection.input;
            if !input.bytes().is_empty() {
                let (asked, member) = (&self.asked, &talk.member);
                let before = self.reader.head_length();
                let said = self.reader.head(input, asked, member, &mut self.interim)?;
                // Only data of the head restart the timer.
                talk.armed &= self.reader.head_length() == before;
                if let Some(said) = said {
                    return Poll::Ready(Ok(said));
                }
            }
            match talk.connection.poll_fill(cx) {
                Poll::Ready(Ok(0)) => {
                    let untouched =
                        self.reader.is_untouched() && talk.connection.input.bytes().is_empty();
                    let ended = if untouched {
                        Trouble::Closed
                    } else {
                        Trouble::CutOff
                    };
                    return Poll::Ready(Err(broken.unwrap_or(ended)));
                }
                Poll::Ready(Ok(_)) => talk.armed &= self.reader.head_length().is_some(),
                Poll::Ready(Err(error)) => {
                    let trouble = broken.unwrap_or(Trouble::Broken(error.kind()));
                    return Poll::Ready(Err(trouble));
                }
                Poll::Pending => {
                    return match broken {
                        Some(trouble) => Poll::Ready(Err(trouble)),
                        None => talk.poll_timed_out(cx).map(Err),
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        talk.poll_timed_out(cx).map(Err)
    }

    /// Chooses the next stage after a head has arrived. The head shows that the member works.
    fn said(&mut self, said: BackendHead) -> BackendHead {
        let talk = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Talking(talk) => talk,
            other => {
                self.stage = other;
                return said;
            }
        };
        let now = Instant::now();
        let status = match &said {
            BackendHead::Response(head) | BackendHead::Upgrade(head) => head.status,
            _ => 0,
        };
        talk.lease.answered(status, now);
        self.note_status(&said);
        let overridden = match &said {
            BackendHead::Response(head) => self.is_overridden(head.status).then_some(head.status),
            _ => None,
        };
        self.stage = match (&said, overridden) {
            (BackendHead::Upgrade(_), _) => Stage::Upgraded(talk),
            (BackendHead::Response(_), None) => Stage::Body(talk),
            // The body is not needed.
            _ => Stage::Over,
        };
        self.take_early(now);
        overridden.map_or(said, BackendHead::Page)
    }

    /// Takes the bytes that arrived with the head, often the whole body. If the body is complete,
    /// its length is known, and the member is free before the client gets the response.
    fn take_early(&mut self, now: Instant) {
        let Stage::Body(talk) = &mut self.stage else {
            return;
        };
        let input = &mut talk.connection.input;
        if !input.bytes().is_empty() {
            self.early = Buffer::with_room();
        }
        match self.reader.body(input, &self.asked, &mut self.early, EARLY) {
            Ok(Step::Done(reusable)) => self.finish(reusable, now),
            Ok(Step::More | Step::Full) => {}
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    fn is_overridden(&self, status: u16) -> bool {
        match &self.asked.settings.proxy.error_override {
            Some(statuses) if statuses.is_empty() => status >= 400,
            Some(statuses) => statuses.contains(&status),
            None => false,
        }
    }

    /// Ends the exchange. The connection is kept if the request was sent completely and the
    /// response allows another request (`reusable`).
    fn finish(&mut self, reusable: bool, now: Instant) {
        if let Stage::Body(talk) = std::mem::replace(&mut self.stage, Stage::Over) {
            if reusable && self.outgoing.is_sent() {
                talk.lease.keep(talk.connection, now);
            }
        }
    }
}
