package TestOwn::size;

# A worker that has grown too large ends after its request, for own/size.t.

use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::SizeLimit ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    # In KiB: any process has more than one, and none has a terabyte.
    Apache2::SizeLimit->set_max_process_size($r->args eq 'small' ? 1 : 1 << 30);
    $r->content_type('text/plain');
    $r->print($$);
    return Apache2::Const::OK;
}

1;
__DATA__
SetHandler modperl
PerlResponseHandler TestOwn::size
PerlCleanupHandler Apache2::SizeLimit
