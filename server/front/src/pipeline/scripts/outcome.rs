//! Carries out the changes that a script has made to a request and its response.

use crate::request::path_of;
use crate::request::rule_state::RuleState;
use mehari_edge::{Attribute, Stage, Visit};
use mehari_text::percent;

/// The new target and the new file that a script gives to a request.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptRedirect {
    /// Path and query, percent-encoded.
    pub target: Option<Vec<u8>>,
    pub file: Option<Vec<u8>>,
}

/// Notes a script's settings for the request and its response.
pub fn note(rule_state: &mut Option<Box<RuleState>>, visit: &Visit) {
    note_request(rule_state, visit);
    note_response(rule_state, visit);
}

/// Notes the fields and variables for the handler.
pub fn note_request(rule_state: &mut Option<Box<RuleState>>, visit: &Visit) {
    let owned = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
    if visit.request.is_changed() {
        let state = rule_state.get_or_insert_with(Default::default);
        state.fields = Some(visit.request.iter().map(owned).collect());
    }
    if visit.environment.is_changed() {
        let state = rule_state.get_or_insert_with(Default::default);
        state.variables = visit.environment.iter().map(owned).collect();
    }
}

/// Notes the fields for the response, whatever makes it.
pub fn note_response(rule_state: &mut Option<Box<RuleState>>, visit: &Visit) {
    for (name, value) in visit.response.iter() {
        let set = &mut rule_state.get_or_insert_with(Default::default).edge.fields;
        if !name.eq_ignore_ascii_case(b"set-cookie") {
            set.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        }
        set.push((name.to_vec(), value.to_vec()));
    }
}

/// Returns the response's fields as header lines, for a script that responds itself.
pub fn lines(visit: &Visit) -> Vec<u8> {
    let mut lines = Vec::with_capacity(128);
    for (name, value) in visit.response.iter() {
        for part in [name, b": ", value, b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

/// Returns the new target and file of a script that lets the request continue.
pub fn script_redirect(visit: &Visit, stage: Stage) -> ScriptRedirect {
    ScriptRedirect {
        target: target(visit),
        file: match stage {
            Stage::RawUrl => None,
            _ => file(visit),
        },
    }
}

/// Returns the target of a restarted request: the URI that the script has set, or else path and
/// query.
pub fn restarted(visit: &Visit) -> Option<Vec<u8>> {
    let whole = visit.changed(Attribute::RequestUri);
    whole.map(<[u8]>::to_vec).or_else(|| target(visit))
}

fn target(visit: &Visit) -> Option<Vec<u8>> {
    let (path, raw) = (
        visit.changed(Attribute::UriPath),
        visit.changed(Attribute::UriPathRaw),
    );
    let query = visit.changed(Attribute::UriQuery);
    if path.is_none() && raw.is_none() && query.is_none() {
        return None;
    }
    let mut target = match (path, raw) {
        (Some(path), _) => percent::encode_path(path),
        (None, Some(raw)) => path_of(raw).to_vec(),
        (None, None) => visit.attribute(Attribute::UriPathRaw)?.to_vec(),
    };
    let query = query.or_else(|| visit.attribute(Attribute::UriQuery));
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    // Blanks and control characters would end a request line.
    target.retain(|byte| *byte > b' ' && *byte != 0x7f);
    Some(target)
}

fn file(visit: &Visit) -> Option<Vec<u8>> {
    if let Some(path) = visit.changed(Attribute::PhysicalPath) {
        return Some(path.to_vec());
    }
    let root = visit.changed(Attribute::PhysicalDocRoot)?;
    let behind = visit.attribute(Attribute::PhysicalRelPath)?;
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let slash: &[u8] = if behind.starts_with(b"/") { b"" } else { b"/" };
    Some([root, slash, behind].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(changes: &[(Attribute, &str)]) -> Visit {
        let mut visit = Visit::new(Stage::PhysicalPath);
        visit.set_attribute(Attribute::UriPath, b"/a b");
        visit.set_attribute(Attribute::UriPathRaw, b"/a%20b");
        visit.set_attribute(Attribute::UriQuery, b"x=1");
        visit.set_attribute(Attribute::PhysicalRelPath, b"/a b");
        for (attribute, text) in changes {
            visit.change(*attribute, text.as_bytes());
        }
        visit
    }

    #[test]
    fn what_is_set_decides_where_the_request_goes() {
        use Attribute::*;
        let text =
            |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8(bytes).expect("text"));
        for (changes, target, file, restarted) in [
            (&[][..], None, None, None),
            (
                &[(UriPath, "/c d")][..],
                Some("/c%20d?x=1"),
                None,
                Some("/c%20d?x=1"),
            ),
            (
                &[(UriPathRaw, "/c%2fd?y")],
                Some("/c%2fd?x=1"),
                None,
                Some("/c%2fd?x=1"),
            ),
            (&[(UriQuery, "")], Some("/a%20b"), None, Some("/a%20b")),
            (
                &[(UriQuery, "y=2\r\nX: 1")],
                Some("/a%20b?y=2X:1"),
                None,
                Some("/a%20b?y=2X:1"),
            ),
            (&[(RequestUri, "/new?z")], None, None, Some("/new?z")),
            (&[(PhysicalPath, "/srv/x")], None, Some("/srv/x"), None),
            (&[(PhysicalDocRoot, "/srv/")], None, Some("/srv/a b"), None),
        ] {
            let visit = visit(changes);
            let led = script_redirect(&visit, Stage::PhysicalPath);
            assert_eq!(text(led.target).as_deref(), target, "{changes:?}");
            assert_eq!(text(led.file).as_deref(), file, "{changes:?}");
            assert_eq!(
                text(super::restarted(&visit)).as_deref(),
                restarted,
                "{changes:?}"
            );
        }
    }
}
