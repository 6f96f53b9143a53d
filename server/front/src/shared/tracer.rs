//! Chooses the requests to trace. The control socket arms the tracer (`mehari trace`), or the
//! configuration does (`TraceExport`). While nobody traces, each request costs one test. While
//! spans are exported, each request that is not sampled costs a countdown.

mod arrival;
mod begun_request;
mod sampler;

pub use begun_request::BegunRequest;

use super::exact::is_below;
use crate::request::{path_of, Peer};
use arrival::{began, forget_arrival, mark_arrival};
use mehari_config::TraceExport;
use mehari_net::ConnectionTimes;
use mehari_observe::export::{
    ExportCounts, ExportReport, ExportedRequest, Exporter, SampledRequest,
};
use mehari_observe::trace::{known_method, now, FrontPart, Timeline, Trace};
use sampler::Sampler;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How many requests before one that is looked at the times of arrival are noted. Requests of
/// several connections can begin in between.
const READY: u32 = 16;
/// As many parts of the front as most requests have.
const USUAL_PARTS: usize = 12;
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
    /// How many requests later the next one is looked at: 1 is the next. 0: nobody traces.
    until_look: Cell<u32>,
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
            until_look: Cell::default(),
            watchers: RefCell::default(),
            sampler: RefCell::default(),
            exported: Arc::default(),
            report,
            reports: RefCell::new(Some(reports)),
        }
    }
}

impl Tracer {
    /// Whether somebody traces requests.
    #[inline(always)]
    pub fn is_armed(&self) -> bool {
        self.until_look.get() > 0
    }

    /// Counts a request that begins. Returns whether [`Tracer::begin`] must look at the request.
    #[inline(always)]
    pub fn must_look_at_next(&self, peer: &Peer) -> bool {
        let until_look = self.until_look.get();
        if until_look <= 1 {
            return until_look == 1;
        }
        self.until_look.set(until_look - 1);
        forget_arrival(peer);
        false
    }

    /// Whether spans are exported.
    pub fn exports(&self) -> bool {
        self.sampler.borrow().is_some()
    }

    /// Whether the time of a request's first bytes may be needed: one of the next requests is
    /// looked at.
    #[inline(always)]
    pub fn wants_times(&self) -> bool {
        self.until_look.get().wrapping_sub(1) < READY
    }

    /// Follows the configuration. An exporter with the same settings goes on.
    ///
    /// # Errors
    ///
    /// A text: the exporter cannot be started.
    pub fn export(&self, wanted: Option<&TraceExport>) -> Result<(), String> {
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
        self.change(|| drop(self.sampler.replace(sampler)));
        failed
    }

    /// Returns the reports of the exporters. Only the first call gets them.
    pub fn take_reports(&self) -> Option<mpsc::UnboundedReceiver<ExportReport>> {
        self.reports.borrow_mut().take()
    }

    /// Sends the last spans when the server ends.
    pub fn finish(&self) {
        let mut sampler = None;
        self.change(|| sampler = self.sampler.take());
        if let Some(sampler) = sampler {
            sampler.exporter.finish(FAREWELL);
        }
    }

    /// Changes who traces requests. The countdown of a sampler goes on where it was.
    fn change(&self, change: impl FnOnce()) {
        if let Some(sampler) = self.counting_down() {
            sampler.is_next_after(self.until_look.get());
        }
        change();
        self.wait_for_next();
    }

    /// Sets how many requests later the next one is looked at.
    fn wait_for_next(&self) {
        let is_wanted = !self.watchers.borrow().is_empty() || self.exports();
        let until_look = match self.counting_down() {
            Some(sampler) => sampler.until_next(),
            None => u32::from(is_wanted),
        };
        self.until_look.set(until_look);
    }

    /// Returns the sampler if nobody else looks at requests before the next one that it takes.
    fn counting_down(&self) -> Option<Rc<Sampler>> {
        let sampler = self.sampler.borrow().clone();
        let is_alone = self.watchers.borrow().is_empty();
        sampler.filter(|sampler| is_alone && !sampler.looks_at_each())
    }

    /// Traces the next `count` requests that the filter takes, until the result is dropped.
    pub fn arm(self: &Rc<Self>, filter: TraceFilter, count: u32) -> Tracing {
        let (give, timelines) = mpsc::unbounded_channel();
        let watcher = Rc::new(Watcher {
            filter,
            left: Cell::new(count),
            give,
        });
        self.change(|| self.watchers.borrow_mut().push(watcher.clone()));
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
        let (sampled, mut front) = match self.sampled(request) {
            Some((sampled, front)) => (Some(sampled), front),
            None => (None, Vec::new()),
        };
        if watcher.is_none() && sampled.is_none() {
            forget_arrival(request.peer);
            return None;
        }
        front.reserve(USUAL_PARTS);
        // Of a request that is only exported, `sampled` has the texts.
        let text = |bytes: &[u8]| match watcher {
            Some(_) => String::from_utf8_lossy(bytes).into_owned(),
            None => String::new(),
        };
        let timeline = Timeline {
            request_id: request.id,
            method: match known_method(request.method) {
                Some(known) => known.into(),
                None => String::from_utf8_lossy(request.method).into_owned().into(),
            },
            target: text(request.target),
            client: text(request.peer.remote_addr.as_bytes()),
            began: began(request.peer),
            front,
            ..Timeline::default()
        };
        let context = sampled.as_ref().map(|(_, sampled)| sampled.context());
        let most_parts = match watcher {
            Some(_) => usize::MAX,
            None => MOST_EXPORTED,
        };
        let trace = Trace::begin(timeline, move |timeline| give(timeline, watcher, sampled));
        let trace = trace.keep_at_most(most_parts).with_context(context);
        mark_arrival(&trace, request.peer);
        Some(Rc::new(trace))
    }

    /// Asks the sampler. Returns what the exporter needs of a request that is sampled, and memory
    /// for the parts of its timeline.
    fn sampled(&self, request: &BegunRequest<'_>) -> Option<(SampledBy, Vec<FrontPart>)> {
        if let Some(sampler) = self.counting_down() {
            sampler.is_next_after(1);
        }
        let sampler = self.sampler.borrow().clone()?;
        let sample = sampler.sample(request.fields);
        self.wait_for_next();
        let sample = sample?;
        let memory = sampler.exporter.spare_memory();
        let sampled = request.sampled(sample, memory.texts);
        Some(((sampler, sampled), memory.front))
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
        self.change(|| {
            let mut watchers = self.watchers.borrow_mut();
            watchers.retain(|it| !Rc::ptr_eq(it, watcher));
        });
    }
}

/// A sampled request, and the sampler that has chosen it.
type SampledBy = (Rc<Sampler>, SampledRequest);

/// Gives a complete timeline to whoever has asked for it.
fn give(timeline: Timeline, watcher: Option<Rc<Watcher>>, sampled: Option<SampledBy>) {
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
        assert!(!tracer.must_look_at_next(&peer));
    }

    #[test]
    fn countdown_goes_on_after_somebody_else_has_looked() {
        let tracer = Rc::new(Tracer::default());
        let settings = TraceExport {
            is_secure: false,
            host: "127.0.0.1".to_owned(),
            port: 1,
            path: "/".to_owned(),
            authorities: None,
            every: 1_000_000,
            follows_parents: false,
            service: "shop".to_owned(),
            queue: 1,
            timeout: Duration::from_secs(1),
        };
        tracer.export(Some(&settings)).expect("a thread");
        tracer.until_look.set(20);
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
        let begins = || tracer.must_look_at_next(&peer) && tracer.begin(&request).is_some();
        assert!(!tracer.wants_times() && !begins());
        let tracing = tracer.arm(TraceFilter::Url("/other".to_owned()), 1);
        assert!(tracer.wants_times());
        // The watcher has each of these looked at, and the sampler counts them.
        assert!((0..10).all(|_| tracer.must_look_at_next(&peer) && !begins()));
        drop(tracing);
        let taken: Vec<bool> = (0..9).map(|_| begins()).collect();
        assert!(taken[8] && !taken[..8].contains(&true), "{taken:?}");
        assert!(!begins() && tracer.until_look.get() > 1);
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
