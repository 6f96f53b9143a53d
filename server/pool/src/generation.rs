//! A generation: the zygotes of a site's Perls, and the teams it will serve with.

use crate::team::Team;
use crate::zygote::Zygote;
use mehari_config::Site;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) struct Generation {
    pub number: u32,
    pub site: Arc<Site>,
    /// One a Perl of the site's, in their order.
    pub zygotes: Vec<Loaded>,
    /// What it will serve with; empty once it does.
    pub teams: Vec<Team>,
}

/// A zygote of a generation.
#[derive(Default)]
pub(crate) struct Loaded {
    pub zygote: Option<Rc<Zygote>>,
    pub failed_forks: u32,
    /// Files it loaded that are not perl's own.
    pub files: Vec<PathBuf>,
}

/// Whoever listens to the zygote holds it too: it must be told, or it would live on.
impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(zygote) = &self.zygote {
            zygote.control.get_ref().hang_up();
        }
    }
}
