//! mod_remoteip's rules: which proxies are believed about who asks.

use crate::Network;
use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RemoteAddress {
    /// `RemoteIPHeader`.
    pub header: String,
    /// `RemoteIPInternalProxy`, `RemoteIPTrustedProxy`.
    pub proxies: Vec<Network>,
}

impl RemoteAddress {
    /// Texts that are no networks are left out.
    pub fn new(header: &str, proxies: &[&str]) -> RemoteAddress {
        RemoteAddress {
            header: header.to_string(),
            proxies: proxies
                .iter()
                .filter_map(|text| Network::parse(text))
                .collect(),
        }
    }

    pub fn believes(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|proxy| proxy.contains(address))
    }
}
