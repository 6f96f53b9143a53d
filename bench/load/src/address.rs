//! Chooses the first address of a host name, in the resolver's order, that accepts a connection.
//! `driver::prepared` calls this module before the load.
//!
//! `localhost` often resolves to ::1 and 127.0.0.1, but the server listens on one of the two. The
//! choice before the load sends the whole load to the address that accepts.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::plan::Sources;

/// The addresses that the resolver found for a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host and port as given.
    pub name: String,
    pub used: SocketAddr,
    /// Addresses that stand before `used` in the resolver's order and refused a connection.
    pub passed: Vec<SocketAddr>,
}

/// The most time for the trial connection to an address.
const TRIAL: Duration = Duration::from_secs(1);

/// Returns the index of the first address that accepts a connection; 0 if none does. A single
/// address is not tried. `addresses` must not be empty.
pub fn first_that_answers(addresses: &[SocketAddr]) -> usize {
    let takes = |address: &SocketAddr| TcpStream::connect_timeout(address, TRIAL).is_ok();
    match addresses.len() {
        1 => 0,
        _ => addresses.iter().position(takes).unwrap_or(0),
    }
}

/// Returns the addresses of `found` that the sources can reach. If the sources can reach no
/// address, returns all addresses; the kernel then reports the error.
pub fn reachable_from(sources: &Sources, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Sources::Fixed(sources) = sources else {
        return found;
    };
    let same_family = |address: &&SocketAddr| {
        let mut families = sources.iter().map(|source| source.is_ipv4());
        families.all(|is_ipv4| is_ipv4 == address.is_ipv4())
    };
    let reachable: Vec<SocketAddr> = found.iter().filter(same_family).copied().collect();
    if reachable.is_empty() {
        found
    } else {
        reachable
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
    fn the_first_address_that_accepts_a_connection_is_used() {
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
    fn a_source_address_reaches_addresses_of_its_own_family_only() {
        let (v6, v4) = (address("[::1]:80"), address("127.0.0.1:80"));
        let fixed = |ip: &str| Sources::Fixed(vec![ip.parse().expect("an address")]);
        assert_eq!(reachable_from(&fixed("127.0.0.5"), vec![v6, v4]), [v4]);
        assert_eq!(reachable_from(&fixed("::1"), vec![v6, v4]), [v6]);
        assert_eq!(reachable_from(&fixed("127.0.0.5"), vec![v6]), [v6]);
        assert_eq!(reachable_from(&Sources::Automatic, vec![v6, v4]), [v6, v4]);
    }
}
