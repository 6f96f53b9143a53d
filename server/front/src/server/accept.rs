//! Accepts new connections: admits or refuses a connection, reads the PROXY header, makes the TLS
//! handshake, and starts the codec.

use crate::codec::h1::{Connection, ConnectionEnd, Takeover};
use crate::codec::h2;
use crate::request::Peer;
use crate::server::socket_handoff;
use crate::shared::task_pool::PendingConnection;
use crate::shared::traffic::{counted as counted_as, Connected};
use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_net::deadline::{ConnectionGuard, Phase};
use mehari_net::proxied;
use mehari_net::socket::{Acceptor, LazyRegistered, ListenerOptions, Socket, Stream};
use mehari_net::tls::{self, Refusal};
use mehari_observe::{trace, Origin};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::spawn_local;

/// How often the log reports that connections cannot be accepted.
const COMPLAIN: Duration = Duration::from_secs(60);
/// How many idle connections close when descriptors have run out.
const ROOM: usize = 32;

pub async fn accept(shared: Rc<Shared>, acceptor: Acceptor) {
    let mut complained: Option<tokio::time::Instant> = None;
    let expected = acceptor.expected();
    let mut is_silent = false;
    loop {
        // The clients of a Perl connection handler may wait for the handler to write first.
        if !is_silent && shared.gives_connections(&expected).is_some() {
            is_silent = true;
            acceptor.disable_defer_accept();
        }
        match acceptor.accept().await {
            Ok((socket, mut peer)) => {
                peer.times = shared.tracer.times();
                admit(&shared, socket, peer)
            }
            Err(error) => {
                // Most likely the descriptors have run out. Connections must close before another
                // try helps.
                let dismissed = (0..ROOM)
                    .take_while(|_| shared.connections.registry.dismiss_idle())
                    .count();
                if complained.is_none_or(|since| since.elapsed() >= COMPLAIN) {
                    complained = Some(tokio::time::Instant::now());
                    let text = format!(
                        "accepting a connection: {error}; {dismissed} idle connections are closed to make room (said once a minute at most)"
                    );
                    shared
                        .journal
                        .error(0, LogLevel::Error, Origin::default(), &text);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Admits a connection. If `MaxConnections` are open, the connection that has waited longest for a
/// request is closed. If none waits for a request, the client is answered with 503 at once. In the
/// socket's backlog, the client would wait without knowing why, and a balancer would keep sending
/// requests.
fn admit(shared: &Rc<Shared>, socket: Socket, peer: Peer) {
    let counts = &shared.stats.counts;
    counts.connections.set(counts.connections.get() + 1);
    let full = shared.connections.registry.open() >= shared.site().limits.connections;
    if full && !shared.connections.registry.dismiss_idle() {
        counts
            .refused_connections
            .set(counts.refused_connections.get() + 1);
        match socket {
            // A refusal is not worth a TLS handshake.
            Socket::Tcp(_, options) if options.secure => {}
            Socket::Tcp(socket, _) => drop(spawn_local(refuse_connection(tcp(socket), FULL))),
            Socket::Unix(socket) => drop(spawn_local(refuse_connection(unix(socket), FULL))),
        }
        return;
    }
    let limits = &shared.site().limits;
    let counted = match limits.connections_per_client {
        0 => None,
        limit => match shared
            .traffic
            .connect(&counted_as(&peer.remote_addr, limits.client_prefix), limit)
        {
            Some(counted) => Some(counted),
            None => return refuse_address(socket),
        },
    };
    match socket {
        Socket::Tcp(socket, options) if options.secure || is_introduced(shared, &peer) => {
            drop(spawn_local(counting(
                counted,
                serve_introduced(shared.clone(), socket, peer, options),
            )))
        }
        Socket::Tcp(socket, _) => {
            let guard = shared.connections.registry.enter(&shared.clock);
            if let Some(host) = shared.gives_connections(&peer) {
                let served = socket_handoff::serve(shared.clone(), socket, peer, guard, host);
                return drop(spawn_local(counting(counted, served)));
            }
            match counted {
                None => serve_in_task(
                    shared,
                    PendingConnection {
                        socket,
                        peer,
                        guard,
                    },
                ),
                counted => {
                    let served = serve(shared.clone(), tcp(socket), peer, guard);
                    drop(spawn_local(counting(counted, served)))
                }
            }
        }
        Socket::Unix(socket) => {
            let guard = shared.connections.registry.enter(&shared.clock);
            drop(spawn_local(serve(
                shared.clone(),
                unix(socket),
                peer,
                guard,
            )))
        }
    }
}

fn tcp(socket: OwnedFd) -> LazyRegistered<TcpStream> {
    LazyRegistered::new(socket)
}

fn unix(socket: OwnedFd) -> LazyRegistered<UnixStream> {
    LazyRegistered::new(socket)
}

/// Refuses an address with too many connections.
fn refuse_address(socket: Socket) {
    match socket {
        Socket::Tcp(socket, options) if !options.secure => {
            drop(spawn_local(refuse_connection(tcp(socket), GREEDY)))
        }
        _ => {}
    }
}

/// Tells whether the connection must begin with a PROXY header.
fn is_introduced(shared: &Shared, peer: &Peer) -> bool {
    let limits = &shared.site().limits;
    limits.proxy_protocol && {
        let address = peer.remote_addr.parse::<IpAddr>();
        let mut exceptions = limits.proxy_protocol_exceptions.iter();
        !address.is_ok_and(|address| exceptions.any(|network| network.contains(address)))
    }
}

/// Serves a connection, which is counted for its client until it ends.
async fn counting(counted: Option<Connected>, served: impl std::future::Future<Output = ()>) {
    served.await;
    drop(counted);
}

/// Serves a connection that begins with a PROXY header or TLS.
async fn serve_introduced(
    shared: Rc<Shared>,
    socket: OwnedFd,
    peer: Peer,
    options: ListenerOptions,
) {
    let stream = match TcpStream::from_std(socket.into()) {
        Ok(stream) => stream,
        Err(error) => {
            let text = format!("a connection cannot be watched: {error}");
            let journal = &shared.journal;
            return journal.error(0, LogLevel::Error, Origin::default(), &text);
        }
    };
    if is_introduced(&shared, &peer) {
        serve_proxied(shared, stream, peer, options).await
    } else {
        serve_secure(shared, stream, peer).await
    }
}

/// Serves a connection from a proxy, which first names the client in a PROXY header.
async fn serve_proxied(
    shared: Rc<Shared>,
    mut socket: TcpStream,
    mut peer: Peer,
    options: ListenerOptions,
) {
    let guard = shared.connections.registry.enter(&shared.clock);
    let limit = shared.site().limits.header_timeout;
    guard.enter(&shared.clock, Phase::Fresh, limit);
    let read = proxied::read_header(&mut socket, &guard, &mut peer).await;
    if let Err(reason) = read {
        let text = format!(
            "PROXY header of {}: {reason}; the connection is closed",
            peer.remote_addr
        );
        let journal = &shared.journal;
        return journal.error(0, LogLevel::Warn, Origin::default(), &text);
    }
    if options.secure {
        drop(guard);
        serve_secure(shared, socket, peer).await;
    } else {
        serve(shared, socket, peer, guard).await
    }
}

/// Serves a connection that begins with TLS.
async fn serve_secure(shared: Rc<Shared>, socket: TcpStream, mut peer: Peer) {
    let Some(hosts) = shared.connections.tls() else {
        return;
    };
    let greeting = |name: Option<&str>| {
        let name = name.unwrap_or_default().as_bytes();
        hosts.settings_of(shared.host(&peer, name))
    };
    let guard = shared.connections.registry.enter(&shared.clock);
    let limit = shared.site().limits.handshake_timeout;
    guard.enter(&shared.clock, Phase::Fresh, limit);
    let threads = &shared.connections.threads;
    match tls::accept(&hosts, greeting, socket, &guard, threads).await {
        Ok((stream, session)) => {
            let http2 = session.http2;
            peer.tls = Some(Rc::new(session));
            if let Some(times) = &peer.times {
                times.secured.set(trace::now());
            }
            if !http2 {
                return serve(shared, stream, peer, guard).await;
            }
            let takeover = Takeover {
                socket: stream,
                bytes: Vec::new(),
                guard,
                peer,
            };
            h2::serve(shared, takeover).await;
        }
        Err(Refusal::Plain(socket)) => refuse_connection(socket, SPEAKS_TLS).await,
        Err(Refusal::Failed(None)) => {}
        Err(Refusal::Failed(Some(reason))) => {
            let text = format!("TLS handshake with {}: {reason}", peer.remote_addr);
            shared
                .journal
                .error(0, LogLevel::Info, Origin::default(), &text);
        }
    }
}

pub async fn serve<S>(shared: Rc<Shared>, socket: S, peer: Peer, guard: ConnectionGuard)
where
    S: Stream,
{
    match Connection::new(shared.clone(), socket, peer, guard)
        .serve()
        .await
    {
        ConnectionEnd::Closed => {}
        ConnectionEnd::Http2(takeover) => h2::serve(shared, takeover).await,
    }
}

/// Gives the connection to a waiting task or to a new task.
fn serve_in_task(shared: &Rc<Shared>, connection: PendingConnection) {
    if let Some(connection) = shared.connections.tasks.hand(connection) {
        drop(spawn_local(serve_connections(shared.clone(), connection)));
    }
}

/// Serves one connection after another. This is the body of a task.
async fn serve_connections(shared: Rc<Shared>, mut connection: PendingConnection) {
    let slot = Rc::default();
    loop {
        let socket = tcp(connection.socket);
        serve(shared.clone(), socket, connection.peer, connection.guard).await;
        if !shared.connections.tasks.wait(&slot) {
            return;
        }
        connection = slot.arrival().await;
    }
}

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nServer: Mehari\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";
const GREEDY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nServer: Mehari\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";
const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nServer: Mehari\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 60\r\nConnection: close\r\n\r\n\
    400 Bad Request\nThis port speaks TLS: ask it with https://.\n";

/// Answers without reading the request. The pause lets the client read the answer before the close.
async fn refuse_connection(mut socket: impl AsyncWrite + Unpin, answer: &[u8]) {
    if socket.write_all(answer).await.is_ok() && socket.shutdown().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
