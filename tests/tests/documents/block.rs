//! The blocks of code of a document.
//!
//! The first line of a fence says what the block is:
//!
//! * `console`: commands behind `$`, each followed by its output, if the page shows it; `^C` ends
//!   the last server;
//! * `console server`: a command that serves until the next such block or the end of the page;
//!   `console second server` serves beside the first;
//! * `console figures`: as `console`, and numbers with their units may differ;
//! * `LANGUAGE file=NAME`: a file of the page's folder; one with `#!` becomes executable;
//! * `apache`: a configuration, which `server/config/tests/documents.rs` loads;
//! * `perl`: a script that must compile;
//! * `LANGUAGE illustration: REASON`: not run, for this reason.
//!
//! `<!-- console` and `<!-- LANGUAGE file=NAME` begin blocks that a reader does not see: what the
//! page's commands need. `<!-- needs: PACKAGES -->` names Debian's packages.

/// What is to be done with a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    Console { figures: bool },
    Server { beside: bool },
    File(String),
    Configuration,
    Perl,
    Illustration,
}

pub struct Block {
    /// The line of the fence, from 1.
    pub line: usize,
    pub kind: BlockKind,
    pub text: String,
}

/// Returns the blocks in their order. Blocks of no known kind are left out: `problems` names them.
pub fn blocks(text: &str) -> Vec<Block> {
    fences(text)
        .into_iter()
        .filter_map(|(line, words, text)| {
            let kind = kind(words).ok()?;
            Some(Block { line, kind, text })
        })
        .collect()
}

/// The lines of a picture of a terminal, as a block. Its numbers may differ.
pub fn picture(svg: &str) -> Block {
    let lines = svg.lines().filter_map(|line| {
        let (_, text) = line.strip_prefix("<text ")?.split_once('>')?;
        let text = text.strip_suffix("</text>")?;
        Some(text.replace("&lt;", "<").replace("&gt;", ">") + "\n")
    });
    Block {
        line: 1,
        kind: BlockKind::Console { figures: true },
        text: lines.collect(),
    }
}

/// The Debian packages without which the page cannot run.
pub fn needs(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("<!-- needs: ")?.strip_suffix(" -->"))
        .flat_map(str::split_whitespace)
        .collect()
}

/// Names each block that is of no kind, with its line.
pub fn problems(page: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = fences(text)
        .into_iter()
        .filter_map(|(line, words, _)| {
            let problem = kind(words).err()?;
            Some(format!("{page}:{line}: {problem}"))
        })
        .collect();
    for line in indented(text) {
        found.push(format!(
            "{page}:{line}: an indented block; write a fence that says what it is"
        ));
    }
    found
}

fn kind(words: &str) -> Result<BlockKind, String> {
    let (language, rest) = words.split_once(' ').unwrap_or((words, ""));
    if let Some(reason) = rest.strip_prefix("illustration: ") {
        let words = reason.split_whitespace().count();
        return if words >= 3 {
            Ok(BlockKind::Illustration)
        } else {
            Err(format!("`{reason}` is no reason: say why it cannot run"))
        };
    }
    if let Some(name) = rest.strip_prefix("file=") {
        return Ok(BlockKind::File(name.to_owned()));
    }
    match (language, rest) {
        ("console", "") => Ok(BlockKind::Console { figures: false }),
        ("console", "figures") => Ok(BlockKind::Console { figures: true }),
        ("console", "server") => Ok(BlockKind::Server { beside: false }),
        ("console", "second server") => Ok(BlockKind::Server { beside: true }),
        ("apache", "") => Ok(BlockKind::Configuration),
        ("perl", "") => Ok(BlockKind::Perl),
        _ => Err(format!(
            "`{words}` says nothing of how to test the block (tests/tests/documents/block.rs)"
        )),
    }
}

/// The line, the words and the text of each fence and of each hidden block.
fn fences(text: &str) -> Vec<(usize, &str, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str, &str, String)> = None;
    for (index, line) in text.lines().enumerate() {
        match &mut open {
            Some((_, end, ..)) if line == *end => {
                let (start, _, words, text) = open.take().expect("it is open");
                found.push((start, words, text));
            }
            Some((.., text)) => *text += &format!("{line}\n"),
            None => {
                let hidden = line
                    .strip_prefix("<!-- ")
                    .filter(|words| words.starts_with("console") || words.contains(" file="));
                let fence = line.trim_start().strip_prefix("```").map(str::trim);
                let end = if hidden.is_some() { "-->" } else { "```" };
                open = hidden
                    .or(fence)
                    .map(|words| (index + 1, end, words, String::new()));
            }
        }
    }
    if let Some((line, _, words, _)) = open {
        panic!("the block `{words}` of line {line} has no end");
    }
    found
}

/// The first lines of indented blocks outside of fences.
fn indented(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code && before.trim().is_empty() && line.starts_with("    ") {
            found.push(index + 1);
        }
        before = line;
    }
    found
}

#[test]
fn block_that_says_nothing_of_itself_is_named() {
    let page = "a\n\n    indented\n\n```\nplain\n```\n\n```text illustration: why\nx\n```\n";
    let found = problems("p.md", page);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(blocks(page).is_empty());
}

#[test]
fn hidden_blocks_and_needs_are_read() {
    let page =
        "<!-- needs: curl jq -->\n<!-- perl file=a.pl\nprint 1;\n-->\n\n```console\n$ ls\n```\n";
    assert_eq!(needs(page), ["curl", "jq"]);
    let found = blocks(page);
    assert_eq!(found[0].kind, BlockKind::File("a.pl".into()));
    assert_eq!(found[0].text, "print 1;\n");
    assert_eq!(found[1].kind, BlockKind::Console { figures: false });
}
