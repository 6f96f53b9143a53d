-- Replaces Lua's library functions that can take long on small input. The functions here are
-- charged and can be interrupted. world.lua calls this chunk with the server's functions.

local host = ...
local error, select, tonumber, tostring, type = error, select, tonumber, tostring, type
local concat = table.concat

-- Pattern searches, charged by their steps.
local search, find_plain, charge = host.search, host.find_plain, host.charge
-- Lua's own search handles texts up to this length. The search may start again at each byte.
local SHORT = 256
local plain_find, native_gsub, sub, byte = string.find, string.gsub, string.sub, string.byte
local pack, unpack = table.pack, table.unpack

local function is_plain(pattern)
    return not plain_find(pattern, "[%^%$%*%+%?%.%(%)%[%]%%%-]")
end

local function offset(text, init)
    init = init or 1
    if init < 0 then init = #text + init + 1 end
    return init < 1 and 0 or init - 1
end

local function captured(text, from, to, ...)
    if not from then return nil end
    if select("#", ...) == 0 then return sub(text, from, to) end
    return ...
end

local function find(text, pattern, init, plain)
    if plain or is_plain(pattern) then
        if type(text) ~= "string" or #text <= SHORT then return plain_find(text, pattern, init, true) end
        return find_plain(text, pattern, offset(text, init))
    end
    return search(text, pattern, offset(text, init))
end

local function match(text, pattern, init)
    return captured(text, search(text, pattern, offset(text, init)))
end

local function gmatch(text, pattern)
    local at = 0
    local function next_of(from, to, ...)
        if not from then
            at = #text + 1
            return nil
        end
        at = to < from and from or to
        return captured(text, from, to, ...)
    end
    return function() return next_of(search(text, pattern, at)) end
end

-- Returns the replacement with the captures in place of `%1` to `%9`.
local function expanded(by, whole, found)
    if not plain_find(by, "%", 1, true) then return by end
    return (native_gsub(by, "%%(.?)", function(name)
        if name == "%" then return "%" end
        local number = tonumber(name)
        if not number then error("invalid use of '%' in replacement string", 5) end
        local value = found[number + 2]
        if number == 0 or number == 1 and found.n == 2 then value = whole end
        if value == nil then error("invalid capture index in replacement string", 5) end
        return tostring(value)
    end))
end

local function replacement(by, kind, whole, found)
    if kind == "string" then return expanded(by, whole, found) end
    local value
    if kind == "table" then
        value = by[found.n > 2 and found[3] or whole]
    elseif found.n > 2 then
        value = by(unpack(found, 3, found.n))
    else
        value = by(whole)
    end
    if not value then return whole end
    if type(value) ~= "string" and type(value) ~= "number" then
        error("invalid replacement value (a " .. type(value) .. ")", 3)
    end
    return value
end

local function gsub(text, pattern, by, most)
    text = tostring(text)
    if type(by) == "number" then by = tostring(by) end
    local kind = type(by)
    if kind ~= "string" and kind ~= "table" and kind ~= "function" then
        error("bad argument #3 to 'gsub' (string/function/table expected, got " .. kind .. ")", 2)
    end
    local anchored = byte(pattern) == 94
    local parts, count, at = {}, 0, 0
    while at <= #text and (not most or count < most) do
        local found = pack(search(text, pattern, at))
        local from, to = found[1], found[2]
        if not from then break end
        count = count + 1
        parts[#parts + 1] = sub(text, at + 1, from - 1)
        parts[#parts + 1] = replacement(by, kind, sub(text, from, to), found)
        at = to
        if to < from then
            parts[#parts + 1] = sub(text, from, from)
            at = from
        end
        if anchored then break end
    end
    parts[#parts + 1] = sub(text, at + 1)
    return concat(parts), count
end

-- Does a merge step of the interruptible sort. `less` is the script's comparison.
local function merged(from, to, low, middle, high, less)
    local left, right = low, middle
    for at = low, high - 1 do
        if left < middle and (right >= high or not less(from[right], from[left])) then
            to[at], left = from[left], left + 1
        else
            to[at], right = from[right], right + 1
        end
    end
end

-- Lua's own sort handles up to this many values if it calls no comparison of the script.
local FEW = 1000
local native_sort, native_insert, native_remove = table.sort, table.insert, table.remove

local function is_less(one, other) return one < other end

local function sort(list, less)
    local count = #list
    charge(count)
    if less == nil then
        if count <= FEW then return native_sort(list) end
        less = is_less
    end
    local from, to, width = list, {}, 1
    while width < count do
        for low = 1, count, 2 * width do
            local middle = low + width
            local high = middle + width
            if middle > count + 1 then middle = count + 1 end
            if high > count + 1 then high = count + 1 end
            merged(from, to, low, middle, high, less)
        end
        from, to, width = to, from, 2 * width
    end
    if from ~= list then
        for at = 1, count do list[at] = from[at] end
    end
end

-- Inserts an entry and charges for the later entries, which have to move.
local function insert(list, ...)
    if select("#", ...) > 1 and type(list) == "table" then charge(#list / 16) end
    return native_insert(list, ...)
end

local function remove(list, at)
    if at ~= nil and type(list) == "table" then charge(#list / 16) end
    return native_remove(list, at)
end

return {
    strings = { find = find, match = match, gmatch = gmatch, gsub = gsub },
    tables = { sort = sort, insert = insert, remove = remove },
}
