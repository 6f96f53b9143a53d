//! Tests edge Lua: scripts that run before, in place of or after the handlers, and do not disturb
//! other requests.

#[path = "lua/bodies.rs"]
mod bodies;
#[path = "lua/stat.rs"]
mod stat;
#[path = "lua/together.rs"]
mod together;

use mehari_harness::scripts::{let_go, plain, simple, until_let_go};
use mehari_harness::{eventually, processes, Builder, Request, PATIENCE};
use std::time::Duration;

/// Returns a site whose Lua scripts are files in the folder `lua`.
fn site(conf: &str, scripts: &[(&str, &str)]) -> Builder {
    let builder = simple(2).conf(conf);
    scripts.iter().fold(builder, |builder, (name, text)| {
        builder.file(&format!("lua/{name}.lua"), text)
    })
}

#[test]
fn cached_page_is_answered_at_the_edge_while_it_is_fresh_and_by_perl_after() {
    let decide = r#"
        local page = lighty.env["physical.doc-root"] .. "/cache" .. lighty.env["uri.path"] .. ".html"
        local known = lighty.stat(page)
        if known and known.st_mtime + 60 > lighty.c.time() then
            lighty.header["Content-Type"] = "text/html"
            lighty.header["X-Cache"] = "hit"
            lighty.content = { { filename = page } }
            return 200
        end
        lighty.header["X-Cache"] = "miss"
    "#;
    let server = site(
        "<Location /registry>\nLuaAttractPhysicalPath lua/decide.lua\n</Location>\n",
        &[("decide", decide)],
    )
    .file("htdocs/cache/registry/hello.pl.html", "<p>kept</p>\n")
    .start();
    let kept = server.get("/registry/hello.pl");
    assert_eq!(kept.expect(200), "<p>kept</p>\n");
    assert_eq!(kept.field("content-type").as_deref(), Some("text/html"));
    assert_eq!(kept.field("x-cache").as_deref(), Some("hit"));
    assert_eq!(kept.field("content-length").as_deref(), Some("12"));
    let made = server.get("/registry/pid.pl");
    made.expect(200);
    assert_eq!(made.field("x-cache").as_deref(), Some("miss"));
}

#[test]
fn url_is_rewritten_before_it_is_mapped_and_after() {
    let raw = r#"
        local name = lighty.env["uri.path"]:match("^/say/(%a+)$")
        if name then
            lighty.env["uri.path"] = "/registry/says.pl"
            lighty.env["uri.query"] = "name=" .. name
        elseif lighty.env["uri.path"] == "/again" then
            lighty.env["request.uri"] = "/say/again"
            return lighty.RESTART_REQUEST
        end
    "#;
    // Users of lighttpd write such code for programs with a single entry script.
    let entrance = r#"
        if not lighty.stat(lighty.env["physical.path"]) then
            lighty.env["uri.path"] = "/registry/says.pl"
            lighty.env["uri.query"] = "name=" .. lighty.c.urlenc(lighty.env["request.uri"])
            lighty.env["physical.rel-path"] = lighty.env["uri.path"]
            lighty.env["physical.path"] = lighty.env["physical.doc-root"] .. "/../scripts/says.pl"
        end
    "#;
    let server = site(
        "LuaAttractRawURL lua/raw.lua\n<Location /shop>\nLuaAttractPhysicalPath lua/entrance.lua\n</Location>\n",
        &[("raw", raw), ("entrance", entrance)],
    )
    .file(
        "scripts/says.pl",
        &plain("print join '|', map { $ENV{$_} // '' } qw(SCRIPT_NAME QUERY_STRING REQUEST_URI);"),
    )
    .file("htdocs/shop/real.txt", "a file")
    .start();
    for (target, said) in [
        ("/say/camel", "/registry/says.pl|name=camel|/say/camel"),
        ("/again", "/registry/says.pl|name=again|/again"),
        (
            "/shop/no/such?x",
            "/registry/says.pl|name=/shop/no/such%3Fx|/shop/no/such?x",
        ),
        ("/shop/real.txt", "a file"),
        ("/registry/hello.pl", "Hello"),
    ] {
        assert_eq!(server.get(target).expect(200), said, "{target}");
    }
}

#[test]
fn header_rules_see_the_request_and_the_response() {
    let before = r#"
        lighty.r.req_header["X-Asked"] = "at the edge"
        lighty.r.req_env["FROM_EDGE"] = "yes"
        lighty.header["X-Robots"] = "none"
    "#;
    let behind = r#"
        local header = lighty.r.resp_header
        header["X-Seen"] = lighty.r.req_item.http_status .. " " .. (header["Content-Type"] or "-")
        header["X-Powered-By"] = nil
        header["Set-Cookie"] = "two=2"
        if lighty.r.req_attr["uri.path"] == "/page.txt" then return 203 end
        if lighty.r.req_attr["uri.query"] == "instead" then lighty.r.resp_body.set("instead") end
    "#;
    let script = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\nX-Powered-By: perl\\nSet-Cookie: one=1\\n\\n\";\n\
        print \"$ENV{HTTP_X_ASKED} $ENV{FROM_EDGE}\";\n";
    let server = site(
        "LuaAttractRawURL lua/before.lua\nLuaAttractResponse lua/behind.lua\n",
        &[("before", before), ("behind", behind)],
    )
    .file("scripts/asked.pl", script)
    .file("htdocs/page.txt", "page\n")
    .start();
    let made = server.get("/registry/asked.pl");
    assert_eq!(made.expect(200), "at the edge yes");
    assert_eq!(made.field("x-seen").as_deref(), Some("200 text/plain"));
    assert_eq!(made.field("x-robots").as_deref(), Some("none"));
    assert_eq!(made.field("x-powered-by"), None);
    assert_eq!(made.all("set-cookie"), ["one=1", "two=2"]);
    assert_eq!(
        server.get("/registry/asked.pl?instead").expect(200),
        "instead"
    );
    let file = server.get("/page.txt");
    assert_eq!(file.expect(203), "page\n");
    assert_eq!(file.field("x-seen").as_deref(), Some("200 text/plain"));
    let missing = server.get("/missing");
    missing.expect(404);
    assert!(missing
        .field("x-seen")
        .is_some_and(|seen| seen.starts_with("404")));
}

/// If a response script fails, the client gets the error page and nothing of the handler's output.
#[test]
fn an_error_of_a_response_script_is_answered_with_its_page() {
    let server = site(
        "LuaAttractResponse lua/refuse.lua\n",
        &[("refuse", "if lighty.r.req_attr['uri.query'] then lighty.r.resp_header['X-Why'] = 'no' return 403 end")],
    )
    .file("htdocs/page.txt", "secret\n")
    .start();
    for page in ["/page.txt?", "/registry/hello.pl?", "/missing?"] {
        let answer = server.get(&format!("{page}refused"));
        assert_eq!(answer.status, 403, "{page}");
        assert_eq!(answer.field("x-why").as_deref(), Some("no"), "{page}");
    }
    for page in ["/page.txt", "/registry/hello.pl"] {
        let refused = server.get(&format!("{page}?refused"));
        assert!(refused.text().contains("<title>403 "), "{}", refused.text());
        assert_eq!(
            refused.all("content-type"),
            ["text/html; charset=utf-8"],
            "{page}"
        );
        assert_eq!(refused.field("etag"), None, "{page}");
        assert!(!server.get(page).expect(200).contains("403"), "{page}");
    }
}

#[test]
fn failing_script_fails_only_its_request_and_the_log_says_where() {
    let server = site(
        "LuaInstructionLimit 100000000\nLuaMemoryLimit 1000000\n\
         <Location /error>\nLuaAttractPhysicalPath lua/error.lua\n</Location>\n\
         <Location /syntax>\nLuaAttractPhysicalPath lua/syntax.lua\n</Location>\n\
         <Location /missing>\nLuaAttractPhysicalPath lua/none.lua\n</Location>\n\
         <Location /memory>\nLuaAttractPhysicalPath lua/memory.lua\n</Location>\n\
         <Location /restart>\nLuaAttractPhysicalPath lua/restart.lua\n</Location>\n\
         <Location /response>\nLuaAttractResponse lua/error.lua\n</Location>\n",
        &[
            ("error", "local x\n\nreturn x.y\n"),
            ("syntax", "\nif then"),
            ("memory", "local t = {} while true do t[#t + 1] = {} end"),
            ("restart", "return lighty.RESTART_REQUEST"),
        ],
    )
    .start();
    for (target, status, line) in [
        (
            "/error",
            500,
            "/lua/error.lua:3: attempt to index local 'x' (a nil value)",
        ),
        (
            "/syntax",
            500,
            "/lua/syntax.lua:2: unexpected symbol near 'then'",
        ),
        (
            "/missing",
            500,
            "/lua/none.lua: cannot be read: No such file",
        ),
        (
            "/memory",
            503,
            "/lua/memory.lua: took more than LuaMemoryLimit allows",
        ),
        ("/restart", 500, "/restart: restarted by scripts too often"),
        ("/response", 500, "/lua/error.lua:3: "),
    ] {
        let before = server.log.count(line);
        assert_eq!(server.get(target).status, status, "{target}");
        let told = eventually(PATIENCE, || server.log.count(line) > before);
        assert!(told, "{target}: {}", server.log.text());
        assert_eq!(server.log.count(line), before + 1, "{target}: one line");
    }
    assert_eq!(server.get("/registry/hello.pl").expect(200), "Hello");
}

#[test]
fn loop_of_one_request_does_not_hold_up_others() {
    let server = site(
        "LuaInstructionLimit 40000000\n<Location /loop>\nLuaAttractPhysicalPath lua/loop.lua\n</Location>\n",
        &[("loop", "while true do pcall(function() while true do end end) end")],
    )
    .file("htdocs/page.txt", "page")
    .start();
    let mut looping = server.connect();
    looping.patience(Duration::from_secs(60));
    looping.write(&Request::get("/loop").bytes());
    let mut connection = server.connect();
    let mut answered = 0;
    while server.log.count("LuaInstructionLimit") == 0 {
        connection
            .send(&Request::get("/page.txt"))
            .expect("an answer")
            .expect(200);
        answered += 1;
    }
    looping.read_answer("GET").expect("an answer").expect(503);
    // If the front waited for the loop, only one or two requests would be answered. The exact
    // number depends on the machine.
    assert!(answered > 4, "{answered} answers meanwhile");
}

#[test]
fn changed_script_is_noticed() {
    let server = site("LuaAttractRawURL lua/says.lua\n", &[("says", SAYS_ONE)]).start();
    assert_eq!(server.get("/").expect(200), "one");
    server
        .site
        .replace("lua/says.lua", &SAYS_ONE.replace("one", "two"));
    let noticed = eventually(PATIENCE, || server.get("/").text() == "two");
    assert!(noticed);
}

const SAYS_ONE: &str = "lighty.content = { 'one' } return 200\n";

#[test]
fn scripts_of_a_host_are_its_own_and_files_are_sent_in_pieces() {
    let pieces = r#"
        local root = lighty.env["physical.doc-root"]
        lighty.content = {
            "<", { filename = root .. "/digits.txt", offset = 2, length = 3 }, "|",
            { filename = root .. "/digits.txt" }, ">",
        }
        lighty.header["Content-Type"] = "text/plain"
        return 200
    "#;
    let server = site(
        "LuaAttractRawURL lua/says.lua\n\
         <VirtualHost *>\nServerName quiet.example\nLuaAttractRawURL None\nDocumentRoot @ROOT@/htdocs\n</VirtualHost>\n\
         <VirtualHost *>\nServerName pieces.example\nLuaAttractRawURL lua/pieces.lua\nDocumentRoot @ROOT@/htdocs\n</VirtualHost>\n\
         <VirtualHost *>\nServerName lost.example\nLuaAttractRawURL lua/lost.lua\nDocumentRoot @ROOT@/htdocs\n</VirtualHost>\n\
         <VirtualHost *>\nServerName same.example\nDocumentRoot @ROOT@/htdocs\n</VirtualHost>\n",
        &[
            ("says", SAYS_ONE),
            ("pieces", pieces),
            ("lost", "lighty.content = { { filename = '/no/such/file' } } return 200"),
        ],
    )
    .file("htdocs/digits.txt", "0123456789")
    .start();
    let ask = |host: &str| {
        let mut request = Request::get("/digits.txt");
        request.fields.retain(|(name, _)| name != "Host");
        let request = request.field("Host", host);
        let mut connection = server.connect();
        connection.send(&request).expect("an answer")
    };
    assert_eq!(ask("quiet.example").expect(200), "0123456789");
    assert_eq!(ask("pieces.example").expect(200), "<234|0123456789>");
    assert_eq!(ask("same.example").expect(200), "one");
    ask("lost.example").expect(404);
    server
        .log
        .expect("/no/such/file: the file that a script sends cannot be read");
}

#[test]
fn pool_runs_scripts_that_may_block_in_processes_of_their_own() {
    let sleeps = format!(
        "root = lighty.env['physical.doc-root'] io.open(root .. '/begun', 'w'):close()
        os.execute('root=' .. root .. '; {}') print 'rested'",
        until_let_go("root")
    );
    let mut server = site(
        "LogLevel info\nLuaPoolProcesses 2\nTimeout 2\n<FilesMatch \"\\.lua$\">\nSetHandler lua\n</FilesMatch>\n",
        &[],
    )
    .file("htdocs/hello.lua", "print '123'\n")
    .file(
        "htdocs/all.lua",
        r#"
        _G.served = (_G.served or 0) + 1
        lighty.header["X-Served"] = tostring(_G.served)
        lighty.header["Content-Type"] = "text/plain"
        local file = assert(io.open(lighty.env["physical.doc-root"] .. "/digits.txt"))
        io.write(file:read("*a"), " ", lighty.env["request.method"], " ", lighty.env["uri.path"], " ",
            lighty.env["uri.query"], " ", lighty.request["X-Mine"], " ", lighty.r.req_body.get())
        file:close()
        return 201
        "#,
    )
    .file("htdocs/digits.txt", "0123456789")
    .file("htdocs/cgi.lua", "io.write('Status: 404\\r\\nX-Own: 1\\r\\n\\r\\nnot here')")
    .file("htdocs/error.lua", "\nerror('so')")
    .file("htdocs/loop.lua", "while true do end")
    .file("htdocs/sleep.lua", &sleeps)
    .start();
    let hello = server.get("/hello.lua");
    assert_eq!(hello.expect(200), "123\n");
    assert_eq!(hello.field("content-type").as_deref(), Some("text/html"));
    let asked = Request::post("/all.lua/more?x=1", *b"body").field("X-Mine", "yes");
    let all = server.send(&asked);
    assert_eq!(
        all.expect(201),
        "0123456789 POST /all.lua/more x=1 yes body"
    );
    assert_eq!(all.field("x-served").as_deref(), Some("1"));
    let own = server.get("/cgi.lua");
    assert_eq!(own.expect(404), "not here");
    assert_eq!(own.field("x-own").as_deref(), Some("1"));
    assert_eq!(server.get("/error.lua").status, 500);
    server.log.expect("/error.lua:2: so");
    assert_eq!(server.get("/missing.lua").status, 404);

    let mut sleeping = server.connect();
    sleeping.write(&Request::get("/sleep.lua").bytes());
    let begun = server.site.path("htdocs/begun");
    assert!(eventually(PATIENCE, || begun.exists()));
    // The other process of the pool answers.
    assert_eq!(server.get("/hello.lua").expect(200), "123\n");
    let_go(&server);
    assert_eq!(
        sleeping.read_answer("GET").expect("an answer").expect(200),
        "rested\n"
    );

    server.get("/loop.lua").expect(500);
    server.log.expect("signal: 14");
    assert_eq!(server.get("/hello.lua").expect(200), "123\n");
    // The processes and their kept connections stay.
    server.rebase();
}

#[test]
fn process_of_the_pool_that_cannot_accept_for_a_while_goes_on() {
    let mut server = site(
        "LuaPoolProcesses 1\n<FilesMatch \"\\.lua$\">\nSetHandler lua\n</FilesMatch>\n",
        &[],
    )
    .file("htdocs/hello.lua", "print '123'\n")
    .start();
    let process = || {
        let all = processes::descendants(server.pid()).into_iter();
        let mut pool = all.filter(|one| {
            let words = std::fs::read(format!("/proc/{}/cmdline", one.pid)).unwrap_or_default();
            words.windows(8).any(|word| word == b"lua-pool")
        });
        pool.next()
    };
    // The process sleeps (state S) while it waits for its first connection.
    let is_ready = || process().is_some_and(|one| one.state == 'S');
    assert!(eventually(PATIENCE, is_ready));
    let pid = process().expect("a process of the pool").pid;
    let limit = |current| {
        let pid = rustix::process::Pid::from_raw(pid);
        let limit = rustix::process::Rlimit {
            current: Some(current),
            maximum: Some(1024),
        };
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit).expect("a limit");
    };
    // With this limit, no descriptor is free for a connection.
    limit(3);
    let mut waiting = server.connect();
    waiting.write(&Request::get("/hello.lua").bytes());
    server.log.expect("lua-pool: accepting a connection");
    limit(1024);
    assert!(eventually(PATIENCE, || server.get("/hello.lua").status == 200));
    assert_eq!(
        process().map(|one| one.pid),
        Some(pid),
        "another process took its place"
    );
    drop(waiting);
    server.rebase();
}
