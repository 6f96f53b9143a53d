//! From URL paths to files, and what is said about files.

use super::row::*;
use crate::overrides::{FILE_INFO, INDEXES};
use crate::{Alias, Pattern, Text};

pub const GROUP: Group = Group {
    title: "Files and URL paths",
    rows: &[
        Directive::host(
            "DocumentRoot",
            Shape::Path,
            "The folder the URL path `/` stands for.",
            |target, arguments| {
                target.host.document_root = arguments.path(0, &target.site.server_root)?;
                Ok(())
            },
        )
        .otherwise("htdocs below ServerRoot"),
        Directive::host(
            "Alias",
            words("URL-PATH PATH", 2, 2),
            "The file or folder a URL path stands for. The first alias that matches wins.",
            |target, arguments| alias(target, arguments, false),
        )
        .example("/icons /usr/share/icons", "icons /usr/share/icons"),
        Directive::host(
            "ScriptAlias",
            words("URL-PATH PATH", 2, 2),
            "Like Alias, and everything there is a CGI program.",
            |target, arguments| alias(target, arguments, true),
        )
        .example("/cgi-bin /usr/lib/cgi-bin", "/cgi-bin"),
        Directive::host(
            "AliasMatch",
            words("REGEX PATH", 2, 2),
            "The file for URL paths that match; `$1` and so on are put in.",
            |target, arguments| alias_match(target, arguments, false),
        )
        .example("^/icons/(.*)$ /usr/share/icons/$1", "( /x"),
        Directive::host(
            "ScriptAliasMatch",
            words("REGEX PATH", 2, 2),
            "Like AliasMatch, and what is found is a CGI program.",
            |target, arguments| alias_match(target, arguments, true),
        )
        .example("^/cgi/([^/]+) /usr/lib/cgi-bin/$1", "( /x"),
        Directive::everywhere(
            "DirectorySlash",
            Shape::Flag,
            "Whether a folder asked for without its slash is redirected to the path with it.",
            |target, arguments| {
                target.changes.push(Change::DirectorySlash(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .default("On"),
        Directive::everywhere(
            "EnableSendfile",
            Shape::Flag,
            "Whether large files go to clients straight from the page cache; `Off` reads and writes them, for file systems whose files others change while they are sent.",
            |target, arguments| {
                target.changes.push(Change::CopyFiles(!arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .default("On"),
        Directive::everywhere(
            "FallbackResource",
            words("/URL-PATH|disabled", 1, 1),
            "What answers where no file does.",
            |target, arguments| {
                let path = match arguments.filled(0)?.eq_ignore_ascii_case("disabled") {
                    true => None,
                    false => Some(url_path(arguments, 0)?),
                };
                target.changes.push(Change::FallbackResource(path));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .otherwise("disabled")
        .example("/index.pl", "index.pl"),
        Directive::everywhere(
            "AcceptPathInfo",
            Shape::Choice(&["Default", "On", "Off"]),
            "Whether a file answers for paths behind it: scripts do, other files do not, unless this says otherwise.",
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
            words("None|All|AuthConfig|FileInfo|Indexes|Limit|Options...", 1, ANY),
            "What the .htaccess files of these folders may say. They are read once and watched.",
            allow_override,
        )
        .otherwise("None")
        .example("FileInfo AuthConfig", "Everything"),
        Directive::everywhere(
            "AllowOverrideList",
            words("None|DIRECTIVE...", 1, ANY),
            "Directives a .htaccess may use whatever AllowOverride says.",
            allow_override_list,
        )
        .otherwise("None")
        .example("Redirect RewriteRule", "Redirekt"),
        Directive::host(
            "AccessFileName",
            words("NAME...", 1, ANY),
            "What .htaccess files are called.",
            |target, arguments| {
                let mut names = Vec::new();
                for index in 0..arguments.words.len() {
                    let name = arguments.filled(index)?;
                    if name.contains('/') {
                        return Err(arguments.fault(index, format!("expected a file name without `/`, not `{name}`")));
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
            "ForceType",
            words("MEDIA/TYPE|None", 1, 1),
            "The Content-Type of every file here.",
            |target, arguments| {
                let forced = match arguments.filled(0)?.eq_ignore_ascii_case("none") {
                    true => None,
                    false => Some(media_type(arguments, 0)?.to_string()),
                };
                target.changes.push(Change::ForceType(forced));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("None")
        .example("text/plain", "text"),
        Directive::everywhere(
            "DefaultType",
            words("None|MEDIA/TYPE", 1, 1),
            "As in Apache 2.4 only None can be meant: a file of no known suffix gets no type.",
            |target, arguments| {
                if !arguments.filled(0)?.eq_ignore_ascii_case("none") {
                    media_type(arguments, 0)?;
                    target.environment.ignore("Apache 2.4 does not follow it either");
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("None")
        .example("None", "text"),
        Directive::everywhere(
            "RemoveType",
            words("SUFFIX...", 1, ANY),
            "Forgets the type of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveType),
        )
        .htaccess(FILE_INFO)
        .example(".cgi", "."),
        Directive::everywhere(
            "AddEncoding",
            words("CODING SUFFIX...", 2, ANY),
            "The Content-Encoding of files with these suffixes.",
            |target, arguments| {
                let coding = token(arguments, "a content coding such as gzip")?.to_string();
                each_suffix(target, arguments, 1, |suffix| Change::AddEncoding(suffix, coding.clone()))
            },
        )
        .htaccess(FILE_INFO)
        .example("x-gzip .gz .tgz", "g/zip .gz"),
        Directive::everywhere(
            "RemoveEncoding",
            words("SUFFIX...", 1, ANY),
            "Forgets the coding of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveEncoding),
        )
        .htaccess(FILE_INFO)
        .example(".gz", "."),
        Directive::everywhere(
            "AddCharset",
            words("CHARSET SUFFIX...", 2, ANY),
            "The character set of text files with these suffixes.",
            |target, arguments| {
                let charset = token(arguments, "a character set such as utf-8")?.to_string();
                each_suffix(target, arguments, 1, |suffix| Change::AddCharset(suffix, charset.clone()))
            },
        )
        .htaccess(FILE_INFO)
        .example("utf-8 .utf8", "utf/8 .utf8"),
        Directive::everywhere(
            "RemoveCharset",
            words("SUFFIX...", 1, ANY),
            "Forgets the character set of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveCharset),
        )
        .htaccess(FILE_INFO)
        .example(".utf8", "."),
        Directive::everywhere(
            "AddDefaultCharset",
            words("On|Off|CHARSET", 1, 1),
            "The character set of text/plain and text/html that say none.",
            default_charset,
        )
        .htaccess(FILE_INFO)
        .otherwise("Off")
        .example("utf-8", "utf/8"),
        Directive::everywhere(
            "Action",
            words("HANDLER|MEDIA/TYPE /URL-PATH", 2, 3),
            "The program that is given files of a handler's name or a media type, as PATH_INFO.",
            |target, arguments| {
                let path = url_path(arguments, 1)?;
                let name = arguments.filled(0)?.to_string();
                target.changes.push(Change::Action(name, path));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("text/x-template /cgi-bin/template.cgi", "text/x-template cgi"),
        Directive::everywhere(
            "DirectoryIndex",
            words("NAME...|disabled", 1, ANY),
            "The files looked for when a folder is asked for, the first that exists.",
            directory_index,
        )
        .htaccess(INDEXES)
        .default("index.html")
        .example("index.pl index.html", "\"\""),
        Directive::everywhere(
            "AddType",
            words("MEDIA/TYPE SUFFIX...", 2, ANY),
            "The Content-Type of files with these suffixes.",
            |target, arguments| {
                let media_type = media_type(arguments, 0)?.to_string();
                each_suffix(target, arguments, 1, |suffix| Change::AddType(suffix, media_type.clone()))
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("a built-in table")
        .example("text/x-perl-source .pod", "perl .pod"),
        Directive::everywhere(
            "ErrorDocument",
            words("STATUS /URL-PATH|TEXT", 2, 2),
            "What is answered in place of the built-in page for a 4xx or 5xx status.",
            error_document,
        )
        .htaccess(FILE_INFO)
        .example("404 /missing.html", "200 /fine.html"),
    ],
};

fn alias(target: &mut Target, arguments: &Arguments, script: bool) -> Applied {
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
        .aliases
        .iter()
        .any(|known| known.url == alias.url)
    {
        let message = format!("`{url}` has an alias already, which wins");
        target.environment.remark(message);
    }
    target.host.aliases.push(alias);
    Ok(())
}

fn alias_match(target: &mut Target, arguments: &Arguments, script: bool) -> Applied {
    let text = arguments.filled(0)?;
    let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
    let pattern = Pattern::new(text).map_err(|why| arguments.fault(0, wrong(why)))?;
    let path = arguments.path(1, &target.site.server_root)?;
    let written = Text::groups(&path.to_string_lossy());
    target.host.aliases.push(Alias {
        url: text.to_string(),
        matching: Some((pattern, written)),
        path,
        script,
    });
    Ok(())
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

/// A suffix as it is compared: without the dot, in lower case.
pub(super) fn suffix(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let text = arguments.filled(index)?;
    let suffix = text.strip_prefix('.').unwrap_or(text).to_ascii_lowercase();
    match suffix.is_empty() || suffix.contains('/') {
        true => Err(arguments.fault(
            index,
            format!("expected a suffix such as .pl, not `{text}`"),
        )),
        false => Ok(suffix),
    }
}

/// A media type such as text/html.
pub(super) fn media_type<'a>(arguments: &'a Arguments, index: usize) -> Result<&'a str, Fault> {
    let media_type = arguments.filled(index)?;
    let fits = |c: char| c.is_ascii_graphic() || c == ' ';
    let is_type = media_type
        .split_once('/')
        .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    match is_type && media_type.chars().all(fits) {
        true => Ok(media_type),
        false => {
            let message = format!("expected a media type such as text/html, not `{media_type}`");
            Err(arguments.fault(index, message))
        }
    }
}

/// A change for each suffix from the word `from` on.
fn each_suffix(
    target: &mut Target,
    arguments: &Arguments,
    from: usize,
    change: impl Fn(String) -> Change,
) -> Applied {
    for index in from..arguments.words.len() {
        let suffix = suffix(arguments, index)?;
        target.changes.push(change(suffix));
    }
    Ok(())
}

/// A word for a header field: a charset, a coding.
fn token<'a>(arguments: &'a Arguments, what: &str) -> Result<&'a str, Fault> {
    let text = arguments.filled(0)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:+".contains(c);
    match text.chars().all(fits) {
        true => Ok(text),
        false => Err(arguments.fault(0, format!("expected {what}, not `{text}`"))),
    }
}

fn default_charset(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = token(arguments, "On, Off or a character set such as utf-8")?;
    let charset = match text.to_ascii_lowercase().as_str() {
        "off" => None,
        "on" => Some("iso-8859-1".to_string()),
        _ => Some(text.to_string()),
    };
    target.changes.push(Change::DefaultCharset(charset));
    Ok(())
}

/// A URL path that begins with a slash.
fn url_path(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let path = arguments.filled(index)?;
    match path.starts_with('/') {
        true => Ok(path.to_string()),
        false => {
            let message = format!("expected a URL path that begins with `/`, not `{path}`");
            Err(arguments.fault(index, message))
        }
    }
}

fn allow_override(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut classes = 0;
    for (index, word) in arguments.words.iter().enumerate() {
        const NAMES: &[&str] = &[
            "None",
            "All",
            "AuthConfig",
            "FileInfo",
            "Indexes",
            "Limit",
            "Options",
        ];
        let class = crate::htaccess::class(&word.text);
        classes |= class.ok_or_else(|| {
            let message = format!("expected {}, not `{}`", NAMES.join(", "), word.text);
            arguments
                .fault(index, message)
                .or_nearest(&word.text, NAMES.iter().copied())
        })?;
    }
    target.changes.push(Change::AllowOverride(classes));
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
        let message = "expected a URL path of this server or a text: who is redirected is not asked for a password";
        return Err(arguments.fault(1, message));
    }
    target
        .changes
        .push(Change::ErrorDocument(status, document.to_string()));
    Ok(())
}
