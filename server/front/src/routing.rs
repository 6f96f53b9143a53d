//! From a request's path to its file and handler: sections, aliases, files, indexes, PATH_INFO.
//!
//! `access` calls this module for each request. A route is kept for a second, so a busy path costs
//! one lookup. The files of a file's route are watched, and a change invalidates the route at once.
//! Other changes in the file system are noticed when the route expires.

pub mod homes;
pub mod hosts;
pub mod htaccess;
mod links;
mod listing;
mod locate;
mod mapping;
mod program;
mod proxied;
mod seen;
pub mod table;
mod views;
mod walk;

pub use locate::{DENIED, HIDDEN};

use crate::content::{media, FileTarget};
use mehari_config::{Handler, Report, Settings};
use mehari_filewatch::FileWatcher;
use mehari_http::problem::Problem;
use seen::Seen;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

#[derive(Debug)]
pub struct Route {
    /// The number of its host.
    pub host: u32,
    pub settings: Arc<Settings>,
    pub handler: Handler,
    /// The file on disk: the script, or the mapped path.
    pub file: Vec<u8>,
    /// Decoded. Followed by `path_info` it is the request's path.
    pub script_name: Vec<u8>,
    pub path_info: Vec<u8>,
    pub outcome: Outcome,
    /// Settings of intermediate places (a folder with an index), if their access rules differ from
    /// those of `settings`.
    pub intermediate_settings: Vec<Arc<Settings>>,
    /// The `Action` that led here from another file.
    pub action: Option<Box<ActedFor>>,
    /// The state of the program's file, from the second search for this path on.
    pub seen: Option<Seen>,
}

/// The file for which an `Action`'s program runs.
#[derive(Debug, Clone)]
pub struct ActedFor {
    /// The path of the file, decoded: REDIRECT_URL.
    pub path: Vec<u8>,
    /// The handler's name or the media type: REDIRECT_HANDLER.
    pub name: String,
}

impl Route {
    /// Whether the response is a file's unchanged bytes: no includes, and no coding that a reader
    /// must undo.
    pub fn is_plain_file(&self) -> bool {
        matches!(self.outcome, Outcome::File(_))
            && self.path_info.is_empty()
            && self.settings.output.includes.are_off()
            && media::encoding(&self.file, &self.settings).is_none()
    }

    /// The mark of the program's file while it is unchanged. 0: the worker must check the file.
    pub fn file_mark(&self) -> u64 {
        self.seen.as_ref().map_or(0, Seen::mark)
    }

    /// This route after the earlier one: a program's file is watched from the second request on,
    /// because a single request is not worth a watch.
    pub fn succeeding(mut self, before: Option<&Route>, watcher: &FileWatcher) -> Route {
        let file = match (&self.outcome, &self.handler) {
            (Outcome::Program, Handler::Psgi(file)) => file.as_os_str().as_bytes(),
            (Outcome::Program, _) => &self.file,
            _ => return self,
        };
        self.seen = before.and_then(|before| match &before.seen {
            Some(seen) if before.file == self.file && seen.is_confirmed(file) => Some(seen.clone()),
            _ => Seen::look(file, watcher),
        });
        self
    }

    /// Whether Perl filters process the file.
    pub fn is_filtered(&self) -> bool {
        self.settings.filters_output() && self.is_plain_file()
    }
}

/// The result of the search in the file system.
#[derive(Debug)]
pub enum Outcome {
    /// A file to be sent unchanged.
    File(FileTarget),
    /// `Route::handler` is a program and may run.
    Program,
    /// `Route::handler` is a back end. The percent-encoded path for it.
    Proxied(Vec<u8>),
    /// A report of the server.
    Report(Report),
    /// A folder requested without its slash: its percent-encoded path.
    Moved(Vec<u8>),
    /// A folder without an index, which will be listed.
    Listing,
    Refused(Problem),
}

pub use listing::listing;
pub use locate::{cold, find, find_for, find_to_keep, to_back_end};
