//! The preloads: what the zygote loads before it forks workers, in which order, and for which line.
//!
//! Directives add preloads to the [`crate::environment::Environment`]. The zygote loads the
//! preloads in order. If a preload cannot be loaded, its line gets a [`Problem`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Problem, Rung};

/// One thing that the zygote loads before it forks workers. The order is mod_perl's:
/// `PerlConfigRequire`, `PerlRequire`, `PerlModule`, `PerlPostConfigRequire`, then handlers, then
/// scripts and applications.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preload {
    /// `PerlModule Name`
    Module(String),
    /// `PerlRequire file`: an absolute path, or a path that perl looks up in @INC.
    Require(PathBuf),
    /// The handler of a phase: its module is loaded.
    Handler(String),
    /// A script that is compiled before the fork: its rung and its file.
    Script(Rung, PathBuf),
    /// A PSGI application file.
    Psgi(PathBuf),
    /// The code of a `<Perl>` section, and `FILE:LINE` of its first line.
    Section { name: String, code: String },
    /// A line with a directive of a Perl module.
    Directive(Arc<crate::CustomUse>),
}

impl Preload {
    /// Returns the preload for a handler of a phase as written. `None`: the handler is not
    /// preloaded but loaded at its first request.
    ///
    /// A handler that begins with `-` is not preloaded, as in mod_perl. An object is not preloaded,
    /// because the PerlChildInitHandler of a worker may create the object. A rung is not preloaded,
    /// because it is not a module.
    pub(crate) fn of_handler(name: &str) -> Option<Preload> {
        let waits = name.starts_with(['-', '$']) || Rung::of_handler(name).is_some();
        (!waits).then(|| Preload::Handler(name.to_string()))
    }
}

impl fmt::Display for Preload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preload::Module(name) => write!(out, "module {name}"),
            Preload::Require(file) => write!(out, "file {}", file.display()),
            Preload::Handler(name) => write!(out, "handler {name}"),
            Preload::Script(rung, file) => {
                write!(out, "script {} for `{}`", file.display(), rung.name())
            }
            Preload::Psgi(file) => write!(out, "application {}", file.display()),
            Preload::Section { name, .. } => write!(out, "<Perl> of {name}"),
            Preload::Directive(used) => write!(out, "{} of {}:{}", used.name, used.file, used.line),
        }
    }
}

/// The position of a preload's line. Without a file, the preload comes from the command line.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct PreloadOrigin {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Preloaded {
    #[serde(flatten)]
    pub what: Preload,
    #[serde(skip)]
    pub place: PreloadOrigin,
    /// The number of the line's host.
    #[serde(skip)]
    pub host: u32,
    /// The number of the line's section. Sections inside a section have greater numbers.
    #[serde(skip)]
    pub section: u32,
    /// The pool whose Perl loads this. `None`: the Perl of the line's host.
    #[serde(skip)]
    pub pool: Option<String>,
}

impl From<Preload> for Preloaded {
    fn from(what: Preload) -> Preloaded {
        Preloaded {
            what,
            place: PreloadOrigin::default(),
            host: 0,
            section: 0,
            pool: None,
        }
    }
}

impl Preloaded {
    /// Returns the problem for a preload that could not be loaded. `reason` is Perl's message.
    pub fn problem(&self, reason: &str) -> Problem {
        let PreloadOrigin { file, line, column } = self.place.clone();
        let reason = reason.trim_end().replace('\n', "\n    ");
        Problem {
            file,
            line,
            column,
            message: match self.what {
                // Perl's message already names the handler.
                Preload::Handler(_) => reason,
                _ => format!("{} cannot be loaded: {reason}", self.what),
            },
        }
    }
}

/// The stages of preloading, in mod_perl's order. The order of the lines matters only within a
/// stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PreloadStage {
    /// The preload was already loaded while the configuration was read.
    Loaded,
    ConfigRequire,
    Require,
    Module,
    PostConfigRequire,
    Handler,
    Program,
}
