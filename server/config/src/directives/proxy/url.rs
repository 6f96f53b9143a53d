//! The URL of a back end: `http://host:port/path`, `fcgi://...`, `unix:/socket|http://host/path`.

use crate::arguments::Arguments;
use crate::problem::Fault;
use crate::{BackEndAddress, Speech};
use std::path::PathBuf;

const EXPECTED: &str =
    "http://HOST[:PORT][/PATH], fcgi://HOST:PORT[/PATH] or unix:/SOCKET|http://HOST[/PATH]";

/// A URL taken apart.
pub struct Url {
    pub speech: Speech,
    pub address: BackEndAddress,
    /// Host and port as the Host field says them.
    pub host: String,
    /// Empty, or beginning with a slash.
    pub path: String,
}

/// What a `ProxyPass` or a handler names.
pub enum Place {
    /// `balancer://name`, and the path behind it.
    Balancer(String, String),
    BackEnd(Url),
    /// `fcgi:///usr/bin/php-cgi`: a `FastCgiServer`.
    Program(PathBuf),
}

pub fn place(arguments: &Arguments, index: usize, text: &str) -> Result<Place, Fault> {
    if let Some(rest) = strip(text, "balancer://") {
        let (name, path) = split_path(rest);
        return match name.is_empty() {
            true => Err(refused(arguments, index, text, "the name of a balancer")),
            false => Ok(Place::Balancer(
                format!("balancer://{}", name.to_ascii_lowercase()),
                path.to_string(),
            )),
        };
    }
    if let Some(path) = strip(text, "fcgi:///") {
        return Ok(Place::Program(PathBuf::from(format!("/{path}"))));
    }
    back_end(arguments, index, text).map(Place::BackEnd)
}

pub fn back_end(arguments: &Arguments, index: usize, text: &str) -> Result<Url, Fault> {
    let (socket, text_url) = match strip(text, "unix:") {
        Some(rest) => match rest.split_once('|') {
            Some((socket, url)) if socket.starts_with('/') => (Some(socket), url),
            _ => return Err(refused(arguments, index, text, EXPECTED)),
        },
        None => (None, text),
    };
    let Some((speech, rest)) = speech(text_url) else {
        return Err(unknown_scheme(arguments, index, text, text_url));
    };
    let (authority, path) = split_path(rest);
    let address = match socket {
        Some(socket) => BackEndAddress::Unix(PathBuf::from(socket)),
        None => tcp(authority, speech).ok_or_else(|| refused(arguments, index, text, EXPECTED))?,
    };
    let host = match authority {
        "" => "localhost",
        authority => authority,
    };
    Ok(Url {
        speech,
        address,
        host: host.to_string(),
        path: path.to_string(),
    })
}

fn speech(url: &str) -> Option<(Speech, &str)> {
    let http = strip(url, "http://").or_else(|| strip(url, "ws://"));
    let http = http.map(|rest| (Speech::Http, rest));
    http.or_else(|| strip(url, "fcgi://").map(|rest| (Speech::FastCgi, rest)))
}

fn unknown_scheme(arguments: &Arguments, index: usize, text: &str, url: &str) -> Fault {
    match url.split_once("://") {
        Some(("https" | "wss", _)) => arguments.fault(
            index,
            format!("expected {EXPECTED}, not `{text}`: back ends behind TLS are not spoken with"),
        ),
        Some((scheme, _)) => refused(arguments, index, text, EXPECTED)
            .or_nearest(scheme, ["http", "fcgi", "balancer"].into_iter()),
        None => refused(arguments, index, text, EXPECTED),
    }
}

fn tcp(authority: &str, speech: Speech) -> Option<BackEndAddress> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']')?;
            (
                host,
                behind.strip_prefix(':').or(behind.is_empty().then_some("")),
            )
        }
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let port = match (port?, speech) {
        ("", Speech::Http) => 80,
        ("", Speech::FastCgi) => 8000,
        (port, _) => port.parse().ok().filter(|port| *port > 0)?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
    let fits = !host.is_empty() && host.chars().all(plain);
    fits.then(|| BackEndAddress::Tcp(host.to_string(), port))
}

fn split_path(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

fn strip<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    let start = text.get(..scheme.len())?;
    start
        .eq_ignore_ascii_case(scheme)
        .then(|| &text[scheme.len()..])
}

fn refused(arguments: &Arguments, index: usize, text: &str, expected: &str) -> Fault {
    arguments.fault(index, format!("expected {expected}, not `{text}`"))
}
