package Apache::SubProcess;

# mod_perl 1's name for Apache2::SubProcess: programs with handles.

use strict;
use warnings;
use Apache ();
use Apache2::SubProcess ();

1;
