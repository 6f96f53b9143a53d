//! Tests that the limits of a place hold for requests that Perl's handlers lead to the place:
//! `LimitRequestBody`, beside Apache and mod_perl, `MaxConcurrentReqs` and `ClientRequestRate`.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
use Apache2::Const -compile => qw(OK DECLINED);
sub read_request {
    my $r = shift;
    $r->headers_in->set('X-Made', 'made') if $r->uri eq '/if';
    return Apache2::Const::DECLINED;
}
sub trans {
    my $r = shift;
    $r->uri($1) if $r->uri =~ m{^/to(/.*)};
    return Apache2::Const::DECLINED;
}
sub reads {
    my $r = shift;
    my $length = 0;
    while (my $count = $r->read(my $part, 8192)) { $length += $count }
    $r->content_type('text/plain');
    $r->print("$length bytes\n");
    return Apache2::Const::OK;
}
sub waits {
    my $r = shift;
    my $folder = $r->document_root;
    open my $begun, '>', "$folder/begun" or die $!;
    select undef, undef, undef, 0.01 until -e "$folder/go";
    $r->print("waited\n");
    return Apache2::Const::OK;
}
"#;

const CONF: &str = r#"
PerlModule Limits
PerlPostReadRequestHandler Limits::read_request
PerlTransHandler Limits::trans
<Location />
SetHandler modperl
PerlResponseHandler Limits::reads
</Location>
<Location /small>
LimitRequestBody 10
</Location>
<If "req('X-Made') == 'made'">
LimitRequestBody 10
</If>
"#;

/// Returns the status of a POST request with a body of this length.
fn status(server: &Server, path: &str, length: usize, chunked: bool) -> u16 {
    let request = Request::post(path, vec![b'x'; length]);
    let request = if chunked { request.chunked() } else { request };
    server.send(&request.closing()).status
}

#[test]
fn body_is_limited_at_the_place_to_which_handlers_lead() {
    let rows = [
        ("/small", 10, 200),
        ("/small", 11, 413),
        ("/to/large", 11, 200),
        ("/to/small", 10, 200),
        ("/to/small", 11, 413),
        ("/if", 10, 200),
        ("/if", 11, 413),
    ];
    for server in apache::beside(|| one_worker(&[("Limits", MODULE)], CONF)) {
        for (path, length, expected) in rows {
            for chunked in [false, true] {
                let said = status(&server, path, length, chunked);
                assert_eq!(said, expected, "{path} {length} {chunked}");
            }
        }
    }
}

#[test]
fn rate_is_limited_at_the_place_to_which_handlers_lead() {
    let conf =
        "ClientRequestRate 1000/1\n<Location /slow>\nClientRequestRate 1/60 burst=2\n</Location>\n";
    let server = one_worker(&[("Limits", MODULE)], &[CONF, conf].concat()).start();
    for path in ["/to/slow", "/slow"] {
        assert_eq!(server.get(path).expect(200), "0 bytes\n");
    }
    for path in ["/to/slow", "/slow"] {
        let answer = server.get(path);
        assert_eq!(answer.status, 429, "{path}");
        assert!(answer.field("Retry-After").is_some(), "{path}");
    }
    assert_eq!(server.get("/to/other").expect(200), "0 bytes\n");
}

#[test]
fn requests_at_once_are_limited_at_the_place_to_which_handlers_lead() {
    let conf = "StartServers 3\nMaxRequestWorkers 3\nMaxConcurrentReqs 2\n\
        <Location /one>\nMaxConcurrentReqs 1\nPerlResponseHandler Limits::waits\n</Location>\n";
    let server = one_worker(&[("Limits", MODULE)], &[CONF, conf].concat()).start();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.get("/to/one").expect(200));
        let begun = server.site.path("htdocs/begun");
        assert!(eventually(PATIENCE, || begun.exists()));
        for path in ["/to/one", "/one"] {
            let answer = server.get(path);
            assert_eq!(answer.status, 503, "{path}");
            assert_eq!(answer.field("Retry-After").as_deref(), Some("1"), "{path}");
        }
        // The rule of the server counts the first request once.
        assert_eq!(server.get("/to/other").expect(200), "0 bytes\n");
        server.site.write("htdocs/go", "");
        assert_eq!(first.join().expect("the first request"), "waited\n");
    });
    assert_eq!(server.get("/to/one").expect(200), "waited\n");
}
