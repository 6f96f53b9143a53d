//! Ends a script: stores the script's result in the visit. Before that, `world.lua` resets the
//! script's environment for the next run.

use super::body::{add_all, FILE_NAME};
use super::fields::{self, Which};
use crate::current::{Current, End};
use crate::interpreter::Interpreter;
use crate::native::{function_with, Answer, Arguments, Item, LuaType, Refusal};
use crate::visit::Visit;
use mlua::{Lua, Result, Table};
use std::rc::Rc;

type Done = std::result::Result<(), Refusal>;

/// Installs `finish(result, fields, content, header)`. `fields` is `lighty.header` as the script
/// leaves it. `header` is the table that the script was given, or nil if another given object could
/// not be reset.
pub fn install(
    lua: &Lua,
    host: &Table,
    current: &Rc<Current>,
    interpreter: &Rc<Interpreter>,
) -> Result<()> {
    let (interpreter, shared) = (interpreter.clone(), current.clone());
    let finish = function_with(lua, current, &[FILE_NAME], move |visit, arguments| {
        let code = status(arguments.at(1))?;
        let is_clean = take_header(visit, arguments, &interpreter)?;
        if !interpreter.is_limited() || code.is_some_and(|code| code >= 200) {
            add_all(visit, arguments.at(3), arguments.text(1))?;
        }
        shared.note_end(End { code, is_clean });
        Ok(Answer::Nil)
    })?;
    host.set("finish", finish)
}

/// Reads the number that the script returned. A text with a number counts as this number, as in
/// lighttpd. Any other value is an error. A script that tries to refuse a request with a wrong
/// value therefore never lets the request pass.
fn status(returned: Item<'_>) -> std::result::Result<Option<i64>, Refusal> {
    let number = match returned.kind() {
        LuaType::Nil => return Ok(None),
        LuaType::Number => returned.number(),
        LuaType::Text => returned.bytes().and_then(as_number),
        _ => None,
    };
    match number {
        Some(number) if number == 0.0 || (99.0..1000.0).contains(&number) => {
            Ok(Some(number as i64))
        }
        _ => {
            let shown = match number {
                Some(number) => number.to_string(),
                None => returned.described().to_string(),
            };
            let text = format!("the script returned {shown}; expected nothing, 0, a status from 100 to 999 or lighty.RESTART_REQUEST");
            Err(Refusal::SaidOfAll(text))
        }
    }
}

fn as_number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Stores the fields of the given table. Returns true if the given objects are reset and the table
/// is small enough for the next run.
fn take_header(
    visit: &mut Visit,
    arguments: &Arguments<'_>,
    interpreter: &Interpreter,
) -> std::result::Result<bool, Refusal> {
    let (fields, header) = (arguments.at(2), arguments.at(4));
    match fields.kind() {
        LuaType::Nil => Ok(false),
        LuaType::Table => {
            let keeps =
                fields.is(&header) && !header.has_metatable() && interpreter.is_first_and_small();
            take_fields(visit, fields, keeps)?;
            Ok(keeps)
        }
        _ => {
            let described = fields.described();
            let text = format!("lighty.header is {described}, not a table");
            Err(Refusal::SaidOfAll(text))
        }
    }
}

/// Stores the entries of `lighty.header` as the script leaves it. With `empties` the function also
/// clears the table.
fn take_fields(visit: &mut Visit, header: Item<'_>, empties: bool) -> Done {
    header.each(|name, value| {
        match (name.as_text(), value.bytes()) {
            (Some(name), Some(value)) => {
                fields::set(visit, Which::Response, name, Some(value)).map_err(of_all)?;
            }
            (Some(name), None) => {
                let (name, described) = (name.escape_ascii(), value.described());
                return Err(wrong(&format!("`{name}` = {described}")));
            }
            _ => return Err(wrong(&format!("{} for a name", name.described()))),
        }
        if empties {
            header.set(name, None);
        }
        Ok(())
    })
}

fn wrong(what: &str) -> Refusal {
    let text = format!("lighty.header has {what}; expected names and strings");
    Refusal::SaidOfAll(text)
}

fn of_all(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Said(text) => Refusal::SaidOfAll(text),
        other => other,
    }
}
