package Apache::StatINC;

# mod_perl 1's `PerlInitHandler Apache::StatINC`: every module that changed is read again.

use strict;
use warnings;
use Apache2::Reload ();

sub handler { return Apache2::Reload::handler(@_) }

1;
