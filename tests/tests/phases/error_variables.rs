//! Tests what a program that makes an error page learns of the error, beside mod_perl: the
//! variables of the handlers, the reason, and the fields of `err_headers_out`.

use mehari_harness::{Builder, Pair, Server};

const CODE: &str = "package Refuses;\nuse strict; use warnings;\n\
    use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::SubRequest (); use Apache2::Response (); use APR::Table ();\n\
    sub marks { my $r = shift; $r->subprocess_env(MY_VAR => 'v'); $r->headers_out->set('X-Out' => 'o'); $r->err_headers_out->set('X-Err' => 'e'); $r }\n\
    sub declines { marks(@_); -1 }\n\
    sub missing { my $r = marks(@_); $r->notes->set('error-notes' => 'my reason'); 404 }\n\
    sub dies { marks(@_); die \"oops\\n\" }\n\
    sub translates { my $r = shift; my ($rest) = $r->uri =~ m{^/translated(/.*)} or return -1; \
        $r->filename($r->document_root =~ s{htdocs$}{perl/page.pl}r); $r->path_info($rest); 0 }\n\
    1;\n";

const PAGE: &str = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\";\n\
    print map { \"$_=\" . ($ENV{$_} =~ s/\\n.*//rs) . \"\\n\" } grep { exists $ENV{$_} } qw(REDIRECT_MY_VAR REDIRECT_ERROR_NOTES \
    REDIRECT_STATUS REDIRECT_URL REDIRECT_REQUEST_METHOD REQUEST_METHOD SCRIPT_NAME PATH_INFO);\n";

fn site() -> Builder {
    let mut conf = String::from(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Refuses\nPerlTransHandler Refuses::translates\n\
         ScriptAlias /cgi-bin/ @ROOT@/cgi/\nAlias /perl/ @ROOT@/perl/\n\
         <Directory @ROOT@/perl>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
         PerlOptions +ParseHeaders\nOptions +ExecCGI\nErrorDocument 500 /cgi-bin/page.cgi\n\
         ErrorDocument 404 \"the document of the place\"\n</Directory>\n",
    );
    for name in ["declines", "missing", "dies"] {
        for (kind, document) in [("cgi", "/cgi-bin/page.cgi"), ("perl", "/perl/page.pl")] {
            conf += &format!(
                "<Location /{name}/{kind}>\nSetHandler modperl\nPerlResponseHandler Refuses::{name}\n\
                 ErrorDocument 404 {document}\nErrorDocument 500 {document}\n</Location>\n"
            );
        }
    }
    Server::builder()
        .file("lib/Refuses.pm", CODE)
        .file("cgi/page.cgi", PAGE)
        .file("perl/page.pl", PAGE)
        .file("perl/dies.pl", "die \"the reason\\n\";\n")
        .file(
            "perl/custom.pl",
            "my $r = shift; $r->custom_response(404, 'my text'); $r->status(404);\n",
        )
        .conf(&conf)
}

#[test]
fn error_page_has_the_variables_and_the_reason_of_the_handlers() {
    let mut pair = Pair::start(site);
    for kind in ["cgi", "perl"] {
        for (name, status) in [("declines", 404), ("missing", 404), ("dies", 500)] {
            let answer = pair.get(&format!("/{name}/{kind}?query"));
            let text = answer.expect(status);
            assert!(
                text.contains("REDIRECT_MY_VAR=v\n"),
                "{name} {kind}: {text}"
            );
            assert_eq!(answer.field("x-err").as_deref(), Some("e"), "{name} {kind}");
            assert_eq!(answer.field("x-out"), None, "{name} {kind}");
        }
        let text = pair.get(&format!("/missing/{kind}")).text();
        assert!(
            text.contains("REDIRECT_ERROR_NOTES=my reason\n"),
            "{kind}: {text}"
        );
    }
}

#[test]
fn error_page_of_a_script_that_died_has_the_reason() {
    let mut pair = Pair::start(site);
    let text = pair.get("/perl/dies.pl").expect(500);
    assert!(text.contains("REDIRECT_ERROR_NOTES=the reason\n"), "{text}");
}

#[test]
fn script_that_sets_the_status_of_an_error_has_its_own_page() {
    let mut pair = Pair::start(site);
    assert_eq!(pair.get("/perl/custom.pl").expect(404), "my text");
}

#[test]
fn translated_file_keeps_the_path_info_of_the_handler() {
    let mut pair = Pair::start(site);
    let text = pair.get("/translated/more").expect(200);
    assert!(
        text.contains("SCRIPT_NAME=/translated\nPATH_INFO=/more\n"),
        "{text}"
    );
}
