package APR::PerlIO;

# `open my $file, '<:APR', $name, $pool`: a buffered file (xs/api/layers.c).

use strict;
use warnings;
use Mehari ();

sub PERLIO_LAYERS_ARE_ENABLED () { 1 }

1;
