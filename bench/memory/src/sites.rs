//! Finds the places in the source where Perl code uses a variable or stores to a key: walks the ops
//! of every sub in a copy of the process's memory.

use crate::heap::{Heap, Value};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Site {
    pub file: String,
    pub line: u32,
}

/// One use of a variable.
#[derive(Debug, Clone)]
struct Use {
    site: Site,
    changes: bool,
    /// The number of the statement.
    statement: usize,
}

/// All uses of variables, by the address of the variable or of its glob's part.
#[derive(Default)]
pub struct Sites {
    uses: HashMap<u64, Vec<Use>>,
    /// The constant keys of each statement.
    keys: Vec<HashSet<String>>,
    /// The statements that change something, by their constant keys.
    stores: HashMap<String, Vec<Site>>,
    /// The first statement of each sub.
    firsts: HashMap<u64, Site>,
}

/// The most places that are told of one variable.
const MOST_SITES: usize = 4;
/// The most places that are told of a key.
const MOST_OF_KEY: usize = 2;
const MOST_OPS: usize = 1_000_000;
/// Deeper ops are not looked at.
const DEEPEST: usize = 1_000;
/// A flag of an op's private byte: `my`, `our` or `local` declares the variable here.
const DECLARES: u8 = 0x80;
/// The bits of a multideref's actions (perl's opcode.h has had the same since 5.22).
const ACTION: u64 = 0xf;
const INDEX: u64 = 0x30;
const INDEX_CONSTANT: u64 = 0x10;
const IS_LAST: u64 = 0x40;
const ACTION_BITS: u32 = 7;

/// What is known at an op of a walk.
struct Walk<'a> {
    heap: &'a Heap,
    pad: u64,
    sub: u64,
    site: Option<Site>,
    statement: usize,
    seen: HashSet<u64>,
    /// The ops above this one.
    depth: usize,
}

impl Sites {
    pub fn of(heap: &Heap) -> Sites {
        let mut sites = Sites::default();
        let mut seen = HashSet::new();
        for value in &heap.values {
            if heap.kind(value) == heap.layout.sv_code {
                sites.sub(heap, value, &mut seen);
            }
        }
        sites
    }

    /// Returns the places where Perl code changes the variable. Places whose statement also names
    /// the key come first.
    pub fn of_variable(&self, variable: u64, key: Option<&str>) -> Vec<Site> {
        let empty = Vec::new();
        let uses = self.uses.get(&variable).unwrap_or(&empty);
        let has_key = |it: &Use| key.is_some_and(|key| self.keys[it.statement].contains(key));
        let mut ranked: Vec<(bool, bool, &Site)> = uses
            .iter()
            .map(|it| (!has_key(it), !it.changes, &it.site))
            .collect();
        ranked.sort_by_key(|it| (it.0 && key.is_some(), it.1, it.2.line));
        let best = ranked.first().map(|it| (it.0, it.1));
        // The code may know the value by another name, such as `$self`.
        let mut sites: Vec<Site> = match (key, best) {
            (Some(_), Some((false, false))) | (None, _) => Vec::new(),
            (Some(key), _) => self.of_key(key),
        };
        for (has_no_key, is_only_read, site) in ranked {
            if Some((has_no_key, is_only_read)) == best && !sites.contains(site) {
                sites.push(site.clone());
            }
        }
        sites.truncate(MOST_SITES);
        sites
    }

    /// Returns where Perl code stores something for a constant key.
    pub fn of_key(&self, key: &str) -> Vec<Site> {
        let all = self.stores.get(key).cloned().unwrap_or_default();
        all.into_iter().take(MOST_OF_KEY).collect()
    }

    /// Returns the places where Perl code defines names of a package at run time. A constant text
    /// there begins with the name of the package.
    pub fn of_package(&self, package: &str) -> Vec<Site> {
        let keys = self
            .stores
            .iter()
            .filter(|(key, _)| key.starts_with(package));
        let mut sites: Vec<Site> = keys.flat_map(|(_, sites)| sites.clone()).collect();
        sites.sort_by_key(|site| site.line);
        sites.dedup();
        sites.truncate(MOST_SITES);
        sites
    }

    /// Returns the place of a sub's first statement.
    pub fn first_of_sub(&self, heap: &Heap, sub: u64) -> Option<Site> {
        let root = root(heap, &heap.values[heap.place(sub)?]);
        self.firsts.get(&root).cloned()
    }

    fn sub(&mut self, heap: &Heap, value: &Value, seen: &mut HashSet<u64>) {
        let Some((pads, maximum)) = heap.pad_list(value) else {
            return;
        };
        let root = root(heap, value);
        if root == 0 || maximum == 0 {
            return;
        }
        let pad = heap.memory.number(pads.wrapping_add(8));
        let pad = heap
            .memory
            .number(pad.wrapping_add(heap.layout.sv_union as u64));
        let mut walk = Walk {
            heap,
            pad,
            sub: root,
            site: None,
            statement: 0,
            seen: HashSet::new(),
            depth: 0,
        };
        // The closures of one sub share its ops, and each has variables of its own.
        if seen.len() < MOST_OPS {
            self.op(&mut walk, root, false);
            seen.extend(&walk.seen);
        }
    }

    fn op(&mut self, walk: &mut Walk<'_>, first: u64, changes: bool) {
        let heap = walk.heap;
        let (layout, memory) = (&heap.layout, &heap.memory);
        let mut op = first;
        // After the last sibling the link leads to the parent, which the walk has seen.
        while op != 0 && walk.seen.len() < MOST_OPS && walk.seen.insert(op) {
            let Some(bytes) = memory.bytes(op.wrapping_add(layout.op_flags as u64), 2) else {
                return;
            };
            let (flags, private) = (usize::from(bytes[0]), bytes[1]);
            let changes = changes || flags & layout.op_modifies != 0;
            let name = walk.op_name(op);
            self.look(walk, op, name, changes && private & DECLARES == 0);
            if flags & layout.op_has_kids != 0 {
                let kid = memory.number(op.wrapping_add(layout.op_first as u64));
                walk.depth += 1;
                if walk.depth < DEEPEST {
                    self.op(walk, kid, changes && !is_block(name));
                }
                walk.depth -= 1;
            }
            op = memory.number(op.wrapping_add(layout.op_sibling as u64));
        }
    }

    fn look(&mut self, walk: &mut Walk<'_>, op: u64, name: &str, changes: bool) {
        let (heap, layout) = (walk.heap, &walk.heap.layout);
        let value = || heap.memory.number(op.wrapping_add(layout.op_value as u64));
        let target = heap.memory.number(op.wrapping_add(layout.op_target as u64));
        match name {
            "nextstate" | "dbstate" => {
                walk.site = Some(place(heap, op));
                walk.statement = self.keys.len();
                self.keys.push(HashSet::new());
                if let Some(site) = &walk.site {
                    self.firsts.entry(walk.sub).or_insert_with(|| site.clone());
                }
            }
            "gv" | "gvsv" | "aelemfast" => self.glob(walk, walk.glob_of(value()), changes),
            "padsv" | "padav" | "padhv" | "aelemfast_lex" => {
                self.variable(walk, walk.in_pad(target), changes)
            }
            "padsv_store" | "aelemfastlex_store" | "concat" if target != 0 => {
                self.variable(walk, walk.in_pad(target), true);
            }
            "multiconcat" => {
                self.variable(walk, walk.in_pad(target), true);
                // The second and third item: the constant text and its length.
                let items = heap
                    .memory
                    .number(op.wrapping_add(layout.op_auxiliary as u64));
                let text = heap.memory.number(items.wrapping_add(8));
                let length = heap.memory.number(items.wrapping_add(16)).min(80);
                self.text(walk, heap.memory.text(text, length as usize), true);
            }
            "const" | "method_named" => {
                let constant = match value() {
                    0 => walk.in_pad(target),
                    value => value,
                };
                self.key(walk, constant, changes);
            }
            "multideref" => self.multideref(walk, op, changes),
            _ => {}
        }
    }

    fn multideref(&mut self, walk: &mut Walk<'_>, op: u64, changes: bool) {
        let heap = walk.heap;
        let mut item = heap
            .memory
            .number(op.wrapping_add(heap.layout.op_auxiliary as u64));
        let mut next = || {
            let value = heap.memory.number(item);
            item = item.wrapping_add(8);
            value
        };
        let mut actions = next();
        for _ in 0..64 {
            match actions & ACTION {
                0 => {
                    actions = next();
                    continue;
                }
                2 | 6 | 9 | 13 => {
                    let glob = walk.glob_of(next());
                    self.glob(walk, glob, changes);
                }
                3 | 5 | 10 | 12 => {
                    let variable = walk.in_pad(next());
                    self.variable(walk, variable, changes);
                }
                _ => {}
            }
            let is_hash = actions & ACTION >= 8;
            match actions & INDEX {
                0 => {}
                INDEX_CONSTANT => {
                    let constant = next();
                    if is_hash {
                        self.key(walk, walk.glob_of(constant), changes);
                    }
                }
                _ => {
                    next();
                }
            }
            if actions & IS_LAST != 0 {
                return;
            }
            actions >>= ACTION_BITS;
        }
    }

    /// Notes the use of each variable of a glob.
    fn glob(&mut self, walk: &Walk<'_>, glob: u64, changes: bool) {
        let layout = &walk.heap.layout;
        let parts = walk
            .heap
            .memory
            .number(glob.wrapping_add(layout.sv_union as u64));
        for part in [layout.glob_scalar, layout.glob_array, layout.glob_hash] {
            let at = walk.heap.memory.number(parts.wrapping_add(part as u64));
            self.variable(walk, at, changes);
        }
    }

    fn variable(&mut self, walk: &Walk<'_>, variable: u64, changes: bool) {
        if let (Some(site), true) = (&walk.site, variable != 0) {
            self.uses.entry(variable).or_default().push(Use {
                site: site.clone(),
                changes,
                statement: walk.statement,
            });
        }
    }

    fn key(&mut self, walk: &Walk<'_>, constant: u64, changes: bool) {
        let heap = walk.heap;
        let text = heap
            .memory
            .number(constant.wrapping_add(heap.layout.sv_union as u64));
        self.text(walk, heap.memory.text(text, 80), changes);
    }

    fn text(&mut self, walk: &Walk<'_>, key: String, changes: bool) {
        let Some(site) = walk.site.as_ref().filter(|_| !key.is_empty()) else {
            return;
        };
        if let Some(keys) = self.keys.get_mut(walk.statement) {
            keys.insert(key.clone());
        }
        let stores = self.stores.entry(key).or_default();
        if changes && !stores.contains(site) {
            stores.push(site.clone());
        }
    }
}

impl<'a> Walk<'a> {
    fn op_name(&self, op: u64) -> &'a str {
        let layout = &self.heap.layout;
        let bytes = self
            .heap
            .memory
            .bytes(op.wrapping_add(layout.op_type as u64), 2);
        let kind = bytes.map_or(0, |two| {
            u16::from_ne_bytes([two[0], two[1]]) & layout.op_type_mask
        });
        self.heap
            .op_names
            .get(usize::from(kind))
            .map_or("", String::as_str)
    }

    fn in_pad(&self, index: u64) -> u64 {
        self.heap
            .memory
            .number(self.pad.wrapping_add(index.wrapping_mul(8)))
    }

    /// A perl with threads keeps globs and constants in the pad.
    fn glob_of(&self, value: u64) -> u64 {
        match self.heap.layout.threads {
            1 => self.in_pad(value),
            _ => value,
        }
    }
}

/// Whether the op only groups statements. An op that changes its operand says nothing about the
/// statements in such a group.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "lineseq" | "leave" | "leavesub" | "scope" | "leaveloop" | "entersub"
    )
}

fn root(heap: &Heap, value: &Value) -> u64 {
    let body = heap
        .memory
        .number(value.address.wrapping_add(heap.layout.sv_body as u64));
    heap.memory
        .number(body.wrapping_add(heap.layout.code_root as u64))
}

fn place(heap: &Heap, statement: u64) -> Site {
    let layout = &heap.layout;
    let file = heap
        .memory
        .number(statement.wrapping_add(layout.cop_file as u64));
    let file = match layout.threads {
        1 => heap.memory.text(file, 1000),
        _ => {
            let body = heap.memory.number(file.wrapping_add(layout.sv_body as u64));
            let name = heap
                .memory
                .number(body.wrapping_add(layout.glob_name as u64));
            heap.key(name).trim_start_matches("_<").to_owned()
        }
    };
    Site {
        file,
        line: heap
            .memory
            .int(statement.wrapping_add(layout.statement_line as u64)),
    }
}
