//! Handles failures: decides whether another member gets the request, and which status the client
//! gets.

use super::{ProxyExchange, Stage};
use crate::handlers::Fault;
use mehari_config::{BackEnd, LogLevel};
use mehari_upstream::{Fault as Trouble, Wish};
use tokio::time::Instant;

impl ProxyExchange {
    /// Seeks another member after a failed connect. Nothing was sent, so any member may get the
    /// request until the time limit. `Some`: the request has failed.
    pub(super) fn cannot_connect(&mut self, trouble: Trouble) -> Option<Fault> {
        let Stage::Connecting(lease, _) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Some(trouble.into());
        };
        let member = lease.member().settings();
        self.tried.push(lease.member().clone());
        lease.failed(trouble);
        drop(lease);
        let settings = self.group.settings();
        let often = if trouble.is_lasting() {
            // Each member is tried once, because a lasting failure does not end in a moment.
            self.tried.len() >= self.group.size()
        } else {
            member.retry.is_zero() && self.tried.len() > settings.attempts
        };
        let late = |began: Instant| began.elapsed() > settings.queue_timeout;
        if often || self.began.is_some_and(late) {
            return Some(self.log_and_convert(trouble, Some(&member)));
        }
        self.seek_again(trouble, &member)
    }

    /// Gives the request to another member if possible. `Some`: the request has failed.
    pub(super) fn recover(&mut self, trouble: Trouble) -> Option<Fault> {
        let Stage::Talking(talk) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Some(trouble.into());
        };
        let reused = talk.connection.reused;
        // As in Apache, a member that closes a connection without a response is not avoided: one
        // page that ends its process would make the whole back end unavailable.
        let fails = talk.member.fail_on_timeout || self.group.settings().fail_on_timeout;
        if trouble == Trouble::TimedOut && fails {
            talk.lease.failed(trouble);
        }
        let nothing_heard = self.reader.is_untouched();
        // A program that the server has started would probably end again.
        let may_differ = reused || self.group.settings().program.is_none();
        let safe = match trouble {
            Trouble::Overloaded => true,
            Trouble::Broken(_) | Trouble::Closed => {
                may_differ
                    && nothing_heard
                    && (self.asked.idempotent || self.outgoing.is_untouched())
            }
            _ => false,
        };
        if !safe || self.tried.len() > self.group.settings().attempts {
            return Some(self.log_and_convert(trouble, Some(&talk.member)));
        }
        if reused && trouble != Trouble::Overloaded {
            let connecting = talk.lease.connect(talk.limit);
            self.stage = Stage::Connecting(talk.lease, connecting);
            return None;
        }
        if trouble != Trouble::Overloaded {
            self.resent += 1;
            if self.resent > self.group.resend_limit() {
                return Some(self.log_and_convert(trouble, Some(&talk.member)));
            }
        }
        self.tried.push(talk.lease.member().clone());
        let member = talk.member.clone();
        drop(talk);
        self.seek_again(trouble, &member)
    }

    /// Seeks a member after `trouble` with another. `Some`: no member is left for the request.
    fn seek_again(&mut self, trouble: Trouble, member: &BackEnd) -> Option<Fault> {
        let wish = Wish {
            tried: self.tried.clone(),
            route: self.route.clone(),
            ..Wish::default()
        };
        if self.group.may_wait(&wish, Instant::now()).is_err() {
            return Some(self.log_and_convert(trouble, Some(member)));
        }
        self.stage = Stage::Seeking(self.group.seek(wish));
        None
    }

    /// Ends the exchange, without a response or in the middle of the response.
    pub(super) fn give_up(&mut self, trouble: Trouble) -> Fault {
        let member = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Body(talk) | Stage::Talking(talk) => Some(talk.member),
            _ => None,
        };
        self.log_and_convert(trouble, member.as_deref())
    }

    fn log_and_convert(&self, trouble: Trouble, member: Option<&BackEnd>) -> Fault {
        let who = member.map_or_else(|| self.group.name.clone(), |member| member.name());
        self.asked.log(LogLevel::Info, &format!("asked of {who}"));
        self.note_failure(trouble);
        if self.group.settings().program.is_some() {
            Fault::Started(trouble)
        } else {
            trouble.into()
        }
    }
}
