# The two pages as a mod_perl handler: <Location> gives the page's name as the last part of the address.
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
