//! Serves HTTP/2, over TLS or in clear text. A client that uses clear text must know that the
//! server speaks HTTP/2: the connection begins with HTTP/2's preface.
//!
//! The crate `h2`, called "the library" in this folder, implements the protocol and limits floods
//! of resets, headers and settings. A stream that must wait gets a task. Its request passes the
//! same stages as in HTTP/1: see `pipeline`.

mod active_streams;
mod body_sending;
mod client;
mod coalescing_io;
mod flood_guard;
mod head;
mod outgoing;
mod receive;
mod send;
mod stream;

use crate::codec::h1::{Takeover, LINGER, LINGER_BYTES};
use crate::request::Peer;
use crate::shared::Shared;
use active_streams::{ActiveStreams, Working};
use bytes::Bytes;
use coalescing_io::CoalescingIo;
use flood_guard::FloodGuard;
use h2::server::Connection;
use mehari_config::{ConnectionLimits, LogLevel};
use mehari_net::deadline::{Interrupt, Phase};
use mehari_observe::Origin;
use outgoing::{ClosingNotice, Outgoing};
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use stream::Stream;
use tokio::io::{AsyncRead, AsyncWrite};

/// The most concurrent streams of a client.
const STREAMS: u32 = 128;
/// The most streams that a client resets before we have handled them, and the most resets that we
/// send because of a client's errors. Beyond either limit the connection ends. The limits stop the
/// attacks "rapid reset" and "made you reset".
const PENDING_RESETS: usize = 32;
const FORCED_RESETS: usize = 256;
/// How many bytes a client may send before the server reads them: on one stream, and on all streams
/// of a connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Length of a client's preface in bytes.
const PREFACE: usize = 24;
/// How often the front checks that a half-closed client still exists.
const ASKED_AGAIN: Duration = Duration::from_millis(250);
/// How long a client may take to close after GOAWAY.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a connection to its end.
pub async fn serve<S>(shared: Rc<Shared>, takeover: Takeover<S>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let site = shared.site();
    let is_silent = takeover.bytes.is_empty();
    let io = CoalescingIo::new(takeover.bytes, takeover.socket, FloodGuard::new(PREFACE));
    let guard = takeover.guard;
    let phase = if is_silent { Phase::Fresh } else { Phase::Head };
    guard.enter(&shared.clock, phase, site.limits.header_timeout);
    let mut handshake = pin!(builder(&site.limits).handshake(io.clone()));
    let connection = poll_fn(|cx| match handshake.as_mut().poll(cx) {
        Poll::Ready(connection) => Poll::Ready(connection.ok()),
        Poll::Pending => match guard.poll_interrupt(cx) {
            None => Poll::Pending,
            Some(_) => Poll::Ready(None),
        },
    });
    let Some(connection) = connection.await else {
        return;
    };
    io.gather_by_round();
    let active_streams = Rc::new(ActiveStreams::new(guard));
    active_streams.rest(&shared);
    let peer = Rc::new(takeover.peer);
    let began = shared.clock.tick();
    let outgoing = Rc::new(Outgoing::new(&shared.connections.unsent));
    let _notice = ClosingNotice(outgoing.clone());
    let mut connection = H2Connection {
        shared,
        connection,
        active_streams,
        peer: peer.clone(),
        outgoing: outgoing.clone(),
        leaving: false,
        began,
        io,
        condemned: false,
        broken: false,
        listens: false,
    };
    while let Some(accepted) = poll_fn(|cx| connection.poll_accept(cx)).await {
        let (request, respond) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                connection.log_end(&error);
                connection.broken = error.is_library();
                break;
            }
        };
        if connection.condemned {
            continue;
        }
        let stream = Stream::new(
            connection.shared.clone(),
            peer.clone(),
            outgoing.clone(),
            (request, respond),
        );
        let Some(rest) = stream.begin() else {
            connection.active_streams.note_activity(&connection.shared);
            continue;
        };
        let working = Working::begin(&connection.shared, &connection.active_streams);
        let mut work = Box::pin(async move {
            rest.await;
            drop(working);
        });
        // A stream whose request is answered without waiting gets no task.
        let at_once = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_ready()));
        if !at_once.await {
            tokio::task::spawn_local(work);
        }
    }
    if connection.condemned || connection.broken {
        connection.linger().await;
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

type Accepted = (
    http::Request<h2::RecvStream>,
    h2::server::SendResponse<Bytes>,
);

struct H2Connection<S> {
    shared: Rc<Shared>,
    connection: Connection<CoalescingIo<S>, Bytes>,
    active_streams: Rc<ActiveStreams>,
    peer: Rc<Peer>,
    outgoing: Rc<Outgoing>,
    /// Whether GOAWAY has been sent.
    leaving: bool,
    began: Duration,
    io: CoalescingIo<S>,
    /// Whether the connection ends because the client has flooded it. Further streams are not
    /// served.
    condemned: bool,
    /// Whether the client broke the protocol and GOAWAY has told the client so.
    broken: bool,
    /// Whether the client was found half-closed, so that the connection checks it regularly.
    listens: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> H2Connection<S> {
    /// Returns the next stream. Each call also moves the bytes of all streams, so the caller polls
    /// until the connection ends.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Accepted, h2::Error>>> {
        loop {
            if self.shared.connections.stopping.get() && !self.leaving {
                self.send_close_notify();
            }
            let accepted = self.connection.poll_accept(cx);
            let judged = !self.condemned && self.judge();
            if let Poll::Ready(accepted) = accepted {
                return Poll::Ready(accepted);
            }
            if judged {
                // The next poll makes the library send the error.
                continue;
            }
            if self.io.holds_back_the_end() && !self.listens {
                self.listens = true;
                self.check_half_closed();
            }
            let ended = self.io.poll_end_round(cx);
            self.outgoing.wake();
            match ended {
                Poll::Ready(Err(_)) => return Poll::Ready(None),
                // All responses are complete and sent.
                Poll::Ready(Ok(())) if self.is_at_its_end() => {
                    self.io.release_end();
                    continue;
                }
                _ => {}
            }
            match self.active_streams.guard.poll_interrupt(cx) {
                None => return Poll::Pending,
                Some(Interrupt::TimedOut)
                    if self.listens && self.active_streams.active.get() > 0 =>
                {
                    self.check_half_closed();
                }
                Some(Interrupt::TimedOut | Interrupt::Drain) if !self.leaving => {
                    self.send_close_notify()
                }
                Some(Interrupt::Drain) if self.active_streams.active.get() > 0 => {
                    return Poll::Pending
                }
                Some(_) => return Poll::Ready(None),
            }
        }
    }

    /// Whether the client has closed its sending side and all streams have ended. A client that has
    /// closed its sending side may still read (RFC 9293 section 3.6).
    fn is_at_its_end(&self) -> bool {
        self.io.holds_back_the_end() && (self.active_streams.active.get() == 0 || self.condemned)
    }

    /// Checks that a half-closed client still exists. The server does not work for a client that
    /// has left.
    fn check_half_closed(&self) {
        self.io.probe();
        let guard = &self.active_streams.guard;
        guard.enter(&self.shared.clock, Phase::Work, ASKED_AGAIN);
    }

    /// Ends the connection if the client floods it. Returns true if there is a flood.
    fn judge(&mut self) -> bool {
        let age = self.shared.clock.tick().saturating_sub(self.began);
        let Some(reason) = self.io.verdict(age) else {
            return false;
        };
        self.condemned = true;
        self.leaving = true;
        let guard = &self.active_streams.guard;
        guard.enter(&self.shared.clock, Phase::Linger, FAREWELL);
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

    /// Logs the library's error, unless the client has only left.
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

    /// Reads further bytes before the close. A socket that is closed with unread bytes is reset,
    /// and a reset may destroy a GOAWAY that the client has not read.
    async fn linger(self) {
        let H2Connection {
            connection,
            active_streams,
            io,
            shared,
            ..
        } = self;
        drop(connection);
        active_streams
            .guard
            .enter(&shared.clock, Phase::Linger, LINGER);
        let mut last = pin!(io.discard(LINGER_BYTES));
        let end = poll_fn(|cx| match last.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => match active_streams.guard.poll_interrupt(cx) {
                Some(_) => Poll::Ready(()),
                None => Poll::Pending,
            },
        });
        end.await;
    }

    fn send_close_notify(&mut self) {
        self.leaving = true;
        self.connection.graceful_shutdown();
        if self.active_streams.active.get() == 0 {
            self.active_streams
                .guard
                .enter(&self.shared.clock, Phase::Linger, FAREWELL);
        }
    }
}
