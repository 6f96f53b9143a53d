//! Bodies: the request's, and what is sent instead of any other response.

use super::message::ENTRY;
use super::{refused, Current};
use crate::visit::Piece;
use mlua::{Lua, Result, String as LuaString, Table};
use std::rc::Rc;

/// Pieces a body may have.
const PIECES: usize = 10_000;

pub fn install(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let shared = current.clone();
    host.set(
        "body_add",
        lua.create_function(move |_, bytes: LuaString| {
            let bytes = bytes.as_bytes();
            let added = shared.adding(bytes.len() + ENTRY, |visit| {
                let body = visit.body.get_or_insert_with(Vec::new);
                match body.last_mut() {
                    Some(Piece::Bytes(last)) => last.extend_from_slice(&bytes),
                    _ => body.push(Piece::Bytes(bytes.to_vec())),
                }
                body.len()
            })?;
            few(added)
        })?,
    )?;
    let shared = current.clone();
    host.set(
        "body_add_file",
        lua.create_function(
            move |_, (path, start, length): (LuaString, Option<i64>, Option<i64>)| {
                let path = path.as_bytes().to_vec();
                if path.is_empty() || path.contains(&0) {
                    return Err(refused("a filename is empty, or has a NUL in it"));
                }
                let negative = |_| refused("offset and length are not negative");
                let start = u64::try_from(start.unwrap_or(0)).map_err(negative)?;
                let length = length.map(u64::try_from).transpose().map_err(negative)?;
                let end = length.map(|length| start.saturating_add(length));
                let added = shared.adding(path.len() + ENTRY, |visit| {
                    let body = visit.body.get_or_insert_with(Vec::new);
                    body.push(Piece::File { path, start, end });
                    body.len()
                })?;
                few(added)
            },
        )?,
    )?;
    let shared = current.clone();
    host.set(
        "request_body",
        lua.create_function(move |lua, ()| {
            shared.with(|visit| {
                let body = visit.request_body.as_ref();
                body.map(|body| lua.create_string(body)).transpose()
            })
        })?,
    )?;
    let shared = current.clone();
    host.set(
        "body_clear",
        lua.create_function(move |_, ()| {
            shared.with(|visit| visit.body = Some(Vec::new()));
            Ok(())
        })?,
    )?;
    let shared = current.clone();
    host.set(
        "body_get",
        lua.create_function(move |lua, ()| {
            shared.with(|visit| {
                let mut whole = Vec::new();
                for piece in visit.body.iter().flatten() {
                    match piece {
                        Piece::Bytes(bytes) => whole.extend_from_slice(bytes),
                        Piece::File { .. } => return Ok(None),
                    }
                }
                lua.create_string(whole).map(Some)
            })
        })?,
    )
}

fn few(pieces: usize) -> Result<()> {
    match pieces <= PIECES {
        true => Ok(()),
        false => Err(refused("the body has too many pieces")),
    }
}
