//! The way of requests that nobody has anything to say about: the access phase need not be evaluated.

use crate::routing::Route;
use crate::shared::Shared;
use std::rc::Rc;

/// The route of a path where it is known, and no rule, script, limit or cache of its place has a say in it. `None`: ask
/// the access phase. What is not known may have to be read from a disk.
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
