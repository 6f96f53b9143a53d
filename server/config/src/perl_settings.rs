//! The settings with which a perl starts, and what the perl loads before it serves requests.

use std::path::PathBuf;

use crate::Preloaded;

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
}
