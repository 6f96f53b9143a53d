//! Tests which responses `Header` changes, with `always` and without. The responses are compared
//! with Apache's.

use mehari_harness::{Pair, Request, Server};

const HANDLERS: &str = "package Refuses;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse APR::Table ();\nuse Apache2::Const -compile => qw(OK NOT_FOUND REDIRECT);\n\
    sub missing { 404 }\n\
    sub leads { $_[0]->headers_out->set(Location => 'http://example.test/'); 302 }\n\
    sub says { my $r = shift; $r->status(404); $r->content_type('text/plain'); $r->print('mine'); 0 }\n\
    sub dies { die \"on purpose\\n\" }\n1;\n";

fn site() -> mehari_harness::Builder {
    let script = |head: &str| format!("#!/usr/bin/perl\nprint \"{head}\\n\\nbody\";\n");
    Server::builder()
        .file("lib/Refuses.pm", HANDLERS)
        .file("htdocs/page.txt", "page\n")
        .file("htdocs/gone.html", "gone")
        .file("htdocs/folder/index.html", "index")
        .file("htdocs/closed/page.txt", "closed")
        .file("users", "ann:$apr1$NqkTvRE0$/STroNqJjSB1yzS6wWw.B.\n")
        .file("scripts/own.pl", &script("Status: 404 Mine\\nContent-Type: text/plain"))
        .file("scripts/error.pl", &script("Status: 500 Mine\\nContent-Type: text/plain"))
        .file("scripts/leads.pl", &script("Location: http://example.test/"))
        .file("scripts/local.pl", &script("Location: /page.txt"))
        .file("scripts/ok.pl", &script("Content-Type: text/plain"))
        .file("scripts/silent.pl", "#!/usr/bin/perl\n")
        .ladder()
        .conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Refuses\n\
             Header set X-Set set\nHeader always set X-Always always\nHeader add X-Add add\n\
             Redirect 301 /moved http://example.test/\nRedirect 410 /away\n\
             RewriteEngine On\nRewriteRule ^/rewritten http://example.test/ [R=302,L]\nRewriteRule ^/refused - [F]\n\
             <Location /text>\nErrorDocument 404 \"a text\"\n</Location>\n\
             <Location /document>\nErrorDocument 404 /gone.html\n</Location>\n\
             <Location /elsewhere>\nErrorDocument 404 http://example.test/gone\n</Location>\n\
             <Location /closed>\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n\
             <Location /handler>\nSetHandler perl-script\n</Location>\n\
             <Location /handler/missing>\nPerlResponseHandler Refuses::missing\n</Location>\n\
             <Location /handler/leads>\nPerlResponseHandler Refuses::leads\n</Location>\n\
             <Location /handler/says>\nPerlResponseHandler Refuses::says\n</Location>\n\
             <Location /handler/dies>\nPerlResponseHandler Refuses::dies\n</Location>\n",
        )
}

const PLAIN: [&str; 25] = [
    "/page.txt",
    "/missing",
    "/folder",
    "/folder/",
    "/moved",
    "/away",
    "/rewritten",
    "/refused",
    "/text/missing",
    "/document/missing",
    "/elsewhere/missing",
    "/closed/page.txt",
    "/handler/missing",
    "/handler/leads",
    "/handler/says",
    "/handler/dies",
    "/cgi/own.pl",
    "/cgi/error.pl",
    "/cgi/leads.pl",
    "/cgi/local.pl",
    "/cgi/ok.pl",
    "/cgi/silent.pl",
    "/registry/own.pl",
    "/registry/leads.pl",
    "/registry/ok.pl",
];

#[test]
fn header_rules_change_the_responses_that_they_change_in_apache() {
    let pair = Pair::start(site);
    let mut differences = Vec::new();
    let conditional =
        Request::get("/page.txt").field("If-Modified-Since", "Sun, 06 Nov 2094 08:49:37 GMT");
    let range = Request::get("/page.txt").field("Range", "bytes=0-1");
    let none = Request::get("/page.txt").field("Range", "bytes=90-99");
    let plain = PLAIN.iter().map(|target| Request::get(target));
    for request in plain.chain([conditional, range, none]) {
        let seen: Vec<String> = pair
            .servers()
            .map(|server| {
                let answer = server.send(&request);
                let of = |name| answer.all(name).join(",");
                format!(
                    "{} {} {} {}",
                    answer.status,
                    of("x-set"),
                    of("x-always"),
                    of("x-add")
                )
            })
            .collect();
        if seen.iter().any(|one| *one != seen[0]) {
            differences.push(format!("{} {:?}: {seen:?}", request.target, request.fields));
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
