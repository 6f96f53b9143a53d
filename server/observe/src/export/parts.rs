//! Describes the parts of a request's timeline as spans: name, kind and attributes. The names of
//! attributes are those of OpenTelemetry's semantic conventions, or begin with `mehari.`. `spans`
//! finds numbers, parents and times.

use super::json::{cut, fixed, number_key, text, text_key, Attributes, Key};
use super::statement::{summary, without_values};
use super::{ExportedRequest, HttpVersion, Scheme};
use crate::escape::Decimal;
use crate::trace::{known_method, BackEndCall, FrontPart, PerlPart};

/// The name of the conventions for all methods that HTTP does not define.
const OTHER_METHOD: &str = "_OTHER";
/// The front's wait for a back end.
const BACK_END: &str = "back end";
/// The front's waits for a program.
const WAITS: [&str; 2] = ["Perl", "program"];
/// The kind of the part that is the whole time of a worker.
const WORKER: &str = "request";

/// The kinds of spans in OTLP.
const INTERNAL: &[u8] = b"1";
const SERVER: &[u8] = b"2";
const CLIENT: &[u8] = b"3";

/// What a span describes.
#[derive(Clone, Copy)]
pub enum SpanSubject<'a> {
    /// The request.
    Whole(&'a ExportedRequest),
    /// A part of the front, with the request to a back end for which the front waited.
    Front(&'a FrontPart, Option<&'a BackEndCall>),
    /// The wait for a worker.
    Queue,
    Perl(&'a PerlPart),
}

impl SpanSubject<'_> {
    /// Returns the name of a part of the front that has no attributes.
    #[inline]
    pub fn plain_name(self) -> Option<&'static str> {
        match self {
            SpanSubject::Front(part, _) if part.name != BACK_END => Some(part.name),
            _ => None,
        }
    }

    /// Returns how well the part fits as the one that programs and back ends know as their parent.
    /// 0: not at all.
    pub fn rank_as_inner(self) -> u8 {
        match self {
            SpanSubject::Front(part, _) if !part.waits => 0,
            SpanSubject::Front(part, _) if part.name == BACK_END => 3,
            SpanSubject::Perl(part) if part.kind == WORKER => 2,
            SpanSubject::Front(part, _) if WAITS.contains(&part.name) => 1,
            _ => 0,
        }
    }

    /// Writes the members `name`, `kind`, `attributes` and `status` of a span.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            SpanSubject::Whole(request) => write_whole(out, request),
            SpanSubject::Front(part, _) if part.name != BACK_END => {
                begin(out, part.name, INTERNAL);
            }
            SpanSubject::Front(_, call) => write_back_end(out, call),
            SpanSubject::Queue => begin(out, "queue", INTERNAL),
            SpanSubject::Perl(part) if part.kind == "statement" => write_statement(out, part),
            SpanSubject::Perl(part) => write_perl(out, part),
        }
    }
}

/// Writes `name`, which needs no escapes, and `kind`.
#[inline]
fn begin(out: &mut Vec<u8>, name: &str, kind: &[u8]) {
    out.extend_from_slice(b"\"name\":\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\",\"kind\":");
    out.extend_from_slice(kind);
}

/// Writes the name, which a script or a client may have chosen, and `kind`.
fn begin_named(out: &mut Vec<u8>, name: &str, kind: &[u8]) {
    out.extend_from_slice(b"\"name\":");
    text(out, cut(name));
    out.extend_from_slice(b",\"kind\":");
    out.extend_from_slice(kind);
}

fn write_failed(out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"status\":{\"code\":2}");
}

fn write_whole(out: &mut Vec<u8>, exported: &ExportedRequest) {
    let (timeline, request) = (&exported.timeline, &exported.request);
    let method = known_method(timeline.method.as_bytes());
    begin(out, method.unwrap_or("HTTP"), SERVER);
    let mut attributes = Attributes::begin(out);
    match method {
        Some("GET") => attributes.fixed(fixed!("http.request.method", "GET")),
        Some(method) => attributes.word(text_key!("http.request.method"), method),
        None => {
            attributes.word(text_key!("http.request.method"), OTHER_METHOD);
            attributes.text(text_key!("http.request.method_original"), &timeline.method);
        }
    }
    attributes.fixed(match request.scheme {
        Scheme::Http => fixed!("url.scheme", "http"),
        Scheme::Https => fixed!("url.scheme", "https"),
    });
    let texts = &request.texts;
    attributes.bytes(text_key!("url.path"), path_of(texts.target()));
    attributes.bytes(text_key!("server.address"), texts.host());
    if let Some(port) = request.port {
        attributes.number(number_key!("server.port"), port);
    }
    let client = texts.client().unwrap_or(texts.peer());
    attributes.bytes(text_key!("client.address"), client);
    attributes.bytes(text_key!("network.peer.address"), texts.peer());
    attributes.fixed(match request.version {
        HttpVersion::Http10 => fixed!("network.protocol.version", "1.0"),
        HttpVersion::Http11 => fixed!("network.protocol.version", "1.1"),
        HttpVersion::Http2 => fixed!("network.protocol.version", "2"),
    });
    attributes.number(number_key!("http.response.status_code"), timeline.status);
    if !texts.user_agent().is_empty() {
        attributes.bytes(text_key!("user_agent.original"), texts.user_agent());
    }
    attributes.number(number_key!("mehari.request.id"), timeline.request_id);
    if timeline.left_out > 0 {
        attributes.number(number_key!("mehari.parts.left_out"), timeline.left_out);
    }
    // A status of the client's fault is no failure of the server.
    if timeline.status >= 500 {
        write_status_failure(attributes, timeline.status);
        write_failed(out);
    } else {
        attributes.end();
    }
}

/// Ends the attributes with a status as the type of the failure.
fn write_status_failure(mut attributes: Attributes<'_>, status: u16) {
    let digits = Decimal::new(status.into());
    // Digits are UTF-8.
    let digits = std::str::from_utf8(digits.text()).unwrap_or_default();
    attributes.word(text_key!("error.type"), digits);
    attributes.end();
}

fn write_back_end(out: &mut Vec<u8>, call: Option<&BackEndCall>) {
    begin(out, BACK_END, CLIENT);
    let Some(call) = call else {
        return;
    };
    let mut attributes = Attributes::begin(out);
    if !call.address.is_empty() {
        attributes.text(text_key!("server.address"), &call.address);
    }
    if let Some(port) = call.port {
        attributes.number(number_key!("server.port"), port);
    } else if !call.address.is_empty() {
        attributes.word(text_key!("network.transport"), "unix");
    }
    match &call.url {
        Some(url) => {
            let method = known_method(call.method.as_bytes());
            attributes.word(
                text_key!("http.request.method"),
                method.unwrap_or(OTHER_METHOD),
            );
            attributes.text(text_key!("url.full"), url);
            if method.is_none() {
                attributes.text(text_key!("http.request.method_original"), &call.method);
            }
            if call.status > 0 {
                attributes.word(text_key!("network.protocol.version"), "1.1");
                attributes.number(number_key!("http.response.status_code"), call.status);
            }
        }
        None if !call.scheme.is_empty() => {
            attributes.word(text_key!("network.protocol.name"), call.scheme)
        }
        None => {}
    }
    match call.failure {
        Some(failure) => {
            attributes.word(text_key!("error.type"), failure);
            attributes.end();
        }
        None if call.url.is_some() && call.status >= 400 => {
            write_status_failure(attributes, call.status);
        }
        None => return attributes.end(),
    }
    write_failed(out);
}

/// Writes a part that a worker has reported.
fn write_perl(out: &mut Vec<u8>, part: &PerlPart) {
    let name = match part.kind {
        WORKER => "worker",
        "sub-request" => without_query(&part.name),
        _ => &part.name,
    };
    begin_named(out, name, INTERNAL);
    let mut attributes = Attributes::begin(out);
    attributes.number(number_key!("process.pid"), part.pid);
    let object = name.split_once(' ').map(|(_, object)| object);
    match (part.kind, object) {
        ("handler", Some(code)) => attributes.text(text_key!("code.function.name"), code),
        ("script", Some(file)) => attributes.text(text_key!("code.file.path"), file),
        ("sub-request", Some(_)) => {
            let path = name.find('/').map_or("", |at| &name[at..]);
            attributes.text(text_key!("url.path"), path);
        }
        _ => {}
    }
    write_calls(&mut attributes, part);
    attributes.end();
}

/// Writes a call of DBI. Its name is `METHOD: STATEMENT`, or the method alone. The operation alone
/// is no attribute: the conventions forbid to take it from the text of a statement.
fn write_statement(out: &mut Vec<u8>, part: &PerlPart) {
    let (method, statement) = part.name.split_once(": ").unwrap_or((&part.name, ""));
    let summary = summary(statement);
    match &summary {
        Some(summary) => begin_named(out, summary, CLIENT),
        None => begin_named(out, &format!("DBI {method}"), CLIENT),
    }
    let mut attributes = Attributes::begin(out);
    attributes.number(number_key!("process.pid"), part.pid);
    attributes.word(text_key!("db.system.name"), system(part.driver.as_deref()));
    attributes.text(text_key!("code.function.name"), &format!("DBI::{method}"));
    if !statement.is_empty() {
        attributes.text(text_key!("db.query.text"), &without_values(statement));
    }
    if let Some(summary) = &summary {
        attributes.text(text_key!("db.query.summary"), summary);
    }
    if let Some(rows) = part.rows {
        attributes.number(number_key!("db.response.returned_rows"), rows);
    }
    write_calls(&mut attributes, part);
    attributes.end();
}

/// Writes the attributes of a part that stands for several calls.
fn write_calls(attributes: &mut Attributes<'_>, part: &PerlPart) {
    if part.count > 1 {
        attributes.number(number_key!("mehari.calls"), part.count);
        attributes.number(number_key!("mehari.calls.duration_ns"), part.busy);
    }
}

/// Returns the name of the conventions for the database behind a driver of DBI. A driver that
/// reaches several kinds of databases is `other_sql`.
fn system(driver: Option<&str>) -> &'static str {
    match driver {
        Some("Pg" | "PgPP") => "postgresql",
        Some("mysql") => "mysql",
        Some("MariaDB") => "mariadb",
        Some("SQLite") => "sqlite",
        Some("Oracle") => "oracle.db",
        Some("DB2") => "ibm.db2",
        Some("Informix") => "ibm.informix",
        Some("Firebird" | "InterBase") => "firebirdsql",
        Some(_) | None => "other_sql",
    }
}

fn path_of(target: &[u8]) -> &[u8] {
    let query = target.iter().position(|byte| *byte == b'?');
    &target[..query.unwrap_or(target.len())]
}

fn without_query(target: &str) -> &str {
    let query = target.bytes().position(|byte| byte == b'?');
    &target[..query.unwrap_or(target.len())]
}
