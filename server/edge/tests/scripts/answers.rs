//! Tests what scripts see of a request, and how scripts decide about the request.

use crate::bench::{body, expression, Bench, LIMITS};
use mehari_edge::{Attribute, Piece, ScriptDecision, Step};

#[test]
fn a_script_answers_with_fields_and_pieces() {
    let mut bench = Bench::new();
    let (done, visit, steps) = bench.run(
        "lighty.header['Content-Type'] = 'text/html'
         lighty.content = { 'a', 'b', { filename = '/f', offset = 3, length = 4 }, 'c' }
         return 200",
    );
    assert_eq!((done, steps), (Ok(ScriptDecision::Answer(200)), 1));
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
fn the_return_code_decides_about_the_request() {
    let mut bench = Bench::new();
    for (code, expected) in [
        ("", ScriptDecision::GoOn),
        ("return", ScriptDecision::GoOn),
        ("return 0", ScriptDecision::GoOn),
        ("return lighty.RESTART_REQUEST", ScriptDecision::Restart),
        ("return 103", ScriptDecision::Interim(103)),
        ("return 404", ScriptDecision::Answer(404)),
        ("return '403'", ScriptDecision::Answer(403)),
        ("return nil", ScriptDecision::GoOn),
    ] {
        assert_eq!(bench.run(code).0, Ok(expected), "{code}");
    }
    for code in [
        "'x'", "''", "1000", "-1", "1", "98", "0/0", "1/0", "true", "false", "{}", "print",
    ] {
        let (done, ..) = bench.run(&format!("return {code}"));
        let failure = done.expect_err(code);
        assert_eq!(failure.status, 500, "{code}");
        assert!(
            failure.text.contains("the script returned"),
            "{code}: {}",
            failure.text
        );
    }
}

#[test]
fn old_and_new_names_give_the_same_values() {
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
        ("lighty.c.cookie_tokens(lighty.request.cookie).b", "\"2\""),
    ] {
        assert_eq!(bench.text(&expression(text)), expected, "{text}");
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
    assert_eq!(done, Ok(ScriptDecision::GoOn));
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
fn errors_name_file_and_line() {
    let mut bench = Bench::new();
    for (source, expected) in [
        ("\n\nx.y = 1", "FILE:3: attempt to index global 'x' (a nil value)"),
        ("\nerror('so')", "FILE:2: so"),
        ("\nlighty.env['no.such'] = 1", "FILE:2: there is no attribute no.such"),
        ("\nlighty.env['request.method'] = 'X'", "FILE:2: request.method cannot be set"),
        ("\n\nlighty.c.md('md6', '')", "FILE:3: there is no digest md6; expected md5, sha1, sha224, sha256, sha384 or sha512"),
        ("\nlighty.r.resp_header['a b'] = ''", "FILE:2: `a b` is not the name of a header field"),
        ("\nlighty.r.resp_header['a'] = 'x\\ny'", "FILE:2: a value of a has a line end or a NUL in it"),
        ("\nlighty.r.resp_header['Content-Length'] = '3'", "FILE:2: the server itself decides about Content-Length"),
        ("lighty.header.a = {}", "FILE: lighty.header has `a` = "),
        ("lighty.content = { {} } return 200", "FILE: a body is made of strings and of { filename =, offset =, length = }, not of a table (its part 1)"),
        ("\nx = = 1", "FILE:2: unexpected symbol near '='"),
        ("coroutine.yield(1)", "FILE: yields outside of a coroutine of its own"),
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
fn a_changed_file_is_compiled_again_after_a_second() {
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
