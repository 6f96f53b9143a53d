//! `ZygoteWarmup`: the requests that run in a Perl before its first worker is forked.

use std::time::Duration;

/// The requests, and what belongs to them. `None`: the main server's, or the default.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Warmup {
    pub urls: Vec<WarmupUrl>,
    /// `ZygoteWarmupRounds`: how often the list of requests runs.
    pub rounds: Option<u32>,
    /// `ZygoteWarmupTimeout`: how long all requests together may take.
    pub timeout: Option<Duration>,
    /// `ZygoteWarmupFailure Refuse`: a request that fails refuses the start or the reload.
    pub refuses: Option<bool>,
}

/// One request of a warm-up.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct WarmupUrl {
    /// The name of the host, in lower case. `None`: the host that the line belongs to.
    pub host: Option<String>,
    /// Path and query.
    pub target: String,
}

impl WarmupUrl {
    /// Reads a path, or a URL with a host. `None`: the text is neither.
    pub(crate) fn parse(text: &str) -> Option<WarmupUrl> {
        let is_sound = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
        if !text.bytes().all(is_sound) {
            return None;
        }
        if text.starts_with('/') {
            let target = text.to_owned();
            return (!text.starts_with("//")).then_some(WarmupUrl { host: None, target });
        }
        let schemes = ["http://", "https://"].iter();
        let rest = schemes
            .filter_map(|scheme| text.strip_prefix(scheme))
            .next()?;
        let at = rest.find('/').unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_name = !host.is_empty() && host.bytes().all(of_a_name);
        is_name.then(|| WarmupUrl {
            host: Some(host.to_ascii_lowercase()),
            target: if target.is_empty() { "/" } else { target }.to_owned(),
        })
    }
}

impl std::fmt::Display for WarmupUrl {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            None => out.write_str(&self.target),
            Some(host) => write!(out, "http://{host}{}", self.target),
        }
    }
}

impl Warmup {
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(2)
    }

    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_secs(60))
    }

    pub fn refuses(&self) -> bool {
        self.refuses.unwrap_or(false)
    }

    /// Returns the warm-up of a host's own Perl. The requests are the host's own.
    pub(crate) fn beside(&self, main: &Warmup) -> Warmup {
        Warmup {
            urls: self.urls.clone(),
            rounds: self.rounds.or(main.rounds),
            timeout: self.timeout.or(main.timeout),
            refuses: self.refuses.or(main.refuses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_a_path_or_has_a_host() {
        let read = |text| WarmupUrl::parse(text).map(|url| (url.host, url.target));
        let some =
            |host: Option<&str>, target: &str| Some((host.map(str::to_owned), target.to_owned()));
        assert_eq!(read("/search?q=a"), some(None, "/search?q=a"));
        assert_eq!(
            read("http://Shop.Example/x"),
            some(Some("shop.example"), "/x")
        );
        assert_eq!(
            read("https://shop.example"),
            some(Some("shop.example"), "/")
        );
        for wrong in [
            "",
            "search",
            "//host/x",
            "ftp://host/",
            "http:///x",
            "/a b",
            "/a#b",
            "/\u{e9}",
            "http://a:80/",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
