package Apache2::Response;

# Its methods are those of `Apache2::RequestRec`.

use strict;
use warnings;
use Apache2::RequestRec ();

1;
