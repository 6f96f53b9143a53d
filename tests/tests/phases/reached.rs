//! Tests that a sub-request reaches everything that it reaches under Apache and mod_perl: indexes,
//! listings, the rules of folders, variants, and back ends.

use super::*;
use mehari_harness::{BackEnd, Pair};
use std::io::Write;
use std::sync::mpsc;
use std::sync::Mutex;

/// A text that only the sources have.
const SECRET: &str = "password of the source";

const MODULE: &str = r#"
use Apache2::SubRequest ();
sub looks {
    my $r = shift;
    $r->content_type('text/plain');
    my ($how, $what) = split /=/, $r->args, 2;
    my $sub = $how eq 'file' ? $r->lookup_file($r->document_root . $what)
        : $how eq 'post' ? $r->lookup_method_uri('POST', $what)
        : $how eq 'head' ? $r->lookup_method_uri('HEAD', $what) : $r->lookup_uri($what);
    $r->print('status ', $sub->status, "\n");
    return 0 if $sub->status >= 400;
    if ($sub->status >= 300) {
        $r->print('to ', $sub->headers_out->get('Location') =~ s/:\d+//r, "\n");
        return 0;
    }
    my $status = $sub->run;
    $r->print("\nrun $status, then ", $sub->status, ' ', $sub->headers_out->get('X-Back') // '-', "\n");
    return 0;
}
sub says {
    my $r = shift;
    $r->content_type('text/plain');
    my ($main, $prev) = ($r->main, $r->prev);
    $r->print(join ' ', 'says', $r->uri, $r->args // '-', 'main', $main ? $main->uri : '-', 'prev', $prev ? $prev->uri : '-',
        map { "$_=" . ($r->subprocess_env($_) // '-') } qw(REDIRECT_URL REDIRECT_STATUS MARK REDIRECT_MARK FIXED REDIRECT_FIXED));
    return 0;
}
sub runs {
    my $r = shift;
    $r->content_type('text/plain');
    my $status = $r->lookup_uri($r->args)->run;
    $r->print("\nrun $status\n");
    return 0;
}
sub begins {
    my $r = shift;
    $r->print('begun');
    $r->rflush;
    $r->lookup_uri($r->args)->run;
    return 0;
}
sub fixes { $_[0]->subprocess_env(FIXED => 'fixed'); 0 }
sub refuses { 403 }
sub upper { my $f = shift; while ($f->read(my $bytes, 1024)) { $f->print(uc $bytes) } 0 }
"#;

const PROGRAM: &str = "#!/usr/bin/perl\n# password of the source\n\
    print qq{Content-Type: text/plain\\n\\n}, join ' ', 'ran', map { $_ . '=' . ($ENV{$_} // '-') } \
    qw(QUERY_STRING REQUEST_METHOD PATH_INFO REDIRECT_URL REDIRECT_STATUS REDIRECT_HANDLER MARK REDIRECT_MARK);\n";

/// Answers with a path for each key.
const MAP: &str = "#!/usr/bin/perl\n$| = 1;\nwhile (<STDIN>) { chomp; print \"/says/$_\\n\" }\n";

const RULES: &str = "RequestHeader set X-Ruled ruled\nRewriteEngine On\n\
    RewriteRule ^text$ /text.txt [L]\n\
    RewriteRule ^page$ /pages/index.shtml [L]\n\
    RewriteRule ^program$ /cgi/a.cgi?led [L,E=MARK:mark]\n\
    RewriteRule ^script$ /perl/script.pl?led [L]\n\
    RewriteRule ^says$ /says?led [L,E=MARK:mark]\n\
    RewriteRule ^external$ /text.txt [R,L]\n\
    RewriteRule ^refused$ - [F]\n\
    RewriteRule ^gone$ - [G]\n\
    RewriteRule ^back$ @BACK@/by-rule [P]\n\
    RewriteRule ^closed$ /closed/file.txt [L]\n\
    RewriteRule ^folder$ /folder/ [L]\n\
    RewriteRule ^none$ /none [L]\n\
    RewriteRule ^not-within$ /text.txt [NS,L]\n\
    RewriteRule ^query$ /rules/index.cgi?a=b [QSA,L]\n\
    RewriteRule ^chain$ text [L]\n\
    RewriteRule ^endless$ endless2 [L]\n\
    RewriteRule ^endless2$ endless [L]\n\
    RewriteRule ^chosen$ - [H=cgi-script]\n\
    RewriteRule ^mapped/(.*)$ ${paths:$1} [L]\n\
    RewriteCond %{THE_REQUEST} looks\n\
    RewriteRule ^request$ /text.txt [L]\n\
    RewriteCond %{REQUEST_FILENAME} !-f\n\
    RewriteRule ^page/(.*)$ index.cgi?p=$1 [QSA,L]\n";

const REDIRECTS: &str = "Redirect /moved/a /text.txt\nRedirect 410 /moved/gone\n\
    RedirectMatch 301 ^/moved/m(.*)$ http://other.example/$1\n";

const CONF: &str = r#"
PerlModule Reached ModPerl::Registry
DirectoryIndex index.html index.shtml index.cgi index.pl /says?index
ScriptAlias /cgi/ @ROOT@/cgi/
RewriteEngine On
RewriteMap paths prg:@ROOT@/map.pl
<Directory @ROOT@>
Require all granted
</Directory>
<Directory @ROOT@/htdocs>
AllowOverride All
Options +ExecCGI +Includes -Indexes
AddHandler cgi-script .cgi
AddHandler type-map .var
AddType text/html .shtml
AddLanguage en .en
AddLanguage de .de
AddOutputFilter INCLUDES .shtml
</Directory>
<Directory @ROOT@/htdocs/variants>
Options +MultiViews
</Directory>
<Directory @ROOT@/htdocs/listed>
Options +Indexes
DirectoryIndex none.html
</Directory>
<Directory @ROOT@/htdocs/bare>
DirectoryIndex none.html
</Directory>
<Directory @ROOT@/htdocs/closed>
Require all denied
</Directory>
<Directory @ROOT@/htdocs/acts>
Action my-action /acts/act.cgi
AddHandler my-action .act
</Directory>
<Files "*.pl">
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
</Files>
<Location /looks>
SetHandler modperl
PerlResponseHandler Reached::looks
</Location>
<Location /runs>
SetHandler modperl
PerlResponseHandler Reached::runs
</Location>
<Location /begins>
SetHandler modperl
PerlResponseHandler Reached::begins
</Location>
<Location /says>
SetHandler modperl
PerlResponseHandler Reached::says
</Location>
Alias /fixed-rules @ROOT@/htdocs/rules
Alias /fixed-folder @ROOT@/htdocs/folder
Alias /fixed-map @ROOT@/htdocs/map
<LocationMatch ^/fixed-(rules|folder|back|map)>
PerlFixupHandler Reached::fixes
</LocationMatch>
<Location /refused-back>
PerlAccessHandler Reached::refuses
</Location>
<Location /closed-back>
Require all denied
</Location>
<Location /upper-back>
PerlOutputFilterHandler Reached::upper
</Location>
<Location /page-back>
Options +Includes
SetOutputFilter INCLUDES
</Location>
Alias /perl @ROOT@/perl
<Directory @ROOT@/perl>
Options +ExecCGI
</Directory>
"#;

/// Prints the method, the path and some fields of a request.
fn back_end() -> BackEnd {
    BackEnd::start(|request, stream| {
        let line = request.head.lines().next().unwrap_or_default();
        let mut words = line.split(' ');
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        let fields: Vec<String> = [
            "X-Sent",
            "X-Ruled",
            "If-None-Match",
            "Range",
            "Cookie",
            "Content-Type",
        ]
        .iter()
        .map(|name| format!("{name}={}", request.field(name).unwrap_or("-")))
        .collect();
        let mut body = format!("back {method} {path} {}", fields.join(" "));
        let mut lines = "X-Back: yes\r\n".to_owned();
        let status = match path.rsplit('/').next() {
            Some("missing") => 404,
            Some("elsewhere") => {
                lines.push_str("Location: http://other.example/\r\n");
                302
            }
            Some("unchanged") => 304,
            Some("page") => {
                lines.push_str("Content-Type: text/html\r\n");
                body = "(<!--#include virtual=\"/says?part\" -->)(<!--#include virtual=\"/text.txt\" -->)".into();
                200
            }
            Some("long") => {
                body = "x".repeat(8 << 20);
                200
            }
            Some("too-long") => {
                body = "x".repeat(20 << 20);
                200
            }
            _ => 200,
        };
        if matches!(status, 304) || method == "HEAD" {
            body.clear();
        }
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Said\r\n{lines}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(body.as_bytes());
        false
    })
}

fn site(back: &BackEnd) -> Builder {
    let mut conf = CONF.to_owned();
    for place in [
        "back",
        "fixed-back",
        "refused-back",
        "closed-back",
        "upper-back",
        "page-back",
    ] {
        conf += &format!("ProxyPass /{place}/ {}/\n", back.url());
    }
    conf += "ProxyPass /dead/ http://127.0.0.1:9/\n";
    one_worker(&[("Reached", MODULE)], &conf)
        .file("map.pl", MAP)
        .file("cgi/a.cgi", PROGRAM)
        .file("perl/script.pl", PROGRAM)
        .file("htdocs/text.txt", "text")
        .file("htdocs/folder/index.html", "index")
        .file("htdocs/pages/index.shtml", "page <!--#echo var=\"DOCUMENT_NAME\" -->")
        .file("htdocs/programs/index.cgi", PROGRAM)
        .file("htdocs/scripts/index.pl", PROGRAM)
        .file("htdocs/elsewhere/other.txt", "other")
        .file("htdocs/bare/other.txt", "other")
        .file("htdocs/listed/other.txt", "other")
        .file("htdocs/closed/file.txt", SECRET)
        .file("htdocs/rules/.htaccess", &RULES.replace("@BACK@", &back.url()))
        .file("htdocs/rules/index.cgi", PROGRAM)
        .file("htdocs/rules/chosen", PROGRAM)
        .file("htdocs/moved/.htaccess", REDIRECTS)
        .file("htdocs/moved/file.txt", "moved")
        .file("htdocs/variants/page.html.en", "english")
        .file("htdocs/variants/page.html.de", "german")
        .file("htdocs/variants/part.shtml", "part <!--#echo var=\"DOCUMENT_NAME\" -->")
        .file("htdocs/map/page.var", "URI: one.html\nContent-Type: text/html\nContent-Language: de\n\nURI: two.html\nContent-Type: text/html\nContent-Language: en\n")
        .file("htdocs/map/one.html", "one")
        .file("htdocs/map/two.html", "two")
        .file("htdocs/map/body.var", "Content-Type: text/html\nContent-Language: en\nBody:----x----\nthe body\n----x----\n")
        .file("htdocs/acts/act.cgi", PROGRAM)
        .file("htdocs/acts/file.act", SECRET)
        .file("htdocs/parts.shtml", &PARTS.map(|part| format!("(<!--#include virtual=\"{part}\" -->)\n")).concat())
}

/// What a page includes.
const PARTS: [&str; 10] = [
    "/back/x?a=b",
    "/rules/text",
    "/rules/says",
    "/rules/program",
    "/folder/",
    "/programs/",
    "/variants/page",
    "/map/page.var",
    "/fixed-rules/text",
    "/text.txt",
];

/// What is looked up, and run unless the look-up is refused.
const QUESTIONS: &[&str] = &[
    "uri=/folder/",
    "uri=/folder",
    "uri=/pages/",
    "uri=/programs/",
    "uri=/scripts/",
    "uri=/elsewhere/",
    "uri=/bare/",
    "file=/folder/index.html",
    "uri=/rules/text",
    "file=/rules/text",
    "uri=/rules/page",
    "uri=/rules/program",
    "uri=/rules/script",
    "uri=/rules/says",
    "uri=/rules/external",
    "uri=/rules/refused",
    "uri=/rules/gone",
    "uri=/rules/back",
    "uri=/rules/back?a=b",
    "uri=/rules/folder",
    "uri=/rules/not-within",
    "uri=/rules/query?c=d",
    "uri=/rules/chain",
    "uri=/rules/chosen",
    "file=/rules/chosen",
    "uri=/rules/mapped/x",
    "uri=/rules/request",
    "uri=/rules/page/x?q=1",
    "uri=/rules/",
    "uri=/fixed-rules/text",
    "uri=/fixed-rules/program",
    "uri=/fixed-rules/says",
    "uri=/fixed-rules/external",
    "uri=/fixed-rules/refused",
    "uri=/fixed-rules/back",
    "uri=/fixed-rules/query?c=d",
    "uri=/fixed-rules/chosen",
    "uri=/fixed-rules/mapped/x",
    "uri=/fixed-rules/",
    "uri=/fixed-folder/",
    "uri=/moved/a",
    "uri=/moved/gone",
    "uri=/moved/mx",
    "uri=/moved/file.txt",
    "uri=/back/x",
    "uri=/back/x?a=b",
    "uri=/back/missing",
    "uri=/back/elsewhere",
    "uri=/back/unchanged",
    "post=/back/x",
    "head=/back/x",
    "uri=/dead/x",
    "uri=/fixed-back/x",
    "uri=/refused-back/x",
    "uri=/closed-back/x",
    "uri=/page-back/page",
    "uri=/variants/page",
    "uri=/variants/part",
    "uri=/variants/none",
    "uri=/map/page.var",
    "uri=/map/body.var",
    "uri=/fixed-map/page.var",
    "uri=/acts/file.act",
    "uri=/parts.shtml",
    "post=/listed/",
];

fn question(target: &str) -> Request {
    Request::get(target)
        .field("Accept-Language", "en")
        .field("X-Sent", "sent")
        .field("If-None-Match", "\"a\"")
        .field("Range", "bytes=0-100000")
        .field("Cookie", "a=b")
}

#[test]
fn sub_request_reaches_what_it_reaches_in_apache() {
    let back = back_end();
    let mut pair = Pair::start(|| site(&back));
    // The server keeps the program of the map.
    pair.ours().get("/runs?/rules/mapped/x").expect(200);
    pair.may_keep_what_it_has();
    let mut differences = String::new();
    for asked in QUESTIONS {
        let request = question(&format!("/looks?{asked}"));
        let all: Vec<_> = pair
            .servers()
            .map(|server| {
                let answer = server.send(&request);
                assert!(
                    !answer.text().contains(SECRET),
                    "{asked}: {}",
                    answer.text()
                );
                format!("{} {}", answer.status, answer.text())
            })
            .collect();
        for other in &all[1..] {
            if *other != all[0] {
                differences += &format!("{asked}\nApache's {other}\nours {}\n", all[0]);
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

#[test]
fn response_of_a_back_end_within_a_request_passes_the_filters_of_its_place() {
    let back = back_end();
    let server = site(&back).start();
    let text = server.get("/runs?/upper-back/x").expect(200);
    assert!(
        text.starts_with("BACK GET /X") && text.ends_with("\nrun 0\n"),
        "{text}"
    );
}

#[test]
fn sub_request_for_a_folder_without_an_index_lists_it_if_that_is_allowed() {
    let back = back_end();
    let pair = Pair::start(|| site(&back));
    for server in pair.servers() {
        let text = server.get("/looks?uri=/listed/").expect(200);
        assert!(
            text.contains("other.txt") && text.contains("run 0"),
            "{text}"
        );
        let text = server.get("/looks?uri=/bare/").expect(200);
        assert!(
            !text.contains("other.txt") && text.contains("run 403"),
            "{text}"
        );
    }
}

/// In Apache, the page of a refusal is printed, and `run` returns 0.
#[test]
fn path_to_which_rules_lead_a_sub_request_may_be_refused() {
    let back = back_end();
    let pair = Pair::start(|| site(&back));
    for (path, status) in [("closed", 403), ("none", 404), ("endless", 500)] {
        for server in pair.servers() {
            let text = server.get(&format!("/looks?uri=/rules/{path}")).expect(200);
            assert!(!text.contains(SECRET), "{path}: {text}");
        }
        let text = pair.ours().get(&format!("/looks?uri=/rules/{path}")).text();
        assert_eq!(
            text,
            format!("status 200\n\nrun {status}, then 200 -\n"),
            "{path}"
        );
    }
    pair.ours()
        .log
        .expect("redirected within the server more than 10 times");
}

#[test]
fn long_response_of_a_back_end_arrives_whole_and_a_longer_one_fails() {
    let back = back_end();
    let server = site(&back).start();
    let text = server.get("/runs?/back/long").expect(200);
    assert!(text.ends_with("\nrun 0\n"));
    assert_eq!(text.len(), (8 << 20) + "\nrun 0\n".len());
    let text = server.get("/runs?/back/too-long").expect(200);
    assert!(text.ends_with("\nrun 500\n") && text.len() < 18 << 20);
    server
        .log
        .expect("/back/too-long: the response of the sub-request becomes too long");
}

#[test]
fn sub_request_to_a_back_end_ends_when_its_client_has_left() {
    let (heard, hears) = mpsc::channel();
    let heard = Mutex::new(heard);
    let back = BackEnd::start(move |_, stream| {
        let heard = heard.lock().expect("one request");
        let _ = heard.send("asked");
        let _ = std::io::Read::read(stream, &mut [0; 1]);
        let _ = heard.send("left");
        false
    });
    let server = site(&back).start();
    let mut client = server.connect();
    client.write(&Request::get("/begins?/back/hangs").bytes());
    assert_eq!(hears.recv_timeout(PATIENCE), Ok("asked"));
    // A client that has not read everything resets its connection.
    drop(client);
    assert_eq!(hears.recv_timeout(PATIENCE), Ok("left"));
    // The only worker is free again.
    assert!(server.get("/says").expect(200).starts_with("says"));
}

#[test]
fn sub_request_reaches_a_fastcgi_program() {
    needs!("php-cgi");
    let back = back_end();
    let php = "<?php // password of the source\n\
        header('X-Back: php'); echo join(' ', [$_SERVER['SCRIPT_NAME'], $_SERVER['REQUEST_METHOD'], $_SERVER['QUERY_STRING'], $_SERVER['REQUEST_URI']]);\n";
    let mut server = site(&back)
        .file("htdocs/php/index.php", php)
        .conf("FastCgiServer /usr/bin/php-cgi\nDirectoryIndex index.php\n<FilesMatch \"\\.php$\">\nSetHandler \"proxy:fcgi:///usr/bin/php-cgi\"\n</FilesMatch>\n")
        .start();
    for path in ["/php/index.php?a=b", "/php/?a=b"] {
        let target = format!("/looks?uri={path}");
        assert_eq!(
            server.get(&target).expect(200),
            format!("status 200\n/php/index.php GET a=b {target}\nrun 0, then 200 php\n")
        );
    }
    server.may_keep_what_it_has();
}
