package Apache2::MPM;

# How the server runs its workers, in the words of Apache's multi-processing modules.

use strict;
use warnings;

sub is_threaded { return 0 }

sub show { return 'prefork' }

# Workers come and go (MPMQ_IS_FORKED 3 is MPMQ_DYNAMIC 2); of the other questions there are, the answer is no.
sub query { my ($class, $what) = @_ > 1 ? @_ : (undef, @_); return $what == 3 ? 2 : $what >= 1 && $what <= 16 ? 0 : undef }

1;
