//! A client's or server's address as text. The front makes the text when it accepts a connection.
//! The text is stored in place, because most connections need no other memory for it.

use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;

/// The length of the longest address: six groups of four digits and an IPv4 address.
const LONGEST: usize = 45;

#[derive(Clone, Copy)]
pub struct Address {
    text: [u8; LONGEST],
    length: u8,
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        let mut made = Address::default();
        match address {
            IpAddr::V4(address) => {
                for (at, octet) in address.octets().into_iter().enumerate() {
                    if at > 0 {
                        made.push(b'.');
                    }
                    made.push_octet(octet);
                }
            }
            // Every address fits, so this cannot fail.
            IpAddr::V6(address) => {
                let _ = fmt::write(&mut made, format_args!("{address}"));
            }
        }
        made
    }
}

impl Address {
    /// Returns the address as a number. `None`: the socket has no address, as a local socket.
    pub fn ip(&self) -> Option<IpAddr> {
        std::str::from_utf8(self.as_bytes()).ok()?.parse().ok()
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.length)]
    }

    fn push(&mut self, byte: u8) {
        self.text[usize::from(self.length)] = byte;
        self.length += 1;
    }

    fn push_octet(&mut self, octet: u8) {
        if octet >= 100 {
            self.push(b'0' + octet / 100);
        }
        if octet >= 10 {
            self.push(b'0' + octet / 10 % 10);
        }
        self.push(b'0' + octet % 10);
    }
}

impl Default for Address {
    fn default() -> Address {
        Address {
            text: [0; LONGEST],
            length: 0,
        }
    }
}

impl fmt::Write for Address {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if usize::from(self.length) + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        text.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }
}

impl Deref for Address {
    type Target = str;
    fn deref(&self) -> &str {
        // Only digits, letters, dots and colons are pushed.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_text_of_the_standard_library() {
        for text in [
            "0.0.0.0",
            "127.0.0.1",
            "10.20.99.100",
            "255.255.255.255",
            "::",
            "::1",
            "2001:db8::ff00:42:8329",
            "1111:2222:3333:4444:5555:6666:7777:8888",
            "::ffff:255.255.255.255",
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(&*Address::from(address), address.to_string());
        }
        assert_eq!(&*Address::default(), "");
    }
}
