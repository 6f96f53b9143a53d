//! The address of a Redis or Valkey server.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RedisServer {
    pub place: RedisPlace,
    pub user: Option<String>,
    #[serde(skip)]
    pub password: Option<String>,
    pub database: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedisPlace {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl RedisServer {
    pub(crate) const EXPECTED: &'static str =
        "expected redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER] or unix:///PATH[?db=NUMBER]";

    pub(crate) fn parse(url: &str) -> Option<RedisServer> {
        if let Some(rest) = url.strip_prefix("unix://") {
            let (path, database) = match rest.split_once("?db=") {
                Some((path, number)) => (path, number.parse().ok()?),
                None => (rest, 0),
            };
            return path.starts_with('/').then(|| RedisServer {
                place: RedisPlace::Unix(path.into()),
                user: None,
                password: None,
                database,
            });
        }
        let rest = url.strip_prefix("redis://")?;
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login), rest),
            None => (None, rest),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            Some((user, password)) => (decoded(user)?, decoded(password)?),
            None => (None, None),
        };
        let (address, database) = match rest.trim_end_matches('/').split_once('/') {
            Some((address, number)) => (address, number.parse().ok()?),
            None => (rest.trim_end_matches('/'), 0),
        };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (address, 6379),
        };
        let host = host.trim_matches(['[', ']']);
        (!host.is_empty()).then(|| RedisServer {
            place: RedisPlace::Tcp(host.to_string(), port),
            user,
            password,
            database,
        })
    }
}

impl std::fmt::Display for RedisServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            RedisPlace::Tcp(host, port) => write!(out, "{host}:{port}"),
            RedisPlace::Unix(path) => path.display().fmt(out),
        }
    }
}

/// Decodes percent-encoded text. `None`: the text is invalid. `Some(None)`: the text is empty.
fn decoded(text: &str) -> Option<Option<String>> {
    let bytes = mehari_text::percent::decode(text.as_bytes())?;
    let text = String::from_utf8(bytes).ok()?;
    Some(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_addresses_are_parsed() {
        let tcp =
            |host: &str, port, user: Option<&str>, password: Option<&str>, database| RedisServer {
                place: RedisPlace::Tcp(host.into(), port),
                user: user.map(str::to_string),
                password: password.map(str::to_string),
                database,
            };
        let rows = [
            ("redis://cache", tcp("cache", 6379, None, None, 0)),
            (
                "redis://10.0.0.5:6380/2",
                tcp("10.0.0.5", 6380, None, None, 2),
            ),
            (
                "redis://:a%40b@cache/",
                tcp("cache", 6379, None, Some("a@b"), 0),
            ),
            (
                "redis://u:p@[::1]:7/1",
                tcp("::1", 7, Some("u"), Some("p"), 1),
            ),
            ("redis://[::1]", tcp("::1", 6379, None, None, 0)),
        ];
        for (url, expected) in rows {
            assert_eq!(RedisServer::parse(url), Some(expected), "{url}");
        }
        let unix = RedisServer::parse("unix:///run/r.sock?db=3").expect("a socket");
        assert_eq!(
            (unix.to_string().as_str(), unix.database),
            ("/run/r.sock", 3)
        );
        for wrong in [
            "cache:6379",
            "redis://",
            "redis://h:x",
            "redis://h/x",
            "unix://r.sock",
            "redis://:%zz@h",
        ] {
            assert_eq!(RedisServer::parse(wrong), None, "{wrong}");
        }
    }
}
