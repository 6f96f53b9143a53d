//! Finds the file and handler of a request's path: sections, aliases, files, indexes, PATH_INFO.
//!
//! `pipeline::route` calls this module for each request. A route is kept, so a busy path costs one
//! table lookup. The route of a file is kept while the file is unchanged: the file is watched, and
//! a change invalidates the route at once. Other routes are kept for a second.

mod file_mark;
pub mod homes;
pub mod hosts;
pub mod htaccess;
mod links;
pub mod listing;
mod locate;
pub mod mapping;
mod neighbours;
mod places;
mod program;
mod proxied;
pub mod similar;
mod survey;
pub mod table;
pub mod variants;
mod walk;

pub use locate::{is_found_by_walk, DENIED, ENCODED_SLASH, HIDDEN, NO_INDEX};
pub use proxied::with_slashes_as_sent;

use crate::content::{media, FileTarget};
use crate::request::rule_state::IndexedFolder;
use file_mark::FileMark;
use mehari_config::{Handler, Report, Rung, Settings};
use mehari_filewatch::FileWatcher;
use mehari_http::problem::Problem;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use variants::Variants;

#[derive(Debug)]
pub struct Route {
    /// The number of the host that serves the path.
    pub host: u32,
    pub settings: Arc<Settings>,
    pub handler: Handler,
    /// The file on disk, without PATH_INFO: the script, or the mapped path. As in Apache, the path
    /// of what does not exist ends with the first missing name.
    pub file: Vec<u8>,
    /// SCRIPT_NAME, decoded. `script_name` and `path_info` together are the request's path.
    pub script_name: Vec<u8>,
    pub path_info: Vec<u8>,
    pub outcome: RouteOutcome,
    /// Settings of intermediate places (a folder with an index), if their access rules differ from
    /// those of `settings`.
    pub intermediate_settings: Vec<Arc<Settings>>,
    /// Whether this is an index or a fallback with other settings than the place that names it. As
    /// in Apache, access to it is then checked as for a sub-request, whose method is GET.
    pub is_looked_up: bool,
    /// The index, the fallback or the program of an `Action`. `None`: the request's own path.
    pub led_to: Option<Box<LedTo>>,
    /// The `Action` that led here from another file.
    pub action: Option<Box<ActedFor>>,
    /// The folder whose index this is, or the path whose fallback this is. Perl's handlers before
    /// the response see that place first.
    pub index_of: Option<Box<IndexedFolder>>,
    /// The state of the program's file. `None` before the second search for this path.
    pub file_mark: Option<FileMark>,
}

/// A path that takes the place of the request's own path.
#[derive(Debug, Clone)]
pub struct LedTo {
    /// Decoded.
    pub path: Vec<u8>,
    /// The query in the configuration. The request's own query follows it.
    pub query: Option<Box<[u8]>>,
}

/// A file for which the program of an `Action` runs.
#[derive(Debug, Clone)]
pub struct ActedFor {
    /// The path of the file, decoded: REDIRECT_URL.
    pub path: Vec<u8>,
    /// The handler's name or the media type: REDIRECT_HANDLER.
    pub name: String,
}

/// The program of an `Action` that responds after Perl's handlers at the place of the file.
#[derive(Debug, Clone)]
pub struct Acting {
    /// The percent-encoded path of the program.
    pub program: Vec<u8>,
    /// The percent-encoded path of the file, which is the program's PATH_INFO.
    pub file: Vec<u8>,
    /// The handler's name or the media type: REDIRECT_HANDLER.
    pub name: String,
}

impl Route {
    /// Returns the route to another file at the same place, which the front sends.
    pub fn to_file(&self, file: Vec<u8>, target: FileTarget) -> Route {
        Route {
            file,
            intermediate_settings: Vec::new(),
            ..self.at_same_place(RouteOutcome::File(target))
        }
    }

    /// Returns the redirect of this folder.
    pub fn moved(&self, to: MovedFolder) -> Route {
        self.at_same_place(RouteOutcome::Moved(to))
    }

    fn at_same_place(&self, outcome: RouteOutcome) -> Route {
        Route {
            host: self.host,
            settings: self.settings.clone(),
            handler: Handler::File,
            file: self.file.clone(),
            script_name: self.script_name.clone(),
            path_info: self.path_info.clone(),
            outcome,
            intermediate_settings: self.intermediate_settings.clone(),
            is_looked_up: false,
            led_to: None,
            action: None,
            index_of: None,
            file_mark: None,
        }
    }

    /// Returns the decoded path that takes the place of the request's own path.
    pub fn led_path(&self) -> Option<&[u8]> {
        self.led_to.as_ref().map(|to| &to.path[..])
    }

    /// Returns the query that comes before the request's own query.
    pub fn led_query(&self) -> Option<&[u8]> {
        self.led_to.as_ref()?.query.as_deref()
    }

    /// Whether conditions of an `<If>` decide about the settings of this route, or of a place that
    /// has led to it.
    pub fn is_undecided(&self) -> bool {
        self.settings.is_undecided()
            || (self.intermediate_settings.iter()).any(|settings| settings.is_undecided())
    }

    /// Whether Perl responds.
    pub fn is_perls(&self) -> bool {
        let by_the_front = matches!(
            self.handler,
            Handler::File | Handler::Script(Rung::Cgi) | Handler::Proxy(_)
        );
        matches!(self.outcome, RouteOutcome::Program) && !by_the_front
    }

    /// Whether the response is a file's unchanged bytes: no includes, and no coding that a reader
    /// must undo.
    pub fn is_plain_file(&self) -> bool {
        matches!(self.outcome, RouteOutcome::File(_))
            && self.path_info.is_empty()
            && self.settings.output.includes.are_off()
            && media::encoding(&self.file, &self.settings).is_none()
    }

    /// Returns the mark of the program's file while the file is unchanged. 0: the worker must check
    /// the file.
    pub fn file_mark(&self) -> u64 {
        self.file_mark.as_ref().map_or(0, FileMark::mark)
    }

    /// Returns this route as the successor of the earlier route of the path. A program's file is
    /// watched from the second search on, because a single request is not worth a watch.
    pub fn succeeding(mut self, before: Option<&Route>, watcher: &FileWatcher) -> Route {
        let file = match (&self.outcome, &self.handler) {
            (RouteOutcome::Program, Handler::Psgi(file)) => file.as_os_str().as_bytes(),
            (RouteOutcome::Program, _) => &self.file,
            _ => return self,
        };
        self.file_mark = before.and_then(|before| match &before.file_mark {
            Some(file_mark) if before.file == self.file && file_mark.is_confirmed(file) => {
                Some(file_mark.clone())
            }
            _ => FileMark::look(file, watcher),
        });
        self
    }

    /// Whether Perl filters process a response that the front itself makes, or the request's body
    /// before the front uses it.
    pub fn is_filtered(&self) -> bool {
        match self.outcome {
            RouteOutcome::File(_) => self.settings.filters_output(),
            RouteOutcome::Proxied(_) => self.settings.filters(),
            RouteOutcome::Program if self.handler == Handler::Script(Rung::Cgi) => {
                self.settings.filters()
            }
            _ => false,
        }
    }
}

/// The result of the search in the file system.
#[derive(Debug)]
pub enum RouteOutcome {
    /// A file to be sent unchanged.
    File(FileTarget),
    /// Variants, of which the request's Accept fields choose one.
    Negotiated(Variants),
    /// The program of an `Action` responds, at a place of its own.
    Acted(Box<Acting>),
    /// `Route::handler` is a program and may run.
    Program,
    /// `Route::handler` is a back end. The value is the percent-encoded path for the back end.
    Proxied(Vec<u8>),
    /// A report of the server.
    Report(Report),
    Moved(MovedFolder),
    /// A folder. The host's rules decide which paths its indexes have, or the folder has rules of
    /// its own, so `pipeline::index` looks for the indexes.
    Indexed,
    /// A folder without an index, which will be listed.
    Listing,
    Refused(Problem),
}

/// A redirect of a folder: to its path with the final slash, or to its index.
#[derive(Debug)]
pub struct MovedFolder {
    /// The percent-encoded path.
    pub to: Vec<u8>,
    pub status: u16,
    /// As in Apache, only the path with the slash keeps the query.
    pub keeps_query: bool,
}

pub use locate::{
    cold, find, find_for, find_named, find_to_keep, to_back_end, unfound, Sought, Watching,
};
pub use places::{places_of, ServedUrl, Silent};
pub use survey::{htaccess_problems, survey, Survey, SurveyedPlace};
