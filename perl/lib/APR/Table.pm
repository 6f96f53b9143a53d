package APR::Table;

# A table of header fields: names in any case, several values per name, in order. It is an object
# and a tied hash at once, as in mod_perl. All of it is XS (xs/api/table.c).

use strict;
use warnings;
use Mehari ();

1;
