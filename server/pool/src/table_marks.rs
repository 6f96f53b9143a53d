//! The tables of a response's fields, as Perl's handlers have filled them.

/// Apache's tables of a response's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadTable {
    /// `headers_out`: the fields of a response that succeeds.
    Out,
    /// `err_headers_out`: the fields that survive an error.
    Error,
}

/// What a worker has said about the tables of a head's fields.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct TableMarks {
    /// Whether the fields without a mark are those of `headers_out`.
    pub is_out: bool,
    /// The names of marked fields in the order of their lines.
    pub fields: Vec<(Vec<u8>, HeadTable)>,
}

/// A head whose tables are not said.
pub static UNMARKED: TableMarks = TableMarks {
    is_out: false,
    fields: Vec::new(),
};

impl TableMarks {
    /// Returns the tables of fields with these names, which stand in the order of their lines. Some
    /// lines may be missing. `None`: the worker has not said the table.
    pub fn tables<'n>(
        &self,
        names: impl DoubleEndedIterator<Item = &'n [u8]>,
    ) -> Vec<Option<HeadTable>> {
        let otherwise = self.is_out.then_some(HeadTable::Out);
        let mut left: Vec<&(Vec<u8>, HeadTable)> = self.fields.iter().collect();
        // Fields without a mark come first, so the last field of a name has the last mark.
        let mut tables: Vec<_> = names
            .rev()
            .map(|name| {
                let is = |mark: &&(Vec<u8>, HeadTable)| mark.0.eq_ignore_ascii_case(name);
                let at = left.iter().rposition(is);
                at.map(|at| left.remove(at).1).or(otherwise)
            })
            .collect();
        tables.reverse();
        tables
    }

    /// Returns the mark of each header line whose table is said.
    pub fn of_lines(&self, lines: &[u8]) -> Vec<(Vec<u8>, HeadTable)> {
        let lines = || lines.split_inclusive(|byte| *byte == b'\n').map(name);
        let marks = lines().zip(self.tables(lines()));
        marks
            .filter_map(|(name, table)| Some((name.to_vec(), table?)))
            .collect()
    }

    /// Returns the header lines without those of `headers_out`, which an error does not keep.
    pub fn surviving(&self, lines: &[u8]) -> Vec<u8> {
        let lines = || lines.split_inclusive(|byte| *byte == b'\n');
        let tables = self.tables(lines().map(name));
        let kept = lines()
            .zip(tables)
            .filter(|(_, table)| *table != Some(HeadTable::Out));
        kept.flat_map(|(line, _)| line).copied().collect()
    }
}

fn name(line: &[u8]) -> &[u8] {
    let end = memchr::memchr(b':', line).unwrap_or(line.len());
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use HeadTable::{Error, Out};

    #[test]
    fn the_last_fields_of_a_name_have_its_marks() {
        let marks = |is_out, fields: &[(&str, HeadTable)]| TableMarks {
            is_out,
            fields: fields
                .iter()
                .map(|(name, table)| (name.as_bytes().to_vec(), *table))
                .collect(),
        };
        let tables = |marks: &TableMarks, names: &[&str]| {
            let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            marks.tables(names.into_iter())
        };
        let handler = marks(true, &[("x-s", Error)]);
        assert_eq!(
            tables(&handler, &["X-S", "A", "X-S"]),
            [Some(Out), Some(Out), Some(Error)]
        );
        let script = marks(false, &[("A", Out), ("B", Error)]);
        assert_eq!(
            tables(&script, &["A", "A", "B", "C"]),
            [None, Some(Out), Some(Error), None]
        );
    }
}
