package APR::PerlIO;

# `open my $file, '<:APR', $name, $pool`: here the layer is Perl's own buffered file.

use strict;
use warnings;

sub PERLIO_LAYERS_ARE_ENABLED () { 1 }

1;
