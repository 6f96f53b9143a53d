package APR::XSLoader;

# Loads nothing, because Mehari's own library has everything.

use strict;
use warnings;

sub load { return }

1;
