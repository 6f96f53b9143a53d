//! Implements access to the request's body, the response body that a script makes, and the text
//! that a script prints.

use super::fields::ENTRY;
use crate::current::Current;
use crate::native::{function, function_with, said, Answer, Item, LuaType, Refusal};
use crate::visit::{Piece, Pieces, Visit};
use mlua::{Lua, Result, Table};
use std::ffi::c_int;
use std::rc::Rc;

/// The largest number of pieces in a body.
const PIECES: usize = 10_000;
/// The member that names the file in a script's table for a piece of a file. The other members are
/// `offset` and `length`.
pub const FILE_NAME: &str = "filename";
/// The largest number of list entries that are read.
const ENTRIES: usize = 100_000;

type Done = std::result::Result<(), Refusal>;

pub fn install(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let print = function(lua, current, |visit, arguments| {
        let line = arguments.at(1).text()?;
        visit.with_room_for(line.len() + ENTRY, |visit| {
            visit.printed.push(line.to_vec());
        })?;
        Ok(Answer::Nil)
    })?;
    host.set("print", print)?;
    let add = function_with(lua, current, &[FILE_NAME], |visit, arguments| {
        let body = arguments.at(1);
        match body.kind() {
            LuaType::Nil => return Err(no_piece(&body, None)),
            _ => add_all(visit, body, arguments.text(1))?,
        }
        Ok(Answer::Nil)
    })?;
    host.set("body_add", add)?;
    let set = function_with(lua, current, &[FILE_NAME], |visit, arguments| {
        visit.body = Some(Pieces::new());
        add_all(visit, arguments.at(1), arguments.text(1))?;
        Ok(Answer::Nil)
    })?;
    host.set("body_set", set)?;
    let get = function(lua, current, |visit, _| Ok(whole(visit)))?;
    host.set("body_get", get)?;
    let request_body = function(lua, current, |visit, arguments| {
        visit.learn_body(arguments.source());
        Ok(visit.request_body().map_or(Answer::Nil, Answer::Text))
    })?;
    host.set("request_body", request_body)?;
    let request_length = function(lua, current, |visit, arguments| {
        visit.learn_body(arguments.source());
        if visit.request_body().is_none() {
            visit.learn_fields(arguments.source());
        }
        Ok(Answer::Number(request_length(visit)))
    })?;
    host.set("request_length", request_length)
}

/// Returns the length of the request's body, or the value of `Content-Length` if the front has not
/// read the body.
fn request_length(visit: &Visit) -> f64 {
    match visit.request_body() {
        Some(body) => body.len() as f64,
        None => {
            let said = visit.request.get(b"content-length");
            let said = said.and_then(|said| std::str::from_utf8(said).ok());
            said.and_then(|said| said.parse().ok()).unwrap_or(0.0)
        }
    }
}

/// Adds a body: one piece, a list of pieces, or nothing if `body` is nil. `filename` is the text
/// [`FILE_NAME`] as a Lua value.
pub fn add_all(visit: &mut Visit, body: Item<'_>, filename: Item<'_>) -> Done {
    match body.kind() {
        LuaType::Nil => return Ok(()),
        LuaType::Table if !is_file(&body, &filename) => {}
        _ => return add(visit, body, None, filename),
    }
    let length = body.length();
    if length > ENTRIES {
        return Err(said("the body has too many pieces"));
    }
    for number in 1..=length as c_int {
        body.entry(number, |piece| add(visit, piece, Some(number), filename))?;
    }
    Ok(())
}

fn is_file(table: &Item<'_>, filename: &Item<'_>) -> bool {
    table.member_named(filename, |name| name.kind() != LuaType::Nil)
}

fn add(visit: &mut Visit, piece: Item<'_>, number: Option<c_int>, filename: Item<'_>) -> Done {
    if let Some(text) = piece.bytes() {
        return add_text(visit, text);
    }
    match piece.kind() {
        LuaType::Table if is_file(&piece, &filename) => add_file(visit, piece),
        _ => Err(no_piece(&piece, number)),
    }
}

fn no_piece(piece: &Item<'_>, number: Option<c_int>) -> Refusal {
    let described = piece.described();
    let part = number.map_or(String::new(), |number| format!(" (its part {number})"));
    Refusal::SaidOfAll(format!(
        "a body is made of strings and of {{ filename =, offset =, length = }}, not of {described}{part}"
    ))
}

fn add_text(visit: &mut Visit, text: &[u8]) -> Done {
    let pieces = visit.with_room_for(text.len() + ENTRY, |visit| {
        let body = visit.body.get_or_insert_default();
        match body.last_mut() {
            Some(Piece::Bytes(last)) => last.extend_from_slice(text),
            _ => body.push(Piece::Bytes(text.to_vec())),
        }
        body.len()
    })?;
    few(pieces)
}

fn add_file(visit: &mut Visit, table: Item<'_>) -> Done {
    let path = table.member(FILE_NAME, |name| name.text().map(<[u8]>::to_vec))?;
    if path.is_empty() || path.contains(&0) {
        return Err(said("a filename is empty, or has a NUL in it"));
    }
    let start = table.member("offset", size)?.unwrap_or(0);
    let length = table.member("length", size)?;
    let end = length.map(|length| start.saturating_add(length));
    let pieces = visit.with_room_for(path.len() + ENTRY, |visit| {
        let body = visit.body.get_or_insert_default();
        body.push(Piece::File { path, start, end });
        body.len()
    })?;
    few(pieces)
}

/// Reads a number of bytes. Returns `None` for nil.
fn size(item: Item<'_>) -> std::result::Result<Option<u64>, Refusal> {
    match (item.kind(), item.number()) {
        (LuaType::Nil, _) => Ok(None),
        (_, Some(number)) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
        (_, Some(_)) => Err(said("offset and length are not negative")),
        _ => {
            let described = item.described();
            Err(said(format!(
                "offset and length are numbers, not {described}"
            )))
        }
    }
}

fn few(pieces: usize) -> Done {
    if pieces <= PIECES {
        Ok(())
    } else {
        Err(said("the body has too many pieces"))
    }
}

/// Returns the body so far, or nil if the body contains a file.
fn whole(visit: &Visit) -> Answer<'_> {
    let pieces = visit.body.as_deref().unwrap_or_default();
    let mut whole = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => whole.extend_from_slice(bytes),
            Piece::File { .. } => return Answer::Nil,
        }
    }
    Answer::Made(whole)
}
