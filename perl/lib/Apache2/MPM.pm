package Apache2::MPM;

# How the server runs its workers, in the words of Apache's multi-processing modules.

use strict;
use warnings;

sub is_threaded { return 0 }

sub show { return 'prefork' }

# Apache2::Const::MPMQ_IS_FORKED is 3; nothing else is known of a front that is no MPM.
sub query { my ($class, $what) = @_ > 1 ? @_ : (undef, @_); return $what == 3 ? 1 : 0 }

1;
