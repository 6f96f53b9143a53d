//! Reaches every value from the packages and from the main program, and names each by its way.

use crate::heap::Heap;
use crate::links::Link;
use std::collections::{HashSet, VecDeque};

/// How each value is reached.
pub struct Graph {
    /// The link by which a value is reached, and the place of the value that has the link.
    pub parents: Vec<Option<(usize, Link)>>,
    /// The places of the reached values, in the order in which they were reached.
    pub order: Vec<usize>,
}

impl Graph {
    /// Reaches what the packages and the main program hold. Then reaches the values that
    /// only C code can hold: nothing in Perl holds them, and `is_old` says that they are old.
    pub fn of(heap: &Heap, is_old: &dyn Fn(u64) -> bool) -> Graph {
        let mut graph = Graph {
            parents: vec![None; heap.values.len()],
            order: Vec::new(),
        };
        for root in [heap.packages, heap.main] {
            if let Some(place) = heap.place(root) {
                graph.reach(heap, place);
            }
        }
        let kinds = [
            heap.layout.sv_code,
            heap.layout.sv_hash,
            heap.layout.type_array,
        ];
        for rank in 0..=kinds.len() {
            for place in 0..heap.values.len() {
                let value = &heap.values[place];
                let is_turn = kinds.get(rank).is_none_or(|&kind| kind == heap.kind(value));
                if is_turn && is_old(value.address) {
                    graph.reach(heap, place);
                }
            }
        }
        graph
    }

    /// Reaches a value and all that it holds, if they are not reached yet.
    pub fn reach(&mut self, heap: &Heap, root: usize) -> Vec<usize> {
        let mut reached = Vec::new();
        if self.parents[root].is_some() {
            return reached;
        }
        self.parents[root] = Some((root, Link::Root));
        let mut queue = VecDeque::from([root]);
        while let Some(place) = queue.pop_front() {
            reached.push(place);
            for (link, address) in heap.links(&heap.values[place]) {
                if let Some(next) = heap.place(address) {
                    if self.parents[next].is_none() {
                        self.parents[next] = Some((place, link));
                        queue.push_back(next);
                    }
                }
            }
        }
        self.order.extend(&reached);
        reached
    }

    /// Returns the values on the way to a value, the root first.
    fn way(&self, place: usize) -> Vec<(usize, &Link)> {
        let mut way = Vec::new();
        let mut at = place;
        let mut seen = HashSet::new();
        while let Some((parent, link)) = &self.parents[at] {
            way.push((at, link));
            if *link == Link::Root || !seen.insert(at) {
                break;
            }
            at = *parent;
        }
        way.reverse();
        way
    }

    /// Returns the name of a value as Perl code writes it, such as `$Shop::data->{carts}`.
    pub fn name(&self, heap: &Heap, place: usize) -> ValueName {
        let mut name = ValueName::default();
        for (at, link) in self.way(place) {
            name.step(heap, at, link);
        }
        name
    }
}

/// A value's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValueName {
    /// The variable with its sign and what is chosen of it.
    pub text: String,
    /// The sub whose variable this is. Empty: the variable of a package.
    pub sub: String,
    /// The place of the variable itself.
    pub variable: Option<usize>,
    /// The keys chosen, the last one last.
    pub keys: Vec<String>,
    is_package: bool,
    is_behind_reference: bool,
}

impl ValueName {
    fn step(&mut self, heap: &Heap, at: usize, link: &Link) {
        match link {
            Link::Root => self.begin(heap, at),
            Link::Key(key) if self.is_package => {
                self.text += &heap.key(*key);
                self.variable = Some(at);
                self.is_package = false;
            }
            Link::Key(key) => {
                let key = heap.key(*key);
                self.choose(&format!("{{{}}}", key.escape_debug()));
                self.keys.push(key);
            }
            Link::Index(index) => self.choose(&format!("[{index}]")),
            Link::Reference => self.is_behind_reference = true,
            Link::Part('%') if self.text.ends_with("::") => self.is_package = true,
            Link::Part(sign) => {
                let package = if self.text.contains("::") {
                    ""
                } else {
                    "main::"
                };
                self.text = format!("{sign}{package}{}", self.text);
                self.variable = Some(at);
            }
            Link::Pad => {}
            Link::Variable(name) => {
                self.sub = std::mem::take(&mut self.text);
                self.text = format!("my {}", heap.memory.text(*name, 80));
                self.variable = Some(at);
                self.keys.clear();
                self.is_behind_reference = false;
            }
            Link::Magic => self.is_behind_reference = false,
        }
    }

    fn begin(&mut self, heap: &Heap, at: usize) {
        let value = &heap.values[at];
        self.is_package = value.address == heap.packages;
        if value.address == heap.main {
            self.text = "the main program".to_owned();
        } else if !self.is_package {
            let kind = heap.kind(value);
            let text = if kind == heap.layout.type_array && !heap.owns(value) {
                "a list of weak references"
            } else if kind == heap.layout.sv_code {
                "a sub"
            } else {
                "a value that C code holds"
            };
            self.text = text.to_owned();
            self.variable = Some(at);
        }
    }

    /// Adds a key or an index. An element of `%h` and `@a` is written `$h{..}` and `$a[..]`.
    fn choose(&mut self, what: &str) {
        let of_sign = |text: &str| text.starts_with(['%', '@']);
        let start = if self.text.starts_with("my ") { 3 } else { 0 };
        if of_sign(&self.text[start..]) && !self.is_behind_reference {
            self.text.replace_range(start..start + 1, "$");
        } else if self.is_behind_reference && !self.text.ends_with(['}', ']']) {
            self.text += "->";
        }
        self.is_behind_reference = false;
        self.text += what;
    }
}
