//! Names to addresses before any load is sent, with the resolver's own words when there is none.

use std::net::{IpAddr, ToSocketAddrs};

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// As `gai_strerror` says it.
    pub reason: String,
    /// The `EAI_...` number, without its sign.
    pub code: i32,
}

/// glibc's texts; the standard library keeps the text and drops the number.
const REASONS: &[(&str, i32)] = &[
    ("Name or service not known", 2),
    ("Temporary failure in name resolution", 3),
    ("Non-recoverable failure in name resolution", 4),
    ("No address associated with hostname", 5),
    ("System error", 11),
];

/// The first address of `name`.
pub fn address(name: &str) -> Result<IpAddr, Unresolved> {
    let unknown = || Unresolved {
        reason: REASONS[0].0.into(),
        code: REASONS[0].1,
    };
    let found = (name, 0).to_socket_addrs().map_err(|error| {
        let text = error.to_string();
        REASONS
            .iter()
            .find(|(reason, _)| text.contains(reason))
            .map(|(reason, code)| Unresolved {
                reason: reason.to_string(),
                code: *code,
            })
            .unwrap_or_else(unknown)
    })?;
    found.map(|address| address.ip()).next().ok_or_else(unknown)
}
