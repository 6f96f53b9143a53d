//! Encodes the servers of a site for the zygote that serves them.

use super::Site;
use crate::settings::WorkerRecords;
use crate::{Host, Phase};

impl Site {
    /// Encodes a host for the Perl with this number: the handlers of the server's phases, the
    /// variables of `$s->dir_config`, and the names of the host. The zygote gets the text when it
    /// starts. The text has the records that `settings/perl.rs` describes.
    pub fn encode_host_for_zygote(&self, host: &Host, perl: usize) -> Vec<u8> {
        // The Perl that serves a host runs the host's own handlers of the server's phases. Handlers
        // that the host inherits run only in the main server's Perl.
        let inherited = |phase: Phase, name: &str| {
            host.perl > 0 && self.main.base.perl.of(phase).iter().any(|one| one == name)
        };
        let has = |phase: Phase, name: &str| {
            !phase.is_of_a_servers_life() || (host.perl == perl && !inherited(phase, name))
        };
        let first = self.listen.first();
        let first = first.and_then(|one| one.address.rsplit_once(':'));
        let listened = first.and_then(|(_, port)| port.parse().ok());
        let mut text = host.encode_for_zygote(listened, &has);
        self.encode_limits(host, &mut text);
        text.0
    }

    /// Encodes the values of `$s->timeout` and similar methods. Times are in microseconds, as in
    /// APR.
    fn encode_limits(&self, host: &Host, text: &mut WorkerRecords) {
        let limits = &self.limits;
        let kept = limits.keep_alive;
        let level = host.own_logs.level.unwrap_or(self.logs.level);
        for (name, value) in [
            ("timeout", host.base.limits.timeout.as_micros()),
            ("keep_alive", kept.is_some().into()),
            ("keep_alive_max", limits.keep_alive_requests.into()),
            (
                "keep_alive_timeout",
                kept.map_or(0, |time| time.as_micros()),
            ),
            ("loglevel", level as u128),
            ("limit_req_line", limits.request_line as u128),
            ("limit_req_fieldsize", limits.field_size as u128),
            ("limit_req_fields", limits.fields as u128),
        ] {
            text.put(b't', name, &value.to_string());
        }
    }
}
