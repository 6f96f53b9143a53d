//! One host of a site (the main server or a `<VirtualHost>`), and the choice of a request's host.
//!
//! A virtual host inherits the main server's settings after all files have been read
//! ([`Host::inherit`]), whatever the order of the lines.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::{
    glob, AccessLogSettings, Alias, HostRules, LogLevel, LogTarget, Pass, Section, Settings, Site,
    TeamMark, TlsSettings, UserDirs,
};

/// The meaning of an encoded slash in a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodedSlashes {
    #[default]
    Refused,
    Decoded,
    /// The slash stays `%2F`.
    Kept,
}

/// The settings of one host.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Host {
    /// The host's number within the site. 0 is the main server.
    pub number: u32,
    /// The addresses of `<VirtualHost>`. Empty for the main server.
    pub addresses: Vec<HostAddress>,
    /// `ServerName`. `None`: the request's Host, else the local address.
    pub server_name: Option<String>,
    /// The port of `ServerName`.
    pub server_port: Option<u16>,
    /// `UseCanonicalName On`: `ServerName` is used whatever the client requested.
    pub(crate) canonical: Option<bool>,
    /// `UseCanonicalPhysicalPort On`: the connection's port precedes `ServerName`'s.
    pub(crate) physical_port: Option<bool>,
    /// `ServerAlias` in lower case: further names, possibly with wildcards.
    pub names: Vec<String>,
    pub server_admin: Option<String>,
    pub document_root: PathBuf,
    pub aliases: Vec<Alias>,
    /// `UserDir`
    pub user_dirs: Option<UserDirs>,
    /// `AllowEncodedSlashes`
    pub(crate) encoded_slashes: Option<EncodedSlashes>,
    /// `ProxyPass` outside of sections, in order.
    pub passes: Vec<Pass>,
    /// The settings outside any section.
    pub base: Settings,
    /// In the order in which they were closed. [`Host::settings`] knows the order of merging.
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
    /// The handler names outside of sections, from which sections continue.
    #[serde(skip)]
    pub(crate) base_handlers: crate::merge::HandlerWords,
    /// Handlers that start-up code pushed, reported by a zygote.
    #[serde(skip)]
    pub(crate) pushed: crate::merge::Pushed,
    #[serde(skip)]
    pub(crate) merged: crate::merge::Merged,
}

/// The logs of a virtual host. `None` and empty mean the main server's.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct HostLogs {
    pub access: Vec<AccessLogSettings>,
    pub error: Option<LogTarget>,
    pub level: Option<LogLevel>,
}

/// An address of `<VirtualHost>`. `None` matches any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct HostAddress {
    pub ip: Option<IpAddr>,
    pub port: Option<u16>,
}

impl Host {
    /// An empty virtual host.
    pub(crate) fn virtual_host(addresses: Vec<HostAddress>, empty: Settings) -> Host {
        Host {
            number: 0,
            addresses,
            server_name: None,
            server_port: None,
            canonical: None,
            physical_port: None,
            names: Vec::new(),
            server_admin: None,
            document_root: PathBuf::new(),
            aliases: Vec::new(),
            user_dirs: None,
            encoded_slashes: None,
            passes: Vec::new(),
            base: empty,
            sections: Vec::new(),
            own_logs: HostLogs::default(),
            rules: HostRules::default(),
            tls: TlsSettings::default(),
            team: TeamMark::default(),
            perl: 0,
            base_handlers: Default::default(),
            pushed: Default::default(),
            merged: Default::default(),
        }
    }

    /// Inherits the main server's settings. The host's aliases are tried first, and its sections
    /// are merged last.
    pub(crate) fn inherit(&mut self, main: &Host) {
        if self.document_root.as_os_str().is_empty() {
            self.document_root.clone_from(&main.document_root);
        }
        if self.server_admin.is_none() {
            self.server_admin.clone_from(&main.server_admin);
        }
        self.canonical = self.canonical.or(main.canonical);
        self.physical_port = self.physical_port.or(main.physical_port);
        self.tls.inherit(&main.tls);
        self.aliases.extend_from_slice(&main.aliases);
        if self.user_dirs.is_none() {
            self.user_dirs.clone_from(&main.user_dirs);
        }
        self.encoded_slashes = self.encoded_slashes.or(main.encoded_slashes);
        self.rules.inherit(&main.rules);
        self.passes.extend_from_slice(&main.passes);
        let own = std::mem::replace(&mut self.sections, main.sections.clone());
        self.sections.extend(own);
        self.base = main.base.clone();
        self.base_handlers = main.base_handlers.clone();
    }

    pub fn is_canonical(&self) -> bool {
        self.canonical.unwrap_or(false)
    }

    /// Whether the host refuses a path with an encoded slash.
    pub fn refuses(&self, encoded_slash: bool) -> bool {
        encoded_slash && self.encoded_slashes() == EncodedSlashes::Refused
    }

    pub fn encoded_slashes(&self) -> EncodedSlashes {
        self.encoded_slashes.unwrap_or_default()
    }

    pub fn is_port_physical(&self) -> bool {
        self.physical_port.unwrap_or(false)
    }

    /// The name in logs and reports: `ServerName`, else the addresses.
    pub fn name(&self) -> String {
        let addresses = || self.addresses.iter().map(HostAddress::to_string);
        let named = self.server_name.clone();
        named.unwrap_or_else(|| addresses().collect::<Vec<String>>().join(" "))
    }

    /// The settings of a request that no section matches.
    pub fn base_settings(&self) -> std::sync::Arc<Settings> {
        self.settings("", None)
    }

    /// Whether a PerlProcessConnectionHandler serves the connections, so that workers get them.
    pub fn gives_connections(&self) -> bool {
        let settings = self.base_settings();
        !settings.perl.of(crate::Phase::ProcessConnection).is_empty()
    }

    /// Whether this name (in lower case, without port) is a name of the host.
    fn is_called(&self, name: &str) -> bool {
        let own = self.server_name.as_deref();
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            || self
                .names
                .iter()
                .any(|alias| glob::matches(alias.as_bytes(), name.as_bytes()))
    }
}

/// As in `<VirtualHost>`.
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
    /// How well the address matches. `None`: not at all. An address outweighs a port.
    fn fit(&self, ip: Option<IpAddr>, port: u16, any_port: bool) -> Option<u8> {
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

impl Site {
    /// The host of this number.
    pub fn host(&self, number: u32) -> &Host {
        match number {
            0 => &self.main,
            number => self.hosts.get(number as usize - 1).unwrap_or(&self.main),
        }
    }

    /// Whether any host serves its connections itself.
    pub fn gives_connections(&self) -> bool {
        self.all_hosts().any(Host::gives_connections)
    }

    /// The main server, then the virtual hosts.
    pub fn all_hosts(&self) -> impl Iterator<Item = &Host> {
        std::iter::once(&self.main).chain(&self.hosts)
    }

    /// The host for a request to this local address and this name (without port, in any case). As
    /// in Apache: among the hosts with the most specific address, the first with this name, else
    /// the first. Without such a host, the main server.
    ///
    /// The function examines every host, so the caller remembers the answer.
    pub fn host_for(&self, ip: Option<IpAddr>, port: u16, name: &[u8]) -> u32 {
        let fit = |host: &Host| {
            let addresses = host.addresses.iter();
            addresses
                .filter_map(|address| address.fit(ip, port, self.any_port))
                .max()
        };
        let Some(best) = self.hosts.iter().filter_map(fit).max() else {
            return 0;
        };
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let mut group = self.hosts.iter().filter(|host| fit(host) == Some(best));
        let first = group.clone().next();
        let named = group.find(|host| host.is_called(name));
        named.or(first).map_or(0, |host| host.number)
    }
}

impl crate::Site {
    /// Configurations that are valid but probably not intended. The start and `mehari check` report
    /// them.
    pub fn doubts(&self) -> Vec<String> {
        // A site without files has the default folder.
        let unnamed = self.server_root.join("htdocs");
        std::iter::once(&self.main)
            .chain(&self.hosts)
            .filter(|host| host.document_root != unnamed && !host.document_root.is_dir())
            .map(|host| {
                format!(
                    "DocumentRoot {} is no folder: requests for files there find nothing",
                    host.document_root.display()
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Written<'a> = (&'a [(Option<&'a str>, Option<u16>)], &'a str, &'a [&'a str]);

    fn site(hosts: &[Written]) -> Site {
        let mut site = Site::defaults();
        for (number, (addresses, name, aliases)) in (1..).zip(hosts) {
            let addresses = addresses.iter().map(|(ip, port)| HostAddress {
                ip: ip.map(|ip| ip.parse().expect("an address")),
                port: *port,
            });
            let mut host = Host::virtual_host(addresses.collect(), site.main.base.clone());
            host.number = number;
            host.server_name = Some(name.to_string());
            host.names = aliases.iter().map(|name| name.to_string()).collect();
            site.hosts.push(host);
        }
        site
    }

    #[test]
    fn the_address_decides_before_the_name_and_the_first_host_is_the_default() {
        let site = site(&[
            (
                &[(None, Some(80))],
                "a.example",
                &["*.a.example", "w?w.example"],
            ),
            (&[(None, Some(80))], "b.example", &[]),
            (&[(Some("10.0.0.1"), Some(80))], "c.example", &[]),
            (&[(None, None)], "d.example", &[]),
            (&[(Some("10.0.0.1"), None)], "e.example", &[]),
        ]);
        let of = |ip: &str, port, name: &str| site.host_for(ip.parse().ok(), port, name.as_bytes());
        for (ip, port, name, expected) in [
            ("127.0.0.1", 80, "a.example", 1),
            ("127.0.0.1", 80, "A.Example.", 1),
            ("127.0.0.1", 80, "x.a.example", 1),
            ("127.0.0.1", 80, "wow.example", 1),
            ("127.0.0.1", 80, "b.example", 2),
            ("127.0.0.1", 80, "unknown", 1),
            ("127.0.0.1", 80, "c.example", 1),
            ("10.0.0.1", 80, "b.example", 3),
            ("10.0.0.1", 81, "b.example", 5),
            ("127.0.0.1", 81, "b.example", 4),
        ] {
            assert_eq!(of(ip, port, name), expected, "{ip}:{port} {name}");
        }
    }

    #[test]
    fn without_a_fitting_address_the_main_server_answers() {
        let mut site = site(&[(&[(None, Some(80))], "a.example", &[])]);
        assert_eq!(site.host_for(None, 8080, b"a.example"), 0);
        site.any_port = true;
        assert_eq!(site.host_for(None, 8080, b"a.example"), 1);
    }
}
