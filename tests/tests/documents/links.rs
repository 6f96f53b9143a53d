//! Every link of the documents leads to a file, and to a heading of that file.

use super::{documents, read};
use mehari_harness::binary::workspace;
use std::path::{Component, Path, PathBuf};

/// Other files that name documents.
const ALSO: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "packaging/INSTALL.md",
    "peers/README.md",
];

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in documents()
        .into_iter()
        .chain(ALSO.iter().map(|&name| name.to_owned()))
    {
        let text = read(&page);
        for target in targets(&text) {
            seen += 1;
            if let Err(problem) = follow(&page, &target) {
                wrong.push(format!("{page}: {target}: {problem}"));
            }
        }
        for name in mentions(&text) {
            seen += 1;
            if !workspace().join(name).exists() {
                wrong.push(format!("{page}: there is no {name}"));
            }
        }
    }
    assert!(seen > 100, "only {seen} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_document_is_in_the_index() {
    let index: Vec<String> = targets(&read("docs/README.md"));
    let missing: Vec<String> = documents()
        .into_iter()
        .filter_map(|page| page.strip_prefix("docs/").map(str::to_owned))
        .filter(|page| page != "README.md" && !index.contains(page))
        .collect();
    assert!(missing.is_empty(), "docs/README.md lacks {missing:?}");
}

#[test]
fn dead_links_are_found() {
    assert_eq!(
        targets("see [a](b.md) and\n[c](#d)\n```\n[x](y)\n```\n"),
        ["b.md", "#d"]
    );
    assert!(follow("docs/README.md", "nowhere.md").is_err());
    assert!(follow("docs/reference/rewind.md", "../reference/logs.md#no-such").is_err());
    assert!(follow("docs/README.md", "reference/logs.md#access-log").is_ok());
    assert_eq!(mentions("(docs/a/b.md) and docs/x."), ["docs/a/b.md"]);
}

/// The targets of Markdown's links outside of blocks.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        for part in line.split("](").skip(1) {
            found.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// Documents that the text names by their paths from the top.
fn mentions(text: &str) -> Vec<&str> {
    text.split(|sign: char| !(sign.is_ascii_alphanumeric() || "/-_.".contains(sign)))
        .filter(|word| word.starts_with("docs/") && word.ends_with(".md"))
        .collect()
}

fn follow(page: &str, target: &str) -> Result<(), String> {
    if target.starts_with("https://") {
        return Ok(());
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().expect("a file has a folder");
    let path = match file {
        "" => PathBuf::from(page),
        file => plain(&folder.join(file)),
    };
    if !workspace().join(&path).exists() {
        return Err(format!("there is no {}", path.display()));
    }
    let is_there = heading.is_empty()
        || headings(&read(&path.display().to_string())).contains(&heading.to_owned());
    if is_there {
        Ok(())
    } else {
        Err(format!("{} has no such heading", path.display()))
    }
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The anchors of a document's headings, as GitHub makes them.
fn headings(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let line = line.trim_start_matches('#').trim().to_lowercase();
            line.chars()
                .filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign))
                .map(|sign| if sign == ' ' { '-' } else { sign })
                .collect()
        })
        .collect()
}
