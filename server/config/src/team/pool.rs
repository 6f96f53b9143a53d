//! `<PerlPool NAME>`: an application with its own Perl, workers, limits, user and cgroup. The
//! directive `PerlPool NAME` assigns hosts and sections to a pool.

use std::fmt;
use std::path::PathBuf;

use super::TeamMark;
use crate::{PreloadOrigin, Problem};

/// What a `<PerlPool>` sets besides its Perl and the number of its workers.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct PerlPool {
    pub name: String,
    /// `User` of the section, as written.
    pub user: Option<String>,
    /// `Group` of the section, as written.
    pub group: Option<String>,
    pub cgroup: Option<Cgroup>,
    /// The line of `User`, or else the line that opens the section.
    #[serde(skip)]
    pub place: PreloadOrigin,
    /// The line of `PerlPoolCgroup`.
    #[serde(skip)]
    pub cgroup_place: PreloadOrigin,
}

/// `PerlPoolCgroup`: the cgroup of a pool's processes.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Cgroup {
    /// An absolute path is one of the whole hierarchy. Any other path lies below the cgroup in
    /// which the server was started.
    pub path: PathBuf,
    /// The files of the cgroup that get a value, such as `memory.max`.
    pub values: Vec<(String, String)>,
}

/// The pool that a host or a section is assigned to.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct AssignedPool {
    pub name: String,
    pub mark: TeamMark,
    /// `PerlSetEnv` and `PerlPassEnv` of the pool's section.
    #[serde(skip)]
    pub set_env: Vec<(String, String)>,
}

impl PerlPool {
    /// Whether the pool's processes come from a launcher: a process of the pool's own user, or in
    /// its own cgroup.
    pub fn is_launched(&self) -> bool {
        self.user.is_some() || self.cgroup.is_some()
    }

    /// Returns a problem with the position of the pool's `User` line.
    pub fn problem(&self, message: impl fmt::Display) -> Problem {
        at(&self.place, format!("<PerlPool {}>: {message}", self.name))
    }

    /// Returns a problem with the position of the line `PerlPoolCgroup`.
    pub fn cgroup_problem(&self, message: impl fmt::Display) -> Problem {
        let message = format!("<PerlPool {}>: {message}", self.name);
        at(&self.cgroup_place, message)
    }
}

fn at(place: &PreloadOrigin, message: String) -> Problem {
    let PreloadOrigin { file, line, column } = place.clone();
    Problem {
        file,
        line,
        column,
        message,
    }
}
