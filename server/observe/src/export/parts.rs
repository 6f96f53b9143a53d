//! Makes the spans of a request from the parts of its timeline. The names of attributes are those
//! of OpenTelemetry's semantic conventions, or begin with `mehari.`. `spans` finds the parents.

use super::json::{number, text, Attribute};
use super::statement::{summary, without_values};
use super::ExportedRequest;
use crate::trace::PerlPart;

/// The kinds of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The methods that HTTP defines. Others are `_OTHER`, as the conventions demand.
const METHODS: [&str; 10] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "QUERY",
];
/// The longest text of an attribute in bytes.
const LONGEST: usize = 4096;
/// The front's wait for a back end.
pub const BACK_END: &str = "back end";
/// The wait for a worker, and the time of a worker.
pub const QUEUE: &str = "queue";
pub const WORKER: &str = "worker";

/// A span without its place among the others, or with it.
pub struct Span {
    pub id: u64,
    pub parent: Option<u64>,
    pub name: String,
    pub kind: SpanKind,
    pub from: u64,
    pub until: u64,
    pub attributes: Vec<Attribute>,
    pub is_failed: bool,
}

/// Returns the span of the whole request.
pub fn whole(exported: &ExportedRequest) -> Span {
    let (timeline, request) = (&exported.timeline, &exported.request);
    let known = METHODS.into_iter().find(|known| *known == timeline.method);
    let until = timeline
        .front
        .last()
        .map_or(timeline.began, |part| part.until);
    let mut attributes = vec![
        text("http.request.method", known.unwrap_or("_OTHER")),
        text("url.scheme", request.scheme),
        text("url.path", cut(without_query(&timeline.target))),
        text("server.address", &*request.host),
        text("client.address", &*request.client),
        text("network.peer.address", &*timeline.client),
        text("network.protocol.version", request.version),
        number("http.response.status_code", timeline.status),
        number("mehari.request.id", timeline.request_id),
    ];
    if known.is_none() {
        let method = cut(&timeline.method);
        attributes.push(text("http.request.method_original", method));
    }
    attributes.extend(request.port.map(|port| number("server.port", port)));
    if !request.user_agent.is_empty() {
        attributes.push(text("user_agent.original", cut(&request.user_agent)));
    }
    let is_failed = timeline.status >= 500;
    if is_failed {
        attributes.push(text("error.type", timeline.status.to_string()));
    }
    if timeline.left_out > 0 {
        attributes.push(number("mehari.parts.left_out", timeline.left_out));
    }
    Span {
        id: request.identity.span,
        parent: request.identity.parent,
        name: known.unwrap_or("HTTP").to_owned(),
        kind: SpanKind::Server,
        from: timeline.began,
        until,
        attributes,
        is_failed,
    }
}

/// Returns the front's parts, and then the waits for a worker.
pub fn own_parts(request: &ExportedRequest) -> Vec<Span> {
    let timeline = &request.timeline;
    let mut began = timeline.began;
    let mut parts: Vec<Span> = Vec::new();
    for part in &timeline.front {
        let from = std::mem::replace(&mut began, part.until);
        let mut span = internal(part.name, from, part.until);
        if part.name == BACK_END {
            span.kind = SpanKind::Client;
        }
        parts.push(span);
    }
    let waits = timeline.queued.iter().filter(|wait| wait.until > 0);
    parts.extend(waits.map(|wait| internal(QUEUE, wait.from, wait.until)));
    parts
}

/// Returns the parts of the worker, cut to the time of the request.
pub fn perl_parts(request: &ExportedRequest) -> impl Iterator<Item = Span> + '_ {
    let (began, ended) = (request.timeline.began, request.ended);
    request.timeline.perl.iter().map(move |part| {
        let mut span = of_perl(part);
        span.from = span.from.clamp(began, ended.max(began));
        span.until = span.until.clamp(span.from, ended.max(span.from));
        span
    })
}

fn internal(name: &str, from: u64, until: u64) -> Span {
    Span {
        id: 0,
        parent: None,
        name: name.to_owned(),
        kind: SpanKind::Internal,
        from,
        until,
        attributes: Vec::new(),
        is_failed: false,
    }
}

/// Returns the span of a part that a worker has reported.
fn of_perl(part: &PerlPart) -> Span {
    let name = match part.kind {
        "request" => WORKER,
        "sub-request" => without_query(&part.name),
        _ => &part.name,
    };
    let mut span = internal(cut(name), part.from, part.until);
    span.attributes.push(number("process.pid", part.pid));
    let object = name.split_once(' ').map(|(_, object)| object);
    match (part.kind, object) {
        ("handler", Some(code)) => span.attributes.push(text("code.function.name", cut(code))),
        ("script", Some(file)) => span.attributes.push(text("code.file.path", cut(file))),
        ("sub-request", Some(_)) => {
            let path = name.find('/').map_or("", |at| &name[at..]);
            span.attributes.push(text("url.path", cut(path)));
        }
        ("statement", _) => describe_statement(part, &mut span),
        _ => {}
    }
    if part.count > 1 {
        span.attributes.push(number("mehari.calls", part.count));
        let busy = number("mehari.calls.duration_ns", part.busy);
        span.attributes.push(busy);
    }
    span
}

/// Describes a call of DBI. Its name is `METHOD: STATEMENT`, or the method alone.
fn describe_statement(part: &PerlPart, span: &mut Span) {
    let (method, statement) = part.name.split_once(": ").unwrap_or((&part.name, ""));
    span.kind = SpanKind::Client;
    span.name = format!("DBI {method}");
    span.attributes
        .push(text("db.system.name", system(part.driver.as_deref())));
    span.attributes
        .push(text("code.function.name", format!("DBI::{method}")));
    if !statement.is_empty() {
        let query = without_values(statement);
        span.attributes.push(text("db.query.text", cut(&query)));
    }
    if let Some(summary) = summary(statement) {
        let operation = summary.split(' ').next().unwrap_or_default();
        span.attributes.push(text("db.operation.name", operation));
        span.attributes.push(text("db.query.summary", &*summary));
        span.name = summary;
    }
    let rows = part
        .rows
        .map(|rows| number("db.response.returned_rows", rows));
    span.attributes.extend(rows);
}

/// Returns the name of the conventions for the database behind a driver of DBI.
fn system(driver: Option<&str>) -> &'static str {
    match driver {
        Some("Pg" | "PgPP") => "postgresql",
        Some("mysql") => "mysql",
        Some("MariaDB") => "mariadb",
        Some("SQLite") => "sqlite",
        Some("Oracle") => "oracle.db",
        Some("DB2") => "ibm.db2",
        Some("Firebird" | "InterBase") => "firebirdsql",
        Some("Sybase") => "sybase",
        Some(_) | None => "other_sql",
    }
}

fn without_query(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

/// Returns the beginning of a long text.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
