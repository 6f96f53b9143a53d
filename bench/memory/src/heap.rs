//! Finds every value of an interpreter in a copy of its memory: in the arenas, which hold the heads
//! of all values, and behind them the links from one value to another.

use crate::error::MemoryError;
use crate::snapshot::Snapshot;
use mehari_profile::layout::PerlLayout;
use mehari_profile::PerlProcess;
use std::collections::HashMap;
use std::sync::Arc;

/// Perl's values at one moment.
pub struct Heap {
    pub memory: Snapshot,
    pub layout: Arc<PerlLayout>,
    pub op_names: Arc<Vec<String>>,
    /// The head of each live value: its address, its body and its flags.
    pub values: Vec<Value>,
    /// The place of a value in `values`, by its address.
    places: HashMap<u64, usize>,
    /// The package `main` and the main program.
    pub packages: u64,
    pub main: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Value {
    pub address: u64,
    pub body: u64,
    pub flags: usize,
    pub union: u64,
}

/// An arena has about 170 heads; a larger number was misread.
const MOST_HEADS: u32 = 1 << 24;
const MOST_ARENAS: usize = 1 << 20;

impl Heap {
    /// Reads the heads of all values of a process.
    ///
    /// # Errors
    /// The memory cannot be read, or the perl does not tell where its values are.
    pub fn of(process: &PerlProcess) -> Result<Heap, MemoryError> {
        let roots = process
            .variables
            .heap
            .ok_or(MemoryError::NoHeap(process.pid))?;
        let memory = Snapshot::of(process.pid)?;
        let mut heap = Heap {
            packages: memory.number(roots.packages),
            main: memory.number(roots.main),
            memory,
            layout: process.layout.clone(),
            op_names: process.op_names.clone(),
            values: Vec::new(),
            places: HashMap::new(),
        };
        heap.read_arenas(roots.arenas, heap.memory.number(roots.keys));
        if heap.values.is_empty() {
            Err(MemoryError::NoHeap(process.pid))
        } else {
            Ok(heap)
        }
    }

    /// Reads all arenas. Leaves out the table of shared keys, which is counted with the hashes.
    fn read_arenas(&mut self, root: u64, keys: u64) {
        let layout = self.layout.clone();
        let mut arena = self.memory.number(root);
        for _ in 0..MOST_ARENAS {
            // The first head of an arena holds the number of heads and the next arena.
            let count = self.memory.int(arena.wrapping_add(layout.sv_count as u64));
            if arena == 0 || count > MOST_HEADS {
                return;
            }
            for index in 1..u64::from(count) {
                let address = arena.wrapping_add(index * layout.sv_size as u64);
                if address != keys {
                    self.add(address);
                }
            }
            arena = self
                .memory
                .number(arena.wrapping_add(layout.sv_body as u64));
        }
    }

    fn add(&mut self, address: u64) {
        let layout = &self.layout;
        let flags = self
            .memory
            .int(address.wrapping_add(layout.sv_flags as u64)) as usize;
        let is_free = flags & layout.sv_type_mask == layout.sv_type_mask;
        if is_free
            || self
                .memory
                .int(address.wrapping_add(layout.sv_count as u64))
                == 0
        {
            return;
        }
        self.places.insert(address, self.values.len());
        self.values.push(Value {
            address,
            body: self
                .memory
                .number(address.wrapping_add(layout.sv_body as u64)),
            flags,
            union: self
                .memory
                .number(address.wrapping_add(layout.sv_union as u64)),
        });
    }

    /// Returns the place of a value, if there is one at this address.
    pub fn place(&self, address: u64) -> Option<usize> {
        self.places.get(&address).copied()
    }

    pub fn kind(&self, value: &Value) -> usize {
        value.flags & self.layout.sv_type_mask
    }

    pub fn is_reference(&self, value: &Value) -> bool {
        value.flags & self.layout.sv_reference != 0 && self.kind(value) < self.layout.type_array
    }

    pub fn is_glob(&self, value: &Value) -> bool {
        let is_whole =
            value.flags & self.layout.sv_glob_with_parts == self.layout.sv_glob_with_parts;
        self.kind(value) == self.layout.sv_glob && is_whole
    }

    /// Returns the name of the package into which the value is blessed.
    pub fn class(&self, value: &Value) -> Option<String> {
        if value.flags & self.layout.sv_object == 0 {
            return None;
        }
        let package = self
            .memory
            .number(value.body.wrapping_add(self.layout.any_package as u64));
        Some(self.package_name(package))
    }

    /// Returns the name of a package's hash. Empty: it has none.
    pub fn package_name(&self, package: u64) -> String {
        let layout = &self.layout;
        let body = self
            .memory
            .number(package.wrapping_add(layout.sv_body as u64));
        let aux = match layout.hash_aux_in_body {
            0 => {
                let maximum = self
                    .memory
                    .number(body.wrapping_add(layout.hash_maximum as u64));
                let array = self
                    .memory
                    .number(package.wrapping_add(layout.sv_union as u64));
                array.wrapping_add(maximum.wrapping_add(1).wrapping_mul(8))
            }
            inside => body.wrapping_add(inside as u64),
        };
        let name = self.memory.number(aux.wrapping_add(layout.aux_name as u64));
        let name = match self
            .memory
            .int(aux.wrapping_add(layout.aux_name_count as u64))
        {
            0 => name,
            _ => self.memory.number(name),
        };
        self.key(name)
    }

    /// Returns the text of a hash's key, as a name shows it.
    pub fn key(&self, key: u64) -> String {
        self.key_up_to(key, 80)
    }

    /// Returns the first bytes of the text of a hash's key.
    pub fn key_up_to(&self, key: u64, most: usize) -> String {
        let length = self
            .memory
            .int(key.wrapping_add(self.layout.key_length as u64)) as usize;
        let at = key.wrapping_add(self.layout.key_text as u64);
        let bytes = self.memory.bytes(at, length.min(most)).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }
}
