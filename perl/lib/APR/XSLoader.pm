package APR::XSLoader;

# There is nothing to load: Mehari's own library has it all.

use strict;
use warnings;

sub load { return }

1;
