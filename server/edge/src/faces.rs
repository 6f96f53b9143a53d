//! Installs the interface for scripts: Rust functions, which `faces/world.lua` combines.
//!
//! All scripts share these functions. [`Current`] holds the request while a slice runs.

mod attributes;
mod body;
mod codec;
mod digest;
mod environment;
mod fields;
mod files;
mod finish;
mod patterns;
mod text;

use crate::current::Current;
use crate::interpreter::Interpreter;
use mlua::{Error, Function, Lua, Result, String as LuaString, Table};
use std::rc::Rc;

/// The largest number of statistics counters that scripts may make.
const COUNTERS: usize = 1024;

/// Installs the functions of one area under their names in `host`.
type Area = fn(&Lua, &Table, &Rc<Current>) -> Result<()>;

/// Installs the interface. Returns the function that turns a script into its runner.
pub fn install(interpreter: &Rc<Interpreter>, current: &Rc<Current>) -> Result<Function> {
    const AREAS: [Area; 6] = [
        attributes::install,
        fields::install,
        body::install,
        text::install,
        codec::install,
        files::install,
    ];
    let lua = interpreter.lua();
    let host = lua.create_table()?;
    for area in AREAS {
        area(lua, &host, current)?;
    }
    counters(lua, &host, current)?;
    digest::install(lua, &host, interpreter)?;
    finish::install(lua, &host, current, interpreter)?;
    patterns::install(lua, &host, interpreter)?;
    host.set("is_limited", interpreter.is_limited())?;
    let watched = interpreter.clone();
    host.set(
        "is_broken",
        lua.create_function(move |_, ()| Ok(watched.is_broken()))?,
    )?;
    let library = lua.load(include_str!("faces/library.lua"));
    let library = library.set_name("=lua").into_function()?;
    let world = lua.load(include_str!("faces/world.lua"));
    world.set_name("=lua").call::<Function>((host, library))
}

/// Installs `lighty.status`: numbers that outlive requests.
fn counters(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let shared = current.clone();
    let get = lua.create_function(move |_, (_, name): (mlua::Value, LuaString)| {
        Ok(shared.counters()?.get(&*name.as_bytes()).copied())
    })?;
    host.set("counter", get)?;
    let shared = current.clone();
    let set = lua.create_function(move |_, (_, name, value): (mlua::Value, LuaString, i64)| {
        let mut counters = shared.counters()?;
        if counters.len() >= COUNTERS && !counters.contains_key(&*name.as_bytes()) {
            return Err(refused("there are too many counters"));
        }
        counters.insert(name.as_bytes().to_vec(), value);
        Ok(())
    })?;
    host.set("set_counter", set)?;
    let shared = current.clone();
    let names = lua.create_function(move |lua, ()| {
        let counters = shared.counters()?;
        let names = counters.keys().map(|name| lua.create_string(name));
        names.collect::<Result<Vec<_>>>()
    })?;
    host.set("counters", names)
}

/// Makes an error that the script has caused.
fn refused(text: impl Into<String>) -> Error {
    Error::RuntimeError(text.into())
}
