//! Checks the host of a request: in the Host field, in an absolute target and in `:authority`.

use crate::problem::{bad, Problem};
use std::net::Ipv6Addr;

/// Checks `host [":" port]` (RFC 9110 section 7.2). The host is an address or a DNS name. A DNS
/// name may contain `_`, which some networks use. As in Apache, a name that looks like an address
/// but is not an address is refused.
///
/// # Errors
///
/// A [`Problem`] for any other text.
pub fn check(host: &[u8]) -> Result<(), Problem> {
    let name_ends = match host.first() {
        Some(b'[') => address_in_brackets(host),
        _ => name(host),
    };
    let is_host = name_ends.is_some_and(|end| match &host[end..] {
        [] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    });
    if is_host {
        Ok(())
    } else {
        Err(bad("Host is not a host name"))
    }
}

/// The classes of bytes in a host name.
mod class {
    pub const OTHER: u8 = 0;
    pub const LETTER: u8 = 1;
    pub const DIGIT: u8 = 2;
    pub const HYPHEN: u8 = 3;
    pub const DOT: u8 = 4;

    pub static OF: [u8; 256] = {
        let mut of = [OTHER; 256];
        let mut byte = 0;
        while byte < 256 {
            of[byte] = match byte as u8 {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER,
                b'0'..=b'9' => DIGIT,
                b'-' => HYPHEN,
                b'.' => DOT,
                _ => OTHER,
            };
            byte += 1;
        }
        of
    };
}

/// Returns where the name at the beginning of `host` ends, or `None` if there is no valid name. A
/// name consists of labels with dots between them, or is an IPv4 address. A final dot is allowed.
/// The function reads the name only once, because every request has a Host.
fn name(host: &[u8]) -> Option<usize> {
    let (mut previous, mut end) = (class::DOT, 0);
    // The start of the last label, and the start of the label before it.
    let (mut last_label, mut label_before) = (0, 0);
    for &byte in host {
        let class = class::OF[usize::from(byte)];
        if class >= class::HYPHEN {
            // A label must not be empty, begin with a hyphen or end with a hyphen.
            if previous == class::DOT || class == class::DOT && previous == class::HYPHEN {
                return None;
            }
            if class == class::DOT {
                (label_before, last_label) = (last_label, end + 1);
            }
        } else if class == class::OTHER {
            break;
        }
        previous = class;
        end += 1;
    }
    let is_name = match previous {
        class::HYPHEN => false,
        class::DOT => end > 0 && may_end_with(&host[..end - 1], label_before),
        _ => may_end_with(&host[..end], last_label),
    };
    is_name.then_some(end)
}

/// Returns whether a name may end with the label that begins at `last_label`. A top-level domain
/// begins with a letter (RFC 1123 section 2.1). Only an address ends with a number.
fn may_end_with(name: &[u8], last_label: usize) -> bool {
    let last = &name[last_label..];
    let begins_with_digit = last.first().is_some_and(u8::is_ascii_digit);
    if begins_with_digit && (last_label > 0 || last.iter().all(u8::is_ascii_digit)) {
        is_ipv4_address(name)
    } else {
        !last.is_empty()
    }
}

/// Returns whether a name consists of four decimal numbers up to 255 without leading zeros.
fn is_ipv4_address(name: &[u8]) -> bool {
    let (mut dots, mut digits, mut number) = (0, 0, 0);
    for &byte in name {
        if byte == b'.' {
            (dots, digits, number) = (dots + 1, 0, 0);
            continue;
        }
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 || digits > 0 && number == 0 {
            return false;
        }
        digits += 1;
        number = number * 10 + digit;
        if number > 255 {
            return false;
        }
    }
    dots == 3
}

/// Returns where the IPv6 address in brackets at the beginning of `host` ends.
fn address_in_brackets(host: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b']', host)?;
    let text = std::str::from_utf8(&host[1..end]).ok()?;
    text.parse::<Ipv6Addr>().ok().map(|_| end + 1)
}

/// Returns whether the text is the number of a port. An empty text is allowed.
fn is_port(digits: &[u8]) -> bool {
    if digits.len() > 5 {
        return false;
    }
    let mut number = 0;
    for &byte in digits {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return false;
        }
        number = number * 10 + digit;
    }
    digits.is_empty() || (1..=u32::from(u16::MAX)).contains(&number)
}

/// Splits a host into the name and the digits of the port. Brackets of an IPv6 address stay.
pub fn split_port(host: &[u8]) -> (&[u8], &[u8]) {
    let after_address = match host.first() {
        Some(b'[') => memchr::memchr(b']', host).unwrap_or(0),
        _ => 0,
    };
    match memchr::memchr(b':', &host[after_address..]) {
        Some(at) => (&host[..after_address + at], &host[after_address + at + 1..]),
        None => (host, &[]),
    }
}

#[cfg(test)]
mod tests;
