//! The request and the response: attributes, fields, environment, body.

use super::{refused, Current};
use crate::attribute::{Attribute, NAMES};
use crate::fields::Fields;
use crate::visit::{Piece, Stage, Visit};
use mlua::{Lua, Result, String as LuaString, Table, Value};
use std::rc::Rc;

/// Pieces a body may have.
const PIECES: usize = 10_000;
/// What each costs beside its bytes.
const PIECE: usize = 64;

/// A script does not decide how a message is framed, nor about the connection.
const FRAMING: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub fn install(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    attributes(lua, host, current)?;
    fields(lua, host, current, "request", |visit| &mut visit.request)?;
    fields(lua, host, current, "response", |visit| &mut visit.response)?;
    fields(lua, host, current, "environment", |visit| {
        &mut visit.environment
    })?;
    body(lua, host, current)?;
    let shared = current.clone();
    host.set(
        "print",
        lua.create_function(move |_, line: LuaString| {
            let line = line.as_bytes().to_vec();
            shared.adding(line.len() + PIECE, |visit| visit.printed.push(line))
        })?,
    )?;
    let shared = current.clone();
    host.set(
        "item",
        lua.create_function(move |_, (_, name): (Value, LuaString)| {
            Ok(shared.with(|visit| item(visit, &name.as_bytes())))
        })?,
    )
}

fn attributes(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let shared = current.clone();
    let get = lua.create_function(move |lua, (_, name): (Value, LuaString)| {
        if &*name.as_bytes() == b"request.stage" {
            let stage = shared.with(|visit| visit.stage);
            return Ok(Some(lua.create_string(stage_name(stage))?));
        }
        let Some((attribute, _)) = Attribute::named(&name.as_bytes()) else {
            return Ok(None);
        };
        shared.with(|visit| {
            let text = visit.attribute(attribute);
            text.map(|text| lua.create_string(text)).transpose()
        })
    })?;
    host.set("attribute", get)?;
    let shared = current.clone();
    let set = lua.create_function(
        move |_, (_, name, text): (Value, LuaString, Option<LuaString>)| {
            let text = text
                .map(|text| text.as_bytes().to_vec())
                .unwrap_or_default();
            match Attribute::named(&name.as_bytes()) {
                Some((attribute, true)) => {
                    shared.adding(text.len(), |visit| visit.change(attribute, &text))
                }
                Some((_, false)) => {
                    Err(refused(format!("{} cannot be set", name.to_string_lossy())))
                }
                None => Err(refused(format!(
                    "there is no attribute {}",
                    name.to_string_lossy()
                ))),
            }
        },
    )?;
    host.set("set_attribute", set)?;
    let names =
        lua.create_function(|_, ()| Ok(NAMES.iter().map(|(name, ..)| *name).collect::<Vec<_>>()))?;
    host.set("attributes", names)
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::RawUrl => "uri-raw",
        Stage::PhysicalPath => "physical",
        Stage::ResponseStart => "response-start",
    }
}

/// `lighty.r.req_item`: numbers of the request.
fn item(visit: &Visit, name: &[u8]) -> Option<i64> {
    match name {
        b"http_status" => Some(i64::from(visit.status)),
        b"req_count" => i64::try_from(visit.request_count).ok(),
        b"start_time" => i64::try_from(visit.start_time).ok(),
        b"req_header_len" => i64::try_from(visit.request.size()).ok(),
        b"resp_header_len" => i64::try_from(visit.response.size()).ok(),
        _ => None,
    }
}

/// Getter, setter and names of one kind of fields: `request`, `set_request`, `requests`.
fn fields(
    lua: &Lua,
    host: &Table,
    current: &Rc<Current>,
    kind: &'static str,
    of: fn(&mut Visit) -> &mut Fields,
) -> Result<()> {
    let shared = current.clone();
    let get = lua.create_function(move |lua, (_, name): (Value, LuaString)| {
        shared.with(|visit| {
            let value = of(visit).get(&name.as_bytes());
            value.map(|value| lua.create_string(value)).transpose()
        })
    })?;
    host.set(kind, get)?;
    let shared = current.clone();
    let set = lua.create_function(
        move |_, (_, name, value): (Value, LuaString, Option<LuaString>)| {
            let name = name.as_bytes();
            let value = value.map(|value| value.as_bytes().to_vec());
            match kind {
                "environment" => check_variable(&name, value.as_deref())?,
                _ => check_field(&name, value.as_deref())?,
            }
            let size = name.len() + value.as_ref().map_or(0, Vec::len) + PIECE;
            shared.adding(size, |visit| match (&value, kind) {
                (Some(value), "response") if name.eq_ignore_ascii_case(b"set-cookie") => {
                    of(visit).add(&name, value)
                }
                (Some(value), _) => of(visit).set(&name, value),
                (None, _) => of(visit).unset(&name),
            })
        },
    )?;
    host.set(format!("set_{kind}"), set)?;
    let shared = current.clone();
    let names = lua.create_function(move |lua, ()| {
        shared.with(|visit| {
            let names = of(visit).iter().map(|(name, _)| lua.create_string(name));
            names.collect::<Result<Vec<_>>>()
        })
    })?;
    host.set(format!("{kind}s"), names)
}

fn check_field(name: &[u8], value: Option<&[u8]>) -> Result<()> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let shown = name.escape_ascii();
    if name.is_empty() || !name.iter().all(is_token) {
        return Err(refused(format!("`{shown}` is no name of a header field")));
    }
    if FRAMING
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
    {
        return Err(refused(format!("the server itself decides about {shown}")));
    }
    match value {
        Some(value) if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) => Err(refused(
            format!("a value of {shown} has a line end or a NUL in it"),
        )),
        _ => Ok(()),
    }
}

fn check_variable(name: &[u8], value: Option<&[u8]>) -> Result<()> {
    let bytes = name.iter().chain(value.unwrap_or_default());
    if name.is_empty() || name.contains(&b'=') || bytes.into_iter().any(|byte| *byte == 0) {
        let shown = name.escape_ascii();
        return Err(refused(format!(
            "`{shown}` is no variable, or its value has a NUL"
        )));
    }
    Ok(())
}

/// What is sent instead of anything else.
fn body(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let shared = current.clone();
    host.set(
        "body_add",
        lua.create_function(move |_, bytes: LuaString| {
            let bytes = bytes.as_bytes();
            let added = shared.adding(bytes.len() + PIECE, |visit| {
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
                let added = shared.adding(path.len() + PIECE, |visit| {
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
