//! Writes a request's log lines and counts its end.

use crate::pipeline::RequestContext;
use crate::request::rule_state::RuleState;
use crate::request::{path_of, Fields, Peer, Table};
use crate::shared::watched::EndedRequest;
use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_observe::{AccessEntry, Ending, Lookup, More, Origin};
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
        }
    }
}

impl AccessRecord {
    /// Returns the time since the request's start. Zero if durations are not needed.
    pub fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
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

    /// Writes the access line and counts the request's end. An unreadable request has neither
    /// method nor target.
    pub fn end<'a>(
        &'a self,
        shared: &Shared,
        peer: &'a Peer,
        line: Option<(&'a [u8], &'a [u8])>,
        fields: Fields<'a>,
    ) {
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
        let entry = self.entry(peer, line, fields);
        if shared.stats.log_needs.get().more {
            self.log_more(shared, peer, fields, entry)
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
        let (mut referer, mut user_agent) = (None, None);
        let (name, user, fields) = match self.rule_state.as_deref() {
            None => (None, None, fields),
            Some(state) => (
                state.identity.client_name(),
                state.identity.user_name(),
                state.changed_fields().unwrap_or(fields),
            ),
        };
        fields.iter().for_each(|(name, value)| match name.len() {
            7 if name.eq_ignore_ascii_case(b"referer") => referer = Some(value),
            10 if name.eq_ignore_ascii_case(b"user-agent") => user_agent = Some(value),
            _ => {}
        });
        let (method, target) = line.unwrap_or_default();
        AccessEntry {
            remote: self.client(peer).remote_addr.as_bytes(),
            name,
            user,
            time: self.time,
            method,
            target,
            protocol: line.map_or(&[], |_| self.protocol.name()),
            status: self.logged_status(),
            bytes: self.record.sent,
            referer,
            user_agent,
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
        fields: Fields<'a>,
        entry: AccessEntry<'a>,
    ) {
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
        let more = More {
            peer: peer.remote_addr.as_bytes(),
            peer_port: peer.remote_port,
            server_addr: peer.server_addr.as_bytes(),
            server_port: peer.server_port,
            server_name: server_name.map_or(peer.server_addr.as_bytes(), str::as_bytes),
            fields: all.as_slice(),
            response: &self.record.response,
            environment: self
                .settings
                .as_ref()
                .map_or(&[], |settings| &settings.programs.set_env),
            variables: state.map_or(&[], |state| &state.variables),
            query: state.and_then(|state| state.query.as_deref()),
            tls: peer.tls.as_deref().map(|session| session as &dyn Lookup),
            file: route.map_or(&[], |route| &route.file),
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
        };
        shared
            .journal
            .access(self.host, &AccessEntry { more, ..entry });
    }
}
