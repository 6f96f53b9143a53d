//! The settings with which a perl starts, and what the perl loads before it serves requests.

use std::path::PathBuf;

use crate::{Preloaded, Warmup};

#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct PerlSettings {
    /// `PerlInterpreter`: the perl to run.
    pub interpreter: PathBuf,
    /// `PerlSwitches`: -w, -T, -Idir, -Mmodule, as words.
    pub switches: Vec<String>,
    pub preloads: Vec<Preloaded>,
    /// The names of the server's `PerlPassEnv`. (`set_env` has the server's `PerlSetEnv`.)
    pub pass_env: Vec<String>,
    pub set_env: Vec<(String, String)>,
    pub warmup: Warmup,
    /// `None`: the main server's, or [`ForkLint::Warn`].
    pub fork_lint: Option<ForkLint>,
    /// `MergeWorkerMemory`: the kernel merges equal pages of the processes. `None`: the main
    /// server's, or no.
    pub merges_memory: Option<bool>,
    /// Whether a developer watches the application (`--watch`): it gets the development error page.
    pub is_watched: bool,
    /// The folder for the files of an exact profile (`mehari profile --exact`), with which only the
    /// zygote of such a profile is started.
    #[serde(skip)]
    pub exact_folder: Option<PathBuf>,
}

impl PerlSettings {
    /// Whether requests run before the first worker is forked.
    pub fn warms_up(&self) -> bool {
        !self.warmup.urls.is_empty()
    }
}

/// `PerlForkLint`: what happens when the zygote has something that its workers must not share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ForkLint {
    #[default]
    Warn,
    Refuse,
    Off,
}

impl ForkLint {
    /// Returns the word for the zygote.
    pub fn word(self) -> &'static str {
        match self {
            ForkLint::Warn => "warn",
            ForkLint::Refuse => "refuse",
            ForkLint::Off => "off",
        }
    }
}
