//! Tests that flushed output passes Perl's filters at once.

use super::*;

/// A filter that counts its calls, and a handler that waits for the client between two parts.
const STREAM: &str = r#"package Stream;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Filter ();
sub filter {
    my $f = shift;
    my $calls = $f->ctx || 0;
    while ($f->read(my $part, 1024)) { $f->print(uc $part) }
    $f->ctx(++$calls);
    $f->print(" calls $calls") if $f->seen_eos;
    return 0;
}
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('first ');
    $r->rflush;
    my $go = $r->args;
    for (1 .. 400) { last if -e $go; select undef, undef, undef, 0.05 }
    $r->print(-e $go ? 'second' : 'nobody came');
    return 0;
}
1;
"#;

#[test]
fn flushed_output_of_a_handler_passes_its_filters_at_once() {
    let server = Server::builder()
        .file("lib/Stream.pm", STREAM)
        .conf(
            "PerlSwitches -I@ROOT@/lib\n<Location /stream>\nSetHandler modperl\nPerlResponseHandler Stream\n\
             PerlOutputFilterHandler Stream::filter\n</Location>\n",
        )
        .start();
    let go = server.site.path("go");
    let mut connection = server.connect();
    connection.write(&Request::get(&format!("/stream?{}", go.display())).bytes());
    let mut came = |words: &str| {
        while !String::from_utf8_lossy(connection.unread()).contains(words) {
            assert!(
                connection.fill().expect("more") > 0,
                "the end before {words}"
            );
        }
    };
    came("FIRST ");
    std::fs::write(&go, "").expect("written");
    came("SECOND");
    came(" calls 3");
}
