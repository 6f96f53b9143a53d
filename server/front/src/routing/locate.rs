//! Finds a route: for one use, to be kept, or with the results of rules.
//!
//! `search` finds the file of the path, and the rest of the path behind the file.

mod search;

use super::htaccess::HtaccessTable;
use super::mapping::{map, Mapping};
use super::{proxied, walk, Route, RouteOutcome};
use crate::request::rule_state::MappingState;
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use mehari_config::{Proxied, Settings, Site};
use mehari_filewatch::{DependencyRecorder, FileWatcher};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use search::{refused, Search, NOT_FOUND};
use std::sync::Arc;

pub use search::{is_found_by_walk, DENIED, ENCODED_SLASH, HIDDEN, NO_INDEX};

/// A path for which a route is sought.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The number of the host.
    pub host: u32,
    /// The path as sent.
    pub path: &'a [u8],
    /// The file to which a rule has mapped the path.
    pub file: Option<&'a [u8]>,
}

impl<'a> Sought<'a> {
    /// Makes the value for a path that no rule has mapped.
    pub fn path(host: u32, path: &'a [u8]) -> Sought<'a> {
        Sought {
            host,
            path,
            file: None,
        }
    }
}

/// How the files of a kept route are watched.
#[derive(Clone, Copy)]
pub struct Watching<'a> {
    pub watcher: &'a FileWatcher,
    /// Whether the caller can wait until a thread has set the first watch, and can then search
    /// again.
    pub is_patient: bool,
}

/// Finds the route of a path.
pub fn find(site: &Site, htaccess: &HtaccessTable, sought: Sought<'_>) -> Result<Route, Problem> {
    Search::new(site, htaccess, sought.host).route(sought.path, sought.file)
}

/// Finds a route that will be kept, and watches its files. Only folders from which files are served
/// are watched. The first search in a folder therefore runs without a watch. If it finds a file,
/// the folder is watched and the search is repeated. A patient caller does this itself.
pub fn find_to_keep(
    site: &Site,
    htaccess: &HtaccessTable,
    sought: Sought<'_>,
    watching: Watching<'_>,
) -> Result<Route, Problem> {
    let Sought { host, path, file } = sought;
    let watcher = watching.watcher;
    let mut search = Search::new(site, htaccess, host);
    search.recorder = search
        .is_watched(watcher, path, file)
        .then(|| DependencyRecorder::new(watcher));
    let mut route = search.route(path, file)?;
    if let (None, RouteOutcome::File(target)) = (&search.recorder, &route.outcome) {
        if watching.is_patient && watcher.is_new(&route.file) {
            target.wait_for_watch();
            return Ok(route);
        }
        search = Search::new(site, htaccess, host);
        search.recorder = Some(DependencyRecorder::new(watcher));
        route = search.route(path, file)?;
    }
    if let (Some(recorder), RouteOutcome::File(target)) = (search.recorder, &route.outcome) {
        target.depend_on(recorder.validity());
    }
    Ok(route)
}

/// Returns the file of a path if a search would have to read the disk: the file's folder is
/// watched, and the system's cache does not know the file.
pub fn cold(site: &Site, watcher: &FileWatcher, sought: Sought<'_>) -> Option<Vec<u8>> {
    let mapped = match sought.file {
        Some(file) => file.to_vec(),
        None => {
            let path = Path::decode(sought.path).ok()?;
            map(&site.host(sought.host).mapping, &path.merged).file
        }
    };
    let slash = memchr::memrchr(b'/', &mapped)?;
    (watcher.has_watched(&mapped[..slash]) && !walk::is_remembered(&mapped)).then_some(mapped)
}

/// Finds the route for one request, with every `<If>` and the results of rules.
pub fn find_for(
    site: &Site,
    htaccess: &HtaccessTable,
    request: &Request<'_>,
    mapping: &MappingState,
    variables: Option<&ExpressionVariables<'_>>,
) -> Result<Route, Problem> {
    let mut search = Search::new(site, htaccess, request.virtual_host);
    search.variables = variables;
    search.forced = &mapping.forced;
    search.handler = mapping.handler.as_ref();
    search.back_end = mapping.back_end_of_host();
    search.error_of = mapping.error_of.as_deref();
    search.lacks_index = mapping.lacks_index;
    search.is_program = mapping.is_program;
    search.is_lookup = mapping.index_of.is_some();
    search.indexed_folder = (mapping.index_of.as_ref()).map(|folder| folder.file.clone());
    search.route(request.path(), mapping.file())
}

/// Finds the route to a file that Perl's handlers have named for the request. As in Apache, the
/// settings stay those of the request's own place.
pub fn find_named(
    site: &Site,
    htaccess: &HtaccessTable,
    request: &Request<'_>,
    settings: Arc<Settings>,
    file: &[u8],
) -> Result<Route, Problem> {
    let mut search = Search::new(site, htaccess, request.virtual_host);
    search.own_settings = Some(settings);
    search.route(request.path(), Some(file))
}

/// Returns the route of a path for which a search has failed.
pub fn unfound(site: &Site, host: u32, problem: Problem) -> Route {
    refused(host, site.host(host).base_settings(), problem)
}

/// Returns the route to a back end that a rule of a folder has chosen, in the place of `route`.
pub fn to_back_end(
    site: &Site,
    request: &Request<'_>,
    route: &Route,
    proxied: &Arc<Proxied>,
) -> Route {
    let settings = route.settings.clone();
    let mapping = Mapping::to(route.file.clone());
    let path = Path::decode_as(
        request.path(),
        site.host(route.host).mapping.encoded_slashes(),
    );
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
            is_looked_up: route.is_looked_up,
            led_to: route.led_to.clone(),
            ..found
        },
        None => refused(route.host, settings, problem),
    }
}
