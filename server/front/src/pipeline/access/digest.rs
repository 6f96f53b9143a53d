//! Does Digest authentication: checks a request's proof, and makes the challenge.

use crate::request::{canonical, path_of, query_of};
use mehari_auth::digest::{DigestCredentials, NonceState, ProofContext, Use};
use mehari_config::{Authentication, DigestAlgorithm, LogLevel, Settings};
use mehari_http::path::Path;
use std::sync::Arc;

use super::login::ProvedUser;
use crate::pipeline::rules::{Decision, Evaluation, Need};
use crate::request::rule_state::RuleState;

impl Evaluation<'_> {
    /// Returns the user, or the decision for a request without a user.
    pub(super) fn user_by_digest(
        &self,
        settings: &Arc<Settings>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<ProvedUser, Decision> {
        let said = &settings.rules.authentication;
        let status = |status| Decision::Status(Some(settings.clone()), status);
        let (Some(file), Some(realm)) = (&said.user_file, &said.realm) else {
            // Without a user file no user can be authenticated. This is a fault of the
            // configuration, so the request is refused.
            return Err(status(500));
        };
        let field = self.request.field("authorization");
        let Some(given) = field.and_then(DigestCredentials::read) else {
            return Err(status(401));
        };
        let digests = &self.shared.users.digests;
        let Some(listed) = digests.users.known(file) else {
            return Err(Decision::Needs(Need::ReadUsers(file.clone())));
        };
        if !listed.is_readable() {
            self.complain(&format!("AuthUserFile {} cannot be read", file.display()));
            return Err(status(500));
        }
        let place = ProofContext {
            realm,
            algorithms: said.digest.algorithms(),
            may_lack_qop: said.digest.without_quality,
            method: self.request.asked_method,
        };
        let user = given.user.escape_ascii();
        if !self.is_about(&given.uri) {
            self.complain(&format!("user {user}: the proof is for another URI"));
            return Err(status(400));
        }
        let Some(proved) = place.check(&given, &listed) else {
            self.complain(&format!(
                "user {user}: not in AuthUserFile, or another password"
            ));
            return Err(status(401));
        };
        let nonces = &digests.nonces;
        let how = Use {
            life: said.digest.life(),
            counted: said.digest.counts(),
        };
        let state = nonces.check(&given, realm, how, self.request.id);
        // As in Apache, a nonce does not belong to another challenge's opaque value.
        if state == NonceState::Stale || given.has_opaque {
            let state = rule_state.get_or_insert_with(Default::default);
            state.identity.stale = true;
            return Err(status(401));
        }
        let next = (state == NonceState::Ending).then(|| nonces.make(realm));
        let line = proved.info(&given, next.as_deref());
        Ok(ProvedUser {
            name: given.user.into(),
            line,
        })
    }

    /// Whether the URI in a proof means the request's target, in this or another spelling.
    fn is_about(&self, uri: &[u8]) -> bool {
        let asked = self.request.target;
        // A request within another request has a target that no client has seen.
        if uri == asked || self.request.id == 0 {
            return true;
        }
        let decoded = |target: &[u8]| Path::decode(path_of(target)).ok().map(|path| path.merged);
        let (authority, local) = parted(uri);
        authority.is_none_or(|authority| self.is_own(authority))
            && query_of(local) == query_of(asked)
            && decoded(local).is_some_and(|path| Some(path) == decoded(asked))
    }

    /// Whether an authority names this server, with its port if that is not the scheme's port.
    fn is_own(&self, authority: &[u8]) -> bool {
        let (request, names) = (self.request, &self.host.names);
        let port = canonical::port(request, names);
        let name = canonical::name(request, names);
        let with_port = [&name[..], format!(":{port}").as_bytes()].concat();
        let may_lack_port = port == canonical::default_port(request, names);
        authority.eq_ignore_ascii_case(&with_port)
            || may_lack_port && authority.eq_ignore_ascii_case(&name)
    }

    fn complain(&self, text: &str) {
        let text = format!("{}: {text}", self.request.target.escape_ascii());
        let (host, origin) = (self.request.virtual_host, self.request.origin());
        self.shared
            .journal
            .error(host, LogLevel::Error, origin, &text);
    }
}

/// Returns the authority of a URI, if the URI has one, and what follows.
fn parted(uri: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if !canonical::has_scheme(uri) {
        return (None, uri);
    }
    let start = memchr::memmem::find(uri, b"://").map_or(0, |at| at + 3);
    let behind = &uri[start..];
    let end = memchr::memchr2(b'/', b'?', behind).unwrap_or(behind.len());
    (Some(&behind[..end]), &behind[end..])
}

/// Returns the header lines with the challenges of a 401 response, the strongest algorithm first.
pub(super) fn challenge(said: &Authentication, nonce: &str, stale: bool) -> String {
    let realm = said.realm.as_deref().unwrap_or_default();
    let realm = realm.replace('\\', "\\\\").replace('"', "\\\"");
    let domain = match said.digest.domain.as_slice() {
        [] => String::new(),
        all => format!(", domain=\"{}\"", all.join(" ")),
    };
    let stale = if stale { ", stale=true" } else { "" };
    let quality = if said.digest.without_quality {
        ""
    } else {
        ", qop=\"auth\""
    };
    let of = |algorithm: &DigestAlgorithm| {
        let name = algorithm.name();
        format!(
            "WWW-Authenticate: Digest realm=\"{realm}\", nonce=\"{nonce}\", algorithm={name}{domain}{stale}{quality}\r\n"
        )
    };
    said.digest.algorithms().iter().map(of).collect()
}
