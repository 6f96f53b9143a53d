//! The offsets and sizes of perl's structures that the profiler reads. A table of these numbers is
//! compiled with perl's own headers (`perl/xs/interpreter/layout.c`). This module reads the table.

use std::collections::HashMap;

/// The source of the table. It can be compiled with the headers of any perl.
pub const SOURCE: &str = include_str!("../../../perl/xs/interpreter/layout.c");

/// The symbols of the table, and of an op whose type has all bits set.
pub const TABLE: &str = "mehari_perl_layout";
pub const FULL_OP: &str = "mehari_perl_op";

const NAME: usize = 40;
const RECORD: usize = NAME + 8;

macro_rules! layout {
    ($($field:ident = $name:literal,)*) => {
        /// The values of the table. Offsets and sizes are in bytes.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct PerlLayout {
            $(pub $field: usize,)*
            /// The two bytes of an op that hold its type, and the type's bits in them.
            pub op_type: usize,
            pub op_type_mask: u16,
        }

        impl PerlLayout {
            fn from_values(values: &HashMap<String, u64>, op: &[u8]) -> Result<PerlLayout, String> {
                let (op_type, op_type_mask) = type_bits(op)?;
                Ok(PerlLayout {
                    $($field: *values.get($name).ok_or_else(|| format!("its table has no `{}`", $name))? as usize,)*
                    op_type,
                    op_type_mask,
                })
            }
        }
    };
}

layout! {
    version = "version",
    pointer = "pointer",
    multiplicity = "multiplicity",
    threads = "threads",
    interpreter_op = "interpreter.op",
    interpreter_statement = "interpreter.curcop",
    interpreter_stack_info = "interpreter.curstackinfo",
    interpreter_stack = "interpreter.stack_sp",
    interpreter_compiled = "interpreter.cop_seqmax",
    si_size = "si.size",
    si_contexts = "si.contexts",
    si_previous = "si.previous",
    si_top = "si.top",
    si_maximum = "si.maximum",
    si_type = "si.type",
    si_sort = "si.sort",
    context_size = "context.size",
    context_type = "context.type",
    context_old_op = "context.old_op",
    context_statement = "context.statement",
    context_code = "context.code",
    context_type_mask = "context.type_mask",
    context_null = "context.null",
    context_sub = "context.sub",
    context_format = "context.format",
    context_eval = "context.eval",
    context_real = "context.real",
    sv_body = "sv.body",
    sv_flags = "sv.flags",
    sv_union = "sv.union",
    sv_size = "sv.size",
    sv_type_mask = "sv.type_mask",
    sv_code = "sv.code",
    sv_glob = "sv.glob",
    sv_hash = "sv.hash",
    sv_reference = "sv.reference",
    code_size = "code.size",
    code_flags = "code.flags",
    code_name = "code.name",
    code_package = "code.package",
    code_start = "code.start",
    code_named = "code.named",
    code_xs = "code.xs",
    glob_name = "glob.name",
    glob_package = "glob.package",
    glob_size = "glob.size",
    glob_code = "glob.code",
    hash_aux_in_body = "hash.aux_in_body",
    hash_has_aux = "hash.has_aux",
    hash_maximum = "hash.maximum",
    aux_name = "aux.name",
    aux_name_count = "aux.name_count",
    aux_size = "aux.size",
    key_length = "key.length",
    key_text = "key.text",
    key_utf8 = "key.utf8",
    statement_size = "statement.size",
    statement_line = "statement.line",
    cop_file = "cop.file",
    op_size = "op.size",
    op_next_statement = "op.next_statement",
    op_debug_statement = "op.debug_statement",
    op_call = "op.call",
    op_require = "op.require",
    op_do_file = "op.do_file",
    interpreter_arenas = "interpreter.sv_arenaroot",
    interpreter_packages = "interpreter.defstash",
    interpreter_main = "interpreter.main_cv",
    interpreter_keys = "interpreter.strtab",
    array_owns = "array.owns",
    sv_count = "sv.count",
    sv_weak = "sv.weak",
    sv_text = "sv.text",
    sv_object = "sv.object",
    sv_glob_with_parts = "sv.glob_with_parts",
    type_nv = "type.nv",
    type_pv = "type.pv",
    type_pviv = "type.pviv",
    type_pvnv = "type.pvnv",
    type_pvmg = "type.pvmg",
    type_pvlv = "type.pvlv",
    type_array = "type.array",
    body_pv = "body.pv",
    body_pviv = "body.pviv",
    body_pvnv = "body.pvnv",
    body_pvmg = "body.pvmg",
    body_pvlv = "body.pvlv",
    body_array = "body.array",
    body_hash = "body.hash",
    scalar_room = "scalar.room",
    any_magic = "any.magic",
    any_package = "any.package",
    array_fill = "array.fill",
    array_maximum = "array.maximum",
    hash_keys = "hash.keys",
    entry_next = "entry.next",
    entry_key = "entry.key",
    entry_value = "entry.value",
    entry_size = "entry.size",
    magic_next = "magic.next",
    magic_type = "magic.type",
    magic_object = "magic.object",
    magic_size = "magic.size",
    glob_scalar = "glob.scalar",
    glob_array = "glob.array",
    glob_hash = "glob.hash",
    glob_form = "glob.form",
    code_pads = "code.pads",
    code_root = "code.root",
    pads_list = "pads.list",
    pads_maximum = "pads.maximum",
    names_list = "names.list",
    names_maximum = "names.maximum",
    name_text = "name.text",
    name_length = "name.length",
    op_sibling = "op.sibling",
    op_target = "op.target",
    op_flags = "op.flags",
    op_has_kids = "op.has_kids",
    op_modifies = "op.modifies",
    op_first = "op.first",
    op_auxiliary = "op.auxiliary",
    op_value = "op.value",
}

impl PerlLayout {
    /// Reads the table as it stands in memory or in an object file.
    ///
    /// # Errors
    /// Names what the table lacks.
    pub fn parse(table: &[u8], op: &[u8]) -> Result<PerlLayout, String> {
        let mut values = HashMap::new();
        for record in table.chunks_exact(RECORD) {
            let end = record[..NAME].iter().position(|&byte| byte == 0);
            let name = String::from_utf8_lossy(&record[..end.unwrap_or(NAME)]).into_owned();
            let number = record[NAME..].try_into().map(u64::from_ne_bytes);
            if let (false, Ok(value)) = (name.is_empty(), number) {
                values.insert(name, value);
            }
        }
        let layout = PerlLayout::from_values(&values, op)?;
        if layout.pointer != size_of::<usize>() {
            return Err(format!(
                "its addresses have {} bits and this program's have {}",
                8 * layout.pointer,
                usize::BITS
            ));
        }
        Ok(layout)
    }

    /// Returns the version in the form `5.36.0`.
    pub fn version_text(&self) -> String {
        let (major, minor, patch) = self.version_parts();
        format!("{major}.{minor}.{patch}")
    }

    pub fn version_parts(&self) -> (usize, usize, usize) {
        let version = self.version;
        (version / 1_000_000, version / 1000 % 1000, version % 1000)
    }
}

/// Finds the bits of the type in an op in which only these bits are set.
fn type_bits(op: &[u8]) -> Result<(usize, u16), String> {
    for at in (0..op.len().saturating_sub(1)).step_by(2) {
        let mask = u16::from_ne_bytes([op[at], op[at + 1]]);
        if mask != 0 {
            return Ok((at, mask));
        }
    }
    Err(format!("its `{FULL_OP}` has no bits set"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_without_a_name_is_refused_by_that_name() {
        let mut record = [0u8; RECORD];
        record[..7].copy_from_slice(b"version");
        let refused = PerlLayout::parse(&record, &[0, 0, 0xff, 1]).expect_err("it lacks names");
        assert_eq!(refused, "its table has no `pointer`");
        let refused = PerlLayout::parse(&record, &[0; 8]).expect_err("no bits");
        assert_eq!(refused, "its `mehari_perl_op` has no bits set");
    }

    #[test]
    fn type_of_an_op_is_found_where_the_bits_are() {
        assert_eq!(
            type_bits(&[0, 0, 0xff, 1]),
            Ok((2, u16::from_ne_bytes([0xff, 1])))
        );
    }
}
