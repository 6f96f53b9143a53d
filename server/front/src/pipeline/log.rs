//! Writes a request's log lines and counts its end.

mod report;

use crate::content::media;
use crate::pipeline::RequestContext;
use crate::request::rule_state::RuleState;
use crate::request::variables::{ExpressionVariables, Note};
use crate::request::{path_of, Fields, Peer, Request, Table};
use crate::routing::Route;
use crate::shared::watched::EndedRequest;
use crate::shared::Shared;
use mehari_config::{LogLevel, Site};
use mehari_observe::{AccessEntry, ConditionVariables, Ending, Lookup, More, Origin};
use mehari_pool::LogChanges;
pub use report::LogReports;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The status in the log for a client that left before the response, as in nginx.
const CLIENT_GONE: u16 = 499;

/// The facts of a request that only the access log and the meters need.
pub struct AccessRecord {
    /// The time of the request's start. `None` unless logs or metrics need durations.
    pub began: Option<Instant>,
    /// Bytes of the response's body that were sent.
    pub sent: u64,
    /// Bytes of the request's head and body.
    pub received: u64,
    /// Bytes of the response's head.
    pub head_bytes: u64,
    /// The number of earlier requests on the connection.
    pub kept: u64,
    /// Whether the connection is kept or closed after the request.
    pub ends: Ending,
    pub worker: Option<u32>,
    /// Time that the request waited in the queue of the pool.
    pub queued: Duration,
    /// Time from the start to the response's head. `None` unless a log needs it.
    pub head_after: Option<Duration>,
    /// The response's head. Empty unless a log needs its fields.
    pub response: Vec<u8>,
    /// The resource before the first internal redirect. `None`: there was no redirect.
    pub first: Option<Box<FirstResource>>,
    /// What Perl's handlers have changed that only the access line says.
    pub said: Option<Box<LogChanges>>,
    /// What `Header note` has noted of the response.
    pub notes: OnceCell<Rc<[Note]>>,
}

/// The resource of the client's request, before an internal redirect.
pub struct FirstResource {
    /// Path and query, as rules have left them.
    pub target: Vec<u8>,
    pub route: Option<Rc<Route>>,
}

impl FirstResource {
    /// Returns the header line of the media type that the file's name has.
    fn type_line(&self) -> Vec<u8> {
        let route = self.route.as_deref();
        let named = route.and_then(|route| media::media_type(&route.file, &route.settings));
        named.map_or_else(Vec::new, |named| {
            format!("Content-Type: {named}\r\n").into()
        })
    }
}

impl Default for AccessRecord {
    #[inline(always)]
    fn default() -> AccessRecord {
        AccessRecord {
            began: None,
            sent: 0,
            received: 0,
            head_bytes: 0,
            kept: 0,
            ends: Ending::Aborted,
            worker: None,
            queued: Duration::ZERO,
            head_after: None,
            response: Vec::new(),
            first: None,
            said: None,
            notes: OnceCell::new(),
        }
    }
}

impl AccessRecord {
    /// Returns the time since the request's start. Zero if durations are not needed.
    pub fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
}

/// What the client sent, for the logs.
#[derive(Clone, Copy)]
pub struct SentHead<'a> {
    /// Method and target. `None`: the request was unreadable.
    pub line: Option<(&'a [u8], &'a [u8])>,
    pub host: &'a [u8],
    pub fields: Fields<'a>,
}

impl RequestContext {
    /// Writes a line about this request to the error log. `target` is printed escaped.
    pub fn log(&self, shared: &Shared, level: LogLevel, target: &[u8], text: &str) {
        let text = format!("{}: {text}", target.escape_ascii());
        let named = self.client.as_ref().map(|client| client.remote_addr);
        let origin = Origin {
            request: Some(self.id),
            worker: self.record.worker,
            client: named.unwrap_or(self.address).ip(),
            ..Origin::default()
        };
        shared.journal.error(self.host, level, origin, &text);
    }

    /// Writes the access line and counts the request's end.
    pub fn end(&mut self, shared: &Shared, peer: &Peer, head: SentHead<'_>) {
        self.take_log_reports();
        let line = head.line;
        shared.stats.request_ends(self.record.sent);
        shared.stats.count_status(self.status);
        if let Some(upload) = &self.upload {
            upload.finish(self.logged_status());
        }
        let (method, _) = line.unwrap_or_default();
        if let Some(meters) = &mut *shared.stats.meters.borrow_mut() {
            meters.record(method, self.status, self.record.elapsed());
        }
        if let Some(watch) = &mut *shared.stats.watch.borrow_mut() {
            let (_, target) = line.unwrap_or_default();
            watch.record(self.host, path_of(target), self.ended());
        }
        if let Some(trace) = &self.trace {
            trace.note_status(self.logged_status());
        }
        let entry = self.entry(peer, line, head.fields);
        if shared.stats.log_needs.get().more {
            self.log_more(shared, peer, head, entry)
        } else {
            shared.journal.access(self.host, &entry)
        }
        self.mark("log");
    }

    /// Returns the facts that a watcher's counts need.
    fn ended(&self) -> EndedRequest {
        EndedRequest {
            status: self.logged_status(),
            bytes: self.record.sent,
            took: self.record.elapsed(),
            queued: self.record.queued,
            is_cache_hit: self.cache.status.get().is_kept(),
        }
    }

    /// Returns the status for logs and counts.
    fn logged_status(&self) -> u16 {
        if self.status == 0 {
            CLIENT_GONE
        } else {
            self.status
        }
    }

    /// Returns the part of the entry that every log needs.
    fn entry<'a>(
        &'a self,
        peer: &'a Peer,
        line: Option<(&'a [u8], &'a [u8])>,
        fields: Fields<'a>,
    ) -> AccessEntry<'a> {
        let (name, user, fields) = match self.rule_state.as_deref() {
            None => (None, None, fields),
            Some(state) => (
                state.identity.client_name(),
                state.identity.user_name(),
                state.changed_fields().unwrap_or(fields),
            ),
        };
        let (method, target) = line.unwrap_or_default();
        let said = self.record.said.as_deref();
        AccessEntry {
            remote: self.client(peer).remote_addr.as_bytes(),
            name,
            user,
            time: self.time,
            method,
            target,
            protocol: line.map_or(&[], |_| self.protocol.name()),
            status: said
                .and_then(|said| said.status)
                .unwrap_or(self.logged_status()),
            bytes: self.record.sent,
            referer: fields.get("referer"),
            user_agent: fields.get("user-agent"),
            request_id: self.id,
            worker: self.record.worker,
            queue_us: self.record.queued.as_micros() as u64,
            total_us: self.record.elapsed().as_micros() as u64,
            more: More::default(),
        }
    }

    /// Writes the entry with further facts, for logs that need more than the combined format.
    fn log_more<'a>(
        &'a self,
        shared: &Shared,
        peer: &'a Peer,
        head: SentHead<'a>,
        entry: AccessEntry<'a>,
    ) {
        let fields = head.fields;
        let needs = shared.stats.log_needs.get();
        let state = self.rule_state.as_deref();
        let changed = state.and_then(RuleState::changed_fields);
        let all: Table = if needs.request_fields {
            changed.unwrap_or(fields).table()
        } else {
            Table::new()
        };
        let site = needs.route.then(|| shared.site());
        let server_name = site
            .as_ref()
            .map(|site| &site.host(self.host).names.server_name);
        let server_name = server_name.and_then(|name| name.as_deref());
        let route = self.route.as_deref();
        let handler = route.map(|route| route.handler.to_string());
        let backend = self.record.head_after.unwrap_or_default();
        let request = self.logged_request(peer, head);
        let variables = needs.expression.then_some(site.as_deref()).flatten();
        let said = self.record.said.as_deref();
        let mut response = Vec::new();
        if let Some(said) = said.filter(|said| needs.response_fields && !said.answered.is_empty()) {
            response = report::lines(&said.answered, &self.record.response);
        }
        let first = self.record.first.as_ref().filter(|_| needs.expression);
        let type_line = first.map_or_else(Vec::new, |first| first.type_line());
        let variables =
            variables.map(|site| self.log_variables(shared, site, &request, &type_line));
        let noted = self.record.notes.get().map_or(&[][..], |notes| &notes[..]);
        let said_notes = said.map_or(&[][..], |said| &said.notes);
        let notes: Cow<[Note]> = match noted {
            [] => said_notes.into(),
            noted => [noted, said_notes].concat().into(),
        };
        let more = More {
            peer: peer.remote_addr.as_bytes(),
            peer_port: peer.remote_port,
            server_addr: peer.server_addr.as_bytes(),
            server_port: peer.server_port,
            server_name: server_name.map_or(peer.server_addr.as_bytes(), str::as_bytes),
            fields: all.as_slice(),
            response: match response.as_slice() {
                b"" => &self.record.response,
                said => said,
            },
            notes: &notes,
            method: said.and_then(|said| said.method.as_deref()),
            path: said.and_then(|said| said.path.as_deref()),
            removed: state.map_or(&[], |state| &state.removed),
            environment: self.settings.as_ref().map_or([&[], &[]], |settings| {
                [&settings.programs.set_env, &settings.programs.perl_env]
            }),
            variables: state.map_or(&[], |state| &state.variables),
            query: state.and_then(|state| state.query.as_deref()),
            tls: peer.tls.as_deref().map(|session| session as &dyn Lookup),
            file: match said.and_then(|said| said.file.as_deref()) {
                Some(file) => file,
                None => route.map_or(&[], |route| &route.file),
            },
            handler: handler.as_deref().unwrap_or_default(),
            first_status: self.redirect.as_ref().map_or(0, |redirect| redirect.status),
            resource: self
                .redirect
                .as_ref()
                .map_or(&[], |redirect| &redirect.target),
            cache: self.cache.status.get().name(),
            kept: self.record.kept,
            ends: self.record.ends,
            bytes_in: self.record.received,
            bytes_out: self.record.head_bytes + self.record.sent,
            backend_us: backend.saturating_sub(self.record.queued).as_micros() as u64,
            variables_of_conditions: variables
                .as_ref()
                .map(|variables| ConditionVariables(variables)),
        };
        shared
            .journal
            .access(self.host, &AccessEntry { more, ..entry });
    }

    /// Returns the request for the conditions of logs. As in Apache, it is the client's request,
    /// and not that of an internal redirect.
    fn logged_request<'a>(&'a self, peer: &'a Peer, head: SentHead<'a>) -> Request<'a> {
        let (method, target) = head.line.unwrap_or_default();
        let state = self.rule_state.as_deref();
        let fields = state.and_then(RuleState::changed_fields);
        Request {
            method,
            asked_method: method,
            target,
            resource: match (&self.record.first, &self.redirect) {
                (Some(first), _) => &first.target,
                (None, Some(by_rule)) => &by_rule.target,
                (None, None) => target,
            },
            redirect: None,
            protocol: self.protocol,
            fields: fields.unwrap_or(head.fields),
            host: head.host,
            virtual_host: self.host,
            peer: self.client(peer),
            rule_state: state,
            id: self.id,
            trace: None,
        }
    }

    /// Returns the values for the conditions of logs. `type_line`: the only line of the response if
    /// an internal redirect has answered.
    fn log_variables<'a>(
        &'a self,
        shared: &'a Shared,
        site: &'a Site,
        request: &'a Request<'a>,
        type_line: &'a [u8],
    ) -> ExpressionVariables<'a> {
        let first = self.record.first.as_deref();
        let route = first.map_or(self.route.as_deref(), |first| first.route.as_deref());
        let redirect = self.redirect.as_ref().filter(|_| first.is_some());
        ExpressionVariables {
            status: redirect.map_or_else(|| self.logged_status(), |redirect| redirect.status),
            lines: match first {
                Some(_) => type_line,
                None => &self.record.response,
            },
            file: route.map_or(&[], |route| &route.file),
            path_info: route.map_or(&[], |route| &route.path_info),
            set_env: route.map_or(&[], |route| &route.settings.programs.set_env),
            perl_env: route.map_or(&[], |route| &route.settings.programs.perl_env),
            came: self.time,
            lasted: self.record.elapsed(),
            is_before_redirect: first.is_some(),
            notes: RefCell::new(
                self.record
                    .notes
                    .get()
                    .map_or_else(Vec::new, |all| all.to_vec()),
            ),
            ..ExpressionVariables::new(
                request,
                site.host(self.host),
                request.rule_state,
                &shared.lookups.maps,
            )
        }
    }
}
