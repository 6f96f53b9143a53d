//! How a perl starts, and what it loads before it serves.

use std::path::PathBuf;

use crate::Preloaded;

#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct PerlSettings {
    /// `PerlInterpreter`: the perl to run.
    pub interpreter: PathBuf,
    /// `PerlSwitches`: -w, -T, -Idir, -Mmodule, as words.
    pub switches: Vec<String>,
    pub preloads: Vec<Preloaded>,
    /// The names of `PerlPassEnv`. `set_env`: the server's `PerlSetEnv`.
    pub pass_env: Vec<String>,
    pub set_env: Vec<(String, String)>,
}
