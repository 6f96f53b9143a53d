//! Writes one JSON object per line. A client's bytes are always inside a string, so a client cannot
//! forge a member of the object.
//!
//! A byte that is not part of valid UTF-8 becomes the four characters `\xhh`. Every line is
//! therefore valid JSON.

use super::AccessEntry;
use crate::escape::{decimal, json_string};

/// Appends the line. `time` is an RFC 3339 date and time in UTC.
pub fn write(line: &mut Vec<u8>, entry: &AccessEntry<'_>, time: &[u8]) {
    line.extend_from_slice(b"{\"time\":\"");
    line.extend_from_slice(time);
    line.extend_from_slice(b"\",\"remote_addr\":");
    json_string(line, entry.remote);
    text(line, b",\"remote_user\":", entry.user);
    line.extend_from_slice(b",\"method\":");
    json_string(line, entry.method);
    line.extend_from_slice(b",\"target\":");
    json_string(line, entry.target);
    line.extend_from_slice(b",\"protocol\":");
    json_string(line, entry.protocol);
    number(line, b",\"status\":", Some(u64::from(entry.status)));
    number(line, b",\"bytes\":", Some(entry.bytes));
    text(line, b",\"referer\":", entry.referer);
    text(line, b",\"user_agent\":", entry.user_agent);
    number(line, b",\"request_id\":", Some(entry.request_id));
    number(line, b",\"worker\":", entry.worker.map(u64::from));
    number(line, b",\"queue_us\":", Some(entry.queue_us));
    number(line, b",\"total_us\":", Some(entry.total_us));
    line.extend_from_slice(b"}\n");
}

fn text(line: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
    line.extend_from_slice(name);
    match value {
        Some(value) => json_string(line, value),
        None => line.extend_from_slice(b"null"),
    }
}

fn number(line: &mut Vec<u8>, name: &[u8], value: Option<u64>) {
    line.extend_from_slice(name);
    match value {
        Some(value) => decimal(line, value),
        None => line.extend_from_slice(b"null"),
    }
}
