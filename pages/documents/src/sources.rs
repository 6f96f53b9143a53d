//! The packed files of the repository, and the pages that they become.

/// The path of each file from the repository's top, and its text.
pub const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The document that orders all others. It becomes the first page.
pub const INDEX: &str = "docs/README.md";

/// Returns the text of a packed file.
pub fn text(source: &str) -> Option<&'static str> {
    let found = SOURCES.iter().find(|(name, _)| *name == source);
    found.map(|(_, text)| *text)
}

/// Returns the path of a source in the site: `docs/tutorial/psgi-app.md` is
/// `tutorial/psgi-app.html`.
pub fn site_path(source: &str) -> String {
    if source == INDEX {
        return "index.html".to_owned();
    }
    match (source.strip_prefix("docs/"), source.strip_suffix(".md")) {
        (Some(inner), None) => inner.to_owned(),
        (Some(inner), Some(_)) => inner.replace(".md", ".html"),
        (None, _) => {
            let (_, name) = source.rsplit_once('/').unwrap_or(("", source));
            name.to_ascii_lowercase().replace(".md", ".html")
        }
    }
}

/// Where a link of a document leads.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// A page or picture of the site, or a heading of it: relative to the linking page.
    Inside(String),
    /// Another site.
    Outside,
    /// A file of the repository that the site does not have. The path is from the top.
    File(String),
}

/// Returns where `link` of the document `source` leads.
pub fn destination(source: &str, link: &str) -> Destination {
    if link.contains("://") || link.starts_with("mailto:") {
        return Destination::Outside;
    }
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, format!("#{anchor}")),
        None => (link, String::new()),
    };
    if file.is_empty() {
        return Destination::Inside(anchor);
    }
    let path = joined(source, file);
    match text(&path) {
        Some(_) => Destination::Inside(between(source, &path) + &anchor),
        None => Destination::File(path),
    }
}

/// Returns the path of the packed file to which `link` of `source` leads.
pub fn path_of(source: &str, link: &str) -> Option<String> {
    let (file, _) = link.split_once('#').unwrap_or((link, ""));
    let path = joined(source, file);
    text(&path).map(|_| path)
}

/// Returns the path from the top to a file that `source` names by a relative path.
fn joined(source: &str, file: &str) -> String {
    let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
    plain(&format!("{folder}/{file}"))
}

/// Returns the link from the page of one source to the page of another.
pub fn between(source: &str, other: &str) -> String {
    root(&site_path(source)) + &site_path(other)
}

/// Returns the way from a page to the top of the site: `../` for each folder.
pub fn root(page: &str) -> String {
    "../".repeat(page.matches('/').count())
}

/// Returns a path without `.`, `..` and empty parts.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_become_pages() {
        let cases = [
            ("docs/README.md", "index.html"),
            ("docs/tutorial/psgi-app.md", "tutorial/psgi-app.html"),
            ("docs/terminal.svg", "terminal.svg"),
            ("README.md", "readme.html"),
            ("packaging/INSTALL.md", "install.html"),
        ];
        for (source, page) in cases {
            assert!(text(source).is_some(), "{source} is not packed");
            assert_eq!(site_path(source), page);
        }
    }

    #[test]
    fn links_between_documents_become_links_of_the_site() {
        let inside = |link: &str| Destination::Inside(link.to_owned());
        let file = |path: &str| Destination::File(path.to_owned());
        let cases = [
            (
                "docs/reference/psgi.md",
                "logs.md#a",
                inside("../reference/logs.html#a"),
            ),
            (
                "docs/reference/psgi.md",
                "../README.md",
                inside("../index.html"),
            ),
            ("docs/reference/psgi.md", "#loading", inside("#loading")),
            (
                "docs/README.md",
                "../packaging/INSTALL.md",
                inside("install.html"),
            ),
            ("README.md", "docs/terminal.svg", inside("terminal.svg")),
            ("README.md", "docs/README.md", inside("index.html")),
            ("README.md", "peers/README.md", file("peers/README.md")),
            (
                "docs/README.md",
                "https://example.org/",
                Destination::Outside,
            ),
        ];
        for (source, link, expected) in cases {
            assert_eq!(destination(source, link), expected, "{source}: {link}");
        }
    }
}
