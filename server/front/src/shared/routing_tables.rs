//! What the router remembers: kept routes, hosts by name, .htaccess files, and the files it
//! watches.

use super::Shared;
use crate::routing::hosts::HostTable;
use crate::routing::htaccess::HtaccessTable;
use crate::routing::table::RouteTable;
use crate::routing::{self, Route, Sought, Watching};
use mehari_filewatch::FileWatcher;
use mehari_http::problem::Problem;
use mehari_observe::Journal;
use std::rc::Rc;

pub struct RoutingTables {
    pub routes: RouteTable,
    pub hosts: HostTable,
    pub htaccess: HtaccessTable,
    pub watcher: Rc<FileWatcher>,
}

impl RoutingTables {
    pub fn new(journal: &Rc<dyn Journal>) -> RoutingTables {
        RoutingTables {
            routes: RouteTable::default(),
            hosts: HostTable::default(),
            htaccess: HtaccessTable::new(journal.clone()),
            watcher: Rc::new(FileWatcher::new(journal.clone())),
        }
    }

    /// Forgets everything: the site has been read again.
    pub fn clear(&self) {
        self.routes.clear();
        self.watcher.clear();
        self.hosts.clear();
        self.htaccess.clear();
    }
}

impl Shared {
    /// Forgets what depends on files that have changed. Each request begins with this, because the
    /// reactor may name a request before it names a change that was made earlier.
    pub fn take_file_changes(&self) {
        self.routing.watcher.read_events();
        let site = self.site();
        if self.routing.htaccess.forget_changed(&site.access_files) {
            self.routing.routes.clear();
        }
    }

    /// Returns the kept route of a path.
    pub fn known_route(&self, sought: Sought<'_>) -> Option<Rc<Route>> {
        let (host, now) = (sought.host, self.clock.tick());
        match sought.file {
            None => self.routing.routes.known(host, sought.path, now),
            Some(file) => {
                let key = mapped_key(sought.path, file);
                self.routing.routes.known(host, &key, now)
            }
        }
    }

    /// Returns the file whose metadata a search for this path may have to read from the disk.
    pub fn cold_file(&self, sought: Sought<'_>) -> Option<Vec<u8>> {
        routing::cold(&self.site.borrow(), &self.routing.watcher, sought)
    }

    /// Returns the route of a path: a kept route, or one that is found now. `is_patient`: see
    /// [`Watching`].
    pub fn route(&self, sought: Sought<'_>, is_patient: bool) -> Result<Rc<Route>, Problem> {
        match sought.file {
            None => self.route_under(sought.path, sought, is_patient),
            Some(file) => self.route_under(&mapped_key(sought.path, file), sought, is_patient),
        }
    }

    /// Returns the route under this key. A missing route is found and kept.
    fn route_under(
        &self,
        key: &[u8],
        sought: Sought<'_>,
        is_patient: bool,
    ) -> Result<Rc<Route>, Problem> {
        let (site, routing) = (self.site.borrow(), &self.routing);
        let now = self.clock.tick();
        routing.routes.route(sought.host, key, now, |before| {
            let watching = Watching {
                watcher: &routing.watcher,
                is_patient,
            };
            let route = routing::find_to_keep(&site, &routing.htaccess, sought, watching)?;
            Ok(route.succeeding(before, &routing.watcher))
        })
    }
}

/// Returns the key for a path that a rule has mapped to a file. The NUL separates path and file,
/// because no path contains a NUL.
fn mapped_key(path: &[u8], file: &[u8]) -> Vec<u8> {
    [path, &[0], file].concat()
}
