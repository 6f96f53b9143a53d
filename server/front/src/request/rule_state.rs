//! The results of rules for one request, and their changes. A request without rules has none.

use crate::request::Redirect;
use mehari_auth::passwords::Credentials;
use mehari_config::{Forced, Phase, Proxied, Settings};
use mehari_pool::{Declined, Login, Named};
use mehari_resolve::names::{self, Query};
use std::borrow::Cow;
use std::sync::Arc;

#[derive(Debug, Default, Clone)]
pub struct RuleState {
    /// Variables of `SetEnvIf`, `RewriteRule [E=]` and the like. The last value of a name counts.
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// The user, authenticated by the rules of the current place.
    pub user: Option<User>,
    /// The user of an earlier place before an internal redirect.
    pub earlier_user: Option<User>,
    /// The results of checked passwords, by user file.
    pub checked: Vec<Checked>,
    /// The request's fields after `RequestHeader`.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// The query that Perl's handlers have set.
    pub query: Option<Vec<u8>>,
    /// Header lines for every response: cookies of rules.
    pub lines: Vec<u8>,
    /// The status of the front's refusal, if a Perl handler decides too.
    pub access_status: u16,
    /// Results of rules without users, for a worker that decides about access.
    pub known: u64,
    /// The user, if no handler sets one.
    pub login: Login,
    /// The challenge for the worker.
    pub challenge: Vec<u8>,
    /// `RewriteRule [END]`: no more rewriting.
    pub ended: bool,
    /// Whether the path's metadata was read from the disk.
    pub fetched: bool,
    /// The result of the host's rules for this resource, after they have run.
    pub destination: Option<Destination>,
    /// Whether the folder's rules have changed the query or the handler and have finished.
    pub rewritten_in_folder: bool,
    /// `RewriteRule [H=]` and `[T=]` of this resource.
    pub forced: Vec<Arc<Forced>>,
    /// Answers of `RewriteMap` programs: map, key and value.
    pub looked_up: Vec<LookedUp>,
    /// The resolver's answers about names.
    pub names: Vec<(Query, Arc<names::Answer>)>,
    /// The proof used an expired nonce, which the challenge says.
    pub stale: bool,
    /// Whether a page with includes requests this as a part.
    pub is_within: bool,
    /// `HostnameLookups Double`.
    pub confirmed_only: bool,
    pub edge: ScriptState,
}

/// The mapping of a resource.
#[derive(Debug, Clone)]
pub enum Destination {
    /// The mapped path.
    Mapped,
    /// A file that does not depend on the path.
    File(Vec<u8>),
    BackEnd(Arc<Proxied>),
}

#[derive(Debug, Clone)]
pub struct LookedUp {
    pub map: String,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// Settings by edge scripts.
#[derive(Debug, Default, Clone)]
pub struct ScriptState {
    /// The file of the path.
    pub mapped: Option<Vec<u8>>,
    /// Fields that replace those of the response.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether the scripts have seen the head of the response.
    pub responded: bool,
}

/// A checked password and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub user_file: std::path::PathBuf,
    pub credentials: Credentials,
    pub right: bool,
}

/// A user, and the settings by which the user is known. Another place may know another user of that
/// name, or none.
#[derive(Debug, Clone)]
pub struct User {
    pub name: Arc<[u8]>,
    /// AUTH_TYPE. Empty if it is unknown.
    pub kind: Cow<'static, [u8]>,
    /// Set by Perl's handlers, so valid only for their place.
    pub by_perl: bool,
    pub known_by: Arc<Settings>,
}

impl User {
    pub fn named(named: Named, known_by: &Arc<Settings>) -> User {
        User {
            name: named.name.into(),
            kind: Cow::Owned(named.kind),
            by_perl: true,
            known_by: known_by.clone(),
        }
    }

    /// Whether these settings would authenticate the same user by the same means.
    fn is_known_to(&self, settings: &Arc<Settings>) -> bool {
        let said = &settings.rules.authentication;
        if self.by_perl {
            return false;
        }
        Arc::ptr_eq(&self.known_by, settings)
            || *said == self.known_by.rules.authentication
                && settings.perl.of(Phase::Authen).is_empty()
    }
}

impl RuleState {
    pub fn set(&mut self, name: &[u8], value: Vec<u8>) {
        self.unset(name);
        self.variables.push((name.to_vec(), value));
    }

    pub fn unset(&mut self, name: &[u8]) {
        self.variables.retain(|(known, _)| known != name);
    }

    pub fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        let mut known = self.variables.iter().rev();
        known
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_slice())
    }

    /// Whether rules have noted anything.
    pub fn has_notes(&self) -> bool {
        !self.variables.is_empty()
            || !self.lines.is_empty()
            || !self.forced.is_empty()
            || self.ended
    }

    pub fn user_name(&self) -> Option<&[u8]> {
        self.user.as_ref().map(|user| &*user.name)
    }

    /// REMOTE_HOST, and REMOTE_USER of the current place, or REDIRECT_REMOTE_USER of an earlier
    /// one.
    pub fn client_variables(&self) -> impl Iterator<Item = (&'static [u8], &[u8])> {
        let here = self.user.as_ref();
        let before = self.earlier_user.as_ref().filter(|_| here.is_none());
        let here = here.map(|user| (&b"REMOTE_USER"[..], &*user.name));
        let before = before.map(|user| (&b"REDIRECT_REMOTE_USER"[..], &*user.name));
        let name = self.client_name().map(|name| (&b"REMOTE_HOST"[..], name));
        here.into_iter().chain(before).chain(name)
    }

    /// Notes that Perl's handlers have changed the request. Every later reader sees the changes.
    pub fn restate(&mut self, declined: &mut Declined) {
        self.fields = declined.fields.take().or(self.fields.take());
        self.query = declined.query.take().or(self.query.take());
        for name in &declined.removed {
            self.unset(name);
        }
        for (name, value) in std::mem::take(&mut declined.variables) {
            self.set(&name, value);
        }
    }

    /// Drops the grants of the earlier place, because the request moves to another one.
    pub fn leave_place(&mut self) {
        self.earlier_user = self.user.take().or(self.earlier_user.take());
        self.access_status = 0;
        self.fetched = false;
        self.known = 0;
        self.login = Login::Unasked;
        self.challenge.clear();
    }

    /// Drops the earlier results, because the request moves to another resource.
    pub fn leave_resource(&mut self) {
        self.leave_place();
        self.destination = None;
        self.query = None;
        self.rewritten_in_folder = false;
        self.forced.clear();
    }

    /// The file that a script or a rule has set in place of the mapped file.
    pub fn file(&self) -> Option<&[u8]> {
        match (&self.edge.mapped, &self.destination) {
            // An edge script has precedence.
            (Some(file), _) | (None, Some(Destination::File(file))) => Some(file),
            _ => None,
        }
    }

    /// The back end that a rule has chosen.
    pub fn back_end(&self) -> Option<&Arc<Proxied>> {
        match &self.destination {
            Some(Destination::BackEnd(proxied)) if self.edge.mapped.is_none() => Some(proxied),
            _ => None,
        }
    }

    /// Begins again for another resource, for which all rules run anew. `by`: the redirect to it.
    pub fn restart_rules(&mut self, by: Option<&Redirect>) {
        self.leave_resource();
        self.redirected();
        if let Some(before) = by.filter(|redirect| redirect.from.is_some()) {
            self.set(
                b"REDIRECT_REDIRECT_STATUS",
                before.status.to_string().into(),
            );
        }
    }

    pub fn say_once(&mut self, line: &[u8]) {
        if memchr::memmem::find(&self.lines, line).is_none() {
            self.lines.extend_from_slice(line);
        }
    }

    /// AUTH_TYPE, if the user is known.
    pub fn auth_type(&self) -> Option<&[u8]> {
        let user = self.user.as_ref()?;
        Some(&*user.kind).filter(|kind| !kind.is_empty())
    }

    /// Notes that the response depends on this field of the request.
    pub fn vary(&mut self, field: &str) {
        let line = [b"Vary: ", field.as_bytes(), b"\r\n"].concat();
        self.say_once(&line);
    }

    /// A program's answer for a key, if it was asked.
    pub fn looked_up(&self, map: &str, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        let mut known = self.looked_up.iter();
        known
            .find(|known| known.map == map && known.key == key)
            .map(|known| &known.value)
    }

    pub fn note_user(&mut self, known_by: &Arc<Settings>, login: &Login) {
        if let Login::Known(name) = login {
            let kind: &[u8] = if known_by.rules.authentication.is_digest() {
                b"Digest"
            } else {
                b"Basic"
            };
            self.user = Some(User {
                name: name.clone(),
                kind: Cow::Borrowed(kind),
                by_perl: false,
                known_by: known_by.clone(),
            });
        }
    }

    pub fn learn(&mut self, query: Query, answer: Arc<names::Answer>) {
        if self.learned(&query).is_none() {
            self.names.push((query, answer));
        }
    }

    pub fn learned(&self, query: &Query) -> Option<&Arc<names::Answer>> {
        let mut known = self.names.iter();
        known
            .find(|(known, _)| known == query)
            .map(|(_, answer)| answer)
    }

    /// REMOTE_HOST: the client's name, if it was looked up.
    pub fn client_name(&self) -> Option<&[u8]> {
        let name = self.names.iter().find_map(|(_, answer)| match &**answer {
            names::Answer::Name(name) => name.as_ref(),
            _ => None,
        });
        name.filter(|name| name.is_confirmed || !self.confirmed_only)
            .map(|name| name.text.as_bytes())
    }

    /// Takes over the earlier place's user if this place authenticates the same way.
    pub fn recall_user(&mut self, settings: &Arc<Settings>) {
        let earlier = self.earlier_user.as_ref().filter(|_| self.user.is_none());
        if let Some(user) = earlier.filter(|user| user.is_known_to(settings)) {
            self.user = Some(user.clone());
        }
    }

    /// Renames the variables as Apache does for an internal redirect.
    fn redirected(&mut self) {
        for (name, _) in &mut self.variables {
            name.splice(..0, b"REDIRECT_".iter().copied());
        }
    }
}
