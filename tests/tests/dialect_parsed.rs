//! Tests the filter INCLUDES on the responses of programs, Perl handlers and back ends. Each
//! response must equal Apache's.

use mehari_harness::rungs::{ladder, Rung};
use mehari_harness::{apache, eventually, needs, Builder, Pair, Request, Server};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// The elements that the scripts print: they show the variables, and include other paths.
const ELEMENTS: &str = r#"<!--#echo var="DOCUMENT_NAME" --> <!--#echo var="DOCUMENT_URI" --> <!--#echo var="REQUEST_URI" --> <!--#echo var="QUERY_STRING" --> <!--#echo var="SCRIPT_NAME" --> <!--#echo var="PATH_INFO" --> <!--#echo var="REQUEST_METHOD" --> <!--#echo var="NOTHING" --> <!--#echo var="SET" -->
<!--#config timefmt="%Y" --><!--#echo var="LAST_MODIFIED" --> <!--#set var="a" value="b" --><!--#if expr="v('a') == 'b'" -->yes<!--#else -->no<!--#endif -->
[<!--#include virtual="/part.txt" -->] [<!--#include virtual="/part.shtml?x=y" -->] [<!--#include virtual="/none" -->] [<!--#wrong -->]
"#;

/// Scripts, each with its code. `E` stands for the elements.
const SCRIPTS: [(&str, &str); 16] = [
    ("page.pl", "print qq{Content-Type: text/html\\n\\n}, E;"),
    ("plain.pl", "print qq{Content-Type: text/plain\\n\\nno elements\\n};"),
    ("length.pl", "print qq{Content-Type: text/html\\nContent-Length: }, length(E), qq{\\nETag: \"abc\"\\nLast-Modified: Tue, 15 Nov 1994 12:45:26 GMT\\nX-Own: own\\nSet-Cookie: a=b\\n\\n}, E;"),
    ("lost.pl", "print qq{Status: 404 none\\nContent-Type: text/html\\n\\n}, E;"),
    ("made.pl", "print qq{Status: 201 Created\\nContent-Type: text/html\\n\\n}, E;"),
    ("away.pl", "print qq{Location: http://foo.test/<!--#echo var=\\'SET\\' -->\\n\\n};"),
    ("inside.pl", "print qq{Location: /part.txt\\n\\n};"),
    ("empty.pl", "print qq{Content-Type: text/html\\n\\n};"),
    ("slow.pl", "$| = 1; print qq{Content-Type: text/html\\n\\na<!}; select undef, undef, undef, 0.1; print qq{--#echo var='}; select undef, undef, undef, 0.1; print qq{SET' --}; select undef, undef, undef, 0.1; print '>b<!--';"),
    ("long.pl", "print qq{Content-Type: text/html\\n\\n}; print qq{a line <!--#echo var='SET' --> of a long response\\n} x 20_000;"),
    ("open.pl", "print qq{Content-Type: text/html\\n\\na<!--#if expr='true' -->b<!--#echo var='SET'};"),
    ("coded.pl", "print qq{Content-Type: text/html\\nContent-Encoding: x-none\\n\\n}, E;"),
    ("outer.pl", "print qq{Content-Type: text/html\\n\\n[<!--#include virtual='page.pl?q' -->] [<!--#include virtual='length.pl' -->] [<!--#include virtual='lost.pl' -->]};"),
    ("itself.pl", "print qq{Content-Type: text/html\\n\\n<<!--#include virtual='itself.pl' -->>};"),
    ("known.html", "print qq{Content-Type: text/plain\\n\\n}, E;"),
    ("echo.pl", "print qq{Content-Type: text/html\\n\\n}, join('', <STDIN>), E;"),
];

const SAYS: &str = r#"package Says;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::Filter ();
use Apache2::Response ();
use APR::Table ();
use Apache2::Const -compile => qw(OK);
sub handler { my $r = shift; $r->content_type('text/html'); $r->subprocess_env(SET => 'by Perl'); $r->print(E()); 0 }
sub headed { my $r = shift; $r->content_type('text/html'); $r->headers_out->set(ETag => '"abc"'); $r->headers_out->set('X-Own' => 'own'); $r->set_content_length(3); $r->print(E()); 0 }
sub lost { my $r = shift; $r->status(404); $r->content_type('text/html'); $r->print(E()); 0 }
sub refused { my $r = shift; $r->content_type('text/html'); $r->subprocess_env(SET => 'by Perl'); 403 }
sub unset { my $r = shift; $r->content_type('text/html'); $r->subprocess_env->unset('SET'); $r->print(E()); 0 }
sub flushed { my $r = shift; $r->content_type('text/html'); for (1 .. 3) { $r->print("<!--#echo var='REQUEST_METHOD' --> "); $r->rflush } 0 }
sub upper { my $f = shift; while ($f->read(my $text, 4096)) { $f->print(uc $text) } 0 }
sub E { 'ELEMENTS' }
1;
"#;

/// Places below `/t`, each with the lines of its section.
const PLACES: [(&str, &str); 12] = [
    ("always", "Options +Includes\nSetOutputFilter INCLUDES"),
    (
        "types",
        "Options +Includes\nAddOutputFilterByType INCLUDES text/html",
    ),
    (
        "errors",
        "Options +Includes\nSetEnv filter-errordocs 1\nAddOutputFilterByType INCLUDES text/html",
    ),
    (
        "suffixes",
        "Options +Includes\nAddOutputFilter INCLUDES .pl",
    ),
    ("others", "Options +Includes\nAddOutputFilter INCLUDES .cgi"),
    ("bits", "Options +Includes\nXBitHack On"),
    (
        "full",
        "Options +Includes\nXBitHack Full\nSetOutputFilter INCLUDES",
    ),
    (
        "noexec",
        "Options +IncludesNOEXEC\nSetOutputFilter INCLUDES",
    ),
    ("off", "SetOutputFilter INCLUDES"),
    ("unchosen", "Options +Includes"),
    (
        "chain",
        "Options +Includes\nSetOutputFilter INCLUDES;SUBSTITUTE\nSubstitute s/yes/YES/",
    ),
    (
        "manner",
        "Options +Includes\nSetOutputFilter INCLUDES\nSSIErrorMsg oops\nSSIUndefinedEcho nothing",
    ),
];

const HANDLERS: [&str; 6] = ["handler", "headed", "lost", "refused", "unset", "flushed"];

fn site(back: &str) -> Builder {
    let scripts = Server::builder();
    let folder = scripts.folder_of("scripts");
    let mut lines = format!(
        "LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so\n\
         PerlSwitches -I@ROOT@/lib\nPerlModule Says\nSetEnv SET \"by SetEnv\"\n\
         <Directory @ROOT@>\nRequire all granted\nAddType text/html .shtml\n</Directory>\n\
         <Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\n\
         ProxyPass /back/ http://{back}/\n\
         <Location /back>\nOptions +Includes\nSetOutputFilter INCLUDES\n</Location>\n\
         <Location /filtered>\nSetHandler modperl\nPerlResponseHandler Says\nOptions +Includes\nPerlOutputFilterHandler Says::upper\nPerlSetOutputFilter INCLUDES\n</Location>\n\
         {}<LocationMatch \"^/(cgi|fork|rewind|perlrun|registry|auto)/\">\nOptions +Includes\nSetOutputFilter INCLUDES\n</LocationMatch>\n",
        ladder(&folder)
    );
    for name in HANDLERS {
        for kind in ["modperl", "perl-script"] {
            lines += &format!(
                "<Location /{kind}/{name}>\nSetHandler {kind}\nPerlResponseHandler Says::{name}\n\
                 Options +Includes\nSetOutputFilter INCLUDES\n</Location>\n"
            );
        }
    }
    for (name, section) in PLACES {
        lines += &format!(
            "Alias /t/{name} @ROOT@/scripts\n<Location /t/{name}>\nSetHandler cgi-script\nOptions +ExecCGI\n{section}\n</Location>\n"
        );
    }
    let builder = scripts
        .file(
            "lib/Says.pm",
            &SAYS.replace("ELEMENTS", &ELEMENTS.replace('\'', "\\'")),
        )
        .file("htdocs/part.txt", "<plain>")
        .file(
            "htdocs/part.shtml",
            "<!--#echo var=\"DOCUMENT_NAME\" -->?<!--#echo var=\"QUERY_STRING\" -->",
        )
        .conf(&lines);
    with_scripts(builder, &SCRIPTS)
}

fn with_scripts(mut builder: Builder, scripts: &[(&str, &str)]) -> Builder {
    for (name, code) in scripts {
        let path = format!("scripts/{name}");
        let text = format!("#!/usr/bin/perl\nsub E {{ <<'END' }}\n{ELEMENTS}END\n{code}\n");
        builder = builder.file(&path, &text);
        let mode = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(builder.folder_of(&path), mode).expect("own file");
    }
    builder
}

/// Starts the site. On Apache, the rungs that Apache lacks start a process for each request.
fn on_every_rung() -> Pair {
    let mut is_apache = needs::packages(&apache::PACKAGES);
    Pair::start_each(|| {
        let lacking = ["Fork", "Rewind", "Auto"];
        let conf = if std::mem::take(&mut is_apache) {
            let lines = lacking.map(|rung| {
                let rung = rung.to_ascii_lowercase();
                format!("<Location /{rung}/>\nSetHandler cgi-script\n</Location>\n")
            });
            lines.concat()
        } else {
            String::new()
        };
        site("127.0.0.1:9").conf(&conf)
    })
}

fn back_end() -> Server {
    Server::builder()
        .file("htdocs/a.html", ELEMENTS)
        .file("htdocs/sub/b.txt", ELEMENTS)
        .start()
}

/// Compares the responses to all requests, and returns the differences.
fn differences(pair: &mut Pair, requests: impl IntoIterator<Item = Request>) -> Vec<String> {
    let requests = requests.into_iter();
    requests
        .filter_map(|request| pair.compare(&request).err())
        .collect()
}

#[track_caller]
fn assert_none(differences: Vec<String>) {
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn output_of_programs_is_parsed_where_apache_parses_it() {
    let back = back_end();
    let address = back.address.to_string();
    let mut pair = Pair::start(|| site(&address));
    let mut targets = Vec::new();
    for (place, _) in PLACES {
        let scripts = SCRIPTS.iter().map(|(name, _)| name);
        let of_place = scripts.map(|script| format!("/t/{place}/{script}"));
        // `XBitHack` and `SetOutputFilter` insert the filter twice. Apache's Substitute also
        // changes a body with a content coding.
        let differs = ["/t/full/known.html", "/t/chain/coded.pl"];
        targets.extend(of_place.filter(|target| {
            !differs.contains(&&target[..]) && (place == "always" || !target.ends_with("long.pl"))
        }));
    }
    targets.extend([
        "/t/always/page.pl/info/more?a=%3Cb%3E".into(),
        "/t/always/none.pl".into(),
    ]);
    let mut found = differences(&mut pair, targets.iter().map(|target| Request::get(target)));
    found.extend(differences(
        &mut pair,
        [
            Request::new("HEAD", "/t/always/page.pl"),
            Request::new("HEAD", "/t/always/length.pl"),
            Request::form("/t/always/echo.pl", "a=<!--%23echo"),
        ],
    ));
    assert_none(found);
    let text = pair.ours().get("/t/always/page.pl").text();
    assert!(
        text.contains("yes") && text.contains("[<plain>] [page.pl?x=y]"),
        "{text}"
    );
}

#[test]
fn scripts_of_every_rung_are_parsed() {
    let mut pair = on_every_rung();
    for rung in Rung::ALL {
        let mut found = Vec::new();
        for (script, _) in SCRIPTS {
            // mod_perl's Registry adds a page of its own to a status.
            if matches!(script, "lost.pl" | "made.pl" | "outer.pl") && Rung::SHARED.contains(&rung)
            {
                continue;
            }
            let request = Request::get(&rung.url(script));
            found.extend(differences(&mut pair, [request.clone(), request]));
        }
        assert_none(found);
    }
}

#[test]
fn responses_of_perl_handlers_are_parsed() {
    let mut pair = Pair::start(|| site("127.0.0.1:9"));
    let mut requests = Vec::new();
    for kind in ["modperl", "perl-script"] {
        for name in HANDLERS {
            requests.push(Request::get(&format!("/{kind}/{name}")));
            requests.push(Request::get(&format!("/{kind}/{name}/info?a=b")));
        }
        requests.push(Request::new("HEAD", &format!("/{kind}/headed")));
        requests.push(Request::form(&format!("/{kind}/handler"), "a=b"));
    }
    requests.push(Request::get("/filtered"));
    assert_none(differences(&mut pair, requests));
}

#[test]
fn responses_of_back_ends_are_parsed() {
    let back = back_end();
    let address = back.address.to_string();
    let mut pair = Pair::start(|| site(&address));
    let targets = ["/back/a.html", "/back/sub/b.txt?x=y", "/back/none"];
    assert_none(differences(&mut pair, targets.map(Request::get)));
}

/// The validators of a program are not those of the page, so no condition is met.
#[test]
fn conditions_do_not_meet_the_validators_of_a_program() {
    let mut pair = on_every_rung();
    let mut requests = Vec::new();
    for target in [
        "/t/always/length.pl",
        "/t/types/length.pl",
        "/t/off/length.pl",
        "/registry/length.pl",
        "/auto/length.pl",
        "/modperl/headed",
    ] {
        for (name, value) in [
            ("If-None-Match", "\"abc\""),
            ("If-None-Match", "*"),
            ("If-Match", "\"other\""),
            ("If-Modified-Since", "Tue, 15 Nov 1994 12:45:26 GMT"),
            ("If-Unmodified-Since", "Tue, 15 Nov 1993 12:45:26 GMT"),
        ] {
            requests.push(Request::get(target).field(name, value));
        }
    }
    assert_none(differences(&mut pair, requests));
}

/// Programs, files and back ends pass INCLUDES before or behind Perl's filters, as the
/// configuration orders them.
#[test]
fn filter_and_perl_filters_come_in_the_configured_order() {
    const UPPER: &str = "PerlOutputFilterHandler Says::upper";
    let orders = [
        [UPPER, "SetOutputFilter INCLUDES"],
        ["PerlSetOutputFilter INCLUDES", UPPER],
        [UPPER, "PerlSetOutputFilter INCLUDES"],
        [UPPER, "AddOutputFilterByType INCLUDES text/html"],
    ];
    let back = back_end();
    let lines = |kind: &str, place: usize, map: &str| {
        let [first, second] = orders[place];
        format!("{map}\n<Location /order/{kind}/{place}>\nOptions +Includes +ExecCGI\n{first}\n{second}\n</Location>\n")
    };
    let mut conf = String::new();
    let mut requests = Vec::new();
    for place in 0..orders.len() {
        let cgi = format!("ScriptAlias /order/cgi/{place} @ROOT@/scripts");
        let file = format!("Alias /order/file/{place} @ROOT@/htdocs");
        let proxy = format!("ProxyPass /order/back/{place} http://{}", back.address);
        conf += &lines("cgi", place, &cgi);
        conf += &lines("file", place, &file);
        conf += &lines("back", place, &proxy);
        for target in [
            "cgi/{}/small.pl",
            "cgi/{}/long.pl",
            "file/{}/small.html",
            "back/{}/small.html",
        ] {
            let target = target.replace("{}", &place.to_string());
            requests.push(Request::get(&format!("/order/{target}")));
        }
    }
    let small = "a <!--#echo var=\"DOCUMENT_NAME\" --> b <!--#set var=\"c\" value=\"d\" --><!--#echo var=\"C\" -->";
    std::fs::write(back.site.path("htdocs/small.html"), small).expect("own folder");
    let build = || {
        let code =
            format!("print qq{{Content-Type: text/html\\nETag: \"abc\"\\n\\n}}, q{{{small}}};");
        let builder = site("127.0.0.1:9")
            .conf(&conf)
            .file("htdocs/small.html", small);
        with_scripts(builder, &[("small.pl", &code)])
    };
    let mut pair = Pair::start(build);
    assert_none(differences(&mut pair, requests));
}

/// A program fills its channel before its part can run, and one worker must run both.
#[test]
fn long_output_behind_an_element_keeps_no_worker() {
    let server = site("127.0.0.1:9").conf("StartServers 1\nMaxRequestWorkers 1\n");
    let code = "print qq{Content-Type: text/html\\n\\n<!--#include virtual='plain.pl' -->}, ('x' x 1000) x 5000;";
    let server = with_scripts(server, &[("fill.pl", code)]).start();
    for rung in [
        Rung::Fork,
        Rung::Rewind,
        Rung::PerlRun,
        Rung::Registry,
        Rung::Auto,
    ] {
        let answer = server.get(&rung.url("fill.pl"));
        assert_eq!(
            answer.text().len(),
            "no elements\n".len() + 5_000_000,
            "{rung:?}"
        );
        assert!(answer.complete && answer.text().starts_with("no elements\n"));
    }
}

/// The page is compressed behind the elements, and the cache keeps it with their texts.
#[test]
fn page_is_compressed_and_kept_behind_the_elements() {
    let server = Server::builder()
        .file("app.psgi", "my $count = 0;\nsub { [200, ['Content-Type', 'text/html', 'Cache-Control', 'max-age=60', 'ETag', '\"a\"'], [++$count . ' <!--#echo var=\"REQUEST_METHOD\" -->' x 200 ]] }\n")
        .conf(
            "CacheEnable memory /kept\n<Location />\nSetHandler psgi\nPsgiApp @ROOT@/app.psgi\n\
             Options +Includes\nSetOutputFilter INCLUDES;DEFLATE\n</Location>\n",
        )
        .start();
    let plain = "1 GET".to_owned() + &" GET".repeat(199);
    for _ in 0..3 {
        let answer = server.get("/kept/page");
        assert_eq!(answer.text(), plain);
        assert!(answer.field("etag").is_none());
    }
    for target in ["/kept/page", "/page"] {
        let answer = server.send(&Request::get(target).field("Accept-Encoding", "gzip"));
        assert_eq!(
            answer.field("content-encoding").as_deref(),
            Some("gzip"),
            "{target}"
        );
        assert!(answer.body.len() < plain.len() / 4, "{target}");
    }
}

/// A page that breaks a limit within its stream is cut off. At its beginning, it is a 500.
#[test]
fn page_with_too_many_elements_fails() {
    let many = "print qq{Content-Type: text/html\\n\\n}; print qq{<!--#set var='a' value='b' -->\\n} x 110_000;";
    let server = with_scripts(site("127.0.0.1:9"), &[("many.pl", many)]).start();
    let answer = server.get("/auto/many.pl");
    assert!(answer.status == 500 || !answer.complete);
    server
        .log
        .expect("elements, including those of included pages");
}

/// A client that leaves ends its page and the program of a part that the page waits for.
#[test]
fn client_that_leaves_ends_its_page() {
    let builder = site("127.0.0.1:9");
    let place = builder.folder_of("process");
    let endless = format!(
        "open my $f, '>', '{}'; print $f $$; close $f; $| = 1; \
         print qq{{Content-Type: text/html\\n\\n}}; print qq{{<!--#echo var='SET' -->\\n}} while sleep 1;",
        place.display()
    );
    let waits = "print qq{Content-Type: text/html\\n\\n<!--#include virtual='endless.pl' -->};";
    let scripts = [("endless.pl", &endless[..]), ("waits.pl", waits)];
    let server = with_scripts(builder, &scripts).start();
    for target in ["/cgi/endless.pl", "/cgi/waits.pl"] {
        let mut client = server.connect();
        client.write(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let mut process = String::new();
        let has_begun = || {
            process = std::fs::read_to_string(&place).unwrap_or_default();
            !process.is_empty()
        };
        assert!(eventually(Duration::from_secs(30), has_begun));
        drop(client);
        let has_ended = || !std::path::Path::new("/proc").join(&process).exists();
        assert!(eventually(Duration::from_secs(30), has_ended), "{target}");
        std::fs::remove_file(&place).expect("own file");
    }
}

/// A worker runs many parts of one page, and a part runs while its page's program has ended.
#[test]
fn one_worker_serves_all_parts_of_a_page() {
    for rung in [
        Rung::Fork,
        Rung::Rewind,
        Rung::PerlRun,
        Rung::Registry,
        Rung::Auto,
    ] {
        let part = rung.url("plain.pl");
        let parts = format!("<!--#include virtual=\"{part}\" -->").repeat(12);
        let server = site("127.0.0.1:9")
            .conf("StartServers 1\nMaxRequestWorkers 1\n")
            .file("htdocs/parts.shtml", &parts);
        let code = format!("print qq{{Content-Type: text/html\\n\\n}}, q{{{parts}}};");
        let server = with_scripts(server, &[("parts.pl", &code)]).start();
        let expected = "no elements\n".repeat(12);
        for target in ["/parts.shtml".to_owned(), rung.url("parts.pl")] {
            for _ in 0..2 {
                assert_eq!(server.get(&target).text(), expected, "{target}");
            }
        }
    }
}

/// What a program prints is sent before the program ends, and so is the text of an element.
#[test]
fn page_is_sent_while_it_is_made() {
    let builder = site("127.0.0.1:9");
    let go = builder.folder_of("go");
    let code = format!(
        "$| = 1; print qq{{Content-Type: text/html\n\nbegun <!--#echo var='SET' --> }}; \
         select undef, undef, undef, 0.02 until -e '{}'; print E;",
        go.display()
    );
    let builder = with_scripts(builder, &[("stream.pl", &code)]);
    let server = builder.start();
    for rung in Rung::ALL {
        let mut client = server.connect();
        let request = format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", rung.url("stream.pl"));
        client.write(request.as_bytes());
        let begun = b"begun by SetEnv ";
        while !client
            .unread()
            .windows(begun.len())
            .any(|part| part == begun)
        {
            assert!(
                client.fill().expect("output") > 0,
                "the connection has ended"
            );
        }
        std::fs::write(&go, "").expect("own folder");
        let answer = client.read_answer("GET").expect("an answer");
        assert!(
            answer.text().contains("[<plain>] [stream.pl?x=y]"),
            "{}",
            answer.text()
        );
        std::fs::remove_file(&go).expect("own file");
    }
}
