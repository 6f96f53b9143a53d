//! The directives of back ends: their URL paths, the choice among them, and the treatment of header
//! fields.

mod members;
pub(super) mod passes;
pub(super) mod programs;
pub(super) mod url;

pub use members::chosen as chosen_back_end;

use super::row::*;
use crate::{Forwarded, Via};

pub const GROUP: Group = Group {
    title: "Back ends",
    rows: &[
        Directive::everywhere(
            "ProxyPass",
            words("[URL-PATH] !|URL [NAME=VALUE|nocanon]...", 1, ANY),
            "The back end or balancer for a URL path and everything below it; `!` excludes a \
             path. The first matching line applies. In `<Location>` the path is the section's.",
            |target, arguments| passes::pass(target, arguments, false),
        )
        .example("/app http://127.0.0.1:8081/", "/app gopher://127.0.0.1/"),
        Directive::everywhere(
            "ProxyPassMatch",
            words("[REGEX] !|URL [NAME=VALUE|nocanon]...", 1, ANY),
            "Like ProxyPass for paths that match an expression; `$1` in the URL is its first \
             group.",
            |target, arguments| passes::pass(target, arguments, true),
        )
        .example(
            "^/old/(.*)$ http://127.0.0.1:8081/new/$1",
            "^/old/( http://127.0.0.1:8081/",
        ),
        Directive::everywhere(
            "ProxyPassReverse",
            words("[URL-PATH] URL", 1, 2),
            "In Location, Content-Location and URI fields of a back end, replaces the URL at the \
             beginning by the path.",
            passes::reverse,
        )
        .example("/app http://127.0.0.1:8081/", "app http://127.0.0.1:8081/"),
        Directive::everywhere(
            "ProxyPassReverseCookieDomain",
            words("INTERNAL PUBLIC", 2, 2),
            "Replaces the domain of a back end's cookies.",
            |target, arguments| {
                let (from, to) = pair(arguments)?;
                target.changes.push(Change::CookieDomain(from, to));
                Ok(())
            },
        )
        .example("backend.example www.example", "\"\" www.example"),
        Directive::everywhere(
            "ProxyPassReverseCookiePath",
            words("INTERNAL PUBLIC", 2, 2),
            "Replaces the beginning of the path of a back end's cookies.",
            |target, arguments| {
                let (from, to) = pair(arguments)?;
                target.changes.push(Change::CookiePath(from, to));
                Ok(())
            },
        )
        .example("/ /app/", "\"\" /app/"),
        Directive::everywhere(
            "ProxyPreserveHost",
            Shape::Flag,
            "Whether back ends see the client's Host field instead of their own name.",
            |target, arguments| {
                target.changes.push(Change::PreserveHost(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ProxyAddHeaders",
            Shape::Flag,
            "Whether back ends get X-Forwarded-For, -Host, -Proto and -Server.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::ProxyAddHeaders(arguments.flag()?));
                Ok(())
            },
        )
        .default("On"),
        Directive::everywhere(
            "ProxyAddForwarded",
            Shape::Flag,
            "Whether back ends also get Forwarded (RFC 7239), as \
             `for=192.0.2.1;host=example.org;proto=https`.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::ProxyAddForwarded(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ProxyForwarded",
            Shape::Choice(&["append", "replace"]),
            "Whether the client's Forwarded and X-Forwarded-* are extended or replaced.",
            |target, arguments| {
                let rule = match arguments.choice()? {
                    "replace" => Forwarded::Replace,
                    _ => Forwarded::Append,
                };
                target.changes.push(Change::ProxyForwarded(rule));
                Ok(())
            },
        )
        .default("append"),
        Directive::host(
            "ProxyVia",
            Shape::Choice(&["Off", "On", "Full", "Block"]),
            "The field Via of requests to HTTP back ends and of their responses: passed on (Off), \
             extended by this server (On), with its version (Full). Block removes the field from \
             requests.",
            |target, arguments| {
                let via = match arguments.choice()? {
                    "On" => Via::On,
                    "Full" => Via::Full,
                    "Block" => Via::Block,
                    _ => Via::Off,
                };
                target.changes.push(Change::ProxyVia(via));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ProxyErrorOverride",
            words("On|Off [STATUS...]", 1, ANY),
            "Whether this server's error page replaces a back end's response with status 400 or \
             above.",
            error_override,
        )
        .default("Off")
        .example("On 404 502", "On 200"),
        Directive::everywhere(
            "ProxyTimeout",
            SECONDS,
            "How long a back end may be silent. If its response has not begun, the client gets \
             504. Otherwise the response is cut off.",
            |target, arguments| {
                target.changes.push(Change::ProxyTimeout(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("Timeout")
        .unit("seconds"),
        Directive::everywhere(
            "ProxyWebsocketIdleTimeout",
            SECONDS,
            "How long an upgraded connection may be silent on both sides.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::TunnelTimeout(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("seconds"),
        Directive::everywhere(
            "BalancerMember",
            words("[balancer://NAME] URL [NAME=VALUE]...", 1, ANY),
            "A member of a balancer; in `<Proxy balancer://NAME>` the name is the section's. \
             Parameters: loadfactor, max, smax, ttl, timeout, connectiontimeout, retry, route, \
             status, slowstart, failontimeout and disablereuse.",
            members::member,
        )
        .example(
            "balancer://pool http://127.0.0.1:8081 loadfactor=2 max=32",
            "balancer://pool http://127.0.0.1:8081 loadfactr=2",
        ),
        Directive::everywhere(
            "ProxySet",
            words("[balancer://NAME] NAME=VALUE...", 1, ANY),
            "Settings of a balancer: lbmethod, stickysession, nofailover, backlog, timeout, \
             maxattempts, hcinterval, hcuri, hcpasses, hcfails.",
            members::set,
        )
        .example(
            "balancer://pool lbmethod=sqf backlog=200",
            "balancer://pool lbmethod=fastest",
        ),
        Directive::host(
            "ProxyRequests",
            Shape::Choice(&["Off"]),
            "Only Off is accepted, because Mehari is not a forward proxy.",
            |_, arguments| arguments.choice().map(drop),
        )
        .default("Off")
        .example("Off", "On"),
        Directive::server(
            "FastCgiServer",
            words("PATH [-processes N] [-initial-env NAME=VALUE]...", 1, ANY),
            "A FastCGI program that this server starts, restarts and ends. `SetHandler \
             \"proxy:fcgi://PATH\"` and `ProxyPass ... fcgi://PATH` with the same path use it.",
            programs::program,
        )
        .aliases(&["FcgidServer"])
        .example(
            "/usr/bin/php-cgi -processes 4",
            "/usr/bin/php-cgi -processs 4",
        ),
        Directive::everywhere(
            "FcgidInitialEnv",
            words("NAME [VALUE]", 1, 2),
            "An environment variable for scripts of `SetHandler fcgid-script`. Without VALUE, the \
             variable has its value in the server's own environment.",
            programs::initial_environment,
        )
        .aliases(&["DefaultInitEnv"])
        .example("RT_SITE_CONFIG /etc/rt/RT_SiteConfig.pm", "\"\" value"),
        Directive::everywhere(
            "FcgidMaxProcessesPerClass",
            Shape::Number {
                least: 1,
                most: 1000,
            },
            "Processes of each script of `SetHandler fcgid-script`, started by its first request.",
            |target, arguments| {
                let processes = arguments.number_usize()?;
                programs::scripts(target.site, |program| program.processes = processes);
                Ok(())
            },
        )
        .default("3")
        .aliases(&["DefaultMaxClassProcessCount"]),
        Directive::everywhere(
            "XSendFile",
            Shape::Flag,
            "Whether the server sends the file or path that a program names in X-Sendfile, \
             X-LIGHTTPD-send-file or X-Accel-Redirect.",
            |target, arguments| {
                target.changes.push(Change::SendFile(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "XSendFilePath",
            Shape::Path,
            "A folder for files named by X-Sendfile.",
            |target, arguments| {
                let root = arguments.path(0, &target.site.server_root)?;
                target.changes.push(Change::SendFileRoot(root));
                Ok(())
            },
        )
        .otherwise("the document root"),
    ],
};

const SECONDS: Shape = Shape::Time {
    least: 1,
    most: 86_400,
};

fn pair(arguments: &Arguments) -> Result<(String, String), Fault> {
    Ok((
        arguments.filled(0)?.to_string(),
        arguments.filled(1)?.to_string(),
    ))
}

fn error_override(target: &mut Target, arguments: &Arguments) -> Applied {
    let on = arguments.flag()?;
    let mut statuses = Vec::new();
    for index in 1..arguments.words.len() {
        let text = arguments.filled(index)?;
        let status = text.parse().ok();
        let status = status.filter(|status| (400..=599).contains(status));
        statuses.push(status.ok_or_else(|| {
            let message = format!("expected a status from 400 to 599, not `{text}`");
            arguments.fault(index, message)
        })?);
    }
    let statuses = on.then_some(statuses);
    target.changes.push(Change::ErrorOverride(statuses));
    Ok(())
}
