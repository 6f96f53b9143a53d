//! Back ends: which URL paths they answer, how they are chosen, and what becomes of headers.

mod members;
pub(super) mod passes;
pub(super) mod programs;
mod url;

use super::row::*;
use crate::Forwarded;

pub const GROUP: Group = Group {
    title: "Back ends",
    rows: &[
        Directive::everywhere(
            "ProxyPass",
            words("[URL-PATH] !|URL [NAME=VALUE|nocanon]...", 1, ANY),
            "The back end or balancer that answers a URL path and what is below it; `!` excepts a path. The first that matches wins. In `<Location>` the path is the section's.",
            |target, arguments| passes::pass(target, arguments, false),
        )
        .example("/app http://127.0.0.1:8081/", "/app gopher://127.0.0.1/"),
        Directive::everywhere(
            "ProxyPassMatch",
            words("[REGEX] !|URL [NAME=VALUE|nocanon]...", 1, ANY),
            "Like ProxyPass for the paths an expression matches; `$1` in the URL stands for its first group.",
            |target, arguments| passes::pass(target, arguments, true),
        )
        .example("^/old/(.*)$ http://127.0.0.1:8081/new/$1", "^/old/( http://127.0.0.1:8081/"),
        Directive::everywhere(
            "ProxyPassReverse",
            words("[URL-PATH] URL", 1, 2),
            "Location, Content-Location and URI fields of a back end that begin with the URL begin with the path instead.",
            passes::reverse,
        )
        .example("/app http://127.0.0.1:8081/", "app http://127.0.0.1:8081/"),
        Directive::everywhere(
            "ProxyPassReverseCookieDomain",
            words("INTERNAL PUBLIC", 2, 2),
            "The domain of a back end's cookies is replaced.",
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
            "The path a back end's cookies begin with is replaced.",
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
            "Back ends see the client's Host field, not their own name.",
            |target, arguments| {
                target.changes.push(Change::PreserveHost(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ProxyAddHeaders",
            Shape::Flag,
            "Back ends are told of the client in X-Forwarded-For, -Host, -Proto and -Server.",
            |target, arguments| {
                target.changes.push(Change::ProxyAddHeaders(arguments.flag()?));
                Ok(())
            },
        )
        .default("On"),
        Directive::everywhere(
            "ProxyAddForwarded",
            Shape::Flag,
            "Back ends are told of the client in Forwarded too (RFC 7239), as `for=192.0.2.1;host=example.org;proto=https`.",
            |target, arguments| {
                target.changes.push(Change::ProxyAddForwarded(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ProxyForwarded",
            Shape::Choice(&["append", "replace"]),
            "Whether what a client says in Forwarded and X-Forwarded-* is kept and appended to, or replaced.",
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
        Directive::everywhere(
            "ProxyErrorOverride",
            words("On|Off [STATUS...]", 1, ANY),
            "A back end's answer from 400 on is replaced by this server's page for the status.",
            error_override,
        )
        .default("Off")
        .example("On 404 502", "On 200"),
        Directive::everywhere(
            "ProxyTimeout",
            SECONDS,
            "How long a back end may be silent: before its answer 504, within it the answer is cut off.",
            |target, arguments| {
                target.changes.push(Change::ProxyTimeout(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("RequestTimeout")
        .unit("seconds"),
        Directive::everywhere(
            "ProxyWebsocketIdleTimeout",
            SECONDS,
            "How long a connection that was upgraded may be silent on both sides.",
            |target, arguments| {
                target.changes.push(Change::TunnelTimeout(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("seconds"),
        Directive::everywhere(
            "BalancerMember",
            words("[balancer://NAME] URL [NAME=VALUE]...", 1, ANY),
            "A member of a balancer; in `<Proxy balancer://NAME>` the name is the section's. Knows loadfactor, max, smax, ttl, timeout, connectiontimeout, retry, route, status, slowstart, failontimeout and disablereuse.",
            members::member,
        )
        .example("balancer://pool http://127.0.0.1:8081 loadfactor=2 max=32", "balancer://pool http://127.0.0.1:8081 loadfactr=2"),
        Directive::everywhere(
            "ProxySet",
            words("[balancer://NAME] NAME=VALUE...", 1, ANY),
            "How a balancer works: lbmethod, stickysession, nofailover, backlog, timeout, maxattempts, hcinterval, hcuri, hcpasses, hcfails.",
            members::set,
        )
        .example("balancer://pool lbmethod=sqf backlog=200", "balancer://pool lbmethod=fastest"),
        Directive::host(
            "ProxyRequests",
            Shape::Choice(&["Off"]),
            "Mehari is no forward proxy: only Off is accepted.",
            |_, arguments| arguments.choice().map(drop),
        )
        .default("Off")
        .example("Off", "On"),
        Directive::server(
            "FastCgiServer",
            words("PATH [-processes N] [-initial-env NAME=VALUE]...", 1, ANY),
            "A FastCGI program that is started, watched and ended with this server. `SetHandler \"proxy:fcgi://PATH\"` and `ProxyPass ... fcgi://PATH` with the same path lead to it.",
            programs::program,
        )
        .aliases(&["FcgidServer"])
        .example("/usr/bin/php-cgi -processes 4", "/usr/bin/php-cgi -processs 4"),
        Directive::everywhere(
            "FcgidInitialEnv",
            words("NAME [VALUE]", 1, 2),
            "A variable of the environment that scripts of `SetHandler fcgid-script` are started with; without a value the server's own.",
            programs::initial_environment,
        )
        .example("RT_SITE_CONFIG /etc/rt/RT_SiteConfig.pm", "\"\" value"),
        Directive::everywhere(
            "FcgidMaxProcessesPerClass",
            Shape::Number { least: 1, most: 1000 },
            "Processes of each script of `SetHandler fcgid-script`; they are started with its first request.",
            |target, arguments| {
                let processes = arguments.number_usize()?;
                programs::scripts(target.site, |program| program.processes = processes);
                Ok(())
            },
        )
        .default("3"),
        Directive::everywhere(
            "XSendFile",
            Shape::Flag,
            "A program's X-Sendfile, X-LIGHTTPD-send-file or X-Accel-Redirect is answered with the file or path it names.",
            |target, arguments| {
                target.changes.push(Change::SendFile(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "XSendFilePath",
            Shape::Path,
            "A folder that files named by X-Sendfile may be in; the document root without one.",
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
