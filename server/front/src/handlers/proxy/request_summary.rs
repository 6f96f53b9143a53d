//! The properties of a request that an exchange copies, because the exchange outlives the request.

use super::via;
use crate::handlers::protocol_switch;
use crate::request::Request;
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{LogLevel, Settings};
use mehari_observe::trace::Trace;
use mehari_observe::{Journal, Origin};
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub struct RequestSummary {
    pub settings: Arc<Settings>,
    journal: Rc<dyn Journal>,
    host: u32,
    /// The origin of its lines in the error log.
    origin: Origin,
    target: SmallVec<[u8; 64]>,
    pub is_head: bool,
    /// Whether the method is idempotent (RFC 9110 section 9.2.2).
    pub idempotent: bool,
    /// Whether the client requests an upgrade.
    pub upgrade: bool,
    /// This server's element of the field Via, if `ProxyVia` adds the element.
    pub via: Option<Box<[u8]>>,
    /// How long the back end may send nothing.
    pub timeout: Duration,
    /// The timeline of a traced request.
    pub trace: Option<Rc<Trace>>,
}

impl RequestSummary {
    pub fn new(shared: &Shared, request: &Request<'_>, route: &Route) -> RequestSummary {
        let settings = route.settings.clone();
        let idempotent = matches!(
            request.method,
            b"GET" | b"HEAD" | b"OPTIONS" | b"PUT" | b"DELETE" | b"TRACE"
        );
        RequestSummary {
            timeout: settings.proxy.timeout.unwrap_or(settings.limits.timeout),
            via: via::element(shared, request, &settings),
            journal: shared.journal.clone(),
            host: route.host,
            origin: request.origin(),
            target: SmallVec::from_slice(request.path()),
            is_head: request.method == b"HEAD",
            idempotent,
            upgrade: protocol_switch::wanted(request).is_some(),
            settings,
            trace: request.trace.cloned(),
        }
    }

    /// Makes a GET request for the fuzzer.
    pub fn for_fuzzing(journal: Rc<dyn Journal>) -> RequestSummary {
        let settings = Arc::new(mehari_config::Site::defaults().main.base);
        RequestSummary {
            timeout: settings.limits.timeout,
            settings,
            via: None,
            journal,
            host: 0,
            origin: Origin::default(),
            target: SmallVec::new(),
            is_head: false,
            idempotent: true,
            upgrade: false,
            trace: None,
        }
    }

    /// Writes a line about this request to the error log.
    pub fn log(&self, level: LogLevel, text: &str) {
        let text = format!("{}: {text}", self.target.escape_ascii());
        self.journal.error(self.host, level, self.origin, &text);
    }
}
