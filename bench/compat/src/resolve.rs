//! Resolves names before any load is sent. Errors contain the resolver's own message.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use mehari_load::first_that_answers;

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The message of `gai_strerror`.
    pub reason: String,
    /// The `EAI_...` number without its sign.
    pub code: i32,
}

/// glibc's messages and numbers. Rust's standard library gives the message without the number.
const REASONS: &[(&str, i32)] = &[
    ("Name or service not known", 2),
    ("Temporary failure in name resolution", 3),
    ("Non-recoverable failure in name resolution", 4),
    ("No address associated with hostname", 5),
    ("System error", 11),
];

/// Returns all addresses of `name` in the resolver's order.
fn addresses(name: &str) -> Result<Vec<IpAddr>, Unresolved> {
    let unknown = || Unresolved {
        reason: REASONS[0].0.into(),
        code: REASONS[0].1,
    };
    let found = (name, 0).to_socket_addrs().map_err(|error| {
        let text = error.to_string();
        REASONS
            .iter()
            .find(|(reason, _)| text.contains(reason))
            .map(|(reason, code)| Unresolved {
                reason: reason.to_string(),
                code: *code,
            })
            .unwrap_or_else(unknown)
    })?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    if found.is_empty() {
        Err(unknown())
    } else {
        Ok(found)
    }
}

/// Returns the first IPv4 address of `name`, otherwise its first address. The original httperf and
/// http_load support IPv4 only.
pub fn address(name: &str) -> Result<IpAddr, Unresolved> {
    let found = addresses(name)?;
    let preferred = found.iter().find(|address| address.is_ipv4());
    Ok(*preferred.unwrap_or(&found[0]))
}

/// Returns the first address of `name` that accepts a connection, or the first address if none
/// accepts. The original ab tries the addresses in turn with its first request. A single address is
/// not tried.
pub fn reachable(name: &str, port: u16) -> Result<IpAddr, Unresolved> {
    let found = addresses(name)?;
    let found: Vec<SocketAddr> = found.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
    Ok(found[first_that_answers(&found)].ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_address_that_accepts_connections_is_chosen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let found = reachable("localhost", port).expect("localhost has addresses");
        assert_eq!(found.to_string(), "127.0.0.1");
    }

    #[test]
    fn a_name_without_address_has_a_reason_and_a_number() {
        let unresolved = address("nosuch.invalid").expect_err("the name is reserved for this");
        assert!(REASONS.contains(&(unresolved.reason.as_str(), unresolved.code)));
    }
}
