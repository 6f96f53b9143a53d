//! Where the spans of sampled requests are sent (`TraceExport`).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A collector of OpenTelemetry, and which requests the collector gets.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TraceExport {
    /// Whether the URL begins with `https://`.
    pub is_secure: bool,
    /// A name or an address, an IPv6 address without brackets.
    pub host: String,
    pub port: u16,
    /// The path with its first slash.
    pub path: String,
    /// The authorities that may have signed the collector's certificate. `None`: the system's.
    pub authorities: Option<PathBuf>,
    /// One of this many requests is sampled.
    pub every: u32,
    /// Whether the decision of a client that sends a `traceparent` counts in place of `every`.
    pub follows_parents: bool,
    /// The attribute `service.name`.
    pub service: String,
    /// The most requests that wait for the collector.
    pub queue: usize,
    /// How long the collector may take for one batch.
    pub timeout: Duration,
}

impl TraceExport {
    /// The port of OTLP over HTTP.
    const PORT: u16 = 4318;
    /// The path of OTLP for traces.
    const PATH: &'static str = "/v1/traces";

    /// Reads `http://HOST[:PORT][/PATH]`, or the same with `https://`.
    pub(crate) fn parse(url: &str) -> Option<TraceExport> {
        let secure = url.strip_prefix("https://");
        let rest = secure.or_else(|| url.strip_prefix("http://"))?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port > 0)?
            }
            None if port.is_empty() => TraceExport::PORT,
            _ => return None,
        };
        let is_written = |byte: u8| byte.is_ascii_graphic() && !b"@?#".contains(&byte);
        let fits = !host.is_empty() && rest.bytes().all(is_written);
        fits.then(|| TraceExport {
            is_secure: secure.is_some(),
            host: host.to_owned(),
            port,
            path: if matches!(path, "" | "/") {
                TraceExport::PATH
            } else {
                path
            }
            .to_owned(),
            authorities: None,
            every: 100,
            follows_parents: false,
            service: "mehari".to_owned(),
            queue: 1_000,
            timeout: Duration::from_secs(10),
        })
    }

    /// Returns host and port, as in a field Host.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// Writes the collector's URL.
impl fmt::Display for TraceExport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(out, "{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::TraceExport;

    #[test]
    fn urls_have_otlps_port_and_path_unless_they_name_others() {
        for (written, read) in [
            ("http://collector", Some("http://collector:4318/v1/traces")),
            ("http://127.0.0.1:9/", Some("http://127.0.0.1:9/v1/traces")),
            ("http://[::1]:9/in/x", Some("http://[::1]:9/in/x")),
            ("http://[::1]", Some("http://[::1]:4318/v1/traces")),
            (
                "https://collector",
                Some("https://collector:4318/v1/traces"),
            ),
            ("https://[::1]:9/in", Some("https://[::1]:9/in")),
            ("https://", None),
            ("ftp://collector", None),
            ("http://", None),
            ("http://:9/", None),
            ("http://a:0/", None),
            ("http://a:b/", None),
            ("http://a:+9/", None),
            ("http://a:99999/", None),
            ("http://[::1/", None),
            ("http://[::1]9/", None),
            ("http://u@a/", None),
            ("http://a/?q", None),
            ("http://a/b c", None),
            ("http://a/\r\nX: y", None),
        ] {
            let found = TraceExport::parse(written).map(|it| it.to_string());
            assert_eq!(found.as_deref(), read, "{written}");
        }
    }
}
