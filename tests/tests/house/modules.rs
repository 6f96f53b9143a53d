//! Reads the sources of a crate, notes which top-level module uses which, and finds cycles. A path
//! through a name that the crate's root exports counts as a use of the module that defines the
//! name.

use super::tokens::tokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// For each top-level module: the modules that it uses, with one source and path as proof.
pub type Graph = BTreeMap<String, BTreeMap<String, String>>;

struct Crate {
    modules: BTreeSet<String>,
    /// The names that the crate's root exports, and the module that defines each.
    exports: BTreeMap<String, String>,
    graph: Graph,
}

/// Reads the crate whose root is `root`: `src/lib.rs` or `src/main.rs`.
pub fn graph(root: &Path) -> Graph {
    let folder = root.parent().expect("a file lies in a folder");
    let source = fs::read_to_string(root).expect("the root of a crate");
    let words = tokens(&source);
    let mut house = Crate {
        modules: declared(&words).into_iter().collect(),
        exports: BTreeMap::new(),
        graph: Graph::new(),
    };
    house.read_exports(&words, folder);
    for module in house.modules.clone() {
        house.graph.entry(module.clone()).or_default();
        house.read_module(folder, &[module]);
    }
    house.graph
}

impl Crate {
    /// Reads the `use` items of the root.
    fn read_exports(&mut self, words: &[&str], folder: &Path) {
        for at in (0..words.len()).filter(|&at| words[at] == "use") {
            for path in paths(&words[at + 1..]) {
                let path: Vec<&str> = path.into_iter().filter(|&one| one != "crate").collect();
                let Some(module) = path.first().filter(|one| self.modules.contains(**one)) else {
                    continue;
                };
                let names = match path.last() {
                    Some(&"*") => public_names(&folder.join(format!("{module}.rs"))),
                    Some(last) => vec![last.to_string()],
                    None => Vec::new(),
                };
                let names = names.into_iter().map(|name| (name, module.to_string()));
                self.exports.extend(names);
            }
        }
    }

    /// Reads the source of `module` and of the modules that are declared in it. `module` is the
    /// list of names from the root down.
    fn read_module(&mut self, folder: &Path, module: &[String]) {
        let Some((file, source)) = source_of(folder, module) else {
            return; // an inline module: its text is in the parent's file
        };
        let words = tokens(&source);
        let (mut inline, mut depth) = (Vec::new(), 0);
        for (at, &word) in words.iter().enumerate() {
            match word {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inline.pop_if(|opened| *opened == depth);
                }
                "mod" if words.get(at + 2) == Some(&"{") => inline.push(depth),
                "crate" | "super" if at == 0 || words[at - 1] != "::" => {
                    for path in paths(&words[at..]) {
                        self.note(module, inline.len(), &path, &file);
                    }
                }
                _ => {}
            }
        }
        for child in declared(&words) {
            let names: Vec<String> = module.iter().cloned().chain([child]).collect();
            self.read_module(folder, &names);
        }
    }

    /// Notes a use if a path in `module` leads to another top-level module. `inline` is the number
    /// of inline modules around the path.
    fn note(&mut self, module: &[String], inline: usize, path: &[&str], file: &Path) {
        let ups = path.iter().take_while(|&&one| one == "super").count();
        let below = match path[0] {
            "crate" => &path[1..],
            _ if ups == module.len() + inline => &path[ups..],
            _ => return, // the path stays inside its own top-level module
        };
        let Some(&first) = below.first() else { return };
        let target = if self.modules.contains(first) {
            first.to_string()
        } else {
            self.exports.get(first).cloned().unwrap_or_default()
        };
        if self.modules.contains(&target) && target != module[0] {
            let said = format!("{}: {}", file.display(), path.join("::"));
            let uses = self.graph.entry(module[0].clone()).or_default();
            uses.entry(target).or_insert(said);
        }
    }
}

/// Returns the file of a module, and the text of the file.
fn source_of(folder: &Path, module: &[String]) -> Option<(PathBuf, String)> {
    let base = folder.join(module.join("/"));
    let files = [base.with_extension("rs"), base.join("mod.rs")];
    let found = files.into_iter().find(|file| file.is_file())?;
    let text = fs::read_to_string(&found).expect("a source");
    let shown = found.strip_prefix(folder).expect("below its crate").into();
    Some((shown, text))
}

/// Returns the modules that a source declares, in files of their own or inline.
fn declared(words: &[&str]) -> Vec<String> {
    let declarations = words.windows(3).filter(|three| three[0] == "mod");
    declarations
        .filter(|three| matches!(three[2], ";" | "{"))
        .map(|three| three[1].to_string())
        .collect()
}

/// Returns the names that a glob import gets from a source.
fn public_names(file: &Path) -> Vec<String> {
    let source = fs::read_to_string(file).unwrap_or_default();
    let words = tokens(&source);
    let mut names = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == "pub") {
        match words.get(at + 1..).unwrap_or_default() {
            ["struct" | "enum" | "trait" | "type" | "const" | "static" | "fn", name, ..] => {
                names.push(name.to_string());
            }
            ["use", rest @ ..] => {
                let last = |path: Vec<&str>| path.last().map(|name| name.to_string());
                names.extend(paths(rest).into_iter().filter_map(last));
            }
            _ => {}
        }
    }
    names
}

/// Returns the paths of the `use` tree that starts here: `a::{b, c::d}` is `a::b` and `a::c::d`. A
/// renamed path ends with the new name.
fn paths<'s>(words: &[&'s str]) -> Vec<Vec<&'s str>> {
    let mut found = Vec::new();
    tree(words, &mut Vec::new(), &mut found);
    found
}

/// Reads one tree below the path `before`. Returns the number of words read.
fn tree<'s>(words: &[&'s str], before: &mut Vec<&'s str>, found: &mut Vec<Vec<&'s str>>) -> usize {
    let (mut at, depth) = (0, before.len());
    loop {
        match words.get(at) {
            Some(&"{") => {
                at += 1;
                while !matches!(words.get(at), None | Some(&"}")) {
                    at += tree(&words[at..], before, found);
                    at += usize::from(words.get(at) == Some(&","));
                }
                at += 1;
                break;
            }
            Some(&word)
                if word == "*"
                    || word.starts_with(|one: char| one.is_alphabetic() || one == '_') =>
            {
                before.push(word);
                at += 1;
                if words.get(at) == Some(&"::") {
                    at += 1;
                    continue;
                }
                if words.get(at) == Some(&"as") {
                    before.pop();
                    before.push(words.get(at + 1).copied().unwrap_or_default());
                    at += 2;
                }
                found.push(before.clone());
                break;
            }
            _ => {
                at += 1;
                break;
            }
        }
    }
    before.truncate(depth);
    at
}

/// Returns the sets of modules in which each module reaches every other module, the largest set
/// first.
pub fn knots(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> = graph
        .keys()
        .map(|module| (module, reached_from(graph, module)))
        .collect();
    let mut knots = BTreeSet::new();
    for (module, all) in &reached {
        let back = |other: &&String| reached[other].contains(*module);
        let knot: BTreeSet<String> = all.iter().filter(back).cloned().collect();
        if knot.len() > 1 {
            knots.insert(knot);
        }
    }
    let mut knots: Vec<_> = knots.into_iter().collect();
    knots.sort_by_key(|knot| std::cmp::Reverse(knot.len()));
    knots
}

fn reached_from(graph: &Graph, module: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module.to_string()];
    while let Some(module) = next.pop() {
        for other in graph[&module].keys() {
            if reached.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    reached
}
