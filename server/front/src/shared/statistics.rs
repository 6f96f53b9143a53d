//! Counts requests and connections, and knows what logs and metrics need of requests.

use super::history::History;
use super::meters::Meters;
use super::watched::Watch;
use mehari_config::{LogNeeds, Site};
use std::cell::{Cell, RefCell};
use std::time::{Instant, SystemTime};

pub struct Statistics {
    pub counts: Counts,
    /// The durations of requests. `None`: the site reports no durations.
    pub meters: RefCell<Option<Meters>>,
    /// What a console watches. `None`: nobody watches.
    pub watch: RefCell<Option<Box<Watch>>>,
    /// The facts of a request that the site's access logs need.
    pub log_needs: Cell<LogNeeds>,
    pub started: SystemTime,
    pub history: History,
}

/// Totals since the start, and the number of running requests.
#[derive(Debug, Default)]
pub struct Counts {
    pub connections: Cell<u64>,
    pub refused_connections: Cell<u64>,
    pub requests: Cell<u64>,
    pub active: Cell<usize>,
    pub bytes: Cell<u64>,
    /// Responses with a status from 500 upwards.
    pub server_errors: Cell<u64>,
}

impl Statistics {
    pub fn new(site: &Site) -> Statistics {
        Statistics {
            counts: Counts::default(),
            meters: RefCell::new(site.is_metered().then(Meters::default)),
            watch: RefCell::new(None),
            log_needs: Cell::new(site.log_needs()),
            started: SystemTime::now(),
            history: History::default(),
        }
    }

    /// Takes over the settings of a site that was read again. Meters that the site still reports go
    /// on counting.
    pub fn configure(&self, site: &Site) {
        self.log_needs.set(site.log_needs());
        let mut meters = self.meters.borrow_mut();
        if !site.is_metered() {
            *meters = None;
        } else if meters.is_none() {
            *meters = Some(Meters::default());
        }
    }

    /// Ends the counting for watchers if nobody watches any more.
    pub fn end_left_watch(&self) {
        let now = Instant::now();
        self.watch.borrow_mut().take_if(|watch| watch.is_left(now));
    }

    /// Whether logs, metrics or watchers need the durations of requests.
    pub fn times_requests(&self) -> bool {
        let needs = self.log_needs.get();
        needs.duration
            || needs.backend_time
            || self.meters.borrow().is_some()
            || self.watch.borrow().is_some()
    }

    /// Counts a new request and returns its id.
    pub fn request_begins(&self) -> u64 {
        let id = self.counts.requests.get() + 1;
        self.counts.requests.set(id);
        self.counts.active.set(self.counts.active.get() + 1);
        id
    }

    /// Counts a response that reports a fault of the server.
    pub fn count_status(&self, status: u16) {
        if status >= 500 {
            let errors = &self.counts.server_errors;
            errors.set(errors.get() + 1);
        }
    }

    /// Counts the end of a request, and the bytes of the response.
    pub fn request_ends(&self, bytes: u64) {
        self.counts.active.set(self.counts.active.get() - 1);
        self.counts.bytes.set(self.counts.bytes.get() + bytes);
    }
}
