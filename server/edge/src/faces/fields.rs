//! Implements access to the header fields of request and response, and to variables for programs.

use super::environment;
use crate::current::Current;
use crate::fields::Fields;
use crate::native::{function, said, Answer, Refusal};
use crate::visit::{Source, Visit};
use mlua::{Lua, Result, Table};
use std::rc::Rc;

/// The memory in bytes that an entry costs in addition to its name and value.
pub const ENTRY: usize = 64;
/// The largest number of fields of one kind that a script may make.
const FIELDS: usize = 512;

/// The fields that a script may not set, because they frame the message or control the connection.
const FRAMING: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Request,
    Response,
    Environment,
}

impl Which {
    fn of(self, visit: &mut Visit) -> &mut Fields {
        match self {
            Which::Request => &mut visit.request,
            Which::Response => &mut visit.response,
            Which::Environment => &mut visit.environment,
        }
    }

    fn learn(self, visit: &mut Visit, source: Option<&dyn Source>) {
        if self != Which::Response {
            visit.learn_fields(source);
        }
    }
}

pub fn install(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    for (name, which) in [
        ("request", Which::Request),
        ("response", Which::Response),
        ("environment", Which::Environment),
    ] {
        accessors(lua, host, current, name, which)?;
    }
    Ok(())
}

/// Installs the getter, setter and list of one kind of fields, such as `request`, `set_request` and
/// `requests`.
fn accessors(
    lua: &Lua,
    host: &Table,
    current: &Rc<Current>,
    name: &str,
    which: Which,
) -> Result<()> {
    let get = function(lua, current, move |visit, arguments| {
        let name = arguments.at(2).text()?;
        which.learn(visit, arguments.source());
        let found = match which {
            Which::Environment => environment::variable(visit, name, arguments.source()),
            _ => which.of(visit).get(name),
        };
        Ok(found.map_or(Answer::Nil, Answer::Text))
    })?;
    host.set(name, get)?;
    let set = function(lua, current, move |visit, arguments| {
        let (name, value) = (arguments.at(2).text()?, arguments.at(3).text_or_nil()?);
        which.learn(visit, arguments.source());
        set(visit, which, name, value)?;
        Ok(Answer::Nil)
    })?;
    host.set(format!("set_{name}"), set)?;
    let shared = current.clone();
    let names = lua.create_function(move |lua, ()| {
        let names = shared.with(|visit, source| {
            which.learn(visit, source);
            let names = which.of(visit).iter().map(|(name, _)| name.to_vec());
            names.collect::<Vec<_>>()
        });
        let names = names.unwrap_or_default().into_iter();
        let names = names.map(|name| lua.create_string(name));
        names.collect::<Result<Vec<_>>>()
    })?;
    host.set(format!("{name}s"), names)
}

/// Sets one field to the script's value. A value of `None` removes the field.
pub fn set(
    visit: &mut Visit,
    which: Which,
    name: &[u8],
    value: Option<&[u8]>,
) -> std::result::Result<(), Refusal> {
    match which {
        Which::Environment => environment::check(name, value)?,
        _ => check(name, value)?,
    }
    let size = name.len() + value.map_or(0, <[u8]>::len) + ENTRY;
    let count = visit.with_room_for(size, |visit| {
        let fields = which.of(visit);
        match value {
            Some(value) if which == Which::Response && is_cookie(name) => fields.add(name, value),
            Some(value) => fields.set(name, value),
            None => fields.unset(name),
        }
        fields.len()
    })?;
    if count <= FIELDS {
        Ok(())
    } else {
        Err(said(format!("more than {FIELDS} fields")))
    }
}

/// Returns whether the field is `Set-Cookie`. Its values stay separate lines.
fn is_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"set-cookie")
}

/// The bytes that a field name may contain.
const IN_NAMES: [bool; 256] = {
    let (mut is_in, mut byte) = ([false; 256], 0);
    while byte < 128 {
        is_in[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < marks.len() {
        is_in[marks[at] as usize] = true;
        at += 1;
    }
    is_in
};

fn check(name: &[u8], value: Option<&[u8]>) -> std::result::Result<(), Refusal> {
    let shown = || name.escape_ascii();
    if name.is_empty() || !name.iter().all(|byte| IN_NAMES[usize::from(*byte)]) {
        return Err(said(format!(
            "`{}` is not the name of a header field",
            shown()
        )));
    }
    let mut framing = FRAMING.iter();
    if framing.any(|known| known.as_bytes().eq_ignore_ascii_case(name)) {
        return Err(said(format!("the server itself decides about {}", shown())));
    }
    match value {
        Some(value) if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) => Err(said(
            format!("a value of {} has a line end or a NUL in it", shown()),
        )),
        _ => Ok(()),
    }
}
