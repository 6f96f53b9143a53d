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
        let given = Given {
            environment: arguments.at(1),
            lighty: arguments.at(2),
            header: arguments.at(3),
        };
        let result = arguments.at(4).number();
        given
            .lighty
            .member("header", |left| take_fields(visit, left))?;
        let answers = !interpreter.is_fenced() || result.is_some_and(|result| result >= 200.0);
        if answers {
            given.lighty.member("content", |left| match left.kind() {
                Kind::Nil => Ok(()),
                _ => add_all(visit, left),
            })?;
        }
        // What has been in a process's own globals may be known to others.
        let is_small = interpreter.is_fenced() && interpreter.is_first_and_small();
        shared.note_clean(is_small && given.clear());
        Ok(result.map_or(Answer::Nil, Answer::Number))
    })?;
    host.set("finish", finish)
}

/// `lighty.header`, as the script leaves it.
fn take_fields(visit: &mut Visit, header: Item<'_>) -> Done {
    match header.kind() {
        Kind::Nil => return Ok(()),
        Kind::Table => {}
        _ => {
            let described = header.described();
            let text = format!("lighty.header is {described}, not a table");
            return Err(Refusal::SaidOfAll(text));
        }
    }
    header.each(|name, value| match (name.kind(), value.kind()) {
        (Kind::Text, Kind::Text | Kind::Number) => {
            let set = fields::set(visit, Which::Response, name.text()?, Some(value.text()?));
            set.map_err(of_all)
        }
        (Kind::Text, _) => {
            let (name, described) = (name.text()?.escape_ascii(), value.described());
            Err(Refusal::SaidOfAll(format!(
                "lighty.header has `{name}` = {described}; expected names and strings"
            )))
        }
        _ => {
            let described = name.described();
            Err(Refusal::SaidOfAll(format!(
                "lighty.header has {described} for a name; expected names and strings"
            )))
        }
    })
}

fn of_all(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Said(text) => Refusal::SaidOfAll(text),
        other => other,
    }
}

/// What a script was given for itself.
struct Given<'v> {
    environment: Item<'v>,
    lighty: Item<'v>,
    header: Item<'v>,
}

impl Given<'_> {
    /// Takes away what the script has put there. False: it is not as new.
    fn clear(&self) -> bool {
        let (environment, lighty, header) = (&self.environment, &self.lighty, &self.header);
        !header.has_metatable()
            && cleared(environment, &[("lighty", lighty), ("_G", environment)])
            && cleared(lighty, &[("header", header)])
            && cleared(header, &[])
    }
}

/// Takes everything but these out of a table. False: there is too much, or one of these is gone.
fn cleared(table: &Item<'_>, kept: &[(&str, &Item<'_>)]) -> bool {
    let (mut there, mut left) = (0, 0);
    let looked = table.each(|name, value| {
        let is_kept = |(known, item): &(&str, &Item<'_>)| {
            value.is_same(item)
                && name.kind() == Kind::Text
                && name.bytes() == Some(known.as_bytes())
        };
        if kept.iter().any(is_kept) {
            there += 1;
            return Ok(());
        }
        table.set(name, None);
        left += 1;
        match left <= LEFT {
            true => Ok(()),
            false => Err(()),
        }
    });
    looked.is_ok() && there == kept.len()
}
