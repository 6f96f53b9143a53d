//! Makes the page of a failed program for its developer: under `mehari serve --watch` a browser on
//! this machine gets what the error log says of its request.
//!
//! A PSGI application that dies makes a page of its own, with the stack
//! (`Mehari::DevelopmentPage`). Both are for the same clients.

use crate::content::{page, Answer};
use crate::request::Request;
use crate::shared::Shared;
use std::net::Ipv4Addr;

/// Fields that say that another program has forwarded the request.
const FORWARDED: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Returns the page. `None`: the client may not see it, or there is nothing to say.
pub fn page(shared: &Shared, request: &Request<'_>, status: u16) -> Option<Answer> {
    let is_watched = shared.site().perls.iter().any(|perl| perl.is_watched);
    if !is_watched || !is_for(request) {
        return None;
    }
    let said = shared.journal.said_of(request.id);
    if said.is_empty() {
        return None;
    }
    let mut text = String::new();
    for message in said {
        text.extend(message.chars().flat_map(visible));
        text.push('\n');
    }
    Some(page::explained(status, request.field("accept"), &text))
}

/// Returns the sign, or the escape of a control character: a terminal must not obey a message.
fn visible(sign: char) -> impl Iterator<Item = char> {
    let escaped = sign.is_control().then(|| sign.escape_default());
    let plain = escaped.is_none().then_some(sign);
    escaped.into_iter().flatten().chain(plain)
}

/// Whether the client is on this machine and asks this machine by its own name. A foreign name may
/// be one that another site's page uses to read this page (DNS rebinding).
fn is_for(request: &Request<'_>) -> bool {
    let is_here = request.peer.remote_addr.ip();
    let is_here = is_here.is_some_and(|address| address.is_loopback());
    let is_forwarded = FORWARDED.iter().any(|name| request.field(name).is_some());
    is_here && !is_forwarded && is_local_name(request.host_name())
}

fn is_local_name(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
    let label = name.strip_suffix(".localhost");
    name == "localhost"
        || label.is_some_and(|label| !label.is_empty() && label.chars().all(is_word))
        || matches!(name.as_str(), "[::1]" | "::1")
        || name
            .parse()
            .is_ok_and(|address: Ipv4Addr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{is_local_name, visible};

    #[test]
    fn control_characters_of_a_message_are_visible() {
        let text: String = "n\u{e4}me\u{1b}[31m".chars().flat_map(visible).collect();
        assert_eq!(text, "n\u{e4}me\\u{1b}[31m");
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        for name in [
            "localhost",
            "LocalHost",
            "shop.localhost",
            "127.0.0.1",
            "127.1.2.3",
            "[::1]",
        ] {
            assert!(is_local_name(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "shop.example",
            "localhost.shop.example",
            "127.0.0.1.shop.example",
            ".localhost",
            "a.b.localhost",
            "10.0.0.1",
        ] {
            assert!(!is_local_name(name.as_bytes()), "{name}");
        }
    }
}
