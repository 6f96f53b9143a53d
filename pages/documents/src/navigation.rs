//! The order of the documents, read from docs/README.md: its second headings are the parts, and
//! each link in a list is a document.

use crate::sources::{self, INDEX};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd, TextMergeStream};

/// One part of the documents: "Learn: tutorials".
#[derive(Debug, Default)]
pub struct Part {
    pub title: String,
    pub groups: Vec<Group>,
}

/// Documents with a common label, which may be empty.
#[derive(Debug, Default)]
pub struct Group {
    pub label: String,
    pub documents: Vec<Document>,
}

/// A document in the navigation.
#[derive(Debug)]
pub struct Document {
    /// The text of the link in docs/README.md.
    pub title: String,
    /// The path of the source.
    pub source: String,
}

/// Reads the parts.
pub fn parts() -> Vec<Part> {
    read(sources::text(INDEX).unwrap_or_default())
}

/// Returns all documents in their order.
pub fn documents(parts: &[Part]) -> Vec<&Document> {
    let groups = parts.iter().flat_map(|part| &part.groups);
    groups.flat_map(|group| &group.documents).collect()
}

fn read(markdown: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut text, mut label) = (String::new(), String::new());
    let mut link = None;
    for event in TextMergeStream::new(Parser::new(markdown)) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Paragraph | Tag::Item) => text.clear(),
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => {
                label.clear();
                parts.push(Part {
                    title: std::mem::take(&mut text),
                    groups: Vec::new(),
                });
            }
            Event::End(TagEnd::Paragraph) => label = label_of(&text),
            Event::Start(Tag::Link { dest_url, .. }) => {
                // The words before an item's first link are the label of its links.
                if text.trim_end().ends_with(':') {
                    label = label_of(&text);
                }
                text.clear();
                link = Some(dest_url);
            }
            Event::End(TagEnd::Link) => {
                if let (Some(dest), Some(part)) = (link.take(), parts.last_mut()) {
                    part.add(&label, &dest, &text);
                }
                text.clear();
            }
            Event::Text(more) | Event::Code(more) => text += &more,
            Event::SoftBreak => text.push(' '),
            _ => {}
        }
    }
    parts
}

fn label_of(text: &str) -> String {
    let text = text.trim_end();
    text.strip_suffix(':').unwrap_or_default().to_owned()
}

impl Part {
    fn add(&mut self, label: &str, dest: &str, title: &str) {
        let Some(source) = sources::path_of(INDEX, dest) else {
            return;
        };
        if self.groups.last().is_none_or(|group| group.label != label) {
            self.groups.push(Group {
                label: label.to_owned(),
                documents: Vec::new(),
            });
        }
        let group = self.groups.last_mut().expect("a group was added");
        group.documents.push(Document {
            title: title.to_owned(),
            source,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_groups_and_documents_are_read() {
        let parts = read(
            "# Documents\n\nSee [this](tutorial/psgi-app.md).\n\n## Do\n\nMove:\n\n\
             * [cgi](how-to/cgi-bin.md)\n\n## Look up\n\n\
             * Perl: [API](reference/modperl.md),\n  [PSGI](reference/psgi.md)\n\
             * Front: [TLS](reference/tls.md)\n",
        );
        let shown: Vec<String> = parts
            .iter()
            .flat_map(|part| part.groups.iter().map(move |group| (part, group)))
            .flat_map(|(part, group)| {
                let named = group.documents.iter();
                named.map(move |one| format!("{}/{}/{}", part.title, group.label, one.title))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Do/Move/cgi",
                "Look up/Perl/API",
                "Look up/Perl/PSGI",
                "Look up/Front/TLS"
            ]
        );
        assert_eq!(
            parts[0].groups[0].documents[0].source,
            "docs/how-to/cgi-bin.md"
        );
    }

    #[test]
    fn every_packed_document_is_in_the_navigation() {
        let parts = parts();
        let documents = documents(&parts);
        for (source, _) in sources::SOURCES {
            let count = documents.iter().filter(|one| one.source == *source).count();
            let is_page = source.ends_with(".md") && *source != INDEX;
            assert_eq!(count, usize::from(is_page), "{source}");
        }
    }
}
