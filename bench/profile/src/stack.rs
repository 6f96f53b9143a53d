//! Looks once at the interpreter: reads the call stack as addresses while the process runs.
//!
//! The process may change the stack during the look. The look therefore reads the top of the stack
//! twice: before and after everything else. If the two reads differ, the look is torn.

use crate::layout::PerlLayout;
use crate::memory::{int, word};
use crate::process::PerlProcess;
use std::io;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    Sub,
    Require,
    EvalText,
    SortBlock,
    Main,
}

/// A frame as addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    pub kind: CallKind,
    /// The address of the sub's CV. 0: the frame is not that of a sub.
    pub code: u64,
    /// The statement (COP) that the frame executes.
    pub statement: u64,
}

/// The result of a look during which the stack did not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallStack {
    /// The innermost call first. The last is the main program.
    pub calls: Vec<Call>,
    /// The op that runs. 0: none.
    pub op: u64,
    /// How often perl had compiled a block. As long as this number stays the same, no memory of
    /// compiled code is used again. `None`: unknown.
    pub compiled: Option<u32>,
    /// The top of the argument stack.
    arguments: u64,
}

#[derive(Debug)]
pub enum LookFailure {
    /// The stack changed during the look.
    Torn,
    /// The process is gone, or is another program now.
    Gone,
}

impl From<io::Error> for LookFailure {
    fn from(error: io::Error) -> LookFailure {
        match error.raw_os_error() {
            // The process has unmapped an address since it was read.
            Some(libc::EFAULT) => LookFailure::Torn,
            _ => LookFailure::Gone,
        }
    }
}

/// The most frames of a stack. A deeper stack means that the read was wrong.
const DEEPEST: usize = 100_000;
/// The most nested stacks. Sort blocks, overloaded operators and ties run on a stack of their own.
const MOST_STACKS: usize = 64;
/// The frames at the top that are read a second time.
const COMPARED: usize = 8;
/// The frames above the last known top that are read, because the stack may have grown.
const GROWTH: usize = 4;
/// The words above the argument stack in which an XS sub's CV is searched.
const ABOVE: usize = 8;

/// The interpreter's variables at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Registers {
    op: u64,
    statement: u64,
    stack_info: u64,
    stack: u64,
}

/// Where the top stack was at the last look. A program rarely changes the place, so most looks read
/// all that they need in one call of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StackPlace {
    /// The address of the stack's description. 0: unknown.
    info: u64,
    /// The address of the frames.
    base: u64,
    /// The number of frames.
    count: usize,
    /// The number of frames for which there is memory.
    room: usize,
}

impl StackPlace {
    fn of(layout: &PerlLayout, address: u64, info: &[u8]) -> Result<StackPlace, LookFailure> {
        let (base, count) = frames(layout, info)?;
        let room = int(info, layout.si_maximum).max(-1) as i64 + 1;
        Ok(StackPlace {
            info: address,
            base,
            count,
            room: usize::try_from(room).unwrap_or(0).min(DEEPEST),
        })
    }
}

/// One stack of contexts: its description, and its frames from the bottom.
struct Contexts {
    info: Vec<u8>,
    frames: Vec<u8>,
}

/// What is read of the top stack.
struct TopOfStack {
    contexts: Contexts,
    registers: Registers,
    compiled: Option<u32>,
    place: StackPlace,
}

/// Reads the call stack once. `place`: where the top stack was at the last look.
pub fn look(process: &PerlProcess, place: &mut StackPlace) -> Result<CallStack, LookFailure> {
    let top = match top_of_stack(process, place)? {
        Some(top) => top,
        None => {
            *place = find(process)?;
            top_of_stack(process, place)?.ok_or(LookFailure::Torn)?
        }
    };
    *place = top.place;
    let layout = &*process.layout;
    let registers = top.registers;
    let mut stacks = vec![top.contexts];
    loop {
        let previous = word(&stacks[stacks.len() - 1].info, layout.si_previous);
        if previous == 0 {
            break;
        }
        if stacks.len() >= MOST_STACKS {
            return Err(LookFailure::Torn);
        }
        stacks.push(lower_stack(process, previous)?);
    }
    if stacks.len() > 1 && self::registers(process)?.stack_info != registers.stack_info {
        return Err(LookFailure::Torn);
    }
    Ok(CallStack {
        calls: calls(layout, &stacks, registers.statement),
        op: registers.op,
        compiled: top.compiled,
        arguments: registers.stack,
    })
}

/// Returns the words above the top of the argument stack. While an XS sub runs, its CV is one of
/// them. Empty if the process does something else now.
pub fn above(process: &PerlProcess, stack: &CallStack) -> Vec<u64> {
    let (first, span) = span(process);
    let parts = [(first, span), (stack.arguments.wrapping_add(8), 8 * ABOVE)];
    let mut bytes = vec![0; span + 8 * ABOVE];
    if process.memory.read_parts(&parts, &mut bytes).is_err() {
        return Vec::new();
    }
    let now = registers_of(process, &bytes);
    if (now.op, now.stack) != (stack.op, stack.arguments) {
        return Vec::new();
    }
    let words = bytes[span..].chunks_exact(8);
    words.map(|eight| word(eight, 0)).collect()
}

fn read(process: &PerlProcess, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    process
        .memory
        .read_parts(&[(address, length)], &mut bytes)?;
    Ok(bytes)
}

/// Returns the lowest address of the [`Registers`], and the number of bytes up to the last.
fn span(process: &PerlProcess) -> (u64, usize) {
    let at = &process.variables;
    let all = [at.op, at.statement, at.stack_info, at.stack];
    let first = all.iter().copied().min().unwrap_or(0);
    let last = all.iter().copied().max().unwrap_or(0);
    (first, (last - first) as usize + 8)
}

/// Finds the top stack.
fn find(process: &PerlProcess) -> Result<StackPlace, LookFailure> {
    let at = registers(process)?.stack_info;
    let info = read(process, at, process.layout.si_size)?;
    StackPlace::of(&process.layout, at, &info)
}

fn registers(process: &PerlProcess) -> io::Result<Registers> {
    let (first, length) = span(process);
    Ok(registers_of(process, &read(process, first, length)?))
}

fn registers_of(process: &PerlProcess, bytes: &[u8]) -> Registers {
    let (first, _) = span(process);
    let at = &process.variables;
    let value = |address: u64| word(bytes, (address - first) as usize);
    Registers {
        op: value(at.op),
        statement: value(at.statement),
        stack_info: value(at.stack_info),
        stack: value(at.stack),
    }
}

/// Reads the top stack in one call of the kernel: description, frames, registers, the upper frames
/// again, description again. `None`: the stack is elsewhere, or has grown or shrunk by much.
fn top_of_stack(
    process: &PerlProcess,
    place: &StackPlace,
) -> Result<Option<TopOfStack>, LookFailure> {
    if place.info == 0 {
        return Ok(None);
    }
    let layout = &*process.layout;
    let size = layout.context_size;
    let asked = (place.count + GROWTH).min(place.room).max(place.count);
    let compared = place.count.saturating_sub(COMPARED);
    let (first, span) = span(process);
    let compiled = process.variables.compiled;
    let parts = [
        (place.info, layout.si_size),
        (place.base, asked * size),
        (first, span),
        (compiled.unwrap_or(0), compiled.map_or(0, |_| 4)),
        (
            place.base + (compared * size) as u64,
            (asked - compared) * size,
        ),
        (place.info, layout.si_size),
    ];
    let parts: Vec<(u64, usize)> = parts.into_iter().filter(|part| part.1 > 0).collect();
    let mut bytes = vec![0; parts.iter().map(|part| part.1).sum()];
    match process.memory.read_parts(&parts, &mut bytes) {
        // The stack has moved, and its memory is no longer there.
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => return Ok(None),
        read => read?,
    }
    let mut rest = &bytes[..];
    let mut take = |length: usize| {
        let (taken, after) = rest.split_at(length);
        rest = after;
        taken
    };
    let info = take(layout.si_size);
    let all = take(asked * size);
    let registers = registers_of(process, take(span));
    let compiled = compiled.map(|_| int(take(4), 0) as u32);
    let again = take((asked - compared) * size);
    let info_after = take(layout.si_size);
    if registers.stack_info != place.info {
        return Ok(None);
    }
    let now = StackPlace::of(layout, place.info, info)?;
    if now.base != place.base || now.count > asked || now.count < compared {
        return Ok(None);
    }
    let upper = &all[compared * size..now.count * size];
    if info_after != info || !are_same(layout, upper, again) {
        return Err(LookFailure::Torn);
    }
    let contexts = Contexts {
        info: info.to_vec(),
        frames: all[..now.count * size].to_vec(),
    };
    Ok(Some(TopOfStack {
        contexts,
        registers,
        compiled,
        place: now,
    }))
}

/// Compares two stacks by the parts of each frame that identify the sub and its caller.
fn are_same(layout: &PerlLayout, one: &[u8], other: &[u8]) -> bool {
    let size = layout.context_size;
    one.chunks_exact(size)
        .zip(other.chunks_exact(size))
        .all(|(one, other)| {
            one[layout.context_type] == other[layout.context_type]
                && word(one, layout.context_statement) == word(other, layout.context_statement)
                && (kind_of(layout, one) != layout.context_sub
                    || word(one, layout.context_code) == word(other, layout.context_code))
        })
}

/// Reads a stack below the top stack. Such a stack does not change while a stack above it is used.
fn lower_stack(process: &PerlProcess, address: u64) -> Result<Contexts, LookFailure> {
    let layout = &*process.layout;
    let info = read(process, address, layout.si_size)?;
    let (base, count) = frames(layout, &info)?;
    let frames = match count {
        0 => Vec::new(),
        _ => read(process, base, count * layout.context_size)?,
    };
    Ok(Contexts { info, frames })
}

/// Returns the address and the number of a stack's frames.
fn frames(layout: &PerlLayout, info: &[u8]) -> Result<(u64, usize), LookFailure> {
    let (top, maximum) = (int(info, layout.si_top), int(info, layout.si_maximum));
    let count = usize::try_from(i64::from(top) + 1).map_err(|_| LookFailure::Torn)?;
    if top > maximum || count > DEEPEST {
        return Err(LookFailure::Torn);
    }
    Ok((word(info, layout.si_contexts), count))
}

fn kind_of(layout: &PerlLayout, frame: &[u8]) -> usize {
    usize::from(frame[layout.context_type]) & layout.context_type_mask
}

/// Converts frames to calls. A frame contains the statement of its caller. The innermost call
/// executes the current statement. A plain block or `eval {}` belongs to the sub around it.
fn calls(layout: &PerlLayout, stacks: &[Contexts], statement: u64) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut statement = statement;
    for stack in stacks {
        let is_sort = int(&stack.info, layout.si_type) as usize == layout.si_sort;
        for frame in stack.frames.chunks_exact(layout.context_size).rev() {
            let Some(kind) = call_kind(layout, frame, is_sort) else {
                continue;
            };
            let code = match kind {
                CallKind::Sub => word(frame, layout.context_code),
                _ => 0,
            };
            calls.push(Call {
                kind,
                code,
                statement,
            });
            statement = word(frame, layout.context_statement);
        }
    }
    calls.push(Call {
        kind: CallKind::Main,
        code: 0,
        statement,
    });
    calls
}

fn call_kind(layout: &PerlLayout, frame: &[u8], is_sort: bool) -> Option<CallKind> {
    let kind = kind_of(layout, frame);
    if kind == layout.context_sub || kind == layout.context_format {
        return Some(CallKind::Sub);
    }
    if kind == layout.context_null && is_sort {
        return Some(CallKind::SortBlock);
    }
    let is_real = usize::from(frame[layout.context_type]) & layout.context_real != 0;
    if kind != layout.context_eval || !is_real {
        return None;
    }
    let bits = [
        frame[layout.context_old_op],
        frame[layout.context_old_op + 1],
    ];
    let op = usize::from(u16::from_ne_bytes(bits) >> 7); // CxOLD_OP_TYPE
    let is_file = op == layout.op_require || op == layout.op_do_file;
    Some(if is_file {
        CallKind::Require
    } else {
        CallKind::EvalText
    })
}
