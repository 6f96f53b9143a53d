//! The whole site: its files by their paths.

use crate::article::article;
use crate::navigation;
use crate::page::{page, Frame};
use crate::search::{self, Found, IndexedPage};
use crate::sources::{self, INDEX, SOURCES};
use mehari_loopback::{Content, MediaType, Pages, StatusCode};
use std::collections::BTreeMap;
use std::path::Path;

/// The files that do not depend on the documents.
const FILES: &[(&str, MediaType, &str)] = &[
    (
        "site.css",
        MediaType::Style,
        include_str!("../web/site.css"),
    ),
    (
        "theme.js",
        MediaType::Script,
        include_str!("../web/theme.js"),
    ),
    ("site.js", MediaType::Script, include_str!("../web/site.js")),
    (
        "mark.svg",
        MediaType::Picture,
        include_str!("../web/mark.svg"),
    ),
];

/// The documents as a site.
pub struct Site {
    files: BTreeMap<String, (MediaType, String)>,
    pages: Vec<IndexedPage>,
}

impl Site {
    /// Makes all pages.
    pub fn new() -> Site {
        let parts = navigation::parts();
        let order = navigation::documents(&parts);
        let mut site = Site {
            files: BTreeMap::new(),
            pages: Vec::new(),
        };
        for (name, media_type, text) in FILES {
            site.add((*name).to_owned(), *media_type, (*text).to_owned());
        }
        for (source, text) in SOURCES {
            let path = sources::site_path(source);
            if !source.ends_with(".md") {
                site.add(path, MediaType::Picture, (*text).to_owned());
                continue;
            }
            let at = order.iter().position(|document| document.source == *source);
            let frame = Frame {
                parts: &parts,
                before: at.and_then(|at| order.get(at.checked_sub(1)?)).copied(),
                after: match at {
                    Some(at) => order.get(at + 1).copied(),
                    None if *source == INDEX => order.first().copied(),
                    None => None,
                },
            };
            let article = article(source, text);
            let html = page(source, &article, &frame);
            site.add(path.clone(), MediaType::Page, html);
            site.pages.push(IndexedPage {
                path,
                title: article.title,
                entries: article.entries,
            });
        }
        let script = search::script(&site.pages);
        site.add("search-index.js".to_owned(), MediaType::Script, script);
        site
    }

    fn add(&mut self, path: String, media_type: MediaType, text: String) {
        self.files.insert(path, (media_type, text));
    }

    /// Returns the path of the page to open for a search: the page and anchor of the entry with
    /// this title, or the first page with the search filled in. Returns `None` if no document has
    /// the words.
    pub fn find(&self, words: &str) -> Option<String> {
        match search::find(&self.pages, words) {
            Found::Exact(path) => Some(path),
            Found::Some => Some(format!("index.html?q={}", encoded(words))),
            Found::None => None,
        }
    }

    /// Returns all titles that a search finds, to name the nearest.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        let entries = self.pages.iter().flat_map(|page| &page.entries);
        entries.map(|entry| entry.title.as_str())
    }

    /// Writes the site into a folder, which is made if it is missing. Returns the number of pages.
    ///
    /// # Errors
    /// A folder or file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<usize, String> {
        for (path, (_, text)) in &self.files {
            let file = folder.join(path);
            let parent = file.parent().expect("the file is below the folder");
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&file, text))
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(self.pages.len())
    }
}

impl Default for Site {
    fn default() -> Site {
        Site::new()
    }
}

impl Pages for Site {
    fn get(&self, path: &str) -> Content {
        let path = if path.is_empty() { "index.html" } else { path };
        match self.files.get(path) {
            Some((media_type, text)) => Content::once(StatusCode::OK, *media_type, text.clone()),
            None => Content::text(StatusCode::NOT_FOUND, "The documents have no such page.\n"),
        }
    }
}

/// Encodes a text for the query of a URL.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_no_inline_style_or_script_and_load_nothing_from_elsewhere() {
        let site = Site::new();
        for (path, (media_type, text)) in &site.files {
            if *media_type != MediaType::Page {
                continue;
            }
            let scripts = text.matches("<script").count();
            assert_eq!(scripts, text.matches("<script src=\"").count(), "{path}");
            for forbidden in [
                " style=\"",
                "<style",
                " onclick",
                "src=\"http",
                "<!--",
                "<iframe",
            ] {
                assert!(!text.contains(forbidden), "{path} contains {forbidden}");
            }
        }
    }

    #[test]
    fn words_lead_to_the_reference_or_to_a_search() {
        let site = Site::new();
        let found = |words: &str| site.find(words);
        let directive = Some("reference/directives.html#documentroot".to_owned());
        assert_eq!(found("documentroot"), directive);
        let searched = Some("index.html?q=Perl%20stack".to_owned());
        assert_eq!(found("Perl stack"), searched);
        assert_eq!(found("qwertzuiop"), None);
        let page = site.get("reference/directives.html");
        assert!(String::from_utf8_lossy(&page.plain).contains("<tr id=\"documentroot\">"));
        assert_eq!(site.get("../Cargo.toml").status, StatusCode::NOT_FOUND);
    }
}
