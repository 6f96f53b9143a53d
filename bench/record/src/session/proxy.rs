//! Runs the recording proxy: forwards all requests to one target and keeps each exchange as an
//! entry. `mehari record` calls it.
//!
//! Bodies are forwarded piece by piece in both directions, so events and large files arrive without
//! delay. The proxy keeps the beginning of each body. For a client the proxy behaves like the
//! target. The recording holds what the target received and sent. The proxy requests answers
//! without compression, so recordings can be read and compared. The proxy removes requests for
//! upgrades (WebSocket).

mod exchange;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::exchange::{RecordedExchange, Sent};
use super::capture::Capture;
use super::client::{connect, Connected};
use super::har::Entry;
use super::{Target, Trust};

/// The settings of `serve`.
pub struct Settings {
    pub target: Target,
    pub trust: Trust,
    /// The most bytes of a body that are kept. Further bytes are forwarded but not recorded.
    pub body_limit: usize,
}

/// The data that all connections share.
struct Recorder {
    settings: Settings,
    entries: Mutex<Vec<Entry>>,
    connections: AtomicU64,
}

type Answer = Response<Either<Capture, Full<Bytes>>>;

/// Serves until `stop` is ready. Returns the entries. The entry of an unfinished exchange has a
/// comment.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    stop: impl Future<Output = ()>,
) -> Vec<Entry> {
    let recorder = Arc::new(Recorder {
        settings,
        entries: Mutex::new(Vec::new()),
        connections: AtomicU64::new(0),
    });
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(converse(recorder.clone(), stream)); }
                // The process has probably no free descriptor. Some descriptors will be closed
                // soon.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
    // Aborting the connections drops their bodies. This completes the entries of unfinished
    // exchanges.
    connections.shutdown().await;
    let mut entries = recorder.lock();
    std::mem::take(&mut *entries)
}

impl Recorder {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        // A list of entries is valid after every push, even if another thread panicked.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client connection with its own connection to the target.
struct Conversation {
    recorder: Arc<Recorder>,
    local: Option<Target>,
    upstream: tokio::sync::Mutex<Option<SendRequest<Capture>>>,
    number: u64,
}

async fn converse(recorder: Arc<Recorder>, stream: TcpStream) {
    let local = stream.local_addr().ok();
    let conversation = Arc::new(Conversation {
        number: recorder.connections.fetch_add(1, Ordering::Relaxed),
        local: local.and_then(|address| format!("http://{address}").parse().ok()),
        upstream: tokio::sync::Mutex::new(None),
        recorder,
    });
    // With Nagle's algorithm, small pieces of a stream would wait for acknowledgements.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let conversation = conversation.clone();
        async move { Ok::<_, std::convert::Infallible>(conversation.answer(request).await) }
    });
    // An error means that the client closed the connection early. The proxy ignores such errors.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Conversation {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        match self.forward(request).await {
            Ok(answer) => answer.map(Either::Left),
            Err(cause) => {
                eprintln!("mehari record: {cause}; this request is not recorded");
                bad_gateway(&cause)
            }
        }
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Capture>, String> {
        let target = &self.recorder.settings.target;
        let (exchange, request) = RecordedExchange::begin(self, request)?;
        let mut upstream = self.upstream.lock().await;
        let mut request = request;
        // The target may have closed the kept connection. Then `ready_then_send` gives the unsent
        // request back.
        if let Some(sender) = upstream.as_mut().filter(|sender| !sender.is_closed()) {
            match ready_then_send(sender, request).await {
                Ok(response) => return Ok(exchange.answered(response, Sent::default())),
                Err((unsent, cause)) => request = unsent.ok_or(cause)?,
            }
        }
        let Connected {
            sender,
            address,
            connect,
            tls,
        } = connect(target, &self.recorder.settings.trust).await?;
        let sender = upstream.insert(sender);
        let sent = Sent {
            address,
            connect: Some(connect),
            tls,
        };
        match ready_then_send(sender, request).await {
            Ok(response) => Ok(exchange.answered(response, sent)),
            Err((_, cause)) => Err(cause),
        }
    }
}

async fn ready_then_send(
    sender: &mut SendRequest<Capture>,
    request: Request<Capture>,
) -> Result<Response<Incoming>, (Option<Request<Capture>>, String)> {
    if let Err(cause) = sender.ready().await {
        return Err((Some(request), cause.to_string()));
    }
    sender.try_send_request(request).await.map_err(|mut error| {
        let unsent = error.take_message();
        (unsent, format!("the target broke off: {}", error.error()))
    })
}

fn bad_gateway(cause: &str) -> Answer {
    let mut response = Response::new(Either::Right(Full::from(format!(
        "mehari record: {cause}\n"
    ))));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}
