//! Finds the hosts of each managed domain, before hosts inherit settings.

use super::Site;
use crate::{managed_name, Host, ManagedCertificates, ManagedDomain, RequireHttps};

/// Gives each host with a name of a domain the domain's certificate, unless the host has a
/// certificate of its own. Adds the hosts' other names to domains with `MDMembers auto`.
pub(crate) fn assign(managed: &mut ManagedCertificates, hosts: &mut [&mut Host]) {
    let defaults = managed.defaults.clone();
    for domain in &mut managed.domains {
        domain.settings.inherit(&defaults);
    }
    for host in hosts {
        assign_host(managed, host);
    }
}

fn assign_host(managed: &mut ManagedCertificates, host: &mut Host) {
    let has = |name: &String| host.names.has(name);
    let domains = &mut managed.domains;
    let Some(index) = domains.iter().position(|one| one.names.iter().any(has)) else {
        return;
    };
    let own = host.names.server_name.iter().chain(&host.names.aliases);
    let own = own.filter_map(|name| managed_name(name).ok());
    let own: Vec<String> = own
        .filter(|name| !domains.iter().any(|domain| domain.names.contains(name)))
        .collect();
    let domain = &mut domains[index];
    if domain.settings.adds_members.unwrap_or(true) {
        for name in own {
            if !domain.names.contains(&name) {
                domain.names.push(name);
            }
        }
    }
    if host.tls.certificates.is_empty() {
        domain.is_used = true;
        host.tls.managed = Some(domain.name().to_owned());
    }
    host.tls.require_https = match domain.require_https() {
        RequireHttps::Off => None,
        required => Some(required),
    };
}

impl Site {
    /// Makes the main server the only host of a domain with these names, as `--domain` asks.
    pub fn manage_main(&mut self, names: Vec<String>) {
        if let Some((first, others)) = names.split_first() {
            self.main.names.server_name = Some(first.clone());
            self.main.names.aliases.extend_from_slice(others);
        }
        let domain = ManagedDomain::of(names);
        self.managed.domains.push(domain);
        assign(&mut self.managed, &mut [&mut self.main]);
    }

    /// Returns what may be wrong with the managed domains, although the server can start.
    pub(crate) fn managed_doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for domain in &self.managed.domains {
            let name = domain.name();
            if !domain.is_used && !domain.is_requested() {
                doubts.push(format!(
                    "MDomain {name}: no host without SSLCertificateFile has one of its names, so \
                     no certificate is requested (`MDRenewMode always` requests one)"
                ));
            }
        }
        for host in self.all_hosts() {
            let Some(name) = &host.tls.managed else {
                continue;
            };
            let domain = self.managed.domains.iter().find(|one| one.name() == name);
            let covered = domain.map_or(&[][..], |domain| &domain.names);
            let own = host.names.server_name.iter().chain(&host.names.aliases);
            for missing in own.filter(|own| !covered.contains(&own.to_ascii_lowercase())) {
                let inherits = host.number != 0 && self.main.tls.managed.as_ref() == Some(name);
                if !inherits {
                    doubts.push(format!(
                        "MDomain {name}: its certificate does not have the name {missing} of \
                         ServerName or ServerAlias"
                    ));
                }
            }
        }
        doubts
    }
}
