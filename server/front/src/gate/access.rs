//! Who may come: `Require`, `Allow` and `Deny`, `Satisfy`, and who the user is.

use crate::dispatch::Dispatch;
use crate::notes::{Checked, User};
use crate::passwords::{self, Credentials};
use crate::route::Route;
use mehari_config::{Phase, Settings, Verdict, Visitor};
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
        self.refuses(route, &route.settings, remarks)
    }

    /// `None`: these settings let the request in.
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
        let allowed = rules.allow_deny.is_some().then(|| {
            self.visit(route, settings, remarks, None, |visitor| {
                rules
                    .allow_deny
                    .as_ref()
                    .is_some_and(|rules| rules.grants(visitor))
            })
        });
        let by_perl = |phases: &[Phase]| {
            phases
                .iter()
                .any(|phase| !settings.perl.of(*phase).is_empty())
        };
        let has_requirement = rules.require.is_some();
        match (allowed, rules.satisfy_any && has_requirement) {
            (Some(true), true) => return None,
            (Some(false), false) if by_perl(&[Phase::Access]) => {
                remarks.get_or_insert_with(Default::default).access_status = 403;
                return None;
            }
            (Some(false), false) => return status(403),
            _ => {}
        }
        let requirement = rules.require.as_ref()?;
        // Who the user is is for the site's Perl where that has a say; the worker is told what is required, and
        // what is known of it already.
        if requirement.asks_user() && by_perl(&[Phase::Authen, Phase::Authz]) {
            let known = self.visit(route, settings, remarks, None, |visitor| {
                requirement.known(visitor)
            });
            remarks.get_or_insert_with(Default::default).known = known;
        }
        if requirement.asks_user() && by_perl(&[Phase::Authen]) {
            return None;
        }
        let credentials = match requirement.asks_user() && rules.authentication.is_basic() {
            true => self.credentials(),
            false => None,
        };
        // Who need not be asked is let in without a look at a password.
        let user = remarks.as_ref().and_then(|notes| notes.user.clone());
        let name = user.as_ref().map(|user| &*user.name);
        let verdict = self.visit(route, settings, remarks, name, |visitor| {
            requirement.verdict(visitor)
        });
        match verdict {
            Verdict::Granted | Verdict::Silent => None,
            Verdict::Denied | Verdict::Neutral if user.is_some() && requirement.asks_user() => {
                (!by_perl(&[Phase::Authz])).then(|| self.challenge(settings))
            }
            Verdict::Denied | Verdict::Neutral if by_perl(&[Phase::Access]) => {
                remarks.get_or_insert_with(Default::default).access_status = 403;
                None
            }
            Verdict::Denied | Verdict::Neutral => status(403),
            Verdict::NeedsUser => self.ask(route, settings, credentials, remarks),
        }
    }

    /// The requirement depends on the user, who is not known yet.
    fn ask(
        &self,
        route: &Route,
        settings: &Arc<Settings>,
        credentials: Option<Credentials>,
        remarks: &mut Remarks,
    ) -> Option<Passage> {
        let authentication = &settings.rules.authentication;
        let Some(file) = authentication
            .user_file
            .as_ref()
            .filter(|_| authentication.is_basic())
        else {
            // Nobody can be asked: a fault of the configuration, and no reason to let anybody in.
            return Some(Passage::Status(Some(settings.clone()), 500));
        };
        let Some(credentials) = credentials else {
            return Some(self.challenge(settings));
        };
        let is_this =
            |checked: &&Checked| checked.user_file == *file && checked.credentials == credentials;
        let mut checked = remarks.iter().flat_map(|notes| &notes.checked);
        let right = match checked.find(is_this) {
            Some(checked) => checked.right,
            None if self.shared.passwords.are_known(file, &credentials) => true,
            None => return Some(Passage::Check(settings.clone(), file.clone(), credentials)),
        };
        if !right {
            return Some(self.challenge(settings));
        }
        let name: Arc<[u8]> = credentials.user.into();
        let notes = remarks.get_or_insert_with(Default::default);
        notes.user = Some(User {
            name: name.clone(),
            known_by: settings.clone(),
        });
        // Once more, with a user.
        let requirement = settings.rules.require.as_ref()?;
        let verdict = self.visit(route, settings, remarks, Some(&name), |visitor| {
            requirement.verdict(visitor)
        });
        match verdict {
            Verdict::Granted | Verdict::Silent => None,
            // The worker asks Perl's handlers, and holds what they leave open against the requirement.
            _ if !settings.perl.of(Phase::Authz).is_empty() => None,
            _ => Some(self.challenge(settings)),
        }
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
