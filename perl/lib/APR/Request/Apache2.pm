package APR::Request::Apache2;

# APR::Request of the current request.

use strict;
use warnings;
use APR::Request ();
use Apache2::RequestRec ();

our @ISA = qw(APR::Request Apache2::RequestRec);

sub handle { my ($class, $r) = @_; return $class->_new($r) }

1;
