//! Finding the file of a path, and the rest of the path behind it.

use super::{program, walk, Outcome, Route};
use crate::handler::file::FileTarget;
use crate::path::Path;
use crate::problem::Problem;
use mehari_config::{Handler, Host, Settings, Site};
use rustix::fs::FileType;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use walk::Found;

/// DirectoryIndex entries that lead to other folders may lead on this often.
const INDEXES: usize = 4;

const NOT_FOUND: Problem = Problem::refused(404, "no such file");
const HIDDEN: Problem = Problem::refused(404, "a file that is never shown");
const DENIED: Problem = Problem::refused(403, "denied by the configuration");
const NO_INDEX: Problem = Problem::refused(403, "a folder without an index");

/// Finds the route of a path as sent, at the host of this number.
pub fn find(site: &Site, host: u32, raw: &[u8]) -> Result<Route, Problem> {
    let host = site.host(host);
    let mut search = Search {
        site,
        host,
        indexes: 0,
    };
    let mut route = search.find(Path::decode(raw)?);
    if route.settings.runs_phases() && route.script_name.is_empty() {
        // Perl's handlers are asked before the refusal, and want to know what for.
        let path = Path::decode(raw)?;
        (route.file, _) = map(host, &path.merged);
        route.script_name = path.merged;
    }
    Ok(route)
}

struct Search<'s> {
    site: &'s Site,
    host: &'s Host,
    indexes: usize,
}

impl Search<'_> {
    fn find(&mut self, path: Path) -> Route {
        let (mapped, alias_script) = map(self.host, &path.merged);
        let settings = settings(self.host, &path.merged, &mapped);
        if settings.denied {
            return self.refused(settings, DENIED);
        }
        if let Some(handler @ (Handler::Perl { .. } | Handler::Psgi(_))) = settings.handler.clone()
        {
            return self.mounted(settings, handler, path, mapped);
        }
        if path.encoded_slash {
            return self.refused(settings, NOT_FOUND);
        }
        if path.is_hidden() {
            return self.refused(settings, HIDDEN);
        }
        let Some(found) = walk::back(&mapped, path.merged.len()) else {
            return self.refused(settings, NOT_FOUND);
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

    fn folder(&mut self, settings: Arc<Settings>, path: Path, found: Found) -> Route {
        let rest = &path.merged[path.merged.len() - found.rest..];
        if !rest.is_empty() && rest != b"/" {
            return self.refused(settings, NOT_FOUND);
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
fn percent_encode(path: &[u8]) -> Vec<u8> {
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
