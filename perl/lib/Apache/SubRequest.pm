package Apache::SubRequest;

# mod_perl 1's name for Apache2::SubRequest: requests within requests.

use strict;
use warnings;
use Apache ();
use Apache2::SubRequest ();

1;
