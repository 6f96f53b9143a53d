# Serves the two pages as a mod_perl handler. The last part of the path names the page.
package Peers::Handler;
use strict;
use warnings;
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Const -compile => 'OK';
use Peers::Report ();

sub handler {
    my $r = shift;
    if ($r->uri =~ m{/hello\z}) {
        $r->content_type('text/plain');
        $r->print("Hello, world\n");
        return Apache2::Const::OK;
    }
    $r->content_type('text/html; charset=utf-8');
    $r->print(Peers::Report::page($r->args));
    return Apache2::Const::OK;
}

1;
