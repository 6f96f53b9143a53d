//! From a request's path to what answers it: sections, aliases, files, indexes, PATH_INFO.
//!
//! `access` calls this module for each request. A route is kept for a second, so a busy path costs one
//! look into a table. The files that a file's route depends on are watched: the route is invalid at once
//! when one of them changes. Other changes in the file system are noticed when the route expires.

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
    /// The file on disk: the script, or what the path was mapped to.
    pub file: Vec<u8>,
    /// Decoded; together with `path_info` the request's path.
    pub script_name: Vec<u8>,
    pub path_info: Vec<u8>,
    pub outcome: Outcome,
    /// Settings of the places it was led on from (a folder with an index), where they ask something
    /// else of those who come than `settings` do.
    pub intermediate_settings: Vec<Arc<Settings>>,
    /// The `Action` that led here from another file.
    pub action: Option<Box<ActedFor>>,
    /// What is known of the program's file, from the second search for this path on.
    pub seen: Option<Seen>,
}

/// What the program of an `Action` acts for.
#[derive(Debug, Clone)]
pub struct ActedFor {
    /// The path of the file, decoded: REDIRECT_URL.
    pub path: Vec<u8>,
    /// The handler's name or the media type: REDIRECT_HANDLER.
    pub name: String,
}

impl Route {
    /// Whether the answer is a file's bytes as they are: no page of includes, and no coding that a reader has to undo.
    pub fn is_plain_file(&self) -> bool {
        matches!(self.outcome, Outcome::File(_))
            && self.path_info.is_empty()
            && self.settings.output.includes.are_off()
            && media::encoding(&self.file, &self.settings).is_none()
    }

    /// The mark of the program's file while it is as the front has seen it; 0: who runs it has to look at it.
    pub fn file_mark(&self) -> u64 {
        self.seen.as_ref().map_or(0, Seen::mark)
    }

    /// This route after the one that held until now: the file of a program that is asked for again is watched. What a client
    /// asks for once is not worth a watch.
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

    /// Whether filters in Perl see the file before the client does.
    pub fn is_filtered(&self) -> bool {
        self.settings.filters_output() && self.is_plain_file()
    }
}

/// What the file system said about a route.
#[derive(Debug)]
pub enum Outcome {
    /// A file to be sent as it is.
    File(FileTarget),
    /// `Route::handler` is a program and may run.
    Program,
    /// `Route::handler` is a back end; the path it is asked for, percent-encoded.
    Proxied(Vec<u8>),
    /// The server says something about itself.
    Report(Report),
    /// A folder asked for without its slash: where it is, percent-encoded.
    Moved(Vec<u8>),
    /// A folder without an index, to be listed.
    Listing,
    Refused(Problem),
}

pub use listing::listing;
pub use locate::{cold, find, find_for, find_to_keep, to_back_end};
