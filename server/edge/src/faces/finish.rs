//! The end of a script: what it left is taken. `world.lua` has made its environment as new for the next one before.

use super::body::{add_all, FILE_NAME};
use super::fields::{self, Which};
use crate::current::Current;
use crate::interpreter::Interpreter;
use crate::native::{function_with, Answer, Item, Kind, Refusal};
use crate::visit::Visit;
use mlua::{Lua, Result, Table};
use std::rc::Rc;

type Done = std::result::Result<(), Refusal>;

/// `finish(result, fields, content, header, is_new)`: the result, if it is a number. `fields` is `lighty.header` as the
/// script has left it, `header` what it was given; `is_new`: but for that, all it was given is as new.
pub fn install(
    lua: &Lua,
    host: &Table,
    current: &Rc<Current>,
    interpreter: &Rc<Interpreter>,
) -> Result<()> {
    let (interpreter, shared) = (interpreter.clone(), current.clone());
    let finish = function_with(lua, current, &[FILE_NAME], move |visit, arguments| {
        let result = arguments.at(1).number();
        let (fields, header) = (arguments.at(2), arguments.at(4));
        let keeps = arguments.at(5).is_true()
            && interpreter.is_first_and_small()
            && fields.is(&header)
            && !header.has_metatable();
        take_fields(visit, fields, keeps)?;
        let content = arguments.at(3);
        let answers = !interpreter.is_fenced() || result.is_some_and(|result| result >= 200.0);
        if answers && content.kind() != Kind::Nil {
            add_all(visit, content, arguments.text(1))?;
        }
        shared.note_clean(keeps);
        Ok(result.map_or(Answer::Nil, Answer::Number))
    })?;
    host.set("finish", finish)
}

/// `lighty.header`, as the script leaves it; and takes it out of there, if it is to be empty.
fn take_fields(visit: &mut Visit, header: Item<'_>, empties: bool) -> Done {
    match header.kind() {
        Kind::Nil => return Ok(()),
        Kind::Table => {}
        _ => {
            let described = header.described();
            let text = format!("lighty.header is {described}, not a table");
            return Err(Refusal::SaidOfAll(text));
        }
    }
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
