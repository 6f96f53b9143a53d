//! Connects to a target: HTTP/1.1 over TCP or TLS. The proxy and the replay use the connections,
//! each for one or several requests.

use std::time::{Duration, Instant};

use hyper::body::Body;
use hyper::client::conn::http1::{handshake, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::{Target, Trust};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A ready connection, and how long it took to connect.
pub struct Connected<B> {
    pub sender: SendRequest<B>,
    pub address: Option<std::net::SocketAddr>,
    /// The time for the name look-up and the TCP handshake.
    pub connect: Duration,
    pub tls: Option<Duration>,
}

/// Connects to the target.
///
/// # Errors
///
/// A text that names the target and the cause.
pub async fn connect<B>(target: &Target, trust: &Trust) -> Result<Connected<B>, String>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let refused = |cause: String| format!("cannot connect to {}: {cause}", target.origin());
    let start = Instant::now();
    let dialled = tokio::time::timeout(
        CONNECT_TIMEOUT,
        TcpStream::connect((target.address.as_str(), target.port)),
    );
    let stream = dialled
        .await
        .map_err(|_| refused(format!("no answer in {} s", CONNECT_TIMEOUT.as_secs())))?
        .map_err(|cause| refused(cause.to_string()))?;
    let connect = start.elapsed();
    // Small requests must not wait for the acknowledgement of earlier requests.
    stream
        .set_nodelay(true)
        .map_err(|cause| refused(cause.to_string()))?;
    let address = stream.peer_addr().ok();
    if !target.tls {
        return Ok(Connected {
            sender: begin(stream).await.map_err(refused)?,
            address,
            connect,
            tls: None,
        });
    }
    let name = ServerName::try_from(target.host.clone()).map_err(|e| refused(e.to_string()))?;
    let start = Instant::now();
    let secured = tokio::time::timeout(CONNECT_TIMEOUT, trust.connector().connect(name, stream));
    let stream = secured
        .await
        .map_err(|_| refused("no TLS answer".into()))?
        .map_err(|cause| refused(cause.to_string()))?;
    let tls = Some(start.elapsed());
    Ok(Connected {
        sender: begin(stream).await.map_err(refused)?,
        address,
        connect,
        tls,
    })
}

async fn begin<S, B>(stream: S) -> Result<SendRequest<B>, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|cause| cause.to_string())?;
    // The request under way reports the connection's errors.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}
