//! Defines the target of a proxy or a replay: an origin such as `http://host:port`, without a path.

use std::str::FromStr;

use url::{Host, Url};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub tls: bool,
    /// The host without brackets, as TLS names it.
    pub host: String,
    /// Where to connect: the host, unless the target was given another name.
    pub address: String,
    pub port: u16,
    /// The value of the `Host` field: an IPv6 address has brackets, and the default port is left
    /// out.
    pub authority: String,
}

impl Target {
    pub fn of(url: &Url) -> Option<Target> {
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let host = match url.host()? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let authority = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str()?),
            None => url.host_str()?.to_owned(),
        };
        let port = url.port_or_known_default()?;
        Some(Target {
            tls,
            address: host.clone(),
            host,
            port,
            authority,
        })
    }

    /// Gives the target the name of a virtual host. The address stays.
    ///
    /// # Errors
    ///
    /// The text is no host name.
    pub fn named(mut self, name: &str) -> Result<Target, String> {
        let is_name = matches!(Host::parse(name), Ok(Host::Domain(parsed)) if parsed == name);
        if !is_name {
            return Err(format!(
                "expected a host name such as www.example.org, got `{name}`"
            ));
        }
        if let Some(port) = self.authority.strip_prefix(&self.bracketed()) {
            self.authority = format!("{name}{port}");
        }
        self.host = name.to_owned();
        Ok(self)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// Returns the origin as in `Origin:`, such as `http://example.org:8080`.
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let expected = || format!("expected a URL like http://127.0.0.1:8080, got `{text}`");
        let url = Url::parse(text).map_err(|_| expected())?;
        let target = Target::of(&url).ok_or_else(expected)?;
        if url.path() == "/" && url.query().is_none() && url.fragment().is_none() {
            Ok(target)
        } else {
            Err(format!(
                "expected a URL without a path, such as {}, got `{text}`",
                target.origin()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_with_the_name_of_a_virtual_host_keeps_its_address_and_port() {
        for (url, authority) in [
            ("http://127.0.0.1:8081", "www.example.org:8081"),
            ("http://127.0.0.1", "www.example.org"),
            ("https://[::1]:8443", "www.example.org:8443"),
        ] {
            let target: Target = url.parse().expect("a URL");
            let named = target.clone().named("www.example.org").expect("a name");
            assert_eq!(named.authority, authority);
            assert_eq!(named.host, "www.example.org");
            assert_eq!((named.address, named.port), (target.host, target.port));
        }
        for wrong in [
            "",
            "a b",
            "http://a.example",
            "a.example:80",
            "127.0.0.1",
            "A.example",
        ] {
            let target: Target = "http://127.0.0.1:8081".parse().expect("a URL");
            assert!(target.named(wrong).is_err(), "{wrong}");
        }
    }
}
