//! Finding the file of a path, and the rest of the path behind it.

use super::{program, proxied, walk, Outcome, Route};
use crate::handler::file::FileTarget;
use crate::path::Path;
use crate::problem::Problem;
use mehari_config::{Handler, Host, PassFrom, Proxied, Settings, Site, Speech};
use rustix::fs::FileType;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use walk::Found;

/// DirectoryIndex entries that lead to other folders may lead on this often.
const INDEXES: usize = 4;

const NOT_FOUND: Problem = Problem::refused(404, "no such file");
pub const HIDDEN: Problem = Problem::refused(404, "a file that is never shown");
pub const DENIED: Problem = Problem::refused(403, "denied by the configuration");
const NO_INDEX: Problem = Problem::refused(403, "a folder without an index");

/// Finds the route of a path as sent, at the host of this number.
pub fn find(site: &Site, host: u32, raw: &[u8]) -> Result<Route, Problem> {
    search(site, host, raw, None)
}

/// The same, where a Perl handler has chosen the file.
pub fn find_file(site: &Site, host: u32, raw: &[u8], file: &[u8]) -> Result<Route, Problem> {
    search(site, host, raw, Some(file))
}

fn search(site: &Site, host: u32, raw: &[u8], chosen: Option<&[u8]>) -> Result<Route, Problem> {
    let host = site.host(host);
    let mut search = Search {
        site,
        host,
        indexes: 0,
        raw,
        chosen,
    };
    let mut route = search.find(Path::decode(raw)?);
    if route.script_name.is_empty() {
        // Perl's handlers are asked before the refusal and look paths up: they want to know what for.
        let path = Path::decode(raw)?;
        route.file = match chosen {
            Some(file) => file.to_vec(),
            None => map(host, &path.merged).0,
        };
        route.script_name = path.merged;
    }
    Ok(route)
}

struct Search<'s> {
    site: &'s Site,
    host: &'s Host,
    indexes: usize,
    /// The path as it was sent.
    raw: &'s [u8],
    /// A file somebody chose for it: the path is not mapped.
    chosen: Option<&'s [u8]>,
}

/// The file a path was mapped to, whether or not it exists.
pub struct Mapping {
    pub file: Vec<u8>,
}

impl Search<'_> {
    fn find(&mut self, path: Path) -> Route {
        let (mapped, alias_script) = match self.chosen.take() {
            Some(file) => (file.to_vec(), false),
            None => map(self.host, &path.merged),
        };
        let settings = settings(self.host, &path.merged, &mapped);
        if settings.denied {
            return self.refused(settings, DENIED);
        }
        if let Some(handler @ (Handler::Perl { .. } | Handler::Psgi(_))) = settings.handler.clone()
        {
            return self.mounted(settings, handler, path, mapped);
        }
        if let Some(Handler::Report(report)) = settings.handler {
            return Route {
                handler: Handler::Report(report),
                script_name: path.bytes.to_vec(),
                outcome: Outcome::Report(report),
                ..self.refused(settings, NOT_FOUND)
            };
        }
        let proxied = proxied::passed(self.host, &path).or_else(|| match &settings.handler {
            Some(Handler::Proxy(proxied)) if proxied.to.is_some() => Some(proxied.clone()),
            _ => None,
        });
        if let Some(proxied) = proxied {
            return self.proxied(settings, proxied, path, mapped);
        }
        if path.encoded_slash {
            return self.refused(settings, NOT_FOUND);
        }
        if path.is_hidden() {
            return self.refused(settings, HIDDEN);
        }
        let Some(found) = walk::back(&mapped, path.merged.len()) else {
            return self.without_file(settings, path, mapped);
        };
        match FileType::from_raw_mode(found.stat.st_mode) {
            FileType::Directory => self.folder(settings, path, found),
            FileType::RegularFile => self.file(path, found, alias_script),
            _ => self.refused(settings, DENIED),
        }
    }

    /// A handler that needs no file: SCRIPT_NAME is the location, or what exists of the path.
    fn mounted(
        &self,
        settings: Arc<Settings>,
        handler: Handler,
        path: Path,
        mapped: Vec<u8>,
    ) -> Route {
        let script = match &handler {
            Handler::Psgi(_) => {
                let location = program::mount(self.host, &path.merged);
                location.trim_end_matches('/').len()
            }
            _ => walk::handler_length(&mapped, &path.merged),
        };
        let script = path.sent_length(script);
        Route {
            host: self.host.number,
            settings,
            handler,
            file: mapped,
            script_name: path.bytes[..script].to_vec(),
            path_info: path.bytes[script..].to_vec(),
            outcome: Outcome::Program,
        }
    }

    fn proxied(
        &self,
        settings: Arc<Settings>,
        proxied: Arc<Proxied>,
        path: Path,
        mapped: Vec<u8>,
    ) -> Route {
        let raw = (self.indexes == 0).then_some(self.raw);
        let mapping = Mapping { file: mapped };
        let known = settings.clone();
        let route = proxied::route(
            self.site,
            self.host.number,
            settings,
            proxied,
            &path,
            raw,
            mapping,
        );
        route.unwrap_or_else(|| self.refused(known, NOT_FOUND))
    }

    /// A back end that is a section's handler answers for paths that are no files here.
    fn without_file(&self, settings: Arc<Settings>, path: Path, mapped: Vec<u8>) -> Route {
        let Some(Handler::Proxy(proxied)) = &settings.handler else {
            return self.refused(settings, NOT_FOUND);
        };
        let location = program::mount(self.host, &path.merged);
        let speech = self
            .site
            .upstream(&proxied.upstream)
            .map(|one| one.speech());
        if speech == Some(Speech::FastCgi) && location.is_empty() {
            return self.refused(settings, NOT_FOUND);
        }
        let mut proxied = Proxied::clone(proxied);
        proxied.from = PassFrom::Prefix(location.to_string());
        self.proxied(settings, Arc::new(proxied), path, mapped)
    }

    fn folder(&mut self, settings: Arc<Settings>, path: Path, found: Found) -> Route {
        let rest = &path.merged[path.merged.len() - found.rest..];
        if !rest.is_empty() && rest != b"/" {
            let mapped = map(self.host, &path.merged).0;
            return self.without_file(settings, path, mapped);
        }
        if !path.merged.ends_with(b"/") {
            let mut location = percent_encode(&path.merged);
            location.push(b'/');
            return Route {
                outcome: Outcome::Moved(location),
                ..self.refused(settings, NOT_FOUND)
            };
        }
        self.indexes += 1;
        if self.indexes > INDEXES {
            return self.refused(settings, NO_INDEX);
        }
        for index in &settings.directory_index {
            if let Some(candidate) = index_path(&path, index) {
                if self.index_exists(&candidate) {
                    return self.find(candidate);
                }
            }
        }
        self.refused(settings, NO_INDEX)
    }

    /// A file, or a path that a handler answers without one.
    fn index_exists(&self, path: &Path) -> bool {
        let (mapped, _) = map(self.host, &path.merged);
        let is_file = |(_, stat): (CString, rustix::fs::Stat)| walk::is_file(&stat);
        let handler = &settings(self.host, &path.merged, &mapped).handler;
        walk::stat(&mapped).is_some_and(is_file)
            || matches!(handler, Some(Handler::Perl { .. } | Handler::Psgi(_)))
    }

    fn file(&self, path: Path, found: Found, alias_script: bool) -> Route {
        let at = path.merged.len() - found.rest;
        let (script_name, path_info) = path.merged.split_at(at);
        // The file itself may match sections that the longer path did not.
        let settings = settings(self.host, &path.merged, &found.file);
        if settings.denied {
            return self.refused(settings, DENIED);
        }
        let choice = program::choose(self.site, &settings, &found, alias_script);
        let (handler, outcome) = match choice {
            Err(problem) => return self.refused(settings, problem),
            Ok(Handler::File) if !path_info.is_empty() => return self.refused(settings, NOT_FOUND),
            Ok(Handler::File) => {
                let target = FileTarget::new(found.name, &found.stat);
                (Handler::File, Outcome::File(target))
            }
            Ok(handler @ Handler::Proxy(_)) => {
                let target = percent_encode(&path.merged);
                (handler, Outcome::Proxied(target))
            }
            Ok(handler) => (handler, Outcome::Program),
        };
        Route {
            host: self.host.number,
            settings,
            handler,
            script_name: script_name.to_vec(),
            path_info: path_info.to_vec(),
            file: found.file,
            outcome,
        }
    }

    fn refused(&self, settings: Arc<Settings>, problem: Problem) -> Route {
        Route {
            host: self.host.number,
            settings,
            handler: Handler::File,
            file: Vec::new(),
            script_name: Vec::new(),
            path_info: Vec::new(),
            outcome: Outcome::Refused(problem),
        }
    }
}

/// The file path of a URL path, and whether a ScriptAlias led there. A path that is not UTF-8 is
/// mapped by its segments that are; the rest is appended as it came.
fn map(host: &Host, path: &[u8]) -> (Vec<u8>, bool) {
    let (text, rest) = match std::str::from_utf8(path) {
        Ok(text) => (text, &[][..]),
        Err(error) => {
            let valid = &path[..error.valid_up_to()];
            let at = memchr::memrchr(b'/', valid).unwrap_or(0);
            let text = std::str::from_utf8(&path[..at]).unwrap_or_default();
            (text, &path[at..])
        }
    };
    let mapped = host.map(text);
    let mut file = mapped.file.into_os_string().into_encoded_bytes();
    file.extend_from_slice(rest);
    (file, mapped.script)
}

fn settings(host: &Host, path: &[u8], file: &[u8]) -> Arc<Settings> {
    let file = std::path::Path::new(OsStr::from_bytes(file));
    host.settings(&String::from_utf8_lossy(path), Some(file))
}

/// The path of an index: relative to the folder, or absolute.
fn index_path(folder: &Path, index: &str) -> Option<Path> {
    let mut raw = match index.starts_with('/') {
        true => Vec::new(),
        false => percent_encode(&folder.merged),
    };
    raw.extend_from_slice(&percent_encode(index.as_bytes()));
    Path::decode(&raw).ok()
}

/// For a Location field: everything but unreserved bytes and slashes is encoded.
pub fn percent_encode(path: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(path.len() + 1);
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            encoded.push(byte);
        } else {
            encoded.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    encoded
}
