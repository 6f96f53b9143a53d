package Apache::SIG;

# mod_perl 1's cure for broken pipes: a client that leaves sends none here.

use strict;
use warnings;

sub set     { return }
sub handler { return 0 }

1;
