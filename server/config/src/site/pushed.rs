//! Gives the hosts the handlers that start-up code adds to a server by `$s->push_handlers`.

use super::Site;
use crate::Phase;

impl Site {
    /// Sets the handlers of a phase outside of sections, after `$s->push_handlers` in the start-up
    /// code of the Perl with number `perl`. Virtual hosts that inherit the main server's handlers
    /// get the handlers too. Hosts that other Perls serve do not change.
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
