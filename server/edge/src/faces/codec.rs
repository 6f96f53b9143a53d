//! Implements `lighty.c.b64enc`, `hexenc` and the other codecs. A text that cannot be decoded gives
//! nil.

use super::Current;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::Engine;
use mehari_text::hex;
use mlua::{Lua, Result, String as LuaString, Table};
use std::rc::Rc;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_encode_padding(false));

pub fn install(lua: &Lua, host: &Table, _: &Rc<Current>) -> Result<()> {
    for (encode, decode, engine) in [
        ("b64enc", "b64dec", &STANDARD),
        ("b64urlenc", "b64urldec", &URL),
    ] {
        host.set(
            encode,
            lua.create_function(move |_, text: LuaString| Ok(engine.encode(text.as_bytes())))?,
        )?;
        host.set(
            decode,
            lua.create_function(move |lua, text: LuaString| {
                let bytes = engine.decode(text.as_bytes()).ok();
                bytes.map(|bytes| lua.create_string(bytes)).transpose()
            })?,
        )?;
    }
    host.set(
        "hexenc",
        // The digits are upper-case, as in lighttpd.
        lua.create_function(|_, text: LuaString| Ok(hex::upper(&text.as_bytes())))?,
    )?;
    host.set(
        "hexdec",
        lua.create_function(|lua, text: LuaString| {
            let bytes = hex::decode(&text.as_bytes());
            bytes.map(|bytes| lua.create_string(bytes)).transpose()
        })?,
    )
}
