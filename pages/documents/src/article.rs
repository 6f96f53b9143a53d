//! HTML of one document.
//!
//! Headings get GitHub's anchors, and rows of the reference that begin with a name get one too.
//! Tables and code stand in boxes of their own, which scroll on a narrow screen. Comments, which
//! hold the hidden steps of the examples, are left out.

use crate::anchors::Anchors;
use crate::escape::escape;
use crate::search::SearchEntry;
use crate::sources::{self, Destination};
use pulldown_cmark::{
    html, Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
    TextMergeStream,
};

/// The folder of the documents whose table rows are found by the search.
const REFERENCE: &str = "docs/reference/";

/// One document as HTML.
pub struct Article {
    /// The text of the first heading.
    pub title: String,
    pub html: String,
    /// The second headings: anchor and text.
    pub sections: Vec<(String, String)>,
    /// What the search finds in the document.
    pub entries: Vec<SearchEntry>,
}

/// Makes the article of the document `source`.
pub fn article(source: &str, markdown: &str) -> Article {
    let events: Vec<Event> =
        TextMergeStream::new(Parser::new_ext(markdown, Options::ENABLE_TABLES)).collect();
    let mut anchors = Anchors::default();
    let headings = headings(&events)
        .map(|text| (anchors.next(&text), text))
        .collect::<Vec<_>>();
    let mut writer = Writer {
        source,
        anchors,
        headings: headings.into_iter(),
        article: Article {
            title: String::new(),
            html: String::new(),
            sections: Vec::new(),
            entries: Vec::new(),
        },
        columns: Vec::new(),
        column: 0,
        is_head: false,
        row: None,
        links: Vec::new(),
        code: None,
        in_heading: false,
        in_comment: false,
    };
    let mut events = events.into_iter().peekable();
    let mut written = Vec::new();
    while let Some(event) = events.next() {
        if matches!(event, Event::Start(Tag::TableRow)) {
            writer.row = name_of_row(events.clone());
        }
        writer.event(event, &mut written);
    }
    html::push_html(&mut writer.article.html, written.into_iter());
    writer.article
}

/// Returns the texts of the headings, in their order.
fn headings<'e>(events: &'e [Event]) -> impl Iterator<Item = String> + 'e {
    let starts = events.iter().enumerate();
    let starts = starts.filter(|(_, event)| matches!(event, Event::Start(Tag::Heading { .. })));
    starts.map(|(at, _)| {
        let inner = events[at..].iter();
        inner
            .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect()
    })
}

/// Returns the name with which a row begins: the first word of a cell that begins with code.
fn name_of_row<'e>(mut events: impl Iterator<Item = Event<'e>>) -> Option<String> {
    let in_cell = matches!(events.next(), Some(Event::Start(Tag::TableCell)));
    match events.next() {
        Some(Event::Code(code)) if in_cell => {
            let word = code.split_whitespace().next().unwrap_or_default();
            Some(word.trim_matches(['<', '>']).to_owned())
        }
        _ => None,
    }
}

/// What is known while the events of a document pass.
struct Writer<'s> {
    source: &'s str,
    anchors: Anchors,
    headings: std::vec::IntoIter<(String, String)>,
    article: Article,
    /// The alignments of the current table.
    columns: Vec<Alignment>,
    column: usize,
    is_head: bool,
    /// The name with which the current row begins.
    row: Option<String>,
    /// What the end of each open link writes.
    links: Vec<String>,
    /// The kind of the current block of code, and its text.
    code: Option<(String, String)>,
    in_heading: bool,
    in_comment: bool,
}

impl Writer<'_> {
    /// Writes one event.
    fn event<'e>(&mut self, event: Event<'e>, out: &mut Vec<Event<'e>>) {
        if let Some((_, code)) = &mut self.code {
            match event {
                Event::Text(text) => *code += &text,
                _ => self.end_code(out),
            }
            return;
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading(level, out),
            Event::End(TagEnd::Heading(level)) => {
                self.in_heading = false;
                out.push(Event::Html(format!("</{level}>\n").into()));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Event::Start(Tag::Link { dest_url, .. }) => self.link(&dest_url, out),
            Event::End(TagEnd::Link) => {
                let end = self.links.pop().unwrap_or_default();
                out.push(Event::Html(end.into()));
            }
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            }) => {
                let dest_url = match sources::destination(self.source, &dest_url) {
                    Destination::Inside(link) => link.into(),
                    Destination::Outside | Destination::File(_) => dest_url,
                };
                out.push(Event::Start(Tag::Image {
                    link_type,
                    dest_url,
                    title,
                    id,
                }));
            }
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => self.in_comment = false,
            Event::Html(html) | Event::InlineHtml(html) => self.html(html, out),
            Event::Text(text) if self.links.is_empty() && !self.in_heading => {
                self.say(&text);
                self.text(&text, out);
            }
            Event::Text(_) | Event::Code(_) => {
                if let Event::Text(text) | Event::Code(text) = &event {
                    self.say(text);
                }
                out.push(event);
            }
            Event::SoftBreak | Event::HardBreak => {
                self.say(" ");
                out.push(event);
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                self.say(" ");
                out.push(event);
            }
            event => self.table(event, out),
        }
    }

    /// Adds a text to the entry of the search that is being filled.
    fn say(&mut self, text: &str) {
        if let (Some(entry), false) = (self.article.entries.last_mut(), self.in_heading) {
            entry.text += text;
        }
    }

    fn heading<'e>(&mut self, level: HeadingLevel, out: &mut Vec<Event<'e>>) {
        let (anchor, text) = self.headings.next().expect("each heading was counted");
        self.in_heading = true;
        let start = format!("<{level} id=\"{}\">", escape(&anchor));
        out.push(Event::Html(start.into()));
        match level {
            HeadingLevel::H1 if self.article.title.is_empty() => {
                self.article.title = text.clone();
            }
            HeadingLevel::H2 => self.article.sections.push((anchor.clone(), text.clone())),
            _ => {}
        }
        self.article
            .entries
            .push(SearchEntry::section(anchor, text));
    }

    /// Begins a link. A file that the site lacks is named instead of linked.
    fn link<'e>(&mut self, link: &str, out: &mut Vec<Event<'e>>) {
        let (start, end) = match sources::destination(self.source, link) {
            Destination::Inside(link) => (format!("<a href=\"{}\">", escape(&link)), "</a>".into()),
            Destination::Outside => (
                format!("<a href=\"{}\" rel=\"noreferrer\">", escape(link)),
                "</a>".into(),
            ),
            Destination::File(path) => (
                String::new(),
                format!(" (<code>{}</code> of the sources)", escape(&path)),
            ),
        };
        self.links.push(end);
        out.push(Event::Html(start.into()));
    }

    /// Leaves comments out. Other HTML is shown as text: no document has any.
    fn html<'e>(&mut self, html: pulldown_cmark::CowStr<'e>, out: &mut Vec<Event<'e>>) {
        self.in_comment |= html.starts_with("<!--");
        if !self.in_comment {
            out.push(Event::Text(html));
        }
    }

    /// Writes a text. A document that the text names by its path becomes a link.
    fn text<'e>(&mut self, text: &str, out: &mut Vec<Event<'e>>) {
        let is_path = |sign: char| sign.is_ascii_alphanumeric() || "/-_.".contains(sign);
        let mut html = String::new();
        for word in text.split_inclusive(|sign| !is_path(sign)) {
            let end = word.find(".md").map_or(0, |at| at + 3);
            let (path, after) = word.split_at(end);
            if path.starts_with("docs/") && sources::text(path).is_some() {
                let link = sources::between(self.source, path);
                html += &format!("<a href=\"{link}\">{path}</a>{}", escape(after));
            } else {
                html += &escape(word);
            }
        }
        out.push(Event::Html(html.into()));
    }

    /// Writes a block of code. The file's name is its caption, and commands are set off.
    fn end_code(&mut self, out: &mut Vec<Event<'_>>) {
        let Some((info, code)) = self.code.take() else {
            return;
        };
        self.say(&format!(" {code} "));
        let caption = info
            .split_whitespace()
            .find_map(|word| word.strip_prefix("file="));
        let caption = caption.map_or(String::new(), |name| {
            format!("<figcaption>{}</figcaption>", escape(name))
        });
        let code = match info.split_whitespace().next() {
            Some("console") => code.split_inclusive('\n').map(console_line).collect(),
            _ => escape(&code),
        };
        let html = format!("<figure>{caption}<pre><code>{code}</code></pre></figure>\n");
        out.push(Event::Html(html.into()));
    }

    /// Writes the parts of tables; all other events pass.
    fn table<'e>(&mut self, event: Event<'e>, out: &mut Vec<Event<'e>>) {
        let html = match event {
            Event::Start(Tag::Table(columns)) => {
                self.columns = columns;
                "<div class=\"scroll\"><table>\n".to_owned()
            }
            Event::End(TagEnd::Table) => "</tbody></table></div>\n".to_owned(),
            Event::Start(Tag::TableHead) => {
                (self.is_head, self.column) = (true, 0);
                "<thead><tr>".to_owned()
            }
            Event::End(TagEnd::TableHead) => {
                self.is_head = false;
                "</tr></thead><tbody>\n".to_owned()
            }
            Event::Start(Tag::TableRow) => self.start_row(),
            Event::End(TagEnd::TableRow) => "</tr>\n".to_owned(),
            Event::Start(Tag::TableCell) => self.start_cell(),
            Event::End(TagEnd::TableCell) => {
                self.say(" ");
                self.column += 1;
                match (self.is_head, out.last()) {
                    // A head without a text would be announced as an empty title.
                    (true, Some(Event::Html(start))) if start.starts_with("<th ") => {
                        out.pop();
                        "<td></td>".to_owned()
                    }
                    (true, _) => "</th>".to_owned(),
                    (false, _) => "</td>".to_owned(),
                }
            }
            event => return out.push(event),
        };
        out.push(Event::Html(html.into()));
    }

    fn start_row(&mut self) -> String {
        self.column = 0;
        let is_named = self.source.starts_with(REFERENCE);
        match self.row.take().filter(|name| is_named && !name.is_empty()) {
            Some(name) => {
                let anchor = self.anchors.next(&name);
                let start = format!("<tr id=\"{}\">", escape(&anchor));
                self.article.entries.push(SearchEntry::row(anchor, name));
                start
            }
            None => "<tr>".to_owned(),
        }
    }

    fn start_cell(&self) -> String {
        let name = if self.is_head {
            "th scope=\"col\""
        } else {
            "td"
        };
        match self.columns.get(self.column) {
            Some(Alignment::Right) => format!("<{name} class=\"right\">"),
            Some(Alignment::Center) => format!("<{name} class=\"center\">"),
            _ => format!("<{name}>"),
        }
    }
}

/// Returns one line of a session in a shell. The prompt is not part of what a reader copies.
fn console_line(line: &str) -> String {
    match line.strip_prefix("$ ") {
        Some(command) => format!(
            "<span class=\"prompt\" aria-hidden=\"true\">$ </span><b>{}</b>",
            escape(command)
        ),
        None => escape(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(markdown: &str) -> Article {
        article("docs/reference/psgi.md", markdown)
    }

    #[test]
    fn headings_get_anchors_also_twice_and_not_in_code() {
        let article = of("# A page\n\n## Use `x`\n\n```text\n## no\n```\n\n## Use `x`\n");
        assert_eq!(article.title, "A page");
        let anchors: Vec<&str> = article.sections.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(anchors, ["use-x", "use-x-1"]);
        assert!(article
            .html
            .contains("<h2 id=\"use-x-1\">Use <code>x</code></h2>"));
    }

    #[test]
    fn tables_have_classes_in_place_of_styles() {
        let article = of("| a | b | |\n|---|--:|---|\n| `Use A\\|B` | `<1` |\n| c | d |\n");
        assert!(!article.html.contains("style"), "{}", article.html);
        let row = "<tr id=\"use\"><td><code>Use A|B</code></td><td class=\"right\">";
        assert!(article.html.contains(row), "{}", article.html);
        assert!(article
            .html
            .contains("<th scope=\"col\" class=\"right\">b</th><td></td></tr>"));
        assert!(article.html.contains("<tr><td>c</td>"));
        let names: Vec<&str> = article
            .entries
            .iter()
            .map(|one| one.title.as_str())
            .collect();
        assert_eq!(names, ["Use"]);
    }

    #[test]
    fn only_a_files_name_is_a_caption_and_comments_are_left_out() {
        let article = of(
            "<!-- needs: curl -->\n\n```apache file=mehari.conf\n<If a>\n```\n\n\
             <!-- console\n$ hidden\n-->\n\n```console server\n$ mehari serve\nready\n```\n\n\
             ```text illustration: it takes minutes\nx\n```\n",
        );
        let html = &article.html;
        assert!(html.contains("<figcaption>mehari.conf</figcaption><pre><code>&lt;If a&gt;\n"));
        assert!(
            html.contains("$ </span><b>mehari serve\n</b>ready"),
            "{html}"
        );
        assert_eq!(html.matches("figcaption").count(), 2, "{html}");
        for hidden in ["needs", "hidden\n", "illustration", "-->"] {
            assert!(!html.contains(hidden), "{hidden} in {html}");
        }
    }

    #[test]
    fn links_lead_into_the_site_or_say_the_path() {
        let html =
            of("[a](logs.md#b) [c](../../peers/run) <https://example.org> docs/README.md.").html;
        assert!(
            html.contains("<a href=\"../reference/logs.html#b\">a</a>"),
            "{html}"
        );
        assert!(
            html.contains("c (<code>peers/run</code> of the sources)"),
            "{html}"
        );
        assert!(
            html.contains("<a href=\"../index.html\">docs/README.md</a>."),
            "{html}"
        );
        assert!(
            html.contains("<a href=\"https://example.org\" rel=\"noreferrer\">"),
            "{html}"
        );
    }

    #[test]
    fn documents_have_no_html_but_comments() {
        for (source, markdown) in sources::SOURCES {
            let mut last = Event::SoftBreak;
            for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
                let is_first = matches!(last, Event::Start(Tag::HtmlBlock));
                match &event {
                    Event::InlineHtml(html) => panic!("{source}: {html}"),
                    Event::Html(html) if is_first && source.ends_with(".md") => {
                        assert!(html.starts_with("<!--"), "{source}: {html}");
                    }
                    _ => {}
                }
                last = event;
            }
        }
    }
}
