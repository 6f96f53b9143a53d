//! Finds the names for the addresses of a look: subs, files, lines, XS subs.
//!
//! perl uses freed memory again, so an address alone names nothing for long. The cache keeps the
//! bytes behind each address. It reads the bytes of a stack again in two cases: perl has compiled
//! something since they were compared, or the stack has a frame that the cache does not know.
//! Memory of freed code is code again only after perl has compiled. A closure may take the place of
//! a freed one without this, but it executes other statements, so its frame is another frame.

use crate::memory::{int, word};
use crate::process::PerlProcess;
use crate::profile::{FrameKind, FrameLabel, Profile};
use crate::stack::{Call, CallKind, CallStack};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

/// The memory behind an address: the head of an SV and its body, or a statement.
#[derive(Clone, PartialEq, Eq)]
struct SeenBytes {
    parts: [(u64, usize); 2],
    bytes: Vec<u8>,
}

impl SeenBytes {
    fn is_unchanged(&self, process: &PerlProcess) -> bool {
        let parts: Vec<(u64, usize)> = self.parts.into_iter().filter(|it| it.1 > 0).collect();
        let mut bytes = vec![0; self.bytes.len()];
        process.memory.read_scattered(&parts, &mut bytes).is_ok() && bytes == self.bytes
    }
}

/// A statement's place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourcePlace {
    file: Rc<str>,
    line: u32,
}

/// The name of a sub in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedCode {
    name: Rc<str>,
    is_xs: bool,
}

/// The names of one process.
#[derive(Default)]
pub struct NameCache {
    codes: HashMap<u64, (SeenBytes, NamedCode)>,
    statements: HashMap<u64, (SeenBytes, SourcePlace)>,
    /// The frames in the current profile.
    frames: HashMap<Call, NamedFrame>,
    /// The types of ops.
    ops: HashMap<u64, OpType>,
}

#[derive(Clone, Copy)]
struct NamedFrame {
    /// The number of the frame in the profile.
    number: u32,
    /// How often perl had compiled a block when the memory behind the frame was compared.
    compiled: Option<u32>,
}

#[derive(Clone, Copy)]
struct OpType {
    kind: u16,
    compiled: u32,
}

const LONGEST_NAME: usize = 1000;
const LONGEST_FILE: usize = 4096;
/// The most entries of a cache. A fuller cache is cleared, because a process that compiles texts
/// makes new entries all the time.
const MOST_ENTRIES: usize = 100_000;

impl NameCache {
    /// Forgets the numbers of the frames. The next names are those of another profile.
    pub fn begin_profile(&mut self) {
        self.frames.clear();
    }

    /// Returns the numbers of the frames of a look, the outermost first.
    pub fn name(
        &mut self,
        process: &PerlProcess,
        stack: &CallStack,
        profile: &mut Profile,
    ) -> io::Result<Vec<u32>> {
        if !self.is_known(stack) {
            self.forget_changed(process, stack);
        }
        let calls = stack.calls.iter().rev();
        let frames = calls.map(|call| self.number(process, call, stack.compiled, profile));
        frames.collect()
    }

    /// Whether all frames were compared since perl has compiled something.
    fn is_known(&self, stack: &CallStack) -> bool {
        let is_known = |call| {
            let frame = self.frames.get(call);
            frame.is_some_and(|frame| frame.compiled == stack.compiled)
        };
        stack.compiled.is_some() && stack.calls.iter().all(is_known)
    }

    fn number(
        &mut self,
        process: &PerlProcess,
        call: &Call,
        compiled: Option<u32>,
        profile: &mut Profile,
    ) -> io::Result<u32> {
        if let Some(frame) = self.frames.get_mut(call) {
            frame.compiled = compiled;
            return Ok(frame.number);
        }
        let number = profile.frame(self.frame(process, call)?);
        self.frames.insert(*call, NamedFrame { number, compiled });
        Ok(number)
    }

    /// Returns the type of the op that runs. `None`: none runs, or perl has freed it.
    pub fn op(&mut self, process: &PerlProcess, stack: &CallStack) -> Option<u16> {
        let known = self.ops.get(&stack.op);
        if let Some(known) = known.filter(|known| Some(known.compiled) == stack.compiled) {
            return Some(known.kind);
        }
        let kind = op_type(process, stack.op).ok()?;
        if self.ops.len() > MOST_ENTRIES {
            self.ops.clear();
        }
        if let Some(compiled) = stack.compiled {
            self.ops.insert(stack.op, OpType { kind, compiled });
        }
        Some(kind)
    }

    fn frame(&mut self, process: &PerlProcess, call: &Call) -> io::Result<FrameLabel> {
        let place = self.place(process, call.statement)?;
        let name = match call.kind {
            CallKind::Sub => self.code(process, call.code)?.name.to_string(),
            CallKind::Require => format!("(file {})", place.file),
            CallKind::EvalText => "(eval of a text)".to_owned(),
            CallKind::SortBlock => "(sort block)".to_owned(),
            CallKind::Main => "(main program)".to_owned(),
        };
        Ok(FrameLabel {
            name,
            file: place.file.to_string(),
            line: place.line,
            kind: FrameKind::Perl,
        })
    }

    /// Returns the name of the running XS sub, if the look found it above the argument stack.
    pub fn xs_sub(&mut self, process: &PerlProcess, above: &[u64]) -> Option<Rc<str>> {
        above.iter().find_map(|&address| {
            let code = self.callee(process, address)?;
            let is_same = |(seen, _): &(SeenBytes, NamedCode)| seen.is_unchanged(process);
            if self.codes.get(&code).is_some_and(|it| !is_same(it)) {
                self.forget_code(code);
            }
            let named = self.code(process, code).ok()?;
            named.is_xs.then_some(named.name)
        })
    }

    fn forget_code(&mut self, code: u64) {
        self.codes.remove(&code);
        self.frames.clear();
    }

    /// Drops every entry of these calls whose memory has changed. One call of the kernel reads all
    /// memory of a page.
    fn forget_changed(&mut self, process: &PerlProcess, stack: &CallStack) {
        if self.codes.len() + self.statements.len() > MOST_ENTRIES {
            *self = NameCache::default();
        }
        let calls = &stack.calls;
        let codes = calls.iter().filter_map(|call| self.codes.get(&call.code));
        let statements = calls.iter();
        let statements = statements.filter_map(|call| self.statements.get(&call.statement));
        let seen = codes.map(|it| &it.0).chain(statements.map(|it| &it.0));
        let seen: Vec<&SeenBytes> = seen.collect();
        let parts = seen.iter().flat_map(|it| it.parts);
        let parts: Vec<(u64, usize)> = parts.filter(|part| part.1 > 0).collect();
        let mut bytes = vec![0; parts.iter().map(|part| part.1).sum()];
        let mut is_same = process.memory.read_scattered(&parts, &mut bytes).is_ok();
        let mut at = 0;
        for one in seen {
            let end = at + one.bytes.len();
            is_same = is_same && bytes.get(at..end) == Some(&one.bytes[..]);
            at = end;
        }
        if !is_same {
            for call in calls {
                self.codes.remove(&call.code);
                self.statements.remove(&call.statement);
            }
            self.frames.clear();
        }
    }

    fn place(&mut self, process: &PerlProcess, statement: u64) -> io::Result<SourcePlace> {
        if let Some((_, place)) = self.statements.get(&statement) {
            return Ok(place.clone());
        }
        let layout = &*process.layout;
        let bytes = read(process, statement, layout.statement_size)?;
        let file = match word(&bytes, layout.cop_file) {
            0 => Vec::new(),
            at if layout.threads == 1 => process.memory.text(at, LONGEST_FILE)?,
            glob => glob_name(process, glob)?.1.split_off_prefix(),
        };
        let file = String::from_utf8_lossy(&file);
        let place = SourcePlace {
            file: short_eval(&file).into(),
            line: int(&bytes, layout.statement_line) as u32,
        };
        let seen = SeenBytes {
            parts: [(statement, bytes.len()), (0, 0)],
            bytes,
        };
        self.statements.insert(statement, (seen, place.clone()));
        Ok(place)
    }

    fn code(&mut self, process: &PerlProcess, code: u64) -> io::Result<NamedCode> {
        if let Some((_, named)) = self.codes.get(&code) {
            return Ok(named.clone());
        }
        let layout = &*process.layout;
        let head = read(process, code, layout.sv_size)?;
        if type_of(process, &head) != layout.sv_code {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        let at = word(&head, layout.sv_body);
        let body = read(process, at, layout.code_size)?;
        let flags = int(&body, layout.code_flags) as u32 as usize;
        let is_xs = flags & layout.code_xs != 0;
        let named = NamedCode {
            name: self.code_name(process, &body, flags)?.into(),
            is_xs,
        };
        let seen = SeenBytes {
            parts: [(code, head.len()), (at, body.len())],
            bytes: [head, body].concat(),
        };
        self.codes.insert(code, (seen, named.clone()));
        Ok(named)
    }

    /// Returns `Package::name`, and for an anonymous sub also the place of the first statement.
    fn code_name(
        &mut self,
        process: &PerlProcess,
        body: &[u8],
        flags: usize,
    ) -> io::Result<String> {
        let layout = &*process.layout;
        let at = word(body, layout.code_name);
        if flags & layout.code_named != 0 {
            let package = package_name(process, word(body, layout.code_package));
            return Ok(format!("{package}::{}", key_text(process, at)?));
        }
        if at == 0 {
            return Ok("(sub without a name)".to_owned());
        }
        let (package, name) = glob_name(process, at)?;
        if name.0 == b"__ANON__" && flags & layout.code_xs == 0 {
            if let Some(place) = self.first_place(process, word(body, layout.code_start)) {
                let file = place.file.rsplit('/').next().unwrap_or_default();
                return Ok(format!("{package}::__ANON__[{file}:{}]", place.line));
            }
        }
        Ok(format!("{package}::{}", String::from_utf8_lossy(&name.0)))
    }

    fn first_place(&mut self, process: &PerlProcess, start: u64) -> Option<SourcePlace> {
        let op = usize::from(op_type(process, start).ok()?);
        let layout = &*process.layout;
        let is_statement = op == layout.op_next_statement || op == layout.op_debug_statement;
        if is_statement {
            self.place(process, start).ok()
        } else {
            None
        }
    }

    /// Returns the code that perl calls through this value. The value is a CV, a glob, or a
    /// reference to a CV.
    fn callee(&self, process: &PerlProcess, value: u64) -> Option<u64> {
        let layout = &*process.layout;
        let head = read(process, value, layout.sv_size).ok()?;
        let kind = type_of(process, &head);
        let union = word(&head, layout.sv_union);
        if kind == layout.sv_code {
            return Some(value);
        }
        if kind == layout.sv_glob {
            return process.memory.number(union + layout.glob_code as u64).ok();
        }
        let flags = int(&head, layout.sv_flags) as u32 as usize;
        (flags & layout.sv_reference != 0).then_some(union)
    }
}

/// Reads the type of an op.
fn op_type(process: &PerlProcess, op: u64) -> io::Result<u16> {
    let bytes = read(process, op, process.layout.op_size)?;
    Ok(op_bits(process, &bytes))
}

/// Returns the type of an op from its bytes.
fn op_bits(process: &PerlProcess, op: &[u8]) -> u16 {
    let layout = &*process.layout;
    let two = [op[layout.op_type], op[layout.op_type + 1]];
    u16::from_ne_bytes(two) & layout.op_type_mask
}

/// A glob's name, as bytes.
struct GlobName(Vec<u8>);

impl GlobName {
    /// Returns the file of the glob `_<FILE`.
    fn split_off_prefix(self) -> Vec<u8> {
        match self.0.strip_prefix(b"_<") {
            Some(file) => file.to_vec(),
            None => self.0,
        }
    }
}

/// Returns the package and the name of a glob.
fn glob_name(process: &PerlProcess, glob: u64) -> io::Result<(String, GlobName)> {
    let layout = &*process.layout;
    let head = read(process, glob, layout.sv_size)?;
    if type_of(process, &head) != layout.sv_glob {
        return Err(io::Error::from_raw_os_error(libc::EFAULT));
    }
    let body = read(process, word(&head, layout.sv_body), layout.glob_size)?;
    let name = key_text(process, word(&body, layout.glob_name))?;
    let package = package_name(process, word(&body, layout.glob_package));
    Ok((package, GlobName(name.into_bytes())))
}

/// Returns the name of a package's hash. `?` if the name cannot be read any more.
fn package_name(process: &PerlProcess, hash: u64) -> String {
    read_package_name(process, hash).unwrap_or_else(|_| "?".to_owned())
}

fn read_package_name(process: &PerlProcess, hash: u64) -> io::Result<String> {
    let layout = &*process.layout;
    let nothing = || io::Error::from_raw_os_error(libc::EFAULT);
    let head = read(process, hash, layout.sv_size)?;
    let flags = int(&head, layout.sv_flags) as u32 as usize;
    if type_of(process, &head) != layout.sv_hash || flags & layout.hash_has_aux == 0 {
        return Err(nothing());
    }
    let body = word(&head, layout.sv_body);
    let aux = if layout.hash_aux_in_body != 0 {
        body + layout.hash_aux_in_body as u64
    } else {
        let maximum = process.memory.number(body + layout.hash_maximum as u64)?;
        let after = maximum
            .checked_add(1)
            .and_then(|count| count.checked_mul(8));
        let array = word(&head, layout.sv_union);
        after
            .and_then(|after| array.checked_add(after))
            .ok_or_else(nothing)?
    };
    let aux = read(process, aux, layout.aux_size)?;
    let name = word(&aux, layout.aux_name);
    let name = match int(&aux, layout.aux_name_count) {
        0 => name,
        _ => process.memory.number(name)?, // the first of several
    };
    key_text(process, name)
}

/// Returns the text of a hash key (HEK). Text that is not UTF-8 is Latin-1.
fn key_text(process: &PerlProcess, key: u64) -> io::Result<String> {
    let layout = &*process.layout;
    let length = int(&read(process, key + layout.key_length as u64, 4)?, 0);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > LONGEST_NAME {
        return Err(io::Error::from_raw_os_error(libc::EFAULT));
    }
    // A zero byte and the flags follow the text.
    let bytes = read(process, key + layout.key_text as u64, length + 2)?;
    let text = &bytes[..length];
    if usize::from(bytes[length + 1]) & layout.key_utf8 != 0 {
        return Ok(String::from_utf8_lossy(text).into_owned());
    }
    Ok(text.iter().map(|&byte| char::from(byte)).collect())
}

fn type_of(process: &PerlProcess, head: &[u8]) -> usize {
    let layout = &*process.layout;
    int(head, layout.sv_flags) as u32 as usize & layout.sv_type_mask
}

fn read(process: &PerlProcess, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    process.memory.read(address, &mut bytes)?;
    Ok(bytes)
}

/// Shortens `(eval 17)` to `(eval)`. Otherwise the same text would be another file each time.
fn short_eval(file: &str) -> String {
    let number = file
        .strip_prefix("(eval ")
        .and_then(|rest| rest.strip_suffix(')'));
    match number {
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => "(eval)".to_owned(),
        _ => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::short_eval;

    #[test]
    fn evals_of_a_text_share_one_name() {
        assert_eq!(short_eval("(eval 17)"), "(eval)");
        assert_eq!(short_eval("(eval a)"), "(eval a)");
        assert_eq!(short_eval("/x/(eval 17)"), "/x/(eval 17)");
    }
}
