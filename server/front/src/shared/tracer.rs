//! Chooses the requests to trace. Only the control socket arms the tracer (`mehari trace`), and no
//! request can. While nobody traces, each request costs one test.

use super::exact::is_below;
use crate::request::{path_of, Peer};
use mehari_net::ConnectionTimes;
use mehari_observe::trace::{now, Timeline, Trace};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::mpsc;

/// The requests that somebody wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceFilter {
    /// This path and everything below it.
    Location(String),
    /// This path with any query, or with the query that it names.
    Url(String),
    /// Requests of the clients at this port.
    Client(u16),
}

impl TraceFilter {
    fn takes(&self, peer: &Peer, target: &[u8]) -> bool {
        let path = path_of(target);
        match self {
            TraceFilter::Url(asked) if asked.contains('?') => asked.as_bytes() == target,
            TraceFilter::Url(asked) => asked.as_bytes() == path,
            TraceFilter::Location(asked) => is_below(path, asked.as_bytes()),
            TraceFilter::Client(port) => peer.remote_port == *port,
        }
    }
}

/// Somebody who waits for timelines.
struct Watcher {
    filter: TraceFilter,
    left: Cell<u32>,
    give: mpsc::UnboundedSender<Timeline>,
}

#[derive(Default)]
pub struct Tracer {
    is_armed: Cell<bool>,
    watchers: RefCell<Vec<Rc<Watcher>>>,
}

impl Tracer {
    #[inline(always)]
    pub fn is_armed(&self) -> bool {
        self.is_armed.get()
    }

    /// Traces the next `count` requests that the filter takes, until the result is dropped.
    pub fn arm(self: &Rc<Self>, filter: TraceFilter, count: u32) -> Tracing {
        let (give, timelines) = mpsc::unbounded_channel();
        let watcher = Rc::new(Watcher {
            filter,
            left: Cell::new(count),
            give,
        });
        self.watchers.borrow_mut().push(watcher.clone());
        self.is_armed.set(true);
        Tracing {
            tracer: self.clone(),
            watcher,
            timelines,
        }
    }

    /// Returns the times of a connection that is accepted now, if somebody may need them.
    pub fn times(&self) -> Option<Rc<ConnectionTimes>> {
        let accepted = self.is_armed().then(now)?;
        Some(Rc::new(ConnectionTimes {
            accepted: Cell::new(accepted),
            ..ConnectionTimes::default()
        }))
    }

    /// Begins the timeline of a request whose head is complete. `None`: nobody wants the request.
    #[cold]
    pub fn begin(&self, request_id: u64, peer: &Peer, line: (&[u8], &[u8])) -> Option<Rc<Trace>> {
        let (method, target) = line;
        let watchers = self.watchers.borrow();
        let wants = |it: &&Rc<Watcher>| it.left.get() > 0 && it.filter.takes(peer, target);
        let watcher = watchers.iter().find(wants)?;
        watcher.left.set(watcher.left.get() - 1);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let timeline = Timeline {
            request_id,
            method: text(method),
            target: text(target),
            client: text(peer.remote_addr.as_bytes()),
            began: began(peer),
            ..Timeline::default()
        };
        let give = watcher.give.clone();
        let trace = Trace::begin(timeline, move |timeline| {
            // Nobody waits any more.
            let _ = give.send(timeline);
        });
        mark_arrival(&trace, peer);
        Some(Rc::new(trace))
    }

    fn disarm(&self, watcher: &Rc<Watcher>) {
        let mut watchers = self.watchers.borrow_mut();
        watchers.retain(|it| !Rc::ptr_eq(it, watcher));
        self.is_armed.set(!watchers.is_empty());
    }
}

/// Returns the time at which a request began: with its connection, with the first bytes of its
/// head, or now.
fn began(peer: &Peer) -> u64 {
    let Some(times) = &peer.times else {
        return now();
    };
    match (times.accepted.get(), times.head.get()) {
        (0, 0) => now(),
        (0, head) => head,
        (accepted, _) => accepted,
    }
}

/// Notes the parts before the head was complete.
fn mark_arrival(trace: &Trace, peer: &Peer) {
    let Some(times) = &peer.times else {
        return;
    };
    if times.accepted.take() > 0 {
        match times.secured.take() {
            0 => {}
            secured => trace.mark_at("TLS handshake", secured),
        }
        match times.head.get() {
            0 => {}
            head => trace.mark_at("wait for the head", head),
        }
    }
    times.head.set(0);
    trace.mark("head");
}

/// Gives the timelines of requests. Dropping the value ends the tracing.
pub struct Tracing {
    tracer: Rc<Tracer>,
    watcher: Rc<Watcher>,
    timelines: mpsc::UnboundedReceiver<Timeline>,
}

impl Tracing {
    /// Waits for the timeline of the next request.
    pub async fn next(&mut self) -> Option<Timeline> {
        self.timelines.recv().await
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.tracer.disarm(&self.watcher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_takes_a_place_a_url_or_a_client() {
        let peer = Peer {
            remote_port: 4711,
            ..Peer::default()
        };
        let location = |text: &str| TraceFilter::Location(text.to_owned());
        let url = |text: &str| TraceFilter::Url(text.to_owned());
        let client = TraceFilter::Client;
        let cases = [
            (location("/shop"), "/shop", true),
            (location("/shop"), "/shop/cart?a=1", true),
            (location("/shop"), "/shopping", false),
            (location("/"), "/shopping", true),
            (url("/shop"), "/shop?a=1", true),
            (url("/shop"), "/shop/cart", false),
            (url("/shop?a=1"), "/shop?a=1", true),
            (url("/shop?a=1"), "/shop?a=2", false),
            (client(4711), "/any", true),
            (client(4712), "/any", false),
        ];
        for (filter, target, takes) in cases {
            let taken = filter.takes(&peer, target.as_bytes());
            assert_eq!(taken, takes, "{filter:?} {target}");
        }
    }

    #[test]
    fn tracer_is_armed_only_while_somebody_waits() {
        let tracer = Rc::new(Tracer::default());
        let filter = TraceFilter::Url("/".to_owned());
        let tracing = tracer.arm(filter.clone(), 1);
        assert!(tracer.is_armed());
        let peer = Peer::default();
        assert!(tracer.begin(1, &peer, (b"GET", b"/")).is_some());
        assert!(tracer.begin(2, &peer, (b"GET", b"/")).is_none());
        drop(tracing);
        assert!(!tracer.is_armed());
    }
}
