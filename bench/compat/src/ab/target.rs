//! Reads ab's single operand, `[http[s]://]host[:port]/path`, as ab does.

/// The host to connect to and the path to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The operand as typed. A request to a proxy contains the whole operand.
    pub url: Vec<u8>,
    pub tls: bool,
    /// The host without brackets.
    pub host: String,
    pub port: u16,
    pub path: Vec<u8>,
    /// The host as the `Host` field holds it: an IPv6 address keeps its brackets.
    host_field: String,
}

impl Target {
    /// Reads the operand. Returns `None` where ab says "invalid URL": without a slash after the
    /// host, without a host, or with a port outside 1 to 65535.
    pub fn parse(url: &[u8]) -> Option<Target> {
        let (tls, rest) = match (url.strip_prefix(b"http://"), url.strip_prefix(b"https://")) {
            (Some(rest), _) if !rest.is_empty() => (false, rest),
            (_, Some(rest)) if !rest.is_empty() => (true, rest),
            _ => (false, url),
        };
        let slash = rest.iter().position(|&byte| byte == b'/')?;
        let authority = String::from_utf8_lossy(&rest[..slash]).into_owned();
        let (host, port) = host_and_port(&authority)?;
        let host_field = if authority.starts_with('[') {
            format!("[{host}]")
        } else {
            host.clone()
        };
        Some(Target {
            url: url.to_vec(),
            tls,
            host,
            port: port.unwrap_or(if tls { 443 } else { 80 }),
            path: rest[slash..].to_vec(),
            host_field,
        })
    }

    /// Returns the value of the `Host` field. The scheme's default port is left out.
    pub fn host_header(&self) -> String {
        let usual = if self.tls { 443 } else { 80 };
        if self.port == usual {
            self.host_field.clone()
        } else {
            format!("{}:{}", self.host_field, self.port)
        }
    }
}

/// Splits host and port like APR. The digits after the last colon are the port. Digits alone are a
/// port without a host, for which the function returns `None`.
fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let head = authority.trim_end_matches(|c: char| c.is_ascii_digit());
    if head.is_empty() {
        return None;
    }
    let digits = &authority[head.len()..];
    let (host, port) = match head.strip_suffix(':') {
        Some("") => return None,
        Some(host) if !digits.is_empty() => {
            let port = digits.parse::<u16>().ok().filter(|port| *port > 0)?;
            (host, Some(port))
        }
        _ => (authority, None),
    };
    match host.strip_prefix('[') {
        Some(bracketed) => {
            let address = bracketed.strip_suffix(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            Some((address.to_string(), port))
        }
        None => Some((host.to_string(), port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_read_as_ab_reads_them() {
        let rows = [
            ("http://h/x", Some(("h", 80, "/x", "h"))),
            ("h:8080/", Some(("h", 8080, "/", "h:8080"))),
            ("https://h/", Some(("h", 443, "/", "h"))),
            ("https://h:80/", Some(("h", 80, "/", "h:80"))),
            ("http://[::1]:81/", Some(("::1", 81, "/", "[::1]:81"))),
            ("ftp://x/", Some(("ftp:", 80, "//x/", "ftp:"))),
            ("http://h", None),
            ("http:///x", None),
            ("http://h:0/", None),
            ("http://h:99999/", None),
            ("8080/", None),
        ];
        for (url, wanted) in rows {
            let target = Target::parse(url.as_bytes());
            let found = target.as_ref().map(|target| {
                let path = std::str::from_utf8(&target.path).expect("the rows are ASCII");
                (target.host.as_str(), target.port, path)
            });
            assert_eq!(found, wanted.map(|(h, p, path, _)| (h, p, path)), "{url}");
            if let (Some(target), Some(wanted)) = (target, wanted) {
                assert_eq!(target.host_header(), wanted.3, "{url}");
            }
        }
    }
}
