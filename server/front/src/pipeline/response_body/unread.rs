//! Ends programs whose output has no reader: the body of a HEAD request, a body that the status
//! forbids, and the bytes beyond the Content-Length.

use super::{BodyState, ClientStream, ResponseBody, ROOM};
use crate::handlers::Backend;
use mehari_net::deadline::{Interrupt, Phase};
use std::future::poll_fn;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// The most bytes of a body without a reader (HEAD, 204, 304) that are discarded: while the client
/// is there, and after the client has left. A program may thus end normally in both cases, as under
/// Apache, which reads all of the body.
const UNREAD: u64 = 64 * 1024 * 1024;
const UNREAD_AFTER_DEPARTURE: u64 = 16 * 1024 * 1024;
/// How long a worker may print such a body after the client has left.
const GRACE: Duration = Duration::from_secs(1);

/// Ends a program that nobody reads any more. A program of the rung `cgi` may finish, as under
/// Apache. A worker that has sent more than its Content-Length may first finish, because its next
/// bytes are probably its last ones.
pub fn give_up(backend: &mut Backend, body: &ResponseBody) {
    let is_overlong = body.state == BodyState::Overlong;
    match backend {
        Backend::Perl(exchange, _) if is_overlong && !exchange.is_complete() => {
            let backend = std::mem::replace(backend, Backend::Gone);
            tokio::task::spawn_local(discard(backend));
        }
        Backend::Cgi(_) => {
            if let Backend::Cgi(exchange) = std::mem::replace(backend, Backend::Gone) {
                exchange.discard();
            }
        }
        backend => backend.note_departure(),
    }
}

/// Discards the rest of a program's output, within limits. Then tells the worker that nobody reads.
async fn discard(mut backend: Backend) {
    let (mut piece, mut discarded) = (Vec::new(), 0);
    let end = poll_fn(|cx| loop {
        piece.clear();
        match ready!(backend.poll_body(cx, &mut piece, ROOM)) {
            Ok(true) if discarded <= UNREAD_AFTER_DEPARTURE => discarded += piece.len() as u64,
            Ok(true) => return Poll::Ready(false),
            Ok(false) | Err(_) => return Poll::Ready(true),
        }
    });
    let has_ended = timeout(GRACE, end).await;
    if !matches!(has_ended, Ok(true)) {
        backend.note_departure();
    }
}

impl ResponseBody {
    /// Whether nobody gets what the program may still send.
    pub fn is_unread(&self) -> bool {
        matches!(self.state, BodyState::Overlong | BodyState::Unread)
    }

    /// Ends a body without a reader if it is too long, or soon after the client has left. No write
    /// would show that the client has left, because nothing is written. `may_finish`: the program
    /// needs nobody who reads.
    pub(super) fn watch_client<C: ClientStream>(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut C,
        may_finish: bool,
    ) {
        if client.unsent() > 0 {
            return;
        }
        if !self.is_deserted && client.poll_departure(cx) {
            self.is_deserted = true;
            let clock = &client.shared().clock;
            client.guard().enter(clock, Phase::Work, GRACE);
        }
        let (most, is_late) = if self.is_deserted {
            let interrupt = client.guard().poll_interrupt(cx);
            let is_late = matches!(interrupt, Some(Interrupt::TimedOut | Interrupt::Abort));
            (UNREAD_AFTER_DEPARTURE, is_late)
        } else {
            (UNREAD, false)
        };
        let is_left_alone = self.is_deserted && may_finish;
        if is_left_alone || is_late || self.discarded > most {
            self.state = BodyState::Unread;
        }
    }
}
