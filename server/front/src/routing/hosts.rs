//! Finds the host of a request. The result is kept for each text of the Host field.

use crate::request::Peer;
use mehari_config::Site;
use mehari_http::host::split_port;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;

/// The most kept names. A larger table is cleared, because clients may invent names.
const NAMES: usize = 4096;
/// Longer names are looked up each time.
const LONGEST: usize = 256;

/// The hosts of one local address, by the value of the Host field as sent.
struct Address {
    ip: Option<IpAddr>,
    port: u16,
    known: HashMap<Box<[u8]>, u32>,
}

#[derive(Default)]
pub struct HostTable {
    addresses: RefCell<Vec<Address>>,
}

impl HostTable {
    /// Returns the number of the host. `host` is the value of the Host field, with or without a
    /// port, or empty.
    pub fn number(&self, site: &Site, peer: &Peer, host: &[u8]) -> u32 {
        if site.hosts.is_empty() {
            return 0;
        }
        let mut addresses = self.addresses.borrow_mut();
        let (ip, port) = (peer.server_ip, peer.server_port);
        let at = addresses
            .iter()
            .position(|address| address.ip == ip && address.port == port);
        let at = at.unwrap_or_else(|| {
            addresses.push(Address {
                ip,
                port,
                known: HashMap::new(),
            });
            addresses.len() - 1
        });
        let known = &mut addresses[at].known;
        if let Some(number) = known.get(host) {
            return *number;
        }
        let number = site.host_for(ip, port, split_port(host).0);
        if known.len() >= NAMES {
            known.clear();
        }
        if host.len() <= LONGEST {
            known.insert(host.into(), number);
        }
        number
    }

    pub fn clear(&self) {
        self.addresses.borrow_mut().clear();
    }
}
