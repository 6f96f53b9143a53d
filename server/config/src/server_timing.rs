//! `ServerTiming`: the clients that get the times of a request's stages. `directives::traffic`
//! reads the lines, and the front asks.

use crate::Network;

/// `ServerTiming`: which clients get the field Server-Timing.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerTiming {
    #[default]
    Off,
    On,
    /// Clients in these networks.
    For(Vec<Network>),
}

impl ServerTiming {
    /// Whether a client with this address gets the field. `address`: as text, or not an address for
    /// a client on a local socket.
    pub fn permits(&self, address: &str) -> bool {
        match self {
            ServerTiming::Off => false,
            ServerTiming::On => true,
            ServerTiming::For(networks) => address
                .parse()
                .is_ok_and(|address| networks.iter().any(|it| it.contains(address))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_of_the_networks_are_permitted() {
        let network = Network::parse("10.0.0.0/8").expect("a network");
        let clients = ServerTiming::For(vec![network]);
        for (address, is_permitted) in [("10.1.2.3", true), ("11.1.2.3", false), ("", false)] {
            assert_eq!(clients.permits(address), is_permitted, "{address}");
            assert!(ServerTiming::On.permits(address));
            assert!(!ServerTiming::Off.permits(address));
        }
    }
}
