//! Tests what rarer forms of arguments mean. The responses are compared with Apache's.

use mehari_harness::{Pair, Request, Server};

/// Lines of a configuration, and the paths that are asked. A path may be followed by a field.
const FORMS: &[(&str, &[&str])] = &[
    // Statuses without a target.
    (
        "Redirect 204 /none\nRedirect 200 /fine\nRewriteEngine On\n\
         RewriteCond %{REQUEST_METHOD} =GET\nRewriteRule ^/asked - [R=204,L] and more words\n",
        &["/none", "/asked", "/page.html"],
    ),
    // Variables that are none in rewriting.
    (
        "RewriteEngine On\nRewriteRule ^ - [E=A:<%{HTTP_X_TOKEN}>,E=B:<%{HTTP:X-Token}>]\n\
         RewriteCond %{HTTP_X_TOKEN} !=open\nRewriteRule ^/guarded - [F]\n\
         Header set X-Seen \"%{A}e %{B}e\"\n",
        &["/page.html X-Token: open", "/guarded X-Token: open"],
    ),
    // Header rules see each other's fields.
    (
        "SetEnv WORD word\nHeader set X-One one\nHeader set X-Two \"expr=%{resp:X-One}\"\n\
         Header set X-Three three \"expr=-z resp('X-One')\"\nHeader note X-One noted\n\
         Header unset X-One\nHeader set X-Note \"expr=%{note:noted}\"\nHeader echo ^X-To\n\
         Header edit X-Two \"o(n)e\" \"%{WORD}e-$1\"\nHeader set X-File yes \"expr=-f %{REQUEST_FILENAME}\"\n\
         Header set X-Early early early\n<Location />\nHeader set X-Late late early\n\
         RequestHeader set X-Made made early\n</Location>\nHeader set X-Made \"expr=%{req:X-Made}\"\n",
        &["/page.html X-Token: t", "/missing"],
    ),
    // Sections for files that never apply.
    (
        "<If \"true\">\n<Files page.html>\nRequire all denied\n</Files>\n</If>\n\
         <Files page.html>\n<Files page.html>\nRequire all denied\n</Files>\n</Files>\n",
        &["/page.html"],
    ),
    // Options with signs behind All.
    (
        "<Directory @ROOT@/htdocs>\nOptions All -Indexes\n</Directory>\n",
        &["/folder/"],
    ),
    // Times of mod_expires.
    (
        "ExpiresActive On\nExpiresDefault \"acc PLUS 3 mins 1 mon\"\n",
        &["/page.html"],
    ),
    (
        "ExpiresActive On\nExpiresByType text/html \"Access plus 1 day\"\n",
        &["/page.html"],
    ),
    // A handler that no module has.
    ("SetHandler unheard-of\n", &["/page.html", "/missing"]),
    ("Require ssl\n", &["/page.html"]),
    ("AddType plain .html\n", &["/page.html"]),
    (
        "<Location />\nAuthBasicFake \"%{tolower:DEMO}\" secret\n</Location>\n\
         <Location /folder>\nAuthBasicFake Off\n</Location>\n\
         <Location /listed>\nAuthBasicFake demo \"%{QUERY_STRING}\"\n</Location>\n\
         <Location /guarded>\nAuthBasicFake \"%{QUERY_STRING}\"\n</Location>\n\
         Header set X-Seen \"expr=%{req:Authorization}\"\n",
        &[
            "/page.html",
            "/folder/one.txt",
            "/guarded",
            "/guarded?ann",
            "/guarded Authorization: Basic eDp5",
            "/folder/one.txt Authorization: Basic eDp5",
            "/listed/one.txt Authorization: Basic eDp5",
        ],
    ),
    // <Location> comes after <Proxy>. Nobody listens at port 9.
    (
        "ProxyPass /closed http://127.0.0.1:9/\nProxyPass /open http://127.0.0.1:9/\n\
         <Proxy *>\nRequire ip 10.1.1.1\n</Proxy>\n<Location /inner>\n\
         ProxyPass http://127.0.0.1:9/\n</Location>\n",
        &["/closed", "/inner", "/page.html"],
    ),
    (
        "<IfVersion ~ ^2\\.4>\nHeader set X-Version 2.4\n</IfVersion>\n\
         <IfVersion = /^1/>\nHeader set X-Version 1\n</IfVersion>\n",
        &["/page.html"],
    ),
];

/// The modules of Apache that the lines need.
const MODULES: &[&str] = &["expires", "socache_shmcb", "ssl", "proxy", "proxy_http"];

fn site(lines: &str) -> mehari_harness::Builder {
    // The lines about access stand in a section.
    let lines = if lines.starts_with("Require") {
        format!("<Location />\n{lines}</Location>\n")
    } else {
        lines.to_string()
    };
    let load = |name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules: String = MODULES.iter().map(load).collect();
    Server::builder()
        .file("htdocs/page.html", "page\n")
        .file("htdocs/guarded", "guarded\n")
        .file("htdocs/folder/one.txt", "one\n")
        .file("htdocs/listed/one.txt", "one\n")
        .conf(&format!("{modules}{lines}"))
}

fn request(text: &str) -> Request {
    let mut words = text.splitn(2, ' ');
    let request = Request::get(words.next().unwrap_or_default());
    match words.next().and_then(|field| field.split_once(": ")) {
        Some((name, value)) => request.field(name, value),
        None => request,
    }
}

#[test]
fn rarer_forms_mean_what_they_mean_in_apache() {
    let mut differences = Vec::new();
    for (lines, asked) in FORMS {
        let mut pair = Pair::start(|| site(lines)).mask(&[("Expires", "[^\r]*")]);
        for text in *asked {
            if let Err(difference) = pair.compare_words(&request(text)) {
                differences.push(format!("{lines}{text}\n{difference}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
