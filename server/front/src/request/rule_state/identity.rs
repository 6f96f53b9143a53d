//! Holds what is known about the client of a request: users, checked passwords and host names.

use mehari_auth::passwords::Credentials;
use mehari_config::{Phase, Settings};
use mehari_pool::{Login, Named};
use mehari_resolve::names::{self, Query};
use std::borrow::Cow;
use std::sync::Arc;

#[derive(Debug, Default, Clone)]
pub struct ClientIdentity {
    /// The user whom the rules of the current place have authenticated.
    pub user: Option<User>,
    /// The user of the place before an internal redirect.
    earlier_user: Option<User>,
    /// The results of checked passwords, by user file.
    pub checked: Vec<Checked>,
    /// Whether the client's Digest proof used an expired nonce. The challenge then says so.
    pub stale: bool,
    /// The resolver's answers about names.
    names: Vec<(Query, Arc<names::Answer>)>,
    /// Whether only confirmed names count (`HostnameLookups Double`).
    pub confirmed_only: bool,
}

/// A checked password, and the user file in which it was looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub user_file: std::path::PathBuf,
    pub credentials: Credentials,
    pub right: bool,
}

/// A user, and the settings that have authenticated the user. In another place the same name may
/// belong to another user, or to none.
#[derive(Debug, Clone)]
pub struct User {
    pub name: Arc<[u8]>,
    /// The value of AUTH_TYPE. Empty: unknown.
    pub kind: Cow<'static, [u8]>,
    /// Whether Perl's handlers have set the user. Such a user is valid only in the handlers' place.
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

impl ClientIdentity {
    pub fn user_name(&self) -> Option<&[u8]> {
        self.user.as_ref().map(|user| &*user.name)
    }

    /// Returns the value of AUTH_TYPE, if the user and the type are known.
    pub fn auth_type(&self) -> Option<&[u8]> {
        let user = self.user.as_ref()?;
        Some(&*user.kind).filter(|kind| !kind.is_empty())
    }

    /// Returns the client's CGI variables: REMOTE_HOST, and REMOTE_USER for the user of the current
    /// place or REDIRECT_REMOTE_USER for the user of an earlier place.
    pub fn client_variables(&self) -> impl Iterator<Item = (&'static [u8], &[u8])> {
        let here = self.user.as_ref();
        let before = self.earlier_user.as_ref().filter(|_| here.is_none());
        let here = here.map(|user| (&b"REMOTE_USER"[..], &*user.name));
        let before = before.map(|user| (&b"REDIRECT_REMOTE_USER"[..], &*user.name));
        let name = self.client_name().map(|name| (&b"REMOTE_HOST"[..], name));
        here.into_iter().chain(before).chain(name)
    }

    /// Notes the user whom the front itself has authenticated.
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

    /// Takes the user whom the front itself has authenticated.
    pub fn take_own_user(&mut self) -> Option<User> {
        self.user.take_if(|user| !user.by_perl)
    }

    /// Takes over the earlier place's user if this place authenticates the same way.
    pub fn recall_user(&mut self, settings: &Arc<Settings>) {
        let earlier = self.earlier_user.as_ref().filter(|_| self.user.is_none());
        if let Some(user) = earlier.filter(|user| user.is_known_to(settings)) {
            self.user = Some(user.clone());
        }
    }

    /// Makes the current user the user of an earlier place.
    pub(super) fn leave_place(&mut self) {
        self.earlier_user = self.user.take().or(self.earlier_user.take());
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

    /// Returns the client's host name (REMOTE_HOST), if it was looked up.
    pub fn client_name(&self) -> Option<&[u8]> {
        let name = self.names.iter().find_map(|(_, answer)| match &**answer {
            names::Answer::Name(name) => name.as_ref(),
            _ => None,
        });
        name.filter(|name| name.is_confirmed || !self.confirmed_only)
            .map(|name| name.text.as_bytes())
    }
}
