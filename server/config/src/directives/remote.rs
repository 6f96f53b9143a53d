//! The directives for clients behind proxies: the PROXY protocol, and mod_remoteip's header field.

use super::row::*;
use crate::{Network, RemoteAddress};

pub const GROUP: Group = Group {
    title: "Behind a proxy",
    rows: &[
        Directive::server(
            "RemoteIPProxyProtocol",
            Shape::Flag,
            "Every TCP connection must begin with a PROXY header (version 1 or 2), which names \
             the client. Other connections are closed.",
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
             address that is not a trusted proxy's.",
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
            "The trusted proxies, whose RemoteIPHeader counts. By default there are none.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    let text = arguments.filled(index)?;
                    let Some(network) = Network::parse(text) else {
                        let message =
                            format!("expected an address such as 10.0.0.0/8, not `{text}`");
                        return Err(arguments.fault(index, message));
                    };
                    rule(target).proxies.push(network);
                }
                Ok(())
            },
        )
        .aliases(&["RemoteIPTrustedProxy"])
        .example("10.0.0.0/8 127.0.0.1", "proxy.example.com"),
        Directive::ignored(
            "RemoteIPProxiesHeader",
            "the field stays as the client sent it",
        ),
    ],
};

fn rule<'a>(target: &'a mut Target) -> &'a mut RemoteAddress {
    let empty = || RemoteAddress::new("", &[]);
    target.site.remote_address.get_or_insert_with(empty)
}
