//! The open connections of a front: their deadlines, their tasks, and what they hold.

use super::task_pool::TaskPool;
use crate::content::backlog::Unsent;
use mehari_config::Site;
use mehari_net::compute_threads::ComputeThreads;
use mehari_net::deadline::Registry;
use mehari_net::tls::Hosts;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub struct Connections {
    pub registry: Rc<Registry>,
    /// The HTTP/2 streams, for their deadlines.
    pub streams: Rc<Registry>,
    pub tasks: TaskPool,
    /// Bytes of responses in memory that clients have not taken.
    pub unsent: Rc<Unsent>,
    /// Whether the front stops: no connection then serves another request.
    pub stopping: Cell<bool>,
    /// Whether the front stops because another process serves.
    pub is_replaced: Cell<bool>,
    /// Whether any host has a Perl handler that serves connections.
    pub any_handed_over: Cell<bool>,
    /// The threads that help the front's own (`FrontThreads`).
    pub threads: Rc<ComputeThreads>,
    tls: RefCell<Option<Rc<Hosts>>>,
}

impl Connections {
    pub fn new(site: &Site) -> Connections {
        Connections {
            registry: Rc::default(),
            streams: Rc::default(),
            tasks: TaskPool::default(),
            unsent: Rc::default(),
            stopping: Cell::new(false),
            is_replaced: Cell::new(false),
            any_handed_over: Cell::new(site.gives_connections()),
            threads: Rc::new(ComputeThreads::new(site.process.helping_threads())),
            tls: RefCell::default(),
        }
    }

    /// Takes over the settings of a site that was read again.
    pub fn configure(&self, site: &Site) {
        self.any_handed_over.set(site.gives_connections());
        self.threads.allow(site.process.helping_threads());
    }

    /// Returns the hosts with their certificates. `None`: TLS is not used.
    pub fn tls(&self) -> Option<Rc<Hosts>> {
        self.tls.borrow().clone()
    }

    pub fn replace_tls(&self, hosts: Hosts) {
        self.tls.replace(Some(Rc::new(hosts)));
    }
}
