//! Tests the directives of which one value is accepted, because it says what Mehari always does.
//! With this value each response must equal Apache's.

use mehari_harness::{BackEnd, Builder, Pair, Request, Server};
use std::io::Write;

/// A script that leads to itself as often as its query says, and then prints its variables.
const AGAIN: &str = "#!/usr/bin/perl\nmy $left = $ENV{QUERY_STRING} =~ /(\\d+)/ ? $1 : 0;\n\
    if ($left) { printf qq{Location: $ENV{SCRIPT_NAME}?%d\\n\\n}, $left - 1; exit }\n\
    print qq{Content-Type: text/plain\\n\\n}, map { qq{$_=} . ($ENV{$_} // '-') . qq{\\n} }\n\
    qw(REQUEST_URI REDIRECT_URL REDIRECT_STATUS PATH_INFO QUERY_STRING);\n";

const LINES: &str = "ContentDigest Off\nLimitInternalRecursion 10\nQualifyRedirectURL Off\n\
    StrictHostCheck Off\nRegexDefaultOptions DOLLAR_ENDONLY\nSSIStartTag \"<!--#\"\n\
    SSIEndTag \"-->\"\nProxyPassInherit On\nProxyMaxForwards -1\nProxyPassInterpolateEnv Off\n\
    ProxyBadHeader IsError\n";

fn site(back_end: &str) -> Builder {
    let lines = match back_end {
        "" => String::new(),
        url => format!("ProxyPass /behind/ {url}/\n"),
    };
    Server::builder()
        .ladder()
        .file("scripts/again.pl", AGAIN)
        .file("htdocs/page.html", "a page")
        .file("htdocs/page.shtml", "<!--#echo var=\"DOCUMENT_NAME\" --> <# -->")
        .file("htdocs/run/index.html", "an index")
        .file("htdocs/lines/page.txt", "one bar foo\nbar two\nend bar")
        .file("htdocs/closed/page.html", "closed")
        .file("users", "ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
        .conf(LINES)
        .conf(&lines)
        .conf(
            "<Directory @ROOT@/htdocs>\nRequire all granted\nOptions +Includes\n\
             AddOutputFilter INCLUDES shtml\nModMimeUsePathInfo Off\nDirectoryCheckHandler Off\n\
             CGIVar REQUEST_URI original-uri\n</Directory>\n\
             <Directory @ROOT@/htdocs/run>\nOptions +ExecCGI\nAddHandler cgi-script pl\n</Directory>\n\
             <Location /closed>\nAuthType Basic\nAuthName closed\nAuthUserFile @ROOT@/users\n\
             Require user bob\nAuthzSendForbiddenOnFailure Off\nAuthBasicFake Off\n\
             AuthBasicUseDigestAlgorithm Off\n</Location>\n\
             <Location /lines>\nSetOutputFilter SUBSTITUTE\nSubstitute s/bar.*$/R/\n</Location>\n\
             ErrorDocument 404 /cgi/again.pl\n\
             <VirtualHost *:*>\nServerName first\n</VirtualHost>\n\
             <VirtualHost *:*>\nServerName second\n</VirtualHost>\n",
        )
}

#[test]
fn with_the_accepted_values_each_answer_equals_apaches() {
    let mut pair = Pair::start(|| site(""));
    for (target, status) in [
        ("/page.html", 200),
        ("/page.html/more.css", 404),
        ("/page.shtml", 200),
        ("/lines/page.txt", 200),
        ("/run", 301),
        ("/run/", 200),
        ("/missing?a=b", 404),
        ("/cgi/again.pl/info.html?3", 200),
        ("/cgi/again.pl?9", 200),
        ("/cgi/again.pl?12", 500),
        ("/closed/page.html", 401),
    ] {
        assert_eq!(pair.get(target).status, status, "{target}");
    }
    let ann = Request::get("/closed/page.html").field("Authorization", "Basic YW5uOnRlc3Q=");
    assert_eq!(pair.send(&ann).status, 401);
    for host in ["first", "second", "unknown"] {
        let answer = pair.send(&Request::get("/page.html").host(host));
        assert_eq!(answer.status, 200, "{host}");
    }
}

#[test]
fn hosts_inherit_back_ends_and_a_bad_head_is_an_error_as_in_apache() {
    let behind = BackEnd::start(|request, stream| {
        let line = if request.head.starts_with("GET /bad ") {
            "HTTP/1.1 200 OK\r\nNo field\r\n\r\n"
        } else {
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nfine"
        };
        let _ = stream.write_all(line.as_bytes());
        false
    });
    let url = behind.url();
    let mut pair = Pair::start(|| site(&url));
    for host in ["first", "second"] {
        let fine = pair.send(&Request::get("/behind/x").host(host));
        assert_eq!(fine.expect(200), "fine", "{host}");
    }
    assert_eq!(pair.get("/behind/bad").status, 502);
}
