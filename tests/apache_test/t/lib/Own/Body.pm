package Own::Body;

# Reads the body of a request as brigades.

use strict;
use warnings FATAL => 'all';
use Apache2::Connection ();
use Apache2::RequestRec ();
use APR::Brigade ();
use APR::Bucket  ();
use Apache2::Const -compile => 'MODE_READBYTES';
use APR::Const -compile => 'BLOCK_READ';

# Under mod_perl `$r->read` takes an empty brigade for the end.
sub of {
    my $r    = shift;
    my $bb   = APR::Brigade->new($r->pool, $r->connection->bucket_alloc);
    my $body = '';
    while (1) {
        $r->input_filters->get_brigade($bb, Apache2::Const::MODE_READBYTES, APR::Const::BLOCK_READ, 8192);
        while (my $bucket = $bb->first) {
            return $body if $bucket->is_eos;
            $bucket->read(my $part);
            $body .= $part;
            $bucket->delete;
        }
    }
}

1;
