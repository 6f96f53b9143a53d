//! Escapes and examines the targets of rules.

use crate::request::canonical::has_scheme;
use mehari_config::Text;
use mehari_text::percent;

pub(super) fn with_query(mut target: Vec<u8>, query: Option<&[u8]>) -> Vec<u8> {
    if let Some(query) = query {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    target
}

/// The scheme behind which no host follows.
const MAIL: &[u8] = b"mailto:";

/// Whether a target leads to another server or to another protocol.
pub(super) fn is_external(target: &[u8]) -> bool {
    has_scheme(target) || is_mail(target)
}

fn is_mail(target: &[u8]) -> bool {
    let start = target.get(..MAIL.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(MAIL))
}

/// Escapes the path of a target. Scheme and host stay as they are. As in Apache, `#` is escaped
/// too, because a client's text may contain this byte.
pub(super) fn escape_target(target: &[u8]) -> Vec<u8> {
    let start = if has_scheme(target) {
        let host = memchr::memmem::find(target, b"://").map_or(0, |at| at + 3);
        memchr::memchr(b'/', &target[host..]).map_or(target.len(), |at| host + at)
    } else if is_mail(target) {
        MAIL.len()
    } else {
        0
    };
    let (host, path) = target.split_at(start);
    [host, &percent::encode_path(path)].concat()
}

/// Whether a rule has made a hidden name from the client's text. For example, `^/x(.*) /$1` makes
/// `.htpasswd` from `/x.htpasswd`. A hidden name begins with a dot. It is permitted if it stands in
/// the path before the rule, in the rule, or in the document root.
pub(super) fn uncovers(target: &[u8], before: &[u8], rule: &Text, root: &[u8]) -> bool {
    let stands_in = |path: &[u8], part: &[u8]| segments(path).any(|known| known == part);
    hidden(target)
        .any(|part| !rule.has_segment(part) && !stands_in(before, part) && !stands_in(root, part))
}

pub(super) fn has_hidden(path: &[u8]) -> bool {
    hidden(path).next().is_some()
}

/// Returns the segments that begin with a dot. `.` and `..` are not among them, because they are
/// normalised later.
fn hidden(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_hidden = |part: &&[u8]| part.starts_with(b".") && !matches!(part, &b"." | &b"..");
    segments(path).filter(is_hidden)
}

fn segments(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}
