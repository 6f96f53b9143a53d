//! Implements pattern matching for limited scripts. `world.lua` builds `string.find`, `match`,
//! `gmatch` and `gsub` on one function.

use super::refused;
use crate::interpreter::Interpreter;
use crate::patterns::{self, Capture, Fault, Match};
use mlua::{Error, Lua, MultiValue, Result, String as LuaString, Table, Value};
use std::rc::Rc;

/// The largest number of steps of one search. The next constant is the number of steps that are
/// charged as one instruction.
const STEPS: usize = 1_000_000;
const STEPS_AN_INSTRUCTION: usize = 8;
/// The number of bytes that a plain search reads in the time of one instruction.
const BYTES_AN_INSTRUCTION: usize = 64;

/// Installs `search(text, pattern, from)`. The function returns the offsets of the first match
/// after `from`, and its captures.
pub fn install(lua: &Lua, host: &Table, interpreter: &Rc<Interpreter>) -> Result<()> {
    let charged = interpreter.clone();
    host.set(
        "search",
        lua.create_function(
            move |lua, (text, pattern, from): (LuaString, LuaString, usize)| {
                let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
                let mut steps = STEPS;
                let found = if from <= text.len() {
                    patterns::find(&text, &pattern, from, &mut steps)
                } else {
                    Ok(None)
                };
                charged.charge((STEPS - steps) / STEPS_AN_INSTRUCTION);
                match found.map_err(error)? {
                    None => Ok(MultiValue::new()),
                    Some(found) => values(lua, &text, found),
                }
            },
        )?,
    )?;
    let charged = interpreter.clone();
    host.set(
        "find_plain",
        lua.create_function(
            move |_, (text, part, from): (LuaString, LuaString, usize)| {
                let (text, part) = (text.as_bytes(), part.as_bytes());
                let Some(behind) = text.get(from..) else {
                    return Ok((None, None));
                };
                charged.charge(behind.len() / BYTES_AN_INSTRUCTION);
                let at = memchr::memmem::find(behind, &part).map(|at| from + at);
                Ok((at.map(|at| at + 1), at.map(|at| at + part.len())))
            },
        )?,
    )?;
    let charged = interpreter.clone();
    host.set(
        "charge",
        lua.create_function(move |_, units: usize| {
            charged.charge(units);
            Ok(())
        })?,
    )
}

fn values(lua: &Lua, text: &[u8], found: Match) -> Result<MultiValue> {
    let mut values = vec![
        Value::Integer(found.whole.start as i64 + 1),
        Value::Integer(found.whole.end as i64),
    ];
    for capture in found.captures {
        values.push(match capture {
            Capture::Text { start, end } => Value::String(lua.create_string(&text[start..end])?),
            Capture::Position(at) => Value::Integer(at as i64 + 1),
        });
    }
    Ok(values.into_iter().collect())
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Malformed(why) => refused(why),
        Fault::TooLong => refused("a pattern takes too long on this text"),
    }
}
