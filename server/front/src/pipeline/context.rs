//! Holds what the server knows of a request, from its first byte to its log line, for every
//! protocol.

use super::log::{AccessRecord, FirstResource, LogReports};
use crate::cache::{CacheStatus, FillLock};
use crate::handlers::through::{self, Before};
use crate::handlers::{Backend, HandlerOutcome};
use crate::request::rule_state::{RuleState, User};
use crate::request::{Peer, Protocol, Redirect, RedirectCause, REDIRECTS};
use crate::routing::Route;
use crate::shared::traffic::CountGuard;
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_config::Settings;
use mehari_net::address::Address;
use mehari_observe::trace::Trace;
use mehari_pool::{
    Declined, Named, Reason, RequestChanges, RequestNews, ResponseOutcome, TableMarks,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

pub struct RequestContext {
    pub id: u64,
    pub time: SystemTime,
    pub protocol: Protocol,
    pub is_head: bool,
    /// The status of the response. 0: there is no status yet.
    pub status: u16,
    /// The reason phrase that a program gives to a status.
    reason: Option<Box<Reason>>,
    /// The number of the host that answers.
    pub host: u32,
    /// The settings of the request's route, once the route is found. They define the error pages.
    pub settings: Option<Arc<Settings>>,
    /// The route of the request, if a log or a filter needs it.
    pub route: Option<Rc<Route>>,
    /// The internal redirect, if any.
    pub redirect: Option<Redirect>,
    /// The results of rules.
    pub rule_state: Option<Box<RuleState>>,
    /// The address of the connection's other end.
    pub address: Address,
    /// The client that a trusted proxy has named.
    pub client: Option<Box<Peer>>,
    /// The counts of traffic rules that this request is in.
    pub held: Vec<CountGuard>,
    /// The settings whose traffic rules have counted the request.
    pub counted: Vec<Arc<Settings>>,
    /// The body of the request, if edge scripts may read it.
    pub small_body: Option<Vec<u8>>,
    /// The upload whose progress is tracked.
    pub upload: Option<Rc<Upload>>,
    pub cache: CacheUse,
    pub declined: DeclinedRequest,
    pub record: AccessRecord,
    /// What workers say for the access line.
    pub log_reports: LogReports,
    /// The timeline of a traced request.
    pub trace: Option<Rc<Trace>>,
}

/// What the response cache does for the request.
#[derive(Default)]
pub struct CacheUse {
    /// What the cache will do with the program's response.
    pub fill_lock: Option<Box<FillLock>>,
    pub status: Cell<CacheStatus>,
}

/// A request that Perl's handlers have declined to answer.
#[derive(Default)]
pub struct DeclinedRequest {
    /// Tells the outcome to the worker that waits for it.
    listener: Option<Listener>,
    /// Path and query that a Perl handler of the translation phase has chosen, and their file.
    pub moved: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// The body's length in bytes, for this worker. For HEAD it is the length for GET, as in
    /// Apache. `None`: the length is known only at the end of the body.
    pub promised: Option<u64>,
    /// The header lines of the response, for this worker.
    head: Vec<u8>,
    /// The header lines of handlers before a CGI program or a back end, which answers next.
    pub before_program: Option<(Vec<u8>, TableMarks)>,
    /// The header lines of handlers that survive an error. The response with the error document
    /// gets these lines too.
    error_lines: Vec<u8>,
    /// The settings of the place that has refused the request, while an error document responds.
    refusing: Option<Arc<Settings>>,
}

type Listener = Box<dyn FnOnce(ResponseOutcome<'_>)>;

impl RequestContext {
    /// Returns the context of a request that begins now.
    pub fn begin(shared: &Shared, protocol: Protocol, is_head: bool) -> RequestContext {
        let mut context = RequestContext::unbegun();
        context.start(shared, protocol, is_head);
        context
    }

    /// Notes that the request begins now, and counts it. Codecs call this after the context has
    /// its final place, because a copy of a context costs more than most stages.
    #[inline(always)]
    pub fn start(&mut self, shared: &Shared, protocol: Protocol, is_head: bool) {
        self.id = shared.stats.request_begins();
        self.time = SystemTime::now();
        self.protocol = protocol;
        self.is_head = is_head;
        self.record.began = shared.stats.times_requests().then(Instant::now);
    }

    /// Returns a context that [`RequestContext::start`] must complete.
    #[inline(always)]
    pub fn unbegun() -> RequestContext {
        RequestContext {
            id: 0,
            time: SystemTime::UNIX_EPOCH,
            protocol: Protocol::Http11,
            is_head: false,
            status: 0,
            reason: None,
            host: 0,
            settings: None,
            route: None,
            redirect: None,
            rule_state: None,
            address: Address::default(),
            client: None,
            held: Vec::new(),
            counted: Vec::new(),
            small_body: None,
            upload: None,
            cache: CacheUse::default(),
            declined: DeclinedRequest::default(),
            record: AccessRecord::default(),
            log_reports: LogReports::default(),
            trace: None,
        }
    }

    /// Notes the end of a part of a traced request.
    #[inline(always)]
    pub fn mark(&self, part: &'static str) {
        if let Some(trace) = &self.trace {
            trace.mark(part);
        }
    }

    /// Notes the end of a part during which the front waited for a program.
    #[inline(always)]
    pub fn mark_wait(&self, part: &'static str) {
        if let Some(trace) = &self.trace {
            trace.mark_wait(part);
        }
    }

    /// Whether these lines are a kept page's and contain a Date.
    pub fn is_dated(&self, lines: [&[u8]; 2]) -> bool {
        let says = |lines: &&[u8]| mehari_cache::field(lines, "date").is_some();
        self.cache.status.get().is_kept() && lines.iter().any(says)
    }

    /// Redirects the request internally. Returns false after too many redirects.
    pub fn redirect(
        &mut self,
        target: Vec<u8>,
        status: u16,
        cause: RedirectCause,
        asked: &[u8],
    ) -> bool {
        self.note_set_variables(status);
        if let Some(state) = &mut self.rule_state {
            state.restart_rules(self.redirect.as_ref());
            // The response is that of the new resource alone.
            state.varying.clear();
        }
        if status >= 400 && self.declined.refusing.is_none() {
            self.declined.refusing.clone_from(&self.settings);
        }
        let refusing = (self.settings.as_ref()).filter(|_| matches!(status, 401 | 403));
        if let Some(settings) = refusing {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.mapping.error_of = Some(settings.clone());
        }
        if !self.declined.error_lines.is_empty() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.lines.append(&mut self.declined.error_lines);
        }
        let before = self.redirect.take();
        let count = before.as_ref().map_or(0, |redirect| redirect.count) + 1;
        let from = before.map_or_else(|| asked.to_vec(), |redirect| redirect.target);
        if self.record.first.is_none() {
            let (target, route) = (from.clone(), self.route.clone());
            self.record.first = Some(Box::new(FirstResource { target, route }));
        }
        self.redirect = Some(Redirect {
            target,
            from: Some(from),
            status,
            count,
            cause,
        });
        count <= REDIRECTS
    }

    /// Notes the variables of `SetEnv` at the place that an internal redirect leaves. The next
    /// resource has them with the prefix REDIRECT_. As in Apache, a refused client has none of
    /// them, because `SetEnv` comes after the access rules.
    fn note_set_variables(&mut self, status: u16) {
        let Some(settings) = self
            .settings
            .as_deref()
            .filter(|_| !matches!(status, 401 | 403))
        else {
            return;
        };
        for (name, value) in &settings.programs.set_env {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.set(name.as_bytes(), value.clone().into());
        }
    }

    /// Returns the settings of the place whose rules apply to the server's own page. If an error
    /// document has failed, this is the place that has refused the request, as in Apache.
    pub fn settings_of_own_page(&self) -> Option<&Settings> {
        let refusing = self.declined.refusing.as_deref();
        refusing.or(self.settings.as_deref())
    }

    /// Returns the status of the response. An error document has the status of the error.
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

    /// Returns the reason phrase that a program has given to the response's status.
    pub fn reason(&self) -> Option<&[u8]> {
        let given = self.reason.as_ref();
        let fits = given.filter(|reason| reason.status == self.status);
        fits.map(|reason| &*reason.phrase)
    }

    /// Notes the head's lines, for logs and for the worker that waits for the outcome.
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

    /// Arranges that the worker that has declined the request learns what the front responds, or
    /// that the response passes the worker's filters. The worker waits for the head of an answer,
    /// or for the whole response of a program or a back end, but never for a slow client. `before`:
    /// the filter before the worker's filters. Returns the remaining work.
    pub fn report_to_worker(
        &mut self,
        backend: Backend,
        work: HandlerOutcome,
        before: Option<Before>,
    ) -> HandlerOutcome {
        let (exchange, work) = match backend {
            Backend::Perl(exchange, _) => match through::begin(exchange, work, before) {
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
            HandlerOutcome::Elsewhere(..) | HandlerOutcome::Acted(_) => {}
        }
        work
    }

    /// Tells the worker that waits for the outcome what was sent. Later calls do nothing.
    pub fn tell_worker(&mut self, bytes: u64) {
        if let Some(listener) = self.declined.listener.take() {
            listener(ResponseOutcome {
                status: self.status,
                bytes,
                head: &self.declined.head,
            });
        }
    }

    /// Tells the worker that waits for the outcome that another path answers. The worker would
    /// otherwise wait for that path, which may need a worker too.
    pub fn end_listening(&mut self, status: u16) {
        self.declined.head.clear();
        if let Some(listener) = self.declined.listener.take() {
            listener(ResponseOutcome {
                status: if status >= 400 { status } else { 0 },
                ..ResponseOutcome::default()
            });
        }
    }

    /// Whether a worker waits for the outcome.
    pub fn has_listener(&self) -> bool {
        self.declined.listener.is_some()
    }

    pub fn note_route(&mut self, route: &Rc<Route>) {
        self.settings = Some(route.settings.clone());
        self.route = Some(route.clone());
    }

    /// Whether edge scripts must see the response's head.
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

    /// Returns the client that a trusted proxy has named, or else the other end of the connection.
    pub fn client<'a>(&'a self, peer: &'a Peer) -> &'a Peer {
        self.client.as_deref().unwrap_or(peer)
    }

    /// Notes the worker and its queue time, for the log, and what the worker has told.
    pub fn note_backend(&mut self, backend: &mut Backend) {
        self.record.worker = backend.worker();
        self.record.queued = backend.queued();
        self.note_told(backend.take_told());
        for (name, value) in backend.take_variables() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.set(name.as_bytes(), value.into());
        }
    }

    /// Notes the user that Perl's handlers have set, and what the handlers have changed.
    fn note_told(&mut self, told: Option<Box<RequestNews>>) {
        if let Some(told) = told {
            self.note_user(told.user);
            let variables = told.changes.variables.clone();
            self.note_changes(told.changes);
            if let Some(state) = &mut self.rule_state {
                state.told = variables;
            }
            self.declined.moved = told.moved;
        }
    }

    pub fn note_changes(&mut self, changes: RequestChanges) {
        if !changes.is_empty() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.restate(changes);
        }
    }

    /// Notes what Perl's handlers have changed before they left the response to the front.
    pub fn note_declined(&mut self, declined: &mut Declined) {
        self.note_told(declined.told.take());
        self.note_reason(declined.reason.take());
        self.note_changes(std::mem::take(&mut declined.changes));
        if let (401, Some(state)) = (declined.status, &mut self.rule_state) {
            // The worker's challenge replaces that of an earlier refusal.
            state.challenge_anew(b"");
        }
        // As in Apache, an error document keeps the handlers' err_headers_out.
        if declined.status >= 400 {
            self.declined.error_lines.clone_from(&declined.lines);
        } else if declined.target.is_none() {
            self.declined.error_lines = declined.marks.surviving(&declined.lines);
        }
    }

    /// Notes why a program has failed. As in Apache, an error document that is a program gets the
    /// reason as REDIRECT_ERROR_NOTES.
    pub fn note_error(&mut self, reason: &str) {
        let state = self.rule_state.get_or_insert_with(Default::default);
        state.set(b"ERROR_NOTES", reason.into());
    }

    /// Notes the header lines of a script that lets the request continue. Whatever responds, the
    /// response gets these lines.
    pub fn note_lines(&mut self, lines: &[u8]) {
        if !lines.is_empty() {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.lines.extend_from_slice(lines);
        }
    }

    /// Notes the user that Perl's handlers have set.
    pub fn note_user(&mut self, named: Option<Named>) {
        if let (Some(named), Some(settings)) = (named, &self.settings) {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.identity.user = Some(User::named(named, settings));
        }
    }
}
