//! Implements `lighty.c.md`, `hmac`, and comparisons in constant time.

use super::refused;
use crate::interpreter::Interpreter;
use hmac::{Hmac, Mac};
use md5::Md5;
use mehari_text::hex;
use mlua::{Lua, Result, String as LuaString, Table};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::rc::Rc;
use subtle::ConstantTimeEq;

const KNOWN: &str = "md5, sha1, sha224, sha256, sha384 or sha512";

/// Hashing this many bytes is charged as one instruction.
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
            Ok(hex::upper(
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
                made.map(|bytes| hex::upper(&bytes))
                    .ok_or_else(|| refused("hmac cannot use this key"))
            },
        )?,
    )?;
    host.set(
        "digest_eq",
        lua.create_function(|_, (one, other): (LuaString, LuaString)| {
            let (one, other) = (one.as_bytes(), other.as_bytes());
            let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
            Ok(bool::from(one.ct_eq(&other)))
        })?,
    )?;
    host.set(
        "secret_eq",
        lua.create_function(move |_, (one, other): (LuaString, LuaString)| {
            charge(one.as_bytes().len() + other.as_bytes().len());
            let [one, other] = [one, other].map(|text| Sha256::digest(text.as_bytes()));
            Ok(bool::from(one.ct_eq(&other)))
        })?,
    )?;
    host.set(
        "rand",
        lua.create_function(|_, ()| {
            let mut bytes = [0; 4];
            let filled = getrandom::fill(&mut bytes);
            filled.map_err(|error| refused(format!("no random bytes: {error}")))?;
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
