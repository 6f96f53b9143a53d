//! The directives for clients behind proxies: the PROXY protocol, and mod_remoteip's header field.

use super::row::*;
use crate::{KnownProxy, Network, ProxyKind, RemoteAddress};

pub const GROUP: Group = Group {
    title: "Behind a proxy",
    rows: &[
        Directive::server(
            "RemoteIPProxyProtocol",
            Shape::Flag,
            "On: every TCP connection must begin with a PROXY header (version 1 or 2), which \
             names the client. Connections without a PROXY header are closed.",
            |target, arguments| {
                target.site.limits.proxy_protocol = arguments.flag()?;
                Ok(())
            },
        )
        .default("Off"),
        Directive::server(
            "RemoteIPHeader",
            words("FIELD", 1, 1),
            "The request field in which trusted proxies name the client. The client is the last \
             address in the field that does not belong to a trusted proxy.",
            |target, arguments| {
                let name = arguments.filled(0)?;
                let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-';
                if !name.chars().all(is_token) {
                    return Err(
                        arguments.fault(0, format!("expected the name of a field, not `{name}`"))
                    );
                }
                rule(target).header = name.to_string();
                Ok(())
            },
        )
        .example("X-Forwarded-For", "\"two words\""),
        Directive::server(
            "RemoteIPInternalProxy",
            words("ADDRESS[/BITS]...", 1, ANY),
            "The proxies of the site's own network. The server believes their RemoteIPHeader, \
             whatever client it names. By default there are none.",
            |target, arguments| proxies(target, arguments, ProxyKind::Internal),
        )
        .example("10.0.0.0/8 127.0.0.1", "proxy.example.com"),
        Directive::server(
            "RemoteIPTrustedProxy",
            words("ADDRESS[/BITS]...", 1, ANY),
            "Other trusted proxies. The server believes their RemoteIPHeader if it names a client \
             with a public address. If it names a private address, the last proxy counts as the \
             client.",
            |target, arguments| proxies(target, arguments, ProxyKind::Trusted),
        )
        .example("192.0.2.0/24 2001:db8::/32", "proxy.example.com"),
        Directive::server(
            "RemoteIPInternalProxyList",
            Shape::Path,
            "A file of addresses for RemoteIPInternalProxy, separated by spaces or lines. A \
             comment goes from `#` to the end of the line. A reload reads the file again.",
            |target, arguments| listed(target, arguments, ProxyKind::Internal),
        )
        .example("/dev/null", "/one /two"),
        Directive::server(
            "RemoteIPTrustedProxyList",
            Shape::Path,
            "A file of addresses for RemoteIPTrustedProxy, in the form of \
             RemoteIPInternalProxyList.",
            |target, arguments| listed(target, arguments, ProxyKind::Trusted),
        )
        .example("/dev/null", "/one /two"),
        Directive::server(
            "RemoteIPProxyProtocolExceptions",
            words("ADDRESS[/BITS]...", 1, ANY),
            "Clients that need no PROXY header, such as a program that checks the server's health.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    let network = network(arguments, index, arguments.filled(index)?, "")?;
                    target.site.limits.proxy_protocol_exceptions.push(network);
                }
                Ok(())
            },
        )
        .example("127.0.0.1 10.0.0.0/8", "monitor.example.com"),
        Directive::ignored(
            "RemoteIPProxiesHeader",
            "the field with the client's address stays as it was sent",
        ),
    ],
};

fn proxies(target: &mut Target, arguments: &Arguments, kind: ProxyKind) -> Applied {
    for index in 0..arguments.words.len() {
        let network = network(arguments, index, arguments.filled(index)?, "")?;
        rule(target).proxies.push(KnownProxy { network, kind });
    }
    Ok(())
}

/// Reads the file of `RemoteIPInternalProxyList` or `RemoteIPTrustedProxyList`.
fn listed(target: &mut Target, arguments: &Arguments, kind: ProxyKind) -> Applied {
    let file = arguments.path(0, &target.site.server_root)?;
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let message = format!("expected a file of addresses: {}: {error}", file.display());
        arguments.fault(0, message)
    })?;
    for (line, number) in text.lines().zip(1..) {
        let words = line.split_ascii_whitespace();
        for word in words.take_while(|word| !word.starts_with('#')) {
            let place = format!(" in {}:{number}", file.display());
            let network = network(arguments, 0, word, &place)?;
            rule(target).proxies.push(KnownProxy { network, kind });
        }
    }
    Ok(())
}

fn network(arguments: &Arguments, index: usize, text: &str, place: &str) -> Result<Network, Fault> {
    Network::parse(text).ok_or_else(|| {
        let message = format!("expected an address such as 10.0.0.0/8{place}, not `{text}`");
        arguments.fault(index, message)
    })
}

fn rule<'a>(target: &'a mut Target) -> &'a mut RemoteAddress {
    let empty = || RemoteAddress::new("", &[]);
    target.site.remote_address.get_or_insert_with(empty)
}
