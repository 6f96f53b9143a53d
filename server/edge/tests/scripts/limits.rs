//! Tests the limits of scripts, and the end of scripts that exceed the limits.

use crate::bench::{body, expression, Bench};
use mehari_edge::ScriptDecision;

#[test]
fn a_loop_is_interrupted_and_ends_with_503() {
    let mut bench = Bench::new();
    for source in [
        "while true do end",
        "local function f() return f() end f()",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "local t = setmetatable({}, { __index = function(t, k) while true do end end }) return t.x",
        "table.sort({ 3, 2, 1 }, function() while true do end end)",
        "(('x'):rep(10)):gsub('.', function() while true do end end)",
        "table.sort({ 3, 2, 1 }, function() while true do pcall(error) end end)",
    ] {
        let (done, _, steps) = bench.run(source);
        let failure = done.expect_err(source);
        assert_eq!(failure.status, 503, "{source}: {failure}");
        assert!(
            failure.text.contains("LuaInstructionLimit"),
            "{source}: {failure}"
        );
        assert!(steps > 50, "{source}: {steps} steps");
    }
    assert_eq!(bench.text(&expression("1 + 1")), "2");
}

#[test]
fn memory_is_bounded_and_freed_for_the_next_script() {
    let mut bench = Bench::new();
    for source in [
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "return ('x'):rep(1e9)",
        "while true do lighty.r.resp_body.add(('x'):rep(1000)) end",
        "while true do print(('x'):rep(1000)) end",
        "while true do lighty.r.req_header['x'] = ('x'):rep(1000) end",
    ] {
        for _ in 0..20 {
            let (status, text) = bench.failure(source);
            assert_eq!(
                (status, text.as_str()),
                (503, "FILE: took more than LuaMemoryLimit allows"),
                "{source}"
            );
        }
    }
    assert_eq!(bench.text(&expression("#('x'):rep(2e6)")), "2000000");
}

/// Unreachable memory is not counted, regardless of the size of its pieces.
#[test]
fn garbage_is_collected_before_a_script_is_refused() {
    let mut bench = Bench::new();
    for (source, said) in [
        ("local s = ('x'):rep(1.2e6) for i = 1, 50 do local t = s .. i end", ""),
        ("for i = 1, 50 do local s = ('x'):rep(2e6 + i) end", ""),
        ("local s = ('x'):rep(1e6) for i = 1, 50 do s = s:sub(2) .. i % 10 end said = #s", "1000000"),
        ("local last for i = 1, 3e4 do last = { last and last[1], {}, {}, {}, {} } end said = #last", "5"),
        ("local c = coroutine.wrap(function() for i = 1, 50 do coroutine.yield(#(('x'):rep(1e6) .. i)) end end)
          for i = 1, 50 do said = c() end", "1000002"),
        ("table.sort({ 3, 2, 1, 4 }, function(a, b) said = #(('x'):rep(1e6) .. a); return a < b end)", "1000001"),
        // The script goes on after a refused allocation.
        ("said = tostring(pcall(string.rep, 'x', 1e8)) .. #('x'):rep(2e6)", "false2000000"),
    ] {
        let source = format!("{source} lighty.content = {{ tostring(said or '') }} return 200");
        assert_eq!(bench.text(&source), said, "{source}");
    }
    for source in [
        "local t = {} for i = 1, 10 do t[i] = ('x'):rep(1e6 + i) end",
        "local t = {} while true do pcall(function() t[#t + 1] = ('x'):rep(1e5) .. #t end) end",
    ] {
        assert_eq!(bench.failure(source).0, 503, "{source}");
    }
}

#[test]
fn a_script_that_moves_many_bytes_is_interrupted() {
    let mut bench = Bench::new();
    let (done, _, steps) =
        bench.run("local s = ('x'):rep(5e5) for i = 1, 100 do local t = s .. i end");
    assert_eq!(done, Ok(ScriptDecision::GoOn));
    assert!(steps > 50, "{steps}");
}

#[test]
fn a_scripts_own_coroutines_survive_interruptions() {
    let mut bench = Bench::new();
    let source = "
        local function slow(n) local s = 0 for i = 1, n do s = s + i end return s end
        local thread = coroutine.create(function(a, b)
            local c = coroutine.yield(a + b, slow(60000))
            return c * 2, slow(60000)
        end)
        local _, one, two = coroutine.resume(thread, 1, 2)
        local ok, three, four = coroutine.resume(thread, 21)
        local dead = coroutine.resume(thread)
        lighty.content = { table.concat({ one, two, three, four, tostring(ok), tostring(dead) }, ' ') }
        return 200";
    let (done, visit, steps) = bench.run(source);
    assert_eq!(done, Ok(ScriptDecision::Answer(200)));
    assert!(steps > 5, "{steps}");
    assert_eq!(body(&visit), "3 1800030000 42 1800030000 true false");
}

#[test]
fn an_endless_pattern_match_is_refused() {
    let mut bench = Bench::new();
    let (status, text) = bench.failure("\n(('a'):rep(3000)):find(('.-'):rep(10) .. 'b')");
    assert_eq!(
        (status, text.as_str()),
        (500, "FILE:2: a pattern takes too long on this text")
    );
    let insert = "local t = {} for i = 1, 1e9 do table.insert(t, 1, i) end";
    assert_eq!(bench.failure(insert).0, 503);
}

/// A few slow instructions end a slice and are charged by their time.
#[test]
fn slow_instructions_end_a_slice_sooner() {
    let mut bench = Bench::new();
    for source in [
        // These two long texts differ at the end.
        "local a, b = ('x'):rep(1e6) .. 'a', ('x'):rep(1e6) .. 'b' while a < b do end",
        // A long text that might be a number.
        "local a = (' '):rep(2e6) while true do tonumber(a) end",
        // A large emptied table.
        "local t = {} for i = 1, 1e4 do t[i .. ''] = i end for n in pairs(t) do t[n] = nil end while true do next(t) end",
        "local a = ('x'):rep(2e6) while true do lighty.c.md('sha512', a) end",
        "local a = ('x'):rep(2e6) while true do a:find('y', 1, true) end",
        "local a = ('a'):rep(1e6) .. 'x' while true do a:find(('a'):rep(5e5) .. 'b', 1, true) end",
    ] {
        let (done, _, steps) = bench.run(source);
        let failure = done.expect_err(source);
        assert_eq!(failure.status, 503, "{source}: {failure}");
        assert!(steps > 3, "{source}: {steps} steps");
    }
}

#[test]
fn a_script_that_evades_the_limits_fails_alone() {
    let mut bench = Bench::new();
    for (source, status) in [
        ("error(setmetatable({}, { __tostring = function() while true do end end }))", 500),
        ("xpcall(error, function() while true do end end)", 503),
        ("xpcall(function() while true do end end, function() while true do end end)", 503),
        ("local function f() local ok, e = pcall(f) return f() end f()", 503),
        ("local c = coroutine.wrap(function() while true do pcall(coroutine.yield) end end) while true do c() end", 503),
        ("local t = {} while true do t[#t + 1] = coroutine.create(function() end) end", 503),
        ("local t = setmetatable({}, { __index = function(t, k) return t[k] end }) return t.x", 500),
        ("local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x", 500),
        ("local t = {} for i = 1, 2e4 do t[i] = i end while true do table.sort(t) end", 503),
        ("return ('x'):rep(1e5):rep(1e5)", 503),
        ("return ('%s'):rep(1e5):format(1)", 500),
        ("local _ = (('a?'):rep(2e4) .. ('a'):rep(2e4)):match(('a?'):rep(2e4))", 0),
        ("return string.char(27, 76, 74) .. load(string.char(27, 76, 74))", 500),
        ("getmetatable('').__index = nil", 500),
        ("string.find = nil", 500),
        ("setmetatable(_G, {})", 500),
        ("setmetatable(lighty, {})", 500),
        ("for i = 1, 1000 do lighty.header['X-' .. i] = 'x' end return 200", 500),
        ("lighty.content = setmetatable({}, { __index = function() while true do end end, __len = function() return 9 end }) return 200", 0),
    ] {
        let (done, ..) = bench.run(source);
        match status {
            0 => assert!(done.is_ok(), "{source}: {done:?}"),
            _ => assert_eq!(done.map_err(|failure| failure.status), Err(status), "{source}"),
        }
        assert_eq!(bench.text(&expression("('ab'):find('b') + #table.concat({ 1, 2 })")), "4", "{source}");
    }
}

#[test]
fn instructions_count_even_with_a_full_stack() {
    let mut bench = Bench::new();
    // The number of local variables changes the place in a call at which the stack is full.
    for locals in ["a", "a, b", "a, b, c"] {
        for catch in ["pcall(f)", "xpcall(f, type)"] {
            let source = format!("local function f() local {locals} = {catch} return f() end f()");
            assert_eq!(bench.failure(&source).0, 503, "{source}");
        }
    }
    // These scripts end by the limit or by an error that nothing can catch.
    for resumed in [
        "local function f() coroutine.resume(coroutine.create(f)) return f() end f()",
        "local function f() pcall(coroutine.wrap(f)) return f() end f()",
        "local function f() return pcall(coroutine.wrap(f)) end while true do f() end",
        "local function f() coroutine.resume(coroutine.create(f)) end while true do f() end",
        "local function f() coroutine.wrap(f)() end while true do pcall(f) end",
    ] {
        assert!(matches!(bench.failure(resumed).0, 500 | 503), "{resumed}");
    }
}

#[test]
fn a_script_cannot_put_a_line_end_into_a_header() {
    let mut bench = Bench::new();
    for (name, value) in [
        ("X-A", "a\\r\\nX-B: b"),
        ("X-A", "a\\nb"),
        ("X-A", "a\\0b"),
        ("X-A\\r\\nX-B", "b"),
        ("X-A: b", "b"),
        ("X\\0A", "b"),
        ("", "b"),
        ("Transfer-Encoding", "chunked"),
        ("content-length", "1"),
    ] {
        for set in [
            "lighty.header",
            "lighty.r.resp_header",
            "lighty.r.req_header",
        ] {
            let source = format!("{set}['{name}'] = '{value}' return 200");
            assert_eq!(bench.failure(&source).0, 500, "{source}");
        }
    }
    for source in [
        "lighty.req_env['A=B'] = 'c'",
        "lighty.req_env['A'] = 'b\\0c'",
        "lighty.req_env[''] = 'c'",
    ] {
        assert_eq!(bench.failure(source).0, 500, "{source}");
    }
}
