-- Makes the environment of all scripts. `host` holds the server's functions, which work on the
-- request of the calling script. The chunk returns a function that turns a script into its runner.
-- A script cannot change anything for the next script: libraries are read-only userdata, and each
-- script has its own table of globals. Functions that call Lua code (coroutines here, sorting and
-- replacing in library.lua) are written in Lua, so that they can be interrupted like the script.
--

local host, load_library = ...
local error, getmetatable, next, pairs, rawequal, rawget, select, setfenv, getfenv, setmetatable, tostring, type =
    error, getmetatable, next, pairs, rawequal, rawget, select, setfenv, getfenv, setmetatable, tostring, type
local jit_util = require("jit.util")
local newproxy, native_load, native_pairs = newproxy, load, pairs
local resume, yield, status, running = coroutine.resume, coroutine.yield, coroutine.status, coroutine.running
local create, concat, is_broken, charge = coroutine.create, table.concat, host.is_broken, host.charge
local native_pcall, native_xpcall = pcall, xpcall
local band, byte_code, constant_of = bit.band, jit_util.funcbc, jit_util.funck
-- The cost of raising and catching an error in instructions. With a nearly full stack this is
-- the only charge, because the hook that counts instructions has no room and raises an error.
local FAILED = 100

-- Makes a userdata that reads by `index` and writes by `newindex`.
local function face(index, newindex, names)
    local value = newproxy(true)
    local meta = getmetatable(value)
    meta.__index = index
    meta.__newindex = newindex or function(_, key)
        error("`" .. tostring(key) .. "` cannot be set here", 2)
    end
    meta.__metatable = false
    meta.__pairs = names and function(self)
        local list, at = names(), 0
        return function()
            at = at + 1
            local name = list[at]
            if name ~= nil then return name, self[name] end
        end
    end
    return value
end

-- Makes a read-only library.
local function sealed(members)
    return face(members, nil, function()
        local names = {}
        for name in next, members do names[#names + 1] = name end
        return names
    end)
end

-- Makes a library of the named functions, which are harmless, and more members.
local function chosen(library, names, more)
    local members = {}
    for name in names:gmatch("%S+") do members[name] = library[name] end
    for name, member in next, more or {} do members[name] = member end
    return members
end

local function caught(ok, ...)
    if not ok then charge(FAILED) end
    return ok, ...
end

-- Interrupting a coroutine of the script also interrupts the script.
local function passed(thread, ...)
    if is_broken() then
        yield()
        return passed(thread, resume(thread))
    end
    return caught(...)
end

local function resumed(thread, ...)
    return passed(thread, resume(thread, ...))
end

local function wrapped(ok, ...)
    if not ok then error((...), 0) end
    return ...
end

local coroutines = chosen(coroutine, "create yield status running isyieldable", {
    resume = resumed,
    wrap = function(body)
        local thread = create(body)
        return function(...) return wrapped(resumed(thread, ...)) end
    end,
})

local function load_text(chunk, name, mode, env)
    if type(chunk) == "function" then
        local pieces = {}
        for piece in chunk do
            if piece == nil or piece == "" then break end
            pieces[#pieces + 1] = piece
        end
        chunk = concat(pieces)
    end
    if mode == "b" then return nil, "only texts are loaded" end
    local code, problem = native_load(chunk, name, "t")
    if code then setfenv(code, env or getfenv(2)) end
    return code, problem
end

local counted = load_library(host)
local strings = chosen(string, "byte char format len lower rep reverse sub upper",
    counted.strings)
local tables = chosen(table, "concat maxn move unpack pack", counted.tables)

local base = chosen(_G, "assert error getmetatable ipairs next pairs pcall rawequal rawget rawlen rawset select "
    .. "setmetatable tonumber tostring type unpack xpcall _VERSION", {
    pcall = function(...) return caught(native_pcall(...)) end,
    xpcall = function(...) return caught(native_xpcall(...)) end,
    load = load_text,
    loadstring = function(text, name) return load_text(text, name, "t", getfenv(2)) end,
    print = function(...)
        local words = { ... }
        for at = 1, select("#", ...) do words[at] = tostring(words[at]) end
        host.print(concat(words, "\t"))
    end,
    string = sealed(strings),
    table = sealed(tables),
    math = sealed(chosen(math, "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 "
        .. "max min modf pi pow rad random sin sinh sqrt tan tanh")),
    os = sealed(chosen(os, "clock date difftime time getenv")),
    bit = sealed(chosen(bit, "tobit tohex bnot band bor bxor lshift rshift arshift rol ror bswap")),
    coroutine = sealed(coroutines),
})

if not host.is_limited then
    -- A process of the Lua pool has all of Lua and lasting globals. `print` writes to the page.
    base = _G
    base.print = function(...)
        local words = { ... }
        for at = 1, select("#", ...) do words[at] = tostring(words[at]) end
        host.body_add(concat(words, "\t") .. "\n")
    end
    base.io.write = function(...)
        for at = 1, select("#", ...) do host.body_add(tostring((select(at, ...)))) end
        return io.stdout
    end
end

-- Makes the table of one kind of fields of the request or its response.
local function fields(kind)
    return face(host[kind], host["set_" .. kind], host[kind .. "s"])
end

local body = sealed({ add = host.body_add, set = host.body_set, get = host.body_get })

local request_body = sealed({
    get = host.request_body,
    len = function() return host.request_length() end,
    collect = function() return host.request_body() ~= nil end,
})

local request = sealed({
    req_body = request_body,
    req_attr = face(host.attribute, host.set_attribute, host.attributes),
    req_header = fields("request"),
    req_env = fields("environment"),
    req_item = face(host.item),
    resp_header = fields("response"),
    resp_body = body,
})

local counters = face(host.counter, host.set_counter, host.counters)

local tools = {}
for name in ("stat time hrtime rand md hmac digest_eq secret_eq b64urldec b64urlenc b64dec b64enc hexdec hexenc xmlenc "
    .. "urldec urlenc urldec_query urlenc_query urlenc_normalize fspath_simplify cookie_tokens header_tokens readdir "
    .. "readlink quoteddec quotedenc bsdec bsenc bsenc_json"):gmatch("%S+") do
    tools[name] = host[name]
end

-- Returns an iterator over the names of a folder, or nil if the folder cannot be read.
function tools.readdir(path)
    local names, at = host.readdir(path), 0
    if not names then return nil end
    return function()
        at = at + 1
        return names[at]
    end
end

local lighty_members = {
    r = request,
    c = sealed(tools),
    server = sealed({ plugin_stats = counters }),
    -- The names of lighttpd 1.4.13.
    request = request.req_header,
    env = request.req_attr,
    req_env = request.req_env,
    status = counters,
    stat = host.stat,
    RESTART_REQUEST = 99,
}
local lighty_meta = { __index = lighty_members, __metatable = false }
local env_meta = { __index = base, __metatable = false }

-- Finds out whether a script could set a global or get the table of globals. Only the script's
-- byte code shows this.
local REACHING = { _G = true, load = true, loadstring = true }
local SETTING = band((byte_code(native_load("name = nil"), 2)), 0xff)

local function reaches_globals(code)
    local at, instruction = 1, byte_code(code, 1)
    while instruction do
        if band(instruction, 0xff) == SETTING then return true end
        at = at + 1
        instruction = byte_code(code, at)
    end
    local number, constant = -1, constant_of(code, -1)
    while constant ~= nil do
        if REACHING[constant] or type(constant) == "proto" and reaches_globals(constant) then return true end
        number = number - 1
        constant = constant_of(code, number)
    end
    return false
end

if host.is_limited then
    -- Empties the state's own globals, which code sees that is loaded outside of a script.
    local globals = _G
    for name in native_pairs(globals) do globals[name] = nil end
    setmetatable(globals, {
        __index = base,
        __newindex = function() error("this code has no globals of its own", 2) end,
        __metatable = false,
    })
    getmetatable("").__index = strings
    getmetatable("").__metatable = false
end

local finish = host.finish
-- The largest number of names to clear after a script. With more names a new environment is
-- cheaper.
local LEFT = 64

-- Removes all members but the given ones. Returns the number of given members, or 0 if
-- too many members remain.
local function swept(list, given)
    local found, left = 0, 0
    for name, value in next, list do
        if given[name] == value then
            found = found + 1
        else
            left = left + 1
            if left > LEFT then return 0 end
            list[name] = nil
        end
    end
    return found
end

-- Makes the runner of a script with its own environment, which is cleared after each run. Each
-- instruction here is charged to the script. `reaches` tells whether the script reaches its
-- globals, and is nil before the first analysis. The function also returns this value.
return function(script, reaches)
    local header = {}
    local lighty = setmetatable({ header = header }, lighty_meta)
    local env = setmetatable({ lighty = lighty }, env_meta)
    setfenv(script, env)
    if not host.is_limited then
        -- Other scripts may hold the values of the process's lasting globals.
        return function()
            local result = script()
            return finish(result, rawget(lighty, "header"), rawget(lighty, "content"), nil)
        end, true
    end
    env._G = env
    local given, header_only = { lighty = lighty, _G = env }, { header = header }
    if reaches == nil then reaches = reaches_globals(script) end
    return function()
        local result = script()
        local lighty, as_new = lighty, header
        local fields, content = lighty.header, lighty.content
        if content ~= nil then lighty.content = nil end
        for name in next, lighty do
            if name ~= "header" then
                if swept(lighty, header_only) ~= 1 then as_new = nil end
                break
            end
        end
        if reaches and swept(env, given) ~= 2 then as_new = nil end
        return finish(result, fields, content, as_new)
    end, reaches
end
