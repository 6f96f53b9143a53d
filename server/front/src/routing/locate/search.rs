//! Searches for the file and the handler of a path: mapping, sections, the walk through the
//! folders.
//!
//! `folder` continues if the path leads to a folder, and `without_file` if there is no file.

mod folder;
mod negotiated;
mod without_file;

pub use folder::NO_INDEX;

use crate::content::stat::{is_file, stat};
use crate::content::FileTarget;
use crate::request::rule_state::IndexedFolder;
use crate::request::variables::ExpressionVariables;
use crate::routing::htaccess::HtaccessTable;
use crate::routing::links;
use crate::routing::mapping::{map, Mapping};
use crate::routing::neighbours::{self, Pair};
use crate::routing::walk::{self, ExistingPath, WalkedPath};
use crate::routing::{program, proxied, variants, ActedFor, Acting, LedTo, Route, RouteOutcome};
use folder::Lead;
use mehari_config::{Forced, Handler, Host, Proxied, RequestPlace, Settings, Site};
use mehari_filewatch::{DependencyRecorder, FileWatcher};
use mehari_http::path::{hides, Path};
use mehari_http::problem::Problem;
use mehari_text::percent;
use rustix::fs::{Access, FileType, Stat};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// How often a search may continue with another path: an index, an `Action` or a fallback.
const INDEXES: usize = 4;

pub(super) const NOT_FOUND: Problem = Problem::refused(404, "no such file");
pub const ENCODED_SLASH: Problem = Problem::refused(404, "an encoded slash");
pub const HIDDEN: Problem = Problem::refused(404, "a file that is never shown");
pub const DENIED: Problem = Problem::refused(403, "denied by the configuration");
const LINK: Problem = Problem::refused(
    403,
    "a symbolic link that Options forbids or that leads nowhere",
);
const AROUND: Problem = Problem::refused(500, "the programs of Action lead to each other");

/// Whether Apache finds this problem before any handler runs: for a sub-request that only looks a
/// path up.
pub fn is_found_by_walk(problem: &Problem) -> bool {
    [HIDDEN, DENIED, LINK, ENCODED_SLASH].contains(problem)
}

/// One search for a route.
pub(super) struct Search<'s> {
    site: &'s Site,
    host: &'s Host,
    htaccess: &'s HtaccessTable,
    pub(super) variables: Option<&'s ExpressionVariables<'s>>,
    pub(super) forced: &'s [Arc<Forced>],
    /// The settings of the place that has refused the request, if the page of this error is sought.
    pub(super) error_of: Option<&'s Settings>,
    /// The back end that a rule of the host has chosen.
    pub(super) back_end: Option<&'s Arc<Proxied>>,
    /// The settings that count in place of those of the path and the file.
    pub(super) own_settings: Option<Arc<Settings>>,
    /// The handler that Perl has chosen.
    pub(super) handler: Option<&'s Handler>,
    /// Whether the host's rules have found no index in the folder.
    pub(super) lacks_index: bool,
    /// Whether the file is a CGI program of a `VirtualScriptAlias`.
    pub(super) is_program: bool,
    /// Records the examined files, if the route will be watched.
    pub(super) recorder: Option<DependencyRecorder<'s>>,
    indexes: usize,
    /// The folder, with its slash, whose index is sought.
    pub(super) indexed_folder: Option<Vec<u8>>,
    /// The settings of the places that the search has left for another path.
    intermediate_settings: Vec<Arc<Settings>>,
    /// The settings of the place whose index or fallback is sought.
    looked_up_from: Option<Arc<Settings>>,
    /// Whether Apache would make a sub-request for the path: an index or a fallback.
    pub(super) is_lookup: bool,
    /// The path to which the search has continued.
    led_to: Option<Box<LedTo>>,
    action: Option<Box<ActedFor>>,
    /// The first folder whose index was found, or the first path whose fallback was found.
    index_of: Option<Box<IndexedFolder>>,
    /// The path as it was sent.
    raw: &'s [u8],
}

impl<'s> Search<'s> {
    pub(super) fn new(site: &'s Site, htaccess: &'s HtaccessTable, host: u32) -> Search<'s> {
        Search {
            site,
            host: site.host(host),
            htaccess,
            variables: None,
            forced: &[],
            error_of: None,
            back_end: None,
            own_settings: None,
            handler: None,
            lacks_index: false,
            is_program: false,
            recorder: None,
            indexes: 0,
            indexed_folder: None,
            intermediate_settings: Vec::new(),
            looked_up_from: None,
            is_lookup: false,
            led_to: None,
            action: None,
            index_of: None,
            raw: &[],
        }
    }

    /// Whether the folder of this path's file is watched already.
    pub(super) fn is_watched(
        &self,
        watcher: &FileWatcher,
        raw: &[u8],
        file: Option<&[u8]>,
    ) -> bool {
        let mapped = || Some(map(&self.host.mapping, &Path::decode(raw).ok()?.merged).file);
        let Some(mapped) = file.map(<[u8]>::to_vec).or_else(mapped) else {
            return false;
        };
        let slash = memchr::memrchr(b'/', &mapped);
        slash.is_some_and(|slash| watcher.has_watched(&mapped[..slash]))
    }

    /// Returns the `stat` of a path, and records the path if the route will be watched.
    fn look(&self, file: &[u8]) -> Option<(CString, Stat)> {
        let Some(recorder) = &self.recorder else {
            return stat(file);
        };
        let stat = recorder.stat(file)?;
        let name = file.strip_suffix(b"/").unwrap_or(file);
        Some((CString::new(name).ok()?, stat))
    }

    fn decode(&self, raw: &[u8]) -> Result<Path, Problem> {
        Path::decode_as(raw, self.host.mapping.encoded_slashes())
    }

    pub(super) fn route(&mut self, raw: &'s [u8], file: Option<&[u8]>) -> Result<Route, Problem> {
        let path = self.decode(raw)?;
        self.raw = raw;
        let mut route = match file {
            None => self.find(path)?,
            Some(file) => {
                let script = self.is_program;
                let mapping = Mapping {
                    script,
                    by_rule: true,
                    ..Mapping::to(file.to_vec())
                };
                self.find_mapped(path, mapping)?
            }
        };
        if route.script_name.is_empty() || route.file.is_empty() {
            // Perl's handlers and rules need the path and its file, also of a refused request.
            let mut path = self.decode(raw)?.merged;
            let mapped = match file {
                Some(file) => file.to_vec(),
                None => map(&self.host.mapping, &path).file,
            };
            let walked = walk::walk(&mapped, |file| self.look(file)).path;
            if route.script_name.is_empty() && route.path_info.is_empty() {
                let info = &mapped[walked.len()..];
                route.path_info = path.split_off(walk::script_length(&path, info));
                route.script_name = path;
            }
            if route.file.is_empty() || route.settings.runs_phases() {
                route.file = walked;
            }
        }
        route.intermediate_settings = std::mem::take(&mut self.intermediate_settings);
        route.led_to = self.led_to.take();
        route.action = self.action.take();
        route.index_of = self.index_of.take();
        let from = self.looked_up_from.take();
        let is_looked_up = from.is_some_and(|from| route.settings.are_checked_behind(&from));
        route.is_looked_up = is_looked_up;
        route.intermediate_settings.retain(|settings| {
            settings.is_undecided()
                || !settings.guards_as(&route.settings)
                || is_looked_up && !settings.is_guarded_by_perl()
        });
        Ok(route)
    }

    /// Continues as if `path` had been requested. The access rules of `path` and of `from` are both
    /// evaluated later.
    fn continue_with(&mut self, from: &Arc<Settings>, path: Path) -> Result<Route, Problem> {
        let to = Lead { path, query: None };
        self.leave(from, None, &to);
        self.find(to.path)
    }

    /// Does the same for an index or a fallback, which Apache looks up by a sub-request.
    fn look_up(&mut self, from: &Arc<Settings>, to: Lead) -> Result<Route, Problem> {
        self.leave(from, Some(from.clone()), &to);
        self.find(to.path)
    }

    fn leave(&mut self, from: &Arc<Settings>, looked_up_from: Option<Arc<Settings>>, to: &Lead) {
        if from.is_guarded() || from.is_undecided() {
            self.intermediate_settings.push(from.clone());
        }
        self.handler = None;
        self.is_lookup = looked_up_from.is_some();
        self.looked_up_from = looked_up_from;
        self.led_to = Some(Box::new(LedTo {
            path: to.path.merged.clone(),
            query: to.query.clone(),
        }));
    }

    fn find(&mut self, path: Path) -> Result<Route, Problem> {
        let mapping = map(&self.host.mapping, &path.merged);
        self.find_mapped(path, mapping)
    }

    fn find_mapped(&mut self, path: Path, mapping: Mapping) -> Result<Route, Problem> {
        let Mapping {
            file: mapped,
            script: alias_script,
            uncovers,
            by_rule,
        } = mapping;
        let pass = || proxied::pass(&self.host.mapping.passes, &path);
        let pass = match &self.own_settings {
            Some(_) => None,
            None => self.back_end.cloned().or_else(pass),
        };
        let settings = match &pass {
            Some(_) => self.settings_of_pass(&path.merged, &mapped),
            None => self.settings(&path.merged, &mapped)?,
        };
        // An application of PSGI, which Apache does not know, itself decides about the slash.
        let is_application = matches!(settings.handlers.set, Some(Handler::Psgi(_)));
        if self.host.mapping.refuses(path.encoded_slash) && !is_application {
            // As in Apache, no section and no rule of a folder concerns such a path.
            return Ok(self.refused(self.host.base_settings(), ENCODED_SLASH));
        }
        let is_page_of_place = self
            .error_of
            .is_some_and(|of| !settings.are_checked_behind(of));
        if settings.denied && !is_page_of_place {
            return Ok(self.refused(settings, DENIED));
        }
        if uncovers {
            return Ok(self.refused(settings, HIDDEN));
        }
        // As in Apache, `ProxyPass` outweighs the handler of a section.
        if let Some(proxied) = pass {
            return self.proxied(settings, proxied, path, mapped);
        }
        if let Some(handler @ (Handler::Perl { .. } | Handler::Psgi(_))) =
            settings.handlers.set.clone()
        {
            let is_perl = matches!(handler, Handler::Perl { .. });
            if is_perl && self.lacks_slash(&settings, &path, &mapped) {
                return Ok(self.with_slash(settings, &path, mapped));
            }
            if is_perl && self.handler_stops_at_link(&path, &mapped)? {
                return Ok(self.refused(self.host.base_settings(), LINK));
            }
            let index = if is_perl {
                self.handled_index(&settings, &path, &mapped)
            } else {
                None
            };
            if let Some(route) = index {
                return route;
            }
            return Ok(self.mounted(settings, handler, path, mapped));
        }
        if let Some(Handler::Report(report)) = settings.handlers.set {
            return Ok(Route {
                handler: Handler::Report(report),
                script_name: path.merged,
                outcome: RouteOutcome::Report(report),
                ..self.refused(settings, NOT_FOUND)
            });
        }
        if let Some(proxied) = back_end(&settings) {
            return self.proxied(settings, proxied, path, mapped);
        }
        // All of a file that rules have chosen may be PATH_INFO, as in Apache.
        let chosen = if by_rule {
            mapped.len()
        } else {
            path.merged.len()
        };
        let found = walk::back(&mapped, chosen, |file| self.look(file));
        if self.stops_at_link(&mapped, known_length(&mapped, found.as_ref()))? {
            // As in Apache, no section is merged before the walk through the folders has ended.
            return Ok(self.refused(self.host.base_settings(), LINK));
        }
        // Hidden names are permitted in PATH_INFO, because it names no file.
        let is_file = |found: &&ExistingPath| {
            FileType::from_raw_mode(found.stat.st_mode) == FileType::RegularFile
        };
        let info = found.as_ref().filter(is_file).map_or(0, |found| found.rest);
        // A rule may lead a hidden name elsewhere, for example into the query.
        let is_led_elsewhere = by_rule && !hides(&mapped[..mapped.len() - info]);
        if !is_led_elsewhere && path.hides(path.merged.len().saturating_sub(info)) {
            return Ok(self.refused(settings, HIDDEN));
        }
        let Some(found) = found else {
            return self.without_file(settings, path, mapped, alias_script);
        };
        match FileType::from_raw_mode(found.stat.st_mode) {
            FileType::Directory => self.folder(settings, path, found, alias_script),
            FileType::RegularFile => self.file(settings, path, found, alias_script),
            FileType::CharacterDevice | FileType::BlockDevice if found.behind.is_empty() => {
                self.device(settings, path, found, alias_script)
            }
            _ => Ok(self.refused(settings, DENIED)),
        }
    }

    /// Whether the path is that of an existing folder, without the final slash. As in Apache, such
    /// a path is redirected before a Perl handler sees it.
    fn lacks_slash(&self, settings: &Settings, path: &Path, mapped: &[u8]) -> bool {
        let is_folder = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        settings.files.directory_slash
            && !path.merged.ends_with(b"/")
            && self.look(mapped).is_some_and(|(_, stat)| is_folder(stat))
    }

    /// Whether the way to a file, whose first `known` bytes exist, ends at a symbolic link.
    fn stops_at_link(&self, file: &[u8], known: usize) -> Result<bool, Problem> {
        if self.own_settings.is_some() {
            return Ok(false);
        }
        let path = std::path::Path::new(OsStr::from_bytes(file));
        let chain = self.htaccess.chain(self.site, self.host, path)?;
        let links_in = |folder: &std::path::Path| self.host.links_in(folder, &chain);
        Ok(!links::may_walk(path, known, &links_in))
    }

    /// Whether the way to the file of a Perl handler ends at a symbolic link. The handler's file
    /// need not exist.
    fn handler_stops_at_link(&self, path: &Path, mapped: &[u8]) -> Result<bool, Problem> {
        let found = walk::back(mapped, path.merged.len(), stat);
        self.stops_at_link(mapped, known_length(mapped, found.as_ref()))
    }

    /// Returns the settings of a path and its file: from sections, .htaccess files and every `<If>`
    /// whose condition holds for this path. A folder may fulfil other conditions than its index.
    fn settings(&self, path: &[u8], file: &[u8]) -> Result<Arc<Settings>, Problem> {
        self.settings_as(path, file, self.is_lookup)
    }

    /// Returns the settings of an index or a fallback, for which Apache would make a sub-request.
    fn settings_of_lookup(&self, path: &[u8], file: &[u8]) -> Result<Arc<Settings>, Problem> {
        self.settings_as(path, file, true)
    }

    fn settings_as(
        &self,
        path: &[u8],
        file: &[u8],
        is_lookup: bool,
    ) -> Result<Arc<Settings>, Problem> {
        if let Some(own) = &self.own_settings {
            return Ok(own.clone());
        }
        let file = std::path::Path::new(OsStr::from_bytes(file));
        let chain = self.htaccess.chain(self.site, self.host, file)?;
        if let Some(recorder) = &self.recorder {
            if !self.htaccess.watches_all() {
                recorder.note_unwatched();
            }
        }
        let walked = self.walked(file.as_os_str().as_bytes());
        let of_index = walked
            .as_ref()
            .and_then(|walked| self.folder_of_index(&walked.path));
        let existing = of_index.or(walked.as_ref().map(WalkedPath::existing));
        let as_path = |bytes| std::path::Path::new(OsStr::from_bytes(bytes));
        let place = RequestPlace {
            url_path: path,
            file: Some(file),
            walked: walked.as_ref().map(|walked| as_path(&walked.path)),
            existing: existing.map(as_path),
            folder: of_index.map(as_path),
        };
        let settings = self.host.settings_with(place, &chain);
        Ok(self.settings_for_request(settings, path, file, is_lookup))
    }

    /// Returns the settings of a path that `ProxyPass` gives to a back end. As in Apache, no
    /// section of a folder or a file concerns it, and no .htaccess file.
    fn settings_of_pass(&self, path: &[u8], file: &[u8]) -> Arc<Settings> {
        let settings = self.host.settings(path, None);
        let file = std::path::Path::new(OsStr::from_bytes(file));
        self.settings_for_request(settings, path, file, self.is_lookup)
    }

    /// Adds what conditions and rules change for this request.
    fn settings_for_request(
        &self,
        settings: Arc<Settings>,
        path: &[u8],
        file: &std::path::Path,
        is_lookup: bool,
    ) -> Arc<Settings> {
        let settings = match self.variables {
            Some(variables) => {
                let file = file.as_os_str().as_bytes();
                let walked = walk::walk(file, |file| self.look(file)).path;
                let path_info = &file[walked.len()..];
                let of_place = variables.of_place(path, &walked, path_info, is_lookup);
                let settings = self.host.settings_if(&settings, &of_place);
                let mut varying = variables.varying.borrow_mut();
                varying.extend(of_place.varying.into_inner());
                settings
            }
            None => settings,
        };
        let settings = self.host.settings_forced(&settings, self.forced);
        match self.handler.filter(|_| !is_lookup) {
            Some(handler) => Arc::new(settings.with_handler(handler)),
            None => settings,
        }
    }

    /// Makes the target of a file, with the compressed neighbours that are as accessible as the
    /// file itself and that no rule may treat otherwise.
    fn target(&self, settings: &Settings, path: &Path, name: CString, stat: &Stat) -> FileTarget {
        let mut target = FileTarget::new(name, stat);
        let look = |file: &[u8]| self.look(file).map(|(_, stat)| stat);
        target.find_neighbours(stat, look, |file, coding| {
            let url_path = [&path.merged[..], coding.suffix().as_bytes()].concat();
            let own = self.settings_of_lookup(&url_path, file);
            let pair = |file, neighbour| Pair { file, neighbour };
            let urls = pair(&path.merged, &url_path);
            let files = pair(
                file.strip_suffix(coding.suffix().as_bytes())
                    .unwrap_or(file),
                file,
            );
            let is_as_file = |own: Arc<Settings>| {
                own.guards_as(settings)
                    && neighbours::may_be_sent(self.host, (settings, &own), urls, files)
            };
            own.is_ok_and(is_as_file)
                && self
                    .stops_at_link(file, file.len())
                    .is_ok_and(|stops| !stops)
                && rustix::fs::access(OsStr::from_bytes(file), Access::READ_OK).is_ok()
        });
        target
    }

    /// Returns the path that Apache has walked to a file, if any section needs it. As in Apache, an
    /// index has the sections of its folder.
    fn walked(&self, file: &[u8]) -> Option<WalkedPath> {
        let needs_walk = self.host.needs_walk();
        needs_walk.then(|| walk::walk(file, |file| self.look(file)))
    }

    /// Returns the folder, with its slash, if the file is the sought index of this folder.
    fn folder_of_index(&self, file: &[u8]) -> Option<&[u8]> {
        let folder = self.indexed_folder.as_deref()?;
        let is_in_folder = file
            .strip_prefix(folder)
            .is_some_and(|name| !name.contains(&b'/'));
        let is_index = || self.look(file).is_some_and(|(_, stat)| is_file(&stat));
        (is_in_folder && is_index()).then_some(folder)
    }

    fn file(
        &mut self,
        settings: Arc<Settings>,
        path: Path,
        found: ExistingPath,
        alias_script: bool,
    ) -> Result<Route, Problem> {
        let path_info = &found.behind;
        let script_name = &path.merged[..walk::script_length(&path.merged, path_info)];
        if let Some(route) = self.acting(&settings, &path, (&found.file, path_info)) {
            return route;
        }
        let choice = program::choose(self.site, &settings, &found, alias_script);
        let is_program = !matches!(choice, Ok(Handler::File));
        if !path_info.is_empty() && !settings.files.accept_path_info.unwrap_or(is_program) {
            return Ok(Route {
                script_name: script_name.to_vec(),
                path_info: found.behind,
                file: found.file,
                ..self.refused(settings, NOT_FOUND)
            });
        }
        let (handler, outcome) = match choice {
            Err(problem) => return Ok(self.refused(settings, problem)),
            Ok(Handler::File) => {
                let target = self.target(&settings, &path, found.name, &found.stat);
                (Handler::File, RouteOutcome::File(target))
            }
            Ok(Handler::TypeMap) => {
                if let Some(recorder) = &self.recorder {
                    recorder.note_unwatched();
                }
                match variants::of_map(&found.file) {
                    Ok(variants) => (Handler::TypeMap, RouteOutcome::Negotiated(variants)),
                    Err(problem) => return Ok(self.refused(settings, problem)),
                }
            }
            Ok(handler @ Handler::Proxy(_)) => {
                let target = percent::encode_path(&path.merged);
                (handler, RouteOutcome::Proxied(target))
            }
            Ok(handler) => (handler, RouteOutcome::Program),
        };
        Ok(Route {
            host: self.host.number,
            settings,
            handler,
            script_name: script_name.to_vec(),
            path_info: found.behind,
            file: found.file,
            outcome,
            intermediate_settings: Vec::new(),
            is_looked_up: false,
            led_to: None,
            action: None,
            index_of: None,
            file_mark: None,
        })
    }

    /// Returns the route of the program that an `Action` names for a file. The program gets the
    /// original path as PATH_INFO. If Perl decides about access to the file, the request stays here
    /// until a worker has decided.
    fn acting(
        &mut self,
        settings: &Arc<Settings>,
        path: &Path,
        (file, path_info): (&[u8], &[u8]),
    ) -> Option<Result<Route, Problem>> {
        // A handler that Perl has named replaces the place's handler.
        if (self.handler.as_ref()).is_some_and(|handler| !matches!(handler, Handler::Named(_))) {
            return None;
        }
        let (name, program) = program::action(settings, file)?;
        let target = [program.as_bytes(), &path.merged].concat();
        let acting = Path::decode(&percent::encode_path(&target)).ok()?;
        if path.merged.starts_with(program.as_bytes()) {
            return None;
        }
        if settings.has_perl_checks() {
            let script_name = &path.merged[..walk::script_length(&path.merged, path_info)];
            return Some(Ok(Route {
                handler: Handler::Named(name.into()),
                script_name: script_name.to_vec(),
                path_info: path_info.to_vec(),
                file: file.to_vec(),
                outcome: RouteOutcome::Acted(Box::new(Acting {
                    program: percent::encode_path(program.as_bytes()),
                    file: percent::encode_path(&path.merged),
                    name: name.to_string(),
                })),
                ..self.refused(settings.clone(), NOT_FOUND)
            }));
        }
        self.indexes += 1;
        self.action = Some(Box::new(ActedFor {
            path: path.merged.clone(),
            name: name.to_string(),
        }));
        Some(if self.indexes <= INDEXES {
            self.continue_with(settings, acting)
        } else {
            Ok(self.refused(settings.clone(), AROUND))
        })
    }

    /// Returns the route of a device. As in Apache, a device that may be opened is sent as an empty
    /// file. Nothing that reads the whole file gets a device, because reading may never end.
    fn device(
        &mut self,
        settings: Arc<Settings>,
        path: Path,
        found: ExistingPath,
        alias_script: bool,
    ) -> Result<Route, Problem> {
        let route = self.file(settings, path, found, alias_script)?;
        let settings = &route.settings;
        let is_read = !settings.output.includes.are_off()
            || settings.runs_phases()
            || route.is_filtered()
            || !matches!(route.outcome, RouteOutcome::File(_));
        if is_read {
            return Ok(self.refused(route.settings, DENIED));
        }
        Ok(route)
    }

    fn refused(&self, settings: Arc<Settings>, problem: Problem) -> Route {
        refused(self.host.number, settings, problem)
    }
}

/// Returns the back end that a section names as its handler.
fn back_end(settings: &Settings) -> Option<Arc<Proxied>> {
    match &settings.handlers.set {
        Some(Handler::Proxy(proxied)) if proxied.to.is_some() => Some(proxied.clone()),
        _ => None,
    }
}

/// Returns the length of the part of a path that need not be walked: what exists, or all of the
/// path if what follows is the PATH_INFO of a file.
fn known_length(path: &[u8], found: Option<&ExistingPath>) -> usize {
    match found {
        Some(found) if is_file(&found.stat) => path.len(),
        Some(found) => found.file.len(),
        None => 0,
    }
}

pub(super) fn refused(host: u32, settings: Arc<Settings>, problem: Problem) -> Route {
    Route {
        host,
        settings,
        handler: Handler::File,
        file: Vec::new(),
        script_name: Vec::new(),
        path_info: Vec::new(),
        outcome: RouteOutcome::Refused(problem),
        intermediate_settings: Vec::new(),
        is_looked_up: false,
        led_to: None,
        action: None,
        index_of: None,
        file_mark: None,
    }
}
