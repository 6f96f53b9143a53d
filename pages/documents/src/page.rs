//! The frame of a page: head, search, navigation, article, and the page's own contents.

use crate::article::Article;
use crate::escape::escape;
use crate::navigation::{Document, Part};
use crate::sources;
use std::fmt::Write;

/// The policy of a page that is read from a file system, where no server sends one. A page must not
/// say `frame-ancestors` here: browsers only take it from a field.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";

/// What a page shows beside its article.
pub struct Frame<'a> {
    pub parts: &'a [Part],
    /// The documents before and after this one.
    pub before: Option<&'a Document>,
    pub after: Option<&'a Document>,
}

/// Returns the page of the document `source`.
pub fn page(source: &str, article: &Article, frame: &Frame) -> String {
    let root = sources::root(&sources::site_path(source));
    let title = escape(&article.title);
    let version = env!("CARGO_PKG_VERSION");
    format!(
        r##"<!doctype html>
<html lang="en" data-root="{root}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title} - Mehari {version}</title>
<link rel="icon" href="{root}mark.svg">
<link rel="stylesheet" href="{root}site.css">
<script src="{root}theme.js"></script>
<script src="{root}search-index.js" defer></script>
<script src="{root}site.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<button id="contents" type="button" aria-expanded="false" aria-controls="navigation">Contents</button>
<a class="brand" href="{root}index.html"><img src="{root}mark.svg" alt="" width="34" height="24">Mehari</a>
<span class="version">{version}</span>
<div class="search" role="search">
<input id="search" type="search" aria-label="Search the documents" placeholder="Search: press /" autocomplete="off" spellcheck="false">
<div id="results" hidden></div>
<p id="found" class="unseen" role="status"></p>
</div>
<button id="theme" type="button"><span class="wide">Colours: </span><span id="theme-name">system</span></button>
</header>
<nav id="navigation" aria-label="Documents">
{navigation}</nav>
<main id="main" tabindex="-1">
<article>
{article}</article>
<nav class="turn" aria-label="Previous and next document">{before}{after}</nav>
</main>
{here}</body>
</html>
"##,
        navigation = navigation(source, frame.parts),
        article = article.html,
        before = turn(source, frame.before, "before", "Previous"),
        after = turn(source, frame.after, "after", "Next"),
        here = here(article),
    )
}

fn navigation(source: &str, parts: &[Part]) -> String {
    let mut html = String::new();
    for part in parts {
        html += &format!("<p class=\"part\">{}</p>\n<ul>\n", escape(&part.title));
        for group in &part.groups {
            if !group.label.is_empty() {
                let label = escape(&group.label);
                html += &format!("<li><span class=\"group\">{label}</span><ul>\n");
            }
            for document in &group.documents {
                html += &item(source, document);
            }
            if !group.label.is_empty() {
                html += "</ul></li>\n";
            }
        }
        html += "</ul>\n";
    }
    html
}

fn item(source: &str, document: &Document) -> String {
    let is_here = document.source == source;
    format!(
        "<li><a href=\"{}\"{}>{}</a></li>\n",
        sources::between(source, &document.source),
        if is_here {
            " aria-current=\"page\""
        } else {
            ""
        },
        escape(&document.title)
    )
}

/// Returns the link to the document before or after this one.
fn turn(source: &str, document: Option<&Document>, class: &str, word: &str) -> String {
    document.map_or(String::new(), |document| {
        format!(
            "<a class=\"{class}\" href=\"{}\"><span>{word}</span> {}</a>",
            sources::between(source, &document.source),
            escape(&document.title)
        )
    })
}

/// Returns the list of the page's own sections, if there are several.
fn here(article: &Article) -> String {
    if article.sections.len() < 2 {
        return String::new();
    }
    let mut html = "<nav class=\"here\" aria-label=\"On this page\">\n\
                    <p class=\"part\">On this page</p>\n<ul>\n"
        .to_owned();
    for (anchor, text) in &article.sections {
        let (anchor, text) = (escape(anchor), escape(text));
        writeln!(html, "<li><a href=\"#{anchor}\">{text}</a></li>").expect("written");
    }
    html + "</ul>\n</nav>\n"
}
