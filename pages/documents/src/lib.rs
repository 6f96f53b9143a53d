//! The documents as a site: `mehari docs` serves the [`Site`], and `mehari docs -o` writes it.
//!
//! The build script packs the Markdown files of the repository. `article` makes HTML of one
//! document, `navigation` reads the order of the documents from docs/README.md, `page` puts both
//! into a whole page, and `search` makes the index. The pages have no inline style and no inline
//! script, and their links are relative: the written site works from a file system too.

mod anchors;
mod article;
mod escape;
mod navigation;
mod page;
mod search;
mod site;
mod sources;

pub use site::Site;
