//! The directives for the properties of files: media types, content codings and character sets.

use super::paths::url_path;
use std::sync::Arc;

use super::row::*;
use crate::etag_part;
use crate::media_types::MediaTypes;
use crate::overrides::FILE_INFO;

pub const GROUP: Group = Group {
    title: "Files",
    rows: &[
        Directive::everywhere(
            "EnableSendfile",
            Shape::Flag,
            "Whether the kernel sends large files straight from its page cache. Off: the server \
             reads and writes them. Use Off if files change while they are sent.",
            |target, arguments| {
                target.changes.push(Change::CopyFiles(!arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .default("On"),
        Directive::everywhere(
            "FileETag",
            words("[+|-]INode|MTime|Size|All|None...", 1, ANY),
            "The parts of which a file's ETag is made. The ETag equals Apache's. With INode, a \
             copy of the file on another server has another ETag. As in Apache, `+` adds to the \
             parts of an outer FileETag, not to the default.",
            file_etag,
        )
        .htaccess(FILE_INFO)
        .otherwise("MTime Size")
        .example("INode MTime Size", "Time"),
        Directive::everywhere(
            "ForceType",
            words("MEDIA/TYPE|None", 1, 1),
            "The Content-Type of every file here.",
            |target, arguments| {
                let forced = if arguments.filled(0)?.eq_ignore_ascii_case("none") {
                    None
                } else {
                    Some(media_type(arguments, 0)?.to_string())
                };
                target.changes.push(Change::ForceType(forced));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("None")
        .example("text/plain", "text/"),
        Directive::everywhere(
            "DefaultType",
            words("None|MEDIA/TYPE", 1, 1),
            "Only None is allowed, as in Apache 2.4. A file with an unknown suffix gets no type.",
            |target, arguments| {
                if !arguments.filled(0)?.eq_ignore_ascii_case("none") {
                    media_type(arguments, 0)?;
                    target
                        .environment
                        .ignore("Apache 2.4 does not follow it either");
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("None")
        .example("None", "text/"),
        Directive::server(
            "TypesConfig",
            Shape::Path,
            "The file of media types. Each line has a type and its suffixes. The file replaces \
             the built-in table. AddType adds to the file's types.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                let types = MediaTypes::read(&file).map_err(|why| {
                    let message = format!(
                        "expected a file of media types; `{}` cannot be read: {why}",
                        file.display()
                    );
                    arguments.fault(0, message)
                })?;
                target.changes.push(Change::TypesConfig(Arc::new(types)));
                Ok(())
            },
        )
        .otherwise("a built-in table")
        .example("/dev/null", "/no/such/mime.types"),
        Directive::everywhere(
            "RemoveType",
            words("SUFFIX...", 1, ANY),
            "Removes the type of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveType),
        )
        .htaccess(FILE_INFO)
        .example(".cgi", "."),
        Directive::everywhere(
            "AddEncoding",
            words("CODING SUFFIX...", 2, ANY),
            "The Content-Encoding of files with these suffixes.",
            |target, arguments| {
                let coding = token(arguments, 0, "a content coding such as gzip")?;
                let coding = coding.to_ascii_lowercase();
                each_suffix(target, arguments, 1, |suffix| {
                    Change::AddEncoding(suffix, coding.clone())
                })
            },
        )
        .htaccess(FILE_INFO)
        .example("x-gzip .gz .tgz", "g/zip .gz"),
        Directive::everywhere(
            "RemoveEncoding",
            words("SUFFIX...", 1, ANY),
            "Removes the coding of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveEncoding),
        )
        .htaccess(FILE_INFO)
        .example(".gz", "."),
        Directive::everywhere(
            "AddCharset",
            words("CHARSET SUFFIX...", 2, ANY),
            "The character set of text files with these suffixes.",
            |target, arguments| {
                let charset = token(arguments, 0, "a character set such as utf-8")?;
                let charset = charset.to_ascii_lowercase();
                each_suffix(target, arguments, 1, |suffix| {
                    Change::AddCharset(suffix, charset.clone())
                })
            },
        )
        .htaccess(FILE_INFO)
        .example("utf-8 .utf8", "utf/8 .utf8"),
        Directive::everywhere(
            "RemoveCharset",
            words("SUFFIX...", 1, ANY),
            "Removes the character set of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveCharset),
        )
        .htaccess(FILE_INFO)
        .example(".utf8", "."),
        Directive::everywhere(
            "AddDefaultCharset",
            words("On|Off|CHARSET", 1, 1),
            "The character set of text/plain and text/html responses that name no character set.",
            default_charset,
        )
        .htaccess(FILE_INFO)
        .otherwise("Off")
        .example("utf-8", "utf/8"),
        Directive::everywhere(
            "Action",
            words("HANDLER|MEDIA/TYPE /URL-PATH", 2, 3),
            "The program that answers for files with this handler or media type. PATH_INFO names \
             the file.",
            |target, arguments| {
                let path = url_path(arguments, 1)?;
                let name = arguments.filled(0)?.to_string();
                target
                    .environment
                    .definitions
                    .actions
                    .insert(name.to_ascii_lowercase());
                target.changes.push(Change::Action(name, path));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example(
            "text/x-template /cgi-bin/template.cgi",
            "text/x-template cgi",
        ),
        Directive::everywhere(
            "Script",
            words("METHOD /URL-PATH", 2, 2),
            "The program that answers requests with this method if no other program answers them. \
             It also answers for files, for folders with an index and for missing files. It gets \
             a GET or HEAD request only if the URL has a question mark. PATH_INFO is the path of \
             the request.",
            |target, arguments| {
                let method = token(arguments, 0, "a method")?;
                if method == "TRACE" {
                    return Err(arguments.fault(0, "expected a method other than TRACE"));
                }
                let path = url_path(arguments, 1)?;
                target
                    .changes
                    .push(Change::Script(method.to_string(), path));
                Ok(())
            },
        )
        .example("PUT /cgi-bin/put.cgi", "TRACE /cgi-bin/trace.cgi"),
        Directive::everywhere(
            "AddType",
            words("MEDIA/TYPE SUFFIX...", 2, ANY),
            "The Content-Type of files with these suffixes.",
            |target, arguments| {
                let media_type = spaced(media_type(arguments, 0)?);
                each_suffix(target, arguments, 1, |suffix| {
                    Change::AddType(suffix, media_type.clone())
                })
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("a built-in table")
        .example("text/x-perl-source .pod", "perl/ .pod"),
    ],
};

pub(super) fn suffix(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let text = arguments.filled(index)?;
    let suffix = text.strip_prefix('.').unwrap_or(text).to_ascii_lowercase();
    if suffix.is_empty() || suffix.contains('/') {
        Err(arguments.fault(
            index,
            format!("expected a suffix such as .pl, not `{text}`"),
        ))
    } else {
        Ok(suffix)
    }
}

pub(super) fn media_type<'a>(arguments: &'a Arguments, index: usize) -> Result<&'a str, Fault> {
    let media_type = arguments.filled(index)?;
    let fits = |c: char| c.is_ascii_graphic() || c == ' ';
    let is_type = match media_type.split_once('/') {
        Some((kind, name)) => !kind.is_empty() && !name.is_empty(),
        // Apache sends such a type, too.
        None => media_type.starts_with(|c: char| c.is_ascii_alphabetic()),
    };
    if is_type && media_type.chars().all(fits) {
        Ok(media_type)
    } else {
        let message = format!("expected a media type such as text/html, not `{media_type}`");
        Err(arguments.fault(index, message))
    }
}

/// Returns a media type with one blank before each parameter, as Apache sends it.
fn spaced(media_type: &str) -> String {
    let parts = media_type.split(';').map(str::trim);
    parts.collect::<Vec<_>>().join("; ")
}

pub(super) fn each_suffix(
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

pub(super) fn token<'a>(
    arguments: &'a Arguments,
    index: usize,
    what: &str,
) -> Result<&'a str, Fault> {
    let text = arguments.filled(index)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:+".contains(c);
    if text.chars().all(fits) {
        Ok(text)
    } else {
        Err(arguments.fault(index, format!("expected {what}, not `{text}`")))
    }
}

fn file_etag(target: &mut Target, arguments: &Arguments) -> Applied {
    const PARTS: [(&str, u8); 5] = [
        ("INode", etag_part::INODE),
        ("MTime", etag_part::MODIFIED),
        ("Size", etag_part::SIZE),
        (
            "All",
            etag_part::INODE | etag_part::MODIFIED | etag_part::SIZE,
        ),
        ("None", etag_part::NONE),
    ];
    let (mut clear, mut on, mut off) = (false, 0, 0);
    for (index, word) in arguments.words.iter().enumerate() {
        let text = arguments.filled(index)?;
        let name = text.strip_prefix(['+', '-']).unwrap_or(text);
        let known = PARTS.iter().find(|one| one.0.eq_ignore_ascii_case(name));
        let is_whole = ["all", "none"]
            .iter()
            .any(|one| one.eq_ignore_ascii_case(name));
        let part = known.filter(|_| !is_whole || name == text);
        let Some((_, bits)) = part else {
            let message = match name.to_ascii_lowercase().as_str() {
                "digest" => "expected INode, MTime, Size, All or None: a digest would need the \
                             whole file before the first byte is sent"
                    .to_string(),
                _ => format!("expected INode, MTime, Size, All or None, not `{text}`"),
            };
            let names = PARTS.iter().map(|(name, _)| *name);
            return Err(arguments
                .fault(index, message)
                .or_nearest(&word.text, names));
        };
        match text.as_bytes()[0] {
            b'+' => (on, off) = (on | bits, off & !bits),
            b'-' => (on, off) = (on & !bits, off | bits),
            _ => {
                clear = true;
                on |= bits;
            }
        }
    }
    target.changes.push(Change::FileEtag { clear, on, off });
    Ok(())
}

fn default_charset(target: &mut Target, arguments: &Arguments) -> Applied {
    // Unlike Apache, Mehari refuses a text that cannot stand in a header field.
    let text = arguments.filled(0)?;
    if !text.chars().all(|c| c.is_ascii_graphic()) || text.contains(['/', '"', '\\']) {
        let message = format!("expected On, Off or a character set such as utf-8, not `{text}`");
        return Err(arguments.fault(0, message));
    }
    let charset = match text.to_ascii_lowercase().as_str() {
        "off" => None,
        "on" => Some("iso-8859-1".to_string()),
        _ => Some(text.to_string()),
    };
    target.changes.push(Change::DefaultCharset(charset));
    Ok(())
}
