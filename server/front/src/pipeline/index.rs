//! Looks for the index of a folder where the host's rules decide which file belongs to a path, or
//! where the folder has rules of its own. Like Apache's mod_dir, asks the rules for the path of
//! each name in `DirectoryIndex`.
//!
//! The fixup stage calls [`Evaluation::to_index`]. Without rules, `routing` finds the index itself.

use super::rules::{Decision, Evaluation, RedirectTarget};
use crate::content::stat::{is_file, stat};
use crate::request::rule_state::{Destination, IndexedFolder, RuleState, Stage};
use crate::request::{path_of, Request};
use crate::routing::{MovedFolder, Route, RouteOutcome};
use mehari_config::{Handler, Settings};
use mehari_http::problem::Problem;
use mehari_text::percent;
use std::rc::Rc;
use std::sync::Arc;

/// How often the rules may map a name of an index to another path.
const REWRITES: usize = 10;

/// The result for a folder.
pub(super) enum IndexChoice {
    /// The request continues with this path and query. The rules have decided its destination.
    At(Vec<u8>),
    /// The folder has no index.
    Nothing,
    Decided(Decision),
}

/// The result for one name.
enum Candidate {
    Found(Vec<u8>, Box<RuleState>),
    /// A folder that may have an index itself.
    Folder(Rc<Route>, Option<Box<RuleState>>),
    Missing(u16),
    /// The access rules of the name's own place refuse the request.
    Refused(Arc<Settings>, u16),
    Decided(Decision),
}

impl Evaluation<'_> {
    /// Leads the request to the index of its folder, or returns the folder's own response.
    pub(super) fn to_index(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        match self.choose_index(&route, rule_state)? {
            IndexChoice::Decided(decision) => Ok(decision),
            IndexChoice::At(target) => Ok(Decision::Led(RedirectTarget {
                target,
                in_place: true,
                ..Default::default()
            })),
            IndexChoice::Nothing => self.without_index(rule_state).map(Decision::To),
        }
    }

    /// Returns the route of the folder's index for a worker's question. If the rules refuse the
    /// index or redirect to another place, the folder's own response counts.
    pub(super) fn at_index(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        if !matches!(route.outcome, RouteOutcome::Indexed) {
            return Ok(route);
        }
        let IndexChoice::At(target) = self.choose_index(&route, rule_state)? else {
            return self.without_index(rule_state);
        };
        self.at_variant(target, None, rule_state, |evaluation, rule_state| {
            let route = evaluation.find_route(rule_state)?;
            evaluation.settle(route, rule_state)
        })
    }

    /// Returns the route of a folder without an index.
    pub(super) fn without_index(
        &self,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        let state = rule_state.get_or_insert_with(Default::default);
        state.mapping.lacks_index = true;
        let route = self.find_route(rule_state)?;
        self.settle(route, rule_state)
    }

    /// Chooses the first name in `DirectoryIndex` that leads to a file or a program.
    pub(super) fn choose_index(
        &self,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<IndexChoice, Problem> {
        let settings = &route.settings;
        let folder = percent::encode_path(&route.script_name);
        // As in Apache, a name that is refused and not missing leaves a refusal if no other name
        // leads anywhere.
        let mut refusal = None;
        for name in &settings.files.directory_index {
            let start = if name.starts_with('/') {
                &b""[..]
            } else {
                &folder
            };
            let end = name.find('?').unwrap_or(name.len());
            let encoded = percent::encode_path(&name.as_bytes()[..end]);
            let path = [start, &encoded, &name.as_bytes()[end..]].concat();
            match self.candidate(self.with_query(path), route, rule_state)? {
                Candidate::Found(target, _) if settings.files.index_redirect.is_some() => {
                    return Ok(IndexChoice::Decided(moved_to_index(route, &target)));
                }
                Candidate::Found(target, state) => {
                    *rule_state = Some(state);
                    return Ok(IndexChoice::At(target));
                }
                Candidate::Missing(404) | Candidate::Folder(..) => {}
                Candidate::Missing(status) => refusal = Some((settings.clone(), status)),
                Candidate::Refused(settings, status) => refusal = Some((settings, status)),
                Candidate::Decided(decision) => return Ok(IndexChoice::Decided(decision)),
            }
        }
        Ok(match refusal {
            Some((settings, status)) => {
                IndexChoice::Decided(Decision::Status(Some(settings), status))
            }
            None => IndexChoice::Nothing,
        })
    }

    /// Asks the rules of the host for the path of an index, as for a sub-request.
    fn candidate(
        &self,
        mut target: Vec<u8>,
        folder: &Route,
        rule_state: &Option<Box<RuleState>>,
    ) -> Result<Candidate, Problem> {
        let mut state = rule_state.clone().unwrap_or_default();
        let is_within = std::mem::replace(&mut state.is_within, true);
        let is_nested = state.mapping.index_of.is_some();
        state.leave_resource();
        state.mapping.index_of = Some(IndexedFolder {
            path: folder.script_name.clone(),
            file: folder.file.clone(),
            settings: folder.settings.clone(),
        });
        let mut own = Some(state);
        for _ in 0..REWRITES {
            let request = Request {
                resource: &target,
                ..*self.request
            };
            let evaluation = Evaluation::new(self.shared, &request, self.site);
            match evaluation.rewrite(&mut own, Stage::Server)? {
                None => {
                    let found = evaluation.found(folder, own, is_within)?;
                    return match found {
                        Candidate::Folder(..) if is_nested => Ok(Candidate::Missing(404)),
                        Candidate::Folder(route, own) => evaluation.index_of_folder(&route, own),
                        found => Ok(found),
                    };
                }
                Some(Decision::Led(to)) => target = to.target,
                Some(Decision::Status(_, status)) => return Ok(Candidate::Missing(status)),
                Some(decision) => return Ok(Candidate::Decided(decision)),
            }
        }
        Ok(Candidate::Missing(500))
    }

    /// Finds out whether the path of this evaluation leads to a file or a program.
    fn found(
        &self,
        folder: &Route,
        mut own: Option<Box<RuleState>>,
        is_within: bool,
    ) -> Result<Candidate, Problem> {
        let route = self.find_route(&own)?;
        let route = self.settle(route, &mut own)?;
        match self.refuses_index(folder, &route, &mut own) {
            None => {}
            Some(Decision::Status(settings, status)) => {
                let settings = settings.unwrap_or_else(|| route.settings.clone());
                return Ok(Candidate::Refused(settings, status));
            }
            Some(decision) => return Ok(Candidate::Decided(decision)),
        }
        if self.leaves_guard_of(folder, &route, &own) {
            return Ok(Candidate::Missing(403));
        }
        let by_handler = match route.handler {
            Handler::Psgi(_) => true,
            Handler::Perl { .. } => {
                route.path_info.is_empty()
                    && stat(&route.file).is_some_and(|(_, stat)| is_file(&stat))
            }
            _ => !route.file.is_empty(),
        };
        Ok(match &route.outcome {
            RouteOutcome::Refused(problem) => Candidate::Missing(problem.status),
            RouteOutcome::File(_)
            | RouteOutcome::Negotiated(_)
            | RouteOutcome::Proxied(_)
            | RouteOutcome::Acted(_) => self.taken(&mut own, is_within),
            RouteOutcome::Indexed => Candidate::Folder(route, own),
            // As in Apache, the client gets a redirect to the folder with its final slash.
            RouteOutcome::Moved(_) => Candidate::Decided(Decision::To(route)),
            RouteOutcome::Program if by_handler => self.taken(&mut own, is_within),
            _ => Candidate::Missing(404),
        })
    }

    /// Returns the index of a folder that is named in `DirectoryIndex`.
    fn index_of_folder(
        &self,
        folder: &Route,
        mut own: Option<Box<RuleState>>,
    ) -> Result<Candidate, Problem> {
        Ok(match self.choose_index(folder, &mut own)? {
            IndexChoice::At(target) => Candidate::Found(target, own.unwrap_or_default()),
            IndexChoice::Nothing => Candidate::Missing(404),
            IndexChoice::Decided(decision) => Candidate::Decided(decision),
        })
    }

    /// Whether the folder might refuse the request, and the index would be sent without that
    /// decision: a worker makes the decision for one place only, here that of the index.
    fn leaves_guard_of(
        &self,
        folder: &Route,
        index: &Route,
        rule_state: &Option<Box<RuleState>>,
    ) -> bool {
        let (of_folder, of_index) = (&folder.settings, &index.settings);
        if !of_folder.is_decided_after_perl() || of_folder.guards_as(of_index) {
            return false;
        }
        of_folder.is_guarded_by_perl()
            || of_folder.has_other_parsers(of_index)
            || self
                .admits(folder, of_folder, &mut rule_state.clone())
                .is_err()
    }

    fn taken(&self, own: &mut Option<Box<RuleState>>, is_within: bool) -> Candidate {
        let mut state = own.take().unwrap_or_default();
        state.is_within = is_within;
        state.mapping.destination.get_or_insert(Destination::Mapped);
        Candidate::Found(self.request.resource.to_vec(), state)
    }

    fn with_query(&self, path: Vec<u8>) -> Vec<u8> {
        super::rewrite::joined(self.request, &path, self.request.query())
    }
}

/// Redirects to an index, without the query (`DirectoryIndexRedirect`). As in Apache, the client
/// learns the name of the index only when Perl's handlers have admitted it to the folder.
fn moved_to_index(folder: &Route, target: &[u8]) -> Decision {
    Decision::To(Rc::new(folder.moved(MovedFolder {
        to: path_of(target).to_vec(),
        status: folder.settings.files.index_redirect.unwrap_or(302),
        keeps_query: false,
    })))
}
