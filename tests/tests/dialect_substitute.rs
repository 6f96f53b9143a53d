//! Tests `Substitute`: which responses it changes, and how. Each response must equal Apache's.

use mehari_harness::{Builder, Pair, Request, Server};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

const TEXT: &str = "foo bar foo\nFoo baz\naaa b\nend foo";

/// Scripts of `htdocs/s`, each with its code.
const SCRIPTS: [(&str, &str); 5] = [
    ("known.pl", "print qq{Content-Type: text/html\\nContent-Length: 11\\nETag: \"abc\"\\n\\nfoo bar foo};"),
    ("slow.pl", "$| = 1; print qq{Content-Type: text/html\\n\\nfo}; select undef, undef, undef, 0.1; print qq{o bar\\nfo}; select undef, undef, undef, 0.1; print 'o';"),
    ("lost.pl", "print qq{Status: 404 none\\nContent-Type: text/html\\n\\nfoo};"),
    ("long.pl", "print qq{Content-Type: text/html\\n\\n}; print qq{a foo line of a long response\\n} x 20_000;"),
    ("away.pl", "print qq{Location: http://foo.test/\\n\\n};"),
];

/// Places below `/t`, each with the lines of its section.
const PLACES: [(&str, &str); 25] = [
    ("simple", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/X/"),
    ("caseless", "SetOutputFilter SUBSTITUTE\nSubstitute s|foo|X|i"),
    ("fixed", "SetOutputFilter SUBSTITUTE\nSubstitute s/f.o/X/n"),
    ("literal", "SetOutputFilter SUBSTITUTE\nSubstitute \"s/foo/$0&\\\\1/n\""),
    ("either", "SetOutputFilter SUBSTITUTE\nSubstitute s/FOO/Y/ni"),
    ("groups", "SetOutputFilter SUBSTITUTE\nSubstitute \"s/(f)(o+)/[$2$1$0&\\\\$1\\\\2$3\\\\n]/\""),
    ("begin", "SetOutputFilter SUBSTITUTE\nSubstitute s/^a/X/"),
    ("end", "SetOutputFilter SUBSTITUTE\nSubstitute s/o$/E/"),
    ("rest", "SetOutputFilter SUBSTITUTE\nSubstitute s/bar.*$/R/"),
    ("newline", "SetOutputFilter SUBSTITUTE\nSubstitute \"s/foo\\\\n/Y/\"\nSubstitute s/b$/E/"),
    ("two", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/b/\nSubstitute \"s/b b/YY/\""),
    ("quick", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/b/q\nSubstitute \"s/b b/YY/q\""),
    ("mixed", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/b/q\nSubstitute s/b/YY/qn\nSubstitute s/Y/Z/"),
    ("removed", "SetOutputFilter SUBSTITUTE\nSubstitute s#foo##"),
    ("short", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/XXXXXXXXXXXX/\nSubstituteMaxLineLength 20"),
    ("types", "AddOutputFilterByType SUBSTITUTE text/html\nSubstitute s/foo/X/"),
    ("errors", "SetEnv filter-errordocs 1\nAddOutputFilterByType SUBSTITUTE text/html\nSubstitute s/foo/X/"),
    ("suffixes", "AddOutputFilter SUBSTITUTE html\nSubstitute s/foo/X/"),
    ("coded", "SetOutputFilter SUBSTITUTE;DEFLATE\nSubstitute s/foo/X/"),
    ("unchosen", "Substitute s/foo/X/"),
    ("outer", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/O/"),
    ("before", "SetOutputFilter SUBSTITUTE\nSubstitute s/foo/O/"),
    ("page", "Options +Includes\nSetOutputFilter INCLUDES;SUBSTITUTE\nSubstitute s/foo/X/"),
    ("handler", "SetHandler perl-script\nPerlResponseHandler Says\nSetOutputFilter SUBSTITUTE\nSubstitute s/foo/X/"),
    ("filter", "PerlOutputFilterHandler Says::upper\nSetOutputFilter SUBSTITUTE\nSubstitute s/foo/X/i"),
];

const SAYS: &str = "package Says;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::Filter ();\n\
    sub handler { my $r = shift; $r->content_type('text/html'); $r->print(\"foo bar\\nfoo\"); 0 }\n\
    sub upper { my $f = shift; while ($f->read(my $text, 4096)) { $f->print(uc $text) } 0 }\n1;\n";

fn site(back: &str) -> Builder {
    let mut lines = format!(
        "LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so\n\
         LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so\n\
         PerlSwitches -I@ROOT@/lib\nPerlModule Says\nDirectoryIndex index.html\n\
         <Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\nAddHandler cgi-script .pl\n</Directory>\n\
         ProxyPass /back/ http://{back}/\n\
         <Location /back>\nSetOutputFilter SUBSTITUTE\nSubstitute s/foo/B/\n</Location>\n"
    );
    for (name, section) in PLACES {
        lines += &format!(
            "Alias /t/{name} @ROOT@/htdocs/s\n<Location /t/{name}>\n{section}\n</Location>\n"
        );
    }
    lines += "<Location /t/outer/a.html>\nSubstitute s/foo/I/\nSubstitute s/O/P/\n</Location>\n\
        <Location /t/before/a.html>\nSubstituteInheritBefore On\nSubstitute s/foo/I/\nSubstitute s/O/P/\n</Location>\n";
    let mut builder = Server::builder()
        .file("lib/Says.pm", SAYS)
        .file("htdocs/s/a.html", TEXT)
        .file("htdocs/s/a.txt", TEXT)
        .file(
            "htdocs/s/part.html",
            "<!--#include virtual=\"a.html\" --> foo",
        )
        .file("htdocs/s/index.html", "index foo")
        .file(
            "htdocs/s/large.html",
            &"a foo line of a large file\n".repeat(40_000),
        )
        .conf(&lines);
    for (name, code) in SCRIPTS {
        let path = format!("htdocs/s/{name}");
        builder = builder.file(&path, &format!("#!/usr/bin/perl\n{code}\n"));
        let mode = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(builder.folder_of(&path), mode).expect("own file");
    }
    builder
}

fn back_end() -> Server {
    Server::builder()
        .file("htdocs/a.html", TEXT)
        .file(
            "htdocs/large.html",
            &"a foo line of a large file\n".repeat(40_000),
        )
        .start()
}

#[test]
fn substitutions_change_the_responses_that_they_change_in_apache() {
    let back = back_end();
    let address = back.address.to_string();
    let mut pair = Pair::start(|| site(&address));
    // Apache adds Vary for a body that is too short to be compressed here.
    let mut targets: Vec<String> = PLACES
        .iter()
        .filter(|(name, _)| *name != "coded")
        .map(|(name, _)| format!("/t/{name}/a.html"))
        .collect();
    for place in ["simple", "types", "errors", "suffixes"] {
        let pages = [
            "a.txt",
            "known.pl",
            "slow.pl",
            "lost.pl",
            "long.pl",
            "away.pl",
            "none",
            "",
            "large.html",
        ];
        targets.extend(pages.map(|page| format!("/t/{place}/{page}")));
    }
    let others = [
        "/t/page/part.html",
        "/t/filter/large.html",
        "/back/a.html",
        "/back/large.html",
        "/back/none",
        "/t/simple",
    ];
    targets.extend(others.map(str::to_owned));
    let mut differences = Vec::new();
    for target in &targets {
        if let Err(why) = pair.compare(&Request::get(target)) {
            differences.push(why);
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(
        pair.ours().get("/t/simple/a.html").text(),
        "X bar X\nFoo baz\naaa b\nend X"
    );
    assert_eq!(pair.ours().get("/t/short/a.html").status, 500);
}

#[test]
fn conditions_and_ranges_meet_the_changed_response_as_in_apache() {
    let back = back_end();
    let address = back.address.to_string();
    let mut pair = Pair::start(|| site(&address));
    for target in ["/t/simple/a.html", "/t/simple/known.pl", "/t/types/a.txt"] {
        // Apache sends ranges of what short programs print, as the server does for files alone.
        let range = (!target.ends_with(".pl")).then_some(("Range", "bytes=2-5"));
        let ranged = range.map(|(name, value)| Request::get(target).field(name, value));
        let requests = [
            Request::get(target).field("If-None-Match", "\"abc\""),
            Request::get(target).field("If-Modified-Since", "Tue, 15 Nov 1994 12:45:26 GMT"),
            Request::new("HEAD", target),
        ];
        for request in ranged.into_iter().chain(requests) {
            pair.send(&request);
        }
    }
    let answer = pair.ours().get("/t/simple/a.html");
    let tag = answer.field("etag").expect("a tag");
    let again = Request::get("/t/simple/a.html").field("If-None-Match", &tag);
    assert_eq!(pair.ours().send(&again).status, 304);
}

#[test]
fn changed_response_is_compressed_behind_the_change() {
    let server = site("127.0.0.1:9").start();
    for page in ["a.html", "long.pl", "large.html"] {
        let request = Request::get(&format!("/t/coded/{page}")).field("Accept-Encoding", "gzip");
        let answer = server.send(&request);
        let plain = server.get(&format!("/t/simple/{page}"));
        assert!(
            plain.text().contains('X') && !plain.text().contains("foo"),
            "{page}"
        );
        match answer.field("content-encoding").as_deref() {
            // A body that compression does not shorten stays as it is.
            None => assert_eq!(answer.text(), plain.text(), "{page}"),
            Some("gzip") => {
                let decoded = gunzipped(&answer.body);
                assert_eq!(decoded, plain.text(), "{page}");
            }
            other => panic!("{page}: {other:?}"),
        }
    }
}

/// The front makes these responses itself: pages with elements, and the listing of a folder.
#[test]
fn pages_of_the_front_are_compressed_as_in_apache() {
    let text = "text ".repeat(1000);
    let page = format!("<!--#echo var=\"DOCUMENT_NAME\" --> {text}");
    let site = || {
        let mut builder = Server::builder().file("htdocs/page.shtml", &page).conf(
            "LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so\n\
             LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so\n\
             AddType text/html .shtml\n\
             <Directory @ROOT@/htdocs>\nOptions +Includes +Indexes\n\
             AddOutputFilter INCLUDES .shtml\nAddOutputFilterByType DEFLATE text/html\n\
             </Directory>\n\
             Alias /set @ROOT@/htdocs\n<Location /set>\n\
             SetOutputFilter INCLUDES;DEFLATE\n</Location>\n\
             Alias /bare @ROOT@/htdocs\n<Location /bare>\nSetEnv no-gzip 1\n</Location>\n",
        );
        for number in 0..40 {
            builder = builder.file(&format!("htdocs/listed/{number}.txt"), "x");
        }
        builder
    };
    let pair = Pair::start(site);
    for target in [
        "/page.shtml",
        "/set/page.shtml",
        "/bare/page.shtml",
        "/listed/",
    ] {
        for accepted in ["", "gzip", "gzip;q=0", "identity", "br, gzip"] {
            let request = Request::get(target).field("Accept-Encoding", accepted);
            let seen: Vec<_> = (pair.servers())
                .map(|server| {
                    let answer = server.send(&request);
                    let coding = answer.field("content-encoding");
                    let decoded = match coding.as_deref() {
                        Some("gzip") => gunzipped(&answer.body),
                        _ => answer.text(),
                    };
                    // Each server has a listing of its own.
                    let shown = decoded.contains(&text) || decoded.contains("39.txt");
                    assert!(shown, "{target} {accepted}: {decoded}");
                    (answer.status, coding, answer.all("vary"))
                })
                .collect();
            assert!(
                seen.iter().all(|one| *one == seen[0]),
                "{target} {accepted}: {seen:?}"
            );
        }
    }
}

#[test]
fn variables_of_a_handler_choose_the_coding_as_in_apache() {
    const CODE: &str = "package Sets;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
        use APR::Table ();\nsub sets { my $r = shift; my ($name) = ($r->args // '') =~ /^(.*?)&/; \
        $r->subprocess_env($name => 1) if $name; }\n\
        sub handler { my $r = shift; sets($r) if $r->uri eq '/handler'; \
        $r->content_type($r->args =~ /plain/ ? 'text/plain' : 'text/html'); \
        $r->print('text ' x 500); 0 }\nsub fixes { sets($_[0]); -1 }\n1;\n";
    let site = || {
        Server::builder().file("lib/Sets.pm", CODE).conf(
            "LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so\n\
             LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so\n\
             PerlSwitches -I@ROOT@/lib\nPerlModule Sets\n\
             <LocationMatch \"^/(handler|fixup)\">\nSetHandler modperl\n\
             PerlResponseHandler Sets\nSetOutputFilter DEFLATE\n</LocationMatch>\n\
             <Location /fixup>\nPerlFixupHandler Sets::fixes\n</Location>\n",
        )
    };
    let pair = Pair::start(site);
    for place in ["handler", "fixup"] {
        for name in ["", "no-gzip", "gzip-only-text/html"] {
            for kind in ["html", "plain"] {
                let target = format!("/{place}?{name}&{kind}");
                let request = Request::get(&target).field("Accept-Encoding", "gzip");
                let seen: Vec<_> = (pair.servers())
                    .map(|server| {
                        let answer = server.send(&request);
                        (answer.field("content-encoding"), answer.all("vary"))
                    })
                    .collect();
                assert!(seen.iter().all(|one| *one == seen[0]), "{target}: {seen:?}");
            }
        }
    }
}

/// Decodes with the program gzip, which every Debian has.
fn gunzipped(bytes: &[u8]) -> String {
    let mut child = Command::new("gzip")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip");
    let mut input = child.stdin.take().expect("piped");
    let bytes = bytes.to_vec();
    let writing = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().expect("gzip has ended");
    writing.join().expect("no panic").expect("written");
    String::from_utf8(output.stdout).expect("text")
}

/// The cache keeps a page with its substitutions, and the page is not changed again.
#[test]
fn cached_page_is_changed_once() {
    let server = Server::builder()
        .file("app.psgi", "my $count = 0;\nsub { [200, ['Content-Type', 'text/html', 'Cache-Control', 'max-age=60', 'Content-Length', 5], ['a' . ++$count . \" a\\n\"]] }\n")
        .conf(
            "CacheEnable memory /\n<Location />\nSetHandler psgi\nPsgiApp @ROOT@/app.psgi\n\
             SetOutputFilter SUBSTITUTE\nSubstitute s/a/aa/\n</Location>\n",
        )
        .start();
    for _ in 0..3 {
        let answer = server.get("/page");
        assert_eq!(answer.text(), "aa1 aa\n");
        assert_eq!(answer.field("content-length").as_deref(), Some("7"));
    }
}

/// A line longer than the limit ends a stream whose head has been sent.
#[test]
fn too_long_line_cuts_a_stream_off_and_is_logged() {
    let code = "$| = 1; print qq{Content-Type: text/html\\n\\n}, qq{line\\n} x 20_000; print 'x' x 1000 for 1 .. 100;";
    let builder = Server::builder()
        .file("htdocs/s/stream.pl", &format!("#!/usr/bin/perl\n{code}\n"))
        .conf(
            "<Directory @ROOT@>\nOptions +ExecCGI\nAddHandler cgi-script .pl\n\
             SetOutputFilter SUBSTITUTE\nSubstitute s/foo/X/\nSubstituteMaxLineLength 10k\n</Directory>\n",
        );
    let mode = PermissionsExt::from_mode(0o755);
    let path = builder.folder_of("htdocs/s/stream.pl");
    std::fs::set_permissions(path, mode).expect("own file");
    let server = builder.start();
    let answer = server.get("/s/stream.pl");
    assert!(answer.status == 200 && !answer.complete);
    server.log.expect("longer than SubstituteMaxLineLength");
}
