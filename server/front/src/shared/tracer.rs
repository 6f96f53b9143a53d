//! Chooses the requests to trace. The control socket arms the tracer (`mehari trace`), or the
//! configuration does (`TraceExport`). While nobody traces, each request costs one test.

mod arrival;
mod begun_request;
mod sampler;

pub use begun_request::BegunRequest;

use super::exact::is_below;
use crate::request::{path_of, Peer};
use arrival::{began, forget_arrival, mark_arrival};
use mehari_config::TraceExport;
use mehari_net::ConnectionTimes;
use mehari_observe::export::{ExportCounts, ExportReport, ExportedRequest, Exporter};
use mehari_observe::trace::{now, Timeline, Trace};
use sampler::Sampler;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The most parts of a worker that an exported timeline keeps.
const MOST_EXPORTED: usize = 1_000;
/// How long the end of the server waits for the last spans.
const FAREWELL: Duration = Duration::from_secs(1);

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

pub struct Tracer {
    is_armed: Cell<bool>,
    watchers: RefCell<Vec<Rc<Watcher>>>,
    sampler: RefCell<Option<Rc<Sampler>>>,
    /// The numbers of all exporters since the start.
    pub exported: Arc<ExportCounts>,
    report: mpsc::UnboundedSender<ExportReport>,
    reports: RefCell<Option<mpsc::UnboundedReceiver<ExportReport>>>,
}

impl Default for Tracer {
    fn default() -> Tracer {
        let (report, reports) = mpsc::unbounded_channel();
        Tracer {
            is_armed: Cell::default(),
            watchers: RefCell::default(),
            sampler: RefCell::default(),
            exported: Arc::default(),
            report,
            reports: RefCell::new(Some(reports)),
        }
    }
}

impl Tracer {
    #[inline(always)]
    pub fn is_armed(&self) -> bool {
        self.is_armed.get()
    }

    /// Whether spans are exported.
    pub fn exports(&self) -> bool {
        self.sampler.borrow().is_some()
    }

    /// Whether the time of a request's first bytes may be needed.
    pub fn wants_times(&self) -> bool {
        let is_ready = |sampler: &Option<Rc<Sampler>>| {
            let sampler = sampler.as_ref();
            sampler.is_some_and(|sampler| sampler.is_ready())
        };
        !self.watchers.borrow().is_empty() || is_ready(&self.sampler.borrow())
    }

    /// Follows the configuration. An exporter with the same settings goes on.
    ///
    /// # Errors
    ///
    /// The thread of the exporter cannot be started.
    pub fn export(&self, wanted: Option<&TraceExport>) -> io::Result<()> {
        let sampler = self.sampler.borrow().clone();
        if sampler.as_ref().map(|it| it.exporter.settings()) == wanted {
            return Ok(());
        }
        let started = wanted.map(|settings| {
            let report = self.report.clone();
            // Nobody reads the reports any more when the server ends.
            let tell = move |what| drop(report.send(what));
            Exporter::start(settings.clone(), self.exported.clone(), tell)
        });
        let (exporter, failed) = match started.transpose() {
            Ok(exporter) => (exporter, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let sampler = exporter.map(|exporter| Rc::new(Sampler::new(exporter)));
        self.sampler.replace(sampler);
        self.arm_or_disarm();
        failed
    }

    /// Returns the reports of the exporters. Only the first call gets them.
    pub fn take_reports(&self) -> Option<mpsc::UnboundedReceiver<ExportReport>> {
        self.reports.borrow_mut().take()
    }

    /// Sends the last spans when the server ends.
    pub fn finish(&self) {
        if let Some(sampler) = self.sampler.take() {
            sampler.exporter.finish(FAREWELL);
        }
        self.arm_or_disarm();
    }

    fn arm_or_disarm(&self) {
        let is_wanted = !self.watchers.borrow().is_empty() || self.exports();
        self.is_armed.set(is_wanted);
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
        self.arm_or_disarm();
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
    pub fn begin(&self, request: &BegunRequest<'_>) -> Option<Rc<Trace>> {
        let watcher = self.watcher(request);
        let sampler = self.sampler.borrow().clone();
        let sampled = sampler.and_then(|sampler| {
            let sample = sampler.sample(request.fields)?;
            Some((sampler, sample))
        });
        if watcher.is_none() && sampled.is_none() {
            forget_arrival(request.peer);
            return None;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let timeline = Timeline {
            request_id: request.id,
            method: text(request.method),
            target: text(request.target),
            client: text(request.peer.remote_addr.as_bytes()),
            began: began(request.peer),
            ..Timeline::default()
        };
        let context = sampled.as_ref().map(|(_, sample)| sample.context());
        let most_parts = if watcher.is_some() {
            usize::MAX
        } else {
            MOST_EXPORTED
        };
        let sampled = sampled.map(|(sampler, sample)| (sampler, request.sampled(sample)));
        let trace = Trace::begin(timeline, move |timeline| {
            if let Some(watcher) = watcher {
                // An error means that nobody waits any more.
                let _ = watcher.give.send(timeline.clone());
            }
            if let Some((sampler, request)) = sampled {
                sampler.exporter.take(ExportedRequest {
                    request,
                    timeline,
                    ended: now(),
                });
            }
        });
        let trace = trace.keep_at_most(most_parts).with_context(context);
        mark_arrival(&trace, request.peer);
        Some(Rc::new(trace))
    }

    /// Finds somebody who waits for this request, and counts the request.
    fn watcher(&self, request: &BegunRequest<'_>) -> Option<Rc<Watcher>> {
        let watchers = self.watchers.borrow();
        let wants =
            |it: &&Rc<Watcher>| it.left.get() > 0 && it.filter.takes(request.peer, request.target);
        let watcher = watchers.iter().find(wants)?;
        watcher.left.set(watcher.left.get() - 1);
        Some(watcher.clone())
    }

    fn disarm(&self, watcher: &Rc<Watcher>) {
        self.watchers
            .borrow_mut()
            .retain(|it| !Rc::ptr_eq(it, watcher));
        self.arm_or_disarm();
    }
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
    use crate::request::{Fields, Protocol};

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
        let request = BegunRequest {
            id: 1,
            method: b"GET",
            target: b"/",
            host: b"",
            protocol: Protocol::Http11,
            fields: Fields::NONE,
            peer: &peer,
            client: &peer,
        };
        assert!(tracer.begin(&request).is_some());
        assert!(tracer.begin(&request).is_none());
        drop(tracing);
        assert!(!tracer.is_armed());
    }

    #[test]
    fn times_of_an_unwanted_request_do_not_count_for_the_next_one() {
        let tracer = Rc::new(Tracer::default());
        let _tracing = tracer.arm(TraceFilter::Url("/wanted".to_owned()), 1);
        let times = tracer.times().expect("somebody waits");
        times.note_head(now());
        let peer = Peer {
            times: Some(times.clone()),
            ..Peer::default()
        };
        let request = BegunRequest {
            id: 1,
            method: b"GET",
            target: b"/other",
            host: b"",
            protocol: Protocol::Http11,
            fields: Fields::NONE,
            peer: &peer,
            client: &peer,
        };
        assert!(tracer.begin(&request).is_none());
        assert_eq!((times.accepted.get(), times.head.get()), (0, 0));
    }
}
