//! Sending a large file: what does not fit in memory goes in windows, or straight from the page cache.

use super::connection::{Connection, Current, Gone};
use crate::dispatch::Dispatch;
use crate::handler::file::body::FileBody;
use crate::socket::Stream;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

impl<S: Stream, D: Dispatch> Connection<S, D> {
    /// A window at a time: the first together with the head, the rest of a long piece straight from
    /// the page cache. A file that shrinks while it is sent cannot be told from within the response,
    /// so the connection ends before the length it promised.
    pub(super) async fn send_file(
        &mut self,
        turn: &mut Current,
        mut body: FileBody,
    ) -> Result<(), Gone> {
        loop {
            let before = self.output.bytes.len();
            let more = body.read(&mut self.output.bytes).await;
            turn.sent += (self.output.bytes.len() - before) as u64;
            let more = match more {
                Ok(true) => {
                    self.flush().await?;
                    self.send_pages(turn, &mut body).await
                }
                other => other,
            };
            match more {
                Ok(true) => {}
                Ok(false) => return self.flush_if_large().await,
                Err(error) => {
                    let text = format!("a file could not be sent to its end: {error}");
                    self.log(turn, &text);
                    return Err(Gone);
                }
            }
        }
    }

    /// Sends as much as goes without copying. False: that was all.
    async fn send_pages(&mut self, turn: &mut Current, body: &mut FileBody) -> io::Result<bool> {
        while let Some((start, count)) = body.resident_window().await? {
            let mut waits = false;
            let sent =
                poll_fn(
                    |cx| match self.socket.poll_send_file(cx, body.file(), start, count) {
                        Poll::Ready(sent) => Poll::Ready(sent),
                        Poll::Pending => self
                            .poll_stalled(cx, &mut waits)
                            .map(|_| Err(io::ErrorKind::TimedOut.into())),
                    },
                );
            match sent.await? {
                None => return Ok(true),
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(count) => {
                    turn.sent += count as u64;
                    body.advance(count as u64);
                }
            }
        }
        Ok(body.length() > 0)
    }
}
