//! The facts of a request from its first byte to its log line, for every protocol.

use super::log::AccessRecord;
use crate::cache::{CacheStatus, FillLock};
use crate::handlers::{Backend, HandlerOutcome};
use crate::request::rule_state::{RuleState, User};
use crate::request::{Peer, Protocol, Redirect, REDIRECTS};
use crate::routing::Route;
use crate::shared::traffic::Held;
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_config::Settings;
use mehari_pool::{Declined, Named, Outcome};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

pub struct RequestContext {
    pub id: u64,
    pub time: SystemTime,
    pub protocol: Protocol,
    pub is_head: bool,
    /// 0: no status yet.
    pub status: u16,
    /// The number of the host that answers.
    pub host: u32,
    /// The settings of its route, once it has one. They define its error pages.
    pub settings: Option<Arc<Settings>>,
    /// Kept only if `LogNeeds` demands it.
    pub route: Option<Rc<Route>>,
    /// The internal redirect, if any.
    pub redirect: Option<Redirect>,
    /// The results of rules.
    pub rule_state: Option<Box<RuleState>>,
    /// Client address taken from a trusted proxy.
    pub client: Option<Box<Peer>>,
    /// The counts of traffic rules that this request is in.
    pub held: Vec<Held>,
    /// The body of a request for scripts.
    pub small_body: Option<Vec<u8>>,
    /// The upload whose progress is tracked.
    pub upload: Option<Rc<Upload>>,
    pub cache: CacheUse,
    pub declined: DeclinedRequest,
    pub record: AccessRecord,
}

/// What the response cache does with the request.
#[derive(Default)]
pub struct CacheUse {
    /// The cache's task for the program's response.
    pub fill_lock: Option<Box<FillLock>>,
    pub status: Cell<CacheStatus>,
}

/// A request that Perl's handlers have declined to answer.
#[derive(Default)]
pub struct DeclinedRequest {
    /// The worker that waits for the outcome.
    listener: Option<Listener>,
    /// Bytes of the body (of a GET, as Apache counts), for that worker.
    pub promised: u64,
    /// Header lines of handlers that refused the request. The error document gets them too.
    error_lines: Vec<u8>,
}

type Listener = Box<dyn FnOnce(Outcome<'_>)>;

impl RequestContext {
    #[inline(always)]
    pub fn begin(shared: &Shared, protocol: Protocol, is_head: bool) -> RequestContext {
        RequestContext {
            id: shared.stats.request_begins(),
            time: SystemTime::now(),
            protocol,
            is_head,
            status: 0,
            host: 0,
            settings: None,
            route: None,
            redirect: None,
            rule_state: None,
            client: None,
            held: Vec::new(),
            small_body: None,
            upload: None,
            cache: CacheUse::default(),
            declined: DeclinedRequest::default(),
            record: AccessRecord::begin(shared.stats.times_requests()),
        }
    }

    /// Whether these lines contain a date, as those of a kept page do.
    pub fn is_dated(&self, lines: [&[u8]; 2]) -> bool {
        let says = |lines: &&[u8]| mehari_cache::field(lines, "date").is_some();
        self.cache.status.get().is_kept() && lines.iter().any(says)
    }

    /// Redirects the request internally. Returns false after too many redirects.
    pub fn lead_to(&mut self, target: Vec<u8>, status: u16, asked: &[u8]) -> bool {
        if let Some(state) = &mut self.rule_state {
            state.begin_anew(self.redirect.as_ref());
        }
        if !self.declined.error_lines.is_empty() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.lines.append(&mut self.declined.error_lines);
        }
        let before = self.redirect.take();
        let count = before.as_ref().map_or(0, |redirect| redirect.count) + 1;
        let from = before.map_or_else(|| asked.to_vec(), |redirect| redirect.target);
        self.redirect = Some(Redirect {
            target,
            from: Some(from),
            status,
            count,
            keeps_request: false,
        });
        count <= REDIRECTS
    }

    /// The status of the response: an error document keeps the error's.
    pub fn status_for(&self, status: u16) -> u16 {
        match &self.redirect {
            Some(redirect) if status == 200 => redirect.status,
            _ => status,
        }
    }

    /// Notes the head's lines for logs that want them.
    pub fn note_head(&mut self, shared: &Shared, head: &[u8]) {
        self.record.head_bytes = head.len() as u64;
        if let Some(listener) = self.declined.listener.take() {
            listener(Outcome {
                status: self.status,
                bytes: self.declined.promised,
                head,
            });
        }
        let needs = shared.stats.log_needs.get();
        if needs.response_fields {
            self.record.response = head.to_vec();
        }
        if needs.backend_time {
            self.record.head_after = Some(self.record.lasted());
        }
    }

    /// Tells the worker that declined what the front responds. It waits only for the head, not for
    /// the body.
    pub fn report_to_worker(&mut self, backend: Backend, work: &HandlerOutcome) {
        let Backend::Perl(exchange, _) = backend else {
            return;
        };
        match work {
            _ if !exchange.listens() => {}
            HandlerOutcome::Answer(_)
            | HandlerOutcome::Backend(Backend::Filtered(_) | Backend::Deferred(_)) => {
                self.declined.listener = Some(Box::new(|outcome| exchange.tell(outcome)))
            }
            HandlerOutcome::Elsewhere(_, status @ 400..) => exchange.tell(Outcome {
                status: *status,
                ..Outcome::default()
            }),
            _ => {}
        }
    }

    /// Whether anything wants to see the head.
    pub fn has_listener(&self) -> bool {
        self.declined.listener.is_some()
    }

    pub fn note_route(&mut self, shared: &Shared, route: &Rc<Route>) {
        self.settings = Some(route.settings.clone());
        if shared.stats.log_needs.get().route {
            self.route = Some(route.clone());
        }
    }

    /// Whether scripts want to see the response.
    pub fn is_seen_by_scripts(&self) -> bool {
        let scripts = |settings: &Arc<Settings>| !settings.lua.response_start.is_empty();
        self.settings.as_ref().is_some_and(scripts)
    }

    /// Header lines that the configuration adds to every response.
    pub fn own_lines(&self, peer: &Peer) -> &[u8] {
        match (&self.settings, &peer.tls) {
            (Some(settings), Some(_)) => match &settings.tls.strict_transport {
                Some(line) => line.as_bytes(),
                None => &[],
            },
            _ => &[],
        }
    }

    /// The client: the other end of the connection, or the client that a proxy names.
    pub fn client<'a>(&'a self, peer: &'a Peer) -> &'a Peer {
        self.client.as_deref().unwrap_or(peer)
    }

    /// Notes the worker or back end.
    pub fn note_backend(&mut self, backend: &mut Backend) {
        self.record.worker = backend.worker();
        self.record.queued = backend.queued();
        self.note_user(backend.take_user());
    }

    /// Notes that Perl's handlers left the response to the front.
    pub fn note_declined(&mut self, declined: &mut Declined) {
        self.note_user(declined.user.take());
        if declined.restates() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.restate(declined);
        }
        if declined.status >= 400 {
            self.declined.error_lines.clone_from(&declined.lines);
        }
    }

    /// A script has led the request on: its fields go with whatever answers.
    pub fn note_lines(&mut self, lines: &[u8]) {
        if !lines.is_empty() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.lines.extend_from_slice(lines);
        }
    }

    /// Perl's handlers have said who the user is.
    pub fn note_user(&mut self, named: Option<Box<Named>>) {
        if let (Some(named), Some(settings)) = (named, &self.settings) {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.user = Some(User::named(*named, settings));
        }
    }
}
