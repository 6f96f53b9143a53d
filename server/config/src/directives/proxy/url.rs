//! Parses the URL of a back end: `http://host:port/path`, `https://...`, `fcgi://...`,
//! `unix:/socket|http://host/path`.

use crate::arguments::Arguments;
use crate::problem::Fault;
use crate::{BackEndAddress, Speech};
use std::path::PathBuf;

const EXPECTED: &str =
    "http(s)://HOST[:PORT][/PATH], fcgi:, scgi: or uwsgi://HOST:PORT[/PATH] or unix:/SOCKET|http://HOST[/PATH]";

/// The parts of a URL.
pub struct Url {
    pub speech: Speech,
    pub secure: bool,
    pub address: BackEndAddress,
    /// Host and port, as in a Host field.
    pub host: String,
    /// Empty, or beginning with a slash.
    pub path: String,
}

/// The target of a `ProxyPass` or a handler.
pub enum ProxyTarget {
    /// `balancer://name` and the path behind it.
    Balancer(String, String),
    BackEnd(Url),
    /// `fcgi:///usr/bin/php-cgi`: the program of a `FastCgiServer` line.
    Program(PathBuf),
}

/// The text of an argument, or a part of it.
#[derive(Debug, Clone, Copy)]
pub struct UrlArgument<'a> {
    /// The index of the argument in the line, for error messages.
    pub argument: usize,
    pub text: &'a str,
}

pub fn place(arguments: &Arguments, url: UrlArgument<'_>) -> Result<ProxyTarget, Fault> {
    let UrlArgument {
        argument: index,
        text,
    } = url;
    if let Some(rest) = strip(text, "balancer://") {
        let (name, path) = split_path(rest);
        return if name.is_empty() {
            Err(refused(arguments, index, text, "the name of a balancer"))
        } else {
            Ok(ProxyTarget::Balancer(
                format!("balancer://{}", name.to_ascii_lowercase()),
                path.to_string(),
            ))
        };
    }
    if let Some(path) = strip(text, "fcgi:///") {
        return Ok(ProxyTarget::Program(PathBuf::from(format!("/{path}"))));
    }
    back_end(arguments, index, text).map(ProxyTarget::BackEnd)
}

pub fn back_end(arguments: &Arguments, index: usize, text: &str) -> Result<Url, Fault> {
    let has_known_scheme = without_socket(text).is_none_or(|(_, url)| speech(url).is_some());
    if let (false, Some((_, url))) = (has_known_scheme, without_socket(text)) {
        return Err(unknown_scheme(arguments, index, text, url));
    }
    read(text).ok_or_else(|| refused(arguments, index, text, EXPECTED))
}

/// Splits the path of a Unix socket from the URL behind it. `None`: the path of the socket is not
/// absolute.
fn without_socket(text: &str) -> Option<(Option<&str>, &str)> {
    let Some(rest) = strip(text, "unix:") else {
        return Some((None, text));
    };
    let (socket, url) = rest.split_once('|')?;
    socket.starts_with('/').then_some((Some(socket), url))
}

/// Parses the URL of one back end. `None`: the text is not such a URL.
pub fn read(text: &str) -> Option<Url> {
    let (socket, text_url) = without_socket(text)?;
    let (speech, secure, rest) = speech(text_url)?;
    let (authority, path) = split_path(rest);
    let address = match socket {
        Some(socket) => BackEndAddress::Unix(PathBuf::from(socket)),
        None => tcp(authority, default_port(speech, secure))?,
    };
    let host = match authority {
        "" => "localhost",
        authority => authority,
    };
    Some(Url {
        speech,
        secure,
        address,
        host: host.to_string(),
        path: path.to_string(),
    })
}

/// Splits the scheme from a URL. Returns the protocol, whether the back end uses TLS, and the rest
/// of the URL.
fn speech(url: &str) -> Option<(Speech, bool, &str)> {
    const SCHEMES: [(&str, Speech, bool); 7] = [
        ("http://", Speech::Http, false),
        ("ws://", Speech::Http, false),
        ("https://", Speech::Http, true),
        ("wss://", Speech::Http, true),
        ("fcgi://", Speech::FastCgi, false),
        ("scgi://", Speech::Scgi, false),
        ("uwsgi://", Speech::Uwsgi, false),
    ];
    SCHEMES
        .into_iter()
        .find_map(|(scheme, speech, secure)| Some((speech, secure, strip(url, scheme)?)))
}

/// Returns Apache's default port for a protocol.
fn default_port(speech: Speech, secure: bool) -> u16 {
    match speech {
        Speech::Http if secure => 443,
        Speech::Http => 80,
        Speech::FastCgi => 8000,
        Speech::Scgi => 4000,
        Speech::Uwsgi => 3031,
    }
}

fn unknown_scheme(arguments: &Arguments, index: usize, text: &str, url: &str) -> Fault {
    let fault = refused(arguments, index, text, EXPECTED);
    let known = ["http", "https", "fcgi", "scgi", "uwsgi", "balancer"];
    match url.split_once("://") {
        Some((scheme, _)) => fault.or_nearest(scheme, known.into_iter()),
        None => fault,
    }
}

fn tcp(authority: &str, default: u16) -> Option<BackEndAddress> {
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
    let port = match port? {
        "" => default,
        port => port.parse().ok().filter(|port| *port > 0)?,
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
