//! What the zygote loads before it forks workers, in which order, and for which line.
//!
//! Directives add preloads to the [`crate::environment::Environment`]. The zygote loads them in
//! order, and a failure becomes a [`Problem`] of its line.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Problem, Rung};

/// One thing to load before the fork. The order is mod_perl's: `PerlConfigRequire`, `PerlRequire`,
/// `PerlModule`, `PerlPostConfigRequire`, then handlers, then scripts and applications.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preload {
    /// `PerlModule Name`
    Module(String),
    /// `PerlRequire file`: an absolute path, or to be found in @INC.
    Require(PathBuf),
    /// The handler of a phase, whose module is loaded.
    Handler(String),
    /// A script compiled before the fork: rung and file.
    Script(Rung, PathBuf),
    /// A PSGI application file.
    Psgi(PathBuf),
    /// The code of a `<Perl>` section, and `FILE:LINE` of its first line.
    Section { name: String, code: String },
    /// A line with a directive of a Perl module.
    Directive(Arc<crate::CustomUse>),
}

impl Preload {
    /// The preload for a handler of a phase as written. `None`: the handler's module is loaded at
    /// its first request.
    ///
    /// A handler that begins with `-` is loaded at its first request, as in mod_perl. So is an
    /// object, which a worker's PerlChildInitHandler may create, and a rung, which is not a module.
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

/// A preload and its line. Without a file, it comes from the command line.
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
}

impl From<Preload> for Preloaded {
    fn from(what: Preload) -> Preloaded {
        Preloaded {
            what,
            place: PreloadOrigin::default(),
            host: 0,
        }
    }
}

impl Preloaded {
    /// The problem that it could not be loaded, with Perl's message.
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

/// When a preload is loaded: mod_perl's order, whatever the order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PreloadStage {
    /// Loaded while the configuration was read, in the order of the lines.
    Loaded,
    ConfigRequire,
    Require,
    Module,
    PostConfigRequire,
    Handler,
    Program,
}
