//! Finds the links from one value to another: references, elements, entries, pads, parts of globs,
//! and what is attached to a variable.

use crate::heap::{Heap, Value};
use crate::sizes::MOST_ENTRIES;

/// How a value is reached from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    Root,
    /// The value for a hash's key; the key's text lies at this address.
    Key(u64),
    Index(usize),
    Reference,
    /// A variable or sub of a glob, by its sign.
    Part(char),
    /// A pad of a sub, or a place of the pad without a name: `@_`, a constant, a temporary value.
    Pad,
    /// A variable in a pad; its name lies at this address.
    Variable(u64),
    /// What is tied to a variable, or otherwise attached to it.
    Magic,
}

/// The most entries of one hash. A longer chain was misread.
const MOST_CHAIN: usize = 1 << 26;
/// The most that is attached to one variable. A longer list was misread.
const MOST_MAGIC: usize = 64;

impl Heap {
    /// Returns the addresses of the values that a value holds, and how.
    pub fn links(&self, value: &Value) -> Vec<(Link, u64)> {
        let layout = &self.layout;
        let kind = self.kind(value);
        let mut links = Vec::new();
        if self.is_reference(value) {
            if value.flags & layout.sv_weak != layout.sv_weak {
                links.push((Link::Reference, value.union));
            }
        } else if kind == layout.type_array {
            if self.owns(value) {
                self.elements(value, &mut links);
            }
        } else if kind == layout.sv_hash {
            self.entries(value, &mut links);
        } else if kind == layout.sv_code {
            self.pads(value, &mut links);
        } else if self.is_glob(value) {
            let parts = [
                ('$', layout.glob_scalar),
                ('@', layout.glob_array),
                ('%', layout.glob_hash),
                ('&', layout.glob_code),
                ('~', layout.glob_form),
            ];
            let part = |at: usize| self.memory.number(value.union + at as u64);
            links.extend(parts.map(|(sign, at)| (Link::Part(sign), part(at))));
        }
        if kind >= layout.type_pvmg && kind != layout.sv_code {
            self.attached(value, &mut links);
        }
        links.retain(|link| link.1 != 0);
        links
    }

    /// Whether an array owns its elements. A list of weak references does not.
    pub fn owns(&self, array: &Value) -> bool {
        array.flags & self.layout.array_owns != 0
    }

    /// Whether `count` pointers lie at the address. A torn look may have read a false number.
    fn is_mapped(&self, address: u64, count: u64) -> bool {
        self.memory.bytes(address, 8 * count as usize).is_some()
    }

    fn elements(&self, value: &Value, links: &mut Vec<(Link, u64)>) {
        let count = self.count(value);
        if !self.is_mapped(value.union, count) {
            return;
        }
        let elements = 0..count;
        links.extend(elements.map(|index| {
            let at = value.union.wrapping_add(8 * index);
            (Link::Index(index as usize), self.memory.number(at))
        }));
    }

    fn entries(&self, value: &Value, links: &mut Vec<(Link, u64)>) {
        let layout = &self.layout;
        self.each_entry(value, &mut |entry| {
            let at = |offset: usize| self.memory.number(entry.wrapping_add(offset as u64));
            links.push((Link::Key(at(layout.entry_key)), at(layout.entry_value)));
        });
    }

    /// Gives the address of each entry of a hash.
    pub fn each_entry(&self, value: &Value, take: &mut dyn FnMut(u64)) {
        let layout = &self.layout;
        let maximum = self
            .memory
            .number(value.body.wrapping_add(layout.hash_maximum as u64));
        if maximum > MOST_ENTRIES || !self.is_mapped(value.union, maximum + 1) {
            return;
        }
        let mut left = self.count(value);
        for slot in 0..=maximum {
            let mut entry = self.memory.number(value.union.wrapping_add(8 * slot));
            for _ in 0..MOST_CHAIN {
                if entry == 0 || left == 0 {
                    break;
                }
                left -= 1;
                take(entry);
                entry = self
                    .memory
                    .number(entry.wrapping_add(layout.entry_next as u64));
            }
        }
    }

    /// Returns the address of the list of pads of a sub in Perl, and the last place in the list.
    pub fn pad_list(&self, value: &Value) -> Option<(u64, u64)> {
        let layout = &self.layout;
        let flags = self
            .memory
            .int(value.body.wrapping_add(layout.code_flags as u64)) as usize;
        let list = self
            .memory
            .number(value.body.wrapping_add(layout.code_pads as u64));
        if flags & layout.code_xs != 0 || list == 0 {
            return None;
        }
        let maximum = self
            .memory
            .number(list.wrapping_add(layout.pads_maximum as u64));
        let pads = self
            .memory
            .number(list.wrapping_add(layout.pads_list as u64));
        (maximum < 10_000).then_some((pads, maximum))
    }

    fn pads(&self, value: &Value, links: &mut Vec<(Link, u64)>) {
        let Some((pads, maximum)) = self.pad_list(value) else {
            return;
        };
        let names = self.memory.number(pads);
        for depth in 1..=maximum {
            let pad = self.memory.number(pads.wrapping_add(8 * depth));
            links.push((Link::Pad, pad));
            let Some(pad) = self.place(pad).map(|place| &self.values[place]) else {
                continue;
            };
            let mut variables = Vec::new();
            self.elements(pad, &mut variables);
            for (index, (_, variable)) in variables.into_iter().enumerate() {
                let name = self.variable_name(names, index as u64);
                links.push((name.map_or(Link::Pad, Link::Variable), variable));
            }
        }
    }

    /// Returns the address of a variable's name. `None`: the place of the pad has no name.
    fn variable_name(&self, names: u64, index: u64) -> Option<u64> {
        let layout = &self.layout;
        let maximum = self
            .memory
            .number(names.wrapping_add(layout.names_maximum as u64));
        if index > maximum || maximum > MOST_ENTRIES {
            return None;
        }
        let list = self
            .memory
            .number(names.wrapping_add(layout.names_list as u64));
        let name = self.memory.number(list.wrapping_add(8 * index));
        let length = self
            .memory
            .bytes(name.wrapping_add(layout.name_length as u64), 1)?[0];
        (length > 1).then(|| {
            self.memory
                .number(name.wrapping_add(layout.name_text as u64))
        })
    }

    fn attached(&self, value: &Value, links: &mut Vec<(Link, u64)>) {
        let layout = &self.layout;
        self.each_magic(value, &mut |magic| {
            let kind = magic.wrapping_add(layout.magic_type as u64);
            // `<` lists the weak references to the value.
            if self.memory.bytes(kind, 1) != Some(b"<") {
                let object = magic.wrapping_add(layout.magic_object as u64);
                links.push((Link::Magic, self.memory.number(object)));
            }
        });
    }

    /// Gives the address of each description of what is attached to a variable.
    pub fn each_magic(&self, value: &Value, take: &mut dyn FnMut(u64)) {
        let layout = &self.layout;
        let first = value.body.wrapping_add(layout.any_magic as u64);
        let mut magic = self.memory.number(first);
        for _ in 0..MOST_MAGIC {
            let kind = magic.wrapping_add(layout.magic_type as u64);
            if self.memory.bytes(kind, 1).is_none() {
                return;
            }
            take(magic);
            let next = magic.wrapping_add(layout.magic_next as u64);
            magic = self.memory.number(next);
        }
    }
}
