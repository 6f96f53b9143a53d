//! Tests what a Log or Cleanup handler sees after the front has answered in place of Perl. The
//! results are compared with mod_perl's.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
use Apache2::Log ();
use Apache2::Connection ();
sub told {
    my ($word, $r) = @_;
    my $head = join ', ', map { "$_=" . ($r->headers_out->get($_) // '-') } qw(Content-Length Content-Range X-Mine Allow);
    my $line = $r->status_line // '-';
    return join ' | ', $word, $r->method, $r->uri, $r->args // '', $r->status, $line, $r->bytes_sent, $head;
}
sub log_it  { my $r = shift; $r->log_error(told('LOGGED', $r)); 0 }
sub clean   { my $r = shift; warn told('CLEANED', $r), "\n"; 0 }
sub header  { my $r = shift; $r->headers_out->set('X-Mine' => 'yes'); 0 }
sub say     { my $r = shift; $r->content_type('text/plain'); $r->print('said'); 0 }
sub status  { my $r = shift; return $r->args }
sub register { my $r = shift; $r->pool->cleanup_register(sub { warn told('CLEANED', $r), "\n" }); 0 }
"#;

const CONF: &str = "PerlModule Told\nPerlLogHandler Told::log_it\n\
    ErrorDocument 410 \"gone for good\"\nErrorDocument 409 /page.txt\n\
    <Location /clean>\nPerlCleanupHandler Told::clean\n</Location>\n\
    <Location /mine>\nPerlFixupHandler Told::header\n</Location>\n\
    <Location /say>\nSetHandler modperl\nPerlResponseHandler Told::say\n</Location>\n\
    <Location /status>\nSetHandler modperl\nPerlResponseHandler Told::status\n</Location>\n\
    <Location /denied>\nRequire all denied\n</Location>\n";

const BODY: &str = "0123456789abcdef";

fn site() -> Builder {
    one_worker(&[("Told", MODULE)], CONF)
        .file("htdocs/page.txt", BODY)
        .file("htdocs/clean/page.txt", BODY)
        .file("htdocs/mine/page.txt", BODY)
}

/// Returns requests, and what the Log handler must see: status, status line, bytes, header fields.
fn cases() -> Vec<(Request, &'static str)> {
    let get = Request::get;
    vec![
        (get("/page.txt?1"), "200 | 200 OK | 16 | Content-Length=16, Content-Range=-, X-Mine=-, Allow=-"),
        (Request::new("HEAD", "/page.txt?2"), "200 | 200 OK | 16 | Content-Length=16, Content-Range=-, X-Mine=-, Allow=-"),
        (get("/page.txt?3").field("Range", "bytes=2-5"), "206 | 206 Partial Content | 4 | Content-Length=4, Content-Range=bytes 2-5/16, X-Mine=-, Allow=-"),
        (get("/page.txt?4").field("Range", "bytes=90-"), "416 "),
        (get("/page.txt?5").field("If-None-Match", "*"), "304 | 304 Not Modified | 0 | "),
        (get("/none.txt?6"), "404 "),
        (get("/denied?7"), "403 "),
        (get("/mine/page.txt?8"), "200 | 200 OK | 16 | Content-Length=16, Content-Range=-, X-Mine=yes, Allow=-"),
        (get("/say?9"), "200 | "),
        (get("/status?410"), "410 "),
        (get("/status?409"), "409 "),
        (get("/status?404"), "404 "),
    ]
}

/// What a handler leaves to the front goes to the front in one record, whose size is limited.
#[test]
fn too_large_a_hand_back_fails_only_its_own_request() {
    const MODULE: &str = r#"
sub header   { my $r = shift; $r->err_headers_out->set('X-Long', 'x' x 70_000); return 404 }
sub document { my $r = shift; $r->custom_response(404, 'y' x 70_000); return 404 }
sub type     { my $r = shift; $r->content_type('text/plain; a=' . 'z' x 70_000); return -1 }
sub heard    { my $r = shift; $r->log_error('heard of ' . $r->uri . ' ' . $r->status); return 0 }
sub process  { my $r = shift; print $$; return 0 }
"#;
    let conf: String = ["header", "document", "type", "process"]
        .iter()
        .map(|name| {
            format!(
                "<Location /{name}>\nSetHandler perl-script\nPerlResponseHandler Much::{name}\n\
                 PerlLogHandler Much::heard\n</Location>\n"
            )
        })
        .collect();
    let server = one_worker(&[("Much", MODULE)], &format!("PerlModule Much\n{conf}")).start();
    let worker = server.get("/process").expect(200);
    for name in ["header", "document", "type"] {
        server.get(&format!("/{name}")).expect(500);
        let line = server
            .log
            .expect(&format!("/{name}: the handlers' headers"));
        assert!(line.contains("are larger than 65536 bytes"), "{line}");
        server.log.expect(&format!("heard of /{name} 500"));
    }
    assert_eq!(server.get("/process").expect(200), worker);
}

#[test]
fn log_handlers_see_what_the_front_has_answered() {
    for server in apache::beside(site) {
        for (request, seen) in cases() {
            server.send(&request);
            let (path, query) = request.target.split_once('?').expect("each has one");
            let line = format!("LOGGED | {} | {path} | {query} | ", request.method);
            assert!(
                eventually(PATIENCE, || server.log.text().contains(&line)),
                "{line}\n{}",
                server.log.text()
            );
            assert!(
                server.log.text().contains(&format!("{line}{seen}")),
                "{line}{seen}\n{}",
                server.log.text()
            );
        }
    }
}

#[test]
fn cleanup_handlers_see_the_answer_and_a_slow_client_holds_no_worker() {
    let server = site()
        .file("htdocs/clean/large.bin", &"x".repeat(8 << 20))
        .start();
    server.get("/clean/page.txt?c");
    let line = "CLEANED | GET | /clean/page.txt | c | 200 | 200 OK | 16 | ";
    assert!(
        eventually(PATIENCE, || server.log.text().contains(line)),
        "{}",
        server.log.text()
    );
    // The only worker must be free again although no client has read the response.
    let mut slow = server.connect();
    slow.write(&Request::get("/clean/large.bin").bytes());
    assert_eq!(server.get("/say?then").expect(200), "said");
    let line = "CLEANED | GET | /clean/large.bin |  | 200 | 200 OK | 8388608 | ";
    assert!(
        eventually(PATIENCE, || server.log.text().contains(line)),
        "{}",
        server.log.text()
    );
}

/// If the client leaves before its request is handed back, there is no outcome to log. The only
/// worker goes on.
#[test]
fn worker_learns_that_its_client_has_left_and_goes_on() {
    needs!("curl");
    let module = "sub handler { my $r = shift; my $root = $r->document_root;\n\
        return 0 unless $r->args;\n\
        open my $note, '>', \"$root/begun\" or die $!;\n\
        for (1 .. 6000) { last if -e \"$root/go\"; select undef, undef, undef, 0.01 }\n\
        return 0 }";
    let server = one_worker(
        &[("Slow", module)],
        "<Location /page.txt>\n    PerlFixupHandler Slow\n    PerlLogHandler 'sub { 0 }'\n</Location>\nTimeout 600\n",
    )
    .file("htdocs/page.txt", "page")
    .start();
    let mut client = std::process::Command::new("curl")
        .args(["-s", "-o", "/dev/null", "--http2-prior-knowledge"])
        .arg(format!("http://{}/page.txt?slow", server.address))
        .spawn()
        .expect("curl runs");
    let begun = server.site.path("htdocs/begun");
    assert!(eventually(PATIENCE, || begun.exists()));
    client.kill().expect("it is killed");
    client.wait().expect("it ends");
    let is_noticed = || server.status()["pool"]["active_requests"] == 0;
    assert!(eventually(PATIENCE, is_noticed), "{}", server.status());
    server.site.write("htdocs/go", "");
    assert_eq!(server.get("/page.txt").expect(200), "page");
}
