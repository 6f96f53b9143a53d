//! Tests the fields of error pages: files, texts and addresses of `ErrorDocument`. Each response
//! must equal Apache's.

use mehari_harness::{apache, Builder, Request, Server};

const FIELDS: [&str; 9] = [
    "content-type",
    "content-length",
    "last-modified",
    "etag",
    "accept-ranges",
    "location",
    "content-range",
    "vary",
    "allow",
];

fn site() -> Builder {
    Server::builder()
        .file("htdocs/sorry.html", "<p>sorry</p>")
        .file("htdocs/sorry.txt", "sorry")
        .file("htdocs/page.txt", "a page")
        .conf(
            "<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
             <Location /html>\nErrorDocument 404 /sorry.html\n</Location>\n\
             <Location /plain>\nErrorDocument 404 /sorry.txt\n</Location>\n\
             <Location /text>\nErrorDocument 404 \"a text\"\n</Location>\n\
             <Location /markup>\nErrorDocument 404 \"<b>a text</b>\"\n</Location>\n\
             <Location /word>\nErrorDocument 404 gone\n</Location>\n\
             <Location /elsewhere>\nErrorDocument 404 http://example.test/gone\n</Location>\n\
             <Location /page.txt>\nErrorDocument 405 \"not so\"\n</Location>\n\
             <Location /forbidden>\nRequire all denied\nErrorDocument 403 \"closed\"\n</Location>\n",
        )
}

/// Returns what the client learns. The files of both sites have been written at different times.
fn learned(server: &Server, request: &Request) -> Vec<String> {
    let answer = server.send(request);
    let mut learned = vec![answer.status.to_string()];
    for name in FIELDS {
        let value = answer.field(name);
        let is_redirect = answer.status == 302;
        let value = match name {
            // Only Apache sends a page with a redirect. Only Mehari tells HEAD a text's length.
            "content-type" | "content-length" if is_redirect => None,
            "content-length" if request.method == "HEAD" => None,
            "last-modified" | "etag" => value.map(|_| "there".to_owned()),
            _ => value,
        };
        learned.push(format!("{name}: {}", value.unwrap_or_default()));
    }
    if answer.status != 302 {
        learned.push(answer.text());
    }
    learned
}

#[test]
fn pages_of_errors_have_the_fields_of_apaches() {
    let servers = apache::beside(site);
    let mut differences = Vec::new();
    for method in ["GET", "HEAD", "POST"] {
        for place in [
            "html",
            "plain",
            "text",
            "markup",
            "word",
            "elsewhere",
            "forbidden",
        ] {
            let plain = Request::new(method, &format!("/{place}/none"));
            let range = Request::new(method, &format!("/{place}/none")).field("Range", "bytes=0-1");
            let known = Request::new(method, &format!("/{place}/none")).field("If-None-Match", "*");
            for request in [plain, range, known] {
                let all: Vec<_> = servers
                    .iter()
                    .map(|server| learned(server, &request))
                    .collect();
                for other in &all[1..] {
                    if all[0] != *other {
                        differences
                            .push(format!("{request:?}\nours {:?}\ntheirs {other:?}", all[0]));
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// Documents with variables. Each answers a status 404 below its own path.
const WITH_VARIABLES: [&str; 9] = [
    "\"no %{REQUEST_URI} for %{REQUEST_METHOD} at %{req:Host}\"",
    "\"%{escape:%{REQUEST_URI}} %{tolower:%{REQUEST_METHOD}}\"",
    "\"%{REQUEST_URI}\"",
    "\"status %{REQUEST_STATUS} %{reqenv:SET} %{QUERY_STRING}\"",
    "\"100% of $1 and \\%{REQUEST_URI}\"",
    "/cgi/echo.pl?from=%{escape:%{REQUEST_URI}}",
    "/cgi/echo.pl/%{REQUEST_METHOD}",
    "/%{req:X-Page}.html",
    "http://example.test/%{req:X-Page}?%{escape:%{REQUEST_URI}}",
];

fn site_with_variables() -> Builder {
    const ECHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n},\n\
        map { qq{$_=} . ($ENV{$_} // '-') . qq{\\n} } qw(QUERY_STRING PATH_INFO REDIRECT_URL REDIRECT_STATUS SET REDIRECT_SET);\n";
    let mut site = Server::builder()
        .ladder()
        .file("scripts/echo.pl", ECHO)
        .file("htdocs/sorry.html", "<p>sorry</p>")
        .conf("<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n");
    for (number, document) in WITH_VARIABLES.iter().enumerate() {
        let section = format!(
            "<Location /{number}>\nSetEnv SET early\nErrorDocument 404 {document}\n</Location>\n"
        );
        site = site.conf(&section);
    }
    site
}

#[test]
fn documents_with_variables_are_evaluated_as_in_apache() {
    let servers = apache::beside(site_with_variables);
    let mut differences = Vec::new();
    for number in 0..WITH_VARIABLES.len() {
        for target in ["none", "none?a=b", "a%20b", "%C3%A9"] {
            let request = Request::get(&format!("/{number}/{target}")).field("X-Page", "sorry");
            let said = |server: &Server| {
                let answer = server.send(&request);
                // Apache's `escape` writes hexadecimal digits in lower case.
                let upper = |text: String| text.replace("%c3%a9", "%C3%A9");
                let text = answer.text().replace(&server.address.to_string(), "HOST");
                let text = if answer.status == 302 {
                    String::new()
                } else {
                    text
                };
                let location = answer.field("location").unwrap_or_default();
                (answer.status, upper(location), upper(text))
            };
            let all: Vec<_> = servers.iter().map(said).collect();
            for other in &all[1..] {
                if all[0] != *other {
                    differences.push(format!("{request:?}\nours {:?}\ntheirs {other:?}", all[0]));
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn word_default_takes_an_outer_document_away() {
    let site = || {
        Server::builder().file("htdocs/sub/.htaccess", "ErrorDocument 404 default\n").conf(
            "ErrorDocument 404 \"a text\"\n<Directory @ROOT@/htdocs>\nRequire all granted\nAllowOverride All\n</Directory>\n\
             <Location /plain>\nErrorDocument 404 default\n</Location>\n\
             <Location /plain/again>\nErrorDocument 404 \"another\"\n</Location>\n",
        )
    };
    for server in apache::beside(site) {
        assert_eq!(server.get("/none").expect(404), "a text");
        assert_eq!(server.get("/plain/again").expect(404), "another");
        for target in ["/plain", "/plain/none", "/sub/none"] {
            let page = server.get(target).expect(404);
            assert!(page.contains("404 Not Found"), "{target}: {page}");
        }
    }
}

/// Where a page of refusals lies, with the lines of its place, and whether the page is sent.
const REFUSING: [(&str, &str, bool); 15] = [
    ("denied", "<Directory @DIR@>\nRequire all denied\nErrorDocument 403 @URL@/page.txt\n</Directory>\n", true),
    ("far", "<Directory @DIR@>\nRequire ip 192.0.2.1\nErrorDocument 403 @URL@/page.txt\n</Directory>\n", true),
    ("older", "<Directory @DIR@>\nOrder allow,deny\nErrorDocument 403 @URL@/page.txt\n</Directory>\n", true),
    (
        "login",
        "<Directory @DIR@>\nAuthType Basic\nAuthName a\nAuthUserFile @ROOT@/users\nRequire valid-user\n\
         ErrorDocument 401 @URL@/page.txt\n</Directory>\n",
        true,
    ),
    // As in Apache, a place that has a section of its own is checked again.
    (
        "files",
        "<Directory @DIR@>\nRequire all denied\nErrorDocument 403 @URL@/page.txt\n<Files page.txt>\nSetEnv A b\n</Files>\n</Directory>\n",
        false,
    ),
    ("location", "<Location @URL@>\nRequire all denied\nErrorDocument 403 @URL@/page.txt\n</Location>\n", false),
    (
        "inner",
        "<Directory @DIR@>\nRequire all denied\nErrorDocument 403 /inner/sub/page.txt\n</Directory>\n\
         <Directory @DIR@/sub>\nRequire ip 192.0.2.1\n</Directory>\n",
        false,
    ),
    ("by-perl", "<Directory @DIR@>\nPerlAccessHandler 'sub { 403 }'\nErrorDocument 403 @URL@/page.txt\n</Directory>\n", true),
    ("fixup", "<Directory @DIR@>\nPerlFixupHandler 'sub { $_[0]->uri =~ /other/ ? 403 : 0 }'\nErrorDocument 403 @URL@/page.txt\n</Directory>\n", true),
    ("beside-perl", "<Directory @DIR@>\nRequire all denied\nPerlFixupHandler 'sub { 0 }'\nErrorDocument 403 @URL@/page.txt\n</Directory>\n", true),
    (
        "authen",
        "<Directory @DIR@>\nAuthType Own\nAuthName a\nRequire valid-user\nPerlAuthenHandler 'sub { $_[0]->err_headers_out->set(q(WWW-Authenticate) => q(Own)); 401 }'\n\
         ErrorDocument 401 @URL@/page.txt\n</Directory>\n",
        true,
    ),
    (
        "authz",
        "<Directory @DIR@>\nAuthType Own\nAuthName a\nRequire valid-user\nPerlAuthenHandler 'sub { $_[0]->user(q(ann)); 0 }'\nPerlAuthzHandler 'sub { 403 }'\n\
         ErrorDocument 403 @URL@/page.txt\n</Directory>\n",
        true,
    ),
    (
        "basic-and-perl",
        "<Directory @DIR@>\nAuthType Basic\nAuthName a\nAuthUserFile @ROOT@/users\nRequire valid-user\nPerlAccessHandler 'sub { 0 }'\n\
         ErrorDocument 401 @URL@/page.txt\n</Directory>\n",
        true,
    ),
    ("perl-files", "<Directory @DIR@>\nPerlAccessHandler 'sub { 403 }'\nErrorDocument 403 @URL@/page.txt\n<Files page.txt>\nSetEnv A b\n</Files>\n</Directory>\n", false),
    ("perl-location", "<Location @URL@>\nPerlAccessHandler 'sub { 403 }'\nErrorDocument 403 @URL@/page.txt\n</Location>\n", false),
];

#[test]
fn page_of_a_refusal_is_sent_if_it_lies_at_the_refusing_place() {
    let site = || {
        let modules = "PerlModule Apache2::RequestRec Apache2::Access APR::Table\n";
        let mut builder = Server::builder().file("users", "").conf(modules);
        for (name, lines, _) in REFUSING {
            for file in ["page.txt", "other.txt", "sub/page.txt"] {
                builder = builder.file(&format!("htdocs/{name}/{file}"), "the page");
            }
            let lines = lines.replace("@DIR@", &format!("@ROOT@/htdocs/{name}"));
            builder = builder.conf(&lines.replace("@URL@", &format!("/{name}")));
        }
        builder
    };
    for server in apache::beside(site) {
        for (name, _, is_sent) in REFUSING {
            let answer = server.get(&format!("/{name}/other.txt"));
            assert!(
                [401, 403].contains(&answer.status),
                "{name}: {}",
                answer.status
            );
            assert_eq!(
                answer.text() == "the page",
                is_sent,
                "{name}: {}",
                answer.text()
            );
            let challenges = answer
                .fields
                .iter()
                .filter(|(field, _)| field.eq_ignore_ascii_case("www-authenticate"));
            assert_eq!(
                challenges.count(),
                usize::from(answer.status == 401),
                "{name}"
            );
        }
    }
}

/// Rules of the refused places, and rules of the places of the error documents.
const RULED: &str =
    "PerlModule Apache2::RequestRec Apache2::RequestIO Apache2::Response Apache2::Filter\n\
     <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
     <LocationMatch ^/(refused|limited)/>\n\
     Header set X-Set refused\nHeader always set X-Always refused\n\
     Header set Cache-Control \"public, max-age=600\"\n\
     ErrorDocument 401 /errs/page.html\nErrorDocument 403 /errs/page.html\n\
     ErrorDocument 404 /errs/page.html\nErrorDocument 413 /errs/page.html\n\
     </LocationMatch>\n\
     <Location /refused/403>\nRequire all denied\n</Location>\n\
     <Location /refused/401>\nAuthType Basic\nAuthName a\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n\
     <Location /limited>\nLimitRequestBody 3\n</Location>\n\
     <Location /refused/filtered>\nErrorDocument 404 /filtered/page.html\n</Location>\n\
     <Location /refused/missing>\nErrorDocument 404 /errs/none.html\n</Location>\n\
     <Location /refused/folder>\nErrorDocument 404 /errs/sub\n</Location>\n\
     <Location /refused/index>\nErrorDocument 404 /errs/sub/\n</Location>\n\
     <Location /refused/closed>\nErrorDocument 404 /errs/closed/page.html\n</Location>\n\
     <Location /refused/parsed>\nErrorDocument 404 /errs/page.shtml\n</Location>\n\
     <Location /refused/text>\nErrorDocument 404 \"a text\"\n</Location>\n\
     <Location /refused/custom>\nSetHandler perl-script\n\
     PerlResponseHandler 'sub { $_[0]->custom_response(404, q(/errs/page.html)); 404 }'\n</Location>\n\
     <Location /refused/declined>\n\
     PerlFixupHandler 'sub { $_[0]->custom_response(404, q(/errs/page.html)); 404 }'\n</Location>\n\
     <Location /errs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\nHeader set X-ESet document\nHeader always set X-EAlways document\n</Location>\n\
     <Location /errs/closed>\nRequire all denied\n</Location>\n\
     <Location /filtered>\n\
     PerlOutputFilterHandler 'sub { my $f = shift; while ($f->read(my $text)) { $f->print(uc $text) } 0 }'\n\
     </Location>\n";

#[test]
fn documents_of_errors_have_the_rules_of_their_own_places() {
    let site = || {
        Server::builder()
            .file("users", "")
            .file("htdocs/errs/page.html", "<p>sorry</p>")
            .file(
                "htdocs/errs/page.shtml",
                "<p><!--#echo var=\"REDIRECT_STATUS\" --></p>",
            )
            .file("htdocs/errs/sub/index.html", "<p>index</p>")
            .file("htdocs/errs/closed/page.html", "<p>closed</p>")
            .file("htdocs/filtered/page.html", "<p>filtered</p>")
            .file("htdocs/limited/page.txt", "a page")
            .conf(RULED)
    };
    let servers = apache::beside(site);
    let mut differences = Vec::new();
    let mut requests = vec![Request::post("/limited/page.txt", "a long body")];
    for place in [
        "404", "403", "401", "filtered", "missing", "folder", "index", "closed", "text", "custom",
        "declined", "parsed",
    ] {
        for method in ["GET", "HEAD", "POST"] {
            requests.push(Request::new(method, &format!("/refused/{place}/x")));
        }
    }
    for request in requests {
        let said = |server: &Server| {
            let answer = server.send(&request);
            let names = ["X-Set", "X-Always", "X-ESet", "X-EAlways", "Cache-Control"];
            let fields = names.map(|name| answer.all(name));
            let text = answer.text();
            let is_ours = text.starts_with("<p>") || text.starts_with("<P>") || text == "a text";
            (answer.status, fields, is_ours.then_some(text))
        };
        let all: Vec<_> = servers.iter().map(said).collect();
        for other in &all[1..] {
            if all[0] != *other {
                differences.push(format!("{request:?}\nours {:?}\ntheirs {other:?}", all[0]));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
