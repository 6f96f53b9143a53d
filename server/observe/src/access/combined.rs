//! Writes lines in Apache's combined format: `%h %l %u %t "%r" %>s %b "%{Referer}i"
//! "%{User-Agent}i"`.

use super::AccessEntry;
use crate::escape::{decimal, log_item, status};

/// Appends the line. `time` is the text between the brackets.
pub fn write(line: &mut Vec<u8>, entry: &AccessEntry<'_>, time: &[u8]) {
    match entry.name {
        None => line.extend_from_slice(entry.remote),
        Some(name) => log_item(line, name),
    }
    match entry.user {
        None => line.extend_from_slice(b" - - ["),
        Some(user) => named(line, user),
    }
    line.extend_from_slice(time);
    line.extend_from_slice(b"] \"");
    request_line(line, entry);
    line.extend_from_slice(b"\" ");
    status(line, entry.status);
    line.push(b' ');
    match entry.bytes {
        0 => line.push(b'-'),
        bytes => decimal(line, bytes),
    }
    quoted(line, entry.referer);
    quoted(line, entry.user_agent);
    line.push(b'\n');
}

/// Appends the value of `%r`: `-` for a request without a request line, and no protocol for a
/// request of HTTP/0.9.
pub fn request_line(line: &mut Vec<u8>, entry: &AccessEntry<'_>) {
    if entry.method.is_empty() {
        line.push(b'-');
        return;
    }
    log_item(line, entry.method);
    line.push(b' ');
    log_item(line, entry.target);
    if !entry.protocol.is_empty() {
        line.push(b' ');
        line.extend_from_slice(entry.protocol);
    }
}

fn named(line: &mut Vec<u8>, user: &[u8]) {
    line.extend_from_slice(b" - ");
    match user {
        b"" => line.extend_from_slice(b"\"\""),
        user => log_item(line, user),
    }
    line.extend_from_slice(b" [");
}

fn quoted(line: &mut Vec<u8>, value: Option<&[u8]>) {
    let Some(value) = value else {
        line.extend_from_slice(b" \"-\"");
        return;
    };
    line.extend_from_slice(b" \"");
    log_item(line, value);
    line.push(b'"');
}
