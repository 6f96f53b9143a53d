package Apache::Reload;

# mod_perl 1's name for Apache2::Reload: reloads changed modules.

use strict;
use warnings;
use Apache2::Reload ();

our @ISA = ('Apache2::Reload');

sub handler { return Apache2::Reload::handler(@_) }

1;
