//! One host of a site (the main server or a `<VirtualHost>`).
//!
//! A virtual host inherits the main server's settings after all files have been read
//! ([`Host::inherit`]), whatever the order of the lines.

use std::net::IpAddr;

use crate::settings::HandlerWords;
use crate::{
    AccessLogSettings, HostRules, LogLevel, LogTarget, Phase, Section, Settings, TeamMark,
    TlsSettings, UrlMapping,
};

mod htaccess;
mod links;
mod merge;
mod names;
mod pushed;
mod zygote_encoding;

pub use htaccess::Htaccess;
pub use names::HostNames;

/// The settings of one host.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Host {
    /// The host's number within the site. 0 is the main server.
    pub number: u32,
    /// The addresses of `<VirtualHost>`. Empty for the main server.
    pub addresses: Vec<HostAddress>,
    #[serde(flatten)]
    pub names: HostNames,
    pub server_admin: Option<String>,
    #[serde(flatten)]
    pub mapping: UrlMapping,
    /// The settings outside any section.
    pub base: Settings,
    /// The sections in the order in which they were closed. [`Host::settings`] sorts them for
    /// merging.
    pub sections: Vec<Section>,
    pub own_logs: HostLogs,
    /// Rules that apply before a request is mapped to a file.
    pub rules: HostRules,
    pub tls: TlsSettings,
    /// The team that serves the host.
    pub team: TeamMark,
    /// The index of the host's Perl in the site.
    #[serde(skip)]
    pub perl: usize,
    /// The handler names outside of sections. Sections change a copy of these names.
    #[serde(skip)]
    pub(crate) base_handlers: HandlerWords,
    /// The variables of the main server, which those of a pool outweigh.
    #[serde(skip)]
    pub(crate) outer_env: Vec<(String, String)>,
    /// The handlers that start-up code pushed and a zygote reported.
    #[serde(skip)]
    pub(crate) pushed: pushed::Pushed,
    #[serde(skip)]
    pub(crate) merged: merge::Merged,
}

/// The logs of a virtual host. `None` or an empty list: the logs of the main server.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct HostLogs {
    pub access: Vec<AccessLogSettings>,
    pub error: Option<LogTarget>,
    pub level: Option<LogLevel>,
}

/// An address of `<VirtualHost>`. `None` matches any IP address or any port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct HostAddress {
    pub ip: Option<IpAddr>,
    pub port: Option<u16>,
}

impl Host {
    /// Returns an empty virtual host.
    pub(crate) fn virtual_host(addresses: Vec<HostAddress>, empty: Settings) -> Host {
        Host {
            number: 0,
            addresses,
            names: HostNames::default(),
            server_admin: None,
            mapping: UrlMapping::default(),
            base: empty,
            sections: Vec::new(),
            own_logs: HostLogs::default(),
            rules: HostRules::default(),
            tls: TlsSettings::default(),
            team: TeamMark::default(),
            perl: 0,
            base_handlers: Default::default(),
            outer_env: Vec::new(),
            pushed: Default::default(),
            merged: Default::default(),
        }
    }

    /// Inherits the main server's settings. The host's own aliases are tried first, and its own
    /// sections are merged last.
    pub(crate) fn inherit(&mut self, main: &Host) {
        if self.server_admin.is_none() {
            self.server_admin.clone_from(&main.server_admin);
        }
        self.names.inherit(&main.names);
        self.mapping.inherit(&main.mapping);
        self.tls.inherit(&main.tls);
        self.rules.inherit(&main.rules);
        let own = std::mem::replace(&mut self.sections, main.sections.clone());
        self.sections.extend(own);
        self.outer_env.clone_from(&main.base.programs.perl_env);
        self.base = main.base.clone();
        self.base_handlers = main.base_handlers.clone();
    }

    /// Returns the variables of `PerlSetEnv` that rules with these settings see in a phase. As in
    /// mod_perl, they are set when the first Perl handler runs. A handler that runs before the
    /// place is known sets only the host's.
    pub fn perl_env<'s>(&'s self, settings: &'s Settings, phase: Phase) -> &'s [(String, String)] {
        if settings.runs_at_place_until(phase) {
            &settings.programs.perl_env
        } else if settings.runs_any(Phase::PostReadRequest..=Phase::MapToStorage) {
            &self.base.programs.perl_env
        } else {
            &[]
        }
    }

    /// Returns the host's name in logs and reports: `ServerName`, else the addresses.
    pub fn name(&self) -> String {
        let addresses = || self.addresses.iter().map(HostAddress::to_string);
        let named = self.names.server_name.clone();
        named.unwrap_or_else(|| addresses().collect::<Vec<String>>().join(" "))
    }

    /// Tells whether the host has this name, without a port and in any case. As in Apache, an
    /// address of `<VirtualHost>` is a name too.
    pub fn is_named(&self, name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let plain = name.trim_start_matches('[').trim_end_matches(']');
        let address: Option<IpAddr> = plain.parse().ok();
        let mut own = self.addresses.iter();
        self.names.has(name) || address.is_some_and(|ip| own.any(|known| known.ip == Some(ip)))
    }

    /// Returns the settings of a request that no section matches.
    pub fn base_settings(&self) -> std::sync::Arc<Settings> {
        self.settings("", None)
    }

    /// Tells whether a PerlProcessConnectionHandler serves the host's connections. The front then
    /// gives the connections to workers.
    pub fn gives_connections(&self) -> bool {
        let settings = self.base_settings();
        !settings.perl.of(crate::Phase::ProcessConnection).is_empty()
    }
}

/// Prints the address as a `<VirtualHost>` line writes it.
impl std::fmt::Display for HostAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ip {
            None => out.write_str("*")?,
            Some(IpAddr::V4(ip)) => write!(out, "{ip}")?,
            Some(IpAddr::V6(ip)) => write!(out, "[{ip}]")?,
        }
        match self.port {
            None => Ok(()),
            Some(port) => write!(out, ":{port}"),
        }
    }
}

impl HostAddress {
    /// Returns how well the address matches. `None`: the address does not match. A matching IP
    /// address outweighs a matching port.
    pub(crate) fn fit(&self, ip: Option<IpAddr>, port: u16, any_port: bool) -> Option<u8> {
        let address = match (self.ip, ip) {
            (None, _) => 0,
            (Some(own), Some(ip)) if own == ip.to_canonical() => 2,
            _ => return None,
        };
        match self.port {
            None => Some(address),
            Some(_) if any_port => Some(address),
            Some(own) if own == port => Some(address + 1),
            Some(_) => None,
        }
    }
}
