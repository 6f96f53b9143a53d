//! Hands the client's socket to a worker, for hosts with a `PerlProcessConnectionHandler`.
//!
//! The worker serves the connection. The front waits until the worker has finished, and closes its
//! own descriptor of the socket.

use crate::codec::h1::{LINGER, LINGER_BYTES};
use crate::handlers::perl;
use crate::request::{Fields, Peer, Protocol, Request};
use crate::routing::{Route, RouteOutcome};
use crate::shared::{PerlExchange, Shared};
use mehari_config::{Handler, LogLevel};
use mehari_net::deadline::{ConnectionGuard, Interrupt, Phase};
use mehari_observe::Origin;
use mehari_pool::{Body, Task, TimeLimits};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub async fn serve(
    shared: Rc<Shared>,
    socket: OwnedFd,
    peer: Peer,
    guard: ConnectionGuard,
    host: u32,
) {
    let handed = match socket.try_clone() {
        Ok(handed) => handed,
        Err(error) => {
            let text = format!("a connection cannot be given to a worker: {error}");
            let journal = &shared.journal;
            return journal.error(0, LogLevel::Error, Origin::default(), &text);
        }
    };
    let mut exchange = give(&shared, handed, &peer, host);
    // There is no time limit: the handler and the client decide when the connection ends.
    guard.enter(&shared.clock, Phase::Work, Duration::MAX);
    let is_over = poll_fn(|cx| match guard.poll_interrupt(cx) {
        Some(Interrupt::Abort) => Poll::Ready(false),
        _ => exchange.poll_head(cx).map(|_| true),
    });
    let is_over = is_over.await;
    drop(exchange);
    shared.stats.request_ends(0);
    if is_over {
        // An error means that the client has left, so nothing is left to do.
        let _ = tokio::time::timeout(LINGER, close(socket)).await;
    }
}

fn give(shared: &Rc<Shared>, socket: OwnedFd, peer: &Peer, host: u32) -> PerlExchange {
    let site = shared.site();
    let route = Route {
        host,
        settings: site.host(host).base_settings(),
        handler: Handler::File,
        file: Vec::new(),
        script_name: Vec::new(),
        path_info: Vec::new(),
        outcome: RouteOutcome::Program,
        intermediate_settings: Vec::new(),
        is_looked_up: false,
        led_to: None,
        action: None,
        index_of: None,
        file_mark: None,
    };
    let request = Request {
        method: b"GET",
        asked_method: b"GET",
        target: b"/",
        resource: b"/",
        redirect: None,
        protocol: Protocol::Http10,
        fields: Fields::NONE,
        host: b"",
        virtual_host: host,
        peer,
        rule_state: None,
        id: shared.stats.request_begins(),
        trace: None,
    };
    perl::with_call(
        &request,
        &route,
        &site,
        Body::File(socket, 0),
        |mut call| {
            call.task = Task::Connection;
            call.timeout = TimeLimits {
                hard: Duration::MAX,
                soft: None,
            };
            shared.backends.pool.submit(call)
        },
    )
}

/// Closes the sending side and reads for a while. Unread input would cause a reset, and a reset
/// could destroy bytes that the client has not read.
async fn close(socket: OwnedFd) -> io::Result<()> {
    let socket = std::net::TcpStream::from(socket);
    socket.set_nonblocking(true)?;
    let mut socket = TcpStream::from_std(socket)?;
    socket.shutdown().await?;
    let mut bytes = [0; 4096];
    let mut read = 0;
    while read < LINGER_BYTES {
        match socket.read(&mut bytes).await? {
            0 => break,
            count => read += count,
        }
    }
    Ok(())
}
