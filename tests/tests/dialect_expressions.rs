//! Tests the language of expressions: conditions and texts of `Header` lines. The responses are
//! compared with Apache's.

use mehari_harness::{Pair, Request, Server, PATIENCE};
use std::time::{Duration, SystemTime};

/// Conditions, of which some hold.
const CONDITIONS: &[&str] = &[
    "true",
    "false",
    "!true",
    "! true",
    "not true",
    "true && false || true",
    "(true)",
    "!(true)",
    "'a' == 'a'",
    "'a' = 'a'",
    "1 == 1",
    "1 -eq 1",
    "1 eq 1",
    "'1' -eq '01'",
    "'10' -gt '9'",
    "'10' > '9'",
    "'abc' -eq 0",
    "'12abc' -eq 12",
    "' 12' -eq 12",
    "'-5' -lt '3'",
    "'0x10' -eq 16",
    "'99999999999999999999' -gt 5",
    "'a' != 'b'",
    "'a' < 'b'",
    "'a' <= 'b'",
    "'a' >= 'b'",
    "'a' lt 'b'",
    "'a' -lt 'b'",
    "1 -ne 2",
    "1 -le 2",
    "1 -ge 2",
    "'%{REQUEST_URI}' == '/page.html'",
    "%{REQUEST_URI} == '/page.html'",
    "%{REQUEST_URI} =~ /page/",
    "%{REQUEST_URI} =~ m#/page#",
    "%{REQUEST_URI} =~ m#/PAGE#i",
    "%{REQUEST_URI} =~ m/PAGE/i",
    "%{REQUEST_URI} =~ /PAGE/i",
    "%{REQUEST_URI} =~ m!/page!",
    "%{REQUEST_URI} =~ m^/page^",
    "%{REQUEST_URI} =~ m,/page,",
    "%{REQUEST_URI} =~ m|/page|",
    "%{REQUEST_URI} =~ m%/page%",
    "%{REQUEST_URI} =~ m:/page:",
    "%{REQUEST_URI} =~ m'/page'",
    "%{REQUEST_URI} =~ m$/page$",
    "%{REQUEST_URI} =~ m_/page_",
    "%{REQUEST_URI} =~ m;/page;",
    "%{REQUEST_URI} =~ m?/page?",
    "%{REQUEST_URI} =~ m-/page-",
    "%{REQUEST_URI} =~ m./page.",
    "%{REQUEST_URI} !~ /page/",
    "! %{REQUEST_URI} =~ /page/",
    "!%{REQUEST_URI} =~ /page/",
    "%{REQUEST_URI} =~ /(p)a/ && $1 == 'p'",
    "%{REQUEST_URI} =~ /(p)a/ && '$1' == 'p'",
    "%{REQUEST_URI} =~ /(p)a/ && '$0' == 'pa'",
    "%{REQUEST_URI} =~ /(p)a/ && '$2' == ''",
    "%{REQUEST_URI} =~ /(?<n>p)a/ && $1 == 'p'",
    "%{REQUEST_URI} -strmatch '/p*'",
    "%{REQUEST_URI} -strmatch '*page*'",
    "%{REQUEST_URI} -strmatch '/p?ge.html'",
    "%{REQUEST_URI} -strmatch '/p[a-c]ge.html'",
    "%{REQUEST_URI} -strcmatch '/P*'",
    "%{REQUEST_URI} -fnmatch '/p*'",
    "%{REQUEST_URI} -fnmatch '*'",
    "'/a/b' -fnmatch '/*'",
    "'/a/b' -fnmatch '/a/*'",
    "'/a/b' -strmatch '/*'",
    "'.a' -fnmatch '*'",
    "%{REMOTE_ADDR} -ipmatch '127.0.0.1'",
    "%{REMOTE_ADDR} -ipmatch '127.0.0.0/8'",
    "%{REMOTE_ADDR} -ipmatch '127'",
    "%{REMOTE_ADDR} -ipmatch '127.0.0.0/255.0.0.0'",
    "%{REMOTE_ADDR} -ipmatch '::1'",
    "-R '127.0.0.1'",
    "-R '10.0.0.0/8'",
    "-n %{REQUEST_URI}",
    "-n ''",
    "-z ''",
    "-z %{QUERY_STRING}",
    "-T 'on'",
    "-T 'On'",
    "-T 'off'",
    "-T '0'",
    "-T '1'",
    "-T ''",
    "-T 'no'",
    "-T 'false'",
    "-T 'foo'",
    "-T %{HTTPS}",
    "-T env('X')",
    "-d '/tmp'",
    "-d '/etc/passwd'",
    "-f '/etc/passwd'",
    "-f %{REQUEST_FILENAME}",
    "-e '/etc/passwd'",
    "-e '/nonexist'",
    "-s '/etc/passwd'",
    "-L '/bin'",
    "-h '/bin'",
    "-x '/bin/sh'",
    "-x '/etc/passwd'",
    "-x '/tmp'",
    "-s '/tmp'",
    "-U '/page.html'",
    "-U '/nonexistent'",
    "-U '/guard/x'",
    "-F '/etc/passwd'",
    "-F '%{REQUEST_FILENAME}'",
    "-F '/nonexistent'",
    "-A '/page.html'",
    "-A '/nonexistent'",
    "-A '/guard/x'",
    "'b' in { 'a', 'b' }",
    "'b' -in { 'a', 'b' }",
    "'b' in {'a','b'}",
    "'c' in { 'a', 'b' }",
    "'b' in { 'b' }",
    "%{REQUEST_URI} in { '/a', '/page.html' }",
    "%{REQUEST_METHOD} in { 'GET', 'HEAD' }",
    "req('X-A') == 'v'",
    "http('X-A') == 'v'",
    "HTTP('X-A') == 'v'",
    "REQ('X-A') == 'v'",
    "%{req:X-A} == 'v'",
    "%{http:X-A} == 'v'",
    "%{HTTP:X-A} == 'v'",
    "%{req_novary:X-A} == 'v'",
    "req_novary('X-A') == 'v'",
    "reqenv('FOO') == 'bar'",
    "%{reqenv:FOO} == 'bar'",
    "env('FOO') == 'bar'",
    "%{env:FOO} == 'bar'",
    "%{ENV:FOO} == 'bar'",
    "ENV('FOO') == 'bar'",
    "note('N') == ''",
    "%{note:N} == ''",
    "tolower('ABC') == 'abc'",
    "%{tolower:ABC} == 'abc'",
    "toLower('ABC') == 'abc'",
    "toupper('abc') == 'ABC'",
    "escape('a b/c') == 'a%20b/c'",
    "unescape('a%20b') == 'a b'",
    "unescape('%2e') == '.'",
    "base64('abc') == 'YWJj'",
    "unbase64('YWJj') == 'abc'",
    "%{base64:abc} == 'YWJj'",
    "md5('abc') == '900150983cd24fb0d6963f7d28e17f72'",
    "sha1('abc') == 'a9993e364706816aba3e25717850c26c9cd0d89d'",
    "filesize('/nonexistent') -eq 0",
    "%{filesize:/etc/passwd} -gt 0",
    "tolower(req('X-A')) == 'v'",
    "tolower(%{REQUEST_URI}) == '/page.html'",
    "tolower('a' . 'B') == 'ab'",
    "'a' . 'b' == 'ab'",
    "'a'.'b' == 'ab'",
    "%{REQUEST_URI} . 'x' == '/page.htmlx'",
    "%{REQUEST_URI}.'x' == '/page.htmlx'",
    "'a' . %{REQUEST_METHOD} . 'b' == 'aGETb'",
    "1 . 2 == 12",
    "'%{tolower:%{REQUEST_URI}}' == '/page.html'",
    "%{tolower:%{REQUEST_URI}} == '/page.html'",
    r#"'a\zb' == 'x'"#,
    "'%' == '%'",
    "'100%' == '100%'",
    "'$' == '$'",
    "'a$b' == 'a$b'",
    r#"'\$1' == '$1'"#,
    "%{request_uri} == '/page.html'",
    "%{Request_Uri} == '/page.html'",
    "%{HTTP_ACCEPT} == '*/*'",
    "%{HTTP_REFERER} == ''",
    "%{HTTP_USER_AGENT} == 'u'",
    "%{HTTP_COOKIE} == ''",
    "%{HTTP_FORWARDED} == ''",
    "%{HTTP_PROXY_CONNECTION} == ''",
    "%{REQUEST_METHOD} == 'GET'",
    "%{REQUEST_SCHEME} == 'http'",
    "%{DOCUMENT_URI} == '/page.html'",
    "%{REQUEST_FILENAME} == 'x'",
    "%{SCRIPT_FILENAME} == 'x'",
    "%{PATH_INFO} == ''",
    "%{QUERY_STRING} == ''",
    "%{IS_SUBREQ} == 'false'",
    "%{THE_REQUEST} -strmatch 'GET*'",
    "%{REMOTE_ADDR} == '127.0.0.1'",
    "%{REMOTE_HOST} == '127.0.0.1'",
    "%{REMOTE_USER} == ''",
    "%{REMOTE_IDENT} == ''",
    "%{SERVER_NAME} == '127.0.0.1'",
    "%{SERVER_ADMIN} == 'admin@example.test'",
    "%{SERVER_PROTOCOL} == 'HTTP/1.1'",
    "%{AUTH_TYPE} == ''",
    "%{CONTENT_TYPE} == 'text/html'",
    "%{HTTPS} == 'off'",
    "%{IPV6} == 'off'",
    "%{REQUEST_STATUS} == '200'",
    "%{CONN_REMOTE_ADDR} == '127.0.0.1'",
    "%{CONTEXT_PREFIX} == ''",
    "'abc' =~ /b/ || 'x' =~ /y/",
    "'abc' =~ /(b)/ && 'x$1' =~ /(xb)/ && $1 == 'xb'",
    "true and true",
    "true or false",
    "%{REMOTE_ADDR} -in { '127.0.0.1' }",
    "! -f '/etc/passwd'",
    "! ( -f '/etc/passwd' )",
    "!-f '/etc/passwd'",
    "tolower(%{HTTP:X-A}) -eq 'v'",
    "'2' -eq 2 && 3 == '3'",
    "'a,b' == 'a,b'",
    "1.5 == 1.5",
    "-1 == -1",
    "5 -gt -1",
];

const TEXTS: &[&str] = &[
    "plain",
    "%{REQUEST_URI}",
    "a%{REQUEST_URI}b",
    "%{tolower:ABC}",
    "%{toupper:%{REQUEST_URI}}",
    "%{tolower:%{toupper:aB}}",
    "%{md5:abc}",
    "%{sha1:abc}",
    "%{base64:abc}",
    "%{unbase64:YWJj}",
    "%{unbase64:YWJ}",
    "%{unbase64:!!}",
    "%{escape:a b&c?d=e/f+g%}",
    "%{escape:%{QUERY_STRING}}",
    "%{unescape:a%20b%2f}",
    "%{env:FOO}",
    "%{ENV:FOO}",
    "%{reqenv:FOO}",
    "%{reqenv:NONE}",
    "%{note:n}",
    "%{note:X}",
    "%{req:X-A}",
    "%{http:X-A}",
    "%{HTTP:X-A}",
    "%{HTTP_ACCEPT}",
    "%{HTTP_COOKIE}",
    "%{HTTP_REFERER}",
    "%{HTTP_USER_AGENT}",
    "%{HTTP_FORWARDED}",
    "%{filesize:/etc/passwd}",
    "%{filesize:/nonexistent}",
    "%{REQUEST_METHOD}",
    "%{REQUEST_SCHEME}",
    "%{DOCUMENT_URI}",
    "%{PATH_INFO}",
    "%{QUERY_STRING}",
    "%{IS_SUBREQ}",
    "%{THE_REQUEST}",
    "%{REMOTE_ADDR}",
    "%{REMOTE_HOST}",
    "%{REMOTE_USER}",
    "%{REMOTE_IDENT}",
    "%{SERVER_NAME}",
    "%{SERVER_ADMIN}",
    "%{SERVER_PROTOCOL}",
    "%{AUTH_TYPE}",
    "%{CONTENT_TYPE}",
    "%{HTTPS}",
    "%{IPV6}",
    "%{REQUEST_STATUS}",
    "%{CONN_REMOTE_ADDR}",
    "%{CONTEXT_PREFIX}",
    "$1",
    "$0",
    "a$",
    "100%",
    "a%b",
    "a%%b",
    r#"\%{REQUEST_URI}"#,
    r#"\$1"#,
    "%{REQUEST_URI}}",
    "{a}",
    "%{request_uri}",
    "%{req:%{note:x}}",
    "%{tolower:a}b}",
    "%{req_novary:X-A}",
    "a:b c,d",
];

/// Returns one `Header` line for each expression.
fn lines() -> String {
    let conditions = CONDITIONS.iter().zip(1..);
    let conditions =
        conditions.map(|(text, number)| format!("Header set X-{number} yes \"expr={text}\"\n"));
    let texts = TEXTS.iter().zip(1..);
    let texts = texts.map(|(text, number)| format!("Header set Y-{number} \"expr={text}\"\n"));
    conditions.chain(texts).collect()
}

#[test]
fn expressions_have_the_values_that_they_have_in_apache() {
    let site = || {
        Server::builder()
            .file("htdocs/page.html", "page\n")
            .file("htdocs/guard/page.html", "page\n")
            .conf(&format!(
                "ServerAdmin a@example.test\nSetEnv FOO bar\n<Location /guard>\nRequire all denied\n</Location>\n{}",
                lines()
            ))
    };
    let mut pair = Pair::start(site);
    for target in ["/page.html?a=b%20c", "/missing", "/page.html/more"] {
        let request = Request::get(target).field("X-A", "v");
        let answer = pair.compare(&request);
        assert!(answer.is_ok(), "{}", answer.err().unwrap_or_default());
    }
}

#[test]
fn times_are_local_as_in_apache() {
    let site = || {
        let site = Server::builder()
            .file("htdocs/page.html", "page\n")
            .env("TZ", "Asia/Kathmandu")
            .conf(
                "Header set X-Modified \"expr=%{LAST_MODIFIED}\"\n\
                 Header set X-Now \"expr=%{TIME} %{TIME_HOUR}:%{TIME_MIN} %{TIME_WDAY}\"\n\
                 RewriteEngine On\nRewriteRule ^ - [E=NOW:%{TIME_HOUR}%{TIME_MIN}]\n\
                 Header set X-Rule %{NOW}e\n",
            );
        let page = site.folder_of("htdocs").join("page.html");
        let file = std::fs::File::options().write(true).open(page);
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        file.expect("own file")
            .set_modified(date)
            .expect("own file");
        site
    };
    let pair = Pair::start(site);
    let said = |name: &str| -> Vec<Option<String>> {
        let servers = pair.servers();
        servers
            .map(|server| server.get("/page.html").field(name))
            .collect()
    };
    for modified in said("x-modified") {
        assert_eq!(modified.as_deref(), Some("20200913181140"));
    }
    // The next second may come between the two requests.
    for name in ["x-now", "x-rule"] {
        let are_equal = || said(name).windows(2).all(|pair| pair[0] == pair[1]);
        assert!(mehari_harness::eventually(PATIENCE, are_equal), "{name}");
    }
}

/// Access rules of folders.
const GUARDS: &[(&str, &str)] = &[
    ("near", "Require ip 127.0.0.1"),
    ("far", "Require ip 10.0.0.0/8"),
    ("not", "<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.1\n</RequireAll>"),
    ("told", "Require env TOLD"),
    ("untold", "Require env UNTOLD"),
    ("posted", "Require method POST"),
    ("got", "Require method GET"),
    ("asked", "Require expr \"%{QUERY_STRING} == 'a'\""),
    ("itself", "Require expr \"%{REQUEST_URI} == '/itself/page.html'\""),
    ("deny", "Order Deny,Allow\nDeny from 127.0.0.1"),
    ("allow", "Order Allow,Deny\nAllow from 127.0.0.1"),
    ("user", "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user"),
    ("any", "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\nOrder Allow,Deny\nAllow from 127.0.0.1\nSatisfy Any"),
];

#[test]
fn other_paths_are_admitted_by_their_access_rules_as_in_apache() {
    let site = || {
        let mut builder = Server::builder()
            .file("htdocs/page.html", "page\n")
            .file("users", "ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
            .conf("SetEnvIf Request_URI . TOLD=1\n");
        for (name, rules) in GUARDS {
            builder = builder
                .file(&format!("htdocs/{name}/page.html"), "page\n")
                .conf(&format!(
                    "<Directory @ROOT@/htdocs/{name}>\n{rules}\n</Directory>\n\
                     Header set U-{name} yes \"expr=-U '/{name}/page.html'\"\n\
                     Header set A-{name} yes \"expr=-A '/{name}/page.html'\"\n\
                     Header set F-{name} yes \"expr=-F '@ROOT@/htdocs/{name}/page.html'\"\n"
                ));
        }
        builder
    };
    let mut pair = Pair::start(site);
    for target in ["/page.html", "/page.html?a", "/near/page.html"] {
        pair.send(&Request::get(target));
        pair.send(&Request::get(target).field("Authorization", "Basic YW5uOnRlc3Q="));
    }
    assert_eq!(pair.get("/page.html").field("u-far"), None);
}

const GROUPS: &str = r#"
    RewriteEngine On
    RewriteCond expr "%{HTTP:X-A} =~ /^(.)(.)/"
    RewriteRule ^/one - [E=ONE:%1-%2-$0]
    RewriteCond %{HTTP:X-B} ^(.)
    RewriteCond expr "%{HTTP:X-A} =~ /(.)$/ || true"
    RewriteRule ^/two - [E=TWO:%1]
    RewriteCond %{HTTP:X-B} ^(.)
    RewriteCond expr "!(%{HTTP:X-A} =~ /^z(.)/)"
    RewriteRule ^/three - [E=THREE:%1]
    RewriteCond expr "%{HTTP:X-A} =~ /^(.)/ && %{HTTP:X-B} =~ /(.)$/"
    RewriteCond expr "%{HTTP:X-A} == '%1%1'" [OR]
    RewriteCond %1 !^$
    RewriteRule ^/four - [E=FOUR:%1]
    RewriteCond expr "%{HTTP:X-A} =~ /^(.)/ && %{HTTP:X-B} == 'never'" [OR]
    RewriteCond %{HTTP:X-B} (.)$
    RewriteRule ^/five - [E=FIVE:%1]
    SetEnvIfExpr "%{HTTP:X-A} =~ /^(.)(.)/" SIX=$2$1 SEVEN=$0
    SetEnvIfExpr "%{HTTP:X-A} =~ /^(.)/ && %{HTTP:X-B} =~ /(.)$/" EIGHT=<$1>
    <Location />
        SetEnvIfExpr "%{HTTP:X-B} =~ /(..)$/" NINE=<$1>
    </Location>
    Header always set X-Seen "%{ONE}e %{TWO}e %{THREE}e %{FOUR}e %{FIVE}e %{SIX}e %{SEVEN}e %{EIGHT}e %{NINE}e"
"#;

#[test]
fn groups_of_an_expression_are_those_of_apache() {
    let site = || {
        Server::builder()
            .file("htdocs/page.html", "page")
            .conf(GROUPS)
    };
    let mut pair = Pair::start(site);
    for path in ["/one", "/two", "/three", "/four", "/five"] {
        for (a, b) in [
            ("", ""),
            ("ab", "cd"),
            ("zz", "xy"),
            ("q", "never"),
            ("aa", "a"),
        ] {
            let request = Request::get(path).field("X-A", a).field("X-B", b);
            pair.send(&request);
        }
    }
}

/// In Apache, such a condition leaves groups of whatever stands in its memory.
#[test]
fn a_true_expression_without_groups_empties_the_groups_of_earlier_conditions() {
    for expression in ["true", "%{QUERY_STRING} -strmatch 'a*'", "%{HTTPS} != 'on'"] {
        let server = Server::builder()
            .conf(&format!(
                "RewriteEngine On\nRewriteCond %{{QUERY_STRING}} ^(.)\n\
                 RewriteCond expr \"{expression}\"\nRewriteRule ^ /[%0%1] [R]\n"
            ))
            .start();
        let place = server.get("/x?ab").field("location").expect("a redirect");
        assert!(place.ends_with("/%5B%5D?ab"), "{expression}: {place}");
    }
}
