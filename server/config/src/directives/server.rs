//! The directives of the server: its addresses, its names, its users, and included files.

use super::row::*;
use crate::environment::{IncludeRequest, UseRequest};
use crate::line::Word;
use crate::Listen;

pub const GROUP: Group = Group {
    title: "The server",
    rows: &[
        Directive::server(
            "Listen",
            words("[ADDRESS:]PORT [https] [options=NAME,...]", 1, 3),
            "An address and port for connections. The directive may be repeated. A port alone, or \
             `*:PORT`, takes connections over IPv4 and IPv6.",
            listen,
        )
        .aliases(&["Port"])
        .otherwise("127.0.0.1:8080, or the address of `--listen`")
        .example("8080", "eighty"),
        Directive::server(
            "ServerRoot",
            Shape::Path,
            "The folder to which relative paths in the configuration refer.",
            |target, arguments| {
                target.site.server_root = arguments.path(0, &target.site.server_root)?;
                Ok(())
            },
        )
        .otherwise("the folder of the configuration file"),
        Directive::host(
            "ServerName",
            words("[https://]HOST[:PORT]", 1, 1),
            "The server's name, which stands in its links and in SERVER_NAME. If another server \
             in front speaks TLS, write the name with https://. The links then begin with \
             https:// on every connection.",
            server_name,
        )
        .otherwise("the name in the request's Host field")
        .example("www.example.com", "\"two words\""),
        Directive::everywhere(
            "UseCanonicalName",
            Shape::Choice(&["Off", "On", "DNS"]),
            "The source of SERVER_NAME and SERVER_PORT, and of names in links. Off: the name that \
             the client requested. On: ServerName with its port. DNS has the effect of On, \
             because no address is looked up.",
            |target, arguments| {
                let canonical = arguments.choice()? != "Off";
                if of_the_host(target) {
                    target.host.names.canonical = Some(canonical);
                }
                Ok(())
            },
        )
        .otherwise("Off"),
        Directive::everywhere(
            "UseCanonicalPhysicalPort",
            Shape::Flag,
            "The port in links and SERVER_PORT if the client's Host field names no port. On: the \
             connection's port. Off: ServerName's port.",
            |target, arguments| {
                let physical = arguments.flag()?;
                if of_the_host(target) {
                    target.host.names.physical_port = Some(physical);
                }
                Ok(())
            },
        )
        .otherwise("Off"),
        Directive::host(
            "StrictHostCheck",
            Shape::Flag,
            "The answer to a request for a name that no host of the connection's address has. On: \
             the request gets 400. Off: the first of these hosts answers. The value in this first \
             host counts.",
            |target, arguments| {
                target.host.names.strict = Some(arguments.flag()?);
                Ok(())
            },
        )
        .default("Off"),
        Directive::host(
            "ServerAlias",
            words("HOST...", 1, ANY),
            "More names of a virtual host. `*` and `?` are wildcards.",
            server_alias,
        )
        .example("example.com *.example.com", "\"two words\""),
        Directive::host(
            "ServerAdmin",
            words("ADDRESS", 1, 1),
            "The address in SERVER_ADMIN.",
            |target, arguments| {
                target.host.server_admin = Some(arguments.filled(0)?.to_string());
                Ok(())
            },
        )
        .example("webmaster@example.com", "\"\""),
        Directive::server(
            "PidFile",
            Shape::Path,
            "The file that holds the server's process number while it runs.",
            |target, arguments| {
                target.site.process.pid_file = Some(arguments.path(0, &target.site.server_root)?);
                Ok(())
            },
        )
        .otherwise("no file is written"),
        Directive::server(
            "FrontThreads",
            words("Auto|NUMBER", 1, 1),
            "The number of threads (1 to 256) of the front, the process that owns all \
             connections. One thread owns the connections. All threads make TLS handshakes and \
             run long edge Lua scripts (the scripts of LuaAttractRawURL and its relatives). Auto: \
             as many threads as the process has cores.",
            front_threads,
        )
        .default("Auto")
        .example("4", "many"),
        Directive::server(
            "ProfileAlways",
            words("RATE|Off", 1, 1),
            "Takes samples of the Perl of all workers, RATE times per second (1 to 999). The \
             samples of the last day are kept for `mehari profile --at` and `--from`.",
            profile_always,
        )
        .default("Off")
        .example("19", "sometimes"),
        Directive::server(
            "ProfileFolder",
            Shape::Path,
            "The folder for the samples of ProfileAlways. The server creates it.",
            |target, arguments| {
                let folder = arguments.path(0, &target.site.server_root)?;
                target.site.process.profile_folder = Some(folder);
                Ok(())
            },
        )
        .otherwise("`logs/profile` below ServerRoot")
        .example("/var/lib/mehari/profile", "/one /two"),
        Directive::server(
            "ProfileLimit",
            Shape::Number {
                least: 1 << 20,
                most: u64::MAX,
            },
            "The most bytes that ProfileFolder may hold. The oldest samples are removed first.",
            |target, arguments| {
                target.site.process.profile_limit = Some(arguments.number()?);
                Ok(())
            },
        )
        .default("67108864")
        .unit("bytes"),
        Directive::server(
            "User",
            words("NAME|#NUMBER", 1, 1),
            "The user that the front, the workers and CGI programs become if root starts the \
             server. They become this user after the addresses are bound. In a `<PerlPool>`: the \
             user of the pool's Perl.",
            |target, arguments| {
                let name = Some(arguments.filled(0)?.to_string());
                match &mut target.pool {
                    Some(pool) => pool.user = name,
                    None => target.site.process.user = name,
                }
                Ok(())
            },
        )
        .otherwise("the user who started it")
        .example("www-data", "\"\"")
        .of_pool(),
        Directive::server(
            "Group",
            words("NAME|#NUMBER", 1, 1),
            "The group of the server's processes if root starts the server. The processes keep \
             the user's other groups.",
            |target, arguments| {
                let name = Some(arguments.filled(0)?.to_string());
                match &mut target.pool {
                    Some(pool) => pool.group = name,
                    None => target.site.process.group = name,
                }
                Ok(())
            },
        )
        .otherwise("the user's own")
        .example("www-data", "\"\"")
        .of_pool(),
        Directive::server(
            "GracefulShutdownTimeout",
            Shape::Time {
                least: 1,
                most: 86_400,
            },
            "How long a stopping server waits for running requests and for deferred calls \
             (`$r->after_response`).",
            |target, arguments| {
                target.team.workers.stop_timeout = arguments.time()?;
                Ok(())
            },
        )
        .default("30")
        .unit("seconds"),
        Directive::everywhere(
            "Include",
            words("FILE|FOLDER|PATTERN", 1, 1),
            "Reads other files at this place. A folder stands for all files below it.",
            |target, arguments| include(target, arguments, false),
        )
        .example("/etc/mehari/site.conf", "\"\""),
        Directive::everywhere(
            "IncludeOptional",
            words("FILE|FOLDER|PATTERN", 1, 1),
            "Reads other files at this place, if they exist.",
            |target, arguments| include(target, arguments, true),
        )
        .example("conf.d/*.conf", "\"\""),
        Directive::everywhere(
            "Use",
            words("NAME [VALUE]...", 1, ANY),
            "Reads the lines of a `<Macro>` at this place. The values replace the macro's \
             parameters.",
            |target, arguments| {
                target.environment.used = Some(UseRequest {
                    name: arguments.filled(0)?.to_string(),
                    values: arguments.words[1..]
                        .iter()
                        .map(|word| word.text.clone())
                        .collect(),
                    at: arguments.word(0)?.at,
                });
                Ok(())
            },
        )
        .example("Site www.example.org", "NoSuchMacro"),
        Directive::everywhere(
            "UndefMacro",
            words("NAME", 1, 1),
            "Removes a `<Macro>`. Another macro may then have its name.",
            |target, arguments| {
                target.environment.forgotten = Some(arguments.filled(0)?.to_string());
                Ok(())
            },
        )
        .example("Site", "\"\""),
        Directive::everywhere(
            "Define",
            words("NAME [VALUE]", 1, 2),
            "Defines a name for `<IfDefine>` and for `${NAME}`.",
            define,
        )
        .example("DOCROOT /srv/www", "a-b 1"),
        Directive::everywhere(
            "UnDefine",
            words("NAME", 1, 1),
            "Removes a defined name.",
            |target, arguments| {
                target
                    .environment
                    .definitions
                    .names
                    .remove(arguments.filled(0)?);
                Ok(())
            },
        )
        .example("DOCROOT", "\"\""),
        Directive::server(
            "LoadModule",
            words("NAME_module FILE", 2, 2),
            "Makes the module present for `<IfModule>`. The server does not load FILE.",
            load_module,
        )
        .example("perl_module modules/mod_perl.so", "mod_perl.so x"),
    ],
};

/// Applies `FrontThreads`.
fn front_threads(target: &mut Target, arguments: &Arguments) -> Result<(), Fault> {
    let text = arguments.text(0)?;
    target.site.process.front_threads = match text.parse() {
        _ if text.eq_ignore_ascii_case("auto") => None,
        Ok(number @ 1..=256) => Some(number),
        _ => {
            let expected = format!("expected Auto or a number from 1 to 256, not `{text}`");
            return Err(arguments.fault(0, expected));
        }
    };
    Ok(())
}

fn profile_always(target: &mut Target, arguments: &Arguments) -> Applied {
    let word = arguments.filled(0)?;
    let rate = word.parse().ok().filter(|rate| (1..=999).contains(rate));
    target.site.process.profile_rate = match rate {
        None if word.eq_ignore_ascii_case("off") => None,
        None => {
            let message = format!("expected samples a second, 1 to 999, or Off, not `{word}`");
            return Err(arguments.fault(0, message));
        }
        rate => rate,
    };
    Ok(())
}

fn listen(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    let is_option = |word: &&Word| word.text.to_ascii_lowercase().starts_with("options=");
    let option = arguments.words[1..].iter().find(is_option);
    let protocol = arguments.words.get(1).filter(|word| !is_option(word));
    let secure = match protocol
        .map(|word| word.text.to_ascii_lowercase())
        .as_deref()
    {
        None => None,
        Some("http") => Some(false),
        Some("https") => Some(true),
        Some(other) => {
            return Err(arguments.fault(1, format!("expected http or https, not `{other}`")))
        }
    };
    if let Some(word) = arguments.words.get(2).or(option) {
        let message = format!("`{}` has no effect here", word.text);
        target.environment.remark(message);
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(("*", text));
    let is_port = port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit());
    let in_brackets = host.starts_with('[') && host.ends_with(']');
    let is_host = !host.is_empty()
        && !host.contains(char::is_whitespace)
        && (in_brackets || !host.contains(':'));
    if !is_port || !is_host {
        let message = format!("expected PORT, ADDRESS:PORT or [IPV6]:PORT, not `{text}`");
        return Err(arguments.fault(0, message));
    }
    let address = format!("{host}:{port}");
    let mut known = target.site.listen.iter();
    if known.any(|listen| listen.address == address) {
        target
            .environment
            .remark(format!("the server already listens at {address}"));
    } else {
        target.site.listen.push(Listen { address, secure });
    }
    Ok(())
}

fn server_name(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    let (scheme, name) = text.split_once("://").unwrap_or(("http", text));
    if !["http", "https"].contains(&scheme) {
        let message = format!("expected a host name, https:// or http:// before it, not `{text}`");
        let fault = arguments.fault(0, message);
        return Err(fault.or_nearest(scheme, ["http", "https"].into_iter()));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if !name.chars().all(fits) || name.is_empty() {
        return Err(arguments.fault(0, format!("expected a host name, not `{text}`")));
    }
    let (name, port) = match name.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            let number = port.parse::<u16>().ok().filter(|port| *port > 0);
            let expected = || format!("expected a port from 1 to 65535, not `{port}`");
            let number = number.ok_or_else(|| arguments.fault(0, expected()))?;
            (host, Some(number))
        }
        _ => (name, None),
    };
    target.host.names.server_name = Some(name.to_string());
    target.host.names.server_port = port;
    target.host.names.is_https = scheme == "https";
    Ok(())
}

/// Tells whether the line is outside of sections. Inside a section the directive has no effect, and
/// the function notes this.
fn of_the_host(target: &mut Target) -> bool {
    if target.in_section {
        target
            .environment
            .ignore("only the host's line outside of sections applies");
    }
    !target.in_section
}

fn server_alias(target: &mut Target, arguments: &Arguments) -> Applied {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._:[]*?".contains(c);
    for index in 0..arguments.words.len() {
        let name = arguments.filled(index)?;
        if !name.chars().all(fits) {
            return Err(arguments.fault(index, format!("expected a host name, not `{name}`")));
        }
        target.host.names.aliases.push(name.to_ascii_lowercase());
    }
    Ok(())
}

fn include(target: &mut Target, arguments: &Arguments, optional: bool) -> Applied {
    target.environment.include = Some(IncludeRequest {
        pattern: arguments.filled(0)?.to_string(),
        optional,
        at: arguments.word(0)?.at,
    });
    Ok(())
}

fn define(target: &mut Target, arguments: &Arguments) -> Applied {
    let name = arguments.filled(0)?;
    if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        let message = format!("expected a name of letters, digits and `_`, not `{name}`");
        return Err(arguments.fault(0, message));
    }
    let value = arguments.words.get(1).map_or("", |word| &word.text);
    target
        .environment
        .definitions
        .names
        .insert(name.to_string(), value.to_string());
    Ok(())
}

fn load_module(target: &mut Target, arguments: &Arguments) -> Applied {
    let name = arguments.filled(0)?;
    if !name.ends_with("_module") {
        let message = format!("expected a module's identifier such as perl_module, not `{name}`");
        return Err(arguments.fault(0, message));
    }
    target.environment.load_module(name);
    Ok(())
}
