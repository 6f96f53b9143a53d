//! The directives that map URL paths to files.

use std::sync::Arc;

use super::row::*;
use crate::overrides::{FILE_INFO, INDEXES};
use crate::{
    Alias, EncodedSlashes, Pattern, PlaceAlias, RedirectFrom, RedirectRule, Scope, Text, UserPlace,
};

pub const GROUP: Group = Group {
    title: "URL paths",
    rows: &[
        Directive::host(
            "DocumentRoot",
            Shape::Path,
            "The folder that the URL path `/` stands for.",
            |target, arguments| {
                target.host.mapping.document_root = arguments.path(0, &target.site.server_root)?;
                Ok(())
            },
        )
        .otherwise("htdocs below ServerRoot"),
        Directive::everywhere(
            "Alias",
            words("[URL-PATH] PATH", 1, 2),
            "The file or folder that a URL path stands for. The first matching Alias applies. In \
             `<Location>`, the URL path may be left out. PATH is then the file for all paths of \
             the section, and it may contain variables such as `%{env:NAME}`.",
            |target, arguments| alias(target, arguments, false),
        )
        .example("/icons /usr/share/icons", "icons /usr/share/icons"),
        Directive::everywhere(
            "ScriptAlias",
            words("[URL-PATH] PATH", 1, 2),
            "Like Alias. Everything in the folder is a CGI program.",
            |target, arguments| alias(target, arguments, true),
        )
        .example("/cgi-bin /usr/lib/cgi-bin", "/cgi-bin"),
        Directive::everywhere(
            "AliasPreservePath",
            Shape::Flag,
            "How an Alias with one argument in `<Location>` finds its file. On: the rest of the \
             request's path, after the section's path, is appended to PATH. Off: PATH alone is \
             the file.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::AliasKeepsPath(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("Off"),
        Directive::host(
            "AliasMatch",
            words("REGEX PATH", 2, 2),
            "The file for URL paths that match. `$1` in PATH stands for the first group of the \
             expression.",
            |target, arguments| alias_match(target, arguments, false),
        )
        .example("^/icons/(.*)$ /usr/share/icons/$1", "( /x"),
        Directive::host(
            "ScriptAliasMatch",
            words("REGEX PATH", 2, 2),
            "Like AliasMatch. The file is a CGI program.",
            |target, arguments| alias_match(target, arguments, true),
        )
        .example("^/cgi/([^/]+) /usr/lib/cgi-bin/$1", "( /x"),
        Directive::host(
            "UserDir",
            words("FOLDER...|URL|disabled [NAME]...|enabled NAME...", 1, ANY),
            "The folder for URL paths that begin with `/~NAME/`. `public_html` is a folder in the \
             user's home. `/web` means /web/NAME. In `/home/*/www`, NAME replaces the star. If \
             there are several folders, the first that exists is used. A URL redirects the \
             request.",
            user_dir,
        )
        .otherwise("disabled")
        .example("public_html /var/web", "disabled root/x"),
        Directive::host(
            "AllowEncodedSlashes",
            Shape::Choice(&["Off", "On", "NoDecode"]),
            "The meaning of `%2F` in a path. Off: the request gets 404. On: it is a slash. \
             NoDecode: it stays `%2F`.",
            |target, arguments| {
                target.host.mapping.encoded_slashes = match arguments.choice()? {
                    "On" => Some(EncodedSlashes::Decoded),
                    "NoDecode" => Some(EncodedSlashes::Kept),
                    _ => Some(EncodedSlashes::Refused),
                };
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "DirectorySlash",
            Shape::Flag,
            "Whether a request for a folder without its final slash is redirected to the path \
             with the slash.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::DirectorySlash(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .default("On"),
        Directive::everywhere(
            "DirectoryIndexRedirect",
            words("On|Off|permanent|temp|seeother|STATUS", 1, 1),
            "Whether a request for a folder is redirected to the folder's index file. Off: the \
             index file is sent. On means temp.",
            |target, arguments| {
                let status = index_redirect(arguments)?;
                target.changes.push(Change::DirectoryIndexRedirect(status));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .otherwise("Off")
        .example("permanent", "200"),
        Directive::everywhere(
            "FallbackResource",
            words("URL-PATH|disabled", 1, 1),
            "The URL path that answers if the requested file does not exist. A relative path is a \
             path in the folder of the requested path. A query after the path comes before the \
             request's own query.",
            |target, arguments| {
                let path = arguments.filled(0)?;
                let path = (!path.eq_ignore_ascii_case("disabled")).then(|| path.to_string());
                target.changes.push(Change::FallbackResource(path));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .otherwise("disabled")
        .example("/index.pl", "/index.pl /other.pl"),
        Directive::everywhere(
            "AcceptPathInfo",
            Shape::Choice(&["Default", "On", "Off"]),
            "Whether a file also answers for paths that go on after its name, such as \
             `/file/more`. Default: scripts do, and other files do not.",
            |target, arguments| {
                let accept = match arguments.choice()? {
                    "On" => Some(true),
                    "Off" => Some(false),
                    _ => None,
                };
                target.changes.push(Change::AcceptPathInfo(accept));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("Default"),
        Directive::everywhere(
            "AllowOverride",
            words(
                "None|All|AuthConfig|FileInfo|Indexes|Limit|Options...",
                1,
                ANY,
            ),
            "The classes of directives that .htaccess files in these folders may use. The server \
             reads the files once and watches them for changes.",
            allow_override,
        )
        .otherwise("None")
        .example("FileInfo AuthConfig", "Everything"),
        Directive::everywhere(
            "AllowOverrideList",
            words("None|DIRECTIVE...", 1, ANY),
            "The directives that a .htaccess file may use in addition to those of AllowOverride.",
            allow_override_list,
        )
        .otherwise("None")
        .example("Redirect RewriteRule", "Redirekt"),
        Directive::host(
            "AccessFileName",
            words("NAME...", 1, ANY),
            "The names under which the server looks for .htaccess files.",
            |target, arguments| {
                let mut names = Vec::new();
                for index in 0..arguments.words.len() {
                    let name = arguments.filled(index)?;
                    if name.contains('/') {
                        return Err(arguments.fault(
                            index,
                            format!("expected a file name without `/`, not `{name}`"),
                        ));
                    }
                    names.push(name.to_string());
                }
                target.site.access_files = names;
                Ok(())
            },
        )
        .default(".htaccess")
        .example(".htaccess", "a/b"),
        Directive::everywhere(
            "DirectoryIndex",
            words("NAME...|disabled", 1, ANY),
            "The names of a folder's index file. The first file that exists is used. The name of a \
             folder redirects to this folder.",
            directory_index,
        )
        .htaccess(INDEXES)
        .default("index.html")
        .example("index.pl index.html", "\"\""),
        Directive::everywhere(
            "ErrorDocument",
            words("STATUS /URL-PATH|TEXT", 2, 2),
            "The page or text that replaces the built-in page of a 4xx or 5xx status. A text is \
             sent as HTML. Variables of expressions (`%{REQUEST_URI}`, \
             `%{escape:%{REQUEST_URI}}`) may stand in the argument. The word `default` \
             restores the built-in page.",
            error_document,
        )
        .htaccess(FILE_INFO)
        .example("404 /missing.html", "200 /fine.html"),
    ],
};

fn alias(target: &mut Target, arguments: &Arguments, script: bool) -> Applied {
    if target.in_section || arguments.words.len() == 1 {
        return alias_of_place(target, arguments, script);
    }
    let url = arguments.filled(0)?;
    if !url.starts_with('/') {
        let message = format!("expected a URL path that begins with `/`, not `{url}`");
        return Err(arguments.fault(0, message));
    }
    let alias = Alias {
        url: url.to_string(),
        matching: None,
        path: arguments.path(1, &target.site.server_root)?,
        script,
    };
    if target
        .host
        .mapping
        .aliases
        .iter()
        .any(|known| known.url == alias.url)
    {
        let message = format!("`{url}` has an alias already, which wins");
        target.environment.remark(message);
    }
    target.host.mapping.aliases.push(alias);
    Ok(())
}

/// Reads an alias without a URL path, which concerns all paths of a `<Location>`.
fn alias_of_place(target: &mut Target, arguments: &Arguments, script: bool) -> Applied {
    if target.is_conditional {
        let message = format!("{} cannot stand in <If>", arguments.name);
        return Err(arguments.fault(0, message));
    }
    let location = match &target.scope {
        Some(Scope::Location(path)) => Some(path.clone()),
        Some(Scope::LocationMatch(_)) => None,
        Some(scope) => {
            let message = format!("expected {} in <Location>, not in {scope}", arguments.name);
            return Err(arguments.fault(0, message));
        }
        None => {
            let message = "expected a URL path and a path; a path alone may stand in <Location>";
            return Err(arguments.fault(0, message));
        }
    };
    if arguments.words.len() > 1 {
        let message = "expected only a path: the section says which URL paths lead to the path";
        return Err(arguments.fault(1, message));
    }
    let file = Text::expression(arguments.filled(0)?).map_err(|why| arguments.fault(0, why))?;
    target.changes.push(Change::PlaceAlias(Arc::new(PlaceAlias {
        file,
        script,
        location,
    })));
    Ok(())
}

fn alias_match(target: &mut Target, arguments: &Arguments, script: bool) -> Applied {
    let text = arguments.filled(0)?;
    let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
    let pattern = Pattern::new(text).map_err(|why| arguments.fault(0, wrong(why)))?;
    let path = arguments.path(1, &target.site.server_root)?;
    let written = Text::groups(&path.to_string_lossy());
    target.host.mapping.aliases.push(Alias {
        url: text.to_string(),
        matching: Some((pattern, written)),
        path,
        script,
    });
    Ok(())
}

/// Reads the status of `DirectoryIndexRedirect`. `None`: Off.
fn index_redirect(arguments: &Arguments) -> Result<Option<u16>, Fault> {
    const NAMED: [(&str, Option<u16>); 5] = [
        ("On", Some(302)),
        ("Off", None),
        ("permanent", Some(301)),
        ("temp", Some(302)),
        ("seeother", Some(303)),
    ];
    let text = arguments.filled(0)?;
    if let Some((_, status)) = NAMED.iter().find(|one| one.0.eq_ignore_ascii_case(text)) {
        return Ok(*status);
    }
    let number = text
        .parse()
        .ok()
        .filter(|status| (300..=399).contains(status));
    number.map(Some).ok_or_else(|| {
        let names = NAMED.iter().map(|(name, _)| *name);
        let message = format!(
            "expected On, Off, permanent, temp, seeother or a status from 300 to 399, not `{text}`"
        );
        arguments.fault(0, message).or_nearest(text, names)
    })
}

fn directory_index(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut names = Vec::new();
    for index in 0..arguments.words.len() {
        names.push(arguments.filled(index)?.to_string());
    }
    if names.len() == 1 && names[0].eq_ignore_ascii_case("disabled") {
        names.clear();
    }
    target.changes.push(Change::DirectoryIndex(names));
    Ok(())
}

pub(super) fn url_path(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let path = arguments.filled(index)?;
    if path.starts_with('/') {
        Ok(path.to_string())
    } else {
        let message = format!("expected a URL path that begins with `/`, not `{path}`");
        Err(arguments.fault(index, message))
    }
}

fn allow_override(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut said = crate::overrides::Override::default();
    for (index, word) in arguments.words.iter().enumerate() {
        const NAMES: &[&str] = &[
            "None",
            "All",
            "AuthConfig",
            "FileInfo",
            "Indexes",
            "Limit",
            "Options",
            "Options=NAME,...",
            "Nonfatal=Unknown|Override|All",
        ];
        if !said.add(&word.text) {
            let message = format!("expected {}, not `{}`", NAMES.join(", "), word.text);
            let fault = arguments.fault(index, message);
            return Err(fault.or_nearest(&word.text, NAMES.iter().copied()));
        }
    }
    target.changes.push(Change::AllowOverride(said));
    Ok(())
}

fn allow_override_list(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut names = Vec::new();
    for (index, word) in arguments.words.iter().enumerate() {
        if word.text.eq_ignore_ascii_case("none") {
            continue;
        }
        let Some(row) = Directive::named(&word.text) else {
            let all = Directive::all().flat_map(|row| row.names());
            let message = format!("expected None or directives, not `{}`", word.text);
            return Err(arguments.fault(index, message).or_nearest(&word.text, all));
        };
        names.push(row.name.to_ascii_lowercase());
    }
    target.changes.push(Change::AllowOverrideList(names));
    Ok(())
}

fn error_document(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    let status = text
        .parse()
        .ok()
        .filter(|status| (400..=599).contains(status));
    let Some(status) = status else {
        return Err(arguments.fault(
            0,
            format!("expected a status from 400 to 599, not `{text}`"),
        ));
    };
    let document = arguments.text(1)?;
    let elsewhere = document.starts_with("http://") || document.starts_with("https://");
    if elsewhere && status == 401 {
        let message =
            "as in Apache, this has no effect: a redirected client gets no password prompt";
        target.environment.remark(message);
        return Ok(());
    }
    if let Err(why) = Text::expression(document) {
        return Err(arguments.fault(1, why));
    }
    target
        .changes
        .push(Change::ErrorDocument(status, document.to_string()));
    Ok(())
}

fn user_dir(target: &mut Target, arguments: &Arguments) -> Applied {
    let first = arguments.filled(0)?;
    if first.starts_with("http://") || first.starts_with("https://") {
        return redirect_users(target, arguments, first);
    }
    let names = || -> Result<Vec<String>, Fault> {
        let name = |index| {
            let name = arguments.filled(index)?;
            if name.contains('/') {
                Err(arguments.fault(index, format!("expected a name of a user, not `{name}`")))
            } else {
                Ok(name.to_string())
            }
        };
        (1..arguments.words.len()).map(name).collect()
    };
    let dirs = target
        .host
        .mapping
        .user_dirs
        .get_or_insert_with(Default::default);
    if first.eq_ignore_ascii_case("disabled") {
        let names = names()?;
        dirs.off |= names.is_empty();
        dirs.disabled.extend(names);
        return Ok(());
    }
    if first.eq_ignore_ascii_case("enabled") {
        dirs.enabled.extend(names()?);
        return Ok(());
    }
    dirs.places.clear();
    for index in 0..arguments.words.len() {
        dirs.places.push(UserPlace::read(arguments.filled(index)?));
    }
    Ok(())
}

/// Redirects requests for `UserDir http://other/*`. As in Apache, the user's name replaces the
/// star, and the rest of the path is dropped.
fn redirect_users(target: &mut Target, arguments: &Arguments, url: &str) -> Applied {
    let Some((start, _)) = url.split_once('*') else {
        let message = format!("expected a URL with `*` for the user's name, not `{url}`");
        return Err(arguments.fault(0, message));
    };
    let place = format!("{start}$1$2");
    let pattern = Pattern::new("^/~([^/.][^/]*)(.*)$").map_err(|why| arguments.fault(0, why))?;
    let rule = RedirectRule {
        status: 302,
        from: RedirectFrom::Match(pattern),
        to: Some(Text::groups(&place)),
    };
    target.changes.push(Change::Redirect(Arc::new(rule)));
    Ok(())
}
