//! Tests which request fields the conditions of expressions add to Vary. The responses are compared
//! with Apache's.

use mehari_harness::{Answer, Pair, Request, Server};

/// Names of places, each with the lines of its section.
const PLACES: [(&str, &str); 44] = [
    ("if", "<If \"%{HTTP:X-A} == '1'\">\nSetEnv seen 1\n</If>"),
    ("if-not", "<If \"%{HTTP:X-A} != '1'\">\nSetEnv seen 1\n</If>"),
    ("or", "<If \"%{HTTP:X-A} == '1' || %{HTTP:X-B} == '1'\">\nSetEnv seen 1\n</If>"),
    ("and", "<If \"%{HTTP:X-A} == '1' && %{HTTP:X-B} == '1'\">\nSetEnv seen 1\n</If>"),
    ("else", "<If \"%{HTTP:X-A} == '1'\">\nSetEnv seen 1\n</If>\n<ElseIf \"%{HTTP:X-B} == '1'\">\nSetEnv seen 2\n</ElseIf>\n<Else>\nSetEnv seen 3\n</Else>"),
    ("nested", "<If \"%{HTTP:X-A} == '1'\">\n<If \"%{HTTP:X-B} == '1'\">\nSetEnv seen 1\n</If>\n</If>"),
    ("silent", "<If \"req_novary('X-A') == '1'\">\nSetEnv seen 1\n</If>"),
    ("novary", "<If \"%{req_novary:X-A} == '1'\">\nSetEnv seen 1\n</If>"),
    ("host", "<If \"%{HTTP_HOST} == 'a.test' || req('Host') == 'b.test'\">\nSetEnv seen 1\n</If>"),
    ("names", "<If \"%{HTTP_USER_AGENT} == 'x' || %{HTTP_COOKIE} == 'x' || %{HTTP_REFERER} == 'x' || %{HTTP_ACCEPT} == 'x' || %{HTTP_FORWARDED} == 'x'\">\nSetEnv seen 1\n</If>"),
    ("within", "<If \"tolower(req('X-A')) == 'b' || %{HTTP:X-A}.%{HTTP:X-B} == 'b'\">\nSetEnv seen 1\n</If>"),
    ("text", "<If \"'a %{HTTP:X-A}' =~ /^a 1/\">\nSetEnv seen 1\n</If>"),
    ("match", "<If \"%{HTTP:X-A} =~ /1/ && '$0' == %{HTTP:X-B}\">\nSetEnv seen 1\n</If>"),
    ("glob", "<If \"%{HTTP:X-A} -strmatch '1*'\">\nSetEnv seen 1\n</If>"),
    ("among", "<If \"%{HTTP:X-A} in { '1', '%{HTTP:X-B}' }\">\nSetEnv seen 1\n</If>"),
    ("between", "<If \"%{HTTP:X-A} in { '%{HTTP:X-C}', '1', '%{HTTP:X-B}' }\">\nSetEnv seen 1\n</If>"),
    ("test", "<If \"-n %{HTTP:X-A} && -T %{HTTP:X-B}\">\nSetEnv seen 1\n</If>"),
    ("require", "Require expr \"%{HTTP:X-A} != '1'\""),
    ("any", "<RequireAny>\nRequire expr \"%{HTTP:X-A} != '1'\"\nRequire expr \"%{HTTP:X-B} == '1'\"\n</RequireAny>"),
    ("all", "<RequireAll>\nRequire all granted\nRequire expr \"%{HTTP:X-A} == '1'\"\nRequire expr \"%{HTTP:X-B} == '1'\"\n</RequireAll>"),
    ("none", "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire expr \"%{HTTP:X-A} == '1'\"\n</RequireNone>\n</RequireAll>"),
    ("page", "ErrorDocument 403 /if/page.txt\nRequire expr \"%{HTTP:X-B} == '1'\""),
    ("setenv", "SetEnvIfExpr \"%{HTTP:X-A} == '1'\" seen=1"),
    ("attribute", "SetEnvIf X-A 1 seen=1"),
    ("header", "Header set X-Seen 1 \"expr=%{HTTP:X-A} == '1'\""),
    ("always", "Header always set X-Seen 1 \"expr=%{HTTP:X-A} == '1'\""),
    ("value", "Header set X-Seen \"expr=%{HTTP:X-A}\""),
    ("request", "RequestHeader set X-C 1 \"expr=%{HTTP:X-A} == '1'\""),
    ("own", "Header set Vary \"Cookie, x-a\"\n<If \"%{HTTP:X-A} == '1' || %{HTTP:X-B} == '1'\">\nSetEnv seen 1\n</If>"),
    ("star", "Header set Vary *\n<If \"%{HTTP:X-A} == '1'\">\nSetEnv seen 1\n</If>"),
    ("forced", "SetEnv force-no-vary 1\n<If \"%{HTTP:X-A} == '1'\">\nSetEnv seen 1\n</If>"),
    ("redirect", "<If \"%{HTTP:X-A} == '1'\">\nRedirect http://x.test/\n</If>"),
    ("cond", "RewriteEngine On\nRewriteCond %{HTTP:X-A} !=2\nRewriteCond expr \"%{HTTP:X-B} == '1'\"\nRewriteRule . - [E=seen:1]"),
    ("cond-silent", "RewriteEngine On\nRewriteCond expr \"%{HTTP:X-B} == '1'\" [NV]\nRewriteRule . - [E=seen:1]"),
    ("cond-or", "RewriteEngine On\nRewriteCond %{HTTP:X-A} =1 [OR]\nRewriteCond %{HTTP:X-B} =1\nRewriteRule . - [E=seen:1]"),
    ("cond-false", "RewriteEngine On\nRewriteCond %{HTTP:X-A} =2\nRewriteRule . - [E=seen:1]"),
    ("cond-two", "RewriteEngine On\nRewriteCond %{HTTP:X-A}%{HTTP:X-A} !=2\nRewriteCond %{HTTP:X-B} !=2\nRewriteRule . - [E=seen:1]"),
    ("cond-novary", "RewriteEngine On\nRewriteCond %{HTTP:X-A} !=2 [NV]\nRewriteCond %{HTTP:X-B} !=2\nRewriteRule . - [E=seen:1]"),
    ("cond-value", "RewriteEngine On\nRewriteRule . - [E=seen:%{HTTP:X-B}]"),
    ("cond-expr", "RewriteEngine On\nRewriteCond expr \"%{HTTP:X-A} == '1'\"\nRewriteCond expr \"%{HTTP:X-B} == '1'\"\nRewriteRule . - [E=seen:1]"),
    ("cond-refused", "RewriteEngine On\nRewriteCond %{HTTP:X-A} =1\nRewriteRule . - [F]"),
    ("cond-away", "RewriteEngine On\nRewriteCond %{HTTP:X-A} =1\nRewriteRule ^own http://x.test/ [R]"),
    ("cond-inner", "RewriteEngine On\nRewriteCond %{HTTP:X-A} =1\nRewriteRule ^page /cond-value/page.txt"),
    ("cond-forced", "RewriteEngine On\nRewriteCond %{HTTP:X-A} =1\nRewriteRule . - [E=force-no-vary:1]"),
];

fn site() -> mehari_harness::Builder {
    let script = |head: &str| format!("#!/usr/bin/perl\nprint qq{{{head}\\n\\nbody}};\n");
    let scripts = [
        (
            "own.pl",
            "Content-Type: text/plain\\nVary: Cookie\\nVary: X-a, cookie",
        ),
        ("inner.pl", "Location: /cond-value/page.txt"),
        ("away.pl", "Location: http://x.test/"),
        ("lost.pl", "Status: 404 none\\nContent-Type: text/plain"),
    ];
    let mut builder = Server::builder();
    let mut lines = String::from(
        "DirectoryIndex page.txt\nRewriteEngine On\nRewriteCond %{HTTP:X-B} =1\n\
         RewriteRule ^/passed/(.*) /cond-value/$1 [PT]\nRewriteCond %{HTTP:X-B} =1\n\
         RewriteRule ^/refused/ - [F]\n<Location /early>\n<If \"%{HTTP:X-A} == '1'\">\n\
         Redirect http://x.test/\n</If>\n</Location>\n",
    );
    for (name, rules) in PLACES {
        builder = builder.file(&format!("htdocs/{name}/page.txt"), "page\n");
        for (file, head) in scripts {
            builder = builder.file(&format!("htdocs/{name}/{file}"), &script(head));
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            let path = builder.folder_of(&format!("htdocs/{name}/{file}"));
            std::fs::set_permissions(path, mode).expect("own file");
        }
        lines += &format!(
            "<Directory @ROOT@/htdocs/{name}>\nOptions +ExecCGI\nAddHandler cgi-script .pl\n{rules}\n</Directory>\n"
        );
    }
    builder.conf(&lines)
}

#[test]
fn conditions_add_the_fields_that_they_read_to_vary_as_in_apache() {
    let pair = Pair::start(site);
    let mut differences = Vec::new();
    let pages = [
        "page.txt", "own.pl", "inner.pl", "away.pl", "lost.pl", "missing", "",
    ];
    let places = PLACES.iter().map(|(place, _)| *place);
    for place in places.chain(["passed", "refused", "early"]) {
        for page in pages {
            for fields in [&[][..], &["X-A"], &["X-B"], &["X-A", "X-B"]] {
                let mut request = Request::get(&format!("/{place}/{page}"));
                for name in fields {
                    request = request.field(name, "1");
                }
                let seen: Vec<String> = pair
                    .servers()
                    .map(|server| seen(&server.send(&request)))
                    .collect();
                if seen.iter().any(|one| *one != seen[0]) {
                    differences.push(format!("{} {fields:?}: {seen:?}", request.target));
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// Returns the status and the members of Vary in sorted order.
fn seen(answer: &Answer) -> String {
    let vary = answer.all("vary");
    assert!(vary.len() < 2, "several Vary fields: {vary:?}");
    let mut members: Vec<&str> = vary.iter().flat_map(|value| value.split(',')).collect();
    members.sort_unstable();
    format!("{} {}", answer.status, members.join(","))
}
