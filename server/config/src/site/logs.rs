//! Finds which facts about requests the logs and reports of a site need, and gives the hosts the
//! logs that all hosts share.

use super::Site;
use crate::{AccessLogSettings, Handler, LogNeeds, LogTarget, Report, Settings};
use std::collections::HashSet;
use std::path::PathBuf;

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

    /// Adds the logs of `GlobalLog` to the main server's, and to those of hosts with their own.
    pub(crate) fn add_global_logs(&mut self, logs: Vec<AccessLogSettings>) {
        let hosts = self.hosts.iter_mut().map(|host| &mut host.own_logs.access);
        for own in hosts.filter(|own| !own.is_empty()) {
            own.extend_from_slice(&logs);
        }
        self.logs.access.extend(logs);
    }

    /// Returns each log file once, with the name of the first virtual host that uses the file.
    pub fn log_files(&self) -> impl Iterator<Item = (Option<&str>, &PathBuf)> {
        let main = self.logs.access.iter().map(|log| &log.target);
        let main = main.chain([&self.logs.error]).map(|target| (None, target));
        let of_hosts = self.hosts.iter().flat_map(|host| {
            let access = host.own_logs.access.iter().map(|log| &log.target);
            let all = access.chain(&host.own_logs.error);
            all.map(|target| (host.names.server_name.as_deref(), target))
        });
        let mut seen = HashSet::new();
        let files = main
            .chain(of_hosts)
            .filter_map(|(host, target)| match target {
                LogTarget::File(path) => Some((host, path)),
                _ => None,
            });
        files.filter(move |(_, path)| seen.insert(*path))
    }

    /// Returns the facts that at least one access log needs.
    pub fn log_needs(&self) -> LogNeeds {
        let hosts = self.hosts.iter().flat_map(|host| &host.own_logs.access);
        let all = self.logs.access.iter().chain(hosts);
        all.map(|log| log.needs())
            .fold(LogNeeds::default(), LogNeeds::and)
    }
}
