//! The Perls and the workers of a site.

use super::Site;
use crate::{PerlPool, PerlSettings, Team, WarmupUrl, WorkerPolicy};

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

    /// Returns the teams of `<PerlPool>` sections, each with its settings.
    pub fn pools(&self) -> impl Iterator<Item = (&Team, &PerlPool)> {
        let teams = self.teams.iter();
        teams.filter_map(|team| Some((team, team.pool.as_ref()?)))
    }

    /// Returns the pool whose Perl has this number. `None`: the Perl belongs to a host.
    pub fn pool_of(&self, perl: usize) -> Option<&PerlPool> {
        let mut pools = self.pools();
        let pool = pools.find(|(team, _)| team.perl == perl);
        pool.map(|(_, pool)| pool)
    }

    /// Returns the number of the host that owns the Perl with this number, or the only host that is
    /// assigned to the Perl's pool. 0: the main server.
    pub fn host_of_perl(&self, perl: usize) -> u32 {
        let Some(owner) = self.owner(perl) else {
            return 0;
        };
        let mut served = self.hosts.iter().filter(|host| host.team == owner.mark);
        match (served.next(), served.next()) {
            (Some(host), None) => host.number,
            _ => 0,
        }
    }

    /// Returns the name of the host or pool that owns the Perl with this number. `None`: the main
    /// server owns the Perl.
    pub fn owner_of(&self, perl: usize) -> Option<&str> {
        self.owner(perl).map(|team| team.name.as_str())
    }

    fn owner(&self, perl: usize) -> Option<&Team> {
        let mut teams = self.teams.iter();
        teams.find(|team| perl > 0 && team.perl == perl)
    }

    /// Returns the number of the host that a request of a Perl's warm-up is for. `None`: no host of
    /// this Perl has the name.
    pub fn warmup_host(&self, perl: usize, url: &WarmupUrl) -> Option<u32> {
        let Some(name) = &url.host else {
            return Some(self.host_of_perl(perl));
        };
        let mut hosts = self.all_hosts();
        // A section of any host may be assigned to a pool.
        let is_pool = self.pool_of(perl).is_some();
        let host = hosts.find(|host| (is_pool || host.perl == perl) && host.names.has(name))?;
        Some(host.number)
    }
}
