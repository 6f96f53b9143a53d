//! The guide's own example scripts, on every rung, with the answers the guide promises.

use mehari_harness::{against_apache, eventually, Request, Rung, Server, PATIENCE};
use std::time::{Duration, Instant};

const HANDLERS: &str = "\
PerlSwitches -I@ROOT@/scripts/lib
PerlModule Guide::Hello
<Location /hello>
    SetHandler modperl
    PerlResponseHandler Guide::Hello
    Require all granted
</Location>
<Location /dumpenv>
    SetHandler perl-script
    PerlResponseHandler Guide::DumpEnv
    PerlSetEnv GUIDE_PLACE here
    Require all granted
</Location>
<Location /dumpenv-modperl>
    SetHandler modperl
    PerlResponseHandler Guide::DumpEnv
    Require all granted
</Location>
<Location /request>
    SetHandler modperl
    PerlResponseHandler Guide::Request
    Require all granted
</Location>
<Location /outcome>
    SetHandler modperl
    PerlResponseHandler Guide::Outcome
    Require all granted
</Location>
";

/// One worker, so that what it keeps between requests can be seen.
const ONE_WORKER: &str =
    "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n";

fn guide() -> Server {
    Server::builder()
        .fixtures("guide")
        .ladder()
        .conf(HANDLERS)
        .conf(ONE_WORKER)
        .start()
}

/// A script that answers the same on every rung, the first time and the second.
struct Row {
    request: fn(url: String) -> Request,
    script: &'static str,
    content_type: &'static str,
    body: &'static str,
}

fn get(url: String) -> Request {
    Request::get(&url)
}

const HEREDOC: &str = "<HTML>\n<BODY BGCOLOR=\"black\">\n__END__\n<H1>$color</H1>\n\
                       <A HREF=\"foo.html\"> foo </A>\n</BODY>\n  </HTML>\n";

const SAME_EVERYWHERE: &[Row] = &[
    Row { request: get, script: "hello.pl", content_type: "text/plain", body: "Hello" },
    Row { request: get, script: "counter_my.pl", content_type: "text/plain; charset=ISO-8859-1", body: "counted 1\n" },
    Row { request: get, script: "cgi_oo.pl", content_type: "text/html; charset=ISO-8859-1", body: "<b>Hello</b>" },
    Row { request: get, script: "cgi_functions.pl", content_type: "text/html; charset=ISO-8859-1", body: "<b>Hello</b>" },
    Row {
        request: |url| Request::get(&format!("{url}?x=5")),
        script: "cgi_param.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "object 5\nfunction 5\n",
    },
    Row {
        request: |url| Request::get(&format!("{url}?x=six")),
        script: "cgi_param.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "object six\nfunction six\n",
    },
    Row {
        request: |url| Request::get(&format!("{url}?name=Adams&drink=tea&drink=more%20tea")),
        script: "form.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "GET\ndrink => tea, more tea\nname => Adams\n",
    },
    Row {
        request: |url| Request::form(&url, "name=Adams&drink=tea&drink=more+tea"),
        script: "form.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "POST\ndrink => tea, more tea\nname => Adams\n",
    },
    Row {
        request: |url| Request::get(&format!("{url}?a=1&b=two+words")),
        script: "form_by_hand.pl",
        content_type: "text/plain",
        body: "a => 1\nb => two words\n",
    },
    Row {
        request: |url| Request::form(&url, "a=1&b=%41"),
        script: "form_by_hand.pl",
        content_type: "text/plain",
        body: "a => 1\nb => A\n",
    },
    Row { request: get, script: "heredoc.pl", content_type: "text/html", body: HEREDOC },
    Row {
        request: get,
        script: "prints.pl",
        content_type: "text/html",
        body: "<BODY BGCOLOR=\"black\" TEXT=\"white\"><H1>Hello</H1><A HREF=\"foo.html\"> foo </A></BODY>",
    },
    Row {
        request: get,
        script: "fork_wait.pl",
        content_type: "text/plain",
        body: "Parent has finished, the child ended with 3\n",
    },
    Row { request: get, script: "fork_double.pl", content_type: "text/plain", body: "Parent has finished\n" },
];

#[test]
fn scripts_of_the_guide_answer_the_same_on_every_rung() {
    let server = guide();
    for row in SAME_EVERYWHERE {
        for rung in Rung::ALL {
            // mod_perl cuts a script at a line that begins with __END__ wherever it stands.
            if against_apache() && Rung::SHARED.contains(&rung) && row.script == "heredoc.pl" {
                continue;
            }
            for time in 1..=2 {
                let answer = server.send(&(row.request)(rung.url(row.script)));
                let place = format!("{} on {}, time {time}", row.script, rung.name());
                assert_eq!(answer.expect(200), row.body, "{place}");
                assert_eq!(
                    answer.field("content-type").as_deref(),
                    Some(row.content_type),
                    "{place}"
                );
            }
        }
    }
}

fn counts(from: u32) -> String {
    (from..from + 5)
        .map(|count| format!("Counter is equal to {count} !\n"))
        .collect()
}

#[test]
fn counter_in_a_closure_goes_on_counting_under_registry_only() {
    let server = guide();
    for rung in [Rung::Cgi, Rung::Fork, Rung::PerlRun, Rung::Auto] {
        for _ in 0..2 {
            let answer = server.get(&rung.url("counter.pl"));
            assert_eq!(answer.expect(200), counts(1), "{}", rung.name());
        }
    }
    assert_eq!(server.get("/registry/counter.pl").expect(200), counts(1));
    assert_eq!(server.get("/registry/counter.pl").expect(200), counts(6));
}

#[test]
fn compile_warning_of_the_closure_reaches_the_error_log_with_a_hint() {
    let server = guide();
    server.get("/registry/counter.pl").expect(200);
    let line = server.log.expect("will not stay shared");
    assert!(line.contains("counter.pl line 11"), "{line}");
    if !against_apache() {
        server
            .log
            .expect("hint: a named sub keeps the variable of the first request");
    }
}

#[test]
fn global_counter_survives_in_a_worker_under_registry_and_nowhere_else() {
    let server = guide();
    for rung in [Rung::Cgi, Rung::Fork, Rung::PerlRun, Rung::Auto] {
        for _ in 0..2 {
            let answer = server.get(&rung.url("counter_global.pl"));
            assert_eq!(answer.expect(200), "counted 1\n", "{}", rung.name());
        }
    }
    for time in 1..=3 {
        let answer = server.get("/registry/counter_global.pl");
        assert_eq!(answer.expect(200), format!("counted {time}\n"));
    }
}

#[test]
fn first_half_of_a_page_arrives_before_the_lengthy_operation() {
    let server = guide();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        let start = Instant::now();
        connection.write(&Request::get(&rung.url("rflush.pl")).bytes());
        let mut arrived = None;
        while arrived.is_none() {
            assert_ne!(connection.fill().expect("a response"), 0, "{}", rung.name());
            let text = String::from_utf8_lossy(connection.unread()).into_owned();
            assert!(!text.contains("Done!"), "{}: all came at once", rung.name());
            arrived = text.contains("Please wait").then(|| start.elapsed());
        }
        let answer = connection.read_answer("GET").expect("the rest of it");
        assert!(answer.text().ends_with("<p>Done!</p>"), "{}", answer.text());
        assert!(start.elapsed() >= Duration::from_millis(1400));
    }
}

#[test]
fn output_of_a_program_comes_in_its_place() {
    let server = guide();
    for rung in Rung::ALL {
        // Under mod_perl the child's output goes to the terminal of the server.
        if against_apache() && Rung::SHARED.contains(&rung) {
            continue;
        }
        assert_eq!(
            server.get(&rung.url("system.pl")).expect(200),
            "before\nfrom the child\nbetween\nbackticks: captured\nafter\n",
            "{}",
            rung.name()
        );
    }
}

#[test]
fn redirect_of_cgi_pm_keeps_its_cookie() {
    let server = guide();
    for rung in Rung::ALL {
        let answer = server.get(&rung.url("redirect.pl"));
        answer.expect(302);
        let location = answer.field("location");
        assert_eq!(
            location.as_deref(),
            Some("http://www.example.com/elsewhere")
        );
        let cookie = answer.field("set-cookie");
        assert_eq!(
            cookie.as_deref(),
            Some("seen=yes; path=/"),
            "{}",
            rung.name()
        );
    }
}

const UPLOAD: &str = "--edge\r\n\
    Content-Disposition: form-data; name=\"comment\"\r\n\r\nwith a word\r\n\
    --edge\r\n\
    Content-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n\
    Content-Type: text/plain\r\n\r\n";

#[test]
fn uploaded_file_arrives_whole() {
    let server = guide();
    // Small enough for a mailbox, larger than it, and larger than the front keeps in memory.
    for (size, digest) in [
        (5, "594f803b380a41396ed63dca39503542"),
        (50_000, "dfe4d5abf952e250a36e86fa8acb888d"),
        (3_000_000, "99ddc9a3a46ea62c95652bdf937a1fb8"),
    ] {
        for rung in Rung::ALL {
            let mut body = UPLOAD.as_bytes().to_vec();
            body.extend(std::iter::repeat_n(b'a', size));
            body.extend_from_slice(b"\r\n--edge--\r\n");
            let request = Request::post(&rung.url("upload.pl"), body)
                .field("Content-Type", "multipart/form-data; boundary=edge");
            let expected = format!("notes.txt text/plain {size} {digest}\ncomment with a word\n");
            assert_eq!(
                server.send(&request).expect(200),
                expected,
                "{}",
                rung.name()
            );
        }
    }
}

#[test]
fn detached_child_outlives_the_request_and_finishes() {
    let server = guide();
    for script in ["fork_setsid.pl", "fork_exec.pl"] {
        for rung in Rung::ALL {
            let name = format!("logs/{script}.{}", rung.name());
            let log = server.site.path(&name);
            let url = format!("{}?log={}", rung.url(script), log.display());
            let answer = server.get(&url);
            assert_eq!(
                answer.expect(200),
                "Parent has finished\n",
                "{}",
                rung.name()
            );
            let done = eventually(PATIENCE, || {
                server.site.read(&name).ends_with("completed\n")
            });
            let text = server.site.read(&name);
            assert!(done, "{script} on {}: {text:?}", rung.name());
            assert_eq!(text, "started\n1\n2\n3\n4\n5\ncompleted\n");
        }
    }
}

#[test]
fn printenv_shows_cgi_variables_on_every_rung() {
    let server = guide();
    for rung in Rung::ALL {
        let request = Request::get(&format!("{}/extra/path?a=b%20c", rung.url("printenv.pl")))
            .field("User-Agent", "harness")
            .field("X-Two-Words", "yes");
        let text = server.send(&request).expect(200);
        let script = server.site.path("scripts/printenv.pl");
        for line in [
            "GATEWAY_INTERFACE => CGI/1.1",
            "REQUEST_METHOD => GET",
            "QUERY_STRING => a=b%20c",
            "SERVER_PROTOCOL => HTTP/1.1",
            "SERVER_NAME => 127.0.0.1",
            "REMOTE_ADDR => 127.0.0.1",
            "PATH_INFO => /extra/path",
            "HTTP_USER_AGENT => harness",
            "HTTP_X_TWO_WORDS => yes",
            &format!("SERVER_PORT => {}", server.port()),
            &format!("SCRIPT_NAME => {}", rung.url("printenv.pl")),
            &format!("SCRIPT_FILENAME => {}", script.display()),
            &format!(
                "REQUEST_URI => {}/extra/path?a=b%20c",
                rung.url("printenv.pl")
            ),
        ] {
            let found = text.lines().any(|other| other == line);
            assert!(found, "{}: no line {line:?} in\n{text}", rung.name());
        }
        assert!(!text.contains("CONTENT_LENGTH"), "{}", rung.name());
        if rung != Rung::Auto {
            promises_api(&text, Rung::SHARED.contains(&rung));
        }
    }
}

#[test]
fn handler_says_hello() {
    let server = guide();
    for _ in 0..2 {
        let answer = server.get("/hello");
        assert_eq!(answer.expect(200), "Hello");
        assert_eq!(answer.field("content-type").as_deref(), Some("text/html"));
    }
}

/// MOD_PERL tells modules such as CGI.pm that mod_perl's API is there: not to a process of its own.
#[track_caller]
fn promises_api(environment: &str, promised: bool) {
    assert_eq!(
        environment.contains("MOD_PERL => mod_perl/2"),
        promised,
        "{environment}"
    );
}

#[test]
fn environment_is_the_request_under_perl_script_and_not_under_modperl() {
    let server = guide();
    let request = |path: &str| Request::get(path).field("X-Mine", "1");
    let text = server.send(&request("/dumpenv?q=1")).expect(200);
    for line in [
        "QUERY_STRING => q=1",
        "HTTP_X_MINE => 1",
        "GUIDE_PLACE => here",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}:\n{text}");
    }
    promises_api(&text, true);
    let text = server.send(&request("/dumpenv-modperl?q=1")).expect(200);
    for name in ["QUERY_STRING", "HTTP_X_MINE", "GUIDE_PLACE"] {
        assert!(!text.contains(name), "{name} leaked:\n{text}");
    }
}

#[test]
fn handler_reads_the_request_and_sets_headers() {
    let server = guide();
    let answer = server.send(&Request::get("/request?a=1").field("X-Asked", "yes"));
    assert_eq!(answer.expect(200), "GET\n/request\na=1\nyes\n0\n");
    assert_eq!(answer.all("x-guide"), ["one", "two"]);
    for size in [0usize, 10, 100_000] {
        let answer = server.send(&Request::post("/request", vec![b'x'; size]));
        assert_eq!(
            answer.expect(200),
            format!("POST\n/request\n-\n-\n{size}\n")
        );
    }
}

#[test]
fn value_of_a_handler_decides_the_status() {
    let server = guide();
    for (query, status) in [
        ("ok", 200),
        ("text", 200),
        ("undefined", 200),
        ("notfound", 404),
        ("forbidden", 403),
        ("status", 201),
        ("dies", 500),
        ("logs", 200),
    ] {
        let answer = server.get(&format!("/outcome?{query}"));
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    server.log.expect("outcome: no way on");
    server.log.expect("outcome: a word for the log");
}

/// A script that tells whether the worker compiled it, or the server before there were workers.
const COMPILED: &str = "use strict;\nour $compiler;\nBEGIN { $compiler = $$ }\nmy $r = shift;\n\
    $r->send_http_header('text/plain');\nprint $compiler == $$ ? 'here' : 'before the fork';\n";

/// The guide's start-up code in `<Perl>` sections: a loader that walks the folder of scripts, a translation handler.
const SECTIONS: &str = "\
PerlModule Apache2::compat
<Perl>
use File::Find qw(finddepth);
use Apache::RegistryLoader ();
my $root = '@ROOT@/';
my $loader = Apache::RegistryLoader->new;
finddepth(sub {
    return unless /\\.pl$/;
    (my $url = \"$File::Find::dir/$_\") =~ s|$root/?|/|;
    my $status = $loader->handler($url);
    die \"$url is not compiled: $status\" unless $status == 200;
}, \"${root}perl/\");
</Perl>
<Perl>
package My::Trans;
use Apache::Constants qw(:common);
sub handler { my $r = shift; return OK if $r->uri() =~ m|^/made|; return DECLINED }
package Apache::ReadConfig;
$PerlTransHandler = 'My::Trans';
</Perl>
<Location /perl>
    SetHandler perl-script
    PerlHandler Apache::Registry
    Options +ExecCGI
</Location>
<Location /made>
    SetHandler perl-script
    PerlHandler 'sub { my $r = shift; $r->send_http_header(\"text/plain\"); $r->print($r->uri); 0 }'
</Location>
Alias /perl/ @ROOT@/perl/
";

#[test]
fn start_up_code_of_the_guide_compiles_scripts_and_translates_paths() {
    let server = Server::builder()
        .file("perl/one.pl", COMPILED)
        .file("perl/below/two.pl", COMPILED)
        .conf(SECTIONS)
        .start();
    for script in ["/perl/one.pl", "/perl/below/two.pl"] {
        assert_eq!(server.get(script).expect(200), "before the fork");
    }
    assert_eq!(server.get("/made/up").expect(200), "/made/up");
}
