package APR;

# APR's modules, without libapr: each is in a file of its own.

use strict;
use warnings;

our $VERSION = '0.009000';

1;
