//! Tests that one script does not affect the next script.

use crate::bench::{body, expression, Bench, LIMITS};
use mehari_edge::{Attribute, ScriptDecision, Step};
use std::time::Duration;

#[test]
fn a_scripts_changes_are_gone_for_the_next_script() {
    let mut bench = Bench::new();
    for leaving in [
        "left = 1",
        "_G.left = 1",
        "rawset(_G, 'left', 1)",
        "pcall(function() string.left = 1 end)",
        "pcall(rawset, string, 'left', 1)",
        "pcall(table.insert, string, 1)",
        "pcall(function() getmetatable('').__index.left = 1 end)",
        "pcall(function() lighty.r.left = 1 end)",
        "lighty.left = 1",
        "pcall(function() getmetatable(lighty).__index.left = 1 end)",
        "pcall(load('left = 1'))",
        "pcall(pcall(load, 'left = 1') and select(2, pcall(load, 'left = 1')))",
        "pcall(loadstring('left = 1'))",
    ] {
        let _ = bench.run(leaving).0;
        let left = "left or string.left or ('').left or lighty.left or lighty.r.left or string[1]";
        assert_eq!(bench.text(&expression(left)), "nil", "{leaving}");
    }
}

#[test]
fn a_script_reaches_no_dangerous_function() {
    let mut bench = Bench::new();
    for name in [
        "io",
        "os.execute",
        "os.exit",
        "os.remove",
        "debug",
        "package",
        "require",
        "dofile",
        "loadfile",
        "jit",
        "ffi",
        "setfenv",
        "getfenv",
        "newproxy",
        "collectgarbage",
        "string.dump",
        "math.randomseed",
        "getmetatable('')",
    ] {
        let said = bench.text(&expression(&format!("{name} or nil")));
        assert_eq!(said, "nil", "{name}");
    }
    let compiled = "load(string.char(27) .. 'LJ')";
    assert_eq!(
        bench.text(&expression(compiled)),
        "nil",
        "byte code is not loaded"
    );
}

#[test]
fn simultaneous_runs_do_not_affect_each_other() {
    let mut bench = Bench::new();
    let source = "mine = lighty.env['uri.path']
        local s = 0 for i = 1, 60000 do s = s + i end
        lighty.content = { mine, ' ', lighty.env['uri.path'] } return 200";
    std::fs::write(bench.file("two.lua"), source).expect("written");
    bench.now += Duration::from_secs(2);
    let mut runs: Vec<_> = ["/one", "/two", "/three"]
        .into_iter()
        .map(|path| {
            let mut visit = Bench::visit();
            visit.set_attribute(Attribute::UriPath, path.as_bytes());
            let run = bench
                .edge
                .start(&bench.file("two.lua"), bench.now, LIMITS, visit);
            (path, run.expect("started"))
        })
        .collect();
    let mut open: Vec<usize> = (0..runs.len()).collect();
    let mut rounds = 0;
    while !open.is_empty() {
        rounds += 1;
        open.retain(|at| match runs[*at].1.step(None) {
            Step::Again => true,
            Step::Done(result) => {
                assert_eq!(result, Ok(ScriptDecision::Answer(200)));
                false
            }
        });
    }
    assert!(rounds > 5, "they ran side by side");
    for (path, run) in runs {
        assert_eq!(body(&run.into_visit()), format!("{path} {path}"));
    }
}

#[test]
fn counters_outlive_requests() {
    let mut bench = Bench::new();
    for expected in ["1", "2"] {
        let source =
            "lighty.status['core.connections'] = (lighty.status['core.connections'] or 0) + 1 ";
        let said = bench.text(&format!(
            "{source}{}",
            expression("lighty.status['core.connections']")
        ));
        assert_eq!(said, expected);
    }
}

/// Each script runs on one request, and then other scripts run, possibly with the same coroutine
/// and environment.
#[test]
fn a_reused_environment_is_like_a_new_one() {
    let mut bench = Bench::new();
    let source = "
        local seen = {}
        for name in pairs(_G) do seen[#seen + 1] = name end
        for name in pairs(lighty.header) do seen[#seen + 1] = 'header ' .. name end
        seen[#seen + 1] = type(lighty.content) .. type(lighty.mine) .. type(left) .. tostring(_G.lighty == lighty)
        seen[#seen + 1] = tostring(getmetatable(lighty.header)) .. lighty.r.req_attr['uri.query']
        table.sort(seen)
        lighty.content = { table.concat(seen, ' ') }
        local what = lighty.r.req_attr['uri.query']
        if what == 'names' then for i = 1, 20 do _G['left' .. i] = i end left = 1 lighty.mine = 1
        elseif what == 'many' then for i = 1, 500 do _G['left' .. i] = i end left = 1
        elseif what == 'header' then lighty.header['X-Left'] = 'left'
        elseif what == 'meta' then setmetatable(lighty.header, { __index = { x = 1 }, __tostring = function() return 'meta' end })
        elseif what == 'other' then lighty.header = { ['X-Left'] = 'left' }
        elseif what == 'none' then lighty.header = nil
        elseif what == 'lighty' then lighty = nil
        elseif what == 'swapped' then lighty, _G._G = { header = {} }, nil
        elseif what == 'error' then left = 1 error('so')
        elseif what == 'yield' then left = 1 coroutine.yield()
        elseif what == 'slow' then left = 1 for i = 1, 60000 do end
        elseif what == 'large' then left = ('x'):rep(200000)
        elseif what == 'kept' then
            local env, mine = _G, lighty
            keep = coroutine.wrap(function() while true do env.left, mine.mine = 1, 1 coroutine.yield() end end)
            keep()
        end
        return 200";
    std::fs::write(bench.file("kept.lua"), source).expect("written");
    bench.now += Duration::from_secs(2);
    let said = |query: &str| {
        let mut visit = Bench::visit();
        visit.set_attribute(Attribute::UriQuery, query.as_bytes());
        let run = bench
            .edge
            .start(&bench.file("kept.lua"), bench.now, LIMITS, visit);
        let mut run = run.expect("started");
        let done = loop {
            if let Step::Done(done) = run.step(None) {
                break done;
            }
        };
        let visit = run.into_visit();
        (done.is_ok(), visit.response.len(), visit)
    };
    for what in [
        "nothing", "names", "many", "header", "meta", "other", "none", "lighty", "swapped",
        "error", "yield", "slow", "large", "kept",
    ] {
        let (is_well, fields, _) = said(what);
        assert_eq!(is_well, !["error", "yield"].contains(&what), "{what}");
        assert_eq!(
            fields,
            usize::from(["header", "other"].contains(&what)),
            "{what}"
        );
        for _ in 0..3 {
            let (is_well, fields, visit) = said("look");
            assert!(is_well && fields == 0, "{what}");
            assert_eq!(body(&visit), "_G lighty nillook nilnilniltrue", "{what}");
        }
    }
}

/// Runs each of some scripts twice. These scripts do not use the table of globals.
#[test]
fn a_global_is_gone_for_the_next_run() {
    let mut bench = Bench::new();
    for leaving in [
        "left = 1",
        "local function deep() return function() return function() left = 1 end end end deep()()()",
        "function left() end",
        "for _, name in ipairs { 'a', 'b' } do if name == 'b' then left = name end end",
        "lighty = setmetatable({}, { __index = lighty, __newindex = lighty, __eq = function() return true end })",
        "lighty = nil",
        "load('left = 1')()",
        "local run = loadstring run('left = 1')()",
        "rawset(_G, 'left', 1)",
        "coroutine.wrap(function() left = 1 end)()",
        "pcall(function() left = 1 end)",
        "table.insert({}, 1) lighty.left = 1",
        "rawset(lighty, 'left', 1) rawset(lighty, 'header', nil)",
        "table.insert(lighty, 1)",
        "for i = 1, 500 do lighty['left' .. i] = i end lighty.left = 1",
        "lighty.header = setmetatable({}, { __index = { left = 1 }, __eq = function() return true end })",
        "setmetatable(lighty.header, { __index = { left = 1 }, __newindex = function() end })",
    ] {
        let source = format!(
            "local look = {{ type(left), type(lighty), type(lighty and lighty.left), type(lighty and lighty[1]),
                type(lighty and lighty.header and lighty.header.left) }}
            local mine = lighty
            mine.r.resp_body.set(table.concat(look, ' '))
            {leaving}"
        );
        std::fs::write(bench.file("left.lua"), source).expect("written");
        bench.now += Duration::from_secs(2);
        for _ in 0..4 {
            let run = bench
                .edge
                .start(&bench.file("left.lua"), bench.now, LIMITS, Bench::visit());
            let mut run = run.expect("started");
            let step = run.step(None);
            assert!(matches!(step, Step::Done(Ok(_))), "{leaving}: {step:?}");
            let said = body(&run.into_visit());
            assert_eq!(said, "nil table nil nil nil", "{leaving}");
        }
    }
}

/// Values borrowed from the request of one run are absent in the next run.
#[test]
fn each_run_sees_the_values_of_its_own_request() {
    use mehari_edge::{Source, Visit};
    use std::borrow::Cow;
    struct FixedSource(&'static str);
    impl Source for FixedSource {
        fn attribute(&self, attribute: Attribute) -> Option<Cow<'_, [u8]>> {
            let is_method = attribute == Attribute::RequestMethod;
            (!is_method).then(|| format!("{}:{attribute:?}", self.0).into_bytes().into())
        }
        fn fields(&self, tell: &mut dyn FnMut(&[u8], &[u8])) {
            tell(b"Host", self.0.as_bytes());
        }
        fn variables(&self, tell: &mut dyn FnMut(&[u8], &[u8])) {
            tell(b"FROM", self.0.as_bytes());
        }
        fn body(&self) -> Option<&[u8]> {
            Some(self.0.as_bytes())
        }
    }
    let mut bench = Bench::new();
    let source = "
        local first = lighty.env['uri.path']
        if SLOW then for i = 1, 60000 do end end
        local r = lighty.r
        local said = { first, lighty.env['uri.query'], tostring(lighty.env['request.method']), r.req_header.host,
            r.req_env.FROM, r.req_env.HTTP_HOST, r.req_env.REMOTE_ADDR, r.req_body.get(), r.req_body.len() }
        lighty.content = { table.concat(said, ' ') }
        return 200";
    std::fs::write(bench.file("quick.lua"), source).expect("written");
    let slow = source.replace("SLOW", "true");
    std::fs::write(bench.file("slow.lua"), slow).expect("written");
    bench.now += Duration::from_secs(2);
    let mut visit = Box::new(Visit::default());
    for (file, name) in [
        ("quick.lua", "one"),
        ("quick.lua", "two"),
        ("slow.lua", "three"),
    ] {
        visit.reset(mehari_edge::Stage::RawUrl);
        let run = bench
            .edge
            .start(&bench.file(file), bench.now, LIMITS, visit);
        let mut run = run.expect("started");
        let mut step = run.step(Some(&FixedSource(name)));
        while matches!(step, Step::Again) {
            // The source may be gone after the first step.
            step = run.step(None);
        }
        assert!(
            matches!(step, Step::Done(Ok(ScriptDecision::Answer(200)))),
            "{name}: {step:?}"
        );
        visit = run.into_visit();
        let expected =
            format!("{name}:UriPath {name}:UriQuery nil {name} {name} {name} {name}:RemoteAddress {name} {}", name.len());
        assert_eq!(body(&visit), expected);
    }
}
