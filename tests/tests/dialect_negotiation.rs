//! Content negotiation: a site of variants on Mehari and on Apache, and many Accept fields. Both
//! servers choose the same variant and say the same about it.

use mehari_harness::{apache, needs, Answer, Builder, Pair, Request, Server};
use std::os::unix::fs::PermissionsExt;

const MOST_SHOWN: usize = 12;

/// The fields by which the answers are compared.
const FIELDS: [&str; 8] = [
    "content-type",
    "content-language",
    "content-location",
    "content-encoding",
    "alternates",
    "tcn",
    "vary",
    "allow",
];

const MAP: &str = "URI: page\n\nURI: page.en.html\nContent-Type: text/html; qs=0.8\n\
    Content-Language: en\n\nURI: page.fr.html\nContent-Type: text/html; qs=0.4\n\
    Content-Language: fr\nDescription: \"en (really) francais\"\n\n\
    URI: page.txt\nContent-Type: text/plain;\n  charset=utf-8; qs=0.2\nContent-Length: 7\n";
const BODIES: &str = "Content-Language: en\nContent-Type: text/html; charset=UTF-8\n\
    Body:----en--\n<p>English\n# no comment\n----en--\n\nContent-Language: de\n\
    Content-Type: text/html; charset=UTF-8\nBody:----de--\n<p>deutsch\n----de--\n";
const FAR: &str = "URI: sub/far.html\nContent-Type: text/html\n\n\
    URI: page.txt\nContent-Type: text/plain\n";
const TO_MAP: &str = "URI: page.var\nContent-Type: text/html\n\n";
const SCRIPT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\nscript }, \
    $ENV{PATH_INFO} // '', ' ', $ENV{SCRIPT_NAME}, ' ', $ENV{REQUEST_METHOD}, \"\\n\";\n";

const CONF: &str = "TypesConfig @ROOT@/mime.types
AddLanguage en .en
AddLanguage en-GB .en-gb
AddLanguage fr .fr
AddLanguage de .de
AddLanguage pt-BR .pt-br
AddCharset UTF-8 .utf8
AddCharset ISO-8859-1 .latin1
AddCharset ISO-8859-5 .cyr
AddEncoding x-gzip .gz
AddEncoding compress .Z
AddType text/html;qs=0.4 .poor
AddType text/html;level=3 .html3
AddType application/x-type-map .map
AddHandler type-map .var
AddHandler cgi-script .cgi .pl
<Directory @ROOT@/htdocs>
Options MultiViews ExecCGI FollowSymLinks Indexes
Require all granted
</Directory>
<Directory @ROOT@/htdocs/prefer>
LanguagePriority fr en
ForceLanguagePriority Prefer Fallback
</Directory>
<Directory @ROOT@/htdocs/fallback>
LanguagePriority de
LanguagePriority fr
ForceLanguagePriority Fallback
</Directory>
<Directory @ROOT@/htdocs/none>
ForceLanguagePriority None
DefaultLanguage de
</Directory>
<Directory @ROOT@/htdocs/handlers>
MultiviewsMatch Handlers
</Directory>
<Directory @ROOT@/htdocs/any>
MultiviewsMatch Any
</Directory>
<Directory @ROOT@/htdocs/off>
Options -MultiViews
</Directory>
<Directory @ROOT@/htdocs/closed>
<Files page.fr.html>
Require all denied
</Files>
</Directory>
<Directory @ROOT@/htdocs/index>
DirectoryIndex start index
</Directory>
<Directory @ROOT@/htdocs/page406>
ErrorDocument 406 /none/page.txt
</Directory>
SetEnvIf X-Language (.+) prefer-language=$1
SetEnvIf X-No-Gzip 1 no-gzip=1
SetEnvIf X-Html-Gzip 1 gzip-only-text/html=1
";

/// The variants of each folder.
const LANGUAGES: [&str; 6] = [
    "page.en.html",
    "page.fr.html",
    "page.de.html",
    "page.en-gb.html",
    "page.pt-br.html",
    "page.txt",
];

fn site() -> Builder {
    let mut builder = Server::builder().conf(CONF).file(
        "mime.types",
        "text/html html\ntext/plain txt\nimage/png png\nimage/gif gif\ntext/x-perl pl\n",
    );
    for folder in [
        "plain", "prefer", "fallback", "none", "off", "closed", "index", "page406",
    ] {
        for name in LANGUAGES {
            builder = builder.file(&format!("htdocs/{folder}/{name}"), name);
        }
    }
    let others = [
        "charsets/page.utf8.html",
        "charsets/page.latin1.html",
        "charsets/page.cyr.html",
        "charsets/page.html3",
        "codings/page.html",
        "codings/page.html.gz",
        "codings/page.html.Z",
        "codings/page.txt.gz",
        "codings/only.html.gz",
        "types/page.png",
        "types/page.gif",
        "types/page.html",
        "types/page.poor",
        "types/page.unknown",
        "types/page.html.bak",
        "types/other.bak",
        "types/two.html.en",
        "types/two.html.fr",
        "handlers/run.txt",
        "any/page.bak.html",
        "any/page.bak",
        "maps/page.en.html",
        "maps/page.fr.html",
        "maps/page.txt",
        "maps/sub/far.html",
        "index/index.html.en",
        "index/index.html.fr",
        "mixed/page.en.utf8.html",
        "mixed/page.en.latin1.html.gz",
        "mixed/page.fr.utf8.txt",
        "mixed/page.fr.png",
        "mixed/page.de.en.html",
    ];
    for name in others {
        builder = builder.file(&format!("htdocs/{name}"), name);
    }
    for (name, text) in [
        ("maps/page.var", MAP),
        ("maps/typed.map", MAP),
        ("maps/bodies.var", BODIES),
        ("maps/far.var", FAR),
        ("maps/to-map.var", TO_MAP),
        ("maps/broken.var", "no header\n"),
    ] {
        builder = builder.file(&format!("htdocs/{name}"), text);
    }
    for name in [
        "handlers/run.cgi",
        "scripts/run.pl",
        "scripts/run.cgi",
        "scripts/run.html",
    ] {
        builder = builder.file(&format!("htdocs/{name}"), SCRIPT);
        let file = builder.folder_of("htdocs").join(name);
        let mode = if name.ends_with("html") { 0o644 } else { 0o755 };
        std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).expect("own file");
    }
    builder
}

const PATHS: [&str; 42] = [
    "/plain/page",
    "/plain/page.html",
    "/plain/page.fr",
    "/plain/page.html.fr",
    "/plain/page?q=1",
    "/plain/page.en.html",
    "/plain/pag",
    "/plain/page/info",
    "/prefer/page",
    "/fallback/page",
    "/none/page",
    "/none/page.txt",
    "/off/page",
    "/closed/page",
    "/page406/page",
    "/charsets/page",
    "/codings/page",
    "/codings/page.txt",
    "/codings/only",
    "/codings/page.html.gz",
    "/types/page",
    "/types/two",
    "/types/two.html",
    "/types/other",
    "/types/page.poor",
    "/charsets/page.html3",
    "/handlers/run",
    "/handlers/run/info",
    "/any/page",
    "/maps/page",
    "/maps/page.var",
    "/maps/typed.map",
    "/maps/bodies.var",
    "/maps/bodies",
    "/maps/far.var",
    "/maps/to-map.var",
    "/maps/broken.var",
    "/index/",
    "/mixed/page",
    "/mixed/page.fr",
    "/scripts/run",
    "/scripts/run/info?x",
];

/// Fields of requests, each as `Name: value` lines.
const ASKED: [&str; 46] = [
    "",
    "Accept: */*",
    "Accept: text/html",
    "Accept: text/plain",
    "Accept: text/*",
    "Accept: image/*;q=0.5, text/html;q=0.4, */*;q=0.1",
    "Accept: image/png, image/gif;q=0.9",
    "Accept: text/html;level=3, text/html;level=2;q=0.9",
    "Accept: text/html;level=1",
    "Accept: application/pdf",
    "Accept: text/plain;q=0.001, text/html;q=0",
    "Accept: text/html, application/xhtml+xml, */*;q=0.8",
    "Accept:",
    "Accept: text/html;q=.5 text/plain",
    "Accept: TEXT/HTML ; Q=0.7 , text/plain;q=\"0.9\"",
    "Accept-Language: fr",
    "Accept-Language: en-US",
    "Accept-Language: en-GB, fr;q=0.9",
    "Accept-Language: en-gb;q=0.3, en;q=0.6, de;q=0.5",
    "Accept-Language: pt",
    "Accept-Language: pt-br",
    "Accept-Language: ja",
    "Accept-Language: ja, *;q=0.1",
    "Accept-Language: *",
    "Accept-Language: fr;q=0, *",
    "Accept-Language: fr;q=0",
    "Accept-Language: de, fr\nAccept: text/plain;q=0.9, text/html",
    "Accept-Language: fr\nAccept-Language: en;q=0.5",
    "Accept-Charset: utf-8",
    "Accept-Charset: iso-8859-5, utf-8;q=0.5, *;q=0.1",
    "Accept-Charset: koi8-r",
    "Accept-Charset: utf-8;q=0, *;q=0.5",
    "Accept-Encoding: gzip",
    "Accept-Encoding: x-gzip, identity;q=0.1",
    "Accept-Encoding: compress, gzip;q=0.5",
    "Accept-Encoding: identity;q=0, *",
    "Accept-Encoding:",
    "Accept-Encoding: gzip;q=0",
    "Accept-Encoding: gzip\nX-No-Gzip: 1",
    "Accept-Encoding: gzip\nX-Html-Gzip: 1",
    "X-Language: fr\nAccept-Language: en",
    "X-Language: ja\nAccept-Language: fr",
    "Negotiate: trans\nAccept-Language: fr",
    "Negotiate: vlist, *\nAccept-Language: fr",
    "Negotiate: 1.0\nAccept: text/html, */*;q=0.1\nAccept-Language: fr, *;q=0.2",
    "Negotiate: 1.0\nAccept: text/plain;q=0.3, text/html;q=0.5\nAccept-Charset: utf-8\n\
     Accept-Language: en;q=0.5, fr",
];

fn request(method: &str, path: &str, asked: &str) -> Request {
    let lines = asked
        .lines()
        .map(|line| line.split_once(':').expect("a field"));
    lines.fold(Request::new(method, path), |request, (name, value)| {
        request.field(name, value.trim())
    })
}

/// Status, fields and body: whole where the server writes a list of variants or a file.
fn essence(answer: &Answer) -> String {
    let mut lines = vec![answer.status.to_string()];
    let is_page = answer.status >= 400 && answer.status != 406;
    for name in FIELDS {
        let mut values = answer.all(name);
        if name == "vary" {
            let words = values.iter().flat_map(|value| value.split(','));
            let words = words.map(|word| word.trim().to_ascii_lowercase());
            values = words.collect();
            values.sort();
            values.dedup();
        }
        if !(is_page && name == "content-type") {
            lines.push(format!("{name}: {}", values.join(" | ")));
        }
    }
    if !is_page {
        lines.push(answer.text());
    }
    lines.join("\n")
}

/// Sends each request to both servers.
#[track_caller]
fn compare(requests: impl Iterator<Item = (String, Request)>, least: usize) {
    let mut servers = apache::beside(site);
    if servers.len() < 2 {
        return;
    }
    let theirs = servers.remove(1);
    let ours = &servers[0];
    let mut count = 0;
    let mut differences = Vec::new();
    for (name, request) in requests {
        count += 1;
        let (own, other) = (
            essence(&ours.send(&request)),
            essence(&theirs.send(&request)),
        );
        if own != other {
            differences.push(format!("== {name}\n{}", difference(&own, &other)));
        }
    }
    assert!(count >= least, "only {count} requests");
    let shown = differences.iter().take(MOST_SHOWN).map(String::as_str);
    assert!(
        differences.is_empty(),
        "{} of {count} answers differ\n{}",
        differences.len(),
        shown.collect::<String>()
    );
}

/// The lines of each answer that the other lacks.
fn difference(own: &str, other: &str) -> String {
    let lacking = |mark: &str, one: &str, from: &str| {
        let known: Vec<&str> = from.lines().collect();
        let lines = one.lines().filter(|line| !known.contains(line));
        lines
            .map(|line| format!("{mark} {line}\n"))
            .collect::<String>()
    };
    lacking("Mehari:", own, other) + &lacking("Apache:", other, own)
}

#[test]
fn every_accept_field_gets_apaches_variant() {
    let all = PATHS.iter().flat_map(|path| {
        let each = ASKED.iter();
        each.map(move |asked| (format!("{path} {asked:?}"), request("GET", path, asked)))
    });
    compare(all, 1800);
}

#[test]
fn other_methods_get_apaches_variant() {
    let mut all = Vec::new();
    for path in PATHS {
        for asked in [
            "",
            "Accept-Language: fr",
            "Accept: text/plain",
            "Negotiate: trans",
        ] {
            all.push((
                format!("HEAD {path} {asked:?}"),
                request("HEAD", path, asked),
            ));
            all.push((
                format!("POST {path} {asked:?}"),
                request("POST", path, asked),
            ));
        }
    }
    compare(all.into_iter(), 180);
}

const ERRORS: &str = "Alias /error/ /usr/share/apache2/error/
AddLanguage fr .fr
<Directory /usr/share/apache2/error>
Options IncludesNoExec
AddOutputFilter Includes html
AddHandler type-map var
Require all granted
LanguagePriority en cs de es fr it nl sv pt-br ro
ForceLanguagePriority Prefer Fallback
</Directory>
<Directory @ROOT@/htdocs>
Require all granted
</Directory>
<Location /closed>
Require all denied
</Location>
ErrorDocument 403 /error/HTTP_FORBIDDEN.html.var
ErrorDocument 404 /error/HTTP_NOT_FOUND.html.var
ServerAdmin webmaster@example.org
";

#[test]
fn debians_error_pages_are_in_the_clients_language() {
    if !needs::packages(&["apache2-data"]) {
        return;
    }
    let site = || {
        Server::builder()
            .conf(ERRORS)
            .file("htdocs/closed/page.html", "closed")
    };
    let mut pair = Pair::start(site).mask(&[(r"<span>[^<]*</span>", "SOFTWARE")]);
    for (path, status) in [
        ("/nothing", 404),
        ("/closed/page.html", 403),
        ("/closed/x?y=1", 403),
    ] {
        for (language, title) in [
            ("", ""),
            ("fr", ""),
            ("de", "nicht"),
            ("ja, de;q=0.5", ""),
            ("xx", ""),
        ] {
            let mut request = Request::get(path).field("Referer", "http://example.org/?a=<b>");
            if !language.is_empty() {
                request = request.field("Accept-Language", language);
            }
            let answer = pair.send(&request);
            assert_eq!(answer.status, status, "{path} {language}");
            let page = answer.text();
            assert!(
                page.contains("</html>") && page.contains(title),
                "{path} {language}: {page}"
            );
        }
    }
}

const PLACES: &str = "AddLanguage en .en
AddLanguage fr .fr
AddHandler type-map .var
<Directory @ROOT@/htdocs>
Options MultiViews
Require all granted
</Directory>
<Directory @ROOT@/htdocs/env>
<Files page.fr.html>
Require env let-in
</Files>
</Directory>
<Files login>
Require env let-in
</Files>
<Location /handled>
PerlFixupHandler 'sub { $_[0]->headers_out->set(\"X-Fixup\", $_[0]->filename =~ m{([^/]+)$}); 0 }'
</Location>
<Location /looked>
SetHandler modperl
PerlResponseHandler 'sub { my $r = shift; my $s = $r->lookup_uri(\"/env/page\"); \
  $r->content_type(\"text/plain\"); $r->print($s->filename =~ m{([^/]+)$}, \" \", $s->status); 0 }'
</Location>
RewriteEngine On
RewriteRule ^/moved/(.*) /env/$1 [PT]
SetEnvIf X-Let-In . let-in
PerlModule Apache2::RequestRec Apache2::RequestIO Apache2::SubRequest APR::Table
";

#[test]
fn variants_have_access_rules_and_handlers() {
    let site = || {
        let mut builder = Server::builder().conf(PLACES);
        for folder in ["env", "handled"] {
            for language in ["en", "fr"] {
                let name = format!("htdocs/{folder}/page.{language}.html");
                builder = builder.file(&name, &name);
            }
        }
        let map = "URI: page.en.html\nContent-Language: en\nContent-Type: text/html\n\n\
            URI: page.fr.html\nContent-Language: fr\nContent-Type: text/html\n";
        builder
            .file("htdocs/handled/map.var", map)
            .file("htdocs/env/map.var", map)
            .file("htdocs/env/login.en.html", "secret")
    };
    let mut pair = Pair::start(site).mask(&[("etag: .*", ""), ("W?/?\"[-0-9a-z;]*\"", "TAG")]);
    for path in [
        "/handled/page",
        "/handled/map.var",
        "/handled/page.fr.html",
        "/looked",
        "/env/map.var",
        "/env/login",
        "/moved/page.en",
        "/moved/page",
    ] {
        for fields in [
            &[][..],
            &["Accept-Language: fr"],
            &["X-Let-In: 1", "Accept-Language: fr"],
        ] {
            let request = request("GET", path, &fields.join("\n"));
            pair.send(&request);
        }
    }
}

#[test]
fn clients_of_http_1_0_may_not_keep_a_negotiated_response() {
    for (line, has_expires) in [("Off", true), ("On", false)] {
        let site = || {
            Server::builder()
                .conf(&format!("CacheNegotiatedDocs {line}\n{PLACES}"))
                .file("htdocs/env/page.en.html", "en")
                .file("htdocs/env/page.fr.html", "fr")
                .file("htdocs/env/bodies.var", BODIES)
                .file(
                    "htdocs/env/map.var",
                    "URI: page.en.html\nContent-Type: text/html\n",
                )
        };
        for server in apache::beside(site) {
            for (path, expected) in [
                ("/env/bodies.var", has_expires),
                ("/env/map.var", has_expires),
                ("/env/page", false),
            ] {
                let head = format!("GET {path} HTTP/1.0\r\nAccept-Language: en\r\n\r\n");
                let mut connection = server.connect();
                connection.write(head.as_bytes());
                let answer = connection.read_answer("GET").expect("an answer");
                assert_eq!(answer.status, 200, "{path}");
                let has_expires = answer.field("expires").is_some();
                assert_eq!(has_expires, expected, "{line} {path}");
            }
        }
    }
}
