//! Finds which facts about requests the logs and reports of a site need.

use super::Site;
use crate::{Handler, LogNeeds, Report, Settings};

impl Site {
    /// Tells whether the times of requests are counted for `SetHandler metrics` or `server-status`.
    pub fn is_metered(&self) -> bool {
        let counts = |settings: &Settings| {
            matches!(
                &settings.handlers.set,
                Some(Handler::Report(Report::Metrics | Report::Status))
            )
        };
        self.all_hosts().any(|host| {
            let mut sections = host.sections.iter();
            counts(&host.base) || sections.any(|section| counts(&host.settings_of(section)))
        })
    }

    /// Returns the facts that at least one access log needs.
    pub fn log_needs(&self) -> LogNeeds {
        let hosts = self.hosts.iter().flat_map(|host| &host.own_logs.access);
        let all = self.logs.access.iter().chain(hosts);
        all.map(|log| log.needs())
            .fold(LogNeeds::default(), LogNeeds::and)
    }
}
