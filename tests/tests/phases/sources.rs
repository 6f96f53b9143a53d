//! Tests that no way within the server shows the source of a program: an internal redirect and a
//! sub-request get what Apache sends for the path.

use mehari_harness::{Builder, Pair, Request, Server};

/// A text that only the sources have.
const SECRET: &str = "password of the source";

const PROGRAM: &str = "#!/usr/bin/perl\n# password of the source\nread STDIN, my $body, $ENV{CONTENT_LENGTH} || 0;\n\
    print \"Content-Type: text/plain\\n\\nran [$ENV{QUERY_STRING}] [$ENV{REQUEST_METHOD}] [$body]\";\n";

const PAGE: &str =
    "<!--#if expr=\"false\" -->password of the source<!--#endif --><!--#echo var=\"DOCUMENT_NAME\" -->";

const HANDLERS: &str = "package Leads;\nuse strict; use warnings;\n\
    use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::SubRequest (); use Apache2::RequestUtil (); use Apache2::Response ();\n\
    use APR::Table ();\n\
    sub ok { 0 } sub declines { -1 }\n\
    sub to { my $r = shift; $r->err_headers_out->set('X-Kept' => 'yes'); $r->internal_redirect('/' . $r->args); 0 }\n\
    sub sub_request { my $r = shift; $r->content_type('text/plain'); my $s = $r->lookup_uri('/' . $r->args); my $status = $s->run; $r->print(\"[run $status]\"); 0 }\n\
    sub document { my $r = shift; $r->custom_response(404, '/' . $r->args); 404 }\n\
    1;\n";

/// Paths at which something else than a file's own bytes responds.
const TARGETS: [&str; 9] = [
    "app/index.cgi",
    "app/page/x",
    "app/",
    "cgi-bin/a.cgi",
    "cgi-bin/a.cgi/info",
    "page.shtml",
    "app/to-cgi",
    "text.txt",
    "missing",
];

/// Paths whose response Mehari refuses within a sub-request.
const OF_BACK_ENDS: [&str; 2] = ["wp/index.php", "handled"];

fn site() -> Builder {
    let builder = Server::builder()
        .file("lib/Leads.pm", HANDLERS)
        .file("htdocs/app/index.cgi", PROGRAM)
        .file(
            "htdocs/app/.htaccess",
            "RewriteEngine On\nRewriteRule ^to-cgi$ /cgi-bin/a.cgi?led [L]\n\
             RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^page/(.*)$ index.cgi?p=$1 [QSA,L]\n",
        )
        .file("cgi/a.cgi", PROGRAM)
        .file("htdocs/page.shtml", PAGE)
        .file("htdocs/text.txt", "text")
        .file("htdocs/wp/index.php", "<?php password of the source ?>")
        .file("htdocs/source.txt", SECRET)
        .file(
            "perl/to.pl",
            "#!/usr/bin/perl\nmy $r = shift; $r->internal_redirect('/' . $r->args);\n",
        )
        .file(
            "perl/located.pl",
            "#!/usr/bin/perl\nprint \"Location: /$ENV{QUERY_STRING}\\n\\n\";\n",
        );
    let mut conf = String::from(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Leads\nDirectoryIndex index.cgi\n\
         LoadModule proxy_fcgi_module /usr/lib/apache2/modules/mod_proxy_fcgi.so\n\
         ScriptAlias /cgi-bin/ @ROOT@/cgi/\n\
         <Directory @ROOT@/htdocs>\nAllowOverride All\nOptions +ExecCGI +Includes\n\
         AddHandler cgi-script .cgi\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n\
         </Directory>\n\
         <FilesMatch \"\\.php$\">\nSetHandler \"proxy:fcgi://127.0.0.1:9\"\n</FilesMatch>\n\
         RewriteEngine On\nRewriteRule ^/handled$ @ROOT@/htdocs/source.txt [H=cgi-script,L]\n\
         Alias /perl/ @ROOT@/perl/\n<Location /perl/>\nSetHandler perl-script\n\
         PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n\
         </Location>\n\
         <Location /sub>\nSetHandler modperl\nPerlResponseHandler Leads::sub_request\n</Location>\n\
         <Location /document>\nSetHandler modperl\nPerlResponseHandler Leads::document\n</Location>\n\
         <Location /fixup>\nPerlFixupHandler Leads::to\n</Location>\n",
    );
    for handler in ["modperl", "perl-script"] {
        conf += &format!(
            "<Location /to-{handler}>\nSetHandler {handler}\nPerlResponseHandler Leads::to\n\
             </Location>\n"
        );
    }
    for phase in EARLY {
        conf += &format!(
            "Alias /early-{phase} @ROOT@/htdocs/app\n<Location /early-{phase}>\n\
             Perl{phase}Handler Leads::{}\n</Location>\n",
            // A PerlTypeHandler that returns OK is the last, so that no suffix names a handler.
            if phase == "Type" { "declines" } else { "ok" }
        );
    }
    builder.conf(&conf)
}

const EARLY: [&str; 5] = ["HeaderParser", "Access", "Type", "Fixup", "Log"];

fn compare(pair: &Pair, request: &Request, may_be_refused: bool) -> Option<String> {
    let seen: Vec<_> = (pair.servers())
        .map(|server| {
            let answer = server.send(request);
            assert!(
                !answer.text().contains(SECRET),
                "{} {}: {}",
                request.method,
                request.target,
                answer.text()
            );
            // Each server has error pages of its own.
            let body = match answer.status {
                400.. => String::new(),
                _ => answer.text(),
            };
            (answer.status, answer.field("x-kept"), body)
        })
        .collect();
    let is_same = seen.iter().all(|one| *one == seen[0]);
    let is_refused = seen.iter().all(|(status, ..)| *status >= 400);
    let may_be_refused = may_be_refused
        || is_refused
            && OF_BACK_ENDS
                .iter()
                .any(|path| request.target.ends_with(path));
    (!is_same && !may_be_refused)
        .then(|| format!("{} {}: {seen:?}", request.method, request.target))
}

fn requests(target: &str) -> [Request; 2] {
    [
        Request::get(target),
        Request::post(target, "a=b".to_owned()),
    ]
}

#[test]
fn internal_redirect_shows_what_responds_at_the_path() {
    let pair = Pair::start(site);
    let mut wrong = Vec::new();
    let ways = [
        "to-modperl",
        "to-perl-script",
        "fixup",
        "perl/to.pl",
        "perl/located.pl",
        "document",
    ];
    for way in ways {
        for path in TARGETS.iter().chain(&OF_BACK_ENDS) {
            let [get, post] = requests(&format!("/{way}?{path}"));
            wrong.extend(compare(&pair, &get, false));
            // The body of a handler's request reaches only Perl.
            wrong.extend(compare(&pair, &post, true));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_behind_early_handlers_lead_to_what_responds_at_the_path() {
    let pair = Pair::start(site);
    let mut wrong = Vec::new();
    for phase in EARLY {
        for path in ["page/x", "page/x?q=1", "index.cgi", "", "to-cgi"] {
            for request in requests(&format!("/early-{phase}/{path}")) {
                wrong.extend(compare(&pair, &request, false));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sub_request_shows_what_responds_at_the_path() {
    let pair = Pair::start(site);
    let mut wrong = Vec::new();
    for path in TARGETS.iter().chain(&OF_BACK_ENDS) {
        let request = Request::get(&format!("/sub?{path}"));
        // Mehari runs a file that the rules make a program although nobody may execute the file.
        wrong.extend(compare(&pair, &request, *path == "handled"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn internal_redirect_behind_output_adds_only_the_body() {
    const CODE: &str = "package Late;\nuse Apache2::RequestRec (); use Apache2::RequestIO (); \
        use Apache2::SubRequest ();\nsub handler { my $r = shift; $r->content_type('text/plain'); \
        $r->print('first '); $r->rflush; $r->internal_redirect('/' . $r->args); \
        $r->print(' last'); 0 }\n1;\n";
    let site = || {
        let late = "PerlModule Late\n<Location /late>\nSetHandler modperl\n\
            PerlResponseHandler Late\n</Location>\n";
        site().file("lib/Late.pm", CODE).conf(late)
    };
    let pair = Pair::start(site);
    for path in ["text.txt", "cgi-bin/a.cgi", "page.shtml"] {
        for server in pair.servers() {
            let answer = server.get(&format!("/late?{path}"));
            let text = answer.expect(200);
            assert!(text.starts_with("first "), "{path}: {text}");
            assert!(!text.contains(SECRET), "{path}: {text}");
            assert!(answer.complete, "{path}: {text}");
        }
    }
}
