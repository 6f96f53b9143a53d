package Apache::StatINC;

# mod_perl 1's `PerlInitHandler Apache::StatINC`: reloads every changed module.

use strict;
use warnings;
use Apache2::Reload ();

sub handler { return Apache2::Reload::handler(@_) }

1;
