//! The Perls and the workers of a site.

use super::Site;
use crate::{PerlSettings, Team, WarmupUrl, WorkerPolicy};

impl Site {
    /// Returns the main server's Perl.
    pub fn perl(&self) -> &PerlSettings {
        &self.perls[0]
    }

    /// Returns the main server's workers.
    pub fn workers(&self) -> &WorkerPolicy {
        &self.teams[0].workers
    }

    pub fn workers_mut(&mut self) -> &mut WorkerPolicy {
        &mut self.teams[0].workers
    }

    /// Returns the worker settings of a team. A setting that the team's host does not make is the
    /// main server's.
    pub fn policy(&self, team: &Team) -> WorkerPolicy {
        team.workers.over(self.workers())
    }

    /// Returns the number of the host that owns the Perl with this number. 0: the main server.
    pub fn host_of_perl(&self, perl: usize) -> u32 {
        let mut teams = self
            .teams
            .iter()
            .filter(|team| perl > 0 && team.perl == perl);
        let owner = teams.next().map(|team| team.mark);
        let index = owner.and_then(|mark| self.hosts.iter().position(|host| host.team == mark));
        index.map_or(0, |index| index as u32 + 1)
    }

    /// Returns the name of the host that owns the Perl with this number. `None`: the main server
    /// owns the Perl.
    pub fn owner_of(&self, perl: usize) -> Option<&str> {
        let mut teams = self.teams.iter();
        let owner = teams.find(|team| perl > 0 && team.perl == perl);
        owner.map(|team| team.name.as_str())
    }

    /// Returns the number of the host that a request of a Perl's warm-up is for. `None`: no host of
    /// this Perl has the name.
    pub fn warmup_host(&self, perl: usize, url: &WarmupUrl) -> Option<u32> {
        let Some(name) = &url.host else {
            return Some(self.host_of_perl(perl));
        };
        let mut hosts = self.all_hosts();
        let host = hosts.find(|host| host.perl == perl && host.names.has(name))?;
        Some(host.number)
    }
}
