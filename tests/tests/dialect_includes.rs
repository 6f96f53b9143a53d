//! Tests server-side includes: the output of each page is compared with that of mod_include.

use mehari_harness::{apache, Builder, Pair, Request, Server};

const WHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } qw(QUERY_STRING DOCUMENT_URI DOCUMENT_NAME SCRIPT_NAME PATH_INFO REQUEST_URI MINE);\n";

/// A script that prints fields that a client may send for the page, but not for its parts.
const FIELDS: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    map { \"$_=$ENV{$_} \" } grep { defined $ENV{$_} } qw(HTTP_RANGE HTTP_IF_NONE_MATCH HTTP_IF_MODIFIED_SINCE HTTP_ACCEPT_ENCODING HTTP_X_OTHER);\n";

/// The name and the text of each page. Apache gives the expected result.
const PAGES: &[(&str, &str)] = &[
    ("plain", "no elements, a <!-- comment --> only\n"),
    ("echo", "<!--#echo var=\"DOCUMENT_NAME\" -->|<!--#echo var=\"DOCUMENT_URI\"-->|<!--#echo var='QUERY_STRING' -->|<!--#echo var=\"NOTHING\" -->|<!--#echo var=\"REQUEST_METHOD\" -->"),
    ("encodings", "<!--#set var=\"x\" value=\"<a b&c\\\"d>\" --><!--#echo var=\"x\" -->|<!--#echo encoding=\"none\" var=\"x\" -->|<!--#echo encoding=\"url\" var=\"x\" -->|<!--#echo encoding=\"base64\" var=\"x\" -->|<!--#echo encoding=\"urlencoded\" var=\"x\" -->"),
    ("set", "<!--#set var=\"a\" value=\"one\" --><!--#set var=\"b\" value=\"$a-${a}two \\$a\" --><!--#echo var=\"b\" -->"),
    ("if", "<!--#set var=\"a\" value=\"one\" --><!--#if expr=\"v('a') == 'one'\" -->yes<!--#else -->no<!--#endif -->|<!--#if expr=\"v('a') =~ /^t/\" -->t<!--#elif expr=\"v('a') =~ /^o/\" -->o<!--#else -->n<!--#endif -->|<!--#if expr=\"false\" -->x<!--#if expr=\"true\" -->y<!--#endif -->z<!--#endif -->end"),
    ("broken", "<!--#if expr=\"'a' ==\" -->a<!--#else -->b<!--#endif -->|g"),
    ("method", "<!--#if expr=\"%{REQUEST_METHOD} == 'GET'\" -->get<!--#elif expr=\"v('REQUEST_METHOD') == 'POST'\" -->post<!--#endif -->"),
    ("entities", "<!--#include virtual=\"/cgi/who.pl?q=1&amp;r=%26\" -->|<!--#set var=\"x\" value=\"&lt;a&quot;&#38;&#228;&none;\" --><!--#echo var=\"x\" -->|<!--#if expr=\"'&amp;' == '&'\" -->same<!--#endif -->"),
    ("nested", "<!--#if expr=\"true\" -->a<!--#if expr=\"false\" -->b<!--#else -->c<!--#endif -->d<!--#endif -->e"),
    ("query", "<!--#if expr=\"%{QUERY_STRING} == 'a=b'\" -->asked<!--#else -->not asked<!--#endif -->"),
    ("legacy/if", "<!--#set var=\"a\" value=\"one\" --><!--#if expr=\"$a = one\" -->1<!--#endif --><!--#if expr=\"$a = /^o/ && ! $b\" -->2<!--#endif --><!--#if expr=\"'$a' != 'one' || ( $a )\" -->3<!--#else -->4<!--#endif --><!--#if expr=\"$b\" -->5<!--#endif -->"),
    ("file", "[<!--#include file=\"part.txt\" -->][<!--#include file=\"part.shtml\" -->]"),
    ("virtual", "[<!--#include virtual=\"/part.txt\" -->][<!--#include virtual=\"part.shtml?inner=1\" -->][<!--#include virtual=\"sub/deep.shtml\" -->]"),
    ("part", "part of <!--#echo var=\"DOCUMENT_NAME\" --><!--#set var=\"inner\" value=\"set within\" -->"),
    ("shared", "<!--#include virtual=\"/part.shtml\" -->|<!--#echo var=\"inner\" -->"),
    ("sub/deep", "deep <!--#include virtual=\"../part.txt\" --> <!--#include file=\"near.txt\" -->"),
    ("program", "<!--#set var=\"MINE\" value=\"mine\" --><!--#include virtual=\"/cgi/who.pl\" -->|<!--#include virtual=\"/cgi/who.pl?x=1\" -->|<!--#exec cgi=\"/cgi/who.pl\" -->"),
    ("registry", "<!--#include virtual=\"/perl/who.pl?r=1\" -->"),
    ("errors", "<!--#include virtual=\"/none\" -->|<!--#include file=\"../x\" -->|<!--#include file=\"/etc/passwd\" -->|<!--#unknown x=\"y\" -->|<!--#include virtual=\"/closed/x.txt\" -->"),
    ("config", "<!--#config errmsg=\"oops\" --><!--#include virtual=\"/none\" -->|<!--#config echomsg=\"?\" --><!--#echo var=\"NOTHING\" -->|<!--#config timefmt=\"%Y\" --><!--#echo var=\"DATE_GMT\" -->"),
    ("onerror", "<!--#include virtual=\"/none\" onerror=\"/part.txt\" -->"),
    ("size", "<!--#fsize file=\"big.txt\" -->|<!--#config sizefmt=\"bytes\" --><!--#fsize virtual=\"/big.txt\" -->|<!--#config timefmt=\"%Y\" --><!--#flastmod file=\"big.txt\" -->"),
    ("noexec/exec", "<!--#exec cgi=\"/cgi/who.pl\" -->|<!--#include virtual=\"/part.txt\" -->"),
    ("off/page", "<!--#echo var=\"DOCUMENT_NAME\" -->"),
    ("unclosed", "a<!--#if expr=\"true\" -->b"),
    ("members", "<!--#include virtual=\"/members/x.txt\" -->"),
    ("phases/page", "<!--#include virtual=\"/phases/part.shtml\" -->|<!--#include virtual=\"/cgi/who.pl\" -->"),
    ("phases/part", "<!--#echo var=\"DOCUMENT_NAME\" -->"),
    ("redirected", "<!--#include virtual=\"/moved\" -->"),
    ("rewritten", "<!--#include virtual=\"/led\" -->"),
    ("outermost", "<!--#include virtual=\"/outermost\" -->|<!--#include virtual=\"/within\" -->"),
    ("told", "<!--#include virtual=\"/cgi/fields.pl\" -->"),
    ("extra", "<!--#include file=\"part.txt\" -->"),
];

fn site() -> Builder {
    let mut builder = Server::builder()
        .file("htdocs/part.txt", "<plain>")
        .file("htdocs/sub/near.txt", "near")
        .file("htdocs/closed/x.txt", "closed")
        .file("htdocs/big.txt", &"x".repeat(1_234_567))
        .file("htdocs/bits.html", "<!--#echo var=\"DOCUMENT_NAME\" -->")
        .file("htdocs/nobits.html", "<!--#echo var=\"DOCUMENT_NAME\" -->")
        .file("lib/Nothing.pm", "package Nothing;\nsub handler { 0 }\n1;\n")
        .file("htdocs/members/x.txt", "for members")
        .file("users", "ann:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n")
        .file("cgi/who.pl", WHO)
        .file("perl/who.pl", WHO)
        .file("cgi/fields.pl", FIELDS)
        .conf(
            "PerlSwitches -I@ROOT@/lib\nScriptAlias /cgi/ @ROOT@/cgi/\nAlias /perl/ @ROOT@/perl/\n\
             <Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <Directory @ROOT@/perl>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n</Directory>\n\
             <Directory @ROOT@/htdocs>\nOptions Includes FollowSymLinks\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\nXBitHack On\n</Directory>\n\
             <Directory @ROOT@/htdocs/noexec>\nOptions IncludesNOEXEC\n</Directory>\n\
             <Directory @ROOT@/htdocs/off>\nOptions -Includes\n</Directory>\n\
             <Directory @ROOT@/htdocs/legacy>\nSSILegacyExprParser On\n</Directory>\n\
             <Location /members>\nAuthType Basic\nAuthName Members\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n\
             <Location /phases>\nPerlFixupHandler Nothing\n</Location>\n\
             <Directory @ROOT@/htdocs/closed>\nRequire all denied\n</Directory>\n\
             RewriteEngine On\nRewriteRule ^/led$ /part.txt [PT]\nRewriteRule ^/moved$ /part.txt [R]\n\
             RewriteRule ^/outermost$ /sub/near.txt [PT,NS]\nRewriteCond %{IS_SUBREQ} =true\nRewriteRule ^/within$ /sub/near.txt [PT]\n\
             ErrorDocument 404 /echo.shtml\n",
        );
    for (name, text) in PAGES {
        builder = builder.file(&format!("htdocs/{name}.shtml"), text);
    }
    for program in [
        "cgi/who.pl",
        "cgi/fields.pl",
        "perl/who.pl",
        "htdocs/bits.html",
    ] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(builder.folder_of(program), mode).expect("own file");
    }
    builder
}

#[test]
fn pages_are_filled_in_as_in_apache() {
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    let pages = PAGES.iter().map(|(name, _)| format!("/{name}.shtml"));
    let more = [
        "/query.shtml?a=b",
        "/program.shtml?page=1",
        "/echo.shtml?a=%3Cb%3E",
        "/bits.html",
        "/nobits.html",
        "/extra.shtml/more/info",
        "/missing",
    ];
    for target in pages.chain(more.map(str::to_string)) {
        // The first response uses the file. The second one uses the cache.
        for _ in 0..2 {
            differences.extend(pair.compare(&Request::get(&target)).err());
        }
    }
    let member = Request::get("/members.shtml").field("Authorization", "Basic YW5uOnNlY3JldA==");
    for _ in 0..2 {
        differences.extend(pair.compare(&member).err());
    }
    let posted = Request::post("/method.shtml", "a=b");
    differences.extend(pair.compare(&posted).err());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(pair.send(&member).text(), "for members");
}

#[test]
fn pages_that_include_themselves_or_change_are_answered() {
    let server = site()
        .file(
            "htdocs/loop.shtml",
            "<!--#include virtual=\"/loop.shtml\" -->",
        )
        .file(
            "htdocs/many.shtml",
            &"<!--#include virtual=\"/twice.shtml\" -->".repeat(20),
        )
        .file(
            "htdocs/twice.shtml",
            &"<!--#include virtual=\"/part.shtml\" -->".repeat(20),
        )
        .file(
            "htdocs/change.shtml",
            "<!--#set var=\"x\" value=\"1\" --><!--#echo var=\"x\" -->",
        )
        .start();
    let answer = server.get("/loop.shtml");
    assert!(
        answer.status == 500 || answer.text().contains("an error occurred"),
        "{}",
        answer.text()
    );
    server.log.expect("include one another too deeply");
    assert_eq!(
        server
            .get("/many.shtml")
            .text()
            .matches("part of many.shtml")
            .count(),
        400
    );
    assert_eq!(server.get("/change.shtml").text(), "1");
    server
        .site
        .replace("htdocs/change.shtml", "<!--#echo var=\"DOCUMENT_NAME\" -->");
    let has_changed = || server.get("/change.shtml").text() == "change.shtml";
    assert!(mehari_harness::eventually(
        mehari_harness::PATIENCE,
        has_changed
    ));
    let head = server.send(&Request::new("HEAD", "/echo.shtml"));
    assert_eq!((head.status, head.text().as_str()), (200, ""));
    assert!(head.field("last-modified").is_none() && head.field("etag").is_none());
}

#[test]
fn included_path_is_refused_where_its_client_would_be_refused() {
    let pages = [
        ("<!--#fsize file=\".hidden\" -->", "none"),
        ("<!--#flastmod virtual=\"/closed/x.txt\" -->", "none"),
        ("<!--#fsize virtual=\"/members/x.txt\" -->", "none"),
        ("<!--#fsize virtual=\"/phases-closed/x.txt\" -->", "none"),
        ("<!--#include virtual=\"/tls/x.txt\" -->", "none"),
        ("<!--#include file=\".hidden\" -->", "none"),
        ("<!--#include virtual=\"/.hidden\" -->", "none"),
        ("<!--#include virtual=\"/%2ehidden\" -->", "none"),
        ("<!--#include virtual=\"/..%2f..%2fetc/passwd\" -->", "none"),
        (
            "<!--#include virtual=\"/sub/%252e%252e/part.txt\" -->",
            "none",
        ),
        ("<!--#include virtual=\"/sub/../part.txt\" -->", "<plain>"),
    ];
    let mut builder = site()
        .file("htdocs/.hidden", "hidden")
        .file("htdocs/phases-closed/x.txt", "x")
        .file("htdocs/tls/x.txt", "x")
        .conf(
            "SSIErrorMsg none\n<Location /tls>\nSSLRequireSSL\n</Location>\n<Location /phases-closed>\nPerlAccessHandler Nothing\n</Location>\n",
        );
    for (at, (text, _)) in pages.iter().enumerate() {
        builder = builder.file(&format!("htdocs/at{at}.shtml"), text);
    }
    let server = builder.start();
    for (at, (text, expected)) in pages.iter().enumerate() {
        let answer = server.get(&format!("/at{at}.shtml"));
        assert_eq!(answer.text(), *expected, "{text}");
    }
    // Programs do not see the fields with which the client asked for the whole page.
    let request = Request::get("/told.shtml")
        .field("Range", "bytes=0-1")
        .field("If-None-Match", "\"x\"")
        .field("If-Modified-Since", "Sun, 06 Nov 2094 08:49:37 GMT")
        .field("Accept-Encoding", "gzip")
        .field("X-Other", "kept");
    let answer = server.send(&request);
    assert_eq!(
        (answer.status, answer.text().trim()),
        (200, "HTTP_X_OTHER=kept")
    );
}

#[test]
fn enormous_page_does_not_disturb_other_clients() {
    let long = "x".repeat(500_000);
    let grown = format!(
        "<!--#set var=\"a\" value=\"{long}\" --><!--#set var=\"b\" value=\"{}\" -->end",
        "$a".repeat(400_000)
    );
    let asks = "<!--#if expr=\"v('QUERY_STRING') =~ /a.*b.*c/\" -->x<!--#endif -->";
    let server = site()
        .file("htdocs/grown.shtml", &grown)
        .file("htdocs/asks.shtml", &asks.repeat(4000))
        .file("htdocs/endless.shtml", &"<!--#comment -->".repeat(100_001))
        .start();
    let text = server.get("/grown.shtml").text();
    assert!(text.contains("an error occurred") && text.ends_with("end"));
    server.log.expect("expected a text, and variables, of");
    let target = format!("/asks.shtml?{}", "ab".repeat(2000));
    let mut others = server.connect();
    // Returns whether another client is served while the page is assembled.
    let is_overtaken = || {
        let mut page = server.connect();
        page.write(&Request::get(&target).bytes());
        let answer = others.send(&Request::get("/part.txt")).expect("answered");
        assert_eq!(answer.text(), "<plain>");
        let stream = page.stream();
        stream.set_nonblocking(true).expect("a socket");
        let is_silent = stream.peek(&mut [0]).is_err();
        stream.set_nonblocking(false).expect("a socket");
        assert_eq!(page.read_answer("GET").expect("answered").status, 200);
        is_silent
    };
    assert!(mehari_harness::eventually(
        mehari_harness::PATIENCE,
        is_overtaken
    ));
    assert_eq!(server.get("/endless.shtml").status, 500);
    server
        .log
        .expect("elements, including those of included pages");
}

/// A file for which the filter is named has no entity tag and is always sent, even if the options
/// do not allow includes. `SSIETag` and `SSILastModified` keep the fields.
#[test]
fn fields_of_pages_are_those_of_apache() {
    const PROGRAM: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/html\\nETag: \"a\"\\n}, \
        qq{Last-Modified: Sun, 13 Sep 2020 12:26:40 GMT\\n\\n<!--#echo var='DOCUMENT_NAME' -->};\n";
    let site = || {
        let mut builder = Server::builder().conf(
            "<Directory @ROOT@>\nRequire all granted\nOptions ExecCGI\nAddHandler cgi-script .cgi\n\
             SetOutputFilter INCLUDES\n</Directory>\n\
             <Location /on>\nOptions +Includes\n</Location>\n\
             <LocationMatch kept>\nSSIETag On\nSSILastModified On\n</LocationMatch>\n",
        );
        for place in ["on", "on-kept", "off", "off-kept"] {
            builder = builder
                .file(&format!("htdocs/{place}/page.html"), PROGRAM)
                .file(&format!("htdocs/{place}/page.cgi"), PROGRAM);
            let file = builder.folder_of("htdocs").join(place).join("page.cgi");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(file, mode).expect("own file");
        }
        builder
    };
    let servers = apache::beside(site);
    for place in ["on", "on-kept", "off", "off-kept"] {
        for name in ["page.html", "page.cgi"] {
            for since in [None, Some("Sun, 06 Nov 2094 08:49:37 GMT")] {
                let target = format!("/{place}/{name}");
                let request = Request::get(&target);
                let request = match since {
                    Some(date) => request.field("If-Modified-Since", date),
                    None => request,
                };
                let said = servers.iter().map(|server| {
                    let answer = server.send(&request);
                    let has = |name| answer.field(name).is_some();
                    (
                        answer.status,
                        has("etag"),
                        has("last-modified"),
                        answer.text(),
                    )
                });
                let said: Vec<_> = said.collect();
                assert!(said.iter().all(|one| *one == said[0]), "{target} {said:?}");
            }
        }
    }
}

#[test]
fn pages_know_their_path_and_the_length_of_the_body_as_in_apache() {
    let shown = "<!--#set var=\"DATE_GMT\" value=\"mine\" --><!--#echo var=\"DATE_GMT\" -->|\
        <!--#echo var=\"DOCUMENT_URI\" -->|<!--#echo var=\"CONTENT_LENGTH\" -->";
    let mut pair = Pair::start(|| {
        Server::builder()
            .file("htdocs/page.shtml", shown)
            .file("htdocs/outer.shtml", "<!--#include virtual=\"/page.shtml\" -->")
            .conf(
                "<Directory @ROOT@>\nRequire all granted\nOptions Includes MultiViews\n</Directory>\n\
                 AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n",
            )
    });
    for target in [
        "/page.shtml",
        "/page",
        "/page/info",
        "/outer.shtml",
        "/outer",
    ] {
        pair.get(target);
        pair.send(&Request::post(target, "0123"));
    }
    assert_eq!(pair.get("/page").text(), "mine|/page.shtml|(none)");
}
