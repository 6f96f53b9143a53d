//! Tells to which of perl's values an address belongs: its head, its body, its text, its list of
//! elements or entries, and what is attached to it.

use crate::heap::{Heap, Value};

/// The memory of all values, in the order of the addresses.
pub struct Extents {
    /// Start and end of a piece of memory, and the place of its value.
    all: Vec<(u64, u64, usize)>,
}

/// The most bytes that one piece can have. A larger number was misread.
const LARGEST: u64 = 1 << 40;

impl Extents {
    pub fn of(heap: &Heap) -> Extents {
        let mut all = Vec::new();
        for (place, value) in heap.values.iter().enumerate() {
            heap.pieces(value, &mut |start, length| {
                if start != 0 && length > 0 && length < LARGEST {
                    all.push((start, start.saturating_add(length), place));
                }
            });
        }
        all.sort_unstable();
        Extents { all }
    }

    /// Returns the place of the value whose memory has this address.
    pub fn at(&self, address: u64) -> Option<usize> {
        let after = self.all.partition_point(|piece| piece.0 <= address);
        let piece = self.all.get(after.checked_sub(1)?)?;
        (address < piece.1).then_some(piece.2)
    }
}

impl Heap {
    /// Gives the start and the length of each piece of a value's memory.
    fn pieces(&self, value: &Value, piece: &mut dyn FnMut(u64, u64)) {
        let layout = &self.layout;
        let kind = self.kind(value);
        piece(value.address, layout.sv_size as u64);
        self.body(value, piece);
        let number = |offset: usize| self.memory.number(value.body.wrapping_add(offset as u64));
        if kind == layout.type_array {
            piece(
                value.union,
                8 * number(layout.array_maximum).wrapping_add(1),
            );
        } else if kind == layout.sv_hash && value.union != 0 {
            piece(value.union, 8 * number(layout.hash_maximum).wrapping_add(1));
            self.each_entry(value, &mut |entry| piece(entry, layout.entry_size as u64));
        } else if self.is_glob(value) {
            let end = [
                layout.glob_scalar,
                layout.glob_array,
                layout.glob_hash,
                layout.glob_form,
            ];
            piece(value.union, end.into_iter().max().unwrap_or(0) as u64 + 8);
        } else {
            piece(value.union, self.count(value));
        }
        if kind >= layout.type_pvmg && kind != layout.sv_code {
            self.each_magic(value, &mut |magic| piece(magic, layout.magic_size as u64));
        }
    }

    /// Gives the piece of a value's body. Small types lack the first fields of larger types. perl's
    /// pointer to such a body lies before the body's memory by the size of these fields.
    fn body(&self, value: &Value, piece: &mut dyn FnMut(u64, u64)) {
        let layout = &self.layout;
        let kind = self.kind(value);
        let skipped = match kind {
            kind if kind == layout.type_nv => layout.scalar_room + 16,
            kind if kind < layout.type_pvmg => layout.scalar_room.saturating_sub(8),
            _ => 0,
        };
        let end = match kind {
            kind if kind == layout.type_nv => skipped + 8,
            kind if kind == layout.sv_hash && value.flags & layout.hash_has_aux != 0 => {
                let aux = layout.hash_aux_in_body;
                layout
                    .body_hash
                    .max(if aux == 0 { 0 } else { aux + layout.aux_size })
            }
            _ => self.body_size(value) as usize,
        };
        let start = value.body.wrapping_add(skipped as u64);
        piece(start, end.saturating_sub(skipped) as u64);
    }
}
