//! Where a service's connections come from: browsers on this machine, or the server of which the
//! service is a part.

use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A source of connections.
pub trait Listening {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next connection.
    fn next(&self) -> impl std::future::Future<Output = io::Result<Self::Stream>>;
}

impl Listening for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        self.accept().await.map(|(stream, _)| stream)
    }
}

/// A socket on which only one process may connect.
pub struct OnlyFrom {
    pub listener: UnixListener,
    /// The number of the process.
    pub process: i32,
}

impl Listening for OnlyFrom {
    type Stream = UnixStream;

    /// Closes the connections of other processes.
    async fn next(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred()?;
            if peer.pid() == Some(self.process) {
                return Ok(stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test(flavor = "current_thread")]
    async fn connection_of_another_process_is_closed() {
        let folder = std::env::temp_dir().join(format!("mehari-only-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let path = folder.join("socket");
        let own = i32::try_from(std::process::id()).expect("a pid");
        let others = OnlyFrom {
            listener: UnixListener::bind(&path).expect("a socket"),
            process: own + 1,
        };
        let mut refused = UnixStream::connect(&path).await.expect("a connection");
        let mut nothing = [0];
        tokio::select! {
            _ = others.next() => panic!("another process was admitted"),
            read = refused.read(&mut nothing) => assert_eq!(read.expect("an end"), 0),
        }
        let ours = OnlyFrom {
            process: own,
            ..others
        };
        let _stream = UnixStream::connect(&path).await.expect("a connection");
        ours.next().await.expect("this process is admitted");
        std::fs::remove_dir_all(&folder).expect("our own folder");
    }
}
