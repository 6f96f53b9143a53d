//! From a fresh connection to an encrypted one: greeting, choice of certificate, handshake, within a time.

use super::hosts::Hosts;
use super::session::Session;
use crate::deadline::Seat;
use rustls::server::Acceptor;
use std::future::{poll_fn, Future};
use std::io;
use std::pin::pin;
use std::task::Poll;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::LazyConfigAcceptor;

/// The first byte of a TLS connection: a record with a handshake message.
const HANDSHAKE: u8 = 22;

/// Why there is no TLS connection.
pub enum Refusal {
    /// The client speaks without TLS: it can be told so.
    Plain(TcpStream),
    /// It did not get through the handshake, or not in time. `None`: it went away before it began.
    Failed(Option<String>),
}

pub async fn accept(
    hosts: &Hosts,
    socket: TcpStream,
    seat: &Seat,
) -> Result<(TlsStream<TcpStream>, Session), Refusal> {
    let first = in_time(seat, first_byte(&socket)).await?;
    match first.map_err(said)? {
        None => return Err(Refusal::Failed(None)),
        Some(HANDSHAKE) => {}
        Some(_) => return Err(Refusal::Plain(socket)),
    }
    let greeting = pin!(LazyConfigAcceptor::new(Acceptor::default(), socket));
    let greeting = in_time(seat, greeting).await?.map_err(said)?;
    let config = hosts.config(greeting.client_hello().server_name());
    let shaking = pin!(greeting.into_stream(config));
    let stream = in_time(seat, shaking).await?.map_err(said)?;
    let session = Session::of(stream.get_ref().1);
    Ok((stream, session))
}

/// Left in the socket. `None`: the client has closed.
async fn first_byte(socket: &TcpStream) -> io::Result<Option<u8>> {
    let mut byte = [0];
    let count = socket.peek(&mut byte).await?;
    Ok((count > 0).then_some(byte[0]))
}

/// Any alarm ends a handshake: nothing is lost yet.
async fn in_time<T>(seat: &Seat, work: impl Future<Output = T>) -> Result<T, Refusal> {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => match seat.poll_alarm(cx) {
            None => Poll::Pending,
            Some(_) => Poll::Ready(Err(Refusal::Failed(Some("it took too long".into())))),
        },
    })
    .await
}

fn said(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Refusal::Failed(None),
        _ => Refusal::Failed(Some(error.to_string())),
    }
}
