//! Reads the file of URLs (one URL per line) and the file of source addresses.

use super::options::Options;
use crate::console::Refusal;
use crate::number::atoi;
use crate::{reason, resolve};
use mehari_load::{Endpoint, Request};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// A line of the file and the request for it.
#[derive(Debug, Clone)]
pub struct Target {
    pub url: String,
    pub request: Request,
}

fn refuse(text: String) -> Refusal {
    Refusal::to_stderr(1, format!("{text}\n"))
}

fn lines(file: &Path) -> Result<Vec<String>, Refusal> {
    let bytes = std::fs::read(file)
        .map_err(|error| refuse(format!("{}: {}", file.display(), reason(&error))))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(if text.is_empty() && bytes.is_empty() {
        Vec::new()
    } else {
        text.split('\n').map(str::to_string).collect()
    })
}

/// Reads all URLs of the file.
///
/// # Errors
/// [`Refusal`] that names the first malformed line. An empty line is malformed.
pub fn read(options: &Options) -> Result<Vec<Target>, Refusal> {
    let targets: Vec<Target> = lines(&options.urls)?
        .into_iter()
        .map(|line| target(options, line))
        .collect::<Result<_, _>>()?;
    if targets.is_empty() {
        Err(refuse(format!(
            "http_load: there is no URL in {}",
            options.urls.display()
        )))
    } else {
        Ok(targets)
    }
}

fn target(options: &Options, line: String) -> Result<Target, Refusal> {
    let (tls, rest) = match (line.strip_prefix("http://"), line.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err(refuse(format!("http_load: unknown protocol - {line}"))),
    };
    let end = rest.find([':', '/']).unwrap_or(rest.len());
    let (host, after) = rest.split_at(end);
    let slash = after.find('/').unwrap_or(after.len());
    let port = match after[..slash].strip_prefix(':') {
        Some(port) => atoi(port.as_bytes()) as u16,
        None if tls => 443,
        None => 80,
    };
    let path = if slash == after.len() {
        "/"
    } else {
        &after[slash..]
    };
    let (via, via_port) = match &options.proxy {
        Some((host, port)) => (host.as_str(), *port),
        None => (host, port),
    };
    let address =
        resolve::address(via).map_err(|_| refuse(format!("http_load: unknown host - {via}")))?;
    let endpoint = Endpoint {
        host: address.to_string(),
        port: via_port,
        tls,
    };
    let scheme = if tls { "https" } else { "http" };
    let asked = match options.proxy {
        Some(_) => format!("{scheme}://{host}:{port}{path}"),
        None => path.to_string(),
    };
    let head =
        format!("GET {asked} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: http_load 12mar2006\r\n");
    Ok(Target {
        request: Request::raw(endpoint, head.into_bytes(), Vec::new(), false),
        url: line,
    })
}

/// Reads the source addresses of `-sip`.
pub fn sources(file: &Path) -> Result<Vec<IpAddr>, Refusal> {
    lines(file)?
        .iter()
        .map(|line| {
            line.trim()
                .parse::<Ipv4Addr>()
                .map(IpAddr::V4)
                .map_err(|_| {
                    refuse(format!(
                        "http_load: cannot convert source IP address {line}"
                    ))
                })
        })
        .collect()
}
