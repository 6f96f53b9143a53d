//! The Lua scripts of a location, and their limits.

use crate::{Change, LuaHook, LuaScripts};

/// The Lua scripts of one location, and their limits.
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
