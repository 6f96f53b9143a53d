package Apache::Table;

use strict;
use warnings;
use Apache ();
use APR::Table ();

# Apache::Table->new($r, $size): mod_perl 1's name for an APR::Table.
sub new { my ($class, $r, $size) = @_; return APR::Table::make(undef, $size || 10) }

1;
