//! The directives of Lua: for scripts that run in the front, and for the processes of other
//! scripts.

use super::row::*;
use crate::{LuaHook, LuaScripts};

pub const GROUP: Group = Group {
    title: "Lua",
    rows: &[
        Directive::host(
            "LuaAttractRawURL",
            SCRIPTS,
            "Lua scripts that the server runs before it maps the URL to a file (lighttpd's \
             magnet.attract-raw-url-to).",
            |target, arguments| add_script(target, arguments, LuaHook::RawUrl),
        )
        .otherwise("None")
        .example("lua/raw.lua", "\"\""),
        Directive::everywhere(
            "LuaAttractPhysicalPath",
            SCRIPTS,
            "Lua scripts that the server runs after it has mapped the URL to a file (lighttpd's \
             magnet.attract-physical-path-to).",
            |target, arguments| add_script(target, arguments, LuaHook::PhysicalPath),
        )
        .otherwise("None")
        .example("lua/cached.lua", "\"\""),
        Directive::everywhere(
            "LuaAttractResponse",
            SCRIPTS,
            "Lua scripts that the server runs before it sends the head of the response \
             (lighttpd's magnet.attract-response-start-to).",
            |target, arguments| add_script(target, arguments, LuaHook::ResponseStart),
        )
        .otherwise("None")
        .example("lua/headers.lua", "\"\""),
        Directive::everywhere(
            "LuaInstructionLimit",
            Shape::Number {
                least: 1000,
                most: 1_000_000_000_000,
            },
            "The most instructions of one script in one request. A request that needs more gets \
             503.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::LuaInstructions(arguments.number()?));
                Ok(())
            },
        )
        .default("10000000"),
        Directive::everywhere(
            "LuaMemoryLimit",
            Shape::Number {
                least: 65_536,
                most: 1 << 40,
            },
            "The most memory of one script in one request, with the body that the script makes. A \
             request that needs more gets 503.",
            |target, arguments| {
                target.changes.push(Change::LuaMemory(arguments.number()?));
                Ok(())
            },
        )
        .default("16777216")
        .unit("bytes"),
        Directive::server(
            "LuaPoolProcesses",
            Shape::Number {
                least: 1,
                most: 1000,
            },
            "The number of processes for the scripts of `SetHandler lua`. Each process runs one \
             request at a time.",
            |target, arguments| {
                let processes = arguments.number_usize()?;
                super::proxy::programs::lua_pool(target.site, Some(processes));
                Ok(())
            },
        )
        .otherwise("2")
        .unit("processes"),
    ],
};

const SCRIPTS: Shape = words("FILE... | None", 1, ANY);

fn add_script(target: &mut Target, arguments: &Arguments, hook: LuaHook) -> Applied {
    let scripts: LuaScripts = if arguments.filled(0)?.eq_ignore_ascii_case("none") {
        LuaScripts::default()
    } else {
        (0..arguments.words.len())
            .map(|index| arguments.path(index, &target.site.server_root))
            .collect::<Result<_, Fault>>()?
    };
    target.changes.push(Change::Lua(hook, scripts));
    Ok(())
}
