//! Handlers that start-up code adds to a server: the hosts that get them.

use super::Site;
use crate::Phase;

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
