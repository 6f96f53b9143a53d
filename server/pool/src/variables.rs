//! Lists the meta-variables of a request (RFC 3875 section 4.1): the environment of a CGI program.
//!
//! Every rung uses this list. The order is: variables passed on from the server's environment,
//! variables of the configuration, variables about the server, variables about the request, then
//! the header fields in order of first arrival. A later variable replaces an earlier one of the
//! same name.

use crate::{Body, Call, Task};
use mehari_observe::Decimal;

/// The sources of variables outside of the [`Call`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// PATH and TZ from the server's environment.
    pub passed: &'a [(&'a [u8], &'a [u8])],
    /// The value of SERVER_SOFTWARE.
    pub software: &'a [u8],
    /// The value of SERVER_ADMIN.
    pub admin: Option<&'a [u8]>,
    /// REMOTE_USER and AUTH_TYPE if the server authenticated the request.
    pub user: Option<&'a [u8]>,
    pub auth_type: Option<&'a [u8]>,
    /// A text unique to this server process. UNIQUE_ID is this text with the request's number.
    pub instance: &'a [u8],
    /// `CGIPassAuth On`: the script sees Authorization.
    pub authorization: bool,
}

/// Calls `add` with every name and value.
pub fn each(call: &Call<'_>, around: &Surroundings<'_>, add: &mut dyn FnMut(&[u8], &[u8])) {
    for (name, value) in around.passed.iter().chain(call.environment.variables) {
        add(name, value);
    }
    server(call, around, add);
    request(call, around, add);
    fields(call, around.authorization, add);
}

fn server(call: &Call<'_>, around: &Surroundings<'_>, add: &mut dyn FnMut(&[u8], &[u8])) {
    add(b"GATEWAY_INTERFACE", b"CGI/1.1");
    add(b"SERVER_SOFTWARE", around.software);
    add(b"SERVER_NAME", call.connection.server_name);
    add(b"SERVER_ADDR", call.connection.server_addr);
    add(
        b"SERVER_PORT",
        Decimal::new(call.connection.server_port.into()).text(),
    );
    let protocol = call.line.protocol;
    add(
        b"SERVER_PROTOCOL",
        if call.led.is_within {
            b"INCLUDED"
        } else {
            protocol
        },
    );
    add(b"DOCUMENT_ROOT", call.path.document_root);
    if let Some(admin) = around.admin {
        add(b"SERVER_ADMIN", admin);
    }
}

fn request(call: &Call<'_>, around: &Surroundings<'_>, add: &mut dyn FnMut(&[u8], &[u8])) {
    add(b"REQUEST_METHOD", call.line.method);
    add(b"REQUEST_SCHEME", call.connection.scheme);
    if call.connection.scheme == b"https" {
        add(b"HTTPS", b"on");
    }
    add(b"REQUEST_URI", call.line.target);
    add(b"QUERY_STRING", call.line.query);
    add(b"SCRIPT_NAME", call.path.script_name);
    if let Task::Script { file, .. } | Task::Psgi { file, .. } | Task::Front { file, .. } =
        call.task
    {
        add(b"SCRIPT_FILENAME", file);
    }
    if !call.path.path_info.is_empty() {
        add(b"PATH_INFO", call.path.path_info);
        add(b"PATH_TRANSLATED", call.path.path_translated);
    }
    add(b"REMOTE_ADDR", call.connection.remote_addr);
    add(
        b"REMOTE_PORT",
        Decimal::new(call.connection.remote_port.into()).text(),
    );
    if let Some(user) = around.user {
        add(b"REMOTE_USER", user);
    }
    if let Some(auth_type) = around.auth_type {
        add(b"AUTH_TYPE", auth_type);
    }
    let number = Decimal::new(call.request_id);
    let id = [around.instance, b"-", number.text()].concat();
    add(b"UNIQUE_ID", &id);
    if let Some(length) = content_length(call) {
        add(b"CONTENT_LENGTH", Decimal::new(length).text());
    }
}

/// Returns the length of the body as the script reads it, even if the client sent the body in
/// chunks.
fn content_length(call: &Call<'_>) -> Option<u64> {
    match &call.body {
        Body::Memory(bytes) => Some(bytes.len() as u64),
        Body::File(_, length) => Some(*length),
        Body::Empty => call
            .fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(b"Content-Length"))
            .then_some(0),
    }
}

/// Adds CONTENT_TYPE and the HTTP_ variables. Repeated fields are joined, so each name occurs once.
fn fields(call: &Call<'_>, authorization: bool, add: &mut dyn FnMut(&[u8], &[u8])) {
    let mut variable = Vec::with_capacity(32);
    for (index, (name, value)) in call.fields.iter().enumerate() {
        let same = |other: &(&[u8], &[u8])| other.0.eq_ignore_ascii_case(name);
        if call.fields[..index].iter().any(same) {
            continue;
        }
        if !name_variable(name, authorization, &mut variable) {
            continue;
        }
        let others = &call.fields[index + 1..];
        if !others.iter().any(same) {
            add(&variable, value);
            continue;
        }
        let mut joined = value.to_vec();
        for (_, value) in others.iter().filter(|other| same(other)) {
            let between: &[u8] = if name.eq_ignore_ascii_case(b"Cookie") {
                b"; "
            } else {
                b", "
            };
            joined.extend_from_slice(between);
            joined.extend_from_slice(value);
        }
        add(&variable, &joined);
    }
}

/// Writes the variable's name. Returns false if the script must not see the field: `Proxy` would
/// become HTTP_PROXY, which programs obey; a name with `_` could imitate another field; credentials
/// need `CGIPassAuth On`.
fn name_variable(field: &[u8], authorization: bool, name: &mut Vec<u8>) -> bool {
    name.clear();
    let is = |known: &str| field.eq_ignore_ascii_case(known.as_bytes());
    let hidden = match field.len() {
        5 => is("Proxy"),
        13 => is("Authorization") && !authorization,
        14 => is("Content-Length"),
        19 => is("Proxy-Authorization"),
        _ => false,
    };
    if hidden {
        return false;
    }
    if is("Content-Type") {
        name.extend_from_slice(b"CONTENT_TYPE");
        return true;
    }
    name.extend_from_slice(b"HTTP_");
    for &byte in field {
        name.push(match byte {
            b'-' => b'_',
            byte if byte.is_ascii_alphanumeric() => byte.to_ascii_uppercase(),
            _ => return false,
        });
    }
    true
}

#[cfg(test)]
mod tests;
