//! Who may come: `Require`, `Allow` and `Deny`, `Satisfy`, and who the user is.

use crate::dispatch::Dispatch;
use crate::notes::Checked;
use crate::passwords::{self, Credentials};
use crate::route::Route;
use mehari_config::{Phase, Settings, Verdict, Visitor};
use mehari_pool::Login;
use std::rc::Rc;
use std::sync::Arc;

use super::{Gate, Passage, Remarks};

impl<D: Dispatch> Gate<'_, D> {
    /// Every place on the way has to let it in. `None`: the request may go on.
    pub(super) fn stops(&self, route: &Rc<Route>, remarks: &mut Remarks) -> Option<Passage> {
        for settings in &route.through {
            // Its handlers would run where it has been led to, which has none or others.
            if settings.is_guarded_by_perl() {
                return Some(Passage::Status(Some(settings.clone()), 403));
            }
            if let Some(refusal) = self.refuses(route, settings, remarks) {
                return Some(refusal);
            }
            if let Some(notes) = remarks {
                notes.leave_place();
            }
        }
        match route.settings.runs_phases() {
            true => self.inform(route, remarks),
            false => self.refuses(route, &route.settings, remarks),
        }
    }

    /// Perl's handlers have a say in it: the worker that asks them decides, and is told what the front knows. `Some`: a
    /// password is to be looked at first.
    fn inform(&self, route: &Rc<Route>, remarks: &mut Remarks) -> Option<Passage> {
        let settings = &route.settings;
        let requirement = settings.rules.require.as_ref();
        let is_refused = !self.allows(route, settings, remarks);
        let known = requirement.map_or(0, |requirement| {
            self.visit(route, settings, remarks, None, |visitor| {
                requirement.known(visitor)
            })
        });
        let login = match requirement.is_some_and(|requirement| requirement.asks_user()) {
            true => match self.log_in(settings, remarks) {
                Ok(login) => login,
                Err(passage) => return Some(passage),
            },
            false => Login::Unasked,
        };
        if !is_refused && known == 0 && login == Login::Unasked {
            return None;
        }
        let notes = remarks.get_or_insert_with(Default::default);
        notes.access_status = if is_refused { 403 } else { 0 };
        notes.known = known;
        // The access log has no other way to hear of it.
        if settings.perl.of(Phase::Authen).is_empty() {
            notes.note_user(settings, &login);
        }
        notes.login = login;
        None
    }

    /// `None`: these settings let the request in, and Perl is not asked.
    fn refuses(
        &self,
        route: &Rc<Route>,
        settings: &Arc<Settings>,
        remarks: &mut Remarks,
    ) -> Option<Passage> {
        let rules = &settings.rules;
        if let Some(notes) = remarks {
            notes.recall_user(settings);
        }
        let status = |status| Some(Passage::Status(Some(settings.clone()), status));
        match self.allows(route, settings, remarks) {
            true if rules.satisfy_any => return None,
            false if !rules.satisfy_any => return status(403),
            _ => {}
        }
        let Some(requirement) = &rules.require else {
            // How users are known is said, and not who may come: nobody, until that is clear.
            return rules.authentication.kind.as_ref().and(status(500));
        };
        // Who need not be asked is let in without a look at a password.
        let user = remarks.as_ref().and_then(|notes| notes.user.clone());
        let name = user.as_ref().map(|user| &*user.name);
        let verdict = |remarks: &Remarks, name: Option<&[u8]>| {
            self.visit(route, settings, remarks, name, |visitor| {
                requirement.verdict(visitor)
            })
        };
        match verdict(remarks, name) {
            Verdict::Granted | Verdict::Silent => return None,
            Verdict::Denied | Verdict::Neutral if user.is_some() && requirement.asks_user() => {
                return Some(self.challenge(settings))
            }
            Verdict::Denied | Verdict::Neutral => return status(403),
            Verdict::NeedsUser => {}
        }
        let login = match self.log_in(settings, remarks) {
            Ok(login) => login,
            Err(passage) => return Some(passage),
        };
        let name = match &login {
            Login::Known(name) => name,
            Login::Refused => return Some(self.challenge(settings)),
            // Nobody can be asked: a fault of the configuration, and no reason to let anybody in.
            _ => return status(500),
        };
        let notes = remarks.get_or_insert_with(Default::default);
        notes.note_user(settings, &login);
        match verdict(remarks, Some(name)) {
            Verdict::Granted | Verdict::Silent => None,
            _ => Some(self.challenge(settings)),
        }
    }

    /// What `Allow` and `Deny` say.
    fn allows(&self, route: &Route, settings: &Settings, remarks: &Remarks) -> bool {
        let rules = settings.rules.allow_deny.as_ref();
        rules.map_or(true, |rules| {
            self.visit(route, settings, remarks, None, |visitor| {
                rules.grants(visitor)
            })
        })
    }

    /// Who it is by basic authentication. `Err`: a password is to be looked at first.
    fn log_in(&self, settings: &Arc<Settings>, remarks: &Remarks) -> Result<Login, Passage> {
        let said = &settings.rules.authentication;
        match said.kind {
            None => return Ok(Login::Unasked),
            Some(_) if !said.is_basic() => return Ok(Login::NoSuchType),
            _ if said.realm.is_none() => return Ok(Login::NoRealm),
            _ => {}
        }
        let Some(credentials) = self.credentials() else {
            return Ok(Login::Refused);
        };
        let Some(file) = &said.user_file else {
            return Ok(Login::NoUserFile);
        };
        let is_this =
            |checked: &&Checked| checked.user_file == *file && checked.credentials == credentials;
        let mut checked = remarks.iter().flat_map(|notes| &notes.checked);
        let right = match checked.find(is_this) {
            Some(checked) => checked.right,
            None if self.shared.passwords.are_known(file, &credentials) => true,
            None => return Err(Passage::Check(settings.clone(), file.clone(), credentials)),
        };
        Ok(match right {
            true => Login::Known(credentials.user.into()),
            false => Login::Refused,
        })
    }

    fn challenge(&self, settings: &Arc<Settings>) -> Passage {
        Passage::Status(Some(settings.clone()), 401)
    }

    fn credentials(&self) -> Option<Credentials> {
        Credentials::of(self.request.field("authorization")?)
    }

    /// Asks `what` of the request as these settings see it.
    fn visit<R>(
        &self,
        route: &Route,
        settings: &Settings,
        remarks: &Remarks,
        user: Option<&[u8]>,
        what: impl FnOnce(&Visitor<'_>) -> R,
    ) -> R {
        let notes = remarks.as_deref();
        let facts = self.facts(route, settings, notes);
        let groups = settings.rules.authentication.group_file.as_deref();
        let peer = self.request.peer;
        what(&Visitor {
            address: peer
                .remote_addr
                .parse()
                .ok()
                .filter(|_| peer.server_ip.is_some()),
            own_address: peer.server_ip,
            method: self.request.method,
            facts: &facts,
            has_variable: &|name| {
                notes.is_some_and(|notes| notes.variable(name.as_bytes()).is_some())
            },
            user,
            is_member: &|user, group| {
                groups.is_some_and(|file| passwords::is_member(file, user, group))
            },
        })
    }
}
