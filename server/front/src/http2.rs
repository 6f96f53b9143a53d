//! HTTP/2 in clear text, for clients that know beforehand (the connection begins with its preface).
//!
//! `h2` speaks the protocol and guards against floods of resets, headers and settings; a stream is a
//! task that goes the same way as an HTTP/1 request: `route`, `work`, answer.

mod at_once;
mod census;
mod flow;
mod head;
mod line;
mod program;
mod receive;
mod send;
mod stream;

use crate::deadline::{Alarm, Phase, Seat};
use crate::dispatch::Dispatch;
use crate::http1::Takeover;
use crate::log::Origin;
use crate::request::Peer;
use crate::shared::Shared;
use bytes::Bytes;
use census::Census;
use h2::server::Connection;
use line::Line;
use mehari_config::{ConnectionLimits, LogLevel};
use std::cell::Cell;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use stream::Stream;
use tokio::io::{AsyncRead, AsyncWrite};

/// Streams a client may have open at once.
const STREAMS: u32 = 128;
/// Streams that were reset and not looked at yet, and resets that a client's own mistakes forced on
/// us: beyond either the connection ends (the "rapid reset" and "made you reset" floods).
const PENDING_RESETS: usize = 32;
const FORCED_RESETS: usize = 256;
/// What one stream, and the connection, may send before we have read it.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Bytes of a client's preface.
const PREFACE: usize = 24;
/// How long a client may take to close after GOAWAY.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a connection to its end.
pub async fn serve<S, D>(shared: Rc<Shared<D>>, takeover: Takeover<S>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    D: Dispatch,
{
    let site = shared.site();
    let line = Line::new(takeover.bytes, takeover.socket, Census::new(PREFACE));
    let seat = takeover.seat;
    seat.enter(&shared.clock, Phase::Head, site.limits.header_timeout);
    let mut handshake = pin!(builder(&site.limits).handshake(line.clone()));
    let connection = poll_fn(|cx| match handshake.as_mut().poll(cx) {
        Poll::Ready(connection) => Poll::Ready(connection.ok()),
        Poll::Pending => match seat.poll_alarm(cx) {
            None => Poll::Pending,
            Some(_) => Poll::Ready(None),
        },
    });
    let Some(connection) = connection.await else {
        return;
    };
    line.host();
    let presence = Rc::new(Presence {
        seat,
        active: Cell::new(0),
    });
    presence.rest(&shared);
    let peer = Rc::new(takeover.peer);
    let began = shared.clock.tick();
    let mut host = Host {
        shared,
        connection,
        presence,
        peer: peer.clone(),
        leaving: false,
        began,
        line,
        condemned: false,
    };
    while let Some(accepted) = poll_fn(|cx| host.poll_accept(cx)).await {
        let (request, respond) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                host.log_end(&error);
                break;
            }
        };
        if host.condemned {
            continue;
        }
        let stream = Stream::new(host.shared.clone(), peer.clone(), respond);
        let Some(rest) = stream.begin(request) else {
            host.presence.still_here(&host.shared);
            continue;
        };
        let working = Working::begin(&host.shared, &host.presence);
        let mut work = Box::pin(async move {
            rest.await;
            drop(working);
        });
        // What needs to wait for nothing gets no task of its own.
        let at_once = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_ready()));
        if !at_once.await {
            tokio::task::spawn_local(work);
        }
    }
}

fn builder(limits: &ConnectionLimits) -> h2::server::Builder {
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(limits.header_size).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_local_error_reset_streams(Some(FORCED_RESETS))
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(256 * 1024);
    builder
}

/// The connection's seat, idle while none of its streams is at work.
struct Presence {
    seat: Seat,
    active: Cell<usize>,
}

impl Presence {
    /// It asked for something that was answered at once.
    fn still_here<D: Dispatch>(&self, shared: &Shared<D>) {
        if self.active.get() == 0 {
            self.rest(shared);
        }
    }

    fn rest<D: Dispatch>(&self, shared: &Shared<D>) {
        let limit = shared.site().limits.keep_alive.unwrap_or(Duration::ZERO);
        self.seat.enter(&shared.clock, Phase::Idle, limit);
    }
}

/// A stream at work.
struct Working<D: Dispatch> {
    shared: Rc<Shared<D>>,
    presence: Rc<Presence>,
}

impl<D: Dispatch> Working<D> {
    fn begin(shared: &Rc<Shared<D>>, presence: &Rc<Presence>) -> Working<D> {
        presence.active.set(presence.active.get() + 1);
        presence
            .seat
            .enter(&shared.clock, Phase::Work, Duration::MAX);
        Working {
            shared: shared.clone(),
            presence: presence.clone(),
        }
    }
}

impl<D: Dispatch> Drop for Working<D> {
    fn drop(&mut self) {
        self.presence.active.set(self.presence.active.get() - 1);
        if self.presence.active.get() == 0 {
            self.presence.rest(&self.shared);
        }
    }
}

type Accepted = (
    http::Request<h2::RecvStream>,
    h2::server::SendResponse<Bytes>,
);

struct Host<S, D: Dispatch> {
    shared: Rc<Shared<D>>,
    connection: Connection<Line<S>, Bytes>,
    presence: Rc<Presence>,
    peer: Rc<Peer>,
    /// GOAWAY has been sent.
    leaving: bool,
    began: Duration,
    line: Line<S>,
    /// It has been told to go for what it overdid: nothing more is done for it.
    condemned: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin, D: Dispatch> Host<S, D> {
    /// The next stream. Also moves the bytes of all streams, so it is polled to the end.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Accepted, h2::Error>>> {
        loop {
            if self.shared.stopping.get() && !self.leaving {
                self.say_goodbye();
            }
            let accepted = self.connection.poll_accept(cx);
            let judged = !self.condemned && self.judge();
            if let Poll::Ready(accepted) = accepted {
                return Poll::Ready(accepted);
            }
            if judged {
                // What it is told is said when the library is asked again.
                continue;
            }
            if let Poll::Ready(Err(_)) = self.line.poll_end_round(cx) {
                return Poll::Ready(None);
            }
            match self.presence.seat.poll_alarm(cx) {
                None => return Poll::Pending,
                Some(Alarm::Late | Alarm::Leave) if !self.leaving => self.say_goodbye(),
                Some(Alarm::Leave) if self.presence.active.get() > 0 => return Poll::Pending,
                Some(_) => return Poll::Ready(None),
            }
        }
    }

    /// True: it has just been told to go.
    fn judge(&mut self) -> bool {
        let age = self.shared.clock.tick().saturating_sub(self.began);
        let Some(reason) = self.line.verdict(age) else {
            return false;
        };
        self.condemned = true;
        self.leaving = true;
        let seat = &self.presence.seat;
        seat.enter(&self.shared.clock, Phase::Linger, FAREWELL);
        self.connection
            .abrupt_shutdown(h2::Reason::ENHANCE_YOUR_CALM);
        let text = format!(
            "HTTP/2: {}: {reason}; the connection is ended",
            self.peer.remote_addr
        );
        let journal = &self.shared.journal;
        journal.error(0, LogLevel::Warn, Origin::default(), &text);
        true
    }

    /// What the library ended the connection for; a client that just went is none of it.
    fn log_end(&self, error: &h2::Error) {
        if !error.is_library() || self.condemned {
            return;
        }
        let reason = error.reason().unwrap_or(h2::Reason::PROTOCOL_ERROR);
        let level = match reason {
            h2::Reason::ENHANCE_YOUR_CALM => LogLevel::Warn,
            _ => LogLevel::Info,
        };
        let text = format!(
            "HTTP/2: {}: {error}; the connection is ended",
            self.peer.remote_addr
        );
        self.shared
            .journal
            .error(0, level, Origin::default(), &text);
    }

    fn say_goodbye(&mut self) {
        self.leaving = true;
        self.connection.graceful_shutdown();
        if self.presence.active.get() == 0 {
            self.presence
                .seat
                .enter(&self.shared.clock, Phase::Linger, FAREWELL);
        }
    }
}
