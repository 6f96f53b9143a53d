//! A generation: the zygotes of a site's Perls, and the teams that the generation will use.

use crate::false_starts::FalseStarts;
use crate::team::Team;
use crate::warmup_report::WarmupReport;
use crate::zygote::Zygote;
use mehari_config::Site;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The number of the generation that a server begins with.
pub(crate) const FIRST_GENERATION: u32 = 1;

/// The generation of a warming zygote's place among the workers. No such generation exists, so the
/// place never gets a client's request.
pub(crate) const NO_GENERATION: u32 = u32::MAX;
pub(crate) struct Generation {
    pub number: u32,
    pub site: Arc<Site>,
    /// One zygote per Perl of the site, in the same order. A generation of one pool has only the
    /// pool's zygote.
    pub zygotes: Vec<Loaded>,
    /// Whether the generation has begun to serve.
    pub serves: bool,
    /// The teams that the generation will use. Empty once the generation serves.
    pub teams: Vec<Team>,
}

/// A zygote of a generation.
#[derive(Default)]
pub(crate) struct Loaded {
    pub zygote: Option<Rc<Zygote>>,
    pub failed_forks: u32,
    /// The ends of the zygote, and its starts that failed.
    pub restarts: FalseStarts,
    /// Since when the zygote is ready. `None`: there is none.
    pub ready_since: Option<Instant>,
    /// Whether a zygote of this generation has been ready.
    pub has_been_ready: bool,
    /// `None`: no request has run before the first fork.
    pub warmup: Option<WarmupReport>,
    /// The files that the zygote loaded, without perl's own.
    pub files: Vec<PathBuf>,
}

/// Ends the zygote by closing the control connection. The task that listens to the zygote also
/// holds a reference to the zygote, so dropping this reference alone would not end the zygote.
impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(zygote) = &self.zygote {
            zygote.control.get_ref().hang_up();
        }
    }
}
