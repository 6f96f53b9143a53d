//! One request given to a back end, polled by the front as it polls the pool's exchange.
//!
//! A member is sought, a connection taken or opened, the request sent, the answer read. What fails
//! before it can have had an effect is tried again elsewhere. The connection and the member are given
//! back as soon as the last byte has come, whether or not the client has taken it.

use super::asked::Asked;
use super::outgoing::Outgoing;
use super::reader::{Reader, Step};
use crate::handler::{Fault, Said};
use mehari_config::{BackEnd, LogLevel};
use mehari_pool::Head;
use mehari_upstream::{Connecting, Connection, Fault as Trouble, Group, Lease, Seeking, Wish};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::{Duration, Instant};

/// Bytes of a body that are taken with its head.
const EARLY: usize = 64 * 1024;

pub struct Exchange {
    asked: Asked,
    outgoing: Outgoing,
    reader: Reader,
    group: Rc<Group>,
    stage: Stage,
    interim: VecDeque<Head>,
    /// Of the body: what had come with the head.
    early: Vec<u8>,
    /// What was wrong behind that.
    trouble: Option<Trouble>,
    /// Members that failed this request.
    tried: Vec<Rc<mehari_upstream::Member>>,
    wait: Duration,
    begun: bool,
    /// How often the request was sent again after it may have been seen.
    resent: usize,
    began: Instant,
}

enum Stage {
    Seeking(Seeking),
    Connecting(Lease, Connecting),
    Talking(Talk),
    /// A head has come; the rest is the body.
    Body(Talk),
    /// The connection speaks something else from now on.
    Upgraded(Talk),
    Over,
}

/// A member at work on the request.
pub struct Talk {
    pub lease: Lease,
    pub connection: Connection,
    member: Rc<BackEnd>,
    limit: Duration,
    /// The timer is running.
    armed: bool,
}

impl Exchange {
    pub fn new(asked: Asked, seeking: Seeking, outgoing: Outgoing, reader: Reader) -> Exchange {
        Exchange {
            asked,
            outgoing,
            reader,
            group: seeking.group().clone(),
            stage: Stage::Seeking(seeking),
            interim: VecDeque::new(),
            early: Vec::new(),
            trouble: None,
            tried: Vec::new(),
            wait: Duration::ZERO,
            begun: false,
            resent: 0,
            began: Instant::now(),
        }
    }

    /// The response's head, once.
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Said, Fault>> {
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

    /// The next interim head.
    pub fn take_interim(&mut self) -> Option<Head> {
        self.interim.pop_front()
    }

    /// Appends what has arrived of the body, about `room` bytes at most. `Ok(false)`: that was all.
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
        let step = ready!(talk.poll_body(cx, &mut self.reader, &self.asked, into, room));
        Poll::Ready(match step {
            Ok(Step::More | Step::Full) => Ok(true),
            Ok(Step::Done(reusable)) => {
                self.finish(reusable && self.outgoing.is_sent());
                Ok(false)
            }
            Err(trouble) => Err(self.give_up(trouble)),
        })
    }

    /// True when `poll_body` completes without waiting.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// A member has been given the request.
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Time the request waited for a member.
    pub fn queued(&self) -> Duration {
        self.wait
    }

    /// The connection, once the back end has agreed to speak something else.
    pub fn take_tunnel(&mut self) -> Option<Talk> {
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

    fn found(&mut self, lease: Lease) {
        match lease.take_idle() {
            // Asked twice it might do twice: better be sure that the connection is one.
            Some(connection) if self.asked.idempotent || connection.socket.is_quiet() => {
                self.talk(lease, connection)
            }
            _ => {
                let connecting = lease.connect();
                self.stage = Stage::Connecting(lease, connecting);
            }
        }
    }

    fn connected(&mut self, connection: Connection) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Connecting(lease, _) => self.talk(lease, connection),
            other => self.stage = other,
        }
    }

    fn talk(&mut self, lease: Lease, connection: Connection) {
        let member = lease.member().settings();
        self.outgoing.address(&member);
        self.reader.reset();
        self.begun = true;
        self.stage = Stage::Talking(Talk {
            limit: member.timeout.unwrap_or(self.asked.timeout),
            lease,
            connection,
            member,
            armed: false,
        });
    }

    /// Sends the request, then waits for the head. A back end may answer before it has read all.
    fn poll_talk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Said, Trouble>> {
        let Stage::Talking(talk) = &mut self.stage else {
            return Poll::Ready(Err(Trouble::Closed));
        };
        let before = self.outgoing.sent();
        let sent = self.outgoing.poll_send(cx, &mut talk.connection);
        // A back end that takes bytes is not silent.
        talk.armed &= self.outgoing.sent() == before;
        let broken = match sent {
            Poll::Ready(Err(trouble)) => Some(trouble),
            _ => None,
        };
        loop {
            let input = &mut talk.connection.input;
            let said = self
                .reader
                .head(input, &self.asked, &talk.member, &mut self.interim)?;
            if let Some(said) = said {
                return Poll::Ready(Ok(said));
            }
            match talk.connection.poll_fill(cx) {
                Poll::Ready(Ok(0)) => {
                    let untouched =
                        self.reader.is_untouched() && talk.connection.input.bytes().is_empty();
                    let ended = match untouched {
                        true => Trouble::Closed,
                        false => Trouble::CutOff,
                    };
                    return Poll::Ready(Err(broken.unwrap_or(ended)));
                }
                Poll::Ready(Ok(_)) => talk.armed = false,
                Poll::Ready(Err(error)) => {
                    let trouble = broken.unwrap_or(Trouble::Broken(error.kind()));
                    return Poll::Ready(Err(trouble));
                }
                Poll::Pending => {
                    return match broken {
                        Some(trouble) => Poll::Ready(Err(trouble)),
                        None => talk.poll_late(cx).map(Err),
                    }
                }
            }
        }
    }

    /// A head has come: the member works.
    fn said(&mut self, said: Said) -> Said {
        let talk = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Talking(talk) => talk,
            other => {
                self.stage = other;
                return said;
            }
        };
        talk.lease.answered();
        let overridden = match &said {
            Said::Response(head) => self.is_overridden(head.status).then_some(head.status),
            _ => None,
        };
        self.stage = match (&said, overridden) {
            (Said::Upgrade(_), _) => Stage::Upgraded(talk),
            (Said::Response(_), None) => Stage::Body(talk),
            // The rest of it is not wanted.
            _ => Stage::Over,
        };
        self.take_early();
        overridden.map_or(said, Said::Page)
    }

    /// What came with the head is often all: then the member is free before the client is answered,
    /// and the length of the body is known.
    fn take_early(&mut self) {
        let Stage::Body(talk) = &mut self.stage else {
            return;
        };
        let (input, early) = (&mut talk.connection.input, &mut self.early);
        match self.reader.body(input, &self.asked, early, EARLY) {
            Ok(Step::Done(reusable)) => self.finish(reusable && self.outgoing.is_sent()),
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

    fn finish(&mut self, reusable: bool) {
        if let Stage::Body(talk) = std::mem::replace(&mut self.stage, Stage::Over) {
            if reusable {
                talk.lease.keep(talk.connection);
            }
        }
    }

    /// Nothing has been sent, so that anyone may have the request, for as long as one may wait.
    fn cannot_connect(&mut self, trouble: Trouble) -> Option<Fault> {
        let Stage::Connecting(lease, _) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Some(trouble.into());
        };
        let member = lease.member().settings();
        self.tried.push(lease.member().clone());
        lease.failed(trouble);
        drop(lease);
        let settings = self.group.settings();
        let often = member.retry.is_zero() && self.tried.len() > settings.attempts;
        if often || self.began.elapsed() > settings.queue_timeout {
            return Some(self.told(trouble, Some(&member)));
        }
        self.seek_again();
        None
    }

    /// Whether the request may be given to somebody else, and if so, does it. `Some`: it is over.
    fn recover(&mut self, trouble: Trouble) -> Option<Fault> {
        let Stage::Talking(talk) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Some(trouble.into());
        };
        let reused = talk.connection.reused;
        let timed_out = trouble == Trouble::TimedOut && talk.member.fail_on_timeout;
        // A kept connection that turns out closed is nobody's failure.
        if (trouble.is_members() && !reused) || timed_out {
            talk.lease.failed(trouble);
        }
        let nothing_heard = self.reader.is_untouched();
        let safe = match trouble {
            Trouble::Overloaded => true,
            Trouble::Broken(_) | Trouble::Closed => {
                nothing_heard && (self.asked.idempotent || self.outgoing.is_untouched())
            }
            _ => false,
        };
        if !safe || self.tried.len() > self.group.settings().attempts {
            return Some(self.told(trouble, Some(&talk.member)));
        }
        if reused && trouble != Trouble::Overloaded {
            let connecting = talk.lease.connect();
            self.stage = Stage::Connecting(talk.lease, connecting);
            return None;
        }
        if trouble != Trouble::Overloaded {
            self.resent += 1;
            if self.resent > self.group.resends() {
                return Some(self.told(trouble, Some(&talk.member)));
            }
        }
        self.tried.push(talk.lease.member().clone());
        drop(talk);
        self.seek_again();
        None
    }

    fn seek_again(&mut self) {
        let wish = Wish {
            tried: self.tried.clone(),
            ..Wish::default()
        };
        self.stage = Stage::Seeking(self.group.seek(wish));
    }

    /// The end without an answer, or within one.
    fn give_up(&mut self, trouble: Trouble) -> Fault {
        let member = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Body(talk) | Stage::Talking(talk) => Some(talk.member),
            _ => None,
        };
        self.told(trouble, member.as_deref())
    }

    fn told(&self, trouble: Trouble, member: Option<&BackEnd>) -> Fault {
        let who = member.map_or_else(|| self.group.name.clone(), |member| member.name());
        self.asked.log(LogLevel::Info, &format!("asked of {who}"));
        trouble.into()
    }
}

impl Talk {
    /// Ready when the back end was silent for too long.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Trouble> {
        if !std::mem::replace(&mut self.armed, true) {
            self.connection.arm(self.limit);
        }
        match self.connection.poll_late(cx) {
            true => Poll::Ready(Trouble::TimedOut),
            false => Poll::Pending,
        }
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut Reader,
        asked: &Asked,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<Step, Trouble>> {
        let before = into.len();
        loop {
            let left = room.saturating_sub(into.len() - before).max(1);
            let step = reader.body(&mut self.connection.input, asked, into, left)?;
            match step {
                Step::Done(_) => return Poll::Ready(Ok(step)),
                _ if into.len() > before => return Poll::Ready(Ok(step)),
                // Framing alone filled the room.
                Step::Full => continue,
                Step::More => {}
            }
            let direct = reader.direct().map(|most| most.min(left));
            let read = match direct {
                Some(most) => self.connection.poll_read_into(cx, into, most),
                None => self.connection.poll_fill(cx),
            };
            match read {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(reader.ended().map(|()| Step::Done(false)))
                }
                Poll::Ready(Ok(count)) => {
                    self.armed = false;
                    if direct.is_some() {
                        return Poll::Ready(Ok(reader.read_directly(count)));
                    }
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Trouble::CutOff)),
                Poll::Pending => return self.poll_late(cx).map(Err),
            }
        }
    }
}
