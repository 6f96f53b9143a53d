//! Encodes a server for zygotes, as records (see `settings/perl.rs`).

use super::Host;
use crate::settings::WorkerRecords;
use crate::{perl_option, Phase, TeamMark};

impl Host {
    /// Returns the names of the server's `PerlOptions` that are on.
    fn perl_options(&self) -> Vec<&'static str> {
        let perl = &self.base.perl;
        let is_on = |phase: &Phase| !perl.disabled.contains(phase);
        let phases = Phase::ALL.into_iter().filter(is_on);
        let mut options: Vec<&str> = phases.map(Phase::option).collect();
        if !options.is_empty() {
            options.extend(["Enable", "PreConnection", "ProcessConnection"]);
        }
        if perl.options_on & perl_option::MERGE_HANDLERS != 0 {
            options.push("MergeHandlers");
        }
        match (self.perl, self.team) {
            (1.., _) => options.push("Parent"),
            (0, team) if team != TeamMark::default() => options.push("Clone"),
            _ => {}
        }
        options.sort_unstable();
        options.dedup();
        options
    }

    /// Encodes the host. Its port is that of `ServerName` or `<VirtualHost>`, else `listened`, the
    /// first port of `Listen`.
    pub(crate) fn encode_for_zygote(
        &self,
        listened: Option<u16>,
        has: &dyn Fn(Phase, &str) -> bool,
    ) -> WorkerRecords {
        let mut text = WorkerRecords(self.base.encode_perl(has));
        let mut say = |name: &str, value: &str| text.put(b't', name, value);
        say(
            "server_hostname",
            self.names.server_name.as_deref().unwrap_or(""),
        );
        say("server_admin", self.server_admin.as_deref().unwrap_or(""));
        say(
            "document_root",
            &self.mapping.document_root.to_string_lossy(),
        );
        say("names", &self.names.aliases.join(" "));
        say("perl_options", &self.perl_options().join(" "));
        let of_addresses = || self.addresses.iter().find_map(|address| address.port);
        let port = self.names.server_port.or_else(of_addresses);
        let port = port.or(listened);
        say("port", &port.map_or(String::new(), |port| port.to_string()));
        text
    }
}
