//! The front itself: accepts, sweeps deadlines, stops.

use crate::cache::{CacheStats, Purge};
use crate::deadline::{Alarm, Phase, Seat, SWEEP};
use crate::dispatch::Dispatch;
use crate::handler::cgi::Cgi;
use crate::http1::{Connection, Ended, Takeover};
use crate::http2;
use crate::log::{Journal, Origin};
use crate::oracle;
use crate::proxied;
use crate::request::Peer;
use crate::shared::Shared;
use crate::socket::{Acceptor, Door, Listener, Socket, Stream, Unwatched};
use crate::tls::{self, Hosts, Refusal, Trouble};
use crate::traffic::Connected;
use crate::watched::watched;
use mehari_config::{LogLevel, Site};
use mehari_pool::Oracle;
use mehari_upstream::GroupStatus;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::{spawn_local, LocalSet};

/// How a front is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    #[default]
    No,
    /// Accept no more, finish what is under way within `GracefulShutdownTimeout`.
    Gracefully,
    /// End at once.
    Now,
}

/// What `mehari status` shows of the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub open_connections: usize,
    pub active_requests: usize,
    pub connections: u64,
    /// Answered 503 because `MaxConnections` were open.
    pub refused_connections: u64,
    /// By traffic rules: answered 503, answered 429, delayed, connections answered 429.
    pub too_many_at_once: u64,
    pub too_fast: u64,
    pub held_back: u64,
    pub too_many_connections: u64,
    pub requests: u64,
    /// Bytes of response bodies.
    pub bytes: u64,
    pub cache: CacheStats,
}

/// One front, for one thread: `new`, then `run` inside a current-thread runtime.
pub struct Front<D: Dispatch> {
    listeners: Vec<Listener>,
    shared: Rc<Shared<D>>,
}

/// Reaches into a running front from its own thread.
pub struct Handle<D: Dispatch>(Rc<Shared<D>>);

impl<D: Dispatch> Clone for Handle<D> {
    fn clone(&self) -> Handle<D> {
        Handle(self.0.clone())
    }
}

impl<D: Dispatch> Handle<D> {
    /// The next request is answered by this site. Listeners, limits of open sockets' backlog and logs stay.
    pub fn replace_site(&self, site: Arc<Site>) {
        self.0.replace_site(site);
    }

    /// The next handshake is made with these certificates.
    pub fn replace_tls(&self, hosts: Hosts) {
        self.0.replace_tls(hosts);
    }

    /// The TLS side of a site that is to take this one's place. `None`: no listener speaks TLS.
    pub fn load_tls(&self, site: &Site) -> Result<Option<Hosts>, Trouble> {
        let current = self.0.tls();
        let load = |before: Rc<Hosts>| Hosts::load(site, Some(&before));
        current.map(load).transpose()
    }

    /// Answers what workers ask, for as long as the front lives.
    pub fn oracle(&self) -> Oracle
    where
        D: 'static,
    {
        let shared = Rc::downgrade(&self.0);
        Rc::new(move |question, give| {
            if let Some(shared) = shared.upgrade() {
                oracle::answer(&shared, question, give);
            }
        })
    }

    pub fn site(&self) -> Arc<Site> {
        self.0.site()
    }

    /// Who of the back ends is up, and what they did.
    pub fn back_ends(&self) -> Vec<GroupStatus> {
        self.0.upstreams.status()
    }

    /// Gives a back end no new requests, or some again; the members that were meant.
    pub fn drain(&self, name: &str, drained: bool) -> Vec<String> {
        self.0.upstreams.drain(name, drained)
    }

    /// Forgets pages of the response cache: those of a URL, of a path, or with a `*` behind it of all that begin
    /// so; how many they were. `None`: it is neither.
    pub fn purge(&self, url: &str) -> Option<usize> {
        let purge = Purge::parse(url.as_bytes())?;
        Some(self.0.cache.purge(&purge))
    }

    pub fn stats(&self) -> Stats {
        let counts = &self.0.counts;
        let traffic = &self.0.traffic.counts;
        Stats {
            open_connections: self.0.registry.open(),
            active_requests: counts.active.get(),
            connections: counts.connections.get(),
            refused_connections: counts.refused_connections.get(),
            too_many_at_once: traffic.too_many_at_once.get(),
            too_fast: traffic.too_fast.get(),
            held_back: traffic.held_back.get(),
            too_many_connections: traffic.too_many_connections.get(),
            requests: counts.requests.get(),
            bytes: counts.bytes.get(),
            cache: self.0.cache.stats(),
        }
    }
}

impl<D: Dispatch> Front<D> {
    pub fn new(
        site: Arc<Site>,
        pool: D,
        cgi: Cgi,
        listeners: Vec<Listener>,
        journal: Rc<dyn Journal>,
    ) -> Front<D> {
        Front {
            listeners,
            shared: Rc::new(Shared::new(site, pool, cgi, journal)),
        }
    }

    pub fn handle(&self) -> Handle<D> {
        Handle(self.shared.clone())
    }

    /// Serves until told to stop. An error: a listener could not be used.
    pub async fn run(self, mut stop: watch::Receiver<Stop>) -> io::Result<()> {
        let tasks = LocalSet::new();
        let shared = self.shared;
        let listeners = self.listeners;
        tasks
            .run_until(async {
                let mut accepting = Vec::new();
                for listener in listeners {
                    let acceptor = Acceptor::new(listener)?;
                    accepting.push(spawn_local(accept(shared.clone(), acceptor)));
                }
                shared.upstreams.watch();
                let sweeping = spawn_local(sweep(shared.clone()));
                let watching = spawn_local(watch(shared.clone()));
                let turning = shared.clone();
                let turning = spawn_local(async move { turning.rounds.turn().await });
                let how = asked_to_stop(&mut stop).await;
                accepting.iter().for_each(|task| task.abort());
                if how == Stop::Gracefully {
                    finish(&shared, &mut stop).await;
                }
                shared.registry.raise(Alarm::Abandon);
                shared.streams.raise(Alarm::Abandon);
                sweeping.abort();
                watching.abort();
                turning.abort();
                Ok(())
            })
            .await
    }
}

/// A sender that is gone counts as told to stop.
async fn asked_to_stop(stop: &mut watch::Receiver<Stop>) -> Stop {
    match stop.wait_for(|stop| *stop != Stop::No).await {
        Ok(how) => *how,
        Err(_) => Stop::Gracefully,
    }
}

/// Lets connections end by themselves, until the deadline or an impatient `Now`.
async fn finish<D: Dispatch>(shared: &Shared<D>, stop: &mut watch::Receiver<Stop>) {
    shared.stopping.set(true);
    shared.registry.raise(Alarm::Leave);
    let limit = shared.site().workers.stop_timeout;
    let impatient = async {
        if stop.wait_for(|stop| *stop == Stop::Now).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = shared.registry.emptied() => {}
        () = tokio::time::sleep(limit) => {}
        () = impatient => {}
    }
}

async fn sweep<D: Dispatch>(shared: Rc<Shared<D>>) {
    let mut interval = tokio::time::interval(SWEEP);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        shared.clock.advance();
        shared.registry.sweep(shared.clock.tick());
        shared.streams.sweep(shared.clock.tick());
        shared.routes.trim();
        shared.upstreams.sweep();
    }
}

/// Waits for changes of .htaccess files; what was routed by them before is found anew.
async fn watch<D: Dispatch>(shared: Rc<Shared<D>>) {
    let Some(watch) = shared.htaccess.descriptor() else {
        return;
    };
    let Ok(readable) = watched(watch) else {
        return;
    };
    loop {
        let Ok(mut ready) = readable.readable().await else {
            return;
        };
        ready.clear_ready();
        if shared.htaccess.hear(&shared.site().access_files) {
            shared.routes.clear();
        }
    }
}
/// How often the log hears that connections cannot be accepted.
const COMPLAIN: Duration = Duration::from_secs(60);
/// Idle connections that make room at a time when descriptors have run out.
const ROOM: usize = 32;

async fn accept<D: Dispatch>(shared: Rc<Shared<D>>, acceptor: Acceptor) {
    let mut complained: Option<tokio::time::Instant> = None;
    loop {
        match acceptor.accept().await {
            Ok((socket, peer)) => admit(&shared, socket, peer),
            Err(error) => {
                // Out of descriptors, usually: what is open must close before it helps to try again.
                let dismissed = (0..ROOM)
                    .take_while(|_| shared.registry.dismiss_idle())
                    .count();
                if !complained.is_some_and(|since| since.elapsed() < COMPLAIN) {
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

/// At the limit an idle connection makes room. When none is idle the client is told so at once:
/// left in the backlog it would wait without knowing, and a balancer would go on sending.
fn admit<D: Dispatch>(shared: &Rc<Shared<D>>, socket: Socket, peer: Peer) {
    let counts = &shared.counts;
    counts.connections.set(counts.connections.get() + 1);
    let full = shared.registry.open() >= shared.site().limits.connections;
    if full && !shared.registry.dismiss_idle() {
        counts
            .refused_connections
            .set(counts.refused_connections.get() + 1);
        match socket {
            // Not worth a handshake.
            Socket::Tcp(_, door) if door.secure => {}
            Socket::Tcp(socket, _) => drop(spawn_local(turn_away(tcp(socket), FULL))),
            Socket::Unix(socket) => drop(spawn_local(turn_away(unix(socket), FULL))),
        }
        return;
    }
    let limit = shared.site().limits.connections_per_client;
    let counted = match limit {
        0 => None,
        limit => match shared.traffic.connect(&peer.remote_addr, limit) {
            Some(counted) => Some(counted),
            None => return turn_away_greedy(socket),
        },
    };
    match socket {
        Socket::Tcp(socket, door) if door.secure || shared.site().limits.proxy_protocol => {
            drop(spawn_local(counting(
                counted,
                serve_introduced(shared.clone(), socket, peer, door),
            )))
        }
        Socket::Tcp(socket, _) => {
            let seat = shared.registry.enter(&shared.clock);
            let served = serve(shared.clone(), tcp(socket), peer, seat);
            match counted {
                None => drop(spawn_local(served)),
                counted => drop(spawn_local(counting(counted, served))),
            }
        }
        Socket::Unix(socket) => {
            let seat = shared.registry.enter(&shared.clock);
            drop(spawn_local(serve(shared.clone(), unix(socket), peer, seat)))
        }
    }
}

fn tcp(socket: OwnedFd) -> Unwatched<TcpStream> {
    Unwatched::new(socket)
}

fn unix(socket: OwnedFd) -> Unwatched<UnixStream> {
    Unwatched::new(socket)
}

/// An address that has as many connections as it may have.
fn turn_away_greedy(socket: Socket) {
    match socket {
        Socket::Tcp(socket, door) if !door.secure => {
            drop(spawn_local(turn_away(tcp(socket), GREEDY)))
        }
        _ => {}
    }
}

/// The connection counts for its client until it is over.
async fn counting(counted: Option<Connected>, served: impl std::future::Future<Output = ()>) {
    served.await;
    drop(counted);
}

/// A connection that a proxy made for somebody it names first.
/// A connection that says something of itself before its first request: what comes before TLS, or TLS itself.
async fn serve_introduced<D: Dispatch>(
    shared: Rc<Shared<D>>,
    socket: OwnedFd,
    peer: Peer,
    door: Door,
) {
    let stream = match TcpStream::from_std(socket.into()) {
        Ok(stream) => stream,
        Err(error) => {
            let text = format!("a connection cannot be watched: {error}");
            let journal = &shared.journal;
            return journal.error(0, LogLevel::Error, Origin::default(), &text);
        }
    };
    match shared.site().limits.proxy_protocol {
        true => serve_proxied(shared, stream, peer, door).await,
        false => serve_secure(shared, stream, peer).await,
    }
}

async fn serve_proxied<D: Dispatch>(
    shared: Rc<Shared<D>>,
    mut socket: TcpStream,
    mut peer: Peer,
    door: Door,
) {
    let seat = shared.registry.enter(&shared.clock);
    let limit = shared.site().limits.header_timeout;
    seat.enter(&shared.clock, Phase::Head, limit);
    let read = proxied::read_header(&mut socket, &seat, &mut peer).await;
    if let Err(reason) = read {
        let text = format!(
            "PROXY header of {}: {reason}; the connection is closed",
            peer.remote_addr
        );
        let journal = &shared.journal;
        return journal.error(0, LogLevel::Warn, Origin::default(), &text);
    }
    match door.secure {
        true => {
            drop(seat);
            serve_secure(shared, socket, peer).await;
        }
        false => serve(shared, socket, peer, seat).await,
    }
}

/// A connection that begins with TLS.
async fn serve_secure<D: Dispatch>(shared: Rc<Shared<D>>, socket: TcpStream, mut peer: Peer) {
    let Some(hosts) = shared.tls() else {
        return;
    };
    let greeting = |name: Option<&str>| {
        let name = name.unwrap_or_default().as_bytes();
        hosts.greeting(shared.host(&peer, name))
    };
    let seat = shared.registry.enter(&shared.clock);
    let limit = shared.site().limits.handshake_timeout;
    seat.enter(&shared.clock, Phase::Head, limit);
    match tls::accept(greeting, socket, &seat).await {
        Ok((stream, session)) => {
            let http2 = session.http2;
            peer.tls = Some(Rc::new(session));
            if !http2 {
                return serve(shared, stream, peer, seat).await;
            }
            let takeover = Takeover {
                socket: stream,
                bytes: Vec::new(),
                seat,
                peer,
            };
            http2::serve(shared, takeover).await;
        }
        Err(Refusal::Plain(socket)) => turn_away(socket, SPEAKS_TLS).await,
        Err(Refusal::Failed(None)) => {}
        Err(Refusal::Failed(Some(reason))) => {
            let text = format!("TLS handshake with {}: {reason}", peer.remote_addr);
            shared
                .journal
                .error(0, LogLevel::Info, Origin::default(), &text);
        }
    }
}

async fn serve<S, D>(shared: Rc<Shared<D>>, socket: S, peer: Peer, seat: Seat)
where
    S: Stream,
    D: Dispatch,
{
    match Connection::new(shared.clone(), socket, peer, seat)
        .serve()
        .await
    {
        Ended::Closed => {}
        Ended::Http2(takeover) => http2::serve(shared, takeover).await,
    }
}

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nServer: Mehari\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";
const GREEDY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nServer: Mehari\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";
const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nServer: Mehari\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 60\r\nConnection: close\r\n\r\n\
    400 Bad Request\nThis port speaks TLS: ask it with https://.\n";

/// Answers without reading. The pause lets the client read before the close, and is the cost of
/// a connection that costs nothing else.
async fn turn_away(mut socket: impl AsyncWrite + Unpin, answer: &[u8]) {
    if socket.write_all(answer).await.is_ok() && socket.shutdown().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
