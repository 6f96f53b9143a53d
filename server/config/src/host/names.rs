//! The names of a host. They decide which requests are for the host, and which name links to the
//! host contain.

use crate::glob;

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct HostNames {
    /// `ServerName`. `None`: the name in the request's Host field, else the local address.
    pub server_name: Option<String>,
    /// The port of `ServerName`.
    pub server_port: Option<u16>,
    /// Whether `ServerName` begins with `https://`: links to the host then do so too.
    pub is_https: bool,
    /// `UseCanonicalName On`: `ServerName` is used whatever the client requested.
    pub(crate) canonical: Option<bool>,
    /// `UseCanonicalPhysicalPort On`: links contain the connection's port, not that of
    /// `ServerName`.
    pub(crate) physical_port: Option<bool>,
    /// `StrictHostCheck On`: a request for another name than the host's is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
    /// `ServerAlias` in lower case: further names, possibly with wildcards.
    #[serde(rename = "names")]
    pub aliases: Vec<String>,
}

impl HostNames {
    pub fn is_canonical(&self) -> bool {
        self.canonical.unwrap_or(false)
    }

    pub fn is_port_physical(&self) -> bool {
        self.physical_port.unwrap_or(false)
    }

    pub fn are_strict(&self) -> bool {
        self.strict.unwrap_or(false)
    }

    /// Tells whether this name (in lower case, without port) is a name of the host.
    pub fn has(&self, name: &str) -> bool {
        let own = self.server_name.as_deref();
        let mut aliases = self.aliases.iter();
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            || aliases.any(|alias| glob::matches(alias.as_bytes(), name.as_bytes()))
    }

    /// Returns a name of the host for a link: the name of a request's Host field if the host has
    /// this name, else `ServerName`. `None`: the host has no name.
    pub fn certain(&self, asked: &[u8]) -> Option<String> {
        let asked = std::str::from_utf8(asked).ok().unwrap_or_default();
        let asked = asked
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        match crate::managed_name(&asked) {
            Ok(asked) if self.has(&asked) => Some(asked),
            _ => self.server_name.clone(),
        }
    }

    /// Inherits the main server's settings about names, but not its names.
    pub(super) fn inherit(&mut self, main: &HostNames) {
        self.canonical = self.canonical.or(main.canonical);
        self.physical_port = self.physical_port.or(main.physical_port);
        self.strict = self.strict.or(main.strict);
    }
}
