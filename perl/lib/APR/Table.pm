package APR::Table;

# A table of header fields: names without regard to case, several values a name, in order. An object
# and a tied hash at once, as in mod_perl. All of it is XS (xs/api/table.c).

use strict;
use warnings;
use Mehari ();

1;
