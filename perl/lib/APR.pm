package APR;

# APR's modules, without libapr. Each is in its own file.

use strict;
use warnings;

our $VERSION = '0.009000';

1;
