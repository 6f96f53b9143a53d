package Apache2::MPM;

# The server's process model, in the terms of Apache's multi-processing modules.

use strict;
use warnings;

sub is_threaded { return 0 }

sub show { return 'prefork' }

# The number of workers varies (MPMQ_IS_FORKED 3 is MPMQ_DYNAMIC 2). All other answers are no.
sub query { my ($class, $what) = @_ > 1 ? @_ : (undef, @_); return $what == 3 ? 2 : $what >= 1 && $what <= 16 ? 0 : undef }

1;
