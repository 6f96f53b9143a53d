//! Finds the file of a path, and the rest of the path behind it.

mod folder;
mod without_file;

use super::htaccess::HtaccessTable;
use super::links::may_follow;
use super::mapping::{map, Mapping};
use super::{program, proxied, walk, ActedFor, Outcome, Route};
use crate::content::stat::stat;
use crate::content::FileTarget;
use crate::request::rule_state::RuleState;
use crate::request::Request;
use mehari_config::{Facts, Forced, Handler, Host, Proxied, Settings, Site};
use mehari_filewatch::{DependencyRecorder, FileWatcher};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_text::percent;
use rustix::fs::{FileType, Stat};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use walk::Found;

/// How often DirectoryIndex may lead to another folder.
const INDEXES: usize = 4;

const NOT_FOUND: Problem = Problem::refused(404, "no such file");
pub const HIDDEN: Problem = Problem::refused(404, "a file that is never shown");
pub const DENIED: Problem = Problem::refused(403, "denied by the configuration");
const LINK: Problem =
    Problem::refused(403, "a symbolic link that Options does not let be followed");
const AROUND: Problem = Problem::refused(500, "Action leads from program to program without end");

/// Finds the route of a path as sent, at the host of this number, or for the file to which a rule
/// has mapped the path.
pub fn find(
    site: &Site,
    htaccess: &HtaccessTable,
    host: u32,
    raw: &[u8],
    file: Option<&[u8]>,
) -> Result<Route, Problem> {
    Search::new(site, htaccess, host).route(raw, file)
}

/// Finds a route to keep, whose files are watched. Folders are watched only where files are served,
/// so the first search in a folder watches nothing and reports it. `patient`: the caller can wait
/// until a thread has set the first watch, and searches again.
pub fn find_to_keep(
    site: &Site,
    htaccess: &HtaccessTable,
    (watcher, patient): (&FileWatcher, bool),
    host: u32,
    raw: &[u8],
    file: Option<&[u8]>,
) -> Result<Route, Problem> {
    let mut search = Search::new(site, htaccess, host);
    search.recorder = search
        .is_watched(watcher, raw, file)
        .then(|| DependencyRecorder::new(watcher));
    let mut route = search.route(raw, file)?;
    if let (None, Outcome::File(target)) = (&search.recorder, &route.outcome) {
        if patient && watcher.is_new(&route.file) {
            target.wait_for_watch();
            return Ok(route);
        }
        search = Search::new(site, htaccess, host);
        search.recorder = Some(DependencyRecorder::new(watcher));
        route = search.route(raw, file)?;
    }
    if let (Some(recorder), Outcome::File(target)) = (search.recorder, &route.outcome) {
        target.depend_on(recorder.validity());
    }
    Ok(route)
}

/// The file for which a search may have to read the disk first: a file in a folder with served
/// files, unknown to the system's cache.
pub fn cold(
    site: &Site,
    watcher: &FileWatcher,
    host: u32,
    raw: &[u8],
    file: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let mapped = match file {
        Some(file) => file.to_vec(),
        None => map(site.host(host), &Path::decode(raw).ok()?.merged).file,
    };
    let slash = memchr::memrchr(b'/', &mapped)?;
    (watcher.knows(&mapped[..slash]) && !walk::is_remembered(&mapped)).then_some(mapped)
}

/// Finds the route for one request, with every `<If>` and the results of rules.
pub fn find_for(
    site: &Site,
    htaccess: &HtaccessTable,
    request: &Request<'_>,
    state: &RuleState,
    facts: Option<&dyn Facts>,
) -> Result<Route, Problem> {
    let mut search = Search::new(site, htaccess, request.virtual_host);
    search.facts = facts;
    search.forced = &state.forced;
    search.route(request.path(), state.file())
}

/// The same place with a back end that a rule has chosen.
pub fn to_back_end(
    site: &Site,
    request: &Request<'_>,
    route: &Route,
    proxied: &Arc<Proxied>,
) -> Route {
    let settings = route.settings.clone();
    let mapping = Mapping::to(route.file.clone());
    let path = Path::decode_as(request.path(), site.host(route.host).encoded_slashes());
    let found = path.ok().filter(|_| !settings.denied).and_then(|path| {
        let (host, raw) = (route.host, None);
        proxied::route(
            site,
            host,
            settings.clone(),
            proxied.clone(),
            &path,
            raw,
            mapping,
        )
    });
    let problem = if settings.denied { DENIED } else { NOT_FOUND };
    let intermediate_settings = route.intermediate_settings.clone();
    match found {
        Some(found) => Route {
            intermediate_settings,
            ..found
        },
        None => refused(route.host, settings, problem),
    }
}

struct Search<'s> {
    site: &'s Site,
    host: &'s Host,
    htaccess: &'s HtaccessTable,
    facts: Option<&'s dyn Facts>,
    forced: &'s [Arc<Forced>],
    /// Records the examined files.
    recorder: Option<DependencyRecorder<'s>>,
    indexes: usize,
    /// Settings of intermediate places.
    intermediate_settings: Vec<Arc<Settings>>,
    action: Option<Box<ActedFor>>,
    /// The path as it was sent.
    raw: &'s [u8],
}

impl<'s> Search<'s> {
    fn new(site: &'s Site, htaccess: &'s HtaccessTable, host: u32) -> Search<'s> {
        Search {
            site,
            host: site.host(host),
            htaccess,
            facts: None,
            forced: &[],
            recorder: None,
            indexes: 0,
            intermediate_settings: Vec::new(),
            action: None,
            raw: &[],
        }
    }

    /// Whether files of this path's folder have been served before.
    fn is_watched(&self, watcher: &FileWatcher, raw: &[u8], file: Option<&[u8]>) -> bool {
        let mapped = || Some(map(self.host, &Path::decode(raw).ok()?.merged).file);
        let Some(mapped) = file.map(<[u8]>::to_vec).or_else(mapped) else {
            return false;
        };
        let slash = memchr::memrchr(b'/', &mapped);
        slash.is_some_and(|slash| watcher.knows(&mapped[..slash]))
    }

    /// The `stat` of a path.
    fn look(&self, file: &[u8]) -> Option<(CString, Stat)> {
        let Some(recorder) = &self.recorder else {
            return stat(file);
        };
        let stat = recorder.stat(file)?;
        let name = file.strip_suffix(b"/").unwrap_or(file);
        Some((CString::new(name).ok()?, stat))
    }

    fn decode(&self, raw: &[u8]) -> Result<Path, Problem> {
        Path::decode_as(raw, self.host.encoded_slashes())
    }

    fn route(&mut self, raw: &'s [u8], file: Option<&[u8]>) -> Result<Route, Problem> {
        let path = self.decode(raw)?;
        self.raw = raw;
        let mut route = match file {
            None => self.find(path)?,
            Some(file) => self.find_mapped(path, Mapping::to(file.to_vec()))?,
        };
        if route.settings.runs_phases() && route.script_name.is_empty() {
            // Perl's handlers run before the refusal and need the path.
            let path = self.decode(raw)?;
            route.file = match file {
                Some(file) => file.to_vec(),
                None => map(self.host, &path.merged).file,
            };
            route.script_name = path.merged;
        }
        route.intermediate_settings = std::mem::take(&mut self.intermediate_settings);
        route.action = self.action.take();
        route
            .intermediate_settings
            .retain(|settings| !settings.guards_as(&route.settings));
        if route.file.is_empty() {
            // Rules may read the original path.
            let path = self.decode(raw)?;
            route.file = map(self.host, &path.merged).file;
        }
        Ok(route)
    }

    /// Continues as if this path had been requested. Its access rules are evaluated too.
    fn lead(&mut self, from: &Arc<Settings>, path: Path) -> Result<Route, Problem> {
        if from.is_guarded() {
            self.intermediate_settings.push(from.clone());
        }
        self.find(path)
    }

    fn find(&mut self, path: Path) -> Result<Route, Problem> {
        let mapping = map(self.host, &path.merged);
        self.find_mapped(path, mapping)
    }

    fn find_mapped(&mut self, path: Path, mapping: Mapping) -> Result<Route, Problem> {
        let Mapping {
            file: mapped,
            script: alias_script,
            uncovers,
        } = mapping;
        let settings = self.settings(&path.merged, &mapped)?;
        if settings.denied {
            return Ok(self.refused(settings, DENIED));
        }
        if uncovers {
            return Ok(self.refused(settings, HIDDEN));
        }
        if let Some(handler @ (Handler::Perl { .. } | Handler::Psgi(_))) =
            settings.handlers.set.clone()
        {
            let is_perl = matches!(handler, Handler::Perl { .. });
            if is_perl && self.host.refuses(path.encoded_slash) {
                return Ok(self.refused(settings, NOT_FOUND));
            }
            return Ok(self.mounted(settings, handler, path, mapped));
        }
        if let Some(Handler::Report(report)) = settings.handlers.set {
            return Ok(Route {
                handler: Handler::Report(report),
                script_name: path.merged,
                outcome: Outcome::Report(report),
                ..self.refused(settings, NOT_FOUND)
            });
        }
        let proxied =
            proxied::declined(self.host, &path).or_else(|| match &settings.handlers.set {
                Some(Handler::Proxy(proxied)) if proxied.to.is_some() => Some(proxied.clone()),
                _ => None,
            });
        if let Some(proxied) = proxied {
            return self.proxied(settings, proxied, path, mapped);
        }
        if self.host.refuses(path.encoded_slash) {
            return Ok(self.refused(settings, NOT_FOUND));
        }
        let found = walk::back(&mapped, path.merged.len(), |file| self.look(file));
        // PATH_INFO names no file.
        let is_file =
            |found: &&Found| FileType::from_raw_mode(found.stat.st_mode) == FileType::RegularFile;
        let info = found.as_ref().filter(is_file).map_or(0, |found| found.rest);
        if path.hides(path.merged.len().saturating_sub(info)) {
            return Ok(self.refused(settings, HIDDEN));
        }
        let Some(found) = found else {
            return self.without_file(settings, path, mapped);
        };
        if !may_follow(&found.file, settings.files.links) {
            return Ok(self.refused(settings, LINK));
        }
        match FileType::from_raw_mode(found.stat.st_mode) {
            FileType::Directory => self.folder(settings, path, found),
            FileType::RegularFile => self.file(path, found, alias_script),
            _ => Ok(self.refused(settings, DENIED)),
        }
    }

    /// The settings of a path and its file: sections, .htaccess files, and every matching `<If>`.
    fn settings(&self, path: &[u8], file: &[u8]) -> Result<Arc<Settings>, Problem> {
        let file = std::path::Path::new(OsStr::from_bytes(file));
        let chain = self.htaccess.chain(self.site, self.host, file)?;
        if let Some(recorder) = &self.recorder {
            if !self.htaccess.watches_all() {
                recorder.note_unwatched();
            }
        }
        let path = String::from_utf8_lossy(path);
        let settings = self.host.settings_with(&path, Some(file), &chain);
        let settings = match self.facts {
            Some(facts) => self.host.settings_if(&settings, facts),
            None => settings,
        };
        Ok(self.host.settings_forced(&settings, self.forced))
    }

    fn file(&mut self, path: Path, found: Found, alias_script: bool) -> Result<Route, Problem> {
        let at = path.merged.len() - found.rest.min(path.merged.len());
        let (script_name, path_info) = path.merged.split_at(at);
        // The file may match sections that the longer path did not.
        let settings = self.settings(&path.merged, &found.file)?;
        if settings.denied {
            return Ok(self.refused(settings, DENIED));
        }
        if let Some((name, program)) = program::action(&settings, &found.file) {
            // The program gets the path for which it runs.
            let target = [program.as_bytes(), &path.merged].concat();
            if let Ok(acting) = Path::decode(&percent::encode_path(&target)) {
                if !path.merged.starts_with(program.as_bytes()) {
                    self.indexes += 1;
                    self.action = Some(Box::new(ActedFor {
                        path: path.merged.clone(),
                        name: name.to_string(),
                    }));
                    return if self.indexes <= INDEXES {
                        self.lead(&settings, acting)
                    } else {
                        Ok(self.refused(settings, AROUND))
                    };
                }
            }
        }
        let choice = program::choose(self.site, &settings, &found, alias_script);
        let is_program = !matches!(choice, Ok(Handler::File));
        if !path_info.is_empty() && !settings.files.accept_path_info.unwrap_or(is_program) {
            return Ok(self.refused(settings, NOT_FOUND));
        }
        let (handler, outcome) = match choice {
            Err(problem) => return Ok(self.refused(settings, problem)),
            Ok(Handler::File) => {
                let look = |file: &[u8]| self.look(file).map(|(_, stat)| stat);
                let target = FileTarget::new(found.name, &found.stat, look);
                (Handler::File, Outcome::File(target))
            }
            Ok(handler @ Handler::Proxy(_)) => {
                let target = percent::encode_path(&path.merged);
                (handler, Outcome::Proxied(target))
            }
            Ok(handler) => (handler, Outcome::Program),
        };
        Ok(Route {
            host: self.host.number,
            settings,
            handler,
            script_name: script_name.to_vec(),
            path_info: path_info.to_vec(),
            file: found.file,
            outcome,
            intermediate_settings: Vec::new(),
            action: None,
            seen: None,
        })
    }

    fn refused(&self, settings: Arc<Settings>, problem: Problem) -> Route {
        refused(self.host.number, settings, problem)
    }
}

fn refused(host: u32, settings: Arc<Settings>, problem: Problem) -> Route {
    Route {
        host,
        settings,
        handler: Handler::File,
        file: Vec::new(),
        script_name: Vec::new(),
        path_info: Vec::new(),
        outcome: Outcome::Refused(problem),
        intermediate_settings: Vec::new(),
        action: None,
        seen: None,
    }
}
