//! From URL paths to files, and what is said about files.

use super::row::*;
use crate::Alias;

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
        Directive::everywhere(
            "DirectoryIndex",
            words("NAME...|disabled", 1, ANY),
            "The files looked for when a folder is asked for, the first that exists.",
            directory_index,
        )
        .default("index.html")
        .example("index.pl index.html", "\"\""),
        Directive::everywhere(
            "AddType",
            words("MEDIA/TYPE SUFFIX...", 2, ANY),
            "The Content-Type of files with these suffixes.",
            add_type,
        )
        .otherwise("a built-in table")
        .example("text/x-perl-source .pod", "perl .pod"),
        Directive::everywhere(
            "ErrorDocument",
            words("STATUS /URL-PATH|TEXT", 2, 2),
            "What is answered in place of the built-in page for a 4xx or 5xx status.",
            error_document,
        )
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

fn add_type(target: &mut Target, arguments: &Arguments) -> Applied {
    let media_type = arguments.filled(0)?;
    let fits = |c: char| c.is_ascii_graphic() || c == ' ';
    let is_type = media_type
        .split_once('/')
        .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    if !is_type || !media_type.chars().all(fits) {
        let message = format!("expected a media type such as text/html, not `{media_type}`");
        return Err(arguments.fault(0, message));
    }
    for index in 1..arguments.words.len() {
        let suffix = suffix(arguments, index)?;
        target
            .changes
            .push(Change::AddType(suffix, media_type.to_string()));
    }
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
    if document.starts_with("http://") || document.starts_with("https://") {
        let message = "expected a URL path of this server or a text: errors are not redirected to another server";
        return Err(arguments.fault(1, message));
    }
    target
        .changes
        .push(Change::ErrorDocument(status, document.to_string()));
    Ok(())
}
