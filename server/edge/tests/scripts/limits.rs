//! What scripts may take, and what happens to those that want more.

use crate::bench::{body, expression, Bench};
use mehari_edge::Ended;

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
fn memory_is_bounded_and_given_back() {
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

#[test]
fn moving_many_bytes_is_interrupted_too() {
    let mut bench = Bench::new();
    let (done, _, steps) =
        bench.run("local s = ('x'):rep(5e5) for i = 1, 100 do local t = s .. i end");
    assert_eq!(done, Ok(Ended::GoOn));
    assert!(steps > 50, "{steps}");
}

#[test]
fn coroutines_of_a_script_work_across_interruptions() {
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
    assert_eq!(done, Ok(Ended::Answer(200)));
    assert!(steps > 5, "{steps}");
    assert_eq!(body(&visit), "3 1800030000 42 1800030000 true false");
}

#[test]
fn a_pattern_that_takes_for_ever_is_refused() {
    let mut bench = Bench::new();
    let (status, text) = bench.failure("\n(('a'):rep(3000)):find(('.-'):rep(10) .. 'b')");
    assert_eq!(
        (status, text.as_str()),
        (500, "FILE:2: a pattern takes too long on this text")
    );
    let insert = "local t = {} for i = 1, 1e9 do table.insert(t, 1, i) end";
    assert_eq!(bench.failure(insert).0, 503);
}
