//! A TLS connection as the front's kind of stream.

use super::Stream;
use std::fs::File;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

impl Stream for TlsStream<TcpStream> {
    /// What is sent has to be encrypted, so it has to be read.
    fn sends_files(&self) -> bool {
        false
    }

    fn poll_send_file(
        &mut self,
        _: &mut Context<'_>,
        _: &File,
        _: u64,
        _: usize,
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    fn reset_when_closed(&self) {
        self.get_ref().0.reset_when_closed();
    }

    /// The client can tell a response's end from a connection that was cut. Tried once: one that
    /// takes nothing does not hold us up.
    fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        let _ = Pin::new(self).poll_shutdown(cx);
    }
}
