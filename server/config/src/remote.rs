//! mod_remoteip's rules: the proxies that are trusted to name their client.

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
    /// Makes the rules. Texts that are not networks are ignored.
    pub fn new(header: &str, proxies: &[&str]) -> RemoteAddress {
        RemoteAddress {
            header: header.to_string(),
            proxies: proxies
                .iter()
                .filter_map(|text| Network::parse(text))
                .collect(),
        }
    }

    pub fn trusts(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|proxy| proxy.contains(address))
    }
}
