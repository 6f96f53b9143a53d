//! Reads the rows of `tests/behaviours/*.rows`.
//!
//! A file begins with `page NAME`. `== TITLE` begins a row; lines that begin with `@` state its
//! needs; the rest is Perl. Words in capitals are replaced: HERE (the path of the row's location),
//! ROW (its package), ROOT (the site's directory), SCRIPT (the path of its script).

use mehari_harness::Request;
use std::path::Path;

/// The kind of a row's Perl.
#[derive(Clone, Copy, PartialEq)]
pub enum PerlKind {
    /// The body of a response handler; the response is the returned list.
    List,
    /// A module's text; `ROW->handler` is the response handler unless the row configures others.
    Module,
    /// A script, run by the `SetHandler` and `PerlResponseHandler` that the row configures.
    Script,
}

/// One behaviour.
pub struct Row {
    /// The name of its file, without the ending.
    pub file: String,
    pub page: String,
    pub title: String,
    /// Its place in its file, from 1.
    pub number: usize,
    pub kind: PerlKind,
    pub body: String,
    /// Lines of its location, of the server, and files by name.
    pub conf: String,
    pub server: String,
    pub files: Vec<(String, String)>,
    pub requests: Vec<Request>,
    /// Lines of the error log that have this word are compared too.
    pub log: Option<String>,
    pub differs: Option<String>,
    /// The first request of the row loads its package.
    pub lazy: bool,
    /// The row has its own pair of servers.
    pub alone: bool,
    /// Content-Length is compared.
    pub length: bool,
    /// Both servers refuse the configuration. Without this mark such a row shows nothing.
    pub refused: bool,
}

impl Row {
    fn new(file: &str, page: &str, title: &str, number: usize) -> Row {
        Row {
            file: file.to_owned(),
            page: page.to_owned(),
            title: title.to_owned(),
            number,
            kind: PerlKind::List,
            body: String::new(),
            conf: String::new(),
            server: String::new(),
            files: Vec::new(),
            requests: Vec::new(),
            log: None,
            differs: None,
            lazy: false,
            alone: false,
            length: false,
            refused: false,
        }
    }

    pub fn name(&self) -> String {
        format!("{}: {}", self.page, self.title)
    }

    fn slug(&self) -> String {
        format!("{}-{}", self.file, self.number)
    }

    /// Rows of one name share a pair of servers.
    pub fn server_name(&self) -> String {
        if self.alone {
            return self.slug();
        }
        // Apache exits without a message if one configuration holds all rows.
        let family = self.file.split('-').next();
        family.unwrap_or_default().to_owned()
    }

    pub fn location(&self) -> String {
        match self.kind {
            PerlKind::Script => format!("/scripts/{}", self.slug()),
            _ => format!("/b/{}", self.slug()),
        }
    }

    pub fn package(&self) -> String {
        format!("Row::{}", self.slug().replace('-', "_"))
    }

    /// The text with its words replaced.
    pub fn filled(&self, text: &str) -> String {
        let words = [
            ("HERE", self.location()),
            ("ROW", self.package()),
            ("SCRIPT", format!("{}/x.pl", self.location())),
            ("ROOT", "@ROOT@".to_owned()),
        ];
        words.iter().fold(text.to_owned(), |text, (word, value)| {
            replace_word(&text, word, value)
        })
    }

    fn say(&mut self, word: &str, rest: &str) {
        let last = self.requests.last_mut();
        match (word, last) {
            ("module", _) => self.kind = PerlKind::Module,
            ("script", _) => {
                self.kind = PerlKind::Script;
                let class = if rest.is_empty() {
                    "ModPerl::Registry"
                } else {
                    rest
                };
                self.conf += &format!(
                    "SetHandler perl-script\nPerlResponseHandler {class}\nOptions +ExecCGI\n"
                );
            }
            ("conf", _) => self.conf += &format!("{rest}\n"),
            ("server", _) => self.server += &format!("{rest}\n"),
            ("log", _) => self.log = Some(rest.to_owned()),
            ("differs", _) => self.differs = Some(rest.to_owned()),
            ("lazy", _) => self.lazy = true,
            ("alone", _) => self.alone = true,
            ("length", _) => self.length = true,
            ("refused", _) => (self.alone, self.refused) = (true, true),
            ("request", _) => {
                let (method, target) = rest.split_once(' ').unwrap_or(("GET", rest));
                self.requests.push(Request::new(method, target));
            }
            ("field", Some(request)) => {
                let (name, value) = rest.split_once(": ").expect("@field NAME: VALUE");
                let kept = std::mem::replace(request, Request::get("/"));
                *request = match name {
                    "Host" => kept.host(value),
                    _ => kept.field(name, value),
                };
            }
            ("body", Some(request)) => {
                request.body = Some(rest.replace("\\n", "\n").replace("\\0", "\0").into_bytes());
            }
            ("chunked", Some(request)) => *request = request.clone().chunked(),
            _ => panic!("{}: @{word} is not known here", self.name()),
        }
    }

    fn finish(&mut self) {
        if self.requests.is_empty() {
            let target = if self.kind == PerlKind::Script {
                "SCRIPT"
            } else {
                "HERE"
            };
            self.requests.push(Request::get(target));
        }
        for request in 0..self.requests.len() {
            self.requests[request].target = self.filled(&self.requests[request].target);
        }
    }
}

/// Whether a line that begins with `@` is the runner's: Perl has arrays.
fn is_said(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "module", "script", "conf", "server", "log", "differs", "lazy", "alone", "length",
        "refused", "request", "field", "body", "chunked",
    ];
    WORDS.contains(&line.split(' ').next().unwrap_or_default())
}

/// Replaces a whole word: `ROOT` within `DOCUMENT_ROOT` stays.
fn replace_word(text: &str, word: &str, value: &str) -> String {
    let is_of_word = |at: char| at.is_ascii_alphanumeric() || at == '_' || at == '@';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let alone = !out.ends_with(is_of_word) || !before.is_empty();
        let alone = alone && !before.ends_with(is_of_word) && !after.starts_with(is_of_word);
        out += before;
        out += if alone { value } else { word };
        rest = after;
    }
    out + rest
}

/// Every row of every file, by page and position.
pub fn read_all(folder: &Path) -> Vec<Row> {
    let entries = std::fs::read_dir(folder).expect("the folder of the rows");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rows"))
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path)).collect()
}

fn read(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).expect("a file of rows");
    let mut rows: Vec<Row> = Vec::new();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut page = "";
    let mut file: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some((name, mut text)) = file.take() {
            if line == "@end" {
                let row = rows.last_mut().expect("a row has begun");
                row.files.push((name, text));
            } else {
                text += &format!("{line}\n");
                file = Some((name, text));
            }
        } else if let Some(name) = line.strip_prefix("page ") {
            page = name;
        } else if let Some(title) = line.strip_prefix("== ") {
            rows.push(Row::new(&stem, page, title, rows.len() + 1));
        } else if let Some(name) = line.strip_prefix("@file ") {
            file = Some((name.to_owned(), String::new()));
        } else if let Some(row) = rows.last_mut() {
            match line.strip_prefix('@').filter(|said| is_said(said)) {
                Some(said) => {
                    let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
                    row.say(word, rest);
                }
                None => row.body += &format!("{line}\n"),
            }
        }
    }
    assert!(file.is_none(), "{}: @file without @end", path.display());
    rows.iter_mut().for_each(Row::finish);
    rows
}
