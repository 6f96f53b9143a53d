//! Removes the fields that are for this server only, because a Connection field names them (RFC
//! 9110 section 7.6.1).
//!
//! The fields are removed before rules and scripts change fields. A client therefore cannot remove
//! a field that a rule or a script sets. Back ends do not get the removed fields.

use crate::request::{Field, Fields};

/// Connection options that are kept here. The code that uses such an option handles the field of
/// this name.
const OWN: [&str; 5] = ["", "close", "keep-alive", "upgrade", "te"];

/// Returns the fields without those that Connection names. The names are removed from Connection
/// too. `None`: Connection names no field.
pub fn without_named<'a>(fields: Fields<'a>) -> Option<Vec<Field<'a>>> {
    let mut names_fields = false;
    fields.iter().for_each(|(name, value)| {
        names_fields |= is_connection(name) && !is_own(value);
    });
    if !names_fields {
        // Most requests end here: Connection is absent or has a single option of this server.
        return None;
    }
    let connections = fields.iter().filter(|(name, _)| is_connection(name));
    let named: Vec<&[u8]> = connections
        .flat_map(|(_, value)| value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|option| !is_own(option))
        .collect();
    if named.is_empty() {
        return None;
    }
    let is_named = |name: &[u8]| named.iter().any(|option| option.eq_ignore_ascii_case(name));
    let kept = fields.iter().filter_map(|(name, value)| {
        if is_connection(name) {
            Some((name, own_option(value)?))
        } else {
            (is_framing(name) || !is_named(name)).then_some((name, value))
        }
    });
    Some(kept.collect())
}

fn is_own(option: &[u8]) -> bool {
    OWN.into_iter().any(|own| is(option, own))
}

fn is(option: &[u8], known: &str) -> bool {
    option.eq_ignore_ascii_case(known.as_bytes())
}

fn is_connection(name: &[u8]) -> bool {
    is(name, "connection")
}

/// Whether the removal of this field would change the meaning of the request.
fn is_framing(name: &[u8]) -> bool {
    ["host", "content-length", "transfer-encoding"]
        .into_iter()
        .any(|known| is(name, known))
}

/// Returns `upgrade`, the only option of Connection that is used later, if the value contains it.
fn own_option(value: &[u8]) -> Option<&[u8]> {
    let mut options = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    options.find(|option| is(option, "upgrade"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_fields_go_and_what_the_connection_needs_stays() {
        let fields: [Field; 8] = [
            (b"Host", b"a"),
            (b"Connection", b"close, X-One"),
            (b"x-one", b"1"),
            (b"connection", b"Host, content-length,Cookie , Upgrade"),
            (b"Upgrade", b"websocket"),
            (b"Content-Length", b"0"),
            (b"Cookie", b"a=b"),
            (b"X-Two", b"2"),
        ];
        let kept: [Field; 5] = [
            (b"Host", b"a"),
            (b"connection", b"Upgrade"),
            (b"Upgrade", b"websocket"),
            (b"Content-Length", b"0"),
            (b"X-Two", b"2"),
        ];
        assert_eq!(
            without_named(Fields::List(&fields)).as_deref(),
            Some(&kept[..])
        );
        for usual in ["keep-alive", "close", "Keep-Alive, Upgrade", "TE", ""] {
            let fields: [Field; 1] = [(b"Connection", usual.as_bytes())];
            assert_eq!(without_named(Fields::List(&fields)), None);
        }
    }
}
