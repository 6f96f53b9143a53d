//! Of a name's addresses the one to load: the first, in the resolver's order, that takes a connection.
//!
//! `localhost` is often ::1 and 127.0.0.1 where the server listens on one of them. Which it is gets settled
//! before the load, so that all of it goes to one place and none of it is spent on refusals.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::plan::Sources;

/// What a name came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host and port as they were given.
    pub name: String,
    pub used: SocketAddr,
    /// Came before it and took no connection.
    pub passed: Vec<SocketAddr>,
}

/// How long an address may take to be tried.
const TRIAL: Duration = Duration::from_secs(1);

/// The first of several that takes a connection, and how many came before it; the very first where none does.
/// An only one is not tried. `addresses` is not empty.
pub fn first_that_answers(addresses: &[SocketAddr]) -> usize {
    let takes = |address: &SocketAddr| TcpStream::connect_timeout(address, TRIAL).is_ok();
    match addresses.len() {
        1 => 0,
        _ => addresses.iter().position(takes).unwrap_or(0),
    }
}

/// Those of `found` that can be reached from the sources; all of them when none can, to fail in the kernel's words.
pub fn reachable_from(sources: &Sources, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Sources::Fixed(sources) = sources else {
        return found;
    };
    let same_family = |address: &&SocketAddr| {
        let mut families = sources.iter().map(|source| source.is_ipv4());
        families.all(|is_ipv4| is_ipv4 == address.is_ipv4())
    };
    let reachable: Vec<SocketAddr> = found.iter().filter(same_family).copied().collect();
    match reachable.is_empty() {
        true => found,
        false => reachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_first_address_that_takes_a_connection_is_used() {
        let (open, closed) = (
            TcpListener::bind("127.0.0.1:0").expect("a free port"),
            TcpListener::bind("127.0.0.1:0").expect("a free port"),
        );
        let (taking, refusing) = (
            open.local_addr().expect("bound"),
            closed.local_addr().expect("bound"),
        );
        drop(closed);
        assert_eq!(first_that_answers(&[refusing, taking]), 1);
        assert_eq!(first_that_answers(&[taking, refusing]), 0);
        assert_eq!(first_that_answers(&[refusing, refusing]), 0);
    }

    #[test]
    fn a_source_keeps_to_addresses_of_its_family() {
        let (v6, v4) = (address("[::1]:80"), address("127.0.0.1:80"));
        let fixed = |ip: &str| Sources::Fixed(vec![ip.parse().expect("an address")]);
        assert_eq!(reachable_from(&fixed("127.0.0.5"), vec![v6, v4]), [v4]);
        assert_eq!(reachable_from(&fixed("::1"), vec![v6, v4]), [v6]);
        assert_eq!(reachable_from(&fixed("127.0.0.5"), vec![v6]), [v6]);
        assert_eq!(reachable_from(&Sources::Automatic, vec![v6, v4]), [v6, v4]);
    }
}
