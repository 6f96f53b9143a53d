package Apache::Log;

# mod_perl 1's name for Apache2::Log: levels of the error log.

use strict;
use warnings;
use Apache ();
use Apache2::Log ();

1;
