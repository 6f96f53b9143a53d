//! Forwards bytes both ways on an upgraded connection until both sides have ended or one has
//! failed.

use super::upstream_session::UpstreamSession;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// The size in bytes of the buffer of each direction.
const BUFFER: usize = 16 * 1024;

/// Forwards bytes between the client and the back end. `early`: bytes that the client has already
/// sent. `moved` is called after each transfer.
pub async fn forward<S>(
    client: &mut S,
    early: &[u8],
    mut talk: UpstreamSession,
    moved: impl Fn(),
) -> io::Result<(u64, u64)>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let said = talk.connection.input.bytes().to_vec();
    talk.connection.socket.write_all(early).await?;
    client.write_all(&said).await?;
    let mut client = Watched {
        inner: client,
        moved: &moved,
    };
    let socket = &mut talk.connection.socket;
    tokio::io::copy_bidirectional_with_sizes(&mut client, socket, BUFFER, BUFFER).await
}

/// The client's stream. Each transfer calls `moved`.
struct Watched<'a, S, F> {
    inner: &'a mut S,
    moved: &'a F,
}

mod watched {
    use super::Watched;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    impl<S: AsyncRead + Unpin, F: Fn()> AsyncRead for Watched<'_, S, F> {
        fn poll_read(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            let read = Pin::new(&mut *this.inner).poll_read(cx, into);
            if read.is_ready() {
                (this.moved)();
            }
            read
        }
    }

    impl<S: AsyncWrite + Unpin, F: Fn()> AsyncWrite for Watched<'_, S, F> {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let this = self.get_mut();
            let wrote = Pin::new(&mut *this.inner).poll_write(cx, bytes);
            if wrote.is_ready() {
                (this.moved)();
            }
            wrote
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut *self.get_mut().inner).poll_flush(cx)
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut *self.get_mut().inner).poll_shutdown(cx)
        }
    }
}
