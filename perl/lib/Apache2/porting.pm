package Apache2::porting;

# mod_perl 1's methods exist: see Apache2::compat.

use strict;
use warnings;
use Apache2::compat ();

1;
