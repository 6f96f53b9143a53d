//! Implements `lighty.stat` and the other functions on the file system.

use super::{refused, Current};
use crate::visit::Status;
use mlua::{Lua, Result, String as LuaString, Table};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The largest number of names of one folder that a script gets.
const NAMES: usize = 10_000;

pub fn install(lua: &Lua, host: &Table, current: &Rc<Current>) -> Result<()> {
    let shared = current.clone();
    host.set(
        "stat",
        lua.create_function(move |lua, path: LuaString| {
            let path = path.as_bytes();
            let status = shared.world.stat(Path::new(OsStr::from_bytes(&path)));
            status.map(|status| table(lua, &status)).transpose()
        })?,
    )?;
    host.set(
        "readdir",
        lua.create_function(|lua, path: LuaString| {
            let Ok(entries) = std::fs::read_dir(OsStr::from_bytes(&path.as_bytes())) else {
                return Ok(None);
            };
            let names = entries.flatten().take(NAMES);
            let names = names.map(|entry| lua.create_string(entry.file_name().into_vec()));
            names.collect::<Result<Vec<_>>>().map(Some)
        })?,
    )?;
    host.set(
        "readlink",
        lua.create_function(|lua, path: LuaString| {
            let target = std::fs::read_link(OsStr::from_bytes(&path.as_bytes())).ok();
            let target = target.map(|target| target.into_os_string().into_vec());
            target.map(|target| lua.create_string(target)).transpose()
        })?,
    )?;
    host.set("time", lua.create_function(|_, ()| Ok(now()?.0))?)?;
    host.set(
        "hrtime",
        lua.create_function(|lua, ()| {
            let (seconds, nanoseconds) = now()?;
            let table = lua.create_table()?;
            table.set(1, seconds)?;
            table.set(2, nanoseconds)?;
            Ok(table)
        })?,
    )
}

fn now() -> Result<(u64, u32)> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.map_err(|_| refused("the clock stands before 1970"))?;
    Ok((since.as_secs(), since.subsec_nanos()))
}

/// Makes a file's table with the members that lighttpd gives.
fn table(lua: &Lua, status: &Status) -> Result<Table> {
    let is = |kind: libc::mode_t| status.mode & libc::S_IFMT == kind;
    let table = lua.create_table_with_capacity(0, 20)?;
    for (name, kind) in [
        ("is_file", libc::S_IFREG),
        ("is_dir", libc::S_IFDIR),
        ("is_char", libc::S_IFCHR),
        ("is_block", libc::S_IFBLK),
        ("is_socket", libc::S_IFSOCK),
        ("is_link", libc::S_IFLNK),
        ("is_fifo", libc::S_IFIFO),
    ] {
        table.raw_set(name, is(kind))?;
    }
    table.raw_set("st_mode", status.mode)?;
    table.raw_set("st_mtime", status.modified)?;
    table.raw_set("st_ctime", status.changed)?;
    table.raw_set("st_atime", status.accessed)?;
    table.raw_set("st_uid", status.user)?;
    table.raw_set("st_gid", status.group)?;
    table.raw_set("st_size", status.size)?;
    table.raw_set("st_ino", status.inode)?;
    table.raw_set("etag", status.etag.as_str())?;
    if !status.media_type.is_empty() {
        table.raw_set("content-type", status.media_type.as_str())?;
    }
    Ok(table)
}
