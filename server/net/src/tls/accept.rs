//! Turns a new connection into an encrypted connection within a time limit: reads the ClientHello,
//! chooses the certificate, makes the handshake.

use super::hosts::Hosts;
use super::session::Session;
use crate::compute_threads::ComputeThreads;
use crate::deadline::ConnectionGuard;
use mehari_config::TlsSettings;
use rustls::server::Acceptor;
use rustls::ServerConfig;
use std::future::{poll_fn, Future};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::LazyConfigAcceptor;

/// The first byte of a TLS connection: a record with a handshake message.
const HANDSHAKE: u8 = 22;

/// The reason why there is no TLS session.
pub enum Refusal {
    /// The client does not use TLS. The front can send an error page on this socket.
    Plain(TcpStream),
    /// The handshake failed or took too long. `None`: the client closed or reset the connection.
    Failed(Option<String>),
}

/// Makes a TLS session on a new connection. `settings_of` returns the TLS configuration and the
/// settings for the name that the client sent. A thread of `threads` makes the server's part of the
/// handshake: the key exchange and the signature.
///
/// # Errors
///
/// [`Refusal`] if there is no TLS session.
pub async fn accept(
    hosts: &Hosts,
    settings_of: impl FnOnce(Option<&str>) -> (Arc<ServerConfig>, Arc<TlsSettings>),
    socket: TcpStream,
    guard: &ConnectionGuard,
    threads: &ComputeThreads,
) -> Result<(TlsStream<TcpStream>, Session), Refusal> {
    let first = before_deadline(guard, first_byte(&socket)).await?;
    guard.note_first_byte();
    match first.map_err(refusal_of)? {
        None => return Err(Refusal::Failed(None)),
        Some(HANDSHAKE) => {}
        Some(_) => return Err(Refusal::Plain(socket)),
    }
    let hello = LazyConfigAcceptor::new(Acceptor::default(), socket);
    let hello = before_deadline(guard, hello).await?.map_err(refusal_of)?;
    if let Some(config) = hosts.managed().challenge(&hello.client_hello()) {
        // The handshake is the whole answer (RFC 8737).
        let mut stream = before_deadline(guard, hello.into_stream(config)).await?;
        if let Ok(stream) = &mut stream {
            let _ = before_deadline(guard, stream.shutdown()).await?;
        }
        return Err(Refusal::Failed(None));
    }
    let (config, settings) = settings_of(hello.client_hello().server_name());
    let answered = threads.run(move || hello.into_stream(config));
    let stream = async { answered.await?.await };
    let stream = before_deadline(guard, stream).await?;
    let stream = stream.map_err(refusal_of)?;
    let session = Session::of(stream.get_ref().1, settings);
    Ok((stream, session))
}

/// Peeks at the first byte. Returns `None` if the client has closed the connection.
async fn first_byte(socket: &TcpStream) -> io::Result<Option<u8>> {
    let mut byte = [0];
    let count = socket.peek(&mut byte).await?;
    Ok((count > 0).then_some(byte[0]))
}

/// Runs one step of the handshake. Every interrupt ends the step, because no request can be lost
/// yet.
async fn before_deadline<T>(
    guard: &ConnectionGuard,
    work: impl Future<Output = T>,
) -> Result<T, Refusal> {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => match guard.poll_interrupt(cx) {
            None => Poll::Pending,
            Some(_) => Poll::Ready(Err(Refusal::Failed(Some("it took too long".into())))),
        },
    })
    .await
}

fn refusal_of(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Refusal::Failed(None),
        _ => Refusal::Failed(Some(error.to_string())),
    }
}
