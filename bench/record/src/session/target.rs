//! Defines the target of a proxy or a replay: an origin such as `http://host:port`, without a path.

use std::str::FromStr;

use url::{Host, Url};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub tls: bool,
    /// The host without brackets, for name servers and address parsers.
    pub host: String,
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
            host,
            port,
            authority,
        })
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
