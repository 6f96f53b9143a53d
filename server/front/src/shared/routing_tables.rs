//! What the router remembers: kept routes, hosts by name, .htaccess files, and the files it watches.

use super::Shared;
use crate::routing::hosts::HostTable;
use crate::routing::htaccess::HtaccessTable;
use crate::routing::table::RouteTable;
use crate::routing::{self, Route};
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
    /// The kept route of a path.
    pub fn known_route(&self, host: u32, path: &[u8], mapped: Option<&[u8]>) -> Option<Rc<Route>> {
        let now = self.clock.tick();
        match mapped {
            None => self.routing.routes.known(host, path, now),
            Some(file) => self
                .routing
                .routes
                .known(host, &Self::mapped_key(path, file), now),
        }
    }

    /// The file that a search for a path may have to read from the disk.
    pub fn cold_file(&self, host: u32, path: &[u8], mapped: Option<&[u8]>) -> Option<Vec<u8>> {
        routing::cold(
            &self.site.borrow(),
            &self.routing.watcher,
            host,
            path,
            mapped,
        )
    }

    /// `patient`: see [`routing::find_to_keep`].
    pub fn route(&self, host: u32, path: &[u8], patient: bool) -> Result<Rc<Route>, Problem> {
        let site = self.site.borrow();
        let now = self.clock.tick();
        self.routing.routes.route(host, path, now, |before| {
            let watcher = (&*self.routing.watcher, patient);
            let route =
                routing::find_to_keep(&site, &self.routing.htaccess, watcher, host, path, None)?;
            Ok(route.succeeding(before, &self.routing.watcher))
        })
    }

    /// The route of a path that a rule has mapped to a file.
    pub fn route_to(
        &self,
        host: u32,
        path: &[u8],
        file: &[u8],
        patient: bool,
    ) -> Result<Rc<Route>, Problem> {
        let site = self.site.borrow();
        let key = Self::mapped_key(path, file);
        self.routing
            .routes
            .route(host, &key, self.clock.tick(), |before| {
                let watcher = (&*self.routing.watcher, patient);
                let route = routing::find_to_keep(
                    &site,
                    &self.routing.htaccess,
                    watcher,
                    host,
                    path,
                    Some(file),
                )?;
                Ok(route.succeeding(before, &self.routing.watcher))
            })
    }

    /// No path contains a NUL.
    fn mapped_key(path: &[u8], file: &[u8]) -> Vec<u8> {
        [path, &[0], file].concat()
    }
}
