//! Writes lines in a site's own `LogFormat`. Bytes from clients are escaped as in the combined
//! format.

use super::{combined, AccessEntry, Ending};
use crate::clock::{self, Clock, Style};
use crate::escape::{decimal, log_item, padded};
use mehari_config::{LogField, LogItem, LogTime, TimeStyle, TimeUnit};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Appends the line. `time` is the text between the brackets of `%t`.
pub fn write(line: &mut Vec<u8>, items: &[LogItem], entry: &AccessEntry<'_>, time: &[u8]) {
    for item in items {
        match item {
            LogItem::Text(text) => line.extend_from_slice(text.as_bytes()),
            LogItem::Field {
                field,
                statuses,
                original,
            } => {
                if applies(statuses.as_ref(), entry.status) {
                    value(line, field, *original, entry, time)
                } else {
                    line.push(b'-')
                }
            }
        }
    }
    line.push(b'\n');
}

fn applies(statuses: Option<&(bool, Vec<u16>)>, status: u16) -> bool {
    statuses.is_none_or(|(negated, list)| list.contains(&status) != *negated)
}

fn value(
    line: &mut Vec<u8>,
    field: &LogField,
    original: bool,
    entry: &AccessEntry<'_>,
    time: &[u8],
) {
    let more = &entry.more;
    match field {
        LogField::ClientName => log_item(line, entry.client()),
        LogField::ClientAddress => log_item(line, entry.remote),
        LogField::PeerAddress => log_item(line, more.peer),
        LogField::LocalAddress => log_item(line, more.server_addr),
        LogField::BodyBytes(false) if entry.bytes == 0 => line.push(b'-'),
        LogField::BodyBytes(_) => decimal(line, entry.bytes),
        LogField::Cookie(name) => text(line, cookie(entry, name)),
        LogField::Duration(unit) => decimal(line, entry.total_us / in_microseconds(*unit)),
        LogField::Environment(name) => text(line, environment(entry, name)),
        LogField::FileName => text(line, filled(more.file)),
        LogField::Protocol => text(line, filled(entry.protocol)),
        LogField::RequestField(name) => text(line, request_fields(entry, name).as_deref()),
        LogField::ResponseField(name) => text(line, response_field(entry, name)),
        LogField::KeptAlive => decimal(line, more.kept),
        LogField::Nothing => line.push(b'-'),
        LogField::RequestId => decimal(line, entry.request_id),
        LogField::Method => text(line, more.method.or(filled(entry.method))),
        LogField::Note(name) => text(line, note(entry, name)),
        LogField::ServerPort => decimal(line, u64::from(more.server_port)),
        LogField::ClientPort => decimal(line, u64::from(more.peer_port)),
        LogField::Process => decimal(line, u64::from(std::process::id())),
        LogField::Worker => decimal(line, u64::from(entry.worker.unwrap_or(std::process::id()))),
        LogField::Query => match more.query {
            Some(b"") => {}
            Some(query) => {
                line.push(b'?');
                log_item(line, query);
            }
            None => log_item(line, query(target(entry, original))),
        },
        LogField::RequestLine => combined::request_line(line, entry),
        LogField::Handler => text(line, filled(more.handler.as_bytes())),
        LogField::Status => decimal(line, u64::from(status(entry, original))),
        LogField::Time(wanted) => moment(line, wanted, entry, time),
        LogField::User => match entry.user {
            Some(b"") => line.extend_from_slice(b"\"\""),
            user => text(line, user),
        },
        LogField::Path => {
            let asked = || filled(path(target(entry, original)));
            text(line, more.path.or_else(asked))
        }
        LogField::ServerName => text(line, filled(more.server_name)),
        LogField::RequestHost => text(
            line,
            request_field(entry, "Host").or(filled(more.server_name)),
        ),
        LogField::ConnectionStatus => line.push(match more.ends {
            Ending::Aborted => b'X',
            Ending::Kept => b'+',
            Ending::Closed => b'-',
        }),
        LogField::BytesIn => decimal(line, more.bytes_in),
        LogField::BytesOut => decimal(line, more.bytes_out),
        LogField::BytesBoth => decimal(line, more.bytes_in + more.bytes_out),
        LogField::Tls(name) => {
            let value = more.tls.and_then(|tls| tls.value(name));
            text(line, value.map(str::as_bytes));
        }
        LogField::Queued => decimal(line, entry.queue_us),
        LogField::Cache => text(
            line,
            Some(more.cache.as_bytes()).filter(|part| !part.is_empty()),
        ),
        LogField::Backend => decimal(line, more.backend_us),
    }
}

fn text(line: &mut Vec<u8>, value: Option<&[u8]>) {
    log_item(line, value.unwrap_or(b"-"));
}

fn filled(value: &[u8]) -> Option<&[u8]> {
    (!value.is_empty()).then_some(value)
}

fn in_microseconds(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Seconds => 1_000_000,
        TimeUnit::Milliseconds => 1000,
        TimeUnit::Microseconds => 1,
    }
}

fn status(entry: &AccessEntry<'_>, original: bool) -> u16 {
    if original && entry.more.first_status > 0 {
        entry.more.first_status
    } else {
        entry.status
    }
}

fn target<'a>(entry: &AccessEntry<'a>, original: bool) -> &'a [u8] {
    if original || entry.more.resource.is_empty() {
        entry.target
    } else {
        entry.more.resource
    }
}

fn path(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|&byte| byte == b'?');
    &target[..end.unwrap_or(target.len())]
}

/// Returns the query with its `?`.
fn query(target: &[u8]) -> &[u8] {
    &target[path(target).len()..]
}

fn request_field<'a>(entry: &AccessEntry<'a>, name: &str) -> Option<&'a [u8]> {
    let mut fields = entry.more.fields.iter();
    fields
        .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| *value)
}

/// Returns the values of all fields of this name, separated by commas, as in Apache.
fn request_fields(entry: &AccessEntry<'_>, name: &str) -> Option<Vec<u8>> {
    let fields = entry.more.fields.iter();
    let named = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    let values: Vec<&[u8]> = named.map(|(_, value)| *value).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}

fn response_field<'a>(entry: &AccessEntry<'a>, name: &str) -> Option<&'a [u8]> {
    let lines = entry.more.response.split(|&byte| byte == b'\n');
    let mut fields = lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    });
    fields
        .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| value)
}

/// Returns the value of a variable that the request or the configuration has set.
pub(super) fn environment<'a>(entry: &AccessEntry<'a>, name: &str) -> Option<&'a [u8]> {
    let mut noted = entry.more.variables.iter().rev();
    if let Some((_, value)) = noted.find(|(known, _)| known == name.as_bytes()) {
        return Some(value);
    }
    if entry
        .more
        .removed
        .iter()
        .any(|removed| removed == name.as_bytes())
    {
        return None;
    }
    let mut set = entry.more.environment.into_iter().flatten();
    set.find(|(known, _)| known == name)
        .map(|(_, value)| value.as_bytes())
}

fn note<'a>(entry: &AccessEntry<'a>, name: &str) -> Option<&'a [u8]> {
    let mut notes = entry.more.notes.iter();
    notes
        .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| value.as_slice())
}

fn cookie<'a>(entry: &AccessEntry<'a>, name: &str) -> Option<&'a [u8]> {
    let pairs = request_field(entry, "Cookie")?.split(|&byte| byte == b';');
    let mut pairs = pairs.map(<[u8]>::trim_ascii);
    pairs.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

fn moment(line: &mut Vec<u8>, wanted: &LogTime, entry: &AccessEntry<'_>, begin: &[u8]) {
    let time = if wanted.end {
        entry.time + Duration::from_micros(entry.total_us)
    } else {
        entry.time
    };
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    match &wanted.style {
        TimeStyle::Clf => {
            line.push(b'[');
            if wanted.end {
                line.extend_from_slice(Clock::new(Style::Combined).text(time))
            } else {
                line.extend_from_slice(begin)
            }
            line.push(b']');
        }
        TimeStyle::Epoch(unit) => {
            let micros = since.as_micros() as u64;
            decimal(line, micros / in_microseconds(*unit));
        }
        TimeStyle::Fraction(TimeUnit::Milliseconds) => padded(line, since.subsec_millis(), 3),
        TimeStyle::Fraction(_) => padded(line, since.subsec_micros(), 6),
        TimeStyle::Custom(format) => custom(line, time, format),
    }
}

fn custom(line: &mut Vec<u8>, time: SystemTime, format: &str) {
    let written = clock::formatted(time, format);
    log_item(line, &written);
}
