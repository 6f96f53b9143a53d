//! A request at a member: the lease of the member, the connection, and the time limit.

use super::outgoing::Outgoing;
use super::reader::{Reader, Step};
use super::request_summary::RequestSummary;
use mehari_config::BackEnd;
use mehari_upstream::{Connection, Fault as Trouble, Lease};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// The most consecutive reads that return only framing or a program's errors. Then other tasks run.
pub const READS: usize = 16;

/// The state of a request that a member works on.
pub struct UpstreamSession {
    pub lease: Lease,
    pub connection: Connection,
    pub member: Rc<BackEnd>,
    pub limit: Duration,
    /// When the connection was taken. `None` once the timer has started.
    pub taken: Option<Instant>,
    /// Whether the timer is running.
    pub armed: bool,
}

impl UpstreamSession {
    /// Ready when the back end has sent and taken nothing for too long.
    pub fn poll_timed_out(&mut self, cx: &mut Context<'_>) -> Poll<Trouble> {
        if !std::mem::replace(&mut self.armed, true) {
            let now = self.taken.take().unwrap_or_else(Instant::now);
            self.connection.arm(now + self.limit);
        }
        if self.connection.poll_timed_out(cx) {
            Poll::Ready(Trouble::TimedOut)
        } else {
            Poll::Pending
        }
    }

    /// Sends the rest of the request.
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &mut Outgoing,
    ) -> Poll<Result<(), Trouble>> {
        let before = outgoing.sent();
        let sent = outgoing.poll_send(cx, &mut self.connection);
        // If the back end takes bytes, the timer starts again.
        self.armed &= outgoing.sent() == before;
        sent
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut Reader,
        asked: &RequestSummary,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<Step, Trouble>> {
        let before = into.len();
        // The number of reads is limited, so the event loop notices a lost client or a timeout.
        for _ in 0..READS {
            let left = room.saturating_sub(into.len() - before).max(1);
            let step = reader.body(&mut self.connection.input, asked, into, left)?;
            match step {
                Step::Done(_) => return Poll::Ready(Ok(step)),
                _ if into.len() > before => {
                    self.armed = false;
                    return Poll::Ready(Ok(step));
                }
                // Only framing filled the room.
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
                    if direct.is_some() {
                        self.armed = false;
                        return Poll::Ready(Ok(reader.read_directly(count)));
                    }
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Trouble::CutOff)),
                Poll::Pending => return self.poll_timed_out(cx).map(Err),
            }
        }
        cx.waker().wake_by_ref();
        self.poll_timed_out(cx).map(Err)
    }
}
