//! The directives of back ends: their URL paths, the choice among them, and the treatment of header
//! fields.

mod health;
mod members;
pub(super) mod passes;
pub(super) mod programs;
pub(super) mod url;

pub use members::chosen as chosen_back_end;
pub(crate) use members::set_in_head;

use super::row::*;
use crate::{Forwarded, Via};

pub const GROUP: Group = Group {
    title: "Back ends",
    rows: &[
        Directive::everywhere(
            "ProxyPass",
            words("[URL-PATH] !|URL [NAME=VALUE|nocanon]...", 1, ANY),
            "The back end or balancer for a URL path and everything below it. `!` excludes a \
             path. The first matching line applies. In `<Location>`, the URL path is left out, \
             and the section's path counts.",
            |target, arguments| passes::pass(target, arguments, false),
        )
        .example("/app http://127.0.0.1:8081/", "/app gopher://127.0.0.1/"),
        Directive::everywhere(
            "ProxyPassMatch",
            words("[REGEX] !|URL [NAME=VALUE|nocanon]...", 1, ANY),
            "Like ProxyPass, for paths that match an expression. `$1` in the URL stands for the \
             first group of the expression.",
            |target, arguments| passes::pass(target, arguments, true),
        )
        .example(
            "^/old/(.*)$ http://127.0.0.1:8081/new/$1",
            "^/old/( http://127.0.0.1:8081/",
        ),
        Directive::everywhere(
            "ProxyPassReverse",
            words("[URL-PATH] URL [interpolate]", 1, 3),
            "Changes the fields Location, Content-Location and URI of a back end's response. If \
             the value begins with the URL, the path replaces this beginning.",
            passes::reverse,
        )
        .example("/app http://127.0.0.1:8081/", "app http://127.0.0.1:8081/"),
        Directive::everywhere(
            "ProxyPassReverseCookieDomain",
            words("INTERNAL PUBLIC", 2, 2),
            "Replaces the domain INTERNAL in cookies of back ends by PUBLIC.",
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
            "Changes the path in cookies of back ends. If it begins with INTERNAL, PUBLIC \
             replaces the whole path, as in Apache.",
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
            "The Host field that back ends get. On: the client's. Off: the back end's own name.",
            |target, arguments| {
                target.changes.push(Change::PreserveHost(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ProxyAddHeaders",
            Shape::Flag,
            "Whether back ends get X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto and \
             X-Forwarded-Server.",
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
            "Whether back ends also get the field Forwarded (RFC 7239), such as \
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
            "What happens to the client's Forwarded and X-Forwarded-* fields. append: the server \
             adds its values. replace: the server replaces the client's values.",
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
            "The field Via in requests to HTTP back ends and in their responses. Off: it is \
             passed on unchanged. On: the server adds itself. Full: the server adds itself with \
             its version. Block: the field is removed from requests.",
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
             above. If statuses are named, only responses with these statuses are replaced.",
            error_override,
        )
        .default("Off")
        .example("On 404 502", "On 200"),
        Directive::everywhere(
            "ProxyTimeout",
            SECONDS,
            "How long a back end may send nothing. If its response has not begun by then, the \
             client gets 504. Otherwise the response is cut off.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::ProxyTimeout(arguments.time_above_zero()?));
                Ok(())
            },
        )
        .otherwise("Timeout")
        .unit("seconds"),
        Directive::everywhere(
            "ProxyWebsocketIdleTimeout",
            SECONDS,
            "How long an upgraded connection, such as a WebSocket, may carry nothing in either \
             direction.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::TunnelTimeout(arguments.time_above_zero()?));
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("seconds"),
        Directive::everywhere(
            "BalancerMember",
            words("[balancer://NAME] URL [NAME=VALUE]...", 1, ANY),
            "A back end that is a member of a balancer. In `<Proxy balancer://NAME>`, the first \
             argument is left out. Parameters: loadfactor, lbset, max, smax, ttl, timeout, \
             connectiontimeout, retry, route, redirect, status, slowstart, failontimeout, \
             disablereuse, and those of health checks: hcmethod, hcinterval, hcuri, hcpasses, \
             hcfails, hctemplate and hcexpr.",
            members::member,
        )
        .example(
            "balancer://pool http://127.0.0.1:8081 loadfactor=2 max=32",
            "balancer://pool http://127.0.0.1:8081 loadfactr=2",
        ),
        Directive::everywhere(
            "ProxySet",
            words("[balancer://NAME] NAME=VALUE...", 1, ANY),
            "Settings of a balancer: lbmethod, stickysession, stickysessionsep, \
             scolonpathdelim, nofailover, failonstatus, failontimeout, backlog, timeout and \
             maxattempts. The parameters of health checks apply to the members that do not set \
             them.",
            members::set,
        )
        .example(
            "balancer://pool lbmethod=sqf backlog=200",
            "balancer://pool lbmethod=fastest",
        ),
        Directive::server(
            "ProxyHCTemplate",
            words("NAME PARAMETER=VALUE...", 2, ANY),
            "Names parameters of a health check, which `hctemplate=NAME` sets together. The line \
             stands before the lines that use the name.",
            health::template,
        )
        .example(
            "web hcmethod=GET hcuri=/health hcinterval=5",
            "web hcmethod=FETCH",
        ),
        Directive::server(
            "ProxyHCExpr",
            words("NAME {EXPRESSION}", 2, ANY),
            "Names an expression about the response to a health check, which `hcexpr=NAME` uses: \
             the member is healthy if the expression holds. The expression may use \
             `%{REQUEST_STATUS}`, `%{resp:FIELD}` and `hc('body')`. The line stands before the \
             lines that use the name.",
            health::condition,
        )
        .example(
            "up {%{REQUEST_STATUS} =~ /^[23]/}",
            "up {%{REQUEST_STATUS} =~ }",
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
            "A FastCGI program that this server starts, restarts and ends. Requests reach it by \
             `SetHandler \"proxy:fcgi://PATH\"` or `ProxyPass ... fcgi://PATH` with the same \
             path.",
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
            "An environment variable for scripts of `SetHandler fcgid-script`. If VALUE is left \
             out, the variable has its value in the server's own environment.",
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
            "The number of processes of each script of `SetHandler fcgid-script`. The script's \
             first request starts them.",
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
            "Whether a program may name a file or path in X-Sendfile, X-LIGHTTPD-send-file or \
             X-Accel-Redirect, which the server then sends.",
            |target, arguments| {
                target.changes.push(Change::SendFile(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "XSendFilePath",
            Shape::Path,
            "A folder whose files a program may name in X-Sendfile.",
            |target, arguments| {
                let root = arguments.path(0, &target.site.server_root)?;
                target.changes.push(Change::SendFileRoot(root));
                Ok(())
            },
        )
        .otherwise("the document root"),
    ],
};

/// A time that may be shorter than a second.
const SECONDS: Shape = Shape::Time {
    least: 0,
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
