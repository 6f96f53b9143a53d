//! Networks of client addresses: `10.0.0.1`, `10.1`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`,
//! `2001:db8::/32`.

use std::net::{IpAddr, Ipv4Addr};

/// An address and the number of its significant bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Parses a network. `None`: the text is not a network.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let (address, written) = match address.parse::<IpAddr>() {
            Ok(address) => (address, None),
            Err(_) => {
                let (address, bits) = start_of_address(address)?;
                (IpAddr::V4(address), Some(bits))
            }
        };
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match mask {
            None => written.unwrap_or(most),
            Some(mask) => match mask.parse::<u8>() {
                Ok(bits) => bits,
                Err(_) => {
                    let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
                    let bits = mask.leading_ones();
                    (mask.count_ones() == bits).then_some(bits as u8)?
                }
            },
        };
        (bits <= most).then_some(Network { address, bits })
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let shared = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u32::from(own) ^ u32::from(other)).leading_zeros()
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (u128::from(own) ^ u128::from(other)).leading_zeros()
            }
            _ => return false,
        };
        shared >= u32::from(self.bits)
    }
}

/// Parses the first bytes of an address, such as `10.1` or `10.1.`.
fn start_of_address(text: &str) -> Option<(Ipv4Addr, u8)> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let mut bytes = [0; 4];
    let mut count = 0;
    for part in text.split('.') {
        *bytes.get_mut(count)? = part.parse().ok()?;
        count += 1;
    }
    Some((Ipv4Addr::from(bytes), 8 * count as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_contains_only_the_addresses_with_its_prefix() {
        for (network, address, expected) in [
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("10.1", "10.1.2.3", true),
            ("10.1.", "10.2.2.3", false),
            ("10.0.0.0/8", "10.9.9.9", true),
            ("10.0.0.0/255.255.0.0", "10.0.9.9", true),
            ("10.0.0.0/255.255.0.0", "10.1.9.9", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("2001:db8::/32", "2001:db8::1", true),
            ("::1", "::1", true),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
        ] {
            let network = Network::parse(network).expect(network);
            assert_eq!(
                network.contains(address.parse().expect("an address")),
                expected,
                "{address}"
            );
        }
        for wrong in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/255.0.255.0",
            "example.com",
            "1.2.3.4.5",
            "::1/129",
        ] {
            assert!(Network::parse(wrong).is_none(), "{wrong}");
        }
    }
}
