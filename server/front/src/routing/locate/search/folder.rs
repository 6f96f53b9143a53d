//! Finds the route for a folder: a redirect to the path with the slash, an index, a fallback, or a
//! listing.

use super::{Search, INDEXES, NOT_FOUND};
use crate::content::stat::is_file;
use crate::request::rule_state::IndexedFolder;
use crate::routing::mapping::map;
use crate::routing::walk::{self, ExistingPath};
use crate::routing::{program, MovedFolder, Route, RouteOutcome};
use mehari_config::{Handler, Rung, Settings, FCGID};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_text::percent;
use rustix::fs::Stat;
use std::ffi::CString;
use std::sync::Arc;

pub const NO_INDEX: Problem = Problem::refused(403, "a folder without an index");
const NO_PROGRAM: Problem = Problem::refused(403, "a folder where programs run");

impl Search<'_> {
    pub(super) fn folder(
        &mut self,
        settings: Arc<Settings>,
        path: Path,
        found: ExistingPath,
        alias_script: bool,
    ) -> Result<Route, Problem> {
        let rest = &found.behind[..];
        if !rest.is_empty() && rest != b"/" {
            if settings.files.multi_views && path.merged.ends_with(rest) {
                if let Some(variants) = self.views(&settings, &found.file, &path.merged, rest)? {
                    let rest = rest.to_vec();
                    return Ok(self.negotiated(settings, path, found.file, rest, variants));
                }
            }
            let mapped = map(&self.host.mapping, &path.merged).file;
            return self.without_file(settings, path, mapped, alias_script);
        }
        if !path.merged.ends_with(b"/") && settings.files.directory_slash {
            return Ok(self.with_slash(settings, &path, found.file));
        }
        self.indexes += 1;
        if self.indexes > INDEXES {
            return Ok(self.refused(settings, NO_INDEX));
        }
        // As in Apache, a path without the final slash has no index.
        let may_have_index = path.merged.ends_with(b"/")
            && !settings.files.directory_index.is_empty()
            && !self.lacks_index;
        // As in Apache, the folder's `RewriteRule`s see the folder before its index.
        let has_rules = self.host.rules.map_paths() || settings.rules.rewriting.is_on();
        let folder = [&found.file[..], b"/"].concat();
        self.indexed_folder = Some(folder.clone());
        if may_have_index && (has_rules || self.guards_index(&settings, &path)) {
            return Ok(Route {
                script_name: path.merged,
                ..self.folder_with(settings, folder, RouteOutcome::Indexed)
            });
        }
        if may_have_index {
            if let Some(route) = self.index(&settings, &path, folder.clone()) {
                return route;
            }
        }
        self.without_index(settings, path, folder, alias_script)
    }

    /// Returns the route of a folder without an index. As in Apache, a folder is listed or refused
    /// only if it has no handler.
    fn without_index(
        &mut self,
        settings: Arc<Settings>,
        path: Path,
        folder: Vec<u8>,
        alias_script: bool,
    ) -> Result<Route, Problem> {
        let program = Handler::Script(Rung::Cgi);
        let set = settings.handlers.set.as_ref();
        let problem = match set.or(alias_script.then_some(&program)) {
            None if settings.files.listed => {
                return Ok(Route {
                    file: folder,
                    script_name: path.merged,
                    outcome: RouteOutcome::Listing,
                    ..self.refused(settings, NO_INDEX)
                })
            }
            None => NO_INDEX,
            Some(Handler::Script(Rung::Cgi)) => NO_PROGRAM,
            Some(Handler::Proxy(proxied)) if proxied.upstream == FCGID => NO_PROGRAM,
            Some(Handler::Proxy(_)) => {
                return self.without_file(settings, path, folder, alias_script)
            }
            Some(Handler::Named(_)) => match self.acting(&settings, &path, (&folder, b"")) {
                Some(route) => return route,
                None => NOT_FOUND,
            },
            Some(_) => NOT_FOUND,
        };
        Ok(Route {
            file: folder,
            ..self.refused(settings, problem)
        })
    }

    /// Whether the access rules of an index may refuse a request that those of the folder admit. As
    /// in Apache, the next name in `DirectoryIndex` is then tried.
    fn guards_index(&self, settings: &Arc<Settings>, path: &Path) -> bool {
        let may_refuse =
            |own: Arc<Settings>| !own.guards_as(settings) && (own.denied || own.is_guarded());
        let mut names = settings.files.directory_index.iter();
        names.any(|name| {
            in_folder(&path.merged, name).is_some_and(|index| {
                let mapped = map(&self.host.mapping, &index.path.merged).file;
                self.settings_of_lookup(&index.path.merged, &mapped)
                    .is_ok_and(may_refuse)
            })
        })
    }

    /// Returns the route of a folder's index, if the folder has one, where a handler covers the
    /// folder. As in Apache, the handler gets the index and not the folder.
    pub(super) fn handled_index(
        &mut self,
        settings: &Arc<Settings>,
        path: &Path,
        mapped: &[u8],
    ) -> Option<Result<Route, Problem>> {
        let may_be_folder = path.merged.ends_with(b"/") && mapped.ends_with(b"/");
        if !may_be_folder || self.lacks_index || self.indexes >= INDEXES {
            return None;
        }
        self.indexes += 1;
        self.index(settings, path, mapped.to_vec())
    }

    /// Returns the route of the first existing index in `DirectoryIndex`, or a redirect to it
    /// (`DirectoryIndexRedirect`). `folder` is the folder's file name with a final slash.
    fn index(
        &mut self,
        settings: &Arc<Settings>,
        path: &Path,
        folder: Vec<u8>,
    ) -> Option<Result<Route, Problem>> {
        self.indexed_folder = Some(folder.clone());
        let mut names = settings.files.directory_index.iter();
        let index = names.find_map(|name| {
            let index = in_folder(&path.merged, name)?;
            if self.index_exists(&index.path)
                || self.index_is_negotiated(&index.path)
                || self.index_is_folder(&index.path)
            {
                return Some(index);
            }
            // As in Apache, a missing name has its fallback before the next name is tried.
            let mapping = map(&self.host.mapping, &index.path.merged);
            let settings = self.settings_of_lookup(&index.path.merged, &mapping.file);
            let settings = settings.ok()?;
            self.fallback(&settings, &index.path, &mapping.file, mapping.script)
        })?;
        let is_redirected = |_: &u16| !self.index_lacks_slash(&index.path);
        if let Some(status) = settings.files.index_redirect.filter(is_redirected) {
            let moved = RouteOutcome::Moved(MovedFolder {
                to: percent::encode_path(&index.path.merged),
                status,
                keeps_query: false,
            });
            return Some(Ok(self.folder_with(settings.clone(), folder, moved)));
        }
        self.note_folder(path.merged.clone(), folder, settings);
        Some(self.look_up(settings, index))
    }

    /// Notes the first place that the search leaves for an index or a fallback.
    fn note_folder(&mut self, path: Vec<u8>, file: Vec<u8>, settings: &Arc<Settings>) {
        let settings = settings.clone();
        let folder = Box::new(IndexedFolder {
            path,
            file,
            settings,
        });
        self.index_of.get_or_insert(folder);
    }

    /// Redirects to the path with the final slash.
    pub(super) fn with_slash(&self, settings: Arc<Settings>, path: &Path, file: Vec<u8>) -> Route {
        let mut location = percent::encode_path(&path.merged);
        location.push(b'/');
        let moved = RouteOutcome::Moved(MovedFolder {
            to: location,
            status: 301,
            keeps_query: true,
        });
        self.folder_with(settings, file, moved)
    }

    fn folder_with(&self, settings: Arc<Settings>, file: Vec<u8>, outcome: RouteOutcome) -> Route {
        Route {
            file,
            outcome,
            ..self.refused(settings, NOT_FOUND)
        }
    }

    /// Whether the path leads to a file or to a PSGI application. As in Apache, a Perl handler does
    /// not make an index of a file that is missing.
    fn index_exists(&self, path: &Path) -> bool {
        let mapped = map(&self.host.mapping, &path.merged).file;
        let is_file = |(_, stat): (CString, Stat)| is_file(&stat);
        let settings = self.settings_of_lookup(&path.merged, &mapped);
        let handler = settings
            .as_ref()
            .ok()
            .and_then(|settings| settings.handlers.set.as_ref());
        self.look(&mapped).is_some_and(is_file) || matches!(handler, Some(Handler::Psgi(_)))
    }

    /// Whether the path is that of a folder without the final slash, or of a folder that has an
    /// index itself.
    fn index_is_folder(&self, path: &Path) -> bool {
        if !path.merged.ends_with(b"/") {
            return self.index_lacks_slash(path);
        }
        let mapped = map(&self.host.mapping, &path.merged).file;
        let Ok(settings) = self.settings_of_lookup(&path.merged, &mapped) else {
            return false;
        };
        let mut names = settings.files.directory_index.iter();
        names.any(|name| {
            in_folder(&path.merged, name).is_some_and(|index| self.index_exists(&index.path))
        })
    }

    /// Whether the client is redirected from the path of an index to that of a folder.
    fn index_lacks_slash(&self, path: &Path) -> bool {
        let mapped = map(&self.host.mapping, &path.merged).file;
        let settings = self.settings_of_lookup(&path.merged, &mapped);
        settings.is_ok_and(|settings| self.lacks_slash(&settings, path, &mapped))
    }

    /// Continues with the `FallbackResource`. Without one, nothing is found.
    pub(super) fn missing(
        &mut self,
        settings: Arc<Settings>,
        path: Path,
        mapped: &[u8],
        alias_script: bool,
    ) -> Result<Route, Problem> {
        self.indexes += 1;
        let fallback = self.fallback(&settings, &path, mapped, alias_script);
        match fallback.filter(|_| self.indexes <= INDEXES) {
            Some(fallback) => {
                let walked = walk::walk(mapped, |file| self.look(file)).path;
                self.note_folder(path.merged, walked, &settings);
                self.look_up(&settings, fallback)
            }
            None => {
                let program = Handler::Script(Rung::Cgi);
                let walked = walk::walk(mapped, |file| self.look(file)).path;
                let configured = program::configured(&settings, &walked).cloned();
                let handler = configured.or(alias_script.then(|| program.clone()));
                let is_cgi = handler.as_ref().is_some_and(|handler| *handler == program);
                if is_cgi && !alias_script && !settings.handlers.exec_cgi {
                    return Ok(Route {
                        handler: program,
                        ..self.refused(settings, program::NOT_HERE)
                    });
                }
                // As in Apache, a program that is missing answers every method, and so does an
                // `Action` for a file that is missing.
                let is_program = is_cgi || program::action(&settings, &walked).is_some();
                let refused = self.refused(settings, NOT_FOUND);
                Ok(if is_program {
                    Route {
                        handler: program,
                        ..refused
                    }
                } else {
                    refused
                })
            }
        }
    }

    /// Returns the `FallbackResource` of a path without a file. As in Apache, a path with a handler
    /// has no fallback.
    fn fallback(
        &self,
        settings: &Settings,
        path: &Path,
        mapped: &[u8],
        alias_script: bool,
    ) -> Option<Lead> {
        let folder = memchr::memrchr(b'/', &path.merged).map_or(0, |end| end + 1);
        let fallback = in_folder(&path.merged[..folder], settings.files.fallback.as_ref()?)?;
        let walked = walk::walk(mapped, |file| self.look(file)).path;
        let has_handler = alias_script || program::configured(settings, &walked).is_some();
        let leads_on = !has_handler && fallback.path.merged != path.merged;
        (leads_on && self.index_exists(&fallback.path)).then_some(fallback)
    }
}

/// The path of an index or a fallback, and the query that follows the path in the configuration.
pub(super) struct Lead {
    pub(super) path: Path,
    pub(super) query: Option<Box<[u8]>>,
}

/// Returns where an index or a fallback leads. `name` is relative to the folder, or absolute.
fn in_folder(folder: &[u8], name: &str) -> Option<Lead> {
    let (name, query) = match name.split_once('?') {
        Some((name, query)) => (name, Some(query.as_bytes().into())),
        None => (name, None),
    };
    let mut raw = if name.starts_with('/') {
        Vec::new()
    } else {
        percent::encode_path(folder)
    };
    raw.extend_from_slice(&percent::encode_path(name.as_bytes()));
    let path = Path::decode(&raw).ok()?;
    Some(Lead { path, query })
}
