//! The Lua scripts of a location.

use std::path::PathBuf;
use std::sync::Arc;

/// The point in a request at which scripts run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LuaHook {
    /// `LuaAttractRawURL`
    RawUrl,
    /// `LuaAttractPhysicalPath`
    PhysicalPath,
    /// `LuaAttractResponse`
    ResponseStart,
}

/// Scripts in the order in which they run.
pub type LuaScripts = Arc<[PathBuf]>;
