//! Tests which fields of a request the rules see: fields by a pattern of names, and repeated
//! fields. Each response must equal Apache's.

use mehari_harness::{Pair, Request, Server};

const RULES: &str = r#"
    SetEnvIf ^X-R.* zzz G1=pattern
    SetEnvIf ^X-S.* (.*) G2=[$1]
    SetEnvIf ^(x-s).* (.*) G3=[$1]
    SetEnvIfNoCase ^(x)-s.* (.*) G4=[$1]
    SetEnvIf ^X-None.* ^$ G5=none
    SetEnvIf X.S1 (.*) G6=$1
    SetEnvIf X-S1 ^one$ G7=first
    SetEnvIf X-S1 "one, (.*)" G8=a\q\#\$1$1
    SetEnvIf X-S_1 ^$ G9=underscore
    BrowserMatch evil G10=evil
    Header always set X-G "%{G1}e|%{G2}e|%{G3}e|%{G4}e|%{G5}e|%{G6}e|%{G7}e|%{G8}e|%{G9}e|%{G10}e"
    Header always set X-Text "a\q\#\t\\z\"%%"
    Header always edit X-Text "(q)" "\w\$1$1&\&"
    SetEnvIf ^X-Evil-.* . evil
    <Location />
        <RequireAll>
            Require all granted
            Require not env evil
            Require expr "%{HTTP:X-Twice} !~ /bad/"
        </RequireAll>
    </Location>
    RewriteEngine On
    RewriteCond %{HTTP_USER_AGENT} evil [OR]
    RewriteCond %{HTTP:X-Shut} yes [OR]
    RewriteCond %{HTTP_COOKIE} shut
    RewriteRule ^ - [F]
"#;

#[test]
fn rules_see_the_fields_that_they_see_in_apache() {
    let site = || {
        Server::builder()
            .file("htdocs/page.html", "page")
            .conf(RULES)
    };
    let mut pair = Pair::start(site);
    for (fields, status) in [
        ("", 200),
        ("X-R1: zzz", 200),
        ("X-R1: zzz|X-R2: yyy", 200),
        ("X-R1: yyy|X-R2: zzz", 200),
        ("X-S1: one|X-S2: two|X-s2: three|x-s3: four|X-S1: five", 200),
        ("X-S1: one|X-S2: two", 200),
        ("x-s1: one|X-S1: two", 200),
        ("X-S1: one", 200),
        ("X-S1:|X-S1: two", 200),
        ("X-Evil-1: a", 403),
        ("X-Twice: good", 200),
        ("X-Twice: good|X-Twice: bad", 403),
        ("User-Agent: good", 200),
        ("User-Agent: good|User-Agent: evil", 403),
        ("X-Shut: no|X-Shut: yes", 403),
        ("Cookie: a=b|Cookie: shut=1", 403),
    ] {
        let mut request = Request::get("/page.html");
        for field in fields.split('|').filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once(':').expect("a field");
            request = request.field(name, value.trim());
        }
        assert_eq!(pair.send(&request).status, status, "{fields}");
    }
}
