//! Tests how the targets of redirects are escaped. Each status and Location must equal Apache's.

use mehari_harness::{apache, Builder, Request, Server};

/// The directives that redirect paths below `/N/`. `@` is the number N.
const RULES: &[&str] = &[
    "Redirect /@/ http://a.example/t/",
    "Redirect /@/ /t/",
    "Redirect /@/ \"http://a.example/a b%20c?q=\"",
    "RedirectMatch ^/@/(.*) http://a.example/t/$1",
    "RedirectMatch ^/@/(.*) http://a.example/t?q=$1",
    "RedirectMatch ^/@/(.*) http://a.example/t#$1",
    "RedirectMatch ^/@/(.*) http://a.example/$1?q=$1#$1",
    "RedirectMatch ^/@/(.*) \"http://a.example/x y%20z/$1\"",
    "RedirectMatch ^/@/(.*) https://ann@a.example:8443/$1",
    "RedirectMatch ^/@/(.*) ftp://a.example/$1",
    "RedirectMatch ^/@/(.*) /t/$1",
    "RedirectMatch ^/@/(.*) /t?q=$1",
    "RedirectMatch ^/@/(.*) /t/$1#$1",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,NE]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,B]",
    "RewriteRule ^/@/(.*) http://a.example/t?a=$1 [R,QSL]",
    "RewriteRule ^/@/(.*) http://a.example/$1?b=1 [R,QSL]",
    "RewriteRule ^/@/(.*) http://a.example/$1?b=1 [R]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,BNP]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,BNE=/]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,NE,BNP,BNE=/]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,NE,BCTLS]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,NE,BCTLS,BNP]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,NE,B=&,BCTLS]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,NE,backrefescaping,backrefernoplus]",
    "RewriteRule ^/@/(.*) http://a.example/$1\\#f\\r\\\\q\\$1\\%2 [R]",
    "RewriteRule ^/@/(.*) http://a.example/$1\\#f\\r [R,NE]",
    "RewriteCond a\\b\\#c ^(.*)$\nRewriteRule ^/@/(.*) http://a.example/%1 [R,NE]",
    "RewriteRule ^/@/(.*) http://a.example/%{ENV:Q@} [R,E=Q@:a\\b\\#]",
    "RewriteRule ^/@/ - [E=Q@:a\\b\\#,E=P@:%{ENV:Q@}]\nRewriteRule ^/@/ http://a.example/%{ENV:P@} [R]",
    "RedirectMatch ^/@/(.*) http://a.example/$1\\#f\\r\\$1\\&",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,QSA]",
    "RewriteRule ^/@/(.*) http://a.example/t?q=$1 [R]",
    "RewriteRule ^/@/(.*) http://a.example/t?q=$1 [R,QSA]",
    "RewriteRule ^/@/(.*) http://a.example/t?q=$1 [R,NE]",
    "RewriteRule ^/@/(.*) http://a.example/t?q=$1 [R,B]",
    "RewriteRule ^/@/(.*) http://a.example/t#$1 [R]",
    "RewriteRule ^/@/(.*) http://a.example/t#$1 [R,NE]",
    "RewriteRule ^/@/(.*) http://a.example/t?q=a%20b#$1 [R]",
    "RewriteRule ^/@/(.*) \"http://a.example/x y%20z/$1\" [R]",
    "RewriteRule ^/@/(.*) https://ann@a.example:8443/$1 [R]",
    "RewriteRule ^/@/(.*) http://$1.example/ [R]",
    "RewriteRule ^/@/(.*) /t/$1 [R]",
    "RewriteRule ^/@/(.*) /t/$1 [R,NE]",
    "RewriteRule ^/@/(.*) /t?q=$1 [R]",
    "RewriteRule ^/@/(.*) /t/$1#x [R]",
    "RewriteRule ^/@/(.*) http://a.example/t/$1 [R,QSD]",
    "RewriteRule ^/@/(.*) mailto:$1 [R]",
    "RewriteRule ^/@/(.*) MailTo:$1#$1",
    "RewriteRule ^/@/(.*) https://a.example/$1",
    "<Location /@>\nRewriteRule htdocs/@/(.*) http://a.example/$1#$1 [R,L]\n</Location>",
    "<Location /@>\nRewriteRule htdocs/@/(.*) http://a.example/$1#$1 [R,NE,L]\n</Location>",
    "<Location /@>\nRewriteEngine On\nRewriteRule htdocs/@/(.*) /t/$1 [R,L]\n</Location>",
    "<Location /@>\nRewriteEngine On\nRewriteRule htdocs/@/(.*) http://a.example/$1#$1 [R,L]\n</Location>",
    "<Location /@>\nRedirectMatch ^/@/(.*) http://a.example/$1#$1\n</Location>",
    "<Location /@>\nRedirect \"http://a.example/t/%{escape:%{REQUEST_URI}}\"\n</Location>",
];

/// What follows `/N/`. Mehari refuses control characters in a path.
const RESTS: &[&str] = &[
    "",
    "a/b.html",
    "a%20b",
    "a%23b",
    "a%25b",
    "a%2541b",
    "a%3Fb",
    "a%3Fb?c=d",
    "%C3%A4",
    "%FF",
    "a;b=c&d",
    "a%22%3C%3E%5C%5E%60%7B%7C%7D",
    "a%5B1%5D",
    "a+b%2Bc",
    "a:b@c!$'()*,",
    "a?x=y",
    "a?x=%20y%23z%C3%A4",
    "a?",
    "a%20b?c+d%2B",
];

fn site() -> Builder {
    let rules = RULES.iter().enumerate();
    let rules = rules.map(|(number, rule)| format!("{}\n", rule.replace('@', &number.to_string())));
    let rules: String = rules.collect();
    Server::builder()
        .file("htdocs/page.html", "page")
        .conf(&format!("RewriteEngine On\n{rules}"))
}

/// Returns a target in which the codes of bytes have lower-case digits. Apache leaves some blanks
/// as they are, and Mehari writes their code.
fn plain(location: &str) -> String {
    let mut plain = String::new();
    let mut parts = location.split('%');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (code, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        plain.push_str(&format!("%{}{rest}", code.to_ascii_lowercase()));
    }
    plain.replace(' ', "%20")
}

#[test]
fn targets_of_redirects_are_escaped_as_in_apache() {
    let servers = apache::beside(site);
    let mut differences = Vec::new();
    for (number, rule) in RULES.iter().enumerate() {
        for rest in RESTS {
            let target = format!("/{number}/{rest}");
            let answers: Vec<_> = servers
                .iter()
                .map(|server| {
                    let answer = server.send(&Request::get(&target));
                    let location = answer.field("Location").unwrap_or_default();
                    let own = server.address.to_string();
                    (answer.status, plain(&location.replace(&own, "SERVER")))
                })
                .collect();
            if answers.iter().any(|answer| *answer != answers[0]) {
                differences.push(format!("{rule}\n  {target}\n  {answers:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
