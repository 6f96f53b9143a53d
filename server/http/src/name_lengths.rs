//! The set of the lengths of field names in a head. A codec collects the set while it parses the
//! head. A search for a field whose length the set lacks ends at once, without a look at the
//! fields.

/// A set of lengths in bytes. All lengths from 63 on count as one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct NameLengths(u64);

const LONG: usize = 63;

impl NameLengths {
    /// Returns the set of these lengths.
    pub const fn of(lengths: &[usize]) -> NameLengths {
        let mut set = NameLengths(0);
        let mut at = 0;
        while at < lengths.len() {
            set.note(lengths[at]);
            at += 1;
        }
        set
    }

    #[inline]
    pub const fn note(&mut self, length: usize) {
        let bit = if length < LONG { length } else { LONG };
        self.0 |= 1 << bit;
    }

    /// Returns whether both sets have a length.
    #[inline]
    pub const fn meets(self, other: NameLengths) -> bool {
        self.0 & other.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_has_the_noted_lengths_and_takes_all_long_names_for_one() {
        for noted in [0, 1, 5, 62, 63, 64, 1000] {
            let set = NameLengths::of(&[noted]);
            for asked in 0..200 {
                let is_known = asked == noted || (asked >= LONG && noted >= LONG);
                assert_eq!(
                    set.meets(NameLengths::of(&[asked])),
                    is_known,
                    "{noted} {asked}"
                );
            }
        }
        let several = NameLengths::of(&[4, 10]);
        assert!(several.meets(NameLengths::of(&[7, 10])));
        assert!(!several.meets(NameLengths::of(&[7, 11])));
        assert!(!NameLengths::default().meets(several));
    }
}
