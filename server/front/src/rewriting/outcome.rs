//! Splits and expands a rule's target: the query, an external address, a back end.

use crate::request::canonical::absolute;
use crate::request::variables::ExpressionVariables;
use mehari_config::{BackEndStart, Flags, Piece, Text};
use mehari_text::percent;

use super::target::{escape_target, is_external, with_query};
use super::{Applied, Rewritten, Run};

impl Run<'_> {
    /// Moves the text behind a `?` of the target into the query. It replaces the earlier query or
    /// precedes it.
    pub(super) fn take_query(&mut self, target: &mut Vec<u8>, flags: &Flags) {
        let at = if flags.query_last {
            memchr::memrchr(b'?', target)
        } else {
            memchr::memchr(b'?', target)
        };
        let own = at.map(|at| {
            let own = target[at + 1..].to_vec();
            target.truncate(at);
            own
        });
        self.has_query &= own.is_none() && !flags.discard_query;
        match own {
            None if flags.discard_query => self.query.clear(),
            None => {}
            Some(own) if flags.append_query && !self.query.is_empty() => {
                let before = std::mem::replace(&mut self.query, own);
                if !self.query.is_empty() {
                    self.query.push(b'&');
                }
                self.query.extend_from_slice(&before);
            }
            Some(own) => self.query = own,
        }
    }

    pub(super) fn proxy(&self, start: &BackEndStart, target: &[u8], flags: &Flags) -> Rewritten {
        let path = target.get(start.length..).unwrap_or_default();
        let path = if flags.no_escape {
            path.to_vec()
        } else {
            percent::encode_path(path)
        };
        // A blank would end the path in the request, and a control character is not allowed there.
        if path.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return Rewritten::Status(403);
        }
        Rewritten::Proxy {
            upstream: start.upstream.clone(),
            path,
            query: self.query.clone(),
        }
    }

    /// Notes a redirect to an external address. A later rule may change it.
    pub(super) fn leave(&mut self, status: u16, target: Vec<u8>, flags: &Flags) -> Applied {
        let target = if is_external(&target) || target.starts_with(b"/") {
            target
        } else {
            [self.base, &target].concat()
        };
        self.subject = absolute(self.variables.request, &self.variables.host.names, target);
        Applied::Leaving {
            status,
            no_escape: flags.no_escape,
        }
    }

    /// Returns the redirect. As in Apache, a query that rules have changed is escaped too.
    pub(super) fn redirect(&self, status: u16, no_escape: bool, plain_query: bool) -> Rewritten {
        let mut location = if no_escape {
            self.subject.clone()
        } else {
            escape_target(&self.subject)
        };
        let query = if plain_query {
            self.query.clone()
        } else {
            percent::encode_path(&self.query)
        };
        let has_query = self.has_query || !query.is_empty();
        location = with_query(location, has_query.then_some(&query));
        Rewritten::Redirect { status, location }
    }
}

/// Returns the expanded target. `None`: a client's `%3F` would begin the query, and the rule does
/// not allow that.
pub(super) fn expanded(
    substitution: &Text,
    variables: &ExpressionVariables<'_>,
    flags: &Flags,
) -> Option<Vec<u8>> {
    let mut target = Vec::new();
    // Whether the `?` before the query comes from the client. With `QSL` it is the last `?`.
    let mut is_of_client = None;
    for piece in substitution.pieces() {
        let before = target.len();
        piece.put(variables, &mut target);
        let counts = is_of_client.is_none() || flags.query_last;
        if counts && target[before..].contains(&b'?') {
            is_of_client = Some(!matches!(piece, Piece::Literal(_)));
        }
    }
    let is_safe = flags.question_marks || is_of_client != Some(true);
    is_safe.then_some(target)
}
