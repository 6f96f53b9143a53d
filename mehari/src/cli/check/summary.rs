//! Groups the notes about the directives: what matters, what has no effect, what is honoured.
//!
//! Lines with the same reason become one line, so that Debian's configuration of Apache takes three
//! screens. `--all` prints each line instead.

use std::collections::BTreeMap;
use std::path::Path;

use mehari_config::{Note, NoteKind, Site};

use super::meaning::Page;

/// The most names in one group.
const MOST_NAMES: usize = 5;
/// The longest line of the lists.
const WIDTH: usize = 100;

/// Adds the remarks, each with its position.
pub fn remarks(page: &mut Page, site: &Site) {
    let remarks = of_kind(site, NoteKind::Remark);
    if !remarks.is_empty() {
        page.heading("\nWorth knowing");
    }
    for note in remarks {
        page.heading(&format!("  {note}"));
    }
}

/// Adds the ignored directives, grouped by the reason.
pub fn ignored(page: &mut Page, site: &Site) {
    let mut groups: BTreeMap<&str, Vec<&Note>> = BTreeMap::new();
    for note in of_kind(site, NoteKind::Ignored) {
        groups.entry(&note.message).or_default().push(note);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, notes)| std::cmp::Reverse(notes.len()));
    if !groups.is_empty() {
        page.heading("\nIgnored by design (--all names each line)");
    }
    for (reason, notes) in groups {
        page.heading(&format!("  {:>3}  {}", notes.len(), names(&notes)));
        page.heading(&format!("       {reason}"));
    }
}

/// Adds the honoured directives with their numbers.
pub fn honoured(page: &mut Page, site: &Site) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for note in of_kind(site, NoteKind::Honoured) {
        *counts.entry(note.directive).or_default() += 1;
    }
    if counts.is_empty() {
        return;
    }
    page.heading("\nHonoured");
    let words = counts.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        count => format!("{name} ({count})"),
    });
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push_str(", ");
        }
        if line.len() + word.len() + 4 > WIDTH {
            page.heading(&format!("  {}", line.trim_end()));
            line.clear();
        }
        line.push_str(&word);
    }
    page.heading(&format!("  {line}"));
}

/// Returns the first line of the page. `what` is the file or folder that was checked.
pub fn headline(site: &Site, what: &Path) -> String {
    if site.source.files.is_empty() {
        return format!("{}: served without a configuration", what.display());
    }
    let tally = super::tally(&site.source.notes);
    format!("{}: no problem; {tally}", what.display())
}

fn of_kind(site: &Site, kind: NoteKind) -> Vec<&Note> {
    let notes = site.source.notes.iter();
    notes.filter(|note| note.kind == kind).collect()
}

/// Returns the names of the group's directives, each once.
fn names(notes: &[&Note]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for note in notes {
        if !names.contains(&note.directive) {
            names.push(note.directive);
        }
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let names = names.join(", ");
    match more {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
