package Apache2::RequestIO;

# Its methods are those of `Apache2::RequestRec`.

use strict;
use warnings;
use Apache2::RequestRec ();

1;
