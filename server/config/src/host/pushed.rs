//! The handlers that start-up code adds to a server by `$s->push_handlers`. The zygote reports
//! them.

use std::sync::{PoisonError, RwLock};

use super::Host;
use crate::{Phase, Settings};

/// The handlers outside of sections after start-up code has run. A clone is empty.
#[derive(Debug, Default)]
pub(crate) struct Pushed(RwLock<Vec<(Phase, Vec<String>)>>);

impl Clone for Pushed {
    fn clone(&self) -> Pushed {
        Pushed::default()
    }
}

impl Host {
    pub(crate) fn set_pushed(&self, phase: Phase, handlers: Vec<String>) {
        let mut pushed = self
            .pushed
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if pushed
            .iter()
            .any(|(known, same)| *known == phase && *same == handlers)
        {
            return;
        }
        pushed.retain(|(known, _)| *known != phase);
        pushed.push((phase, handlers));
        drop(pushed);
        let mut known = self
            .merged
            .known
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }

    /// Returns the settings outside of sections, before any section is merged.
    pub(super) fn unmerged(&self) -> Settings {
        let mut settings = self.base.clone();
        let pushed = self.pushed.0.read().unwrap_or_else(PoisonError::into_inner);
        for (phase, handlers) in pushed.iter() {
            settings.perl.place(*phase).clone_from(handlers);
        }
        settings
    }
}
