//! The index of the search: one entry for each heading, and for each row of the reference.

use serde_json::json;

/// What a search may find.
#[derive(Debug)]
pub struct SearchEntry {
    /// The anchor in its page.
    pub anchor: String,
    /// The heading, or the name with which a row begins.
    pub title: String,
    /// The text below the heading, or of the row.
    pub text: String,
    /// Whether the entry is a row of a table.
    pub is_row: bool,
}

impl SearchEntry {
    pub fn section(anchor: String, title: String) -> SearchEntry {
        SearchEntry {
            anchor,
            title,
            text: String::new(),
            is_row: false,
        }
    }

    pub fn row(anchor: String, name: String) -> SearchEntry {
        SearchEntry {
            is_row: true,
            ..SearchEntry::section(anchor, name)
        }
    }

    /// Whether the entry has all words of a search, which are in small letters.
    fn has(&self, words: &[String]) -> bool {
        let text = format!("{} {}", self.title, self.text).to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

/// A page of the index: its path in the site, its title, and its entries.
pub struct IndexedPage {
    pub path: String,
    pub title: String,
    pub entries: Vec<SearchEntry>,
}

/// What a search has found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// An entry with exactly this title: its path and anchor.
    Exact(String),
    /// Several entries that have the words.
    Some,
    None,
}

/// Looks for an entry with the title `words`. Rows of the reference come before headings.
pub fn find(pages: &[IndexedPage], words: &str) -> Found {
    let all = || {
        let entries = |page: &'_ IndexedPage| page.entries.len();
        pages
            .iter()
            .flat_map(move |page| (0..entries(page)).map(move |at| (page, &page.entries[at])))
    };
    let is_exact = |entry: &SearchEntry| entry.title.eq_ignore_ascii_case(words);
    let exact = all().filter(|(_, entry)| is_exact(entry));
    if let Some((page, entry)) = exact.min_by_key(|(_, entry)| !entry.is_row) {
        return Found::Exact(format!("{}#{}", page.path, entry.anchor));
    }
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if !words.is_empty() && all().any(|(_, entry)| entry.has(&words)) {
        Found::Some
    } else {
        Found::None
    }
}

/// Returns the index as a script, which works from a file system too.
pub fn script(pages: &[IndexedPage]) -> String {
    let pages: Vec<_> = pages
        .iter()
        .map(|page| {
            let entries: Vec<_> = page
                .entries
                .iter()
                .map(|entry| {
                    let text: Vec<&str> = entry.text.split_whitespace().collect();
                    json!([
                        entry.anchor,
                        entry.title,
                        text.join(" "),
                        u8::from(entry.is_row)
                    ])
                })
                .collect();
            json!([page.path, page.title, entries])
        })
        .collect();
    let pages = json!(pages);
    format!("// Each page: path, title, entries. An entry: anchor, title, text, is a row.\nconst SEARCH_INDEX = {pages};\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Vec<IndexedPage> {
        let mut heading = SearchEntry::section("watch".into(), "Watch".into());
        heading.text = "Reload what  has\nchanged.".into();
        let row = SearchEntry::row("watch-1".into(), "Watch".into());
        vec![IndexedPage {
            path: "a.html".into(),
            title: "A".into(),
            entries: vec![heading, row],
        }]
    }

    #[test]
    fn exact_titles_come_first_and_rows_before_headings() {
        let exact = Found::Exact("a.html#watch-1".into());
        assert_eq!(find(&pages(), "watch"), exact);
        assert_eq!(find(&pages(), "CHANGED reload"), Found::Some);
        assert_eq!(find(&pages(), "changed never"), Found::None);
        assert_eq!(find(&pages(), " "), Found::None);
    }

    #[test]
    fn index_is_a_script_with_plain_spaces() {
        let script = script(&pages());
        assert!(
            script.contains(r#"["watch","Watch","Reload what has changed.",0]"#),
            "{script}"
        );
    }
}
