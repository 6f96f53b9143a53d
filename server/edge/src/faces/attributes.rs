//! Implements `lighty.env` and `lighty.r.req_item`: the attributes of a request besides its header
//! fields.

use crate::attribute::{Attribute, NAMES};
use crate::current::Current;
use crate::native::{function, said, Answer};
use crate::visit::{Stage, Visit};
use mlua::{Lua, Result, Table};
use std::rc::Rc;
use std::time::UNIX_EPOCH;

pub fn install(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let get = function(lua, current, |visit, arguments| {
        let name = arguments.at(2).text()?;
        if name == b"request.stage" {
            return Ok(Answer::Text(stage_name(visit.stage)));
        }
        let Some((attribute, _)) = Attribute::named(name) else {
            return Ok(Answer::Nil);
        };
        visit.learn(attribute, arguments.source());
        let text = visit.attribute(attribute);
        Ok(text.map_or(Answer::Nil, Answer::Text))
    })?;
    host.set("attribute", get)?;
    let set = function(lua, current, |visit, arguments| {
        let name = arguments.at(2).text()?;
        let text = arguments.at(3).text_or_nil()?.unwrap_or_default();
        let shown = || String::from_utf8_lossy(name);
        match Attribute::named(name) {
            Some((attribute, true)) => {
                // The source computes all attributes before the script changes one, because a
                // change affects where the request leads.
                visit.learn_attributes(arguments.source());
                visit.with_room_for(text.len(), |visit| visit.change(attribute, text))?;
                Ok(Answer::Nil)
            }
            Some((_, false)) => Err(said(format!("{} cannot be set", shown()))),
            None => Err(said(format!("there is no attribute {}", shown()))),
        }
    })?;
    host.set("set_attribute", set)?;
    let names = lua.create_function(|lua, ()| {
        let names = NAMES.iter().map(|(name, ..)| *name);
        lua.create_sequence_from(names)
    })?;
    host.set("attributes", names)?;
    let item = function(lua, current, |visit, arguments| {
        visit.learn_fields(arguments.source());
        let number = item(visit, arguments.at(2).text()?);
        Ok(number.map_or(Answer::Nil, |number| Answer::Number(number as f64)))
    })?;
    host.set("item", item)
}

fn stage_name(stage: Stage) -> &'static [u8] {
    match stage {
        Stage::RawUrl => b"uri-raw",
        Stage::PhysicalPath => b"physical",
        Stage::ResponseStart => b"response-start",
    }
}

/// Returns a number of the request for `lighty.r.req_item`.
fn item(visit: &Visit, name: &[u8]) -> Option<u64> {
    match name {
        b"http_status" => Some(u64::from(visit.status)),
        b"req_count" => Some(visit.request_count),
        b"start_time" => {
            let since = visit.began?.duration_since(UNIX_EPOCH);
            since.ok().map(|since| since.as_secs())
        }
        b"req_header_len" => u64::try_from(visit.request.size()).ok(),
        b"resp_header_len" => u64::try_from(visit.response.size()).ok(),
        _ => None,
    }
}
