//! Who may come: `Require`, `Allow` and `Deny`, `Satisfy`, and who the user is.

use crate::dispatch::Dispatch;
use crate::names::Question;
use crate::notes::{Checked, User};
use crate::passwords::{self, Credentials};
use crate::route::Route;
use mehari_config::{Phase, Settings, Verdict, Visitor};
use std::rc::Rc;
use std::sync::Arc;

use super::names::{ruling, Ruling};
use super::{Gate, Passage, Remarks};

/// A user, and the header line that answers to the proof.
pub(super) struct Known {
    pub name: Arc<[u8]>,
    pub line: Vec<u8>,
}

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
        let allowed = match &rules.allow_deny {
            None => None,
            Some(rules) => {
                let grants = |visitor: &Visitor<'_>| rules.grants(visitor);
                match self.visit(route, settings, remarks, None, grants) {
                    Ok(allowed) => Some(allowed == Some(true)),
                    Err(question) => return Some(Passage::Resolve(question)),
                }
            }
        };
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
            let known = |visitor: &Visitor<'_>| requirement.known(visitor);
            let known = match self.visit(route, settings, remarks, None, known) {
                Ok(known) => known,
                Err(question) => return Some(Passage::Resolve(question)),
            };
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
        let verdict = match self.verdict(route, settings, remarks, name) {
            Ok(verdict) => verdict,
            Err(question) => return Some(Passage::Resolve(question)),
        };
        match verdict {
            Verdict::Granted | Verdict::Silent => None,
            Verdict::Denied | Verdict::Neutral if user.is_some() && requirement.asks_user() => {
                (!by_perl(&[Phase::Authz])).then(|| self.challenge(settings))
            }
            Verdict::Denied | Verdict::Neutral if by_perl(&[Phase::Access]) => {
                remarks.get_or_insert_with(Default::default).access_status = 403;
                None
            }
            Verdict::Denied | Verdict::Neutral | Verdict::NeedsName => status(403),
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
        let name = match settings.rules.authentication.is_digest() {
            true => self.user_by_digest(settings, remarks),
            false => self.user_by_password(settings, credentials, remarks),
        };
        let Known { name, line } = match name {
            Ok(known) => known,
            Err(passage) => return Some(passage),
        };
        let notes = remarks.get_or_insert_with(Default::default);
        notes.user = Some(User {
            name: name.clone(),
            known_by: settings.clone(),
        });
        // Once more, with a user.
        match self.verdict(route, settings, remarks, Some(&name)) {
            Err(question) => Some(Passage::Resolve(question)),
            Ok(Verdict::Granted | Verdict::Silent) => {
                let notes = remarks.as_mut().filter(|_| !line.is_empty());
                notes.into_iter().for_each(|notes| notes.say_once(&line));
                None
            }
            // The worker asks Perl's handlers, and holds what they leave open against the requirement.
            _ if !settings.perl.of(Phase::Authz).is_empty() => None,
            _ => Some(self.challenge(settings)),
        }
    }

    /// The user of these credentials, or what is done about it that there is none yet.
    fn user_by_password(
        &self,
        settings: &Arc<Settings>,
        credentials: Option<Credentials>,
        remarks: &Remarks,
    ) -> Result<Known, Passage> {
        let authentication = &settings.rules.authentication;
        let Some(file) = authentication
            .user_file
            .as_ref()
            .filter(|_| authentication.is_basic())
        else {
            // Nobody can be asked: a fault of the configuration, and no reason to let anybody in.
            return Err(Passage::Status(Some(settings.clone()), 500));
        };
        let Some(credentials) = credentials else {
            return Err(self.challenge(settings));
        };
        let is_this =
            |checked: &&Checked| checked.user_file == *file && checked.credentials == credentials;
        let mut checked = remarks.iter().flat_map(|notes| &notes.checked);
        let right = match checked.find(is_this) {
            Some(checked) => checked.right,
            None if self.shared.passwords.are_known(file, &credentials) => true,
            None => {
                let file = file.clone();
                return Err(Passage::Check(settings.clone(), file, credentials));
            }
        };
        match right {
            true => Ok(Known {
                name: credentials.user.into(),
                line: Vec::new(),
            }),
            false => Err(self.challenge(settings)),
        }
    }

    fn challenge(&self, settings: &Arc<Settings>) -> Passage {
        Passage::Status(Some(settings.clone()), 401)
    }

    fn credentials(&self) -> Option<Credentials> {
        Credentials::of(self.request.field("authorization")?)
    }

    /// What is required of the request, which is nothing where nothing is said.
    fn verdict(
        &self,
        route: &Route,
        settings: &Settings,
        remarks: &mut Remarks,
        user: Option<&[u8]>,
    ) -> Result<Verdict, Question> {
        let requirement = settings.rules.require.as_ref();
        self.visit(route, settings, remarks, user, |visitor| {
            requirement.map_or(Verdict::Silent, |requirement| requirement.verdict(visitor))
        })
    }

    /// Asks `what` of the request as these settings see it, or comes to a name that has to be asked for.
    fn visit<R: Ruling>(
        &self,
        route: &Route,
        settings: &Settings,
        remarks: &mut Remarks,
        user: Option<&[u8]>,
        what: impl Fn(&Visitor<'_>) -> R,
    ) -> Result<R, Question> {
        let groups = settings.rules.authentication.group_file.as_deref();
        ruling(remarks, |remarks, asked| {
            let notes = remarks.as_deref();
            let facts = self.facts(route, settings, notes);
            what(&Visitor {
                address: self.client(),
                own_address: self.request.peer.server_ip,
                method: self.request.method,
                facts: &facts,
                has_variable: &|name| {
                    notes.is_some_and(|notes| notes.variable(name.as_bytes()).is_some())
                },
                user,
                is_member: &|user, group| {
                    groups.is_some_and(|file| passwords::is_member(file, user, group))
                },
                is_named: &|test| self.is_named(test, remarks, asked),
            })
        })
    }
}
