//! The names of the sections, and the scopes that opening lines describe.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use crate::arguments::plain;
use crate::httpd::httpd_version;
use crate::line::Word;
use crate::problem::Fault;
use crate::{HostAddress, Pattern, Scope};

/// A kind of section that Mehari knows, for the documentation.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct SectionKind {
    pub name: &'static str,
    pub usage: &'static str,
    pub about: &'static str,
}

const fn kind(name: &'static str, usage: &'static str, about: &'static str) -> SectionKind {
    SectionKind { name, usage, about }
}

pub const SECTIONS: &[SectionKind] = &[
    kind(
        "Directory",
        "<Directory PATH>",
        "Applies to the files in a folder and below it. Each part of PATH between slashes may \
         have wildcards.",
    ),
    kind(
        "DirectoryMatch",
        "<DirectoryMatch REGEX>",
        "Applies to folders and files whose path matches the expression.",
    ),
    kind(
        "Files",
        "<Files NAME>",
        "Applies to files with this name. NAME may have wildcards. The section may stand in \
         `<Directory>` and `<DirectoryMatch>`.",
    ),
    kind(
        "FilesMatch",
        "<FilesMatch REGEX>",
        "Applies to files whose name matches the expression. The section may stand in \
         `<Directory>` and `<DirectoryMatch>`.",
    ),
    kind(
        "Location",
        "<Location URL-PATH>",
        "Applies to requests for this URL path and for paths below it. A URL-PATH with wildcards \
         must match the whole path of the request.",
    ),
    kind(
        "LocationMatch",
        "<LocationMatch REGEX>",
        "Applies to requests whose URL path matches the expression.",
    ),
    kind(
        "If",
        "<If EXPRESSION>",
        "Applies to requests for which the expression is true. These sections are merged after \
         all others.",
    ),
    kind(
        "ElseIf",
        "<ElseIf EXPRESSION>",
        "Applies to requests for which this expression is true, if no `<If>` or `<ElseIf>` before \
         it was true.",
    ),
    kind(
        "Else",
        "<Else>",
        "Applies to requests for which no `<If>` or `<ElseIf>` before it was true.",
    ),
    kind(
        "Limit",
        "<Limit METHOD...>",
        "Holds access rules for requests with these methods only.",
    ),
    kind(
        "LimitExcept",
        "<LimitExcept METHOD...>",
        "Holds access rules for requests with all other methods.",
    ),
    kind(
        "RequireAny",
        "<RequireAny>",
        "Holds Require lines. At least one of them must be true.",
    ),
    kind(
        "RequireAll",
        "<RequireAll>",
        "Holds Require lines. All of them must be true.",
    ),
    kind(
        "RequireNone",
        "<RequireNone>",
        "Holds Require lines. None of them may be true.",
    ),
    kind(
        "IfFile",
        "<IfFile [!]FILE>",
        "The lines are read if the file exists. With `!`, they are read if it does not exist.",
    ),
    kind(
        "IfDirective",
        "<IfDirective [!]NAME>",
        "The lines are read if Mehari knows the directive.",
    ),
    kind(
        "IfSection",
        "<IfSection [!]NAME>",
        "The lines are read if Mehari knows the section.",
    ),
    kind(
        "Proxy",
        "<Proxy balancer://NAME>",
        "Holds the members and settings of a balancer, which is a group of back ends.",
    ),
    kind(
        "ProxyMatch",
        "<ProxyMatch REGEX>",
        "Applies to requests that are proxied to a URL that matches the expression.",
    ),
    kind(
        "VirtualHost",
        "<VirtualHost ADDRESS[:PORT]...>",
        "Defines a virtual host. A request's host is chosen by address, ServerName and \
         ServerAlias. A virtual host inherits the main server's settings.",
    ),
    kind(
        "PerlPool",
        "<PerlPool NAME>",
        "Defines an application with its own Perl, workers, limits, user and cgroup. `PerlPool \
         NAME` assigns a host or section to it.",
    ),
    kind(
        "MDomainSet",
        "<MDomainSet NAME...>",
        "Defines a managed domain with its own settings: host names for which the server requests \
         and renews a certificate.",
    ),
    kind(
        "MDomain",
        "<MDomain NAME...>",
        "Has the effect of `<MDomainSet>`.",
    ),
    kind(
        "Macro",
        "<Macro NAME [PARAMETER]...>",
        "Holds lines that `Use` inserts elsewhere. `Use` replaces the parameters by values.",
    ),
    kind(
        "IfModule",
        "<IfModule [!]NAME>",
        "The lines are read if the module is present. If the configuration has LoadModule lines, \
         the modules of these lines and those that are built into Apache are present. Otherwise \
         the modules that Mehari replaces are present, except mod_ssl.",
    ),
    kind(
        "IfDefine",
        "<IfDefine [!]NAME>",
        "The lines are read if `-D NAME` or `Define NAME` defines the name.",
    ),
    kind(
        "IfVersion",
        "<IfVersion [OP] VERSION>",
        concat!(
            "The lines are read if the comparison with httpd ",
            httpd_version!(),
            " is true."
        ),
    ),
];

/// Returns the scope of a `<Directory>`, `<Files>` or `<Location>` line or of its Match form.
/// `name` is in lower case.
pub(crate) fn scope(
    name: &str,
    opening: &Word,
    words: &[Word],
    server_root: &Path,
) -> Result<Scope, Fault> {
    let usage = SECTIONS
        .iter()
        .find(|kind| kind.name.eq_ignore_ascii_case(name));
    let usage = usage.map_or("", |kind| kind.usage);
    let regex_form = words.first().is_some_and(|word| word.text == "~");
    let words = &words[usize::from(regex_form)..];
    let word = match words {
        [] => {
            let message = format!("an argument is missing; expected `{usage}`");
            return Err(Fault::new(opening.at, message));
        }
        [word] => word,
        [_, extra, ..] => {
            let message = format!(
                "`{}` is one argument too many; expected `{usage}`",
                extra.text
            );
            return Err(Fault::new(extra.at, message));
        }
    };
    let expected =
        |what: &str| Fault::new(word.at, format!("expected {what}, not `{}`", word.text));
    if word.text.is_empty() {
        return Err(expected("a value"));
    }
    if regex_form || name.ends_with("match") {
        let pattern = Pattern::new(&word.text)
            .map_err(|why| expected(&format!("a regular expression ({why})")))?;
        return Ok(match name.trim_end_matches("match") {
            "directory" => Scope::DirectoryMatch(pattern),
            "files" => Scope::FilesMatch(pattern),
            _ => Scope::LocationMatch(pattern),
        });
    }
    match name {
        "directory" => Ok(Scope::Directory(folder(server_root, &word.text))),
        "files" if word.text.contains('/') => Err(expected("a file name without `/`")),
        "files" => Ok(Scope::Files(word.text.clone())),
        _ if !word.text.starts_with('/') => Err(expected("a URL path that begins with `/`")),
        _ => Ok(Scope::Location(word.text.clone())),
    }
}

/// Returns the addresses of `<VirtualHost>`: `*:80`, `10.0.0.1:80`, `[::1]:80`, `_default_:443`,
/// `*`, or a host name, which this function looks up once.
pub(crate) fn addresses(opening: &Word, words: &[Word]) -> Result<Vec<HostAddress>, Fault> {
    if words.is_empty() {
        let message = "an argument is missing; expected `<VirtualHost ADDRESS[:PORT]...>`";
        return Err(Fault::new(opening.at, message));
    }
    let mut all = Vec::new();
    for word in words {
        let found = address(&word.text).map_err(|why| {
            let message = format!(
                "expected *:PORT, ADDRESS:PORT or [IPV6]:PORT, not `{}`{why}",
                word.text
            );
            Fault::new(word.at, message)
        })?;
        all.extend(found);
    }
    Ok(all)
}

fn address(text: &str) -> Result<Vec<HostAddress>, String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, "*"),
    };
    let port = match port {
        "*" => None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().map_err(|_| String::new())?)
        }
        _ => return Err(String::new()),
    };
    if host == "*" || host.eq_ignore_ascii_case("_default_") {
        return Ok(vec![HostAddress { ip: None, port }]);
    }
    let bare = host
        .strip_prefix('[')
        .map_or(Some(host), |rest| rest.strip_suffix(']'))
        .ok_or_else(String::new)?;
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![HostAddress { ip: Some(ip), port }]);
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if host.is_empty() || !host.chars().all(fits) {
        return Err(String::new());
    }
    let resolved = (host, 0)
        .to_socket_addrs()
        .map_err(|error| format!(": the name has no address ({error})"))?;
    Ok(resolved
        .map(|address| HostAddress {
            ip: Some(address.ip()),
            port,
        })
        .collect())
}

fn folder(server_root: &Path, text: &str) -> PathBuf {
    // The path has no final slash, so that a folder has only one name.
    plain(&server_root.join(text)).components().collect()
}
