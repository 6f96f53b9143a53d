//! Sections: their names, and the scope an opening line stands for.

use std::path::{Path, PathBuf};

use crate::line::Word;
use crate::problem::Fault;
use crate::{Pattern, Scope};

/// A section Mehari knows, for the documentation.
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
        "Files in and below a folder; a segment may have wildcards.",
    ),
    kind(
        "DirectoryMatch",
        "<DirectoryMatch REGEX>",
        "Files in folders whose path matches.",
    ),
    kind(
        "Files",
        "<Files NAME>",
        "Files of this name, which may have wildcards. May stand in `<Directory>`.",
    ),
    kind(
        "FilesMatch",
        "<FilesMatch REGEX>",
        "Files whose name matches. May stand in `<Directory>`.",
    ),
    kind(
        "Location",
        "<Location URL-PATH>",
        "Requests for this URL path and below it; with wildcards, the whole path.",
    ),
    kind(
        "LocationMatch",
        "<LocationMatch REGEX>",
        "Requests whose URL path matches.",
    ),
    kind(
        "Proxy",
        "<Proxy balancer://NAME>",
        "The members of a balancer and how it works.",
    ),
    kind(
        "VirtualHost",
        "<VirtualHost *:PORT>",
        "One, for any name: what it says holds for the whole server.",
    ),
    kind(
        "IfModule",
        "<IfModule [!]NAME>",
        "Read when Mehari stands in for the module, or `LoadModule` named it.",
    ),
    kind(
        "IfDefine",
        "<IfDefine [!]NAME>",
        "Read when `-D NAME` or `Define NAME` was given.",
    ),
    kind(
        "IfVersion",
        "<IfVersion [OP] VERSION>",
        "Read when the comparison with httpd 2.4.66 holds.",
    ),
];

/// The scope a `<Directory>`, `<Files>` or `<Location>` line, or its Match form, stands for.
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

fn folder(server_root: &Path, text: &str) -> PathBuf {
    let path = server_root.join(text);
    // Without `.` and a closing slash, so that two ways to write a folder are one.
    path.components().collect()
}
