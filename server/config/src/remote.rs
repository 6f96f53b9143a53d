//! mod_remoteip's rules: the proxies that are trusted to name their client.

use crate::Network;
use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RemoteAddress {
    /// `RemoteIPHeader`.
    pub header: String,
    pub proxies: Vec<KnownProxy>,
}

/// The addresses of proxies that are trusted to name their client.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct KnownProxy {
    pub network: Network,
    pub kind: ProxyKind,
}

/// Which clients a proxy may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyKind {
    /// `RemoteIPInternalProxy`: any client.
    Internal,
    /// `RemoteIPTrustedProxy`: clients with public addresses.
    Trusted,
}

impl RemoteAddress {
    /// Makes the rules for internal proxies. Texts that are not networks are ignored.
    pub fn new(header: &str, proxies: &[&str]) -> RemoteAddress {
        let networks = proxies.iter().filter_map(|text| Network::parse(text));
        RemoteAddress {
            header: header.to_string(),
            proxies: networks
                .map(|network| KnownProxy {
                    network,
                    kind: ProxyKind::Internal,
                })
                .collect(),
        }
    }

    /// Returns the kind of the proxy with this address, or `None` if it is not trusted. The first
    /// matching network counts.
    pub fn proxy(&self, address: IpAddr) -> Option<ProxyKind> {
        let mut proxies = self.proxies.iter();
        proxies
            .find(|proxy| proxy.network.contains(address))
            .map(|proxy| proxy.kind)
    }
}

impl ProxyKind {
    /// Tells whether such a proxy may name a client with this address. The private addresses are
    /// those of mod_remoteip: those of RFC 1918, of the loopback and of the link, and all IPv6
    /// addresses outside of 2000::/3.
    pub fn may_name(self, client: IpAddr) -> bool {
        match (self, client.to_canonical()) {
            (ProxyKind::Internal, _) => true,
            (ProxyKind::Trusted, IpAddr::V4(client)) => {
                !(client.is_private() || client.is_loopback() || client.is_link_local())
            }
            (ProxyKind::Trusted, IpAddr::V6(client)) => client.octets()[0] & 0xe0 == 0x20,
        }
    }
}
