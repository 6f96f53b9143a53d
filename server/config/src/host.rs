//! One host of a site (the main server or a `<VirtualHost>`).
//!
//! A virtual host inherits the main server's settings after all files have been read
//! ([`Host::inherit`]), whatever the order of the lines.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::settings::HandlerWords;
use crate::{
    glob, AccessLogSettings, HostRules, LogLevel, LogTarget, Pass, Section, Settings, TeamMark,
    TlsSettings, UserDirs,
};

mod htaccess;
mod merge;
mod pushed;
mod zygote_encoding;

pub use htaccess::Htaccess;

/// `Alias /url /path`, `ScriptAlias /url /path`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Alias {
    /// A URL path. For `AliasMatch` a regular expression.
    pub url: String,
    /// `AliasMatch`: the pattern, and the path with `$1` and so on.
    pub matching: Option<(crate::Pattern, crate::Text)>,
    pub path: PathBuf,
    /// `ScriptAlias`: everything below is a CGI program.
    pub script: bool,
}

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
    pub(crate) base_handlers: HandlerWords,
    /// The handlers that start-up code pushed and a zygote reported.
    #[serde(skip)]
    pub(crate) pushed: pushed::Pushed,
    #[serde(skip)]
    pub(crate) merged: merge::Merged,
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

    /// Whether the host refuses a path that has an encoded slash.
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
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let own = self.server_name.as_deref();
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            || self
                .names
                .iter()
                .any(|alias| glob::matches(alias.as_bytes(), name.as_bytes()))
    }
}

/// Prints the address as `<VirtualHost>` has it.
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
    /// How well the address matches. `None`: it does not match. An address outweighs a port.
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
