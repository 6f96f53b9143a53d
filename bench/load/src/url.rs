//! Parses URLs into the parts that a load generator needs: an endpoint (scheme, host, port) and a
//! path with query. Connections are opened to endpoints. Requests with equal endpoints share
//! connections.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::plan_error::PlanError;

/// The target of a connection: host, port, and whether TLS is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

impl Endpoint {
    /// Returns the addresses of the host in the resolver's order: at least one, and none twice.
    ///
    /// # Errors
    /// [`PlanError`] with the resolver's error.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, PlanError> {
        let mut found: Vec<SocketAddr> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| {
                PlanError::new(format!("cannot find the host `{}`: {error}", self.host))
            })?
            .collect();
        let mut seen = std::collections::HashSet::new();
        found.retain(|address| seen.insert(*address));
        if found.is_empty() {
            return Err(PlanError::new(format!(
                "the host `{}` has no address",
                self.host
            )));
        }
        Ok(found)
    }

    /// Returns the value of a `Host` field. The scheme's default port is left out.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// `http://host[:port][/path][?query]`, without the fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    pub endpoint: Endpoint,
    /// Path and query; begins with `/`.
    pub path: String,
}

impl Url {
    /// Parses an absolute URL.
    ///
    /// # Errors
    ///
    /// [`PlanError`] with the reason why the text is not a URL.
    pub fn parse(text: &str) -> Result<Url, PlanError> {
        let wrong = |why: &str| {
            PlanError::new(format!(
                "`{text}` is not a URL: {why} (expected http://HOST[:PORT]/PATH)"
            ))
        };
        let (tls, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, _)) => {
                return Err(wrong(&format!(
                    "the scheme `{scheme}` is neither http nor https"
                )))
            }
            None => return Err(wrong("it does not begin with http:// or https://")),
        };
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("it holds a blank or a control character"));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(cut);
        if authority.contains('@') {
            return Err(wrong("a name and password belong into --basic"));
        }
        let (host, port) = host_and_port(authority, tls).map_err(wrong)?;
        let path = if tail.starts_with('/') {
            tail.to_string()
        } else {
            format!("/{tail}")
        };
        Ok(Url {
            endpoint: Endpoint { host, port, tls },
            path,
        })
    }
}

fn host_and_port(authority: &str, tls: bool) -> Result<(String, u16), &'static str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest
                .split_once(']')
                .ok_or("the bracket of the address is not closed")?;
            let port = match after {
                "" => None,
                _ => Some(
                    after
                        .strip_prefix(':')
                        .ok_or("a `:` must follow the address")?,
                ),
            };
            (host, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err("the host is missing");
    }
    let port = match port {
        None => {
            if tls {
                443
            } else {
                80
            }
        }
        Some(digits) => digits
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or("the port is not a number from 1 to 65535")?,
    };
    Ok((host.to_string(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_parts_are_told_apart() {
        let url = Url::parse("https://[::1]:8443?x=1#part").expect("a good URL");
        assert_eq!(
            url.endpoint,
            Endpoint {
                host: "::1".into(),
                port: 8443,
                tls: true
            }
        );
        assert_eq!(url.path, "/?x=1");
        assert_eq!(url.endpoint.authority(), "[::1]:8443");
        assert_eq!(Url::parse("http://a").expect("no path").path, "/");
    }

    #[test]
    fn bad_urls_are_refused_with_their_reason() {
        for (text, reason) in [
            ("http:///x", "the host is missing"),
            ("localhost/", "does not begin with"),
            ("ftp://a/", "`ftp` is neither"),
            ("http://a:0/", "the port"),
            ("http://a:x/", "the port"),
            ("http://a/b c", "a blank"),
            ("http://u:p@a/", "--basic"),
        ] {
            let error = Url::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
