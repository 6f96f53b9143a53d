//! The request and the response: attributes, fields, environment.

use super::{refused, Current};
use crate::attribute::{Attribute, NAMES};
use crate::fields::Fields;
use crate::visit::{Stage, Visit};
use mlua::{Lua, Result, String as LuaString, Table, Value};
use std::rc::Rc;

/// What an entry costs beside its bytes.
pub const ENTRY: usize = 64;

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
    let shared = current.clone();
    host.set(
        "print",
        lua.create_function(move |_, line: LuaString| {
            let line = line.as_bytes().to_vec();
            shared.adding(line.len() + ENTRY, |visit| visit.printed.push(line))
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
            let name = name.as_bytes();
            if let Some(value) = of(visit).get(&name) {
                return lua.create_string(value).map(Some);
            }
            let value = match kind {
                "environment" => variable(visit, &name),
                _ => None,
            };
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
            let size = name.len() + value.as_ref().map_or(0, Vec::len) + ENTRY;
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

/// What CGI calls what the request says itself.
fn variable<'v>(visit: &'v Visit, name: &[u8]) -> Option<&'v [u8]> {
    let attribute = match name {
        b"REQUEST_METHOD" => Attribute::RequestMethod,
        b"REQUEST_URI" => Attribute::RequestOrigUri,
        b"QUERY_STRING" => Attribute::UriQuery,
        b"REQUEST_SCHEME" => Attribute::UriScheme,
        b"SERVER_PROTOCOL" => Attribute::RequestProtocol,
        b"SERVER_NAME" => Attribute::ServerName,
        b"SERVER_ADDR" => Attribute::ServerAddress,
        b"SERVER_PORT" => Attribute::ServerPort,
        b"REMOTE_ADDR" => Attribute::RemoteAddress,
        b"REMOTE_PORT" => Attribute::RemotePort,
        b"DOCUMENT_ROOT" => Attribute::PhysicalDocRoot,
        b"SCRIPT_FILENAME" => Attribute::PhysicalPath,
        b"PATH_INFO" => Attribute::RequestPathInfo,
        b"CONTENT_TYPE" => return visit.request.get(b"content-type"),
        _ => {
            let field = name.strip_prefix(b"HTTP_")?;
            let dashed: Vec<u8> = field
                .iter()
                .map(|byte| if *byte == b'_' { b'-' } else { *byte })
                .collect();
            return visit.request.get(&dashed);
        }
    };
    visit.attribute(attribute)
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
