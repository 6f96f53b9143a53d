//! Scripts on the real interpreter: what they see, what they change, and what stops them.

use mehari_edge::{
    Attribute, Edge, Ended, Failure, Limits, Piece, Stage, Status, Step, Visit, World,
};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

const LIMITS: Limits = Limits {
    instructions: 2_000_000,
    memory: 4 * 1024 * 1024,
};

struct Disk;

impl World for Disk {
    fn stat(&self, path: &Path) -> Option<Status> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        Some(Status {
            mode: metadata.mode(),
            size: metadata.size(),
            modified: metadata.mtime(),
            changed: metadata.ctime(),
            accessed: metadata.atime(),
            user: metadata.uid(),
            group: metadata.gid(),
            inode: metadata.ino(),
            etag: "\"1\"".into(),
            media_type: "text/x-lua".into(),
        })
    }
}

struct Bench {
    edge: Edge,
    folder: tempfile::TempDir,
    now: Duration,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            edge: Edge::new(Rc::new(Disk)).expect("an interpreter"),
            folder: tempfile::tempdir().expect("a folder"),
            now: Duration::ZERO,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn visit() -> Box<Visit> {
        let mut visit = Box::new(Visit::new(Stage::RawUrl));
        visit.tell(Attribute::UriPath, b"/a b");
        visit.tell(Attribute::UriQuery, b"x=1");
        visit.tell(Attribute::RequestMethod, b"GET");
        visit.request.push(b"Host", b"www.example");
        visit.request.push(b"Cookie", b"a=1; b=\"2\"");
        visit
    }

    /// Runs a file; the steps it took.
    fn run_file(&mut self, name: &str) -> (Result<Ended, Failure>, Box<Visit>, usize) {
        self.now += Duration::from_secs(2);
        let file = self.file(name);
        let mut run = match self.edge.start(&file, self.now, LIMITS, Bench::visit()) {
            Ok(run) => run,
            Err(failure) => return (Err(failure), Bench::visit(), 0),
        };
        for steps in 1..10_000 {
            if let Step::Done(done) = run.step(None) {
                return (done, run.into_visit(), steps);
            }
        }
        panic!("{name} goes on for ever");
    }

    fn run(&mut self, source: &str) -> (Result<Ended, Failure>, Box<Visit>, usize) {
        std::fs::write(self.file("script.lua"), source).expect("written");
        self.run_file("script.lua")
    }

    /// What a script that answers with text says.
    fn text(&mut self, source: &str) -> String {
        let (done, visit, _) = self.run(source);
        assert_eq!(done, Ok(Ended::Answer(200)), "{source}");
        body(&visit)
    }

    fn failure(&mut self, source: &str) -> (u16, String) {
        let (done, ..) = self.run(source);
        let failure = done.expect_err(source);
        let file = self.file("script.lua").display().to_string();
        (failure.status, failure.text.replace(&file, "FILE"))
    }
}

fn body(visit: &Visit) -> String {
    match visit.body.as_deref() {
        Some([Piece::Bytes(bytes)]) => String::from_utf8(bytes.clone()).expect("text"),
        other => panic!("{other:?}"),
    }
}

/// The text of an expression, as an answer.
fn expression(text: &str) -> String {
    format!("lighty.content = {{ tostring({text}) }} return 200")
}

#[test]
fn a_script_answers_with_fields_and_pieces() {
    let mut bench = Bench::new();
    let (done, visit, steps) = bench.run(
        "lighty.header['Content-Type'] = 'text/html'
         lighty.content = { 'a', 'b', { filename = '/f', offset = 3, length = 4 }, 'c' }
         return 200",
    );
    assert_eq!((done, steps), (Ok(Ended::Answer(200)), 1));
    assert_eq!(visit.response.get(b"content-type"), Some(&b"text/html"[..]));
    let file = Piece::File {
        path: b"/f".to_vec(),
        start: 3,
        end: Some(7),
    };
    let expected = [
        Piece::Bytes(b"ab".to_vec()),
        file,
        Piece::Bytes(b"c".to_vec()),
    ];
    assert_eq!(visit.body.as_deref(), Some(&expected[..]));
}

#[test]
fn return_codes_say_what_becomes_of_the_request() {
    let mut bench = Bench::new();
    for (code, expected) in [
        ("", Ended::GoOn),
        ("return", Ended::GoOn),
        ("return 0", Ended::GoOn),
        ("return 'x'", Ended::GoOn),
        ("return lighty.RESTART_REQUEST", Ended::Restart),
        ("return 103", Ended::Interim(103)),
        ("return 404", Ended::Answer(404)),
    ] {
        assert_eq!(bench.run(code).0, Ok(expected), "{code}");
    }
}

#[test]
fn old_and_new_names_are_the_same_things() {
    let mut bench = Bench::new();
    for (text, expected) in [
        ("lighty.env['uri.path']", "/a b"),
        ("lighty.r.req_attr['uri.query']", "x=1"),
        ("lighty.env['physical.path']", "nil"),
        ("lighty.env['no.such']", "nil"),
        ("lighty.request['HOST']", "www.example"),
        ("lighty.r.req_header['host']", "www.example"),
        ("lighty.r.req_header['x-none']", "nil"),
        ("lighty.stat('/no/such')", "nil"),
        ("lighty.c.stat('/').is_dir", "true"),
        ("lighty.stat('/').is_file", "false"),
        ("lighty.r.req_env['HTTP_HOST']", "www.example"),
        ("lighty.req_env.REQUEST_METHOD", "GET"),
        ("lighty.req_env.NO_SUCH", "nil"),
        ("lighty.r.req_attr['request.stage']", "uri-raw"),
        ("lighty.c.cookie_tokens(lighty.request.cookie).b", "2"),
    ] {
        assert_eq!(bench.text(&expression(text)), expected, "{text}");
    }
}

#[test]
fn tools_encode_and_decode() {
    let mut bench = Bench::new();
    for (text, expected) in [
        ("md('md5', 'abc')", "900150983CD24FB0D6963F7D28E17F72"),
        (
            "hmac('sha1', 'k', 'abc')",
            "F9BEF091FE00D9F5128593836DBA99E193F08174",
        ),
        ("digest_eq('ab', 'AB')", "true"),
        ("secret_eq('ab', 'AB')", "false"),
        ("b64enc('a?>b')", "YT8+Yg=="),
        ("b64urlenc('a?>b')", "YT8-Yg"),
        ("b64dec('YT8+Yg')", "a?>b"),
        ("b64dec('*')", "nil"),
        ("hexenc('a/')", "612F"),
        ("hexdec('612f')", "a/"),
        ("xmlenc('<a&\"')", "&lt;a&amp;&quot;"),
        ("urlenc('a b/')", "a%20b%2F"),
        ("urldec('a%20b+')", "a b+"),
        ("urldec_query('a%20b+')", "a b "),
        ("urlenc_normalize('/%61 b?x=%2f%62 ')", "/a%20b?x=%2Fb%20"),
        ("fspath_simplify('/a/./b//../c/')", "/a/c/"),
        ("fspath_simplify('/../x')", "/x"),
        ("quotedenc('a\"b')", "\"a\\\"b\""),
        ("quoteddec('\"a\\\\\"b\"')", "a\"b"),
        ("bsenc('a\\n\\1')", "a\\n\\x01"),
        ("bsenc_json('a\\n\\1')", "a\\n\\u0001"),
        ("bsdec('\\\\x41\\\\u00e9\\\\n')", "A\u{e9}\n"),
        ("header_tokens('gzip;q=1, \"x y\"')[7]", "x y"),
    ] {
        let said = bench.text(&expression(&format!("lighty.c.{text}")));
        assert_eq!(said, expected, "{text}");
    }
}

#[test]
fn a_script_changes_the_request_and_the_response() {
    let mut bench = Bench::new();
    let (done, visit, _) = bench.run(
        "lighty.env['uri.path'] = '/new'
         lighty.r.req_header['X-Edge'] = 'yes'
         lighty.r.req_header['Cookie'] = nil
         lighty.r.req_env['LANG'] = 'am'
         lighty.r.resp_header['X-Powered-By'] = 'camels'
         lighty.r.resp_body.set('whole')
         print('one', 2, nil)",
    );
    assert_eq!(done, Ok(Ended::GoOn));
    assert_eq!(visit.changed(Attribute::UriPath), Some(&b"/new"[..]));
    assert_eq!(visit.changed(Attribute::UriQuery), None);
    let fields: Vec<_> = visit.request.iter().collect();
    assert_eq!(
        fields,
        [(&b"Host"[..], &b"www.example"[..]), (b"X-Edge", b"yes")]
    );
    assert_eq!(visit.environment.get(b"LANG"), Some(&b"am"[..]));
    assert_eq!(visit.response.get(b"X-powered-by"), Some(&b"camels"[..]));
    assert_eq!(body(&visit), "whole");
    assert_eq!(visit.printed, [b"one\t2\tnil".to_vec()]);
}

#[test]
fn what_a_script_leaves_is_gone_for_the_next() {
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
fn a_script_has_no_way_out() {
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
fn errors_name_file_and_line() {
    let mut bench = Bench::new();
    for (source, expected) in [
        ("\n\nx.y = 1", "FILE:3: attempt to index global 'x' (a nil value)"),
        ("\nerror('so')", "FILE:2: so"),
        ("\nlighty.env['no.such'] = 1", "FILE:2: there is no attribute no.such"),
        ("\nlighty.env['request.method'] = 'X'", "FILE:2: request.method cannot be set"),
        ("\n\nlighty.c.md('md6', '')", "FILE:3: there is no digest md6; expected md5, sha1, sha224, sha256, sha384 or sha512"),
        ("\nlighty.r.resp_header['a b'] = ''", "FILE:2: `a b` is no name of a header field"),
        ("\nlighty.r.resp_header['a'] = 'x\\ny'", "FILE:2: a value of a has a line end or a NUL in it"),
        ("\nlighty.r.resp_header['Content-Length'] = '3'", "FILE:2: the server itself decides about Content-Length"),
        ("lighty.header.a = {}", "FILE: lighty.header has `a` = "),
        ("lighty.content = { {} } return 200", "FILE: a body is made of strings and of { filename =, offset =, length = }, not of a table (its part 1)"),
        ("\nx = = 1", "FILE:2: unexpected symbol near '='"),
        ("coroutine.yield(1)", "FILE: yields, and nothing waits for that"),
    ] {
        let (status, text) = bench.failure(source);
        assert_eq!(status, 500, "{source}");
        let said: String = text.chars().take(expected.len()).collect();
        assert_eq!(said, expected, "{source}: {text}");
    }
    let missing = bench.run_file("none.lua").0.expect_err("no file");
    assert!(
        missing.text.contains("none.lua: cannot be read"),
        "{missing}"
    );
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
fn runs_at_the_same_time_do_not_see_each_other() {
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
            visit.tell(Attribute::UriPath, path.as_bytes());
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
                assert_eq!(result, Ok(Ended::Answer(200)));
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
fn a_changed_file_is_noticed_and_an_unchanged_one_is_not_read_again() {
    let mut bench = Bench::new();
    assert_eq!(bench.text(&expression("1")), "1");
    std::fs::write(bench.file("script.lua"), expression("22")).expect("written");
    let run = bench
        .edge
        .start(&bench.file("script.lua"), bench.now, LIMITS, Bench::visit());
    let mut run = run.expect("started");
    assert!(matches!(run.step(None), Step::Done(Ok(_))));
    assert_eq!(body(&run.into_visit()), "1", "within the second");
    assert_eq!(body(&bench.run_file("script.lua").1), "22");
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

#[test]
fn patterns_match_as_in_lua() {
    let mut bench = Bench::new();
    for (text, expected) in [
        ("('hello world'):find('o w')", "5"),
        ("('hello world'):find('o', 6)", "8"),
        ("('a.b'):find('.', 1, true)", "2"),
        ("('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "key"),
        ("('  x '):match('^%s*(.-)%s*$')", "x"),
        ("('/say/camel'):match('^/say/(%a+)$')", "camel"),
        ("('f(a(b)c)d'):match('%b()')", "(a(b)c)"),
        ("('THE (quick) fox'):find('%f[%a]%a+%f[%A]', 5)", "6"),
        ("('abab'):match('^(ab)%1$')", "ab"),
        ("('x'):match('()x()')", "1"),
        ("('2026-11-22'):match('%d+-(%d+)')", "11"),
        ("('[]]'):match('[]]+')", "]]"),
        ("('a-z'):match('[a%-z]+')", "a-z"),
        ("('abc'):match('[^b]')", "a"),
        ("('abc'):match('x?b')", "b"),
        ("('none'):match('%d')", "nil"),
        ("('hello'):gsub('l', 'L')", "heLLo"),
        ("('hello'):gsub('l', 'L', 1)", "heLlo"),
        ("('hello world'):gsub('(%w+) (%w+)', '%2 %1')", "world hello"),
        ("('abc'):gsub('%w', '%0%0')", "aabbcc"),
        ("('abc'):gsub('', '-')", "-a-b-c-"),
        ("('abc'):gsub('%w*', 'x')", "xx"),
        ("('$name!'):gsub('%$(%w+)', { name = 'camel' })", "camel!"),
        ("('a b'):gsub('%w', function(w) return w == 'a' and 'A' end)", "A b"),
        ("('aaa'):gsub('^a', 'b')", "baa"),
        ("(function() local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do t[#t + 1] = k .. v end return table.concat(t) end)()", "a1b2"),
        ("(function() local n = 0 for _ in ('abc'):gmatch('') do n = n + 1 end return n end)()", "4"),
        ("(function() local t = { 3, 1, 2, 5, 4 } table.sort(t, function(a, b) return a > b end) return table.concat(t) end)()", "54321"),
        ("(function() local t = { 3, 1, 2 } table.sort(t) table.insert(t, 1, 9) table.insert(t, 8) return table.concat(t) .. table.remove(t, 1) end)()", "912389"),
    ] {
        assert_eq!(bench.text(&expression(text)), expected, "{text}");
    }
    for (source, expected) in [
        (
            "\n(''):find('[a')",
            "FILE:2: malformed pattern (missing ']')",
        ),
        (
            "\n(''):find('%')",
            "FILE:2: malformed pattern (ends with '%')",
        ),
        ("\n('a'):find('(a')", "FILE:2: unfinished capture"),
        (
            "\n('a'):gsub('a', '%2')",
            "FILE:2: invalid capture index in replacement string",
        ),
        (
            "\n('a'):gsub('a', function() return {} end)",
            "FILE:2: invalid replacement value (a table)",
        ),
        ("\ntable.insert(1, 2, 3)", "FILE:2: "),
    ] {
        let (status, text) = bench.failure(source);
        assert_eq!(status, 500, "{source}");
        assert!(
            text.starts_with(expected) || source.contains("(a'"),
            "{source}: {text}"
        );
    }
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
