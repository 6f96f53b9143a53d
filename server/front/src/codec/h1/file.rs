//! Sends a large file: window by window through memory, or straight from the page cache.

use super::connection::Connection;
use crate::content::body::{FileBody, WINDOW};
use crate::pipeline::{ClientStream, Gone, RequestContext};
use mehari_net::socket::Stream;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

/// The length in bytes from which a file counts as large: more than a socket takes at once.
const MUCH: u64 = 512 * 1024;

impl<S: Stream> Connection<S> {
    /// Sends a file, one window at a time. If the file shrinks meanwhile, the connection ends
    /// early, because the sent head cannot be changed any more.
    pub(super) async fn send_file(
        &mut self,
        context: &mut RequestContext,
        mut body: FileBody,
    ) -> Result<(), Gone> {
        loop {
            let more = if self.socket.sends_files() && body.is_long(&mut self.output.bytes) {
                self.send_pages(context, &mut body).await
            } else {
                self.copy_window(context, &mut body).await
            };
            match more {
                Ok(true) => {}
                Ok(false) => return self.flush_if_large().await,
                Err(error) if is_the_clients(&error) => return Err(Gone),
                Err(error) => {
                    let text = format!("a file could not be sent to its end: {error}");
                    self.log(context, &text);
                    return Err(Gone);
                }
            }
        }
    }

    /// Copies one window of the file into the output. Returns false at the end of the file.
    async fn copy_window(
        &mut self,
        context: &mut RequestContext,
        body: &mut FileBody,
    ) -> io::Result<bool> {
        let before = self.output.bytes.len();
        let more = body.read(&mut self.output.bytes, WINDOW).await;
        context.record.sent += (self.output.bytes.len() - before) as u64;
        if more? {
            self.flush_if_large().await.map_err(gone)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Sends the gathered output, then the windows that are in the page cache, without copying
    /// them. Returns false at the end of the file.
    async fn send_pages(
        &mut self,
        context: &mut RequestContext,
        body: &mut FileBody,
    ) -> io::Result<bool> {
        if body.length() >= MUCH && !std::mem::replace(&mut self.sends_much, true) {
            // Across a network, TCP must first find out how fast it may send.
            if self.peer.is_on_this_host() {
                self.socket.send_unpaced();
            }
        }
        while let Some((start, count)) = body.resident_window().await? {
            self.flush_before_more().await.map_err(gone)?;
            let mut left = count;
            while left > 0 {
                let at = start + (count - left) as u64;
                let sent = self.send_some_pages(body, at, left).await?;
                if sent == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                context.record.sent += sent as u64;
                body.advance(sent as u64);
                left -= sent;
            }
            if body.length() == 0 {
                return Ok(false);
            }
            // Other tasks run between two windows.
            tokio::task::yield_now().await;
        }
        Ok(body.length() > 0)
    }

    async fn send_some_pages(
        &mut self,
        body: &FileBody,
        start: u64,
        count: usize,
    ) -> io::Result<usize> {
        let mut waits = false;
        poll_fn(
            |cx| match self.socket.poll_send_file(cx, body.file(), start, count) {
                Poll::Ready(sent) => Poll::Ready(sent),
                Poll::Pending => self
                    .poll_stalled(cx, &mut waits)
                    .map(|_| Err(io::ErrorKind::TimedOut.into())),
            },
        )
        .await
    }
}

fn gone(_: Gone) -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

/// Whether the client has caused the error: the client left or was too slow.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut
    )
}
