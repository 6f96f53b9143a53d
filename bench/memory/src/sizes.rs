//! Tells how large a value is: its elements, and its bytes.

use crate::heap::{Heap, Value};

/// The most elements of a value. A larger number was misread.
pub const MOST_ENTRIES: u64 = 1 << 28;

impl Heap {
    /// Returns the number of an array's elements or of a hash's keys, or the room of a text.
    pub fn count(&self, value: &Value) -> u64 {
        let layout = &self.layout;
        let kind = self.kind(value);
        let count = if kind == layout.type_array {
            self.memory
                .number(value.body.wrapping_add(layout.array_fill as u64))
                .wrapping_add(1)
        } else if kind == layout.sv_hash {
            self.memory
                .number(value.body.wrapping_add(layout.hash_keys as u64))
        } else {
            self.room(value)
        };
        if count > MOST_ENTRIES {
            0
        } else {
            count
        }
    }

    fn room(&self, value: &Value) -> u64 {
        let kind = self.kind(value);
        let has_text = kind >= self.layout.type_pv
            && kind <= self.layout.type_pvlv
            && kind != self.layout.sv_glob;
        if !has_text || self.is_reference(value) || value.flags & self.layout.sv_text == 0 {
            return 0;
        }
        self.memory
            .number(value.body.wrapping_add(self.layout.scalar_room as u64))
    }

    /// Returns the bytes of a value's body, with the fields that only larger types have.
    pub fn body_size(&self, value: &Value) -> u64 {
        let layout = &self.layout;
        let size = match self.kind(value) {
            kind if kind == layout.type_nv => 8,
            kind if kind == layout.type_pv => layout.body_pv,
            kind if kind == layout.type_pviv => layout.body_pviv,
            kind if kind == layout.type_pvnv => layout.body_pvnv,
            kind if kind == layout.type_pvmg => layout.body_pvmg,
            kind if kind == layout.sv_glob => layout.glob_size,
            kind if kind == layout.type_pvlv => layout.body_pvlv,
            kind if kind == layout.type_array => layout.body_array,
            kind if kind == layout.sv_hash => layout.body_hash,
            kind if kind == layout.sv_code => layout.code_size,
            _ => 0,
        };
        size as u64
    }

    /// Returns the bytes of a value itself, without what it links to.
    pub fn size(&self, value: &Value) -> u64 {
        let layout = &self.layout;
        let kind = self.kind(value);
        let pointers = |count: u64| 8 * count.min(MOST_ENTRIES);
        let body = self.body_size(value);
        let behind = if kind == layout.type_array {
            pointers(
                self.memory
                    .number(value.body.wrapping_add(layout.array_maximum as u64))
                    .wrapping_add(1),
            )
        } else if kind == layout.sv_hash {
            let slots = self
                .memory
                .number(value.body.wrapping_add(layout.hash_maximum as u64))
                .wrapping_add(1);
            pointers(if value.union == 0 { 0 } else { slots })
                + self.count(value) * (layout.entry_size + 24) as u64
        } else {
            self.room(value)
        };
        layout.sv_size as u64 + body + if behind > MOST_ENTRIES * 8 { 0 } else { behind }
    }
}
