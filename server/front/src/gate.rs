//! What the configuration's rules say of a request before its handler answers: variables, rewriting,
//! redirects, who may ask, and changed request fields. A request no rule is about passes at once.
//!
//! Both HTTP versions call [`pass`] when the head is read. What it wants done meanwhile (a password
//! checked, another path tried) is done, and it is called again.

use crate::answer::Answer;
use crate::dispatch::Dispatch;
use crate::facts::RequestFacts;
use crate::handler::perl::server_name;
use crate::header_rules;
use crate::notes::{Checked, Notes};
use crate::passwords::{self, Credentials, Outcome};
use crate::path::Path;
use crate::problem::Problem;
use crate::request::{path_of, Redirect, Request, REDIRECTS};
use crate::rewrite::{has_scheme, Rewritten, Run};
use crate::route::Route;
use crate::shared::Shared;
use crate::turn::Turn;
use mehari_config::{
    escaped, Facts, Groups, Host, LogLevel, Matched, Nothing, Phase, Piece, RedirectFrom,
    RedirectRule, Rest, Settings, Site, VariableRule, Verdict, Visitor, When,
};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

pub enum Passage {
    /// To the handler.
    To(Rc<Route>),
    Answer(Arc<Settings>, Answer),
    /// The page of a status.
    Status(Option<Arc<Settings>>, u16),
    /// As if the request had come for this path and query.
    Led(Vec<u8>),
    /// Look at this password, note what came of it, and ask again.
    Check(Arc<Settings>, PathBuf, Credentials),
}

pub type Remarks = Option<Box<Notes>>;

pub fn pass<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    remarks: &mut Remarks,
) -> Result<Passage, Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    let mapped = match host.rules.is_empty() {
        true => None,
        false => match before_mapping(shared, request, host, remarks)? {
            Early::Decided(passage) => return Ok(passage),
            Early::Go(mapped) => mapped,
        },
    };
    // A script at the edge has the last word.
    let by_script = remarks.as_ref().and_then(|notes| notes.edge.mapped.clone());
    let mapped = by_script.or(mapped);
    let route = match &mapped {
        None => shared.route(request.virtual_host, request.path())?,
        Some(mapped) => shared.route_to(request.virtual_host, request.path(), mapped)?,
    };
    if !route.settings.rules.look_first() {
        return Ok(Passage::To(route));
    }
    let gate = Gate {
        shared,
        request,
        site: &site,
        host,
    };
    gate.look(route, mapped.as_deref(), remarks)
}

/// What the rules say of a request that a worker makes within another: nobody waits here, so a password that was
/// not looked at lately counts as wrong. The route with its status: 0, or what the request is refused with.
pub fn look_within<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    route: Rc<Route>,
    mapped: Option<&[u8]>,
    remarks: &mut Remarks,
) -> Result<(Rc<Route>, u16), Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    set_variables(&host.rules.variables, shared, request, host, None, remarks);
    let gate = Gate {
        shared,
        request,
        site: &site,
        host,
    };
    let route = gate.settle(route, mapped, remarks)?;
    let status = match gate.refuses(&route, remarks) {
        None => remarks.as_ref().map_or(0, |notes| notes.access_status),
        Some(Passage::Status(_, status)) => status,
        Some(Passage::Check(..)) => 401,
        Some(_) => 403,
    };
    Ok((route, status))
}

enum Early {
    Decided(Passage),
    /// To be mapped; with a file, to that.
    Go(Option<Vec<u8>>),
}

/// Rules of the host: they see the path before it stands for a file.
fn before_mapping<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    host: &Host,
    remarks: &mut Remarks,
) -> Result<Early, Problem> {
    set_variables(&host.rules.variables, shared, request, host, None, remarks);
    let path = Path::decode(request.path())?;
    let mut mapped = None;
    let ended = remarks.as_ref().is_some_and(|notes| notes.ended);
    if host.rules.rewriting.is_on() && !ended {
        let mut facts = RequestFacts::new(request, host, None, &shared.maps);
        facts.path = &path.bytes;
        let mut run = Run {
            facts,
            subject: path.bytes.clone(),
            query: request.query().to_vec(),
            notes: remarks.as_deref().cloned().unwrap_or_default(),
        };
        let rewritten = run.through(&host.rules.rewriting);
        keep(remarks, run.notes);
        match rewritten {
            Rewritten::Unchanged => {}
            Rewritten::Status(status) => return Ok(Early::Decided(Passage::Status(None, status))),
            Rewritten::Proxy(_) => return Ok(Early::Decided(Passage::Status(None, 502))),
            Rewritten::Redirect { status, location } => {
                let location = absolute(request, host, location);
                return Ok(Early::Decided(redirected(
                    host.base_settings(),
                    status,
                    location,
                )));
            }
            Rewritten::Path {
                path: new,
                query,
                pass_through,
                fixed_start,
            } => {
                if !new.starts_with(b"/") {
                    return Ok(Early::Decided(Passage::Status(None, 400)));
                }
                if new == path.bytes && query == request.query() {
                    // Rewritten to itself.
                } else if pass_through || query != request.query() {
                    // The query goes with the path, so the request goes on as one for both. Without
                    // [PT] the path is a file's, which nothing maps any more.
                    let target = joined(&escaped(&new), &query);
                    return Ok(Early::Decided(match (pass_through, request.redirect) {
                        (_, Some(redirect)) if redirect.target == target => {
                            Passage::Status(None, 500)
                        }
                        _ => Passage::Led(target),
                    }));
                } else {
                    mapped = Some(file_of(host, new, fixed_start));
                }
            }
        }
    }
    let rule = host
        .rules
        .redirects
        .iter()
        .find_map(|rule| Some((rule, rule.matches(&path.bytes)?)));
    if let Some((rule, rest)) = rule {
        return Ok(Early::Decided(follow(
            rule,
            rest,
            request,
            host,
            &path.bytes,
            host.base_settings(),
        )));
    }
    Ok(Early::Go(mapped))
}

/// The file a rewritten path stands for: below the document root, or on the disk itself if the rule
/// says its first folder and only the disk has that.
fn file_of(host: &Host, path: Vec<u8>, fixed_start: bool) -> Vec<u8> {
    let root = host.document_root.as_os_str().as_encoded_bytes();
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let first = path[1..]
        .iter()
        .position(|byte| *byte == b'/')
        .map(|end| &path[..=end]);
    let exists = |name: &[u8]| crate::route::stat(name).is_some();
    let below = |name: &[u8]| [root, name].concat();
    match first {
        Some(first) if fixed_start && !exists(&below(first)) && exists(first) => path,
        _ => below(&path),
    }
}

struct Gate<'a, D: Dispatch> {
    shared: &'a Shared<D>,
    request: &'a Request<'a>,
    site: &'a Site,
    host: &'a Host,
}

impl<D: Dispatch> Gate<'_, D> {
    fn look(
        &self,
        route: Rc<Route>,
        mapped: Option<&[u8]>,
        remarks: &mut Remarks,
    ) -> Result<Passage, Problem> {
        let route = self.settle(route, mapped, remarks)?;
        let settings = route.settings.clone();
        if let Some(refusal) = self.refuses(&route, remarks) {
            return Ok(refusal);
        }
        let path = Path::decode(self.request.path())?;
        let held = settings.clone();
        let mut rules = held.rules.redirects.iter();
        let rule = rules.find_map(|rule| Some((rule, rule.matches(&path.bytes)?)));
        if let Some((rule, rest)) = rule {
            return Ok(follow(
                rule,
                rest,
                self.request,
                self.host,
                &path.bytes,
                settings,
            ));
        }
        if let Some(passage) = self.rewrite(&route, &path, remarks) {
            return Ok(passage);
        }
        self.change_fields(&route, remarks);
        Ok(Passage::To(route))
    }

    /// The route under the settings that hold for this very request (`<If>`), its variables set.
    fn settle(
        &self,
        mut route: Rc<Route>,
        mapped: Option<&[u8]>,
        remarks: &mut Remarks,
    ) -> Result<Rc<Route>, Problem> {
        let settings = route.settings.clone();
        self.set_variables(&settings, &route, remarks);
        if !settings.rules.conditionals.is_empty() {
            let notes = remarks.clone();
            let facts = self.facts(&route, &settings, notes.as_deref());
            let request = self.request;
            let again = crate::route::find_for(self.site, self.shared, request, mapped, &facts)?;
            route = Rc::new(again);
            self.set_variables(&route.settings.clone(), &route, remarks);
        }
        Ok(route)
    }

    fn facts<'f>(
        &'f self,
        route: &'f Route,
        settings: &'f Settings,
        notes: Option<&'f Notes>,
    ) -> RequestFacts<'f> {
        let mut facts = RequestFacts::new(self.request, self.host, notes, &self.shared.maps);
        facts.file = &route.file;
        facts.path_info = &route.path_info;
        facts.set_env = &settings.set_env;
        facts
    }

    fn set_variables(&self, settings: &Settings, route: &Route, remarks: &mut Remarks) {
        let rules = &settings.rules.variables;
        set_variables(
            rules,
            self.shared,
            self.request,
            self.host,
            Some(route),
            remarks,
        );
    }

    /// `None`: the request may go on.
    fn refuses(&self, route: &Rc<Route>, remarks: &mut Remarks) -> Option<Passage> {
        let settings = &route.settings;
        let rules = &settings.rules;
        let status = |status| Some(Passage::Status(Some(settings.clone()), status));
        let allowed = rules.allow_deny.is_some().then(|| {
            self.visit(route, remarks.as_deref(), None, |visitor| {
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
        // Who the user is is for the site's Perl where that has a say; the worker is told what is required.
        if requirement.asks_user() && by_perl(&[Phase::Authen]) {
            return None;
        }
        let credentials = match requirement.asks_user() && rules.authentication.is_basic() {
            true => self.credentials(),
            false => None,
        };
        // Who need not be asked is let in without a look at a password.
        let user = remarks.as_ref().and_then(|notes| notes.user.clone());
        let verdict = self.visit(route, remarks.as_deref(), user.as_deref(), |visitor| {
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
            Verdict::NeedsUser => self.ask(settings, credentials, remarks),
        }
    }

    /// The requirement depends on the user, who is not known yet.
    fn ask(
        &self,
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
        let checked = remarks.as_ref().and_then(|notes| notes.checked.clone());
        let right = match checked.filter(|checked| checked.user_file == *file) {
            Some(checked) => checked.right,
            None if self.shared.passwords.are_known(file, &credentials) => true,
            None => return Some(Passage::Check(settings.clone(), file.clone(), credentials)),
        };
        if !right {
            return Some(self.challenge(settings));
        }
        let notes = remarks.get_or_insert_with(Default::default);
        notes.user = Some(credentials.user.into());
        notes.checked = Some(Checked {
            user_file: file.clone(),
            right: true,
        });
        // Once more, with a user.
        let requirement = settings.rules.require.as_ref()?;
        let user = notes.user.clone();
        let verdict = self.visit_with(settings, remarks.as_deref(), user.as_deref(), |visitor| {
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

    fn visit<R>(
        &self,
        route: &Route,
        notes: Option<&Notes>,
        user: Option<&[u8]>,
        what: impl FnOnce(&Visitor<'_>) -> R,
    ) -> R {
        let facts = self.facts(route, &route.settings, notes);
        self.visit_by(&facts, &route.settings, notes, user, what)
    }

    fn visit_with<R>(
        &self,
        settings: &Settings,
        notes: Option<&Notes>,
        user: Option<&[u8]>,
        what: impl FnOnce(&Visitor<'_>) -> R,
    ) -> R {
        let facts = RequestFacts::new(self.request, self.host, notes, &self.shared.maps);
        self.visit_by(&facts, settings, notes, user, what)
    }

    fn visit_by<R>(
        &self,
        facts: &dyn Facts,
        settings: &Settings,
        notes: Option<&Notes>,
        user: Option<&[u8]>,
        what: impl FnOnce(&Visitor<'_>) -> R,
    ) -> R {
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
            facts,
            has_variable: &|name| {
                notes.is_some_and(|notes| notes.variable(name.as_bytes()).is_some())
            },
            user,
            is_member: &|user, group| {
                groups.is_some_and(|file| passwords::is_member(file, user, group))
            },
        })
    }

    /// Rules of a folder: they see what of the file lies behind it, and lead to another path.
    fn rewrite(&self, route: &Route, path: &Path, remarks: &mut Remarks) -> Option<Passage> {
        let settings = &route.settings;
        let rewriting = &settings.rules.rewriting;
        let ended = remarks.as_ref().is_some_and(|notes| notes.ended);
        if !rewriting.is_on() || ended {
            return None;
        }
        let file = [&route.file[..], &route.path_info].concat();
        let folder = rewriting
            .folder
            .as_ref()
            .map(|folder| folder.as_os_str().as_encoded_bytes());
        let behind = folder.and_then(|folder| file.strip_prefix(folder));
        let as_folder = folder.and_then(|folder| folder.strip_suffix(b"/"));
        let subject = match behind {
            Some(behind) => behind.to_vec(),
            // The folder itself, without its slash.
            None if Some(&file[..]) == as_folder => Vec::new(),
            None => file,
        };
        let base = self.base(rewriting.base.as_deref(), path, &subject);
        let mut facts = self.facts(route, settings, None);
        facts.path = &path.bytes;
        let mut run = Run {
            facts,
            subject: subject.clone(),
            query: self.request.query().to_vec(),
            notes: remarks.as_deref().cloned().unwrap_or_default(),
        };
        let rewritten = run.through(rewriting);
        keep(remarks, run.notes);
        let below = |target: Vec<u8>| match target.starts_with(b"/") || has_scheme(&target) {
            true => target,
            false => [&base[..], &target].concat(),
        };
        match rewritten {
            Rewritten::Unchanged => None,
            Rewritten::Status(status) => Some(Passage::Status(Some(settings.clone()), status)),
            Rewritten::Proxy(_) => Some(Passage::Status(Some(settings.clone()), 502)),
            Rewritten::Redirect { status, location } => {
                let location = absolute(self.request, self.host, below(location));
                Some(redirected(settings.clone(), status, location))
            }
            Rewritten::Path {
                path: new, query, ..
            } => {
                let target = joined(&escaped(&below(new)), &query);
                let same = joined(&escaped(&path.bytes), self.request.query());
                // Led to itself: as in Apache the rule is done with.
                (target != same).then_some(Passage::Led(target))
            }
        }
    }

    /// The URL path that relative targets are below: `RewriteBase`, else the request's own without
    /// what the rules saw.
    fn base(&self, configured: Option<&str>, path: &Path, subject: &[u8]) -> Vec<u8> {
        let mut base = match configured {
            Some(base) => base.as_bytes().to_vec(),
            None => match path.merged.strip_suffix(subject) {
                Some(start) => start.to_vec(),
                None => {
                    let end = memchr::memrchr(b'/', &path.merged).unwrap_or(0);
                    path.merged[..end].to_vec()
                }
            },
        };
        if !base.ends_with(b"/") {
            base.push(b'/');
        }
        base
    }

    fn change_fields(&self, route: &Route, remarks: &mut Remarks) {
        let rules = &route.settings.rules.request_headers;
        if rules.is_empty() {
            return;
        }
        let own = self.request.fields.iter();
        let mut fields: Vec<_> = own
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
        let notes = remarks.clone();
        let facts = self.facts(route, &route.settings, notes.as_deref());
        header_rules::change_request(rules, &mut fields, &facts);
        remarks.get_or_insert_with(Default::default).fields = Some(fields);
    }
}

fn keep(remarks: &mut Remarks, notes: Notes) {
    match remarks {
        Some(known) => **known = notes,
        None if notes.variables.is_empty() && notes.lines.is_empty() && !notes.ended => {}
        None => *remarks = Some(Box::new(notes)),
    }
}

/// `SetEnvIf` and the like, each seeing what those before it set.
fn set_variables<D: Dispatch>(
    rules: &[Arc<VariableRule>],
    shared: &Shared<D>,
    request: &Request<'_>,
    host: &Host,
    route: Option<&Route>,
    remarks: &mut Remarks,
) {
    for rule in rules {
        let notes = remarks.as_deref();
        let mut facts = RequestFacts::new(request, host, notes, &shared.maps);
        if let Some(route) = route {
            facts.file = &route.file;
            facts.set_env = &route.settings.set_env;
        }
        let (text, groups) = match &rule.when {
            When::Expression(expression) => match expression.holds(&facts) {
                true => (Vec::new(), Groups::default()),
                false => continue,
            },
            When::Attribute(name, pattern) => {
                let text = attribute(name, &facts);
                match pattern.groups(&text) {
                    Some(groups) => (text, groups),
                    None => continue,
                }
            }
        };
        facts.groups = Some((&text, &groups));
        let sets = rule
            .sets
            .iter()
            .map(|(name, value)| (name, value.as_ref().map(|text| text.of(&facts))));
        let sets: Vec<_> = sets.collect();
        let notes = remarks.get_or_insert_with(Default::default);
        for (name, value) in sets {
            match value {
                Some(value) => notes.set(name.as_bytes(), value),
                None => notes.unset(name.as_bytes()),
            }
        }
    }
}

/// What `SetEnvIf` looks at: one of its own names, a field of the request, else a variable.
fn attribute(name: &str, facts: &RequestFacts) -> Vec<u8> {
    let variable = match name.to_ascii_lowercase().as_str() {
        "remote_addr" | "remote_host" => "REMOTE_ADDR",
        "server_addr" => "SERVER_ADDR",
        "request_method" => "REQUEST_METHOD",
        "request_protocol" => "SERVER_PROTOCOL",
        "request_uri" => "REQUEST_URI",
        _ => {
            let mut text = Vec::new();
            facts.put(&Piece::Field(name.to_string()), &mut text);
            return match text.is_empty() {
                true => facts.environment(name).unwrap_or_default(),
                false => text,
            };
        }
    };
    let mut text = Vec::new();
    facts.put(&Piece::Variable(variable.to_string()), &mut text);
    text
}

fn joined(path: &[u8], query: &[u8]) -> Vec<u8> {
    match query.is_empty() {
        true => path.to_vec(),
        false => [path, b"?", query].concat(),
    }
}

/// Where a redirect rule leads.
fn follow(
    rule: &RedirectRule,
    rest: Rest<'_>,
    request: &Request<'_>,
    host: &Host,
    path: &[u8],
    settings: Arc<Settings>,
) -> Passage {
    let Some(to) = &rule.to else {
        return Passage::Status(Some(settings), rule.status);
    };
    let mut target = Vec::new();
    match rest {
        Rest::Behind(rest) => {
            to.put(&Nothing, &mut target);
            target.extend_from_slice(&escaped(rest));
        }
        Rest::Groups(groups) => {
            let facts = Matched {
                facts: &Nothing,
                groups: Some((path.into(), *groups)),
            };
            target = to.of(&facts);
            target.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
            if matches!(rule.from, RedirectFrom::Match(_)) && !has_scheme(&target) {
                target = escaped_but_query(&target);
            }
        }
    }
    if !target.contains(&b'?') {
        target = joined(&target, request.query());
    }
    redirected(settings, rule.status, absolute(request, host, target))
}

fn escaped_but_query(target: &[u8]) -> Vec<u8> {
    match memchr::memchr(b'?', target) {
        Some(at) => [&escaped(&target[..at]), &target[at..]].concat(),
        None => escaped(target),
    }
}

fn redirected(settings: Arc<Settings>, status: u16, location: Vec<u8>) -> Passage {
    let mut location = location;
    location.retain(|byte| *byte > b' ' && *byte != 0x7f);
    let lines = [b"Location: ", &location[..], b"\r\n"].concat();
    Passage::Answer(settings, Answer::new(status, lines))
}

/// A target with scheme and host; one that has them stays as it is.
fn absolute(request: &Request<'_>, host: &Host, target: Vec<u8>) -> Vec<u8> {
    if has_scheme(&target) || !target.starts_with(b"/") {
        return target;
    }
    let scheme: &[u8] = match request.peer.tls {
        Some(_) => b"https://",
        None => b"http://",
    };
    let name = match request.host.is_empty() {
        true => server_name(request, host),
        false => request.host,
    };
    [scheme, name, &target].concat()
}

/// What the gate came to, once all it wanted done has been done.
pub enum Admission {
    To(Rc<Route>),
    Answer(Answer),
    /// The page of a status.
    Status(u16),
}

/// Asks [`pass`] (by `ask`, which knows the request) until it has decided. `asked` is the target as sent.
pub async fn admit<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    asked: &[u8],
    ask: impl Fn(&Turn, &mut Remarks) -> Result<Passage, Problem>,
) -> Result<Admission, Problem> {
    loop {
        let mut remarks = turn.notes.take();
        let passage = ask(turn, &mut remarks);
        turn.notes = remarks;
        match passage? {
            Passage::To(route) => return Ok(Admission::To(route)),
            Passage::Answer(settings, answer) => {
                turn.settings = Some(settings);
                return Ok(Admission::Answer(answer));
            }
            Passage::Status(settings, status) => {
                return Ok(refuse(shared, turn, settings, status, asked))
            }
            Passage::Led(target) => {
                let redirect = lead(turn.redirect.as_ref(), target, asked);
                if redirect.count > REDIRECTS {
                    turn.log(shared, LogLevel::Error, asked, "rewritten too often");
                    return Ok(Admission::Status(500));
                }
                turn.redirect = Some(redirect);
            }
            Passage::Check(settings, file, credentials) => {
                let right = match shared.passwords.check(&file, &credentials).await {
                    Outcome::Right => true,
                    Outcome::Wrong => false,
                    Outcome::Busy => return Ok(refuse(shared, turn, Some(settings), 503, asked)),
                    Outcome::Unreadable => {
                        let text = format!("AuthUserFile {} cannot be read", file.display());
                        turn.log(shared, LogLevel::Error, asked, &text);
                        return Ok(refuse(shared, turn, Some(settings), 500, asked));
                    }
                };
                if !right {
                    let user = credentials.user.escape_ascii();
                    let text = format!("user {user}: not in AuthUserFile, or another password");
                    turn.log(shared, LogLevel::Error, asked, &text);
                }
                let notes = turn.notes.get_or_insert_with(Default::default);
                notes.checked = Some(Checked {
                    user_file: file,
                    right,
                });
            }
        }
    }
}

fn refuse<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    settings: Option<Arc<Settings>>,
    status: u16,
    asked: &[u8],
) -> Admission {
    if let (401, Some(settings)) = (status, &settings) {
        let realm = settings
            .rules
            .authentication
            .realm
            .as_deref()
            .unwrap_or("restricted");
        let realm = realm.replace('\\', "\\\\").replace('"', "\\\"");
        let line = format!("WWW-Authenticate: Basic realm=\"{realm}\"\r\n");
        let notes = turn.notes.get_or_insert_with(Default::default);
        notes.lines.extend_from_slice(line.as_bytes());
    }
    if status == 403 {
        turn.log(
            shared,
            LogLevel::Error,
            asked,
            "client denied by the configuration",
        );
    }
    if let (500, Some(settings)) = (status, &settings) {
        if settings
            .rules
            .require
            .as_ref()
            .is_some_and(|rule| rule.asks_user())
        {
            let text = "Require asks for a user, and nothing says how one is known; expected AuthType Basic and AuthUserFile";
            turn.log(shared, LogLevel::Error, asked, text);
        }
    }
    if settings.is_some() {
        turn.settings = settings;
    }
    Admission::Status(status)
}

/// The same request, for another target: method and body stay.
pub fn lead(redirect: Option<&Redirect>, target: Vec<u8>, asked: &[u8]) -> Redirect {
    let from = redirect.map_or(asked, |redirect| &redirect.target);
    Redirect {
        from: path_of(from).to_vec(),
        status: redirect.map_or(200, |redirect| redirect.status),
        count: redirect.map_or(0, |redirect| redirect.count) + 1,
        keeps_request: redirect.map_or(true, |redirect| redirect.keeps_request),
        target,
    }
}
