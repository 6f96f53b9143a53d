//! What the configuration's rules have found out about one request, and changed in it. A request that no
//! rule is about has none.

use crate::request::Redirect;
use mehari_auth::passwords::Credentials;
use mehari_config::{Forced, Phase, Proxied, Settings};
use mehari_pool::{Declined, Login, Named};
use mehari_resolve::names::{self, Question};
use std::borrow::Cow;
use std::sync::Arc;

#[derive(Debug, Default, Clone)]
pub struct RuleState {
    /// Variables of `SetEnvIf`, `RewriteRule [E=]` and the like; the last of a name counts.
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// The user whose password was right, by the rules of the place that answers.
    pub user: Option<User>,
    /// Who that was at a place before, from where the server led the request on.
    pub earlier_user: Option<User>,
    /// What became of the passwords that were looked at, by user file.
    pub checked: Vec<Checked>,
    /// The request's fields, once `RequestHeader` has changed them.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// The query, once Perl's handlers have set another one.
    pub query: Option<Vec<u8>>,
    /// Header lines that go with the answer whatever it is: cookies of rules.
    pub lines: Vec<u8>,
    /// The status the front refuses with, where a Perl handler has a say in it.
    pub access_status: u16,
    /// Verdicts on what asks for no user, for a worker that decides who may come.
    pub known: u64,
    /// Who the user is, where no handler says so.
    pub login: Login,
    /// What a worker asks with who it is.
    pub challenge: Vec<u8>,
    /// `RewriteRule [END]`: no more rewriting.
    pub ended: bool,
    /// What is at its path has been asked of the disk.
    pub fetched: bool,
    /// The rules of the host have run for this resource, and this came of them.
    pub destination: Option<Destination>,
    /// Rules of its folder have changed its query or its handler, and are done with it.
    pub rewritten_in_folder: bool,
    /// `RewriteRule [H=]` and `[T=]` of this resource.
    pub forced: Vec<Arc<Forced>>,
    /// What programs of `RewriteMap` have said: map, key and value.
    pub looked_up: Vec<LookedUp>,
    /// What the resolver said of names that rules asked about.
    pub names: Vec<(Question, Arc<names::Answer>)>,
    /// The proof was for a nonce that is not taken any more: the challenge says so.
    pub stale: bool,
    /// A page asks this for a part of it.
    pub is_within: bool,
    /// `HostnameLookups Double`.
    pub confirmed_only: bool,
    pub edge: ScriptState,
}

/// What a resource stands for.
#[derive(Debug, Clone)]
pub enum Destination {
    /// What its path is mapped to.
    Mapped,
    /// A file, whatever its path is.
    File(Vec<u8>),
    BackEnd(Arc<Proxied>),
}

#[derive(Debug, Clone)]
pub struct LookedUp {
    pub map: String,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// What scripts at the edge have said of it.
#[derive(Debug, Default, Clone)]
pub struct ScriptState {
    /// The file that stands for the path.
    pub mapped: Option<Vec<u8>>,
    /// Fields of the answer, in place of its own of the same name.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// They have seen the head of the response.
    pub responded: bool,
}

/// A password that has been looked at, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub user_file: std::path::PathBuf,
    pub credentials: Credentials,
    pub right: bool,
}

/// A user, and the settings that say so: another place's may know another user of that name, or nobody.
#[derive(Debug, Clone)]
pub struct User {
    pub name: Arc<[u8]>,
    /// AUTH_TYPE; empty where nobody said how it is known.
    pub kind: Cow<'static, [u8]>,
    /// By the word of Perl's handlers, which goes for their place only.
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

    /// Whether these settings would find out the same, by asking the same.
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

    /// Whether rules have noted anything about the request.
    pub fn says_something(&self) -> bool {
        !self.variables.is_empty()
            || !self.lines.is_empty()
            || !self.forced.is_empty()
            || self.ended
    }

    pub fn user_name(&self) -> Option<&[u8]> {
        self.user.as_ref().map(|user| &*user.name)
    }

    /// REMOTE_HOST, and the user at the place that answers, or REDIRECT_REMOTE_USER: who it was on the way there.
    pub fn client_variables(&self) -> impl Iterator<Item = (&'static [u8], &[u8])> {
        let here = self.user.as_ref();
        let before = self.earlier_user.as_ref().filter(|_| here.is_none());
        let here = here.map(|user| (&b"REMOTE_USER"[..], &*user.name));
        let before = before.map(|user| (&b"REDIRECT_REMOTE_USER"[..], &*user.name));
        let name = self.client_name().map(|name| (&b"REMOTE_HOST"[..], name));
        here.into_iter().chain(before).chain(name)
    }

    /// Perl's handlers have changed the request: whatever answers it sees it as they left it.
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

    /// The request goes to another place: what the rules of the last one granted does not hold there.
    pub fn leave_place(&mut self) {
        self.earlier_user = self.user.take().or(self.earlier_user.take());
        self.access_status = 0;
        self.fetched = false;
        self.known = 0;
        self.login = Login::Unasked;
        self.challenge.clear();
    }

    /// The request goes to another resource: what rules have made of the last one does not hold there.
    pub fn led_on(&mut self) {
        self.leave_place();
        self.destination = None;
        self.query = None;
        self.rewritten_in_folder = false;
        self.forced.clear();
    }

    /// The file that a script or a rule has put in the place of what the path is mapped to.
    pub fn file(&self) -> Option<&[u8]> {
        match (&self.edge.mapped, &self.destination) {
            // A script at the edge has the last word.
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

    /// Another resource, for which all rules run again. `by`: how the request came to the last one.
    pub fn begin_anew(&mut self, by: Option<&Redirect>) {
        self.led_on();
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

    /// AUTH_TYPE, where the user is known.
    pub fn auth_type(&self) -> Option<&[u8]> {
        let user = self.user.as_ref()?;
        Some(&*user.kind).filter(|kind| !kind.is_empty())
    }

    /// The answer depends on this field of the request.
    pub fn vary(&mut self, field: &str) {
        let line = [b"Vary: ", field.as_bytes(), b"\r\n"].concat();
        self.say_once(&line);
    }

    /// What a program said of a key, if it has been asked.
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

    pub fn learn(&mut self, question: Question, answer: Arc<names::Answer>) {
        if self.learned(&question).is_none() {
            self.names.push((question, answer));
        }
    }

    pub fn learned(&self, question: &Question) -> Option<&Arc<names::Answer>> {
        let mut known = self.names.iter();
        known
            .find(|(known, _)| known == question)
            .map(|(_, answer)| answer)
    }

    /// The client's, where somebody asked for it: REMOTE_HOST.
    pub fn client_name(&self) -> Option<&[u8]> {
        let name = self.names.iter().find_map(|(_, answer)| match &**answer {
            names::Answer::Name(name) => name.as_ref(),
            _ => None,
        });
        name.filter(|name| name.is_confirmed || !self.confirmed_only)
            .map(|name| name.text.as_bytes())
    }

    /// The user of the place before is one here if the same is asked here.
    pub fn recall_user(&mut self, settings: &Arc<Settings>) {
        let earlier = self.earlier_user.as_ref().filter(|_| self.user.is_none());
        if let Some(user) = earlier.filter(|user| user.is_known_to(settings)) {
            self.user = Some(user.clone());
        }
    }

    /// As Apache does when a request is led on within the server.
    fn redirected(&mut self) {
        for (name, _) in &mut self.variables {
            name.splice(..0, b"REDIRECT_".iter().copied());
        }
    }
}
