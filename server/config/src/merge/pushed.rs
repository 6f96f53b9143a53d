//! Handlers that start-up code adds to a server (`$s->push_handlers`), reported by the zygote.

use std::sync::{PoisonError, RwLock};

use crate::{Host, Phase, Settings, Site};

/// The handlers outside of sections after start-up code. A clone starts empty.
#[derive(Debug, Default)]
pub(crate) struct Pushed(RwLock<Vec<(Phase, Vec<String>)>>);

impl Clone for Pushed {
    fn clone(&self) -> Pushed {
        Pushed::default()
    }
}

impl Site {
    /// `$s->push_handlers` in the start-up code of one Perl: sets the handlers of a phase outside
    /// of sections. Virtual hosts that inherit the main server's handlers get them too. Hosts of
    /// other Perls do not change.
    pub fn push_handlers(&self, perl: usize, host: u32, phase: Phase, handlers: Vec<String>) {
        let before = self.host(host).base.perl.of(phase);
        for other in self.all_hosts().filter(|other| other.perl == perl) {
            let inherits = host == 0 && other.base.perl.of(phase) == before;
            if other.number == host || inherits {
                other.set_pushed(phase, handlers.clone());
            }
        }
    }
}

impl Host {
    fn set_pushed(&self, phase: Phase, handlers: Vec<String>) {
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

    /// The settings from which sections continue.
    pub(super) fn unmerged(&self) -> Settings {
        let mut settings = self.base.clone();
        let pushed = self.pushed.0.read().unwrap_or_else(PoisonError::into_inner);
        for (phase, handlers) in pushed.iter() {
            settings.perl.place(*phase).clone_from(handlers);
        }
        settings
    }
}
