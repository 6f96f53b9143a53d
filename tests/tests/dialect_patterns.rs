//! Tests what regular expressions match, and which groups they find. Where Apache is installed, the
//! responses are compared with Apache's under the same configuration.

use mehari_harness::{Builder, Pair, Request, Server};

/// What stands in a `RewriteCond` after its subject, and the queries that are matched.
const PATTERNS: &[(&str, &[&str])] = &[
    // Look-around and back-references, beside bytes that are not UTF-8.
    (
        "^e.cgi(?!pub).*sec",
        &["e.cgi%FFsec", "e.cgi%C3%A9sec", "e.cgipubsec"],
    ),
    ("^(?=.*x)a.c", &["a%FFcx", "abcx", "a%C3%A9cx"]),
    ("(?<=%)evil", &["%25evil", "%FFevil"]),
    (
        r"\bevil\b",
        &["%FCevil", "evil%FC", "xevil", "%C3%A9vil-evil"],
    ),
    (
        r"(?=.)\bevil\b",
        &["%FCevil", "evil%FC", "xevil", "%C3%A9vil"],
    ),
    (
        r"^(.)\1$",
        &["aa", "ab", "%FF%FF", "%FF%FE", "%C3%A9%C3%A9"],
    ),
    (r"^(.)\g1(\g{-1})\k{n}(?<n>x)?$", &["aa", "aaa"]),
    (
        r"^(?<n>a|b)\k<n>\k'n'\k{n}(?P=n)$",
        &["aaaaa", "bbbbb", "ababa"],
    ),
    (r"^(?<!x)a(?<!b)(.)", &["ab", "a%E9"]),
    (r"(?i)^(a)\1$", &["aA", "Aa", "ab"]),
    ("^(?!a)[^b]$ [NC]", &["A", "B", "c", "%E9", "%C9"]),
    // Punctuation that is escaped.
    (r"\<\?", &["a=%3C%3Fphp", "%3Fphp"]),
    (
        r"(\<|%3C).*script.*(\>|%3E)",
        &["x=description+of", "x=%3Cscript%3E", "%253Cscript%253E"],
    ),
    (r"^\<a\>$", &["a", "%3Ca%3E"]),
    (r"^\-\!\@\#\%\&\_\=\:\;\,\~\`\'$", &["-!@%23%25&_=:;,~%60'"]),
    (r"^\%$", &["%25", "a"]),
    (r"^\é$", &["%C3%A9", "%E9"]),
    // Classes.
    ("^b[!--]$", &["b+", "b-", "b!", "b.", "b,"]),
    ("^c[+--]$", &["c-", "c+", "c,", "c."]),
    ("^d[<>&&\"']$", &["d%3C", "d&", "d%22", "d'", "da"]),
    ("^vc[a&&b]$", &["vca", "vcb", "vc&", "vcc"]),
    ("^H[~~]$", &["H~", "Ha"]),
    ("^H[a-z~~q]$", &["H~", "Ha", "H-"]),
    ("^a[a[b]c]$", &["aac]", "a[c]", "abc]", "ab"]),
    ("^A[\\h]$", &["A%20", "A%09", "A%A0", "Ah"]),
    ("^A[^\\h]$", &["A%20", "A%A0", "Ah"]),
    ("^A[\\H]$", &["A%20", "Ah"]),
    ("^A[\\v]$", &["A%0A", "A%0B", "A%85", "Av"]),
    ("^A[\\V-]$", &["A%0A", "A-", "Av"]),
    ("^[]a]$", &["]", "a", "b"]),
    ("^[^]a]$", &["]", "a", "b"]),
    ("^[a-]$", &["a", "-", "b"]),
    ("^[-a]$", &["a", "-", "b"]),
    ("^[a-c-e]$", &["b", "-", "d", "e"]),
    ("^[\\w.-]+$", &["a.b-c_9", "a+b", "%E9"]),
    ("^[[:alpha:]_]+$", &["aZ_", "a1", "%E9"]),
    ("^[[:^alpha:]]+$", &["12", "a1", "%E9"]),
    ("^[[:space:]]$", &["%0B", "%0C", "%20", "%A0", "%85"]),
    ("^[[:punct:][:digit:]]$", &["1", "+", "~", "a", "%A7"]),
    ("^[[:upper:]]$", &["A", "a", "%C9"]),
    ("^[[:upper:]]$ [NC]", &["A", "a", "1"]),
    ("^[[:^upper:]]$ [NC]", &["A", "a", "1"]),
    ("^[^a-c]$ [NC]", &["A", "b", "D", "%E9"]),
    ("^[[:word:][:xdigit:]]$", &["_", "g", "-"]),
    ("^[[:graph:]]$", &["~", "%20", "%7F"]),
    ("^[[:print:][:cntrl:]]$", &["~", "%20", "%7F", "%80"]),
    ("^[[:blank:]][[:ascii:]]$", &["%20%7F", "%09%80", "xa"]),
    ("^[[:]a$", &["[a", ":a"]),
    ("^[[=]a$", &["[a", "=a"]),
    ("^[[]$", &["[", "]"]),
    ("^[\\]\\[\\-\\^]+$", &["][-%5E", "%5C"]),
    ("^[\\b]$", &["%08", "b"]),
    ("^[\\d\\D]$", &["1", "%FF", "%0A"]),
    ("^[\\x41-\\x{43}]$", &["A", "C", "D"]),
    ("^[\\101\\x4]$", &["A", "%04", "1"]),
    (
        "^[\\e\\a\\t\\n\\r\\f]$",
        &["%1B", "%07", "%09", "%0A", "%0D", "%0C", "a"],
    ),
    ("^[\\Qa-c\\E]$", &["a", "b", "-"]),
    ("^[é]$", &["%C3%A9", "%C3", "%A9"]),
    ("^é+$", &["%C3%A9%A9", "%C3%A9%C3%A9"]),
    ("^[+--a&&b[:digit:]^]$", &[",", "a", "&", "5", "%5E", "["]),
    // Bytes and ASCII.
    ("^.$", &["%C3%A9", "%E9", "%0A", "a"]),
    ("^n.x$", &["n%0Ax", "n%0Dx", "n%FFx"]),
    ("^\\w$", &["%E9", "_", "-"]),
    ("^\\d\\D$", &["1%B2", "%B21"]),
    ("^\\s$", &["%0B", "%85", "%A0", "%20"]),
    ("^\\S$", &["%0B", "%85", "%A0", "%20"]),
    ("^é$ [NC]", &["%C3%A9", "%C3%89"]),
    ("^k$ [NC]", &["K", "%E2%84%AA"]),
    ("^ſ|s$ [NC]", &["S", "%C5%BF"]),
    ("^(?-s)a.b$", &["a%0Ab", "axb"]),
    ("^(?-s:a.)b$", &["a%0Ab", "axb"]),
    // The ends of the text and of lines.
    ("^a$", &["a", "a%0A", "%0Aa"]),
    ("^(?=a)a$", &["a", "a%0A"]),
    ("^a\\Z", &["a", "a%0A", "a%0A%0A"]),
    ("^a\\z", &["a", "a%0A"]),
    ("\\Aa", &["a", "%0Aa"]),
    ("\\Ga", &["a", "ba"]),
    ("(?m)^a$", &["b%0Aa%0Ac", "a%0A", "ba"]),
    ("(?m)^$", &["a%0A", "a%0A%0Ab"]),
    ("^(?:a(?m:b$)|a$)", &["ab%0A", "a%0A", "a"]),
    // Escapes that only PCRE knows.
    ("^\\h+\\H\\v?\\V$", &["%20%09a%0Bb", "%A0ab", "hhab"]),
    ("^a\\Nb$", &["a%0Ab", "axb"]),
    ("^a\\N{2}b$", &["axxb", "axb"]),
    ("^a\\Rb$", &["a%0Ab", "a%0D%0Ab", "aRb", "a%85b"]),
    ("^\\X$", &["a", "%E9"]),
    ("^\\Qa.b*\\E+$", &["a.b*", "a.b**", "axb"]),
    ("^a\\Q$\\E$", &["a$", "a"]),
    ("^ab\\Kc(d)$", &["abcd"]),
    ("^\\x41\\x{42}\\x4$", &["AB%04", "AB4"]),
    ("^\\101\\o{102}\\012$", &["AB%0A", "AB"]),
    ("^\\cA\\c[$", &["%01%1B", "cA"]),
    ("^\\p{Lu}\\PL$", &["A1", "%C91", "aa"]),
    ("^\\e\\a$", &["%1B%07", "ea"]),
    ("^a\\Eb$", &["ab"]),
    // Groups and repetitions.
    ("^a++b$", &["aab", "aa"]),
    ("^a++a$", &["aa"]),
    ("^a*+a|b?+b$", &["aa", "b", "bb"]),
    ("^a{1,2}+a$", &["aa", "aaa"]),
    ("^(?>a|ab)c$", &["ac", "abc"]),
    ("^(?|(a)|(b))$", &["a", "b"]),
    ("^(a)?(?(1)b|c)$", &["ab", "c", "ac"]),
    ("^(?<n>a)?(?(<n>)b|c)$", &["ab", "c", "b"]),
    ("^(\\((?:[^()]|(?1))*\\))$", &["(a(b)c)", "(a(b c)"]),
    ("^(?<n>a)(?P<o>b)(?'p'c)$", &["abc", "abd"]),
    ("^(?:(?<n>a)|(?<n>b))$", &["a", "b"]),
    ("\"^a(?#a comment [ $)b$\"", &["ab", "ac"]),
    ("\"^(?x) a b # [ $ (\"", &["ab", "a b"]),
    ("\"^(?x: a [ ] ) b$\"", &["a  b", "a b", "ab"]),
    ("^a(?i)b|c$", &["aB", "C", "AB"]),
    ("^(a(?i)b|c)d$", &["aBd", "Cd", "aBD"]),
    ("^(?i:a)b(?-i:c)$", &["Abc", "ABc"]),
    ("^(?^:a)b$ [NC]", &["aB", "AB"]),
    ("^(a*)*$", &["aa", "b"]),
    ("^(a|b*)*c$", &["abbc", "c"]),
    ("^(|a)+", &["aa"]),
    ("^(?:(a)|b)*$", &["ab", "ba"]),
    ("^(a|ab)(c|bcd)(d*)", &["abcd"]),
    ("^a{,2}$", &["a", "a{,2}"]),
    ("^a{x}{1$", &["a{x}{1"]),
    ("\"^(?=a)a{ 1 }{,1}$\"", &["a{ 1 }{,1}", "a"]),
    ("^(?:a{2}){3}$", &["aaaaaa", "aa"]),
    ("^a{0}b{1,}c{1,2}?(c?)$", &["bcc", "abc"]),
    ("(*ANYCRLF)(?m)^a$", &["a%0Db", "a%0Ab", "ab"]),
    ("^(*atomic:a|ab)c$", &["ac", "abc"]),
    ("^a(*COMMIT)b|ac$", &["ab", "ac"]),
];

fn site() -> Builder {
    let mut rules = String::from("RewriteEngine On\nRewriteMap plain int:unescape\n");
    for (number, (pattern, _)) in PATTERNS.iter().enumerate() {
        rules += &format!(
            "RewriteCond %{{REQUEST_URI}} ^/{number}$\nRewriteCond ${{plain:%{{QUERY_STRING}}}} {pattern}\n\
             RewriteRule ^ http://example.com/?0=%0&1=%1&2=%2&3=%3 [R,L,B,NE]\n"
        );
    }
    Server::builder()
        .file("htdocs/page.html", "page")
        .conf(&format!(
            "<Directory @ROOT@>\nRequire all granted\n</Directory>\n{rules}"
        ))
}

#[test]
fn patterns_match_what_they_match_in_apache() {
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    let mut matches = 0;
    for (number, (pattern, ends)) in PATTERNS.iter().enumerate() {
        for end in *ends {
            let end = end.replace(' ', "%20");
            match pair.compare(&Request::get(&format!("/{number}?{end}"))) {
                Ok(answer) => matches += usize::from(answer.status == 302),
                Err(difference) => differences.push(format!("{pattern}  {end}\n{difference}")),
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differ\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(matches > 150, "only {matches} patterns match");
}

/// Rules and sections that close what a pattern matches.
fn closed_site() -> Builder {
    Server::builder().file("htdocs/page.html", "page").conf(
        "<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
         RewriteEngine On\n\
         RewriteRule ^/e.cgi/(?!pub).*sec - [F]\n\
         RewriteRule ^/b[!--]$ - [F]\n\
         RewriteRule ^/a\\ b$ - [F]\n\
         RewriteRule \"^/c\\\\\\\\.d$\" - [F]\n\
         RewriteRule \"^/e\\.f$\" - [G]\n\
         RewriteRule '^/g\\ \"h$' - [G]\n\
         RewriteCond %{REQUEST_METHOD}\\ x \"=GET x\"\nRewriteRule ^/k - [G]\n\
         RewriteCond %{REQUEST_METHOD}\\ x =GET\\ x\nRewriteRule ^/m - [G]\n\
         RewriteCond %{THE_REQUEST} ^[A-Z]{3,9}\\ /index\\.php\\ HTTP/\nRewriteRule ^ - [G]\n\
         RewriteRule ^/l http://example.com/a\\ b [R]\n\
         RewriteCond %{QUERY_STRING} \\<\\?\nRewriteRule ^ - [F]\n\
         RewriteCond %{QUERY_STRING} (\\<|%3C).*script.*(\\>|%3E) [NC]\nRewriteRule ^ - [F]\n\
         RewriteCond %{QUERY_STRING} ^(?=(a+)+$)\nRewriteRule ^/slow - [F]\n\
         <LocationMatch \"^/l(?=.)[^a-z&&]x\">\nRequire all denied\n</LocationMatch>\n\
         AliasMatch ^/match/.$ @ROOT@/htdocs/page.html\n\
         RedirectMatch gone \"^/(?<first>.)\\\\k<first>$\"\n",
    )
}

#[test]
fn patterns_close_what_they_close_in_apache() {
    let mut pair = Pair::start(closed_site);
    let mut differences = Vec::new();
    let long = "a".repeat(6000);
    for target in [
        "/e.cgi/%FFsec",
        "/e.cgi/pubsec",
        "/b+",
        "/a%20b",
        "/c.d",
        "/c%5Cxd",
        "/e.f",
        "/g%20%22h",
        "/k",
        "/m",
        "/index.php",
        "/l",
        "/page.html?a=<?php",
        "/page.html?x=description+of",
        "/page.html?x=%3CSCRIPT%3E",
        "/l%FFx",
        "/l&x",
        "/match/%FF",
        "/match/%C3%A9",
        "/match/ab",
        "/%FF%FF",
        "/ab",
        &format!("/slow?{long}"),
        &format!("/slow?{long}b"),
    ] {
        differences.extend(pair.compare(&Request::get(target)).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
