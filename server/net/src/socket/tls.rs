//! Implements [`Stream`] for a TLS connection.

use super::Stream;
use std::fs::File;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

impl Stream for TlsStream<TcpStream> {
    /// Returns false: the server must read a file's bytes in order to encrypt them.
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

    /// Sends close_notify. It lets the client tell the end of a response from a cut connection. The
    /// message is tried once without waiting, so a client that does not read causes no delay.
    fn send_close_notify(&mut self, cx: &mut Context<'_>) {
        let _ = Pin::new(self).poll_shutdown(cx);
    }
}
