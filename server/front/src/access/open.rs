//! The fast path for requests that no rule concerns: the access phase is skipped.

use crate::routing::Route;
use crate::shared::Shared;
use std::rc::Rc;

/// The kept route of a path without rules, scripts, limits or cache. `None`: the access phase must
/// run, because an unknown path may need a disk.
pub fn open_route(shared: &Shared, host: u32, path: &[u8]) -> Option<Rc<Route>> {
    if !is_open(shared, host) {
        return None;
    }
    let route = shared.known_route(host, path, None)?;
    let settings = &route.settings;
    let is_open = !settings.look_first()
        && route.intermediate_settings.is_empty()
        && settings.limits.traffic.is_empty()
        && settings.cache.is_off()
        && !settings.tracking.uploads;
    is_open.then_some(route)
}

fn is_open(shared: &Shared, host: u32) -> bool {
    let site = shared.site();
    let host = site.host(host);
    host.rules.is_empty() && host.user_dirs.is_none() && !shared.lua.is_used()
}
