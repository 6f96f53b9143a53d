//! The end of a script: what it left is taken, and its environment made as new for the next one.

use super::body::add_all;
use super::fields::{self, Which};
use crate::current::Current;
use crate::interpreter::Interpreter;
use crate::native::{function, Answer, Item, Kind, Refusal};
use crate::visit::Visit;
use mlua::{Lua, Result, Table};
use std::rc::Rc;

/// Names a script may leave behind; where there are more, a new environment costs less than clearing this one.
const LEFT: usize = 64;

type Done = std::result::Result<(), Refusal>;

/// `finish(environment, lighty, header, result)`: the result, if it is a number.
pub fn install(
    lua: &Lua,
    host: &Table,
    current: &Rc<Current>,
    interpreter: &Rc<Interpreter>,
) -> Result<()> {
    let (interpreter, shared) = (interpreter.clone(), current.clone());
    let finish = function(lua, current, move |visit, arguments| {
        let result = arguments.at(4).number();
        let answers = !interpreter.is_fenced() || result.is_some_and(|result| result >= 200.0);
        let given = Given {
            environment: arguments.at(1),
            lighty: arguments.at(2),
            header: arguments.at(3),
            answers,
            // What a process's own globals have may be known to others.
            keeps: interpreter.is_fenced() && interpreter.is_first_and_small(),
        };
        shared.note_clean(given.take(visit)?);
        Ok(result.map_or(Answer::Nil, Answer::Number))
    })?;
    host.set("finish", finish)
}

/// What a script was given for itself.
struct Given<'v> {
    environment: Item<'v>,
    lighty: Item<'v>,
    header: Item<'v>,
    /// What it wants sent counts.
    answers: bool,
    /// It may be used again.
    keeps: bool,
}

impl Given<'_> {
    /// Takes what the script has left, out of its tables if they are to be used again. True: they are as new.
    fn take(&self, visit: &mut Visit) -> std::result::Result<bool, Refusal> {
        let (mut has_own_header, mut left) = (false, 0);
        self.lighty.each(|name, value| {
            let name_text = name.as_text();
            if name_text == Some(b"header") {
                has_own_header = value.is_same(&self.header);
                return take_fields(visit, value, self.keeps && has_own_header);
            }
            if self.answers && name_text == Some(b"content") && value.kind() != Kind::Nil {
                add_all(visit, value)?;
            }
            left += 1;
            if self.keeps && left <= LEFT {
                self.lighty.set(name, None);
            }
            Ok(())
        })?;
        Ok(self.keeps
            && has_own_header
            && left <= LEFT
            && !self.header.has_metatable()
            && self.clear_environment())
    }

    /// False: there is too much in it, or what was there is gone.
    fn clear_environment(&self) -> bool {
        let environment = &self.environment;
        let (mut there, mut left) = (0, 0);
        let cleared = environment.each(|name, value| {
            let is_own = match name.as_text() {
                Some(b"lighty") => value.is_same(&self.lighty),
                Some(b"_G") => value.is_same(environment),
                _ => false,
            };
            if is_own {
                there += 1;
                return Ok(());
            }
            environment.set(name, None);
            left += 1;
            match left <= LEFT {
                true => Ok(()),
                false => Err(()),
            }
        });
        cleared.is_ok() && there == 2
    }
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
