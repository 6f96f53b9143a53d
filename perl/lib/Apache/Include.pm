package Apache::Include;

# Includes another page of this server in the current one.

use strict;
use warnings;
use Apache ();
use Apache2::SubRequest  ();
use Apache2::RequestUtil ();

# virtual($uri, $r)
sub virtual {
    my ($class, $uri, $r) = @_;
    $r ||= Apache2::RequestUtil->request;
    return $r->lookup_uri($uri)->run;
}

1;
