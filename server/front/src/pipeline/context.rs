//! The facts of a request from its first byte to its log line, for every protocol.

use super::log::AccessRecord;
use crate::cache::{CacheStatus, FillLock};
use crate::handlers::{through, Backend, HandlerOutcome};
use crate::request::rule_state::{RuleState, User};
use crate::request::{Peer, Protocol, Redirect, REDIRECTS};
use crate::routing::Route;
use crate::shared::traffic::CountGuard;
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_config::Settings;
use mehari_pool::{Declined, Named, Reason, ResponseOutcome};
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
    /// A program's phrase for a status.
    reason: Option<Box<Reason>>,
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
    pub held: Vec<CountGuard>,
    /// The body of a request for scripts.
    pub small_body: Option<Vec<u8>>,
    /// The upload whose progress is tracked.
    pub upload: Option<Rc<Upload>>,
    pub cache: CacheUse,
    pub declined: DeclinedRequest,
    pub record: AccessRecord,
}

/// The response cache's part in the request.
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
    /// Bytes of the body (of a GET, as Apache counts), for that worker. `None`: known at its end.
    pub promised: Option<u64>,
    /// The head, for that worker.
    head: Vec<u8>,
    /// Header lines of handlers that refused the request. The error document gets them too.
    error_lines: Vec<u8>,
}

type Listener = Box<dyn FnOnce(ResponseOutcome<'_>)>;

impl RequestContext {
    #[inline(always)]
    pub fn begin(shared: &Shared, protocol: Protocol, is_head: bool) -> RequestContext {
        RequestContext {
            id: shared.stats.request_begins(),
            time: SystemTime::now(),
            protocol,
            is_head,
            status: 0,
            reason: None,
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
    pub fn redirect(&mut self, target: Vec<u8>, status: u16, asked: &[u8]) -> bool {
        if let Some(state) = &mut self.rule_state {
            state.restart_rules(self.redirect.as_ref());
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

    /// Notes the phrase that a program gives to a status.
    pub fn note_reason(&mut self, reason: Option<Box<Reason>>) {
        if reason.is_some() {
            self.reason = reason;
        }
    }

    /// The program's phrase for the response's status.
    pub fn reason(&self) -> Option<&[u8]> {
        let given = self.reason.as_ref();
        let fits = given.filter(|reason| reason.status == self.status);
        fits.map(|reason| &*reason.phrase)
    }

    /// Notes the head's lines for logs that want them.
    pub fn note_head(&mut self, shared: &Shared, head: &[u8]) {
        self.record.head_bytes = head.len() as u64;
        if self.has_listener() {
            self.declined.head = head.to_vec();
            if let Some(bytes) = self.declined.promised {
                self.tell_worker(bytes);
            }
        }
        let needs = shared.stats.log_needs.get();
        if needs.response_fields {
            self.record.response = head.to_vec();
        }
        if needs.backend_time {
            self.record.head_after = Some(self.record.elapsed());
        }
    }

    /// Tells the worker that declined what the front responds, or gives the response to the
    /// worker's filters. The worker waits for the head of an answer, and for a program's or back
    /// end's whole response, but never for a slow client. Returns the work that goes on.
    pub fn report_to_worker(&mut self, backend: Backend, work: HandlerOutcome) -> HandlerOutcome {
        let (exchange, work) = match backend {
            Backend::Perl(exchange, _) => match through::begin(exchange, work) {
                Ok(work) => return work,
                Err(parts) => parts,
            },
            Backend::Through(through) => (through.exchange, work),
            _ => return work,
        };
        match &work {
            _ if !exchange.awaits_outcome() => {}
            HandlerOutcome::Answer(_) | HandlerOutcome::Backend(_) => {
                self.declined.promised = None;
                self.declined.listener =
                    Some(Box::new(move |outcome| exchange.report_outcome(outcome)));
            }
            HandlerOutcome::Elsewhere(_, status @ 400..) => {
                exchange.report_outcome(ResponseOutcome {
                    status: *status,
                    ..ResponseOutcome::default()
                })
            }
            HandlerOutcome::Elsewhere(..) => {}
        }
        work
    }

    /// Tells the worker that listens what was sent, once.
    pub fn tell_worker(&mut self, bytes: u64) {
        if let Some(listener) = self.declined.listener.take() {
            listener(ResponseOutcome {
                status: self.status,
                bytes,
                head: &self.declined.head,
            });
        }
    }

    /// Another path answers, perhaps in a worker. A worker that listens would wait for it.
    pub fn end_listening(&mut self, status: u16) {
        self.declined.head.clear();
        if let Some(listener) = self.declined.listener.take() {
            listener(ResponseOutcome {
                status: if status >= 400 { status } else { 0 },
                ..ResponseOutcome::default()
            });
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

    /// Returns the header lines that the configuration adds to every response.
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
        self.note_reason(declined.reason.take());
        if declined.has_changes() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.restate(declined);
        }
        if declined.status >= 400 {
            self.declined.error_lines.clone_from(&declined.lines);
        }
    }

    /// Notes the header lines of a script that let the request continue. Every response gets them.
    pub fn note_lines(&mut self, lines: &[u8]) {
        if !lines.is_empty() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.lines.extend_from_slice(lines);
        }
    }

    /// Notes the user that Perl's handlers have set.
    pub fn note_user(&mut self, named: Option<Box<Named>>) {
        if let (Some(named), Some(settings)) = (named, &self.settings) {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.identity.user = Some(User::named(*named, settings));
        }
    }
}
