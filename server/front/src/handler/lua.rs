//! Edge Lua: scripts a site has asked about its requests, run here between everybody else's.
//!
//! `http1` and `http2` come here instead of to `gate` ([`admit`]) and before they send a head ([`respond`]). A site
//! without scripts passes at once. `mehari_edge` runs the scripts and knows no server; what of a request they see is
//! `visit`, what becomes of what they changed is `outcome`, what they send is `content`.

mod admit;
mod content;
mod disk;
mod outcome;
mod respond;
pub mod visit;

pub use admit::admit;
pub use respond::{respond, Response};

use crate::clock::Clock;
use disk::Disk;
use mehari_config::{LuaSettings, Settings, Site};
use mehari_edge::{Edge, Ended, Failure, Limits, Step, Visit};
use std::cell::{Cell, OnceCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// What the scripts of a front share.
#[derive(Default)]
pub struct Lua {
    is_used: Cell<bool>,
    edge: OnceCell<Edge>,
    disk: Rc<Disk>,
}

impl Lua {
    pub fn new(site: &Site) -> Lua {
        let lua = Lua::default();
        lua.renew(site);
        lua
    }

    /// The site has been read again: scripts are, too.
    pub fn renew(&self, site: &Site) {
        self.is_used.set(site.has_lua());
        if let Some(edge) = self.edge.get() {
            edge.forget();
        }
    }

    /// False: no request of this site meets a script.
    pub fn is_used(&self) -> bool {
        self.is_used.get()
    }

    fn edge(&self) -> Result<&Edge, Failure> {
        if let Some(edge) = self.edge.get() {
            return Ok(edge);
        }
        let edge = Edge::new(self.disk.clone())?;
        Ok(self.edge.get_or_init(|| edge))
    }

    /// Runs one script to its end, a slice at a time. Without an end there is no visit to be looked at.
    async fn run(
        &self,
        clock: &Clock,
        file: &Path,
        settings: &Arc<Settings>,
        visit: Box<Visit>,
    ) -> (Result<Ended, Failure>, Box<Visit>) {
        let now = clock.tick();
        let started = self
            .edge()
            .and_then(|edge| edge.start(file, now, limits(&settings.lua), visit));
        let mut run = match started {
            Ok(run) => run,
            Err(failure) => return (Err(failure), Box::default()),
        };
        loop {
            self.disk.look_for(now, settings);
            match run.step() {
                Step::Done(done) => return (done, run.into_visit()),
                Step::Again => tokio::task::yield_now().await,
            }
        }
    }
}

fn limits(settings: &LuaSettings) -> Limits {
    Limits {
        instructions: settings.instructions,
        memory: usize::try_from(settings.memory).unwrap_or(usize::MAX),
    }
}
