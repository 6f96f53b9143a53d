//! Tells whether a site has Lua scripts.

use super::Site;
use crate::{Change, Host};

impl Site {
    /// Tells whether any request may run a script.
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
