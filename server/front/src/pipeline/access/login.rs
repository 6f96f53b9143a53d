//! Finds the user of a request, by password (Basic) or proof (Digest).

use crate::shared::Shared;
use mehari_auth::passwords::Credentials;
use mehari_config::{Authentication, Settings};
use mehari_pool::Login;
use std::sync::Arc;

use super::digest;
use crate::pipeline::rules::{Decision, Evaluation, Need, UncheckedPassword};
use crate::request::rule_state::{Checked, ClientIdentity, RuleState};

/// A user, and the header line of the response that answers the user's proof.
pub(super) struct ProvedUser {
    pub name: Arc<[u8]>,
    pub line: Vec<u8>,
}

impl Evaluation<'_> {
    /// Returns the user and a header line for the response. `Err`: something must be found out
    /// first.
    pub(super) fn log_in(
        &self,
        settings: &Arc<Settings>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(Login, Vec<u8>), Decision> {
        let said = &settings.rules.authentication;
        let login = match said.kind {
            None => Login::Unasked,
            Some(_) if !said.is_basic() && !said.is_digest() => Login::NoSuchType,
            _ if said.realm.is_none() => Login::NoRealm,
            _ if said.is_digest() => return self.by_digest(settings, rule_state),
            _ => {
                let state = rule_state.as_ref();
                self.by_password(settings, state.map(|state| &state.identity))?
            }
        };
        Ok((login, Vec::new()))
    }

    fn by_password(
        &self,
        settings: &Arc<Settings>,
        identity: Option<&ClientIdentity>,
    ) -> Result<Login, Decision> {
        let field = self.request.field("authorization");
        let Some(credentials) = field.and_then(Credentials::of) else {
            return Ok(Login::Refused);
        };
        let Some(file) = &settings.rules.authentication.user_file else {
            return Ok(Login::NoUserFile);
        };
        let is_this =
            |checked: &&Checked| checked.user_file == *file && checked.credentials == credentials;
        let mut checked = identity.into_iter().flat_map(|client| &client.checked);
        let right = match checked.find(is_this) {
            Some(checked) => checked.right,
            None if self
                .shared
                .users
                .passwords
                .are_remembered(file, &credentials) =>
            {
                true
            }
            None => {
                return Err(Decision::Needs(Need::Check(UncheckedPassword {
                    settings: settings.clone(),
                    user_file: file.clone(),
                    credentials,
                })));
            }
        };
        Ok(if right {
            Login::Known(credentials.user.into())
        } else {
            Login::Refused
        })
    }

    fn by_digest(
        &self,
        settings: &Arc<Settings>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(Login, Vec<u8>), Decision> {
        match self.user_by_digest(settings, rule_state) {
            Ok(ProvedUser { name, line }) => Ok((Login::Known(name), line)),
            Err(Decision::Status(_, 401)) => Ok((Login::Refused, Vec::new())),
            Err(Decision::Status(_, 500)) => Ok((Login::NoUserFile, Vec::new())),
            Err(other) => Err(other),
        }
    }
}

/// Returns the header lines of the challenge in a 401 response.
pub fn challenge(shared: &Shared, said: &Authentication, stale: bool) -> String {
    if let (true, Some(realm)) = (said.is_digest(), &said.realm) {
        let nonce = shared.users.digests.nonces.make(realm);
        return digest::challenge(said, &nonce, stale);
    }
    if !said.is_basic() {
        return String::new();
    }
    let realm = said.realm.as_deref().unwrap_or_default();
    let realm = realm.replace('\\', "\\\\").replace('"', "\\\"");
    format!("WWW-Authenticate: Basic realm=\"{realm}\"\r\n")
}
