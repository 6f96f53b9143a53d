//! `lighty.c.md`, `hmac`, and comparisons in constant time.

use super::refused;
use crate::interpreter::Interpreter;
use hmac::{Hmac, Mac};
use md5::Md5;
use mlua::{Lua, Result, String as LuaString, Table};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::fs::File;
use std::io::Read;
use std::rc::Rc;

const KNOWN: &str = "md5, sha1, sha224, sha256, sha384 or sha512";

/// Bytes that take as long as one instruction.
const BYTES_AN_INSTRUCTION: usize = 4;

pub fn install(lua: &Lua, host: &Table, interpreter: &Rc<Interpreter>) -> Result<()> {
    let charged = interpreter.clone();
    let charge = move |bytes: usize| charged.charge(bytes / BYTES_AN_INSTRUCTION);
    let charged = charge.clone();
    host.set(
        "md",
        lua.create_function(move |_, (name, data): (LuaString, LuaString)| {
            let data = data.as_bytes();
            charged(data.len());
            Ok(hex(
                &match name.to_string_lossy().to_ascii_lowercase().as_str() {
                    "md5" => Md5::digest(data).to_vec(),
                    "sha1" | "sha" => Sha1::digest(data).to_vec(),
                    "sha224" => Sha224::digest(data).to_vec(),
                    "sha256" => Sha256::digest(data).to_vec(),
                    "sha384" => Sha384::digest(data).to_vec(),
                    "sha512" => Sha512::digest(data).to_vec(),
                    other => return Err(unknown(other)),
                },
            ))
        })?,
    )?;
    let charged = charge.clone();
    host.set(
        "hmac",
        lua.create_function(
            move |_, (name, key, data): (LuaString, LuaString, LuaString)| {
                let (key, data) = (key.as_bytes(), data.as_bytes());
                charged(key.len() + data.len());
                let made = match name.to_string_lossy().to_ascii_lowercase().as_str() {
                    "md5" => tag::<Hmac<Md5>>(&key, &data),
                    "sha1" | "sha" => tag::<Hmac<Sha1>>(&key, &data),
                    "sha224" => tag::<Hmac<Sha224>>(&key, &data),
                    "sha256" => tag::<Hmac<Sha256>>(&key, &data),
                    "sha384" => tag::<Hmac<Sha384>>(&key, &data),
                    "sha512" => tag::<Hmac<Sha512>>(&key, &data),
                    other => return Err(unknown(other)),
                };
                made.map(|bytes| hex(&bytes))
                    .ok_or_else(|| refused("hmac cannot use this key"))
            },
        )?,
    )?;
    host.set(
        "digest_eq",
        lua.create_function(|_, (one, other): (LuaString, LuaString)| {
            let (one, other) = (one.as_bytes(), other.as_bytes());
            Ok(same(&one.to_ascii_lowercase(), &other.to_ascii_lowercase()))
        })?,
    )?;
    host.set(
        "secret_eq",
        lua.create_function(move |_, (one, other): (LuaString, LuaString)| {
            charge(one.as_bytes().len() + other.as_bytes().len());
            Ok(same(
                &Sha256::digest(one.as_bytes()),
                &Sha256::digest(other.as_bytes()),
            ))
        })?,
    )?;
    host.set(
        "rand",
        lua.create_function(|_, ()| {
            let mut bytes = [0; 4];
            let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
            read.map_err(|error| refused(format!("no random bytes: {error}")))?;
            Ok(i64::from(u32::from_ne_bytes(bytes) >> 1))
        })?,
    )
}

fn unknown(name: &str) -> mlua::Error {
    refused(format!("there is no digest {name}; expected {KNOWN}"))
}

fn tag<M: Mac + hmac::digest::KeyInit>(key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let mac = <M as Mac>::new_from_slice(key).ok()?;
    Some(mac.chain_update(data).finalize().into_bytes().to_vec())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Compares two texts in a time that does not depend on where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}
