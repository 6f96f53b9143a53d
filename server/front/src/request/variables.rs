//! Gives the values of a request's variables to expressions, rewrite rules and header rules.

use crate::request::rule_state::{ClientIdentity, RuleState};
use crate::request::virtual_root::document_root;
use crate::request::{canonical, path_of, query_of, Fields, Protocol, Request};
use mehari_auth::passwords;
use mehari_config::{
    AllowDeny, Escape, Groups, Host, Pattern, Piece, RewriteMap, Settings, VariableSource, Verdict,
    Visitor,
};
use mehari_http::path::Path;
use mehari_observe::Lookup;
use mehari_resolve::maps::MapTable;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A text that a pattern has matched, and the pattern's groups in the text.
#[derive(Clone, Copy)]
pub struct Match<'a> {
    pub text: &'a [u8],
    pub groups: &'a Groups,
}

/// The name of a note, and its value.
pub type Note = (Vec<u8>, Vec<u8>);

pub struct ExpressionVariables<'a> {
    pub request: &'a Request<'a>,
    pub host: &'a Host,
    pub rule_state: Option<&'a RuleState>,
    pub maps: &'a MapTable,
    /// The decoded path that a rule has made. `None`: the request's own path counts.
    pub path: Option<&'a [u8]>,
    pub query: &'a [u8],
    /// The mapped file. Empty while it is unknown.
    pub file: &'a [u8],
    pub path_info: &'a [u8],
    /// The variables that `SetEnv` sets in the place of the request. Empty before the response.
    pub set_env: &'a [(String, String)],
    /// The variables that `PerlSetEnv` has set.
    pub perl_env: &'a [(String, String)],
    /// The match of the rule's pattern (`$1`), and that of the last condition (`%1`).
    pub groups: Option<Match<'a>>,
    pub condition: Option<Match<'a>>,
    pub escape: Option<&'a Escape>,
    /// The response's status. 0: there is no response yet.
    pub status: u16,
    pub lines: &'a [u8],
    pub came: SystemTime,
    pub lasted: Duration,
    /// Whether the values are those before an internal redirect, which has renamed the variables.
    pub is_before_redirect: bool,
    /// Whether Apache would make a sub-request for this path: an index or a fallback.
    pub is_lookup: bool,
    /// The fields of the request that conditions have read.
    pub varying: RefCell<Vec<String>>,
    /// What `Header note` notes.
    pub notes: RefCell<Vec<Note>>,
}

impl<'a> ExpressionVariables<'a> {
    pub fn new(
        request: &'a Request<'a>,
        host: &'a Host,
        state: Option<&'a RuleState>,
        maps: &'a MapTable,
    ) -> ExpressionVariables<'a> {
        ExpressionVariables {
            request,
            host,
            rule_state: state,
            maps,
            path: None,
            query: request.query(),
            file: &[],
            path_info: &[],
            set_env: &[],
            perl_env: &[],
            groups: None,
            condition: None,
            escape: None,
            status: 0,
            lines: &[],
            came: UNIX_EPOCH,
            lasted: Duration::ZERO,
            is_before_redirect: false,
            is_lookup: false,
            varying: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// Returns the variables as they are for another path and its file. `is_lookup`: Apache would
    /// make a sub-request for the path.
    pub fn of_place<'b>(
        &'b self,
        path: &'b [u8],
        file: &'b [u8],
        path_info: &'b [u8],
        is_lookup: bool,
    ) -> ExpressionVariables<'b> {
        ExpressionVariables {
            is_lookup,
            path: Some(path),
            file,
            path_info,
            varying: RefCell::default(),
            notes: RefCell::default(),
            ..*self
        }
    }

    pub fn environment(&self, name: &str) -> Option<Vec<u8>> {
        let noted_name = if self.is_before_redirect {
            Cow::Owned([b"REDIRECT_", name.as_bytes()].concat())
        } else {
            Cow::Borrowed(name.as_bytes())
        };
        let state = self.rule_state;
        let noted = state.and_then(|state| state.variable(&noted_name));
        let configured = || {
            // A Perl handler may have removed a variable that `PerlSetEnv` has set.
            let is_told = state.is_some_and(|state| state.is_told(name.as_bytes()));
            let by_perl = self.perl_env.iter().filter(|_| !is_told);
            let mut known = self.set_env.iter().chain(by_perl);
            known
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_bytes())
        };
        if let (None, "REDIRECT_STATUS", Some((redirect, _))) =
            (noted, name, self.request.redirected_from())
        {
            return Some(redirect.status.to_string().into_bytes());
        }
        noted.or_else(configured).map(<[u8]>::to_vec)
    }

    /// Whether a page with server-side includes requests this path as a part.
    pub fn is_within(&self) -> bool {
        self.rule_state.is_some_and(|state| state.is_within)
    }

    fn identity(&self) -> Option<&ClientIdentity> {
        self.rule_state.map(|state| &state.identity)
    }

    fn field(&self, name: &str, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.sent_field(name).unwrap_or_default());
    }

    /// Whether the request has the field.
    pub fn has_field(&self, name: &str) -> bool {
        self.sent_field(name).is_some()
    }

    /// Returns the value of a field. If the request has several fields of this name, a rule sees
    /// all of them, so that no client hides a value behind another one.
    fn sent_field(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let changed = self.rule_state.and_then(|state| state.fields.as_ref());
        match changed {
            Some(fields) => Fields::Owned(fields).joined(name),
            None if name.eq_ignore_ascii_case("host") => Some(self.request.host.into()),
            None => self.request.fields.joined(name),
        }
    }

    /// Returns the value of the last field whose name matches. The names of HTTP/2 are written as
    /// in HTTP/1, `X-Name`, as in Apache.
    pub fn last_field(&self, names: &Pattern) -> Vec<u8> {
        let changed = self.rule_state.and_then(|state| state.fields.as_ref());
        let fields = changed.map_or(self.request.fields, |fields| Fields::Owned(fields));
        let mut known = HashSet::new();
        let mut last = None;
        for (name, _) in fields {
            let as_written = match self.request.protocol {
                Protocol::Http2 => Cow::Owned(capitalized(name)),
                Protocol::Http10 | Protocol::Http11 => Cow::Borrowed(name),
            };
            if known.insert(name.to_ascii_lowercase()) && names.matches(&as_written) {
                last = Some(name);
            }
        }
        let value = last.and_then(|name| self.sent_field(std::str::from_utf8(name).ok()?));
        value.map_or_else(Vec::new, Cow::into_owned)
    }

    /// Returns the path for rules. It is decoded, so that no other spelling of a path bypasses a
    /// rule.
    fn path(&self) -> Cow<'_, [u8]> {
        let raw = self.request.path();
        match self.path {
            Some(path) => Cow::Borrowed(path),
            None => match Path::decode_as(raw, self.host.mapping.encoded_slashes()) {
                Ok(path) => Cow::Owned(path.merged),
                Err(_) => Cow::Borrowed(raw),
            },
        }
    }

    fn variable(&self, name: &str, into: &mut Vec<u8>) {
        let request = self.request;
        let peer = request.peer;
        let text: &[u8] = match name {
            "REQUEST_METHOD" => request.method,
            "REQUEST_URI" | "DOCUMENT_URI" => return into.extend_from_slice(&self.path()),
            "REQUEST_FILENAME" | "SCRIPT_FILENAME" if self.file.is_empty() => {
                return into.extend_from_slice(&self.path())
            }
            "REQUEST_FILENAME" | "SCRIPT_FILENAME" => self.file,
            "DOCUMENT_ROOT" => document_root(self.host, self.rule_state),
            "QUERY_STRING" => self.query,
            "PATH_INFO" => self.path_info,
            "REMOTE_HOST" => {
                let name = self.identity().and_then(ClientIdentity::client_name);
                name.unwrap_or_else(|| peer.remote_addr.as_bytes())
            }
            "REMOTE_ADDR" | "CONN_REMOTE_ADDR" => peer.remote_addr.as_bytes(),
            "REMOTE_USER" => self
                .identity()
                .and_then(ClientIdentity::user_name)
                .unwrap_or_default(),
            "AUTH_TYPE" => self
                .identity()
                .and_then(ClientIdentity::auth_type)
                .unwrap_or_default(),
            "SERVER_NAME" => {
                return into.extend_from_slice(&canonical::name(request, &self.host.names))
            }
            "SERVER_ADDR" => peer.server_addr.as_bytes(),
            "SERVER_ADMIN" => self
                .host
                .server_admin
                .as_deref()
                .unwrap_or_default()
                .as_bytes(),
            "SERVER_SOFTWARE" => concat!("Mehari/", env!("CARGO_PKG_VERSION")).as_bytes(),
            "SERVER_PROTOCOL" if self.is_within() => b"INCLUDED",
            "SERVER_PROTOCOL" => request.protocol.name(),
            "REQUEST_SCHEME" => canonical::scheme(request, &self.host.names),
            "HTTPS" if peer.tls.is_some() => b"on",
            "HTTPS" => b"off",
            "HTTP2" if request.protocol.name().starts_with(b"HTTP/2") => b"on",
            "HTTP2" => b"off",
            "LAST_MODIFIED" => match modified(self.file) {
                Some(time) => return moment("TIME", time, into),
                None => return,
            },
            "IPV6" if peer.server_ip.is_some_and(|ip| ip.is_ipv6()) => b"on",
            "IPV6" => b"off",
            "IS_SUBREQ" if self.is_within() || self.is_lookup => b"true",
            "IS_SUBREQ" => b"false",
            "CONTEXT_PREFIX" => {
                let context = self.host.mapping.context(&self.path());
                return into.extend_from_slice(context.0.as_bytes());
            }
            "CONTEXT_DOCUMENT_ROOT" => {
                let context = self.host.mapping.context(&self.path());
                return into.extend_from_slice(context.1.as_os_str().as_encoded_bytes());
            }
            // Before a place is known, only a `ScriptAlias` has named the handler.
            "HANDLER" if self.is_of_script_alias() => b"cgi-script",
            "CONTENT_TYPE" if !self.lines.is_empty() => {
                return self.response("content-type", into);
            }
            "CONTENT_TYPE" => return self.field("Content-Type", into),
            "API_VERSION" => mehari_config::HTTPD_MODULE_MAGIC_NUMBER.as_bytes(),
            "HTTP_HOST" => request.host,
            "REMOTE_PORT" => return push(into, u64::from(peer.remote_port)),
            "SERVER_PORT" => {
                return push(into, u64::from(canonical::port(request, &self.host.names)))
            }
            "REQUEST_STATUS" if self.status > 0 => return push(into, u64::from(self.status)),
            "REQUEST_LOG_ID" | "CONN_LOG_ID" => return push(into, request.id),
            "THE_REQUEST" => {
                let parts = [request.method, request.target, request.protocol.name()];
                return into.extend_from_slice(&parts.join(&b" "[..]));
            }
            name if name.starts_with("TIME") => return moment(name, SystemTime::now(), into),
            name => match name.strip_prefix("HTTP_") {
                Some(field) => return self.field(&field.replace('_', "-"), into),
                None => return,
            },
        };
        into.extend_from_slice(text);
    }

    /// Whether the access rules of a place admit a sub-request. A password that the client has sent
    /// counts as right, and the client's name as unknown: both are checked at the place itself.
    fn is_admitted(&self, settings: &Settings) -> bool {
        const METHOD: &[u8] = b"GET";
        let (rules, peer) = (&settings.rules, self.request.peer);
        let groups = rules.authentication.group_file.as_deref();
        let visitor = Visitor {
            address: peer.remote_addr.parse().ok(),
            own_address: peer.server_ip,
            method: METHOD,
            variables: self,
            has_variable: &|name| self.environment(name).is_some(),
            user: self.identity().and_then(ClientIdentity::user_name),
            is_member: &|user, group| {
                groups.is_some_and(|file| passwords::is_member(file, user, group))
            },
            is_named: &|_| None,
        };
        let allows = |rules: &AllowDeny| rules.grants(&visitor) == Some(true);
        let is_allowed = rules.allow_deny.as_ref().is_none_or(allows);
        if is_allowed == rules.satisfies_any(METHOD) {
            return is_allowed;
        }
        let verdict = rules.require.as_ref().map(|rule| rule.verdict(&visitor));
        match verdict {
            None => rules.authentication.kind.is_none(),
            Some(Verdict::NeedsUser) => self.has_field("Authorization"),
            Some(verdict) => matches!(verdict, Verdict::Granted | Verdict::Silent),
        }
    }

    /// Appends the value that a variable has after the path is mapped to a file.
    fn ahead(&self, name: &str, into: &mut Vec<u8>) {
        match name {
            "REQUEST_FILENAME" | "SCRIPT_FILENAME" if self.file.is_empty() => {
                let path = self.path();
                let mapped = self.host.mapping.map(&path);
                into.extend_from_slice(mapped.file.as_os_str().as_bytes());
            }
            name => self.variable(name, into),
        }
    }

    fn is_of_script_alias(&self) -> bool {
        let path = self.path();
        self.host.mapping.map(&path).script
    }

    /// Appends the value of a field of the response.
    fn response(&self, name: &str, into: &mut Vec<u8>) {
        let lines = self.lines.split(|byte| *byte == b'\n');
        for line in lines {
            let Some(at) = memchr::memchr(b':', line) else {
                continue;
            };
            if line[..at].eq_ignore_ascii_case(name.as_bytes()) {
                return into.extend_from_slice(line[at + 1..].trim_ascii());
            }
        }
    }

    /// Returns the answer of a `RewriteMap` program. If the program was not asked yet, notes that
    /// it must be asked.
    fn program_value(&self, map: &str, key: Vec<u8>) -> Option<Vec<u8>> {
        match self.rule_state.and_then(|state| state.looked_up(map, &key)) {
            Some(value) => value.clone(),
            None => {
                self.maps.note_wanted(map, key);
                None
            }
        }
    }

    /// Appends the value of a piece of a `Header` line. Like Apache, writes `(null)` for a variable
    /// that is not set.
    fn put_or_null(&self, piece: &Piece, into: &mut Vec<u8>) {
        let before = into.len();
        self.put(piece, into);
        let is_set = match piece {
            Piece::Environment(name) => self.environment(name).is_some(),
            _ => into.len() > before,
        };
        if !is_set {
            into.extend_from_slice(b"(null)");
        }
    }

    fn group(&self, of: Option<Match<'_>>, number: usize, into: &mut Vec<u8>) {
        let Some(bytes) = of.and_then(|of| of.groups.get(of.text, number)) else {
            return;
        };
        match self.escape {
            Some(escape) => escape.put(bytes, into),
            None => into.extend_from_slice(bytes),
        }
    }
}

/// Returns a name with the capital letters that are usual in HTTP/1: `X-Name`.
fn capitalized(name: &[u8]) -> Vec<u8> {
    let mut name = name.to_vec();
    for word in name.split_mut(|byte| *byte == b'-') {
        if let Some(first) = word.first_mut() {
            first.make_ascii_uppercase();
        }
    }
    name
}

impl VariableSource for ExpressionVariables<'_> {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        match piece {
            Piece::Literal(bytes) => into.extend_from_slice(bytes),
            Piece::Variable(name) => self.variable(name, into),
            Piece::Ahead(name) => self.ahead(name, into),
            Piece::Field(name) | Piece::UnvariedField(name) => self.field(name, into),
            Piece::Response(name) => self.response(name, into),
            // Only expressions about health checks have it.
            Piece::CheckedBody => {}
            Piece::Environment(name) => into.extend(self.environment(name).unwrap_or_default()),
            Piece::Note(name) => {
                let notes = self.notes.borrow();
                let is = |(known, _): &&Note| known.eq_ignore_ascii_case(name.as_bytes());
                let note = notes.iter().rev().find(is);
                into.extend_from_slice(note.map_or(&[], |(_, value)| value));
            }
            Piece::Group(number) => self.group(self.groups, *number, into),
            Piece::Condition(number) => self.group(self.condition, *number, into),
            Piece::Call(function, text) => into.extend(function.apply(&text.of(self))),
            Piece::Tls(name) if name == "HTTPS" => self.variable(name, into),
            Piece::Tls(name) => {
                let session = self.request.peer.tls.as_ref();
                let value = session.and_then(|session| session.value(name));
                into.extend_from_slice(value.unwrap_or_default().as_bytes());
            }
            Piece::OrNull(piece) => self.put_or_null(piece, into),
            Piece::Map { name, key, default } => {
                let key = key.of(self);
                let found = match self.host.rules.maps.get(name) {
                    Some(RewriteMap::Internal(function)) => Some(function.apply(&key)),
                    Some(RewriteMap::File { path, random }) => self.maps.value(path, *random, &key),
                    Some(RewriteMap::Sdbm(path)) => self.maps.of_pages(path, &key),
                    Some(RewriteMap::Program(_)) => self.program_value(name, key),
                    None => None,
                };
                match found {
                    Some(value) => into.extend_from_slice(&value),
                    None => default.put(self, into),
                }
            }
            Piece::Time => {
                let since = self.came.duration_since(UNIX_EPOCH).unwrap_or_default();
                into.extend_from_slice(format!("t={}", since.as_micros()).as_bytes());
            }
            Piece::Duration => {
                into.extend_from_slice(format!("D={}", self.lasted.as_micros()).as_bytes());
            }
        }
    }

    /// Whether or not the file exists, the rules of its place decide.
    fn admits(&self, path: &[u8], file: Option<&std::path::Path>) -> bool {
        let query = query_of(path);
        let Ok(path) = Path::decode(path_of(path)) else {
            return false;
        };
        let path = path.merged;
        let file = match file {
            Some(file) => Cow::Borrowed(file),
            None => Cow::Owned(self.host.mapping.map(&path).file),
        };
        let settings = self.host.settings(&path, Some(&file));
        // The rules of that place may ask about a place too.
        if settings.denied || self.is_lookup {
            return !settings.denied;
        }
        let file = file.as_os_str().as_bytes();
        let there = ExpressionVariables {
            query,
            ..self.of_place(&path, file, b"", true)
        };
        there.is_admitted(&settings)
    }

    fn note_varying(&self, field: Cow<'_, str>) {
        self.varying.borrow_mut().push(field.into_owned());
    }
}

fn push(into: &mut Vec<u8>, number: u64) {
    into.extend_from_slice(mehari_observe::Decimal::new(number).text());
}

/// Returns the time of a file's last change.
pub fn modified(file: &[u8]) -> Option<SystemTime> {
    let found = std::fs::metadata(OsStr::from_bytes(file));
    found.and_then(|found| found.modified()).ok()
}

/// Appends the value that `TIME`, `TIME_YEAR` and so on have at this time. As in Apache, the
/// time is local.
fn moment(name: &str, time: SystemTime, into: &mut Vec<u8>) {
    let format = match name {
        "TIME_YEAR" => "%Y",
        "TIME_MON" => "%m",
        "TIME_DAY" => "%d",
        "TIME_HOUR" => "%H",
        "TIME_MIN" => "%M",
        "TIME_SEC" => "%S",
        "TIME_WDAY" => "%w",
        _ => "%Y%m%d%H%M%S",
    };
    into.extend(mehari_observe::local_time(time, format));
}
