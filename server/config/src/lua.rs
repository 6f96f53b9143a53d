//! The Lua scripts of a location.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{Change, Host, Site};

/// When scripts run for a request.
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

/// The settings of scripts in one location.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct LuaSettings {
    #[serde(serialize_with = "paths")]
    pub physical_path: LuaScripts,
    #[serde(serialize_with = "paths")]
    pub response_start: LuaScripts,
    /// `LuaInstructionLimit`
    pub instructions: u64,
    /// `LuaMemoryLimit`, bytes.
    pub memory: u64,
}

fn paths<S: serde::Serializer>(scripts: &LuaScripts, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(scripts.iter())
}

impl LuaSettings {
    pub(crate) fn change(&mut self, change: &Change) {
        match change {
            Change::Lua(LuaHook::PhysicalPath, scripts) => self.physical_path.clone_from(scripts),
            Change::Lua(LuaHook::ResponseStart, scripts) => self.response_start.clone_from(scripts),
            Change::LuaInstructions(number) => self.instructions = *number,
            Change::LuaMemory(bytes) => self.memory = *bytes,
            _ => {}
        }
    }
}

impl Site {
    /// Whether any request may run a script.
    pub fn has_lua(&self) -> bool {
        let of_host = |host: &Host| {
            let lua = &host.base.lua;
            host.rules.lua.iter().any(|scripts| !scripts.is_empty())
                || !lua.physical_path.is_empty()
                || !lua.response_start.is_empty()
                || host
                    .sections
                    .iter()
                    .any(|section| mentioned(&section.changes))
        };
        self.all_hosts().any(of_host)
    }
}

fn mentioned(changes: &[Change]) -> bool {
    changes.iter().any(|change| match change {
        Change::Lua(..) => true,
        Change::If(conditional) => mentioned(&conditional.changes),
        _ => false,
    })
}
